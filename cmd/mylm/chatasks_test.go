//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const writeReplies = "=== reply\n<tool_code><name>write_file</name><parameters>{\"path\": \"notes.txt\", \"content\": \"one\\nthree\\n\"}</parameters></tool_code>\n=== reply\nWritten.\n"

// A change is shown as a coloured diff, and one key allows it.
func TestChatApproval(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": writeReplies, "notes.txt": "one\ntwo\nthree\n"}, "chat")
	s := chatOn(t, cmd, 100, 30)
	s.says("change it")
	s.shows("The model wants to use write_file")
	s.shows("  | -two\n")
	s.shows("Why you are asked: it writes in the workspace\n")
	s.shows("[y] once")
	s.types("?")
	s.shows("y  this call runs, once\na  so does exactly the same call later in this conversation\nn  it does not run") // no p, no h
	if !strings.Contains(s.wrote(), "\x1b[31m-two") {
		t.Errorf("no colour in %q", s.wrote())
	}
	s.types("y")
	s.shows("allowed once\n")
	s.shows("Written.")
	b, err := os.ReadFile(filepath.Join(cmd.Dir, "notes.txt"))
	if err != nil || string(b) != "one\nthree\n" {
		t.Errorf("%q, %v", b, err)
	}
	s.says("/undo")
	s.shows("restore  notes.txt\nto reverse this: !mylm undo --run ")
	b, err = os.ReadFile(filepath.Join(cmd.Dir, "notes.txt"))
	if err != nil || string(b) != "one\ntwo\nthree\n" {
		t.Errorf("after /undo: %q, %v", b, err)
	}
}

