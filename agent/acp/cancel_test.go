package acp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mylm/agent"
	"mylm/agent/acp"
)

// A cancel is answered within two seconds, whatever does not stop, by the clock that
// the test has for itself.
func TestCancelInTwoSeconds(t *testing.T) {
	t.Parallel()
	for _, cancel := range []string{`"method":"session/cancel","params":{"sessionId":"s1"}`, `"method":"$/cancel_request","params":{"requestId":1}`} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			h := &host{prompt: func(_ context.Context, _ acp.Prompt, turn *acp.Turn) (agent.StopReason, error) {
				turn.Event(agent.Event{Payload: agent.ToolCall{ID: "c", Name: "tool", Args: json.RawMessage(`{}`)}})
				turn.Message("It begins.")
				<-release
				return agent.StopComplete, nil
			}}
			p := serve(t, h)
			p.open()
			p.send(prompt("1", "s1", "deaf"))
			p.expect("It begins.")
			began := time.Now()
			p.send(`{"jsonrpc":"2.0",` + cancel + `}`)
			all := strings.Join(p.expect(`"id":1`), "")
			if took := time.Since(began); took > 2*time.Second || !strings.Contains(all, "cancelled") || !strings.Contains(all, `"status":"failed"`) {
				t.Errorf("after %v: %s", took, all)
			}
			close(release)
		})
	}
}
