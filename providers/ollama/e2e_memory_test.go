//go:build linux

package ollama_test

import (
	"strings"
	"testing"

	"mylm/providers/internal/ollamatest"
)

// memory: what one process remembers another finds, by a call of the model.
// Nobody is asked, and nobody but the user with that home finds it.
func (e *endToEnd) memory(t *testing.T, model string) {
	p, r := e.watched(t)
	o := p.ask(t, model, "please", ollamatest.AskRemember)
	o.want(t, 0, ollamatest.RememberAnswer+"\n", "> remember ")
	o = p.ask(t, model, ollamatest.AskRecall)
	o.want(t, 0, ollamatest.RecallAnswer+"\n", "> search_memory ")
	told := r.wantRequests(t, 4)[3].messages
	if last := told[len(told)-1].Content; len(told) != 4 || !strings.Contains(last, " | note]\n  The staging host is called heron.") {
		t.Errorf("the model was told, after %d messages: %q", len(told)-1, last)
	}

	stranger := e.user(t, e.server.URL)
	o = stranger.ask(t, model, ollamatest.AskRecall)
	o.want(t, 0, "The observation was not what I expected.\n", "> search_memory ")
}
