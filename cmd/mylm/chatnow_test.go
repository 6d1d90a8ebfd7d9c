//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What only reads does not wait for the reply that is coming, and stands below the
// block that it comes in.
func TestChatNow(t *testing.T) {
	t.Parallel()
	s := chatOn(t, saved(command(t, map[string]string{"replies.txt": writeReplies + "=== reply hang\nIt begins\nand it\n", "notes.txt": "one\ntwo\nthree\n"}, "chat", "--yes")), 100, 50)
	s.says("change it")
	s.shows("1 turn")
	s.says("tell me")
	s.shows("It begins\nand it\n")
	for _, step := range []struct{ typed, shown string }{
		{"/stats", "1 message, 1 call"},
		{"/help", "/yolo on|off"},
		{"/help model", "/model [NAME]"},
		{"/tools", "list_dir"},
		{"/diff", "  -two\n   three"},
		{"/sessions", "change it"},
		{"/model", "The model is scripted/"},
		{"/system", "(the built-in text"},
		{"/memory", "/memory needs what to search for"},
		{"/copy", "copied 8 bytes"},
	} {
		s.says(step.typed)
		s.shows(step.shown)
		s.shows("writing\n>\n")
	}
	s.says("/model other")
	s.says("/clear")
	s.shows("next: /model other\nnext: /clear")
	s.says("/tools")
	s.types(ctrlC)
	s.shows("mylm: interrupted")
	s.shows("2 messages were not sent; Up brings them back.")
	s.types(up)
	s.shows("\n> /clear\nscripted")
	if text := s.text(); !strings.Contains(text, "> tell me\nIt begins\nand it\n\n> /stats\n1 message") {
		t.Errorf("the answer is split:\n%s", text)
	}
}

// However long that is, the end of the block stays in sight.
func TestChatNowSmall(t *testing.T) {
	t.Parallel()
	s := startChat(t, "=== reply hang\nIt begins\nand it\n", 60, 24)
	s.says("tell me")
	s.shows("It begins\nand it\n")
	s.says("/help")
	s.shows("leave; clear the screen\nwriting\n>")
	if screen := s.screen(); !strings.Contains(screen, "and it\n… ") || !strings.Contains(screen, " more rows, with the end of the paragraph\n") {
		t.Errorf("the block is out of sight:\n%s", screen)
	}
	s.types(ctrlC)
	s.shows("It begins\nand it\n\n> /help\n  /help\n")
}

// Where a reply was cut nothing is written until the next one begins.
func TestChatCut(t *testing.T) {
	t.Parallel()
	s := startChat(t, "=== reply cut\nIt begins\n=== reply hang\n", 80, 24)
	s.says("tell me")
	s.holds("that it waits", func(text string) bool {
		_, after, retried := strings.Cut(text, "\nretry 2 in ")
		return retried && strings.Contains(after, "waiting for the model") && !strings.Contains(after, "writing")
	})
}

// A command that comes while raw text streams splits no line.
func TestChatNowRaw(t *testing.T) {
	t.Parallel()
	s := startChat(t, "=== reply hang\nfirst line\nhalf a li", 80, 24, "--raw")
	s.says("q")
	s.shows("half a li")
	s.says("/stats")
	s.shows("0 messages")
	s.types(ctrlC)
	s.shows("first line\nhalf a li\n\n> /stats\n0 messages")
}

// /diff shows what the last reply changed, as /undo would take it back.
func TestChatDiff(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": writeReplies, "notes.txt": "one\ntwo\nthree\n"}, "chat", "--yes")
	s := chatOn(t, cmd, 100, 40)
	s.says("/diff")
	s.shows("nothing was said yet")
	s.says("change it")
	s.shows("1 turn")
	s.says("/diff")
	s.shows("  --- a/notes.txt\n  +++ b/notes.txt\n  @@ -1,3 +1,2 @@\n   one\n  -two\n   three\n")
	if !strings.Contains(s.wrote(), "\x1b[31m-two") {
		t.Errorf("no colour in %q", s.wrote())
	}
	s.says("/undo")
	s.shows("restore  notes.txt")
	s.says("/diff")
	s.shows("the files are as they were before run ")
	s.says("/undo")
	s.shows("the last of them; mylm undo --list shows them")
	s.says("/diff all")
	s.shows("/diff takes no argument")
}

