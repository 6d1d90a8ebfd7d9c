//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
)

const planReplies = `=== reply
{"tasks": [{"id": "a", "description": "look around"}, {"id": "b", "description": "make a file", "dependencies": ["a"]}]}
=== reply delay=300ms
Nothing here.
=== reply
{"success": true, "progress": "halfway there"}
=== reply delay=300ms
<tool_code><name>execute_command</name><parameters>{"command": "touch made"}</parameters></tool_code>
=== reply
Made.
=== reply
{"success": true, "progress": "done"}
`

// The tree is drawn in place, is hidden during a question, and remains at the end.
func TestLiveView(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]*pty.Winsize{"wide": {Rows: 30, Cols: 100}, "narrow": {Rows: 8, Cols: 24}} {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, map[string]string{"replies.txt": planReplies}, "agent", "run", "look around and make a file")
			c := converse(t, cmd, "", size)
			c.expect("Goal: look around a")
			c.expect("0 of 2 tasks done")
			c.expect("▶ a  look around")
			c.expect("⋯ b  make a file")
			c.expect("~ halfway there")
			c.expect("b thinking")
			c.expect("\x1b[J") // drawn again
			c.expect("Allow it?")
			if err := pty.Setsize(c.tty, &pty.Winsize{Rows: size.Rows, Cols: size.Cols - 4}); err != nil {
				t.Fatal(err)
			}
			before := len(c.text())
			c.types("y\n")
			c.expect("2 of 2 tasks done")
			c.expect("✓ a  look around")
			c.expect("✓ b  make a file")
			if code := c.exit(); code != "0" {
				t.Errorf("exit %s", code)
			}
			c.expect("Made.")
			if asked := c.text()[:before]; strings.Contains(asked[strings.LastIndex(asked, "Allow it?"):], "\x1b[J") {
				t.Errorf("the tree was drawn over the question: %q", asked)
			}
			if _, err := os.Stat(filepath.Join(cmd.Dir, "made")); err != nil {
				t.Error(err)
			}
		})
	}
}

// A plan is shown and asked about before any task starts.
func TestMixed(t *testing.T) {
	t.Parallel()
	for answer, exit := range map[string]string{"n\n": "4", "y\n": "0", "\x03": "130"} {
		cmd := command(t, map[string]string{"replies.txt": planReplies}, "agent", "run", "--mixed", "q")
		c := converse(t, cmd, "", &pty.Winsize{Rows: 30, Cols: 100})
		c.expect("| a  look around")
		c.expect("| b  make a file (after a)")
		c.expect("Carry it out?")
		c.types(answer)
		if exit == "0" {
			c.expect("Allow it?")
			c.types("y\n")
		}
		if code := c.exit(); code != exit {
			t.Errorf("%q: exit %s, want %s: %q", answer, code, exit, c.text())
		}
		if _, err := os.Stat(filepath.Join(cmd.Dir, "made")); (err == nil) != (exit == "0") {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

// A plan that does not fit needs "yes" or to be viewed whole, and no id can imitate
// another task.
func TestMixedUnseen(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 60 {
		many = append(many, fmt.Sprintf(`{"id": "a%d\nb%d  make nothing", "description": "say something"}`, i, i))
	}
	plan := "=== reply\n{\"tasks\": [" + strings.Join(many, ",") + "]}\n"
	type step struct{ expect, answer string }
	for name, test := range map[string]struct {
		steps []step
		exit  string
	}{
		"y is not enough": {[]step{{"| a0 b0 make nothing  say something", ""}, {"47 lines", ""}, {"or type yes to carry it out unseen", "y\n"}, {"or type yes to carry it out unseen", "n\n"}}, "4"},
		"yes":             {[]step{{"[e]dit, or type yes to carry it out unseen", "yes\n"}, {"▶ a0 b0", "\x03"}}, "130"},
		"seen": {[]step{{"unseen", "d\n"}, {"[page 1 of 3]", "\n"}, {"[page 2 of 3]", "\n"}, {"| a59 b59 make nothing", ""}, {"the last]", "\n"},
			{"Carry it out? [y]es, [n]o, [e]dit", "n\n"}}, "4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, map[string]string{"replies.txt": plan + "=== reply hang\n"}, "agent", "run", "--mixed", "--workers", "1", "--no-reason", "q")
			c := converse(t, cmd, "", &pty.Winsize{Rows: 24, Cols: 100})
			for _, s := range test.steps {
				c.expect(s.expect)
				if strings.HasSuffix(s.answer, "\n") {
					c.expect(": ") // the end of the question
				}
				c.types(s.answer)
			}
			if code := c.exit(); code != test.exit {
				t.Errorf("exit %s, want %s: %q", code, test.exit, c.text())
			}
		})
	}
}

// Questions of parallel tasks are asked one at a time.
func TestQuestionsOfTwoTasks(t *testing.T) {
	t.Parallel()
	ask := func(question string) string { // on a busy machine one task may get both
		return "=== reply\n<tool_code><name>ask_user</name><parameters>{\"question\": \"" + question + "\"}</parameters></tool_code>\n"
	}
	replies := `=== reply
{"tasks": [{"id": "a", "description": "one", "tools": ["ask_user"]}, {"id": "b", "description": "two", "tools": ["ask_user"]}]}
` + ask("which one?") + ask("which other?") + "=== reply\nThat one.\n=== reply\nThat one.\n"
	cmd := command(t, map[string]string{"replies.txt": replies}, "agent", "run", "--yes", "--no-observe", "q")
	c := converse(t, cmd, "", &pty.Winsize{Rows: 30, Cols: 100})
	for _, answer := range []string{"the first\n", "the second\n"} {
		c.expect("Answer (Enter: none): ")
		c.types(answer)
	}
	if code := c.exit(); code != "0" {
		t.Errorf("exit %s: %q", code, c.text())
	}
	_, rest, _ := strings.Cut(c.text(), "The model asks:")
	if before, _, again := strings.Cut(rest, "The model asks:"); !again || !strings.Contains(before, "the first") && !strings.Contains(before, "the second") {
		t.Errorf("the second question came before the answer to the first: %q", c.text())
	}
}

// An edited plan is carried out, and an invalid edit loses nothing that was typed.
func TestEditedPlan(t *testing.T) {
	t.Parallel()
	const twice = `if grep -q "no plan" "$1"; then cp whole.json "$1"; else cp "$1" whole.json; echo "no plan" > "$1"; fi`
	type step struct{ expect, answer string }
	for name, test := range map[string]struct {
		editor string
		steps  []step
		exit   string
	}{
		"changed":     {`sed -i.bak 's/look around/look twice/'`, []step{{"| a  look around", ""}, {"[e]dit", "e\n"}, {"| a  look twice", ""}, {"Carry it out?", "y\n"}, {"▶ a  look twice", ""}, {"Allow it?", "y\n"}, {"✓ b", ""}}, "0"},
		"mended":      {`sed -i.bak 's/"a"$/"c"/'`, []step{{"[e]dit", "edit\n"}, {"b depends on \"c\", which does not exist", ""}, {"Carry it out?", "n\n"}}, "4"},
		"missing":     {"nosuch-editor", []step{{"[e]dit", "e\n"}, {"The plan is as it was: the editor \"nosuch-editor\": exit status 127. Set VISUAL or EDITOR", ""}, {"Carry it out?", "n\n"}}, "4"},
		"broken":      {"sh twice.sh", []step{{"[e]dit", "e\n"}, {"The plan is as it was: no JSON of the requested form", ""}, {"edit opens it again", ""}, {"[e]dit", "e\n"}, {"| a  look around", ""}, {"Carry it out?", "y\n"}, {"Allow it?", "y\n"}}, "0"},
		"interrupted": {"true", []step{{"[e]dit", "e\n"}, {"The plan:", ""}, {"Carry it out?", "y\n"}, {"Allow it?", "\x03"}}, "130"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, map[string]string{"replies.txt": planReplies, "twice.sh": twice}, "agent", "run", "--mixed", "q")
			cmd.Env = append(cmd.Env, "VISUAL=", "EDITOR="+test.editor, "TMPDIR="+t.TempDir())
			c := converse(t, cmd, "", &pty.Winsize{Rows: 30, Cols: 130})
			for _, s := range test.steps {
				c.expect(s.expect)
				if s.answer != "" {
					c.expect(": ") // the end of the question
					c.types(s.answer)
				}
			}
			if code := c.exit(); code != test.exit {
				t.Errorf("exit %s, want %s: %q", code, test.exit, c.text())
			}
		})
	}
}

