//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// inOrder checks that a text contains the parts in this order.
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
	t.Parallel()
	out := strip(onTerminal(t, twoSteps+"=== reply chunk=4\nOne file so far.\n", "q", "--max-turns", "1"))
	inOrder(t, out, "I look.\r\n", "> list_dir {}\r\n", "One file so far.\r\n", "mylm: stopped after 1 turn without an answer\r\n")
	if strings.Count(out, "One file so far.") != 1 {
		t.Errorf("it is shown twice: %q", out)
	}

	t.Run("or else its last text", func(t *testing.T) {
		out := strip(onTerminal(t, twoSteps+"=== reply chunk=4\nI look on.\n<tool_code><name>list_dir</name><parameters>{}</parameters></tool_code>\n", "q", "--max-turns", "1"))
		inOrder(t, out, "I look.\r\n", "I look on.", "withdrawn", "I look.\r\n", "mylm: stopped")
	})
}

func TestTerminalTakesBackAnAnswer(t *testing.T) {
	t.Parallel()
	const no = "=== reply\n{\"completed\": false, \"confidence\": 0.2, \"issues\": [\"nothing was looked up\"]}\n"
	const yes = "=== reply\n{\"completed\": true, \"confidence\": 0.9}\n"
	out := strip(onTerminal(t, "=== reply chunk=4\nAn answer.\n"+no+"=== reply chunk=4\nA better one.\n"+yes, "q", "--self-eval", "full"))
	inOrder(t, out, "An answer.\r\n", "(the text above is withdrawn)\r\n", "the answer did not pass its check (confidence 0.20): nothing was looked up;\r\n  trying again\r\n", "A better one.\r\n")
	if strings.Count(out, "A better one.") != 1 || strings.Contains(out, "completed") {
		t.Errorf("got %q", out)
	}
}

func TestTerminalTellsOfCompaction(t *testing.T) {
	t.Parallel()
	read := "=== reply\n<tool_code><name>read_file</name><parameters>{\"path\": \"replies.txt\", \"end_line\": %}</parameters></tool_code>\n"
	script := ""
	for _, n := range []string{"1", "2", "3"} {
		script += strings.Replace(read, "%", n, 1)
	}
	out := strip(onTerminal(t, script+"=== reply\nA summary.\n=== reply\nDone.\n", "q", "--summarize-after-turns", "2", "--keep-recent-turns", "1"))
	inOrder(t, out, "context: 4 earlier messages summarized (about ", "Done.\r\n")
	if strings.Contains(out, "A summary.") {
		t.Errorf("the summary is shown: %q", out)
	}
}

// Input that is too long for the limit is refused with a hint that works, whatever
// characters it has.
func TestClipKeepsTheLimit(t *testing.T) {
	t.Parallel()
	h := newHome(t, newPlaced(t, "Fine."))
	for name, line := range map[string]string{
		"prose":   "the quick brown fox jumps over the lazy dog\n",
		"log":     "2026-01-02 03:04:05 ERROR [9f86d081884c7d65] {\"id\":0.7364,\"msg\":\"no\"}\n",
		"base64":  "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg4bQgYhMfWWaL+qgxVrQFaO/Tx\n",
		"Chinese": "这个文件很长，模型读不完。\n",
	} {
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(strings.Repeat(line, 200_000/len(line))), 0o600); err != nil {
			t.Fatal(err)
		}
		for limit, clips := range map[string]bool{"3000": true, "20000": true, "300": false} {
			args := []string{"ask", "--file", name, "--max-context-tokens", limit, "sum up"}
			_, errs, code := h.run(args...)
			if code != "7" || strings.Contains(errs, "--clip") != clips || !strings.Contains(errs, "llow more with --max-context-tokens") {
				t.Errorf("%s, %s: exit %s, %s", name, limit, code, errs)
			}
			out, errs, code := h.run(append([]string{args[0], "--clip"}, args[1:]...)...)
			if clips && (code != "0" || out != "Fine.\n" || !strings.Contains(errs, name+" is too long")) || !clips && code != "7" {
				t.Errorf("%s, %s, clipped: exit %s, %q, %s", name, limit, code, out, errs)
			}
		}
	}
}

// What --clip leaves fits into the model's window as the agent counts it.
func TestClipOfDenseText(t *testing.T) {
	t.Parallel()
	h := newHome(t, newPlaced(t, "Fine."))
	if err := os.WriteFile(filepath.Join(h.dir, "dense"), []byte(strings.Repeat("y\n", 100_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := h.run("ask", "--file", "dense", "--clip", "sum up")
	if code != "0" || out != "Fine.\n" || !strings.Contains(errs, "dense is too long") {
		t.Errorf("exit %s, %q, %s", code, out, errs)
	}
}

// A window that is proposed for long input is one that the model has and that suffices.
func TestProposedWindow(t *testing.T) {
	t.Parallel()
	h := newHome(t, newPlaced(t, "Fine."))
	for name, n := range map[string]int{"long": 2_000, "longest": 40_000} {
		text := strings.Repeat("the quick brown fox jumps\n", n)
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, errs, code := h.run("ask", "--file", "long", "--num-ctx", "4096", "sum up")
	m := regexp.MustCompile(`--num-ctx \d+`).FindString(errs)
	if code != "7" || m == "" {
		t.Fatalf("exit %s, %s", code, errs)
	}
	if out, errs, code := h.run(append([]string{"ask", "--file", "long", "sum up"}, strings.Fields(m)...)...); code != "0" || out != "Fine.\n" {
		t.Errorf("%s: exit %s, %q, %s", m, code, out, errs)
	}
	if _, errs, code := h.run("ask", "--file", "longest", "sum up"); code != "7" || strings.Contains(errs, "--num-ctx") {
		t.Errorf("exit %s, %s", code, errs)
	}
	if _, errs, code := h.run("ask", "-m", "demo", "--file", "longest", "sum up"); code != "7" || strings.Contains(errs, "entry") {
		t.Errorf("exit %s, %s", code, errs)
	}
}
