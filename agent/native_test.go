package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mylm/agent"
	"mylm/providers"
)

func parsed(name, args string) providers.ServerCall {
	return providers.ServerCall{Name: name, Args: args}
}

// A call that the server took out of the text runs like one that the text holds,
// and the model is shown it in the form of the prompt.
func TestServerCallRuns(t *testing.T) {
	var b bench
	m := newModel(
		say{text: "I will look.", calls: []providers.ServerCall{parsed("echo", `{"text":"one"}`), parsed("write", `{"text":"never"}`)}, stop: "tool_calls"},
		say{calls: []providers.ServerCall{parsed("write", `{"text":"two"}`)}},
		"Done.",
	)
	events, r := collect(t, newAgent(t, agent.Options{Model: m, Tools: b.registry(t)}).Run(t.Context(), agent.NewSession(), "go"))
	wantEnd(t, r, agent.Success, agent.StopComplete, 3)
	if got := b.String(); got != "echo:one write:two" || r.Response != "Done." {
		t.Errorf("ran %q, answered %q", got, r.Response)
	}
	if got := types(events); strings.Count(got, "tool_call ") != 2 {
		t.Errorf("events %s", got)
	}
	var said []string
	for _, msg := range m.requests[2].Messages {
		if msg.Role == providers.Assistant {
			said = append(said, msg.Text)
		}
	}
	if want := []string{"I will look.\n" + call("echo", `{"text":"one"}`), call("write", `{"text":"two"}`)}; fmt.Sprintf("%q", said) != fmt.Sprintf("%q", want) {
		t.Errorf("the model is shown %q, want %q", said, want)
	}
}

// The generation is stopped at the call, also before its end.
func TestServerCallStopsTheReply(t *testing.T) {
	var b bench
	m := newModel(say{calls: []providers.ServerCall{parsed("echo", `{"text":"one"}`)}, hang: true}, "Done.")
	r := ask(t, agent.Options{Model: m, Tools: b.registry(t)}, "go")
	wantEnd(t, r, agent.Success, agent.StopComplete, 2)
	if b.String() != "echo:one" {
		t.Errorf("ran %q", b.String())
	}
}

// Its pieces are signs of life, and no text. A call without an end is stopped like
// a text without one.
func TestServerCallInPieces(t *testing.T) {
	whole := []providers.ServerCall{parsed("echo", `{"text":"one"}`)}
	hex := func(i int) string { return fmt.Sprintf("%x", i*i*i) }
	endless := func(piece func(int) string) []string {
		pieces := make([]string, 40_000)
		for i := range pieces {
			pieces[i] = piece(i)
		}
		return pieces
	}
	for name, tt := range map[string]struct {
		parts []string
		pause time.Duration
		want  string // "": the call runs
	}{
		"slowly":                   {[]string{"echo", `{"text":`, `"one"`, "}"}, 40 * time.Second, ""},
		"silence":                  {[]string{"echo", `{"text":`, `"one"`, "}"}, 2 * time.Minute, "fell silent for 1m0s"},
		"the same for ever":        {endless(func(int) string { return "0, " }), 0, "repeats itself"},
		"more than a window holds": {endless(hex), 0, "holds is unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b bench
				m := newModel(say{text: "I look.", parts: tt.parts, pause: tt.pause, calls: whole, stop: "tool_calls"}, "Done.")
				r := ask(t, agent.Options{Model: m, Tools: b.registry(t)}, "go")
				if tt.want != "" {
					if r.Err == nil || !strings.Contains(r.Err.Error(), tt.want) || b.String() != "" {
						t.Errorf("ended %s, %v, ran %q", r.StopReason, r.Err, b.String())
					}
					return
				}
				wantEnd(t, r, agent.Success, agent.StopComplete, 2)
				if text := r.Messages[1].Text; b.String() != "echo:one" || text != "I look.\n"+call("echo", `{"text":"one"}`) {
					t.Errorf("ran %q, the session holds %q", b.String(), text)
				}
			})
		})
	}
}

// The pieces of a second call do not lose what the first reply cost.
func TestServerCallsInPiecesAreCounted(t *testing.T) {
	var b bench
	m := newModel(say{calls: []providers.ServerCall{parsed("echo", `{"text":"one"}`)}, after: []string{"write", "{}"}, stop: "tool_calls"}, "Done.")
	r := ask(t, agent.Options{Model: m, Tools: b.registry(t)}, strings.Repeat("one long question ", 350))
	wantEnd(t, r, agent.Success, agent.StopComplete, 2)
	if r.UsagePartial || r.Usage.Output != 4 {
		t.Errorf("usage %+v, partial %v", r.Usage, r.UsagePartial)
	}
}

