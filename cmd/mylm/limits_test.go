//go:build unix

package main

import (
	"strings"
	"testing"
)

// inOrder checks that the parts stand in a text one behind the other.
func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, p := range parts {
		_, after, ok := strings.Cut(rest, p)
		if !ok {
			t.Fatalf("%q is missing or out of order in %q", p, text)
		}
		rest = after
	}
}

const twoSteps = `=== reply chunk=4
I look.
<tool_code><name>list_dir</name><parameters>{}</parameters></tool_code>
`

func TestTerminalShowsTheLastWord(t *testing.T) {
	out := strip(onTerminal(t, twoSteps+"=== reply chunk=4\nOne file so far.\n", "q", "--max-turns", "1"))
	inOrder(t, out, "I look.\r\n", "> list_dir {}\r\n", "One file so far.\r\n", "mylm: stopped after 1 turn without an answer\r\n")
	if strings.Count(out, "One file so far.") != 1 {
		t.Errorf("it is shown twice: %q", out)
	}

	t.Run("or else its last text", func(t *testing.T) {
		out := strip(onTerminal(t, twoSteps+"=== reply chunk=4\nI look on.\n<tool_code><name>list_dir</name><parameters>{}</parameters></tool_code>\n", "q", "--max-turns", "1"))
		inOrder(t, out, "I look.\r\n", "I look on.", "taken back", "I look.\r\n", "mylm: stopped")
	})
}

func TestTerminalTakesBackAnAnswer(t *testing.T) {
	const no = "=== reply\n{\"completed\": false, \"confidence\": 0.2, \"issues\": [\"nothing was looked up\"]}\n"
	const yes = "=== reply\n{\"completed\": true, \"confidence\": 0.9}\n"
	out := strip(onTerminal(t, "=== reply chunk=4\nAn answer.\n"+no+"=== reply chunk=4\nA better one.\n"+yes, "q", "--self-eval", "full"))
	inOrder(t, out, "An answer.\r\n", "(the text above is taken back)\r\n", "the answer did not pass its check (confidence 0.20): nothing was looked up; trying again\r\n", "A better one.\r\n")
	if strings.Count(out, "A better one.") != 1 || strings.Contains(out, "completed") {
		t.Errorf("got %q", out)
	}
}

func TestTerminalTellsOfCompaction(t *testing.T) {
	read := "=== reply\n<tool_code><name>read_file</name><parameters>{\"path\": \"replies.txt\", \"end_line\": %}</parameters></tool_code>\n"
	script := ""
	for _, n := range []string{"1", "2", "3"} {
		script += strings.Replace(read, "%", n, 1)
	}
	out := strip(onTerminal(t, script+"=== reply\nA summary.\n=== reply\nDone.\n", "q", "--summarize-after-turns", "2", "--keep-recent-turns", "1"))
	inOrder(t, out, "context: 4 earlier messages summed up (about ", "Done.\r\n")
	if strings.Contains(out, "A summary.") {
		t.Errorf("the summary is shown: %q", out)
	}
}
