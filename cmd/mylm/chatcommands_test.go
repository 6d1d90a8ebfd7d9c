//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestChatCommands(t *testing.T) {
	t.Parallel()
	cmd := saved(command(t, map[string]string{"replies.txt": hello + hello + hello, "other.txt": "=== reply\nI am another.\n"}, "chat"))
	s := chatOn(t, cmd, 120, 50)
	s.says("hi there")
	s.shows("1 turn")
	for _, step := range []struct{ typed, shown string }{
		{"/help", "/yolo on|off"},
		{"/hlep", "Did you mean /help?"},
		{"/tools", "list_dir"},
		{"/sessions", "hi there"},
		{"/stats", "1 message, 0 calls"},
		{"/system You are a pirate.", "set from the next message on"},
		{"/system", "You are a pirate."},
		{"/yolo maybe", "/yolo takes on or off"},
		{"/clear all", "/clear takes no argument"},
		{"/yolo on", "· yolo · "},
		{"/yolo off", "Questions are asked again."},
		{"/save talk.md", "saved in "},
		{"/save talk.md", "file exists"},
		{"/copy", "copied 6 bytes"},
		{"/memory hi there", "hi there"},
		{"/retry", "2 turns"},
		{"/model scripted/other.txt", "from now on scripted/other.txt answers"},
		{"who?", "I am another."},
		{"/model scripted/none.txt", "no such file"},
		{"!echo $((6*7)); tty -s && echo on a terminal", "42\non a terminal\n"},
	} {
		s.says(step.typed)
		s.shows(step.shown)
		s.shows("\n>\n")
	}
	b, err := os.ReadFile(filepath.Join(cmd.Dir, "talk.md"))
	if want := "## user\n\nhi there\n\n## assistant\n\nHello.\n\n"; err != nil || string(b) != want {
		t.Errorf("%q, %v", b, err)
	}
	s.says("/clear")
	s.hides("hi there")
	s.says("/quit")
	if code := s.exit(); code != "0" {
		t.Errorf("exit %s", code)
	}
}

// What is saved is for people: no marks of calls, and what came of them.
func TestChatSave(t *testing.T) {
	t.Parallel()
	call := func(before, name, args string) string {
		return "=== reply\n" + before + "<tool_code><name>" + name + "</name><parameters>" + args + "</parameters></tool_code>\n"
	}
	cmd := command(t, map[string]string{"replies.txt": call("I look.\n", "read_file", `{"path":"gone.txt"}`) + call("", "execute_command", "{\"command\":\"echo '```'\"}") + "=== reply stop=length\nIt is **em\n=== reply\npty**.\n"}, "chat", "--yes")
	s := chatOn(t, cmd, 120, 50)
	s.says("what is there?")
	s.shows("1 turn")
	s.says("/save talk.md")
	s.shows("saved in ")
	b, err := os.ReadFile(filepath.Join(cmd.Dir, "talk.md"))
	want := "## user\n\nwhat is there?\n\n## assistant\n\nI look.\n\n```\n> read_file {\"path\":\"gone.txt\"}\n```\n\n*(failed)*\n\n````\n$ echo '```'\n````\n\nIt is **empty**.\n\n"
	if got := strings.ReplaceAll(string(b), "*(failed)*\n\nIt", "It"); err != nil || got != want { // the command may fail where there is no sandbox
		t.Errorf("%q, %v", b, err)
	}
}

// On a narrow terminal it shows, too, what a session was about.
func TestChatSessionsNarrow(t *testing.T) {
	t.Parallel()
	s := chatOn(t, saved(command(t, map[string]string{"replies.txt": hello}, "chat")), 40, 30)
	s.says("hi there, my dear friend")
	s.shows("1 turn")
	s.says("/sessions")
	s.shows("complete\n    hi there, my dear friend\n")
}

