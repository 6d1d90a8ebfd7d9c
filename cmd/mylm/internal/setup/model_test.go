package setup

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"
)

func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := Patiently(t.Context(), &term.Screen{Still: true}, "asking x", "try again", AskPatience, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if f := failure.Of(err); f.Code != failure.ExitTimeout || err.Error() != "asking x: no answer within 30s" || f.Hint == "" {
			t.Errorf("got %v", err)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Patiently(ctx, &term.Screen{Still: true}, "x", "", AskPatience, func(ctx context.Context) error { return ctx.Err() }); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// mute is a model whose server never tells its window.
type mute struct{ providers.Model }

func (mute) Info(ctx context.Context) (providers.Info, error) {
	<-ctx.Done()
	return providers.Info{}, ctx.Err()
}

// The window helps, but is not worth a wait where the server's own word on what
// is too long is as good.
func TestMuteWindow(t *testing.T) {
	for provider, want := range map[string]time.Duration{"openai": 3 * time.Second, config.Ollama: 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			window, _, err := (&Model{Model: mute{}, Provider: provider}).Window(t.Context(), &term.Screen{Still: true})
			if took := time.Since(begin); window != 0 || (err == nil) != (provider != config.Ollama) || took != want {
				t.Errorf("%s: %d, %v after %v, want to go on after %v", provider, window, err, took, want)
			}
		})
	}
}