// /undo takes back what this conversation wrote, whatever others have written since.
func TestChatUndoIsItsOwn(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": writeReplies, "notes.txt": "one\ntwo\nthree\n"}, "chat", "--yes")
	s := chatOn(t, cmd, 100, 40)
	s.says("/undo")
	s.shows("nothing was said yet")
	s.says("change it")
	s.shows("1 turn")
	other := exec.Command(cmd.Path, "ask", "--yes", "-m", "scripted/other.txt", "q")
	other.Dir, other.Env = cmd.Dir, cmd.Env
	write := `=== reply
<tool_code><name>write_file</name><parameters>{"path":"other.md","content":"theirs"}</parameters></tool_code>
=== reply
Done.
`
	if err := os.WriteFile(filepath.Join(cmd.Dir, "other.txt"), []byte(write), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := other.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.says("/diff")
	s.shows("--- a/notes.txt")
	s.says("/undo")
	s.shows("restore  notes.txt")
	if b, err := os.ReadFile(filepath.Join(cmd.Dir, "other.md")); err != nil || string(b) != "theirs" {
		t.Errorf("the file of another run: %q, %v", b, err)
	}
	s.says("/undo")
	s.shows("every run here is undone")
}

// In a pipe, the diff is what patch and git read.
func TestUndoDiff(t *testing.T) {
	t.Parallel()
	call := func(tool, args string) string {
		return "=== reply\n<tool_code><name>" + tool + "</name><parameters>" + args + "</parameters></tool_code>\n"
	}
	cmd := command(t, map[string]string{
		"replies.txt": call("write_file", `{"path": "empty.txt", "content": ""}`) + call("write_file", `{"path": "gone.txt", "content": "text\n"}`) +
			call("write_file", `{"path": "new.txt", "content": "new\n"}`) + call("edit_file", `{"path": "old.txt", "old": "b\n", "new": "B\n"}`) + "=== reply\nDone.\n",
		"gone.txt": "a\x00b\n",
		"old.txt":  "a\nb\nc\n",
	}, "ask", "--yes", "q")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := again(cmd, "undo", "--diff").Output()
	want := "Binary files a/gone.txt and b/gone.txt differ\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n--- a/old.txt\n+++ b/old.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\ndiff --git a/empty.txt b/empty.txt\nnew file mode 100644\n"
	if err != nil || string(out) != want {
		t.Errorf("%v: %q", err, out)
	}
	git := exec.Command("git", "apply", "-R", "-")
	git.Dir, git.Stdin = cmd.Dir, strings.NewReader(string(out))
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "empty.txt")); !os.IsNotExist(err) {
		t.Errorf("the empty file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(cmd.Dir, "gone.txt"), []byte("a\x00b\n"), 0o600); err != nil { // no patch has it
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(cmd.Dir, "old.txt"))
	if err != nil || string(b) != "a\nb\nc\n" {
		t.Errorf("%q, %v", b, err)
	}
	if out, err := again(cmd, "undo", "--diff").CombinedOutput(); err != nil || !strings.Contains(string(out), "as they were") {
		t.Errorf("%v: %s", err, out)
	}
}

// /compact has the model sum up what was said, and says what that saved.
func TestChatCompact(t *testing.T) {
	t.Parallel()
	long := "=== reply\n" + strings.Repeat("Many words about the first thing. ", 60) + "\n"
	cmd := saved(command(t, map[string]string{"replies.txt": long + "=== reply\nSecond.\n=== reply\nThey spoke of things.\n=== reply\nThird.\n"}, "chat"))
	s := chatOn(t, cmd, 100, 50)
	s.says("/compact")
	s.shows("nothing was said yet")
	s.says("one")
	s.shows("1 turn")
	s.says("/compact")
	s.shows("cannot be compacted: there is nothing before the last exchange")
	s.says("two")
	s.shows("2 turns")
	s.says("/compact")
	s.shows("context: 2 earlier messages summarized (about ")
	s.says("three")
	s.shows("3 turns")
	s.types(ctrlD)
	s.exit()
	out, err := again(cmd, "resume", "last", "four", "--show-prompt").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "They spoke of things.") || strings.Contains(string(out), "Many words") || !strings.Contains(string(out), "\nSecond.\n") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := again(cmd, "replay", "last").CombinedOutput(); err != nil {
		t.Errorf("replay: %v: %s", err, out)
	}
	out, err = again(cmd, "sessions", "show", "last").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Many words") || !strings.Contains(string(out), "They spoke of things.") {
		t.Errorf("%v: %s", err, out)
	}
}

// Where that fails the conversation is as it was, and the reason is told.
func TestChatCompactFails(t *testing.T) {
	t.Parallel()
	s := startChat(t, hello+hello+"=== reply\n"+strings.Repeat("A summary of many words. ", 20)+"\n=== reply\n", 100, 40)
	s.says("one")
	s.shows("1 turn")
	s.says("two")
	s.shows("2 turns")
	for _, reason := range []string{"older steps are kept: their summary is not shorter", "not compacted: the model did not write a summary", "not compacted: the script has no reply left"} {
		s.says("/compact")
		s.shows(reason)
		s.shows("\n>\n")
	}
}

// A conversation names what the model is shown of the project, what runs, and what
// /undo cannot take back.
func TestChatNames(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{
		"replies.txt": strings.TrimSuffix(writeReplies, "=== reply\nWritten.\n") + commandReplies("touch made; sleep 60") + "=== reply\nMore.\n",
		"AGENTS.md":   "Be brief.\n",
	}, "chat", "--yes")
	s := chatOn(t, cmd, 100, 40)
	s.shows(" · AGENTS.md\n/help")
	s.says("change it")
	s.shows("running touch made; sleep 60")
	s.types(ctrlC)
	s.shows("mylm: interrupted")
	s.says("/undo")
	s.shows("remove   notes.txt")
	s.shows("What 1 command of the last reply changed is not undone.")
	s.says("/diff x")
	s.shows("/diff takes no argument")

	cmd = command(t, map[string]string{"replies.txt": hello, "AGENTS.md": "Be brief.\n"}, "chat", "--no-project-file")
	s = chatOn(t, cmd, 100, 40)
	if strings.Contains(s.text(), "AGENTS.md") {
		t.Errorf("it names what the model is not shown:\n%s", s.text())
	}
}
