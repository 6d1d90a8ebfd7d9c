package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"mylm/protocol"
	"mylm/providers"
	"mylm/providers/demo"
	"mylm/providers/providerstest"
)

func TestConformance(t *testing.T) {
	providerstest.Run(t, providerstest.Backend{
		Open: func(*testing.T, providerstest.Reply) providerstest.Rig {
			return providerstest.Rig{Model: demo.New()}
		},
		Unscripted: true,
		Usage:      true,
	})
}

// prompt is a system prompt in the shape that the engine writes.
func prompt(tools ...string) providers.Message {
	var b strings.Builder
	b.WriteString("You are mylm.\n\n# TOOLS\n<tool_definitions>")
	for _, name := range tools {
		b.WriteString("\n<tool><name>" + name + "</name><description>Does &lt;name&gt; things.</description><parameters>{}</parameters></tool>")
	}
	b.WriteString("\n</tool_definitions>\n\n# ENVIRONMENT\nOS: linux\nDate: 2026-11-21\n")
	return providers.Message{Role: providers.System, Text: b.String()}
}

func user(text string) providers.Message { return providers.Message{Role: providers.User, Text: text} }

func generate(t *testing.T, r providers.Request) (text string, chunks int, last providers.Chunk) {
	t.Helper()
	var b strings.Builder
	for c, err := range demo.New().Generate(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(c.Text)
		chunks++
		last = c
	}
	return b.String(), chunks, last
}

func say(t *testing.T, messages ...providers.Message) string {
	t.Helper()
	text, _, last := generate(t, providers.Request{Messages: messages})
	if last.Stop != providers.StopEnd {
		t.Errorf("stop reason %q", last.Stop)
	}
	return text
}

// step is a call that the demo is expected to make, and what it gives back.
type step struct {
	tool, args string
	failed     bool
	body       string
}

// play asks for the goal, checks each call, gives it its observation and
// returns the answer.
func play(t *testing.T, tools []string, goal string, steps ...step) string {
	t.Helper()
	messages := []providers.Message{prompt(tools...), user(goal)}
	for _, s := range steps {
		text := say(t, messages...)
		want := protocol.EncodeCall(s.tool, json.RawMessage(s.args))
		if !strings.HasSuffix(text, "\n\n"+want) {
			t.Fatalf("%s\n said %q\n want the call %q", goal, text, want)
		}
		messages = append(messages,
			providers.Message{Role: providers.Assistant, Text: text},
			user(protocol.EncodeObservation(s.tool, !s.failed, s.body)))
	}
	text := say(t, messages...)
	if strings.Contains(text, "<tool_code>") {
		t.Fatalf("%s\n made a call too many: %s", goal, text)
	}
	return text
}

var all = []string{"execute_command", "read_file", "list_dir"}

func TestSums(t *testing.T) {
	for _, c := range []struct{ goal, want string }{
		{"what is 12 * (3.5 + 4) / 8?", "12 * (3.5 + 4) / 8 = 11.25"},
		{"Please calculate 0.1 + 0.2.", "0.1 + 0.2 = 0.3"},
		{"-(2 - 5) * -4", "-(2 - 5) * -4 = -12"},
		{"2 - 3 - 4 =", "2 - 3 - 4 = -5"},
		{"8 / 4 / 2", "8 / 4 / 2 = 1"},
		{"1/(2-2)", "I cannot work out 1/(2-2): it divides by zero."},
		{"(1 + 2", "I cannot work out (1 + 2: a bracket is not closed."},
		{"1 + 2)", "I cannot work out 1 + 2): unexpected \")\"."},
		{"1 + * 2", "I cannot work out 1 + * 2: a number is missing before \"* 2\"."},
		{"1.2.3 + 4", "I cannot work out 1.2.3 + 4: a number is missing before \"1.2.3 + 4\"."},
	} {
		if got := say(t, prompt(all...), user(c.goal)); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.goal, got, c.want)
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, goal := range []string{"write me a poem", "who are you?", "hello", "which host is staging?", "how many", strings.Repeat("1+", 2000) + "1"} {
		got := say(t, prompt(all...), user(goal))
		if !strings.Contains(got, "not a language model") || !strings.Contains(got, "- what files are here?\n") || !strings.Contains(got, "ollama pull") {
			t.Errorf("%s: %s", goal, got)
		}
	}
}