// A call that was refused is saved like the others.
func TestChatSaveDenied(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": writeReplies, "notes.txt": "one\n"}, "chat")
	s := chatOn(t, cmd, 120, 50)
	s.says("change it")
	s.shows("[n] no, say why")
	s.types("n")
	s.shows("Enter refuses")
	s.types("\r")
	s.shows("1 turn")
	s.says("/save talk.md")
	s.shows("saved in ")
	b, err := os.ReadFile(filepath.Join(cmd.Dir, "talk.md"))
	if want := "\n```\n> write_file notes.txt (2 lines)\n```\n\n*(denied)*\n"; err != nil || strings.Count(string(b), want) != 1 {
		t.Errorf("no %q in %q, %v", want, b, err)
	}
}

// The punctuation around a file's name is none of it, unless a file is called so.
func TestChatFilePunctuation(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"@main.go, explain": "main.go", "this (see @main.go)": "main.go", "(@main.go)?": "main.go", "@./main.go.": "./main.go",
		"look: @install.sh:": "install.sh", "@odd!": "odd!",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			log := &requests{t: t}
			cmd := log.command(t)
			for _, name := range []string{"main.go", "install.sh", "odd", "odd!"} {
				if err := os.WriteFile(filepath.Join(cmd.Dir, name), []byte("of "+name+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := chatOn(t, cmd, 80, 24)
			s.says(text)
			s.shows("Answer 1.")
			if got := log.prompts(); len(got) != 1 || !strings.Contains(got[0], "--- "+want+" ---\nof "+filepath.Base(want)+"\n") {
				t.Errorf("%q", got)
			}
			s.shows("\nwith " + want + ", ")
		})
	}
}