// It goes through the same checks, and a call in the text before it wins.
func TestServerCallIsChecked(t *testing.T) {
	tests := map[string]struct {
		first say
		heard string // what the model is told
		ran   string
	}{
		"unknown tool":    {say{calls: []providers.ServerCall{parsed("look_up", `{}`)}}, "look_up", ""},
		"wrong arguments": {say{calls: []providers.ServerCall{parsed("echo", `{"txt":"a"}`)}}, "[echo] Error", ""},
		"no JSON":         {say{calls: []providers.ServerCall{parsed("echo", `{"text":`)}}, "<tool_code>", ""},
		"after an answer": {say{text: "<final_answer>Done.</final_answer>", calls: []providers.ServerCall{parsed("echo", `{"text":"a"}`)}}, "answer", ""},
		"text call first": {say{text: call("echo", `{"text":"text"}`), whole: true, calls: []providers.ServerCall{parsed("echo", `{"text":"server"}`)}}, "text", "echo:text"},
		"in thought":      {say{text: "<think>I should", calls: []providers.ServerCall{parsed("echo", `{"text":"a"}`)}}, "[echo] Success", "echo:a"},
		"lost":            {say{text: "I will look.", stop: "tool_calls"}, "form", ""},
		"lost, and empty": {say{stop: "tool_use"}, "empty", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var b bench
			m := newModel(tt.first, "Done.")
			r := ask(t, agent.Options{Model: m, Tools: b.registry(t)}, "go")
			wantEnd(t, r, agent.Success, agent.StopComplete, 2)
			if !strings.Contains(m.last(), tt.heard) || b.String() != tt.ran {
				t.Errorf("ran %q, the model is told %q", b.String(), m.last())
			}
		})
	}
}

// A model that insists that its text is the answer is believed, whatever its
// server calls the end.
func TestServerCallThatNeverComes(t *testing.T) {
	var b bench
	m := newModel(say{text: "It is four.", stop: "tool_calls"})
	r := ask(t, agent.Options{Model: m, Tools: b.registry(t)}, "go")
	wantEnd(t, r, agent.Success, agent.StopComplete, 2)
	if r.Response != "It is four." {
		t.Errorf("answered %q", r.Response)
	}
}

// A session with such calls replays without a difference, and is resumed after
// every entry.
func TestServerCallIsRecorded(t *testing.T) {
	says := []any{
		say{text: "```\nI look", calls: []providers.ServerCall{parsed("echo", `{"text":"one"}`)}},
		say{calls: []providers.ServerCall{parsed("echo", `{"text":`)}, stop: "tool_calls"},
		say{text: "<think>Hm", calls: []providers.ServerCall{parsed("write", `{"text":"two"}`)}},
		"Done.",
	}
	var whole recorder
	var b bench
	first := ask(t, agent.Options{Model: newModel(says...), Tools: b.registry(t), Recorder: &whole}, "go")
	wantEnd(t, first, agent.Success, agent.StopComplete, 4)
	entries := through(t, whole.entries)
	done, err := agent.Replay(t.Context(), entries, agent.Options{Tools: b.registry(t)})
	if err != nil || done.Replies != 4 || done.Calls != 2 || len(done.Differences) > 0 {
		t.Errorf("replay: %+v, %v", done, err)
	}
	for n := 2; n < len(entries); n++ {
		s, err := agent.LoadSession("s", entries[:n])
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, e := range entries[:n] {
			if e.Kind() == agent.EntryReply {
				asked++
			}
		}
		var b bench
		_, r := collect(t, newAgent(t, agent.Options{Model: newModel(says[asked:]...), Tools: b.registry(t)}).Resume(t.Context(), s))
		if r.Response != "Done." || r.StopReason != agent.StopComplete || len(r.Calls) != 2 {
			t.Errorf("%d entries, the last %s: %q, %s, calls %s", n, entries[n-1].Kind(), r.Response, r.StopReason, names(r.Calls))
		}
	}
	text, err := json.Marshal(entries[2])
	if err != nil || !strings.Contains(string(text), `"server_call":{"name":"echo","args":"{\"text\":\"one\"}"}`) {
		t.Errorf("recorded as %s, %v", text, err)
	}
}