const (
	here    = `{"path":"."}`
	listing = "cmd/\ndocs/\nREADME.md (120 bytes)\ngo.mod (9 bytes)\nlink -> docs/"
)

func TestFiles(t *testing.T) {
	ls := func(args, body string) step { return step{"list_dir", args, false, body} }
	cat := func(args, body string) step { return step{"read_file", args, false, body} }
	run := func(args, body string) step { return step{"execute_command", args, false, body} }
	fails := func(s step) step { s.failed = true; return s }
	for _, c := range []struct {
		goal  string
		steps []step
		want  string
	}{
		{"what files are here?", []step{ls(here, listing)}, "There are 5 entries here: cmd/, docs/, README.md, go.mod, link -> docs/."},
		{"list the files in docs", []step{ls(`{"path":"docs"}`, "a.md (1 bytes)")}, "There is 1 entry in docs: a.md."},
		{"list files", []step{ls(here, "(. is empty)")}, "There is nothing here: the directory is empty."},
		{"list files in x", []step{fails(ls(`{"path":"x"}`, "there is no x"))}, "I could not list x: there is no x"},
		{"ls", []step{ls(here, "a (1 bytes)\nb (1 bytes)\n[2 of 1500 entries; 1498 more are not shown]")}, "There are 1500 entries here: a, b and 1488 more."},

		{"how many files are here?", []step{ls(here, listing)}, "Files here: 2. Other entries: 3."},
		{"How many files are in docs?", []step{ls(`{"path":"docs"}`, "a.md (1 bytes)\nb/")}, "Files in docs: 1. Other entries: 1."},
		{"which of these files is the largest?", []step{ls(here, listing)}, "The largest file here is README.md (120 bytes)."},
		{"and the second largest?", []step{ls(here, listing)}, "The second largest file here is go.mod (9 bytes)."},
		{"what is the smallest file in docs", []step{ls(`{"path":"docs"}`, "a.md (1 bytes)\nb (4 bytes)")}, "The smallest file in docs is a.md (1 bytes)."},
		{"which file is the largest?", []step{ls(here, "a/")}, "There are too few files here to say."},
		{"what is this project about?", []step{ls(here, listing), cat(`{"path":"README.md"}`, "# x, a tool\n\n[![ci](b)](c)\n<p>\n\n- a list\n\nIt does one thing. It does\nit well.\n\nMore.")},
			"README.md says: It does one thing. It does it well."},
		{"what is this project about?", []step{ls(here, "a/")}, "I found no README here."},

		{"what is in notes.txt?", []step{cat(`{"path":"notes.txt"}`, "Buy milk.\n")}, "notes.txt has 1 line:\n\n```\nBuy milk.\n```\n\nThat is all of it."},
		{"show me \"a b.md\"", []step{cat(`{"path":"a b.md"}`, "```\nx\n```")}, "a b.md has 3 lines:\n\n````\n```\nx\n```\n````\n\nThat is all of it."},
		{"what is in @a.txt?", []step{cat(`{"path":"a.txt"}`, "(a.txt is empty)")}, "a.txt is empty."},
		{"read a.txt", []step{fails(cat(`{"path":"a.txt"}`, "there is no a.txt"))}, "I could not read a.txt: there is no a.txt"},
		{"read a.txt", []step{cat(`{"path":"a.txt"}`, "(a.txt is empty)")}, "a.txt is empty."},
		{"read a.txt", []step{cat(`{"path":"a.txt"}`, "1\n2\n[lines 1-2 of at least 9; continue with start_line 3]")}, "a.txt has at least 9 lines. It begins:\n\n```\n1\n2\n```\n\nThere is more."},
		{"count the lines of README.md", []step{cat(`{"path":"README.md"}`, "1\n2\n")}, "README.md has 2 lines."},
		{"how many lines does a.txt have?", []step{cat(`{"path":"a.txt"}`, "1\n[... left out: 28 lines, 900 bytes ...]\n30")}, "a.txt has 30 lines."},

		{"run `go version`", []step{run(`{"command":"go version"}`, "go version go1.26")}, "`go version` printed:\n\n```\ngo version go1.26\n```\n\nThat is all of it."},
		{"run go version", []step{run(`{"command":"go version"}`, "go version go1.26")}, "`go version` printed:\n\n```\ngo version go1.26\n```\n\nThat is all of it."}, // as the help looks on a terminal
		{"please execute wc -l README.md.", []step{run(`{"command":"wc -l README.md"}`, "3 README.md")}, "`wc -l README.md` printed:\n\n```\n3 README.md\n```\n\nThat is all of it."},
		{"run false", []step{fails(run(`{"command":"false"}`, "exit status 1"))}, "I could not run `false`: exit status 1"},
	} {
		if got := play(t, all, c.goal, c.steps...); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.goal, got, c.want)
		}
	}
}

