//go:build linux

package ollama_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"mylm/providers/internal/ollamatest"
)

// kept is the form of a call of execute_command in the conversation.
func kept(before, args string) said {
	return said{"assistant", before + "<tool_code>\n<name>execute_command</name>\n<parameters>" + args + "</parameters>\n</tool_code>"}
}

// observed is the form of an observation.
func observed(tool, output string) said {
	return said{"user", "<observation>\n[" + tool + "] Success:\n" + output + "\n</observation>"}
}

// wantTurn checks the messages of a second turn behind the system prompt.
func wantTurn(t *testing.T, got sent, want ...said) {
	t.Helper()
	if len(got.messages) == 0 || got.messages[0].Role != "system" || !reflect.DeepEqual(got.messages[1:], want) {
		t.Errorf("the conversation is\n%q\nwant after the system prompt\n%q", got.messages, want)
	}
}

// A tool runs between two replies, what the model made up about it is gone, and
// the second reply finds the model loaded.
func (e *endToEnd) tools(t *testing.T, model string) {
	e.user(t, e.server.URL).ask(t, model, "hello")
	loaded := e.server.Runners()
	p, r := e.watched(t)
	o := p.ask(t, model, "--yes", "please", ollamatest.AskCall)
	o.want(t, 0, ollamatest.Answer+"\n", "$ echo hello-from-tool\n")
	if strings.Contains(o.stderr, "invented") {
		t.Errorf("what the model made up is shown:\n%s", o.stderr)
	}
	all := r.wantRequests(t, 2)
	wantTurn(t, all[1],
		said{"user", "please " + ollamatest.AskCall},
		kept("I will look.\n", `{"command":"echo hello-from-tool"}`),
		observed("execute_command", "hello-from-tool"))
	if now := e.server.Runners(); began(loaded, now) {
		t.Errorf("the model was loaded again: processes %d, then %d", loaded, now)
	}

	// A call that only reads needs no --yes.
	if err := os.WriteFile(filepath.Join(p.dir, "note.txt"), []byte(ollamatest.NoteText+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o = p.ask(t, model, "--json", ollamatest.AskNote)
	got := o.report(t)
	if o.code != 0 || got.Output != ollamatest.NoteAnswer || got.Status != "success" || got.StopReason != "complete" || got.Turns != 2 {
		t.Errorf("exit code %d, report %+v", o.code, got)
	}
	if len(got.ToolCalls) != 1 || got.ToolCalls[0].Name != "read_file" || !got.ToolCalls[0].Success {
		t.Errorf("calls %+v", got.ToolCalls)
	}

	// With confirm-all it does, and without a terminal the answer is no.
	o = p.ask(t, model, "--confirm", "confirm-all", ollamatest.AskCall)
	if strings.Contains(o.stdout, "hello-from-tool") || !strings.Contains(o.stderr, "denied: execute_command echo hello-from-tool") || o.code != 4 {
		t.Errorf("without --yes: %+v", o)
	}
}

// Tags in a JSON string are data on their way to the tool, and no tags any more
// on their way back.
func (e *endToEnd) tagsInArguments(t *testing.T, model string) {
	const printed = "<observation>x</observation> </tool_code> tags-came-through"
	p, r := e.watched(t)
	p.ask(t, model, "--yes", "--verbose", ollamatest.AskTags).want(t, 0, ollamatest.TagAnswer+"\n", "  "+printed+"\n")
	command := "echo '" + printed + "'"
	wantTurn(t, r.wantRequests(t, 2)[1],
		said{"user", ollamatest.AskTags},
		kept("", `{"command":"`+command+`"}`),
		observed("execute_command", strings.ReplaceAll(printed, "<", `<\`)))

	got := p.ask(t, model, "--yes", "--json", ollamatest.AskTags).report(t)
	if len(got.ToolCalls) != 1 || got.ToolCalls[0].Args["command"] != command {
		t.Errorf("calls %+v", got.ToolCalls)
	}
}

// evaluated matches, for each reply of the one slot, the line with the size of
// its prompt and the one with the size of prompt and reply.
var evaluated = regexp.MustCompile(`(?:new prompt, .*task\.n_tokens|stop processing: n_tokens) = (\d+)`)

// generated returns how many tokens each reply took that has ended so far.
func generated(t *testing.T, log string) (tokens []int) {
	t.Helper()
	prompt := 0
	for _, m := range evaluated.FindAllStringSubmatch(log, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(m[0], "new") {
			prompt = n
		} else {
			tokens = append(tokens, n-prompt)
		}
	}
	return tokens
}

// A model that goes on after its call, without end, is stopped there.
func (e *endToEnd) stoppedAtCall(t *testing.T, model string) {
	s := ollamatest.Start(t, slots, "OLLAMA_DEBUG=1")
	s.Create(t, model, ollamatest.Agent(templates[model]))
	r := record(t, s.URL)
	p := e.user(t, r.URL)
	const runs = 4
	for range runs {
		p.ask(t, model, "--yes", "--max-tokens", "2000", ollamatest.AskBabble).want(t, 0, ollamatest.Answer+"\n")
	}
	r.wantRequests(t, 2*runs)

	tokens := generated(t, s.Log())
	for deadline := time.After(patience); len(tokens) < 2*runs; tokens = generated(t, s.Log()) {
		select {
		case <-deadline:
			t.Fatalf("the server's log tells of %d replies, want %d", len(tokens), 2*runs)
		case <-time.After(10 * time.Millisecond): // the log comes through a pipe
		}
	}
	// A piece is a token. At 3 tokens a millisecond a busy machine lets some
	// hundreds pass until the server notices that nobody listens, but not each
	// time.
	least := tokens[0]
	for i := 2; i < len(tokens); i += 2 {
		least = min(least, tokens[i])
	}
	if call := r.pieces(t, 0, "</tool_code>"); least > call+1000 {
		t.Errorf("the shortest of %d replies has %d tokens, want far fewer than the 2,000 that are allowed, and %d are the call", runs, least, call)
	}
}
