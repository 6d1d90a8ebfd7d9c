package agent_test

import (
	"strings"
	"testing"

	"mylm/agent"
	"mylm/providers"
)

// TestUsageOfLostReplies holds that what a reply consumed counts, also if it is asked for again
// or thrown away: at least one token a piece, and what the backend reported.
func TestUsageOfLostReplies(t *testing.T) {
	cut := &providers.Error{Kind: providers.Interrupted, Message: "cut"}
	refused := &providers.Error{Kind: providers.BadRequest, Message: "no"}
	busy := &providers.Error{Kind: providers.RateLimited, Message: "slow down"}
	counted := func(prompt, output int) error {
		return &providers.Error{Kind: providers.Interrupted, Usage: providers.Usage{Prompt: prompt, Output: output}}
	}
	long := strings.Repeat("word and ", 500)
	for name, tt := range map[string]struct {
		options        agent.Options
		prompt         string
		says           []any
		input, output  int
		partial, fails bool
	}{
		"retried":                {says: []any{say{thought: "hm", text: "Half an ans", err: cut}, "Whole."}, input: 10, output: 2 + 4, partial: true},
		"retried, counted":       {says: []any{say{text: "Half an ans", err: counted(7, 1)}, "Whole."}, input: 17, output: 2 + 3, partial: true},
		"counted beyond":         {says: []any{say{text: "Half", err: counted(7, 9)}, "Whole."}, input: 17, output: 2 + 9, partial: true},
		"nothing came":           {says: []any{say{err: busy}, "Whole."}, input: 10, output: 2},
		"kept":                   {says: []any{say{text: "Half an ans", err: &providers.Error{Kind: providers.BadRequest, Usage: providers.Usage{Prompt: 7}}}}, input: 7, output: 3, partial: true, fails: true},
		"only thought":           {says: []any{say{thought: "hm", err: refused}}, output: 1, partial: true, fails: true},
		"withheld by the server": {says: []any{say{text: "Half", err: &providers.Error{Kind: providers.Filtered}}}, output: 1, partial: true, fails: true},
		"too long in mid-reply":  {prompt: long, says: []any{say{text: "Half", err: &providers.Error{Kind: providers.Overflow}}}, output: 1, partial: true},
		"a check":                {options: agent.Options{SelfEval: agent.EvalBasic}, says: []any{"Whole.", say{text: "{", err: refused}}, input: 10, output: 2 + 1, partial: true},
		"the last word":          {options: agent.Options{MaxTurns: 1}, says: []any{call("none", `{}`), say{text: "Half an ans", err: refused}}, input: 10, output: 2 + 3, partial: true},
		"truncated prompt":       {prompt: long, options: agent.Options{MaxContextTokens: 4000}, says: []any{"Whole."}, input: 10, output: 2},
	} {
		t.Run(name, func(t *testing.T) {
			tt.options.Model = newModel(tt.says...)
			if tt.prompt == "" {
				tt.prompt = "go"
			}
			r, err := newAgent(t, tt.options).Ask(t.Context(), tt.prompt)
			if (err != nil) != tt.fails {
				t.Error(err)
			}
			if r.Usage.Prompt != tt.input || r.Usage.Output != tt.output || r.UsagePartial != tt.partial {
				t.Errorf("ended %s, usage %+v, partial %v", r.StopReason, r.Usage, r.UsagePartial)
			}
		})
	}
}

// TestUsageAfterResume holds that a resumed run has consumed what it had before.
func TestUsageAfterResume(t *testing.T) {
	cut := &providers.Error{Kind: providers.Interrupted, Message: "cut"}
	var b bench
	var whole recorder
	says := []any{say{text: "Half an ans", err: cut}, "I look.\n" + call("echo", `{"text":"x"}`) + "\n", say{thought: "hm", err: cut}, "Done."}
	first := ask(t, agent.Options{Model: newModel(says...), Tools: b.registry(t), Recorder: &whole}, "go")
	entries := through(t, whole.entries)
	for n := 3; n < len(entries); n++ {
		s, err := agent.LoadSession("s", entries[:n])
		if err != nil {
			t.Fatal(err)
		}
		_, r := collect(t, newAgent(t, agent.Options{Model: newModel(says[2:]...), Tools: b.registry(t)}).Resume(t.Context(), s))
		if r.Usage != first.Usage || !r.UsagePartial {
			t.Errorf("after %d entries (%s): usage %+v, want %+v", n, entries[n-1].Kind(), r.Usage, first.Usage)
		}
	}
}