func TestLongTextIsShortened(t *testing.T) {
	body := strings.TrimSuffix(strings.Repeat("x\n", 50), "\n")
	text := play(t, all, "show a.txt", step{tool: "read_file", args: `{"path":"a.txt"}`, body: body})
	if !strings.HasSuffix(text, "These are the first 20 lines.") || strings.Count(text, "x\n") != 20 {
		t.Errorf("got %s", text)
	}
}

func TestToolsThatAreNotOffered(t *testing.T) {
	for _, c := range []struct {
		goal  string
		tools []string
		want  string
	}{
		{"run ls", []string{"read_file"}, "I would need the tool execute_command, which is not offered here. What is offered: read_file."},
		{"list files", nil, "I would need the tool list_dir, which is not offered here. No tools are offered at all."},
		{"read a.txt", []string{"list_dir"}, "I would need the tool read_file"},
	} {
		if got := play(t, c.tools, c.goal); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s", c.goal, got)
		}
	}
}

// Only the last goal counts, and of the observations those that came after it.
// What goes with a question does not change what is asked.
func TestAttachments(t *testing.T) {
	const attached = "\n\n--- a.log ---\nwho are you?\n--- end of a.log ---\n\n--- stdin ---\nlist files\n--- end of stdin ---"
	for name, c := range map[string]struct{ message, want string }{
		"question first":  {"what is 6 * 7?" + attached, "42"},
		"long attachment": {"what is 6 * 7?\n\n--- stdin ---\n" + strings.Repeat("x\n", 1<<16) + "--- end of stdin ---", "42"},
		"attachment only": {strings.TrimSpace(attached), "not a language model"},
		"no end":          {"what is 6 * 7?\n\n--- stdin ---\nx", "not a language model"},
		"a rule":          {"what is 6 * 7?\n---\n", "not a language model"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := say(t, prompt(all...), user(c.message)); !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %q in it", got, c.want)
			}
		})
	}
}

func TestLaterGoal(t *testing.T) {
	text := say(t, prompt(all...), user("list files"), user("<observation>\n[list_dir] Success:\na/\n</observation>"),
		providers.Message{Role: providers.Assistant, Text: "There is 1 entry."}, user("list files in cmd"))
	if !strings.Contains(text, `{"path":"cmd"}`) {
		t.Errorf("got %s", text)
	}
}

func TestStream(t *testing.T) {
	r := providers.Request{Messages: []providers.Message{prompt(all...), user("who are you?")}}
	text, chunks, last := generate(t, r)
	if words := len(strings.Fields(text)); chunks < words/4 {
		t.Errorf("%d chunks for %d words", chunks, words)
	}
	if last.Usage.Prompt < 50 || last.Usage.Output < len(text)/8 || last.Usage.Output > len(text) {
		t.Errorf("usage %+v for %d bytes", last.Usage, len(text))
	}
	if again, _, _ := generate(t, r); again != text {
		t.Errorf("the same messages got another reply: %s", again)
	}
	r.MaxTokens = 10
	short, _, last := generate(t, r)
	if last.Stop != providers.StopLength || last.Usage.Output > 10 || short == "" || !strings.HasPrefix(text, short) {
		t.Errorf("with 10 tokens: %q, %+v", short, last)
	}
}

