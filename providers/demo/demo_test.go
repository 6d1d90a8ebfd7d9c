package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
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

func TestWithoutTools(t *testing.T) {
	for _, c := range []struct{ goal, want string }{
		{"what is 12 * (3.5 + 4) / 7?", "12 * (3.5 + 4) / 7 = 90/7, which is about 12.857142857143"},
		{"Please calculate 0.1 + 0.2.", "0.1 + 0.2 = 0.3"},
		{"-(2 - 5) * -4", "-(2 - 5) * -4 = -12"},
		{"2 - 3 - 4", "2 - 3 - 4 = -5"},
		{"8 / 4 / 2", "8 / 4 / 2 = 1"},
		{"how much is 1,234,567 x 3", "1234567 * 3 = 3703701"},
		{"what is 7 plus 3 times 2", "7 + 3 * 2 = 13"},
		{"123456789012345678901234567890 * 10 =", "123456789012345678901234567890 * 10 = 1234567890123456789012345678900"},
		{"1/(2-2)", "I cannot work out 1/(2-2): it divides by zero."},
		{"(1 + 2", "I cannot work out (1 + 2: a bracket is not closed."},
		{"1 + 2)", "I cannot work out 1 + 2): unexpected ')' at character 6."},
		{"1 +", "I cannot work out 1 +: something is missing at its end."},
		{"1.2.3 + 4", "I cannot work out 1.2.3 + 4: 1.2.3 is not a number."},

		{"what day is it?", "Today is Saturday, 21 November 2026."},
		{"What's today's date?", "Today is Saturday, 21 November 2026."},
		{"What time is it?", "I know the date and not the time. Today is Saturday, 21 November 2026."},
		{"what day was 2024-02-29?", "2024-02-29 was a Thursday (29 February 2024)."},
		{"which weekday will 2026-12-24 be", "2026-12-24 is a Thursday (24 December 2026)."},
		{"what day is tomorrow?", "2026-11-22 is a Sunday (22 November 2026)."},
		{"what day was 2023-02-29", "2023-02-29 is no date: February 2023 has 28 days."},
		{"what day was 2023-13-01", "2023-13-01 is no date: there is no month 13."},
		{"how many days are there between 2026-01-01 and 2026-12-25?", "From 2026-01-01 to 2026-12-25 it is 358 days (51 weeks and 1 day)."},
		{"how many days from 2024-03-01 to 2024-02-28", "From 2024-02-28 to 2024-03-01 it is 2 days."},
		{"days until 2026-12-05", "From 2026-11-21 to 2026-12-05 it is 14 days (2 weeks)."},

		{"which tools do you have?", "I have 3 tools here: execute_command, read_file, list_dir."},
		{"run the tests", "I run a command when you spell it out, for instance: run `go test ./...`"},
	} {
		if got := play(t, all, c.goal); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.goal, got, c.want)
		}
	}
}

func TestHonest(t *testing.T) {
	for _, goal := range []string{
		"write a poem about the sea", "what is the capital of France?", "who are you?", "Are you ChatGPT?", "hello",
		"what can you do?", "which model is this?", "help", "what is love", "555", "list files in " + strings.Repeat("x", 1<<20), "1" + strings.Repeat("+1", 700), "{\"tasks\": []}", strings.Repeat("(", 5000) + "1",
	} {
		text := play(t, all, goal)
		for _, want := range []string{"demo responder, not a language model", "ollama pull"} {
			if !strings.Contains(text, want) {
				t.Errorf("%.40s: no %q in %s", goal, want, text)
			}
		}
	}
}

// What help offers is understood.
func TestExamples(t *testing.T) {
	examples := 0
	for line := range strings.SplitSeq(play(t, all, "help"), "\n") {
		example, ok := strings.CutPrefix(line, "- ")
		if !ok {
			continue
		}
		examples++
		if text := say(t, prompt(append(slices.Clone(all), "search_memory", "remember")...), user(example)); strings.Contains(text, "no rule") {
			t.Errorf("%q is offered and not understood", example)
		}
	}
	if examples < 10 {
		t.Errorf("only %d examples", examples)
	}
}

const (
	here    = `{"path":"."}`
	listing = ".git/\nREADME.md (120 bytes)\ncmd/\ngo.mod (58 bytes)\nlatest -> cmd/"
	summary = "There are 5 entries here: 2 directories (.git/, cmd/), 2 files (README.md, go.mod) and 1 other entry (latest -> cmd/)."
)

