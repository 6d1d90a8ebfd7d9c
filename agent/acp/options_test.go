package acp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"mylm/agent"
	"mylm/agent/acp"
)

// setOption is a request for an option of the first session.
func setOption(id, option, value string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"session/set_config_option","params":{"sessionId":"s1","configId":"` + option + `","value":"` + value + `"}}`
}

const closeFirst = `{"jsonrpc":"2.0","id":"close","method":"session/close","params":{"sessionId":"s1"}}`

// A session is closed once its model has been changed, and not meanwhile.
func TestCloseWaitsForModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun, release := make(chan struct{}), make(chan struct{})
		h := &host{setModel: func() error {
			close(begun)
			<-release
			return nil
		}}
		p := serve(t, h)
		p.open()
		p.send(setOption("1", "model", "n"))
		<-begun
		p.send(closeFirst)
		if synctest.Wait(); h.closed.Load() {
			t.Error("the session is closed while its model changes")
		}
		close(release)
		if p.expect(`"id":"close"`); !h.closed.Load() {
			t.Error("the session is not closed")
		}
	})
}

// The model of a session that is closed meanwhile is not changed.
func TestModelOfClosedSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, &host{
			prompt: func(ctx context.Context, _ acp.Prompt, turn *acp.Turn) (agent.StopReason, error) {
				turn.Message("It begins.")
				<-ctx.Done()
				return agent.StopInterrupted, nil
			},
			setModel: func() error {
				t.Error("the model changes")
				return nil
			},
		})
		p.open()
		p.send(prompt("1", "s1", "q"))
		p.expect("It begins.")
		p.send(setOption("2", "model", "n"))
		synctest.Wait()
		p.send(closeFirst)
		if all := strings.Join(p.expect(`"id":2`), ""); !strings.Contains(all, "-32002") {
			t.Errorf("the answer: %s", all)
		}
	})
}

// An editor that was told of a model which then could not be opened is told of the one
// that answers.
func TestModelThatFails(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	h := &host{}
	h.setModel = func() error {
		h.model.Store("broken")
		close(begun)
		<-release
		h.model.Store("n")
		return errors.New("it cannot be opened")
	}
	p := serve(t, h)
	p.open()
	p.send(setOption("1", "model", "n"))
	<-begun
	p.send(setOption("2", "mode", "m"))
	if all := strings.Join(p.expect(`"id":2`), ""); !strings.Contains(all, `"currentValue":"broken"`) {
		t.Errorf("meanwhile: %s", all)
	}
	close(release)
	if all := strings.Join(p.expect(`"id":1`), ""); !strings.Contains(all, "config_option_update") || !strings.Contains(all, `"currentValue":"n"`) {
		t.Errorf("then: %s", all)
	}
}
