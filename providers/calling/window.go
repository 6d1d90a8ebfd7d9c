package calling

import (
	"context"
	"fmt"
	"sync"
	"time"

	"mylm/providers"
)

const (
	// longPrompt is how many bytes a prompt has for which the window is looked up: shorter
	// ones fit any.
	longPrompt = 6000

	// overestimate is how many times the tokens of a prompt an estimate is at the most.
	overestimate = 2

	windowPatience = 3 * time.Second // how long a backend may take to report its window
	windowAge      = time.Minute     // how long what it reported holds
)

// knownWindow is what a backend reported of its window.
type knownWindow struct {
	mu     sync.Mutex
	tokens int // 0: it does not tell
	asked  time.Time
}

// windowOf is the context window of the model in tokens, as its backend reports it; 0:
// unknown.
func (m *Model) windowOf(ctx context.Context) int {
	informer, ok := m.Model.(providers.Informer)
	if !ok {
		return 0
	}
	w := &m.window
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.asked) < windowAge {
		return w.tokens
	}
	limited, cancel := context.WithTimeout(ctx, windowPatience)
	defer cancel()
	info, err := informer.Info(limited)
	if ctx.Err() != nil {
		return 0 // that the caller left says nothing about the backend
	}
	if w.tokens, w.asked = info.Window, time.Now(); err != nil {
		w.tokens = 0
	}
	return w.tokens
}

// checkWindow refuses a prompt that surely does not fit: not every backend does, and some
// read a part of it.
func (g *generation) checkWindow(ctx context.Context) error {
	bytes := 0
	for _, m := range g.messages {
		bytes += len(m.Text)
	}
	if bytes < longPrompt {
		return nil
	}
	window := g.model.windowOf(ctx)
	if window == 0 || bytes <= 2*window { // no prompt has that many tokens
		return nil
	}
	n := promptTokens(g.messages) / overestimate
	if n <= window {
		return nil
	}
	return &providers.Error{
		Kind: providers.Overflow, Param: providers.ParamWindow, PromptTokens: n, Window: window,
		Message: fmt.Sprintf("the prompt has at least %d tokens, and the context window of the model holds %d", n, window),
	}
}