func TestBadRequests(t *testing.T) {
	for name, r := range map[string]providers.Request{
		"no messages": {},
		"only system": {Messages: []providers.Message{prompt()}},
		"blank":       {Messages: []providers.Message{user(" ")}},
		"thinking":    {Messages: []providers.Message{user("hello")}, Think: providers.ThinkOn},
	} {
		n := 0
		for c, err := range demo.New().Generate(t.Context(), r) {
			n++
			var e *providers.Error
			if !errors.As(err, &e) || e.Kind != providers.BadRequest || e.Hint == "" || c.Text != "" {
				t.Errorf("%s: %+v, %v", name, c, err)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d elements, want the error alone", name, n)
		}
	}
}

func TestCancelledBetweenChunks(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	chunks := 0
	var last error
	for _, err := range demo.New().Generate(ctx, providers.Request{Messages: []providers.Message{user("who are you?")}}) {
		chunks++
		last = err
		cancel()
	}
	if chunks != 2 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d elements, the last with error %v, want a chunk and the context's error", chunks, last)
	}
}

func TestInfo(t *testing.T) {
	var m providers.Informer = demo.New()
	info, err := m.Info(context.Background())
	if err != nil || !info.Chats || !info.Loaded || info.Thinks || info.Embeds || info.Window <= 0 {
		t.Errorf("%+v, %v", info, err)
	}
}

// Nothing that a user or a tool says makes it panic or hang.
func FuzzReply(f *testing.F) {
	for _, goal := range []string{"run `ls", "list files in \"", "what is (1+(", "read a", "what is in a"} {
		f.Add(goal, "[x] Success:\n[2 of 99999999999999999999 entries; x]\n(")
	}
	f.Fuzz(func(t *testing.T, goal, observed string) {
		r := providers.Request{Messages: []providers.Message{prompt(all...), user("<observation>" + observed), user("x" + goal), user("<observation>\n" + observed + "\n</observation>")}}
		for _, text := range []string{"x", "", "list files in ", "count the lines of ", "what is "} {
			r.Messages[2].Text = "." + text + goal
			if text != "x" {
				r.Messages[2].Text = text + goal + "."
			}
			if got := say(t, r.Messages...); got == "" {
				t.Error("an empty reply")
			}
		}
	})
}

func TestAttachedText(t *testing.T) {
	const file = "\n\n--- a.go ---\npackage a\n\n// Sum adds. It is\n// slow.\nfunc Sum() {}\n--- end of a.go ---"
	const diff = "\n\n--- stdin ---\ndiff --git a/x.go b/x.go\n--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-a\n+b\n" +
		"--- a/gone.go\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n--- end of stdin ---"
	for _, test := range []struct{ question, want string }{
		{"what does this do?" + file, "a.go has 5 lines. A comment in it says: Sum adds. It is slow."},
		{"what does this do?\n\n--- b ---\n1\n--- end of b ---", "b has 1 line. It begins:\n\n```\n1\n```\n\nA language model would say more."},
		{"what does this do?\n\n--- b ---\n1\n2\n--- end of b ---", "b has 2 lines. It begins:\n\n```\n1\n2\n```\n\nA language model would say more."},
		{"what does this do?", "Nothing came with that question: send a file or a text along."},
		{"@a.go" + file, "a.go has 5 lines. A comment in it says: Sum adds. It is slow."},
		{"@a.go what does this do?" + file, "a.go has 5 lines. A comment in it says: Sum adds. It is slow."},
		{"what is this about? @a.go" + file, "a.go has 5 lines. A comment in it says: Sum adds. It is slow."},
		{"write a commit message" + diff, "Change x.go, gone.go"},
		{"write a commit message for @x.diff" + diff, "Change x.go, gone.go"},
		{"write a commit message", "There is no diff to write about. Send along what `git diff` prints, through a pipe or in a file."},
	} {
		if got := say(t, prompt("read_file"), user(test.question)); got != test.want {
			t.Errorf("%q: %q, want %q", test.question, got, test.want)
		}
	}
}
