//go:build unix

package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// Every line of every kind of run fits the published schema, and every published
// type of line is printed by some run.
func TestEventsAreAsPublished(t *testing.T) {
	t.Parallel()
	schema, types := eventSchema(t)
	unseen := append([]string{"waiting"}, ofPlans...) // which only a server makes, see TestFaults, and those of plans, which have a test of their own
	seen := map[string]bool{}
	const look = "=== reply\n<tool_code><name>list_dir</name><parameters>{}</parameters></tool_code>\n"
	call := func(command string) string {
		return "=== reply prompt=100 output=7\n" + shellCall(command) + "\n"
	}
	misses := func(paths ...string) (replies string) {
		for _, p := range paths {
			replies += "=== reply\n<tool_code><name>read_file</name><parameters>{\"path\": \"" + p + "\"}</parameters></tool_code>\n"
		}
		return replies
	}
	for name, test := range map[string]struct {
		replies string
		args    []string
		exit    string
	}{
		"answer":         {"=== thought\nhm\n=== reply prompt=100 output=7\nI think.\n<final_answer>Fine.</final_answer>\n", nil, "0"},
		"call":           {strings.Replace(look, "<tool", "I look.\n<tool", 1) + "=== reply\nDone.\n", nil, "0"},
		"progress":       {call("echo one; sleep 0.3; echo two; exit 3") + "=== reply\nDone.\n", []string{"--yes"}, "0"},
		"repaired":       {"=== reply\n<tool_code><name>list_dir</name><parameters>{path: '.',}</parameters></tool_code>\n=== reply\nDone.\n", nil, "0"},
		"denied":         {call("touch x") + "=== reply\nThen not.\n", nil, "4"},
		"repeated":       {look + look, nil, "5"},
		"refused":        {"=== reply\n<tool_code><name>nothing</name><parameters>{\"a\": [1]}</parameters></tool_code>\n=== reply\nDone.\n", nil, "0"},
		"errors":         {misses("a", "b", "c"), nil, "5"},
		"malformed":      {strings.Repeat("=== reply\n<tool_code>\nno\n", 3), nil, "6"},
		"length":         {"=== reply stop=length\nOne,\n=== reply\n two.\n", nil, "0"},
		"filter":         {"=== reply stop=content_filter\nOne\n", nil, "5"},
		"retry":          {"=== reply cut\nHalf an\n=== reply error=rate_limited message=\"slow\"\n=== reply\nWhole.\n", nil, "0"},
		"fault":          {"=== reply error=bad_request message=\"no\"\n", nil, "1"},
		"full":           {"=== reply error=overflow message=\"too long\"\n", nil, "7"},
		"compaction":     {misses("replies.txt") + look + misses("config") + "=== reply\nA summary.\n=== reply\nDone.\n", []string{"--summarize-after-turns", "2", "--keep-recent-turns", "1"}, "0"},
		"max turns":      {look, []string{"--max-turns", "1"}, "5"},
		"no such flag":   {look, []string{"--nosuch"}, "2"},
		"no such system": {look, []string{"--profile", "none"}, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, map[string]string{"replies.txt": test.replies}, append([]string{"ask", "-o", "ndjson", "q"}, test.args...)...)
			cmd.Env = append(cmd.Env, "MYLM_NO_SAVE=")
			out, err := cmd.Output()
			if code := exitCode(err); code != test.exit {
				t.Errorf("exit %s, want %s: %s", code, test.exit, out)
			}
			last := ""
			for line := range strings.Lines(string(out)) {
				if err := checkLine(schema, line); err != nil {
					t.Errorf("%s%v", line, err)
				}
				var kind struct{ Type string }
				_ = json.Unmarshal([]byte(line), &kind)
				last = kind.Type
				seen[last] = true
			}
			want := "agent_end"
			if test.exit != "0" {
				want = "failure"
			}
			if last != want {
				t.Errorf("the last line is %q, want %s", last, want)
			}
			if test.exit == "2" {
				return
			}
			if out, err := again(cmd, "replay").CombinedOutput(); err != nil {
				t.Errorf("replay: %v: %s", err, out)
			}
		})
	}
	for _, kind := range types {
		if !seen[kind] && !slices.Contains(unseen, kind) {
			t.Errorf("%s is published, and no run prints it", kind)
		}
	}
}

// The schema refuses unpublished lines.
func TestEventSchemaIsStrict(t *testing.T) {
	t.Parallel()
	schema, _ := eventSchema(t)
	good := `{"type":"turn_end","run":"r","seq":3,"turn":1,"time":"2026-01-02T03:04:05Z","has_tool_calls":true}`
	for line, want := range map[string]bool{
		good: true,
		strings.Replace(good, "turn_end", "turn_over", 1):                 false,
		strings.Replace(good, `,"has_tool_calls":true`, "", 1):            false,
		strings.Replace(good, `true}`, `true,"more":1}`, 1):               false,
		strings.Replace(good, `"seq":3`, `"seq":"3"`, 1):                  false,
		strings.Replace(good, `2026-01-02T03:04:05Z`, "today", 1):         false,
		`{"type":"failure","error":{"code":"usage","message":"no flag"}}`: true,
		`{"type":"failure","error":"no flag"}`:                            false,
	} {
		if err := checkLine(schema, line); (err == nil) != want {
			t.Errorf("%s: %v", line, err)
		}
	}
}
