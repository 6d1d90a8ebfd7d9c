//go:build unix

package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// ofPlans are the event types of plans only.
var ofPlans = []string{"plan", "plan_reason", "task_start", "task_recovery", "task_observed", "task_end", "plan_reflect", "plan_end"}

// Tasks run in parallel if none of their calls can lead to a question.
func TestSideBySideModes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tools string
		args  []string
		want  int
	}{
		"reading":                {"read_file", nil, 4},
		"commands":               {"execute_command", nil, 1},
		"commands, unasked":      {"execute_command", []string{"--yes"}, 4},
		"reading, all asked":     {"read_file", []string{"--confirm", "confirm-all"}, 1},
		"reading, fewer workers": {"read_file", []string{"--workers", "2"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			replies := strings.ReplaceAll(fourTasks, `"}`, `", "tools": ["`+test.tools+`"]}`) + strings.Repeat("=== reply\nDone.\n", 4)
			cmd := command(t, map[string]string{"replies.txt": replies}, append([]string{"agent", "run", "-o", "ndjson", "--no-reason", "--no-observe", "--no-reflect", "q"}, test.args...)...)
			out, err := cmd.Output()
			if code := exitCode(err); code != "0" {
				t.Fatalf("exit %s: %s", code, out)
			}
			under, most := 0, 0
			for line := range strings.Lines(string(out)) {
				var kind struct{ Type string }
				_ = json.Unmarshal([]byte(line), &kind)
				switch kind.Type {
				case "task_start":
					under++
				case "task_end":
					under--
				}
				most = max(most, under)
			}
			if most != test.want {
				t.Errorf("%d at once, want %d", most, test.want)
			}
		})
	}
}

// Of a plan that grows, only the changes are printed.
func TestChangesInAPipe(t *testing.T) {
	t.Parallel()
	replies := fourTasks + `=== reply
One.
=== reply
{"success": true, "adjustments": {"add": [{"id": "e", "description": "five"}, {"id": "b", "description": "two again"}], "drop": ["d"]}}
=== reply
Two.
=== reply
{"success": true, "adjustments": {"add": [{"id": "f", "description": "six", "dependencies": ["c"]}]}}
=== reply error=bad_request message="no"
`
	cmd := command(t, map[string]string{"replies.txt": replies}, "agent", "run", "--workers", "1", "--no-reason", "q")
	var errs strings.Builder
	cmd.Stderr = &errs
	_ = cmd.Run()
	for _, want := range []string{
		"plan: 4 tasks\n  ⋯ a  one\n  ⋯ b  two\n  ⋯ c  three\n  ⋯ d  four\n▶ a (task 1 of 4): one\n",
		"\nthe plan has changed: 5 tasks\n  ⋯ b  two again\n  ✗ d  four (blocked)\n  ⋯ e  five\n✗ d blocked: dropped by the model",
		"\nthe plan has changed: 6 tasks\n  ⋯ f  six\n▶ c (task 3 of 6): ",
	} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%q is not in %s", want, errs.String())
		}
	}
}

const fourTasks = `=== reply
{"tasks": [{"id": "a", "description": "one"}, {"id": "b", "description": "two"}, {"id": "c", "description": "three"}, {"id": "d", "description": "four"}]}
`

// Every line that a plan prints fits the published schema, and every type occurs.
func TestPlanEventsAreAsPublished(t *testing.T) {
	t.Parallel()
	schema, _ := eventSchema(t)
	seen := map[string]bool{}
	for name, test := range map[string]struct {
		replies string
		exit    string
	}{
		"whole": {fourTasks + `=== reply
{"thought": "c is short", "selected_task_id": "c", "rationale": "short"}
=== reply
<tool_code><name>list_dir</name><parameters>{}</parameters></tool_code>
=== reply
One.
=== reply
{"success": true, "learned": ["a fact"], "progress": "well", "adjustments": {"add": [{"id": "e", "description": "five", "dependencies": ["a"]}], "drop": ["d"]}}
=== reply
{"thought": "a", "selected_task_id": "a", "rationale": ""}
=== reply
Two.
=== reply
{"success": true, "progress": "well"}
=== reply
{"selected_task_id": "b"}
=== reply
Three.
=== reply
{"success": true, "progress": "well"}
=== reply
{"progress": "nearly", "adjustments": {"drop": ["nothing"]}}
=== reply
Five.
=== reply
{"success": true, "progress": "done"}
`, "5"}, // d was dropped
		"given up": {`=== reply
no plan
=== reply
still none
` + strings.Repeat("=== reply\nI cannot.\n=== reply\n{\"success\": false, \"reason\": \"nothing was done\", \"progress\": \"none\"}\n", 4), "5"},
		"given": {"=== reply\nOne.\n", "0"},
		"fault": {"=== reply error=bad_request message=\"no\"\n", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, map[string]string{"replies.txt": test.replies, "plan.json": `[{"description": "one", "tools": []}]`}, "agent", "run", "-o", "ndjson", "--workers", "1", "q")
			if name == "given" {
				cmd.Args = append(cmd.Args, "--no-observe", "--plan", "plan.json")
			}
			out, err := cmd.Output()
			if code := exitCode(err); code != test.exit {
				t.Errorf("exit %s, want %s: %s", code, test.exit, out)
			}
			for line := range strings.Lines(string(out)) {
				if err := checkLine(schema, line); err != nil {
					t.Errorf("%s%v", line, err)
				}
				var kind struct{ Type string }
				_ = json.Unmarshal([]byte(line), &kind)
				seen[kind.Type] = true
			}
		})
	}
	for _, kind := range ofPlans {
		if !seen[kind] {
			t.Errorf("no plan prints %s", kind)
		}
	}
	if slices.Contains(ofPlans, "agent_end") || !seen["agent_end"] {
		t.Error("the end is not told")
	}
}
