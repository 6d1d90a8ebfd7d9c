//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

// Without tools an answer comes line by line in a pipe, each line once, and the whole is
// what is printed at the end otherwise.
func TestLinesInAPipe(t *testing.T) {
	t.Parallel()
	for name, replies := range map[string]string{
		"lines":      "=== reply chunk=1\n\n \n# A title\n\n\nOne  \ntwo \r\n\tthree\n\n \n",
		"spaces":     "=== reply chunk=1\nOne   \n   \ntwo\t\n",
		"one":        "=== reply chunk=2\nA word.\n",
		"thought":    "=== thought\nHm.\n=== reply chunk=3\nOne.\nTwo.\n",
		"in tags":    "=== reply chunk=3\n<think>Hm.\nYes.</think>\n\nOne.\nTwo.\n",
		"cut":        "=== reply stop=length chunk=3\nOne.\nTw\n=== reply chunk=3\no.\nThree.\n",
		"again":      "=== reply chunk=3 error=unreachable message=\"gone\"\nOne.\nTwo.\n=== reply chunk=3\nOne.\nTwo.\nThree.\n",
		"broke off":  "=== reply chunk=3 cut\nOne.\nTwo.\nTh\n=== reply chunk=3\nOne.\nTwo.\nThree.\n",
		"narration":  "=== reply chunk=3\nWell: <final_answer>One.\nTwo.</final_answer>\n",
		"no call":    "=== reply chunk=3\nOne.\n```\n<tool_code><name>f</name><parameters>{}</parameters></tool_code>\n```\nTwo.\n",
		"withdrawal": "=== reply\nHm, yes.</think>One.\nTwo.\n",
		"checked":    "=== reply\nOne.\nTwo.\n=== reply\n{\"completed\": false, \"confidence\": 0}\n=== reply\nThree.\n=== reply\n{\"completed\": true, \"confidence\": 1}\n",
	} {
		files, args := map[string]string{"replies.txt": replies}, []string{"ask", "q", "--tools", "none"}
		if name == "checked" {
			args = append(args, "--self-eval", "full")
		}
		whole, err := command(t, files, append(args, "--no-stream")...).Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if out, err := command(t, files, args...).Output(); err != nil || !bytes.Equal(out, whole) {
			t.Errorf("%s: %q, %v, want %q", name, out, err, whole)
		}
	}

	for name, replies := range map[string]string{
		"thought":   "=== reply\nOne.\nTwo.\n</think>\nThree.\n",
		"call":      "=== reply\nOne.\nTwo.\n<tool_code><name>f</name><parameters>{}</parameters></tool_code>\n=== reply\nThree.\n",
		"new words": "=== reply chunk=3 cut\nOne.\nTwo.\nThr\n=== reply\nThree.\n",
	} {
		cmd := command(t, map[string]string{"replies.txt": replies}, "ask", "q", "--tools", "none")
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 || !strings.HasPrefix("One.\nTwo.\n", out.String()) || out.Len() == 0 || !strings.Contains(errs.String(), "--no-stream") {
			t.Errorf("%s: %q, %v: %s", name, out.String(), err, errs.String())
		}
	}

	cmd := command(t, map[string]string{"replies.txt": "=== reply hang\nOne.\nTwo\n"}, "ask", "q", "--tools", "none")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	if line, err := r.ReadString('\n'); line != "One.\n" {
		t.Errorf("%q, %v while it hangs", line, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r); string(rest) != "Two\n" {
		t.Errorf("%q, %v of what was interrupted", rest, err)
	}
	if code := exitWithin(t, cmd); code != "130" {
		t.Errorf("exit %s", code)
	}
}
