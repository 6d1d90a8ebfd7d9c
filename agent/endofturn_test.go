package agent_test

import (
	"testing"

	"mylm/agent"
)

// The model's own token for the end of its turn ends the answer, also before the backend
// says that it has.
func TestEndOfTurn(t *testing.T) {
	for _, token := range []string{"<|im_end|>", "</s>", "<|eot_id|> and more", "<end_of_turn>", "<|endoftext|>"} {
		a := newAgent(t, agent.Options{Model: newModel("It is 4." + token)})
		if r, err := a.Ask(t.Context(), "2+2?"); err != nil || r.Response != "It is 4." || r.StopReason != agent.StopComplete {
			t.Errorf("%q: %q, %s, %v", token, r.Response, r.StopReason, err)
		}
	}
}
