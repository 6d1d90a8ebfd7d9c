package agent_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/prompts"
	"mylm/providers"
	"mylm/tools"
)

// TestReplayIsLinear has a replay of twice the turns, or of twice the runs, take no more
// than twice the memory.
func TestReplayIsLinear(t *testing.T) {
	bytes := func(runs, turns int) float64 {
		var b bench
		s := agent.NewSession()
		for range runs {
			says := []any{}
			for i := range turns {
				says = append(says, call("echo", fmt.Sprintf(`{"text":"%d"}`, i)))
			}
			o := agent.Options{Model: newModel(append(says, "done")...), Tools: b.registry(t), MaxTurns: turns + 1, SummarizeAfterTurns: agent.Off, MaxContextTokens: agent.Off}
			if _, err := agent.Collect(newAgent(t, o).Run(t.Context(), s, "count")); err != nil {
				t.Fatal(err)
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		done, err := agent.Replay(t.Context(), s.Entries(), agent.Options{Tools: b.registry(t)})
		runtime.ReadMemStats(&after)
		if err != nil || done.Calls != runs*turns || len(done.Differences) > 0 {
			t.Errorf("%+v, %v", done, err)
		}
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	if few, many := bytes(1, 150), bytes(1, 300); many > 2.3*few {
		t.Errorf("150 turns: %.0f bytes, 300 turns: %.0f", few, many)
	}
	if few, many := bytes(50, 2), bytes(100, 2); many > 2.3*few {
		t.Errorf("50 runs: %.0f bytes, 100 runs: %.0f", few, many)
	}
}

// A changed system prompt or description of a tool is a difference, and so is a call
// that is read in another way, with the reason. What is particular to a run is none.
func TestReplayComparesWhatTheModelWasTold(t *testing.T) {
	tool := func(description string) *tools.Registry {
		echo, err := tools.New("echo", description, tools.Reads, func(_ context.Context, in echoIn) (tools.Result, error) {
			return tools.Result{Text: in.Text}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := tools.NewRegistry(echo)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	template := func(from, to string) *prompts.Set {
		text, err := prompts.Builtin(prompts.SystemPrompt)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "system.tmpl"), strings.Replace(text, from, to, 1))
		set, err := prompts.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	s := agent.NewSession()
	o := agent.Options{
		Model: newModel(call("echo", `{"text":"x",}`), "done"), Tools: tool("Say it again."), Identity: "You are somebody.\nBe brief.",
		Sections: []prompts.Section{{Title: "NOTES", Text: "note"}}, Environment: &prompts.Environment{OS: "linux", Directory: "/x"},
	}
	if _, err := agent.Collect(newAgent(t, o).Run(t.Context(), s, "go")); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		o       agent.Options
		was, is string
	}{
		"nothing":        {o: agent.Options{Tools: tool("Say it again.")}},
		"description":    {agent.Options{Tools: tool("Say it twice.")}, "again", "twice"},
		"system prompt":  {agent.Options{Tools: tool("Say it again."), Prompts: template("never make one up", "make none up")}, "never make one up", "make none up"},
		"a line is gone": {agent.Options{Tools: tool("Say it again."), Prompts: template("- If the tools cannot do what is asked, say why.\n", "")}, "say why", "#"},
	} {
		done, err := agent.Replay(t.Context(), s.Entries(), test.o)
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case test.was == "":
			if len(done.Differences) > 0 {
				t.Errorf("%s: %+v", name, done.Differences)
			}
		case len(done.Differences) != 1 || !strings.Contains(done.Differences[0].Was, test.was):
			t.Errorf("%s: %+v", name, done.Differences)
		case test.is != "#" && !strings.Contains(done.Differences[0].Is, test.is):
			t.Errorf("%s: %+v", name, done.Differences)
		}
	}
	entries := s.Entries()
	for i, e := range entries {
		if p, ok := e.Payload.(agent.CallEntry); ok {
			p.Args = []byte(`{"text":"y"}`)
			entries[i].Payload = p
		}
	}
	done, err := agent.Replay(t.Context(), entries, agent.Options{Tools: tool("Say it again.")})
	if err != nil || len(done.Differences) != 1 || !strings.Contains(done.Differences[0].Why, "call of echo in the form") {
		t.Errorf("another call: %+v, %v", done.Differences, err)
	}
}

// TestReplayComparesTheWholeAnswer holds that the answer of a continued reply is compared, where
// the continuation made something else of what came before.
func TestReplayComparesTheWholeAnswer(t *testing.T) {
	s := agent.NewSession()
	m := newModel(say{text: "I think of it.", stop: providers.StopLength}, "\n</think>\nIt is so.")
	if r, err := agent.Collect(newAgent(t, agent.Options{Model: m}).Run(t.Context(), s, "go")); err != nil || r.Response != "It is so." {
		t.Fatalf("%q, %v", r.Response, err)
	}
	recorded := 0
	for _, whole := range []string{"It is so.", "It is not so.", ""} {
		entries := slices.Clone(s.Entries())
		for i := range entries {
			if reply, ok := entries[i].Payload.(agent.ReplyEntry); ok && reply.Whole != "" {
				reply.Whole = strings.Replace(reply.Whole, "It is so.", whole, 1)
				entries[i].Payload = reply
				recorded++
			}
		}
		done, err := agent.Replay(t.Context(), entries, agent.Options{})
		if err != nil || (len(done.Differences) > 0) != (whole != "It is so.") {
			t.Errorf("%q: %+v, %v", whole, done.Differences, err)
		}
	}
	if recorded != 3 {
		t.Errorf("%d whole answers in 3 records", recorded)
	}
}