// Each key of an approval does what it says.
func TestChatApprovalKeys(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lines  []string
		steps  []string // typed, shown, typed, shown ...
		end    string
		stored string
	}{
		"no, with a reason": {[]string{"touch one"}, []string{"n", "why?", "not today\r", "refused: not today"}, "Done.", ""},
		"no, back and yes":  {[]string{"touch one"}, []string{"n", "why?", "\x1b", "[y] once", "y", "allowed once"}, "Done.", ""},
		"stop":              {[]string{"touch one"}, []string{"s", "refused, and the run is stopped"}, "stopped by you", ""},
		"this call":         {[]string{"touch one", "ls", "touch one", "touch two"}, []string{"a", "also again in this session", "", "touch two", "n\r", "refused"}, "Done.", ""},
		"a prefix":          {[]string{"touch one", "ls", "touch two"}, []string{"", "[p] always allow \"touch …\"", "p", "also again in this project", "", "stored: touch ..."}, "Done.", `"touch"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, map[string]string{"replies.txt": commandReplies(test.lines...)}, "chat")
			s := chatOn(t, cmd, 120, 30)
			s.says("go")
			s.shows("[y] once")
			for i := 0; i < len(test.steps); i += 2 {
				s.types(test.steps[i])
				s.shows(test.steps[i+1])
			}
			s.shows(test.end)
			b, _ := os.ReadFile(filepath.Join(cmd.Dir, "data", "mylm", "policy.json"))
			if (len(b) > 0) != (test.stored != "") || !strings.Contains(string(b), test.stored) {
				t.Errorf("stored is %q, want %q", b, test.stored)
			}
		})
	}
}

// A word that is typed at a question is no answer, whatever letters it has. It is kept
// in sight, and so is a paste; a key that is none of the question is told.
func TestChatWordAtApproval(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": commandReplies("touch one")}, "chat")
	s := chatOn(t, cmd, 120, 30)
	s.says("go")
	s.shows("[y] once")
	s.types("\r")
	s.shows("Press one of the keys below")
	s.types("maybe")
	s.shows("> maybe\n")
	s.types(pasteOn + " not" + pasted)
	s.shows("> maybe not\n")
	s.shows("[?] help\nfor later: maybe not\n")
	if _, err := os.Stat(filepath.Join(cmd.Dir, "one")); err == nil {
		t.Error("it was run")
	}
	s.types("y")
	s.shows("allowed once")
	s.shows("> maybe not\n")
}

// What was allowed for the session holds in the next turn, and not after /clear.
func TestChatAllowedLater(t *testing.T) {
	t.Parallel()
	s := startChat(t, strings.Repeat(commandReplies("touch one"), 3), 120, 30)
	s.says("go")
	s.shows("[a] for this session")
	s.types("a")
	s.shows("1 turn")
	s.says("again")
	s.shows("2 turns")
	s.says("/clear")
	s.hides("2 turns")
	s.says("more")
	s.shows("[y] once")
	s.types(ctrlC)
	s.shows("interrupted")
}

// So does what was allowed after text from elsewhere was read, of which the question
// says why it is asked.
func TestChatAllowedTainted(t *testing.T) {
	t.Parallel()
	look := "=== reply\n<tool_code><name>search_memory</name><parameters>{\"query\": \"heron\", \"scope\": \"all\"}</parameters></tool_code>\n"
	cmd := command(t, map[string]string{"replies.txt": look + commandReplies("touch one") + commandReplies("touch one")}, "chat")
	remembersHeron(t, cmd)
	s := chatOn(t, cmd, 120, 30)
	s.says("go")
	s.shows("Why you are asked: touch changes or builds something; this run has read foreign text (search_memory")
	s.shows("[a] for this session")
	s.types("a")
	s.shows("1 turn")
	s.says("again")
	s.shows("2 turns")
}

// A call that is not all on the screen is not allowed by y.
func TestChatLongCall(t *testing.T) {
	t.Parallel()
	s := startChat(t, commandReplies("touch made\\n"+strings.Repeat("echo hidden\\n", 100)+"echo last"), 80, 24)
	s.says("go")
	s.shows("(d shows all of it, Y allows it unseen)")
	s.types("y")
	s.shows("Not all of it is shown")
	s.types("d")
	s.shows(strings.Repeat("  | echo hidden\n", 100))
	s.types("y")
	s.shows("allowed once")
	s.shows("Done.")
}

// Who is typing when a question appears does not answer it.
func TestChatTypingIsNoAnswer(t *testing.T) {
	t.Parallel()
	s := startChat(t, "=== reply\n<tool_code><name>execute_command</name><parameters>{\"command\": \"touch made\"}</parameters></tool_code>\n=== reply\nDone.\n", 80, 24)
	s.types("go\ryes y y")
	s.shows("The model wants to use")
	s.shows("[y] once")
	s.shows("touch made")
	s.types("y")
	s.shows("Done.")
	s.shows("\n> yes y y\n")
}

// The model's own questions are answered in place.
func TestChatQuestion(t *testing.T) {
	t.Parallel()
	s := startChat(t, "=== reply\n<tool_code><name>ask_user</name><parameters>{\"question\": \"Which one?\", \"options\": [\"red\", \"blue\"]}</parameters></tool_code>\n=== reply\nFine.\n", 80, 24, "--verbose")
	s.says("go")
	s.shows("   2  blue")
	s.types("2\r")
	s.shows("\n> 2\n")
	s.shows("  blue\n")
	s.shows("Fine.")
}

// Where no sandbox can be enforced, a chat says at its start that commands are refused,
// and asks about none.
func TestChatWithoutSandbox(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": commandReplies("touch one")}, "chat")
	cmd.Env = append(cmd.Env, "MYLM_SANDBOX=workspace", "MYLM_UNASKED=sandbox")
	s := onScreen(t, cmd, 120, 30)
	s.shows("commands are refused, because the sandbox cannot be enforced: ")
	s.shows("\n>")
	s.says("go")
	s.shows("Done.")
	if text := s.text(); strings.Contains(text, "[y] once") {
		t.Errorf("asked on\n%s", text)
	}
}

// The first letter of a message is no answer, whatever key of the question it is.
func TestChatLetterIsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"actually not", "yes", "should we", "please wait", "do it later", "You know"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			s := startChat(t, commandReplies("touch made"), 120, 30)
			s.says("go")
			s.shows("[y] once")
			s.types(text)
			s.shows("> " + text + "\n")
			s.shows("[?] help\nfor later: " + text + "\n")
			s.types("y\r") // Enter: no more comes
			s.shows("allowed once")
			s.shows("Done.")
		})
	}
}

// What is typed at a question can be edited, and sent to follow the reply.
func TestChatMessagesAtApproval(t *testing.T) {
	t.Parallel()
	s := startChat(t, commandReplies("touch one")+hello+hello, 120, 30)
	s.says("go")
	s.shows("[y] once")
	s.types("yes\r") // a word is no answer, and no message either
	s.shows("Press one of the keys below")
	s.types("run it")
	s.shows("> run it\n")
	s.types("\r")
	s.shows("next: run it\n")
	s.shows("[y] once")
	s.types("mail mex")
	s.shows("for later: mail mex\n")
	s.types("\x7f")
	s.shows("> mail me\n")
	s.shows("for later: mail me\n")
	s.types("\r")
	s.shows("next: run it\nnext: mail me\n")
	s.shows("[y] once")
	s.types("y")
	s.shows("allowed once")
	s.shows("\n> mail me\n")
	s.shows("3 turns")
}

// What was proposed stays when the reply is canceled at the question.
func TestChatCancelAtApproval(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": writeReplies, "notes.txt": "one\ntwo\nthree\n"}, "chat")
	s := chatOn(t, cmd, 100, 30)
	s.says("change it")
	s.shows("[y] once")
	s.types(ctrlC)
	s.shows("  | -two\n")
	s.shows("  not answered\n")
	s.shows("interrupted")
	s.hides("[y] once")
	s.shows("  | -two\n")
}