func TestWithTools(t *testing.T) {
	ls := func(args, body string) step { return step{tool: "list_dir", args: args, body: body} }
	cat := func(args, body string) step { return step{tool: "read_file", args: args, body: body} }
	run := func(args, body string) step { return step{tool: "execute_command", args: args, body: body} }
	fails := func(s step) step { s.failed = true; return s }
	for _, c := range []struct {
		goal  string
		steps []step
		want  string
	}{
		{"list files", []step{ls(here, listing)}, summary},
		{"What's in this directory?", []step{ls(here, listing)}, summary},
		{"which files are here", []step{ls(here, listing)}, summary},
		{"list the files in `my docs`, please", []step{ls(`{"path":"my docs"}`, "a (1 bytes)")}, "There is 1 entry in my docs: 1 file (a)."},
		{"list files in .", []step{ls(here, "(. is empty)")}, "There is nothing here: the directory is empty."},
		{"list files in cmd", []step{fails(ls(`{"path":"cmd"}`, "no such file or directory: cmd"))}, "I could not list cmd: no such file or directory: cmd"},
		{"list files in big", []step{ls(`{"path":"big"}`, "a (1 bytes)\nb/\n[2 of 1500 entries; 1498 more are not shown]")},
			"There are 1500 entries in big. Of the first 2, these are 1 directory (b/) and 1 file (a)."},
		{"how many files are there in cmd?", []step{ls(`{"path":"cmd"}`, "a (1 bytes)\nb (2 bytes)\nc/")}, "I count 2 files and 1 directory in cmd, not counting what is in its directories."},
		{"count the files", []step{ls(here, listing)}, "I count 2 files and 2 directories, and 1 other entry here, not counting what is in the directories."},

		{"what is in go.mod?", []step{cat(`{"path":"go.mod"}`, "module x\n\ngo 1.26")}, "go.mod has 3 lines:\n\n```\nmodule x\n\ngo 1.26\n```\n\nThat is the whole file."},
		{"show me the file notes", []step{cat(`{"path":"notes"}`, "a ``` b")}, "notes has 1 line:\n\n````\na ``` b\n````\n\nThat is the whole file."},
		{"read a.txt", []step{cat(`{"path":"a.txt"}`, "(a.txt is empty)")}, "a.txt is empty."},
		{"show x.png", []step{cat(`{"path":"x.png"}`, "(x.png is a binary file, not shown: 9 bytes, image/png)")}, "x.png is a binary file, not shown: 9 bytes, image/png."},
		{"read a.txt", []step{fails(cat(`{"path":"a.txt"}`, "no such file or directory: a.txt"))}, "I could not read a.txt: no such file or directory: a.txt"},
		{"what is in cmd?", []step{fails(cat(`{"path":"cmd"}`, "cmd is a directory, not a file")), ls(`{"path":"cmd"}`, "a/")}, "There is 1 entry in cmd: 1 directory (a/)."},
		{"what's in cmd/?", []step{ls(`{"path":"cmd/"}`, "a/")}, "There is 1 entry in cmd/: 1 directory (a/)."},
		{"how many lines does a.txt have?", []step{cat(`{"path":"a.txt"}`, "1\n2\n[lines 1-2 of 1200; go on with start_line 3]")}, "a.txt has 1200 lines."},
		{"how many lines are in a.txt", []step{cat(`{"path":"a.txt"}`, "1\n2\n[lines 1-2 of at least 9; go on with start_line 3]")}, "a.txt has at least 9 lines."},
		{"how many lines are in a.txt", []step{cat(`{"path":"a.txt"}`, "1\n[... left out: 28 lines, 900 characters ...]\n30"), cat(`{"end_line":20,"path":"a.txt","start_line":1}`, "1\n2\n[lines 1-20 of 30; go on with start_line 21]")},
			"a.txt has 30 lines."},
		{"last 2 lines of a.txt", []step{cat(`{"path":"a.txt"}`, "1\n[... left out: 28 lines, 900 characters ...]\n30"), cat(`{"end_line":20,"path":"a.txt","start_line":1}`, "1\n2\n[lines 1-20 of 30; go on with start_line 21]"),
			cat(`{"path":"a.txt","start_line":29}`, "29\n30\n[lines 29-30 of 30]")}, "The last 2 lines of a.txt:\n\n```\n29\n30\n```\n\nThe file has 30 lines."},
		{"first line of a.txt", []step{cat(`{"end_line":1,"path":"a.txt","start_line":1}`, "one\n[lines 1-1 of 30]")}, "The first line of a.txt is: one"},
		{"show me the first two lines of a.txt", []step{cat(`{"end_line":2,"path":"a.txt","start_line":1}`, "one\ntwo\n[lines 1-2 of 30]")}, "The first 2 lines of a.txt:\n\n```\none\ntwo\n```\n\nThe file has 30 lines."},
		{"last 2 lines of a.txt", []step{cat(`{"path":"a.txt"}`, "1\n2\n3")}, "The last 2 lines of a.txt:\n\n```\n2\n3\n```\n\nThe file has 3 lines."},
		{"last 2 lines of a.txt", []step{cat(`{"path":"a.txt"}`, "1\n[lines 1-1 of 900; go on with start_line 2]"), cat(`{"path":"a.txt","start_line":899}`, "x\ny\n[lines 899-900 of 900]")},
			"The last 2 lines of a.txt:\n\n```\nx\ny\n```\n\nThe file has 900 lines."},

		{"run `go version`", []step{run(`{"command":"go version"}`, "go version go1.26")}, "`go version` printed: go version go1.26"},
		{"Please run ls  -la.", []step{run(`{"command":"ls  -la"}`, "a\nb")}, "`ls  -la` ran without error and printed 2 lines:\n\n```\na\nb\n```\n\nThat is all of it."},
		{"run `a <b && c >d` and tell me what it says", []step{run(`{"command":"a <b && c >d"}`, "(no output)")}, "`a <b && c >d` ran without error and printed nothing."},
		{"run the command: ls ..", []step{run(`{"command":"ls .."}`, "x")}, "`ls ..` printed: x"},
		{"run false", []step{fails(run(`{"command":"false"}`, "exit status 1"))}, "`false` failed: exit status 1"},
		{"run make", []step{fails(run(`{"command":"make"}`, "exit status 2\nno rule"))}, "`make` failed: exit status 2\n\n```\nno rule\n```\n\nThat is what it printed."},

		{"what is this project about?", []step{ls(here, listing), cat(`{"path":"README.md"}`, "# x, a tool\n\n[![ci](b)](c)\n<p>\n\n- a list\n\n**It** does one thing. It does\nit well. It is small.\n\nMore.")},
			"This is x, a tool. According to README.md: **It** does one thing. It does it well."},
		{"describe this repo", []step{ls(here, listing), cat(`{"path":"README.md"}`, "Thing\n=====\n\nOne sentence")}, "This is Thing. According to README.md: One sentence"},
		{"what does this project do", []step{ls(here, "go.mod (9 bytes)"), cat(`{"path":"go.mod"}`, "module example.com/x\n\ngo 1.26")},
			"There is no README; go.mod says that this is the Go module example.com/x, for Go 1.26. There is 1 entry here: 1 file (go.mod)."},
		{"what is this directory about?", []step{ls(here, "a/")}, "I found no README and no go.mod that would say what this is about. There is 1 entry here: 1 directory (a/)."},
		{"what is this directory about?", []step{ls(here, listing), fails(cat(`{"path":"README.md"}`, "permission denied"))}, "I could not read README.md: permission denied"},
	} {
		if got := play(t, all, c.goal, c.steps...); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.goal, got, c.want)
		}
	}
}

