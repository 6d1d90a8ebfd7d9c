package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"mylm/agent"
)

// Of several options that are impossible the first is reported, each time.
func TestImpossibleOptions(t *testing.T) {
	for want, o := range map[string]agent.Options{
		"agent: MaxTurns is -1 turns; it must be at least 0":             {MaxTurns: -1, MaxMalformed: -2, MaxTokens: -3, MaxTime: -4},
		"agent: MaxTokens is -3 tokens; it must be at least 0":           {MaxTokens: -3, MaxContextTokens: -2},
		"agent: MaxContextTokens is -2 tokens; it must be at least -1":   {MaxContextTokens: -2, MaxTime: -7},
		"agent: TokenTimeout is -5s; it must be at least 0s":             {TokenTimeout: -5 * time.Second, Patience: -1, MaxTime: -1},
		"agent: SummarizeAfterTurns is -9 turns; it must be at least -1": {SummarizeAfterTurns: -9, MaxContextTokens: -2},
	} {
		o.Model = newModel("done")
		for range 20 {
			if _, err := agent.New(o); err == nil || err.Error() != want {
				t.Fatalf("%v, want %s", err, want)
			}
		}
	}
}

func TestSystemAndTaintedOptions(t *testing.T) {
	m := newModel(call("echo", `{"text": "x"}`), "done")
	tainted := false
	b := &bench{}
	a, err := agent.New(agent.Options{
		Model: m, Tools: b.registry(t), System: "You plan.", Tainted: true,
		Approve: func(_ context.Context, q agent.ApprovalRequest) (agent.Decision, error) {
			tainted = q.Tainted
			return agent.Decision{Verdict: agent.Allow}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	session := agent.NewSession()
	result, err := agent.Collect(a.Run(t.Context(), session, "q"))
	if !session.Tainted() {
		t.Error("the session is not tainted")
	}
	if err != nil || !result.Tainted || !tainted {
		t.Errorf("%+v, %v, the approver was told %v", result, err, tainted)
	}
	if system := m.requests[0].Messages[0].Text; system != "You plan." {
		t.Errorf("the system prompt is %q", system)
	}
	plain, err := agent.New(agent.Options{Model: newModel("done")})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := plain.Ask(t.Context(), "q"); err != nil || result.Tainted || !strings.Contains(result.Response, "done") {
		t.Errorf("%+v, %v", result, err)
	}
}
