package providerstest

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"mylm/providers"
)

func ask() providers.Request {
	return providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "hello"}}}
}

// several is a reply of more than one chunk, for backends that are scripted.
var several = Reply{Text: []string{"one ", "two ", "three"}}

// contract checks what holds for the replies of every backend.
func contract(t *testing.T, b Backend) {
	t.Run("whole", func(t *testing.T) {
		m := b.Open(t, several).Model
		if h := b.whole(t, m, ask()); h.text.Len() == 0 {
			t.Error("the reply has no text")
		}
		b.whole(t, m, ask()) // a model answers more than once
	})
	t.Run("again", func(t *testing.T) {
		seq := b.Open(t, several).Model.Generate(t.Context(), ask())
		for range 2 {
			stops := 0
			for c, err := range seq {
				if err != nil {
					t.Fatal(err)
				}
				if c.Stop != "" {
					stops++
				}
			}
			if stops != 1 {
				t.Errorf("%d chunks carry a stop reason, want 1 each time the sequence is ranged over", stops)
			}
		}
	})
	t.Run("at once", func(t *testing.T) { atOnce(t, b) })
	t.Run("request is left alone", func(t *testing.T) {
		r := ask()
		b.whole(t, b.Open(t, several).Model, r)
		if want := ask(); len(r.Messages) != 1 || !reflect.DeepEqual(r.Messages[0], want.Messages[0]) {
			t.Errorf("the caller's messages became %v", r.Messages)
		}
	})
	t.Run("status", func(t *testing.T) {
		// Unsynchronised on purpose: the race detector sees a call from
		// another goroutine.
		calls := 0
		r := ask()
		r.Status = func(string) { calls++ }
		ctx, cancel := context.WithTimeout(t.Context(), b.Patience)
		defer cancel()
		if h, err := collect(ctx, b.Open(t, several).Model, r, func(providers.Chunk) { calls++ }); err != nil ||
			h.err != nil {
			t.Fatal(err, h.err)
		}
	})
}

func atOnce(t *testing.T, b Backend) {
	m := b.Open(t, several).Model
	want := b.whole(t, m, ask()).text.String()
	ctx, cancel := context.WithTimeout(t.Context(), b.Patience)
	defer cancel()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			h, err := collect(ctx, m, ask(), nil)
			switch {
			case err != nil || h.err != nil:
				t.Errorf("one of several calls at once: %v %v", err, h.err)
			case !b.Unscripted && h.text.String() != want:
				t.Errorf("one of several calls at once gave %q, want %q", h.text.String(), want)
			}
		})
	}
	wg.Wait()
}

// cancellation checks the ways a caller goes away from a reply that comes.
func cancellation(t *testing.T, b Backend) {
	t.Run("before", func(t *testing.T) {
		rig := b.Open(t, several)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		b.wantEnd(t, rig.Model, ctx, ask(), context.Canceled, nil)
		if rig.Requests != nil && len(rig.Requests()) != 0 {
			t.Error("a cancelled call reached the backend")
		}
	})
	t.Run("past deadline", func(t *testing.T) {
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		b.wantEnd(t, b.Open(t, several).Model, ctx, ask(), context.DeadlineExceeded, nil)
	})
	t.Run("during", func(t *testing.T) {
		m := b.Open(t, several).Model
		b.noneLeft(t, func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			h, err := collect(ctx, m, ask(), func(providers.Chunk) { cancel() })
			if err != nil {
				t.Error(err)
			} else if h.stop == "" && !errors.Is(h.err, context.Canceled) {
				t.Errorf("the canceled call ended with %v, want the context's error", h.err)
			}
		})
	})
	t.Run("break", func(t *testing.T) {
		m := b.Open(t, several).Model
		b.noneLeft(t, func() {
			for range m.Generate(t.Context(), ask()) {
				break
			}
		})
	})
}

// wantEnd checks that a call with ctx ends at once with the error want.
func (b Backend) wantEnd(t *testing.T, m providers.Model, ctx context.Context, r providers.Request, want error,
	each func(providers.Chunk)) {
	t.Helper()
	h, err := collect(ctx, m, r, each)
	switch {
	case err != nil:
		t.Error(err)
	case !errors.Is(h.err, want):
		t.Errorf("ended with stop reason %q and error %v, want the error %v", h.stop, h.err, want)
	}
}
