package ask_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mylm/tools"
	"mylm/tools/ask"
)

func call(ctx context.Context, t *testing.T, put ask.Func, args string) tools.Outcome {
	t.Helper()
	tool, err := ask.New(put)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := registry.Prepare(ask.Name, json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	if inv.Effect != tools.None {
		t.Errorf("the effect is %v", inv.Effect)
	}
	return inv.Run(ctx, time.Nanosecond) // an engine's bound for tools is not one for people
}

func TestAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		args, answer string
		err          error
		want         string
		ok           bool
	}{
		"an answer":          {`{"question": "Which?"}`, " the red one\n", nil, "the red one", true},
		"an option":          {`{"question": "Which?", "options": ["red", "blue"]}`, "2", nil, "blue", true},
		"an option, spelled": {`{"question": "Which?", "options": ["red", "blue"]}`, "red", nil, "red", true},
		"none of them":       {`{"question": "Which?", "options": ["red", "blue"]}`, "3", nil, "3", true},
		"numbers":            {`{"question": "How many?", "options": ["3", "1", "2"]}`, "1", nil, "1", true},
		"no answer":          {`{"question": "Which?"}`, " ", nil, "no answer; continue", true},
		"refused":            {`{"question": "Which?"}`, "", ask.ErrNoAnswer, "no answer; continue", true},
		"failed":             {`{"question": "Which?"}`, "", errors.New("the terminal is gone"), "could not be asked: the terminal is gone", false},
		"nothing asked":      {`{"question": " "}`, "x", nil, "the question is empty", false},
		"too long":           {`{"question": "` + strings.Repeat("x", ask.MaxText+1) + `"}`, "x", nil, "at most 1500", false},
		"too many options":   {`{"question": "Which?", "options": ["1","2","3","4","5","6","7","8","9","10","11"]}`, "x", nil, "at most 10", false},
		"an empty option":    {`{"question": "Which?", "options": ["a", ""]}`, "x", nil, "option 2 is empty", false},
		"a long option":      {`{"question": "Which?", "options": ["` + strings.Repeat("x", ask.MaxOption+1) + `"]}`, "x", nil, "option 1 is 151 bytes", false},
		"an option twice":    {`{"question": "Which?", "options": ["a", "b", "a"]}`, "x", nil, "option 3 is a duplicate", false},
	} {
		o := call(t.Context(), t, func(context.Context, ask.Question) (string, error) { return tt.answer, tt.err }, tt.args)
		if o.Success() != tt.ok || !strings.Contains(o.Body(), tt.want) || o.Origin != "" {
			t.Errorf("%s: %q of %q, want %q", name, o.Body(), o.Origin, tt.want)
		}
	}
}

func TestQuestionIsPassedOn(t *testing.T) {
	var got ask.Question
	call(t.Context(), t, func(_ context.Context, q ask.Question) (string, error) { got = q; return "x", nil }, `{"question": "Which?", "options": ["a", "b"]}`)
	if got.Text != "Which?" || len(got.Options) != 2 || got.Options[1] != "b" {
		t.Errorf("%+v", got)
	}
	if _, err := ask.New(nil); err == nil {
		t.Error("no error without a function")
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := call(ctx, t, func(ctx context.Context, _ ask.Question) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}, `{"question": "Which?"}`)
	if o.Success() || !strings.HasPrefix(o.Error, "cancelled: ") {
		t.Errorf("%q", o.Body())
	}
}

func TestOneAtATime(t *testing.T) {
	var asking, most atomic.Int32
	tool, err := ask.New(func(context.Context, ask.Question) (string, error) {
		n := asking.Add(1)
		defer asking.Add(-1)
		if n > most.Load() {
			most.Store(n)
		}
		return "x", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if _, err := tool.Run(t.Context(), json.RawMessage(`{"question": "Which?"}`)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d questions at once", most.Load())
	}
	// One that waits for its turn gives up with its context.
	begun, end := make(chan struct{}), make(chan struct{})
	tool, _ = ask.New(func(context.Context, ask.Question) (string, error) { close(begun); <-end; return "x", nil })
	wg.Go(func() { _, _ = tool.Run(t.Context(), json.RawMessage(`{"question": "first"}`)) })
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tool.Run(ctx, json.RawMessage(`{"question": "second"}`)); err == nil || !strings.Contains(err.Error(), "not asked") {
		t.Errorf("%v", err)
	}
	close(end)
	wg.Wait()
}
