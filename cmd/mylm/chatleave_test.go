//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What was allowed in a session ends with it.
func TestChatYoloEnds(t *testing.T) {
	t.Parallel()
	for leave, args := range map[string][]string{"/clear": {"chat"}, "/resume": {"chat", "--confirm", "confirm-all"}} {
		t.Run(leave[1:], func(t *testing.T) {
			t.Parallel()
			cmd := saved(command(t, map[string]string{"replies.txt": hello + hello + writeReplies, "notes.txt": "two\n"}, args...))
			s := chatOn(t, cmd, 120, 40)
			s.says("first")
			s.shows("1 turn")
			s.says("/clear")
			s.hides("1 turn")
			s.says("second")
			s.shows("1 turn")
			s.says("/yolo on")
			s.shows("Everything runs without a question")
			s.says(leave)
			s.hides("· yolo ·")
			s.says("change it")
			s.shows("The model wants to use write_file")
			s.types("n\r")
			s.shows("refused")
			s.says("/quit")
			s.exit()
		})
	}
}

// A session that was left can be had again, also if nothing was said in it.
func TestChatResumeAgain(t *testing.T) {
	t.Parallel()
	cmd := saved(command(t, map[string]string{"replies.txt": hello + hello}, "chat"))
	s := chatOn(t, cmd, 120, 40)
	s.says("one heron")
	s.shows("1 turn")
	resumed := func() { // what has left the screen is of an earlier time
		s.until("the session on the screen", func() bool { return strings.Contains(s.screen(), "> one heron") })
	}
	for range 2 {
		s.says("/clear")
		s.hides("heron")
		s.says("/resume")
		resumed()
	}
	s.says("/clear")
	s.hides("heron")
	s.says("two wrens")
	s.shows("1 turn")
	s.says("/resume") // another one, not this
	resumed()
	s.says("/stats")
	s.shows("0 messages, 0 calls")
	if out, err := again(cmd, "resume", "last", "-m", "scripted/replies.txt", "elsewhere").CombinedOutput(); err != nil {
		t.Errorf("what was left is in use: %v: %s", err, out)
	}
}

// /undo takes back what the last reply changed, nothing older.
func TestChatUndoOnlyTheLast(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": writeReplies + hello, "notes.txt": "one\ntwo\nthree\n"}, "chat", "--yes")
	s := chatOn(t, cmd, 120, 40)
	s.says("change it")
	s.shows("1 turn")
	s.says("hello")
	s.shows("Hello.")
	for _, command := range []string{"/diff", "/undo"} {
		s.says(command)
		s.shows("> " + command + "\nmylm: the last reply has changed no file with write_file or edit_file\n  What commands change is not recorded.\n  What an earlier reply has changed: !mylm undo --diff --run ")
	}
	if b, err := os.ReadFile(filepath.Join(cmd.Dir, "notes.txt")); err != nil || string(b) != "one\nthree\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// A message that no server took goes back into the editor, and /retry shows what it sends.
func TestChatUnanswered(t *testing.T) {
	t.Parallel()
	s := startChat(t, strings.Repeat("=== reply error=unreachable message=\"gone\"\n", 3)+hello+hello, 100, 40)
	s.says("my precious message")
	s.shows("mylm: gone\n> my precious message\n")
	s.types("\r")
	s.shows("Hello.")
	s.says("/retry")
	s.shows("> /retry\n\n> my precious message\nHello.\n")
}

// Hints in a chat name what can be typed there.
func TestChatHints(t *testing.T) {
	t.Parallel()
	cmd := saved(command(t, map[string]string{"replies.txt": hello}, "ask", "heron"))
	for range 21 {
		if out, err := again(cmd, "ask", "heron").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	s := chatOn(t, again(cmd, "chat"), 120, 50)
	s.says("/resume nosuch")
	s.shows("there is no such session\n  /sessions lists those of this project.\n")
	s.says("/sessions")
	s.shows("there are more: !mylm sessions list --limit 0 lists all\n")
}

// A search that finds no other text keeps the one that it found.
func TestChatSearchEarlier(t *testing.T) {
	t.Parallel()
	s := startChat(t, hello, 80, 24)
	s.says("a long day")
	s.shows("1 turn")
	s.types(ctrlR + "long")
	s.shows("> a long day\nsearch: long\n")
	s.types(ctrlR)
	s.shows("> a long day\nno earlier one: long\n")
	s.types("x")
	s.shows("not found: longx\n")
}

// mylm alone says why it holds no conversation on a terminal without a cursor.
func TestNoChatOnDumbTerminal(t *testing.T) {
	t.Parallel()
	cmd := command(t, nil)
	cmd.Env = append(cmd.Env, "TERM=dumb")
	s := onScreen(t, cmd, 120, 24)
	if code := s.exit(); code != "2" || !strings.Contains(s.text(), "TERM is dumb") {
		t.Errorf("exit %s on\n%s", code, s.text())
	}
}

// What was pasted is shown as the block that it was, whatever ends it and was pasted before.
func TestChatPasteIsShown(t *testing.T) {
	t.Parallel()
	s := startChat(t, hello+hello, 100, 40)
	rows := strings.Repeat("2026-01-30,North,C\n", 30)
	s.types("Which region? " + pasteOn + rows + pasted)
	s.shows("> Which region? [pasted 30 lines, 570 bytes]")
	s.types("\r")
	s.shows("\n> Which region? [pasted 30 lines, 570 bytes]\nHello.")
	s.types("And? " + pasteOn + rows + rows + pasted + "end\r")
	s.shows("\n> And? [pasted 60 lines, 1 kB]end\nHello.")
}