func TestLongTextIsShortened(t *testing.T) {
	body := strings.TrimSuffix(strings.Repeat("x\n", 50), "\n")
	text := play(t, all, "run yes", step{tool: "execute_command", args: `{"command":"yes"}`, body: body})
	if !strings.HasSuffix(text, "These are the first 20 lines of 50.") || strings.Count(text, "x\n") != 20 {
		t.Errorf("got %s", text)
	}
	text = play(t, all, "show a.txt", step{tool: "read_file", args: `{"path":"a.txt"}`, body: body})
	if !strings.HasPrefix(text, "a.txt has 50 lines. It begins:") || strings.Count(text, "x\n") != 20 {
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
		{"which tools do you have?", nil, "I have no tools here"},
	} {
		if got := play(t, c.tools, c.goal); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s", c.goal, got)
		}
	}
	got := play(t, []string{"list_dir"}, "what is this project about?", step{tool: "list_dir", args: here, body: listing})
	if !strings.Contains(got, "read_file is not offered. "+summary) {
		t.Errorf("got %s", got)
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

// The prompt's own date is the last one in it; without one no day is claimed.
func TestDateOfPrompt(t *testing.T) {
	p := providers.Message{Role: providers.System, Text: "Date: 1999-01-01 (quoted)\n\n- Date: 2026-11-21\n"}
	if got := say(t, p, user("what day is it?")); !strings.Contains(got, "21 November 2026") {
		t.Errorf("got %s", got)
	}
	for _, goal := range []string{"what day is it?", "days until 2026-12-24", "what day is tomorrow"} {
		if got := say(t, user(goal)); !strings.Contains(got, "I do not know today's date") {
			t.Errorf("%s: got %s", goal, got)
		}
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
	for _, goal := range []string{"run `ls", "list files in \"", "what is ((", "first 99999999999999999999 lines of x", "last 3 lines of a"} {
		f.Add(goal, "[x] Success:\n[2 of 99999999999999999999 entries; x]\n(")
	}
	f.Fuzz(func(t *testing.T, goal, observed string) {
		r := providers.Request{Messages: []providers.Message{prompt(all...), user("<observation>" + observed), user("x" + goal), user("<observation>\n" + observed + "\n</observation>")}}
		for _, text := range []string{"x", "", "list files in ", "last 3 lines of ", "what is "} {
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
