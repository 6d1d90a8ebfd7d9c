package agent_test

import (
	"context"
	"strings"
	"testing"

	"mylm/agent"
)

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
	result, err := a.Ask(t.Context(), "q")
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