// A file is put along with @, and Tab completes what git would not ignore.
func TestChatFiles(t *testing.T) {
	t.Parallel()
	log := &requests{t: t}
	cmd := log.command(t)
	for name, text := range map[string]string{".gitignore": "*.log\n", "main.go": "package main\n", "main.log": "x", "my notes.txt": "secret plans"} {
		if err := os.WriteFile(filepath.Join(cmd.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(cmd.Dir, "src", "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := chatOn(t, cmd, 80, 24)
	s.types("explain @ma\t")
	s.shows("\n> explain @main.go\n")
	s.types("and @my\t")
	s.shows(`and @my\ notes.txt`)
	s.types("and @gone @s\t")
	s.shows("@src/")
	s.types("\t")
	s.shows("@src/deep/")
	s.types("\r")
	s.shows("Answer 1.")
	s.shows("There is no file gone")
	if got := log.prompts(); len(got) != 1 || !strings.Contains(got[0], "--- main.go ---\npackage main\n") || !strings.Contains(got[0], "secret plans") {
		t.Errorf("%q", got)
	}
}

// A resource of an MCP server is put along with @, and one of its prompts is sent. A
// file that the server's prompt names is not: only the user attaches files.
func TestChatServers(t *testing.T) {
	t.Parallel()
	log := &requests{t: t}
	cmd := log.command(t)
	for name, text := range map[string]string{"private.txt": "a secret"} {
		if err := os.WriteFile(filepath.Join(cmd.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	add := exec.Command("mylm", "mcp", "add", "talk", "--env", "MCP_RESOURCES=1", "--", "mcp-server")
	add.Dir, add.Env = cmd.Dir, cmd.Env
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := chatOn(t, cmd, 100, 24)
	s.says("what is in @talk:memo://host ?")
	s.shows("Answer 1.")
	s.says("/talk:review main.go")
	s.shows("Answer 2.")
	for typed, shown := range map[string]string{
		"/talk:nothing": "it has no prompt nothing; there are: review",
		"/talk:review":  "needs: file",
		"/other:review": "There is no command /other:review",
	} {
		s.says(typed)
		s.shows(shown)
	}
	s.says("read @talk:memo://gone now")
	s.shows("@talk:memo://gone: ")
	s.shows("\n> read @talk:memo://gone now\ntest · ") // it comes back
	got := log.prompts()
	if len(got) != 2 || !strings.Contains(got[0], "--- talk:memo://host ---\nstaging is heron\n") || !strings.Contains(got[1], "Review main.go like @private.txt says.") || strings.Contains(got[1], "secret") {
		t.Errorf("%q", got)
	}
}

func TestChatCompletesCommands(t *testing.T) {
	t.Parallel()
	s := startChat(t, hello, 80, 24)
	s.types("/s\t")
	s.shows("  /save      write the conversation into a new file\n  /sessions  list the sessions of this project\n")
	s.types("\t\t")
	s.shows("\n> /sessions\n")
	s.types("\x15/yolo o\t")
	s.shows("  off\n  on\n")
	s.types("\x15/\t")
	s.shows("  … 10 more: Tab goes through all of them\n")
}

// The words with which other conversations are left leave this one.
func TestChatLeaves(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"exit", "/bye", ":q"} {
		s := startChat(t, hello, 80, 24)
		s.says("/new")
		s.shows("There is no command /new. Did you mean /clear?")
		s.says(word)
		if code := s.exit(); code != "0" {
			t.Errorf("%s: exit %s", word, code)
		}
	}
}

// The message is written in the user's editor.
func TestChatEditor(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": hello}, "chat")
	cmd.Env = append(cmd.Env, "EDITOR=echo edited >>", "VISUAL=")
	s := chatOn(t, cmd, 80, 24)
	s.says("/edit draft")
	s.shows("\n> draftedited\n")
}

// A picture behind @ goes to the model, and stays with the session.
func TestChatPicture(t *testing.T) {
	t.Parallel()
	cmd := saved(command(t, map[string]string{"replies.txt": "=== reply\nA cat.\n", "my cat.txt": "GIF89a;\n"}, "chat"))
	s := chatOn(t, cmd, 100, 30)
	s.says(`what is @my\ cat.txt`)
	s.shows("with my cat.txt, GIF, 8 bytes")
	s.shows("\n>\n")
	s.says("/model demo")
	s.shows("from now on demo answers")
	s.shows("\n>\n")
	s.says(`and @my\ cat.txt`)
	s.shows("demo cannot see pictures")
	s.shows("\n> and @my\\ cat.txt\n") // it comes back
	s.types(ctrlC)
	s.shows("\n>\n")
	s.says("what files are here?")
	s.shows("replies.txt")
	s.says("/quit")
	if code := s.exit(); code != "0" {
		t.Errorf("exit %s", code)
	}
}

// A wrong name of a model is answered with those that there are, and advice with what
// can be typed here.
func TestChatAdvice(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": hello}, "chat")
	dir := filepath.Join(cmd.Dir, "config", "mylm")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte("[models.quick]\nprovider = \"openai\"\nmodel = \"m\"\n[models.slow]\nprovider = \"openai\"\nmodel = \"n\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := chatOn(t, cmd, 120, 40)
	s.says("/model qick")
	s.shows("\n  Did you mean quick?\n  The configuration has quick, slow: /model quick. Other names are Ollama's.\n")
	s.shows("Without a server, `/model demo` works with the built-in demo.\n")
	s.says("hi")
	s.shows("1 turn")
	s.says("/undo")
	s.shows("!mylm sessions show last lists those that ran")
	s.shows("\n  !mylm undo --list lists the runs of others.\n")
}

// A message that was not sent goes back into the editor, what was pasted into it as the
// block that it was. The advice fits a conversation.
func TestChatUnsent(t *testing.T) {
	t.Parallel()
	s := startChat(t, hello+hello, 100, 40, "--max-context-tokens", "4000")
	s.types(pasteOn + strings.Repeat("0123456789\r", 10_000) + pasted)
	s.shows("[pasted 10000 lines, 110 kB]")
	s.types("what is this?\r")
	s.shows("\n> [pasted 10000 lines, 110 kB]what is this?\nmylm: the input is too long for ")
	s.shows("leave with /quit, and go on with mylm chat --continue and the")
	s.shows("flag.\n> [pasted 10000 lines, 110 kB]what is this?\n")
	s.types("\x01\x1b[3~")
	s.shows("\n> what is this?\n")
	s.types("\r")
	s.shows("\n> what is this?\nHello.\n")
}