const strangers = `---
name: theirs
inputs:
  - {name: where, default: "h\u0065re\nsteps:"}
tools: ["list_dir", "read\u005ffile"]
confirm: confirm-sensitive
steps:
  - "m\u0061ke a file {{where}}"
  - id: "b\nc  hidden"
    do: "say so\n  d  to them"
    tools: [list_dir]
---
From strangers.
`

// A workflow of the project is shown and asked about once for each version of its
// text. What is shown is what runs, however the file spells it.
func TestProjectWorkflow(t *testing.T) {
	t.Parallel()
	replies := strings.Repeat("=== reply\nMade.\n", 2)
	cmd := command(t, map[string]string{"replies.txt": replies}, "agent", "workflow", "theirs", "--no-observe")
	dir := cmd.Dir
	flows := filepath.Join(dir, ".mylm", "workflows")
	if err := os.MkdirAll(flows, 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(text, answer, exit string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(flows, "theirs.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := converse(t, again(cmd, cmd.Args[1:]...), "", &pty.Winsize{Rows: 30, Cols: 100})
		if answer != "" {
			for _, line := range []string{
				"| goal:", "|   From strangers.", "| inputs:", `|   where, "here steps:" if it is not given`,
				"| steps:", "|   t1  make a", "file {{where}}", "|   b c hidden  say so d to them (after t1) [list_dir]",
				"| tools:", "|   list_dir, read_file", "| questions:", "|   confirm-sensitive", "Run it?",
			} {
				c.expect(line)
			}
			c.types(answer)
		}
		if code := c.exit(); code != exit {
			t.Errorf("%q: exit %s, want %s: %q", answer, code, exit, c.text())
		}
	}
	run(strangers, "n\n", "4")
	run(strangers, "y\n", "0")
	run(strangers, "", "0")
	if out, err := again(cmd, "agent", "forget").Output(); err != nil || string(out) != "deleted 0 plans and 1 consent of workflows\n" {
		t.Errorf("%v, %s", err, out)
	}
	run(strangers, "y\n", "0")
	run(strings.Replace(strangers, "ke a file", "ke a second file", 1), "n\n", "4")
}

// "stop" at the question about a failed task ends the plan, and the task stays
// pending.
func TestStopAtAFailedTask(t *testing.T) {
	t.Parallel()
	for name, typed := range map[string]string{"letter": "s\n", "word": " Stop\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, map[string]string{"replies.txt": strings.Repeat("=== reply\n\n", 9)}, "agent", "run", "--no-plan", "--no-observe", "q")
			c := converse(t, cmd, "", &pty.Winsize{Rows: 40, Cols: 100})
			c.expect("[s]top stops the plan")
			c.expect("(Enter: none): ")
			c.types(typed)
			c.expect("stopped by you")
			if code := c.exit(); code != "4" || strings.Contains(c.text(), "skipped, with all") {
				t.Errorf("exit %s: %q", code, c.text())
			}
		})
	}
}
