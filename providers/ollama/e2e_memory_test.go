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
	if last := told[len(told)-1].Content; len(told) != 4 || !strings.Contains(last, " | note | the newest of 2]\n  The staging host is called heron.") {
		t.Errorf("the model was told, after %d messages: %q", len(told)-1, last)
	}

	// The embedding model of the server was found, and finds what shares no word
	// with a question.
	if o := p.run(t, "memory", "stats"); !matches(`[1-9] vectors? of ollama/embed:latest@`, o.stdout) {
		t.Errorf("no vectors of the embedding model: %q", o.stdout)
	}
	if o := p.run(t, "memory", "add", "automobile"); o.code != 0 {
		t.Fatalf("memory add: %+v", o)
	}
	// A search spends only a moment on missing vectors. On a busy machine that is too
	// short, so all are made first.
	if o := p.run(t, "memory", "reindex"); o.code != 0 {
		t.Fatalf("memory reindex: %+v", o)
	}
	if o := p.run(t, "memory", "search", "--limit", "1", "car"); !matches(`note +automobile\n +found by vector: [01]\.`, o.stdout) || o.code != 0 {
		t.Errorf("car: exit code %d, stdout %q, stderr %q", o.code, o.stdout, o.stderr)
	}

	stranger := e.user(t, e.server.URL)
	o = stranger.ask(t, model, ollamatest.AskRecall)
	o.want(t, 0, "The observation was not what I expected.\n", "> search_memory ")
}
