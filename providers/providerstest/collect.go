package providerstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"

	"strings"
	"testing"
	"time"

	"mylm/providers"
)

// result is what one call brought.
type result struct {
	text, thought strings.Builder
	chunks        int
	stop          providers.StopReason
	usage         providers.Usage
	err           error
}

// collect ranges over one call to its end, checks what holds for every sequence,
// and calls each, if given, with every chunk.
func collect(ctx context.Context, m providers.Model, r providers.Request, each func(providers.Chunk)) (*result, error) {
	h := &result{}
	for c, err := range m.Generate(ctx, r) {
		switch {
		case h.err != nil:
			return h, fmt.Errorf("the error %v was not the last element: chunk %+v, error %v followed", h.err, c, err)
		case h.stop != "":
			return h, fmt.Errorf("the chunk with stop reason %q was not the last element: chunk %+v, error %v followed", h.stop, c, err)
		case err != nil:
			h.err = err
			if c.Stop != "" {
				return h, fmt.Errorf("stop reason %q came together with the error %v", c.Stop, err)
			}
			continue
		case c.Stop == "" && c.Usage != (providers.Usage{}):
			return h, fmt.Errorf("usage came before the last chunk: %+v", c)
		}
		h.chunks++
		h.text.WriteString(c.Text)
		h.thought.WriteString(c.Thought)
		h.stop, h.usage = c.Stop, c.Usage
		if each != nil {
			each(c)
		}
	}
	if h.err == nil && h.stop == "" {
		return h, errors.New("the sequence ended with neither a stop reason nor an error")
	}
	return h, nil
}

// whole is collect for calls that must succeed.
func (b Backend) whole(t *testing.T, m providers.Model, r providers.Request) *result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), b.Patience)
	defer cancel()
	h, err := collect(ctx, m, r, nil)
	if err == nil {
		err = h.err
	}
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	return h
}

// eventually polls until ok, and fails the test if that never comes.
func (b Backend) eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(b.Patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, b.Patience)
		}
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
}

// noneLeft runs f often and fails the test if goroutines pile up. The first
// run warms up: what it leaves behind for good, such as a pool, is no leak.
func (b Backend) noneLeft(t *testing.T, f func()) {
	t.Helper()
	const runs, slack = 8, 4 // a leak of one goroutine a run is twice the slack
	f()
	before := settled()
	for range runs {
		f()
	}
	b.eventually(t, fmt.Sprintf("goroutines back to about %d", before), func() bool {
		return runtime.NumGoroutine() <= before+slack
	})
}

// settled waits until the number of goroutines has stopped falling.
func settled() int {
	n := runtime.NumGoroutine()
	for quiet := 0; quiet < 5; quiet++ {
		time.Sleep(time.Millisecond)
		if now := runtime.NumGoroutine(); now < n {
			n, quiet = now, 0
		}
	}
	return n
}

func show(rs ...providers.Request) string {
	b, err := json.Marshal(rs)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
