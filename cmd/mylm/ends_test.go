//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// script makes a script of replies; one that begins with === has its own first line.
func script(replies ...string) string {
	var b strings.Builder
	for _, r := range replies {
		if !strings.HasPrefix(r, "=== ") {
			b.WriteString("=== reply\n")
		}
		b.WriteString(r + "\n")
	}
	return b.String()
}

func toolCall(name, args string) string {
	return "<tool_code><name>" + name + "</name><parameters>" + args + "</parameters></tool_code>"
}

func readCall(path string) string { return toolCall("read_file", `{"path": "`+path+`"}`) }

// Every end of a run is the same as text, as JSON and as events: the output, the
// reason, the hint and the exit code.
func TestEnds(t *testing.T) {
	t.Parallel()
	look, echo := "I look.\n"+listCall, toolCall("execute_command", `{"command": "echo x > made"}`)
	verdict := func(completed string) string {
		return `{"completed": ` + completed + `, "confidence": 0.3, "issues": ["nothing was looked up"]}`
	}
	const hang = "=== reply hang\nHalf an ans"
	for name, test := range map[string]struct {
		replies string
		args    []string
		exit    string
		status  string
		stop    string
		code    string // of the error, where it is not the stop reason
		stdout  string
		stderr  []string
	}{
		"complete":          {script(look, "Done."), nil, "0", "success", "complete", "", "Done.\n", nil},
		"turns":             {script(look, readCall("replies.txt"), "One file so far."), []string{"--max-turns", "2"}, "5", "partial", "max_turns", "", "One file so far.\n", []string{"stopped after 2 turns without an answer", "--max-turns"}},
		"turns, no word":    {script(look, look), []string{"--max-turns", "1"}, "5", "partial", "max_turns", "", "I look.\n", []string{"stopped after 1 turn without an answer"}},
		"turns, cut":        {script("=== reply stop=length\nOne, two"), []string{"--max-turns", "1"}, "5", "partial", "max_turns", "", "One, two\n", []string{"stopped after 1 turn without an answer: the length limit cut the last reply", "--max-turns"}},
		"same call":         {script(look, look, "It is the same."), nil, "5", "partial", "repeated_call", "", "It is the same.\n", []string{"same call twice in a row (list_dir", "rephrase the question"}},
		"circle":            {script(listCall, readCall("replies.txt"), listCall, readCall("replies.txt"), listCall, "Circles."), nil, "5", "partial", "stuck", "", "Circles.\n", []string{"3 calls in a row returned nothing new", "a larger model"}},
		"same result":       {script(listCall, readCall("replies.txt"), listCall, readCall("home.txt"), listCall, toolCall("find_files", `{"pattern": "*.txt"}`), listCall, "Circles."), nil, "5", "partial", "stuck", "", "Circles.\n", []string{"the same call had the same result 4 times"}},
		"same error":        {script(toolCall("execute_command", `{"command": "cat none"}`), listCall, toolCall("execute_command", `{"command": "cat  ./none"}`), readCall("replies.txt"), toolCall("execute_command", `{"command": "cat 'none'"}`), "No file."), []string{"--yes"}, "5", "partial", "stuck", "", "No file.\n", []string{"the same error occurred 3 times"}},
		"errors":            {script(readCall("a"), readCall("b"), readCall("c"), "They are not there."), nil, "5", "partial", "consecutive_errors", "", "They are not there.\n", []string{"3 tool calls in a row failed"}},
		"denied":            {script(echo, "Then not."), nil, "4", "partial", "denied", "", "Then not.\n", []string{"a call was denied", "--yes"}},
		"denied, thrice":    {script(echo, toolCall("execute_command", `{"command": "echo y > made"}`), toolCall("execute_command", `{"command": "echo z > made"}`)), nil, "4", "partial", "denied", "", "", []string{"a call was denied"}},
		"unreadable":        {script("<tool_code>\nno", "<tool_code>\nno", "<tool_code>\nno"), nil, "6", "partial", "malformed", "", "", []string{"3 replies in a row could not be read", "a larger model"}},
		"only thought":      {script("<think>hm", "<think>hm", "<think>hm"), nil, "6", "partial", "malformed", "", "", []string{"--think off"}},
		"filter":            {script("=== reply stop=content_filter\nOne"), nil, "5", "partial", "finish_other", "", "One\n", []string{"content_filter"}},
		"first token":       {script(look, "=== reply hang"), []string{"--first-token-timeout", "200ms"}, "124", "partial", "timeout", "", "I look.\n", []string{"the model sent nothing for 200ms", "--first-token-timeout"}},
		"next token":        {script(look, hang), []string{"--timeout", "200ms"}, "124", "partial", "timeout", "", "Half an ans\n", []string{"fell silent for 200ms", "--timeout"}},
		"reply":             {script(look, hang), []string{"--step-timeout", "2s"}, "124", "partial", "timeout", "", "Half an ans\n", []string{"the reply took longer than 2s", "--step-timeout"}},
		"run":               {script(look, hang), []string{"--max-time", "2s"}, "124", "partial", "timeout", "", "Half an ans\n", []string{"the run took longer than 2s", "--max-time"}},
		"run, in a tool":    {script("I wait.\n" + toolCall("execute_command", `{"command": "sleep 1000"}`)), []string{"--max-time", "2s", "--yes"}, "124", "partial", "timeout", "", "I wait.\n", []string{"the run took longer than 2s"}},
		"too long":          {script("=== reply error=overflow message=\"too long\""), nil, "7", "partial", "context_full", "", "", []string{"too long"}},
		"cut in silence":    {script("=== reply stop=length prompt=900\nIt begins", "=== reply prompt=500\nand ends."), nil, "7", "partial", "context_full", "", "It begins\n", []string{"silently truncated the conversation", "--num-ctx"}},
		"not checked":       {script("fine?", verdict("false")), []string{"--self-eval", "basic"}, "5", "partial", "not_verified", "", "fine?\n", []string{"did not pass its check (confidence 0.30): nothing was looked up"}},
		"never checked":     {script("fine?", verdict("false"), "fine!", verdict("false"), "fine.", "no verdict"), []string{"--self-eval", "full"}, "5", "partial", "not_verified", "", "fine.\n", []string{"did not pass its check"}},
		"model":             {script("=== reply error=bad_request message=\"no such option\""), nil, "1", "failed", "model_error", "", "", []string{"no such option"}},
		"cut, every time":   {strings.Repeat(script("=== reply cut\nHalf an ans"), 3), nil, "1", "failed", "model_error", "", "Half an ans\n", []string{"cuts the reply off"}},
		"unreachable":       {strings.Repeat(script("=== reply error=unreachable message=\"nobody there\""), 3), nil, "3", "failed", "model_error", "unreachable", "", []string{"nobody there"}},
		"no such model":     {script("=== reply error=model_missing message=\"which one?\""), nil, "3", "failed", "model_error", "model_missing", "", []string{"which one?"}},
		"failure in a turn": {script(look, "=== reply error=bad_request message=\"no more\""), nil, "1", "failed", "model_error", "", "", []string{"no more"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &home{t: t, dir: t.TempDir(), host: "127.0.0.1:1"}
			for name, text := range map[string]string{"replies.txt": test.replies, "home.txt": "home\n", "rest.txt": script("Well.")} {
				if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			code := test.code
			if code == "" && test.exit != "0" {
				code = test.stop
			}
			args := append([]string{"ask", "-m", "scripted/replies.txt", "q"}, test.args...)

			out, errs, exit := h.run(args...)
			if exit != test.exit || out != test.stdout {
				t.Errorf("exit %s, want %s; stdout %q; stderr %s", exit, test.exit, out, errs)
			}
			for _, text := range test.stderr {
				if !strings.Contains(errs, text) {
					t.Errorf("%q is missing on stderr: %s", text, errs)
				}
			}

			object, objectErrs, exit := h.run(append(args, "--json")...)
			var got struct {
				Status     string
				StopReason string `json:"stop_reason"`
				Output     string
				Session    string
				Error      struct{ Code, Message, Hint string }
			}
			if err := json.Unmarshal([]byte(object), &got); err != nil {
				t.Fatalf("%v: %s", err, object)
			}
			if exit != test.exit || got.Status != test.status || got.StopReason != test.stop || got.Error.Code != code || got.Session == "" {
				t.Errorf("json: exit %s, %+v", exit, got)
			}
			if test.stdout != "" && got.Output+"\n" != test.stdout {
				t.Errorf("the output is %q, and stdout was %q", got.Output, test.stdout)
			}
			if !strings.Contains(errs, got.Error.Message) || !strings.Contains(objectErrs, got.Error.Message) || !strings.Contains(objectErrs, strings.Split(got.Error.Hint, "\n")[0]) {
				t.Errorf("the error is %+v, and stderr says %s%s", got.Error, errs, objectErrs)
			}
			if continuedGutter := test.exit != "0"; strings.Contains(errs, "mylm resume ") != continuedGutter || strings.Contains(got.Error.Hint, "mylm resume "+got.Session) != continuedGutter {
				t.Errorf("how to go on is missing, or said for nothing: %q, %s", got.Error.Hint, errs)
			}

			lines, _, exit := h.run(append(args, "-o", "ndjson")...)
			if exit != test.exit {
				t.Errorf("ndjson: exit %s", exit)
			}
			checkEnd(t, published(t, lines), test.stop, code, strings.TrimSpace(test.stdout), map[string]int{"session": 1})

			if test.exit != "0" {
				if out, errs, exit := h.run("resume", "last", "-m", "scripted/rest.txt"); exit != "0" || out != "Well.\n" {
					t.Errorf("resume: exit %s, %q, %s", exit, out, errs)
				}
			}
			h.replays()
		})
	}
}
