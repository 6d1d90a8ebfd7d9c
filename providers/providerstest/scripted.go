package providerstest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mylm/providers"
)

// replies checks what becomes of a reply that ends properly.
func replies(t *testing.T, b Backend) {
	tests := []struct {
		name  string
		reply Reply
	}{
		{"pieces", Reply{Text: []string{" leading", " and trailing \n", "\n\tline ", "<tool_code>&\"\\",
			"Größe → 終わり 🎉", " "}}},
		{"one piece", Reply{Text: []string{"yes"}}},
		{"long", Reply{Text: slices.Repeat([]string{"0123456789abcdef\n"}, 4096)}},
		{"empty", Reply{}},
		{"length", Reply{Text: []string{"and so "}, Stop: providers.StopLength}},
		{"empty at length", Reply{Stop: providers.StopLength}},
		{"usage", Reply{Text: []string{"a", "b"}, Usage: providers.Usage{Prompt: 21, Output: 2}}},
		{"thought", Reply{Thought: []string{"let me ", "see\n"}, Text: []string{"yes"}}},
		{"only thought", Reply{Thought: []string{"hm"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.reply.Thought != nil && !b.Thoughts {
				t.Skip("this backend does not separate thought from text")
			}
			h := b.whole(t, b.Open(t, tt.reply).Model, ask())
			checkReply(t, b, h, tt.reply)
		})
	}
}

func checkReply(t *testing.T, b Backend, h *result, r Reply) {
	t.Helper()
	if got, want := h.text.String(), strings.Join(r.Text, ""); got != want {
		t.Errorf("text %.200q, want %.200q", got, want)
	}
	if got, want := h.thought.String(), strings.Join(r.Thought, ""); got != want {
		t.Errorf("thought %.200q, want %.200q", got, want)
	}
	want := r.Stop
	if want == "" {
		want = providers.StopEnd
	}
	if h.stop != want {
		t.Errorf("stop reason %q, want %q", h.stop, want)
	}
	if b.Usage && (h.usage.Prompt != r.Usage.Prompt || h.usage.Output != r.Usage.Output) {
		t.Errorf("usage %+v, want %+v", h.usage, r.Usage)
	}
}

// failures checks that a failure is reported, typed, and never a success.
func failures(t *testing.T, b Backend) {
	t.Run("cut", func(t *testing.T) {
		wantKind(t, b, Reply{Text: []string{"the answer ", "is"}, Cut: true}, providers.Interrupted)
	})
	t.Run("cut before the first piece", func(t *testing.T) {
		wantKind(t, b, Reply{Cut: true}, providers.Interrupted)
	})
	for _, kind := range b.Fails {
		t.Run("instead of a reply/"+string(kind), func(t *testing.T) {
			wantKind(t, b, Reply{Fail: kind}, kind)
		})
	}
	for _, kind := range b.Breaks {
		t.Run("in mid-reply/"+string(kind), func(t *testing.T) {
			wantKind(t, b, Reply{Text: []string{"the answer ", "is"}, Fail: kind}, kind)
		})
	}
}

func wantKind(t *testing.T, b Backend, r Reply, want providers.Kind) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), b.Patience)
	defer cancel()
	h, err := collect(ctx, b.Open(t, r).Model, ask(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if h.stop != "" {
		t.Fatalf("a failed reply passed for a whole one: stop reason %q", h.stop)
	}
	var e *providers.Error
	if !errors.As(h.err, &e) {
		t.Fatalf("error %v (%T), want a *providers.Error", h.err, h.err)
	}
	if e.Kind != want {
		t.Errorf("error of kind %q, want %q: %v", e.Kind, want, e)
	}
	if e.Message == "" {
		t.Error("the error has no message")
	}
	if got, sent := h.text.String(), strings.Join(r.Text, ""); !strings.HasPrefix(sent, got) {
		t.Errorf("text before the error %q, want the beginning of %q", got, sent)
	}
}

// hangs checks the ways a caller goes away from a silent
// backend.
func hangs(t *testing.T, b Backend) {
	t.Run("cancel in silence", func(t *testing.T) {
		rig := b.Open(t, Reply{Hang: true})
		b.noneLeft(t, func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go b.whenSilent(rig, arrived(rig), cancel)
			b.wantEnd(t, rig.Model, ctx, ask(), context.Canceled, nil)
		})
	})
	t.Run("deadline in silence", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		b.wantEnd(t, b.Open(t, Reply{Hang: true}).Model, ctx, ask(), context.DeadlineExceeded, nil)
	})
	if b.OnePiece {
		return
	}
	t.Run("cancel in mid-reply", func(t *testing.T) {
		rig := b.Open(t, Reply{Text: []string{"one "}, Hang: true})
		calls := 0
		b.noneLeft(t, func() {
			calls++
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b.wantEnd(t, rig.Model, ctx, ask(), context.Canceled, func(providers.Chunk) { cancel() })
		})
		b.sawLeave(t, rig, calls)
	})
	t.Run("break in mid-reply", func(t *testing.T) {
		rig := b.Open(t, Reply{Text: []string{"one "}, Hang: true})
		calls := 0
		b.noneLeft(t, func() {
			calls++
			for _, err := range rig.Model.Generate(t.Context(), ask()) {
				if err != nil {
					t.Error(err)
				}
				break
			}
		})
		b.sawLeave(t, rig, calls)
	})
}

// whenSilent calls f once more than before requests have arrived, or soon if they
// are unknown.
func (b Backend) whenSilent(rig Rig, before int, f func()) {
	defer f()
	if rig.Requests == nil {
		time.Sleep(20 * time.Millisecond)
		return
	}
	for deadline := time.Now().Add(b.Patience); arrived(rig) == before && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

func arrived(rig Rig) int {
	if rig.Requests == nil {
		return 0
	}
	return len(rig.Requests())
}

// sawLeave checks that the other side has seen the caller go, every time.
func (b Backend) sawLeave(t *testing.T, rig Rig, calls int) {
	t.Helper()
	if rig.Left != nil {
		b.eventually(t, "the other side sees that the caller is gone", func() bool { return rig.Left() >= calls })
	}
}

// requests checks what reaches the other side.
func requests(t *testing.T, b Backend) {
	zero, warm, seed := 0.0, 0.7, 0
	talk := []providers.Message{
		{Role: providers.System, Text: "Be brief."},
		{Role: providers.User, Text: " first\n"},
		{Role: providers.Assistant, Text: "<tool_code>x</tool_code>"},
		{Role: providers.User, Text: "<observation>&</observation>"},
		{Role: providers.User, Text: "last"},
	}
	tests := []struct {
		name string
		r    providers.Request
	}{
		{"nothing but messages", providers.Request{Messages: talk}},
		{"zeros that are set", providers.Request{Messages: talk, Temperature: &zero, Seed: &seed}},
		{"limits", providers.Request{Messages: talk, Temperature: &warm, MaxTokens: 77}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rig := b.Open(t, several)
			if rig.Requests == nil {
				t.Skip("the requests that arrive are unknown")
			}
			if b.NoSeed && tt.r.Seed != nil {
				noSeed(t, rig, tt.r)
				tt.r.Seed = nil
			}
			seq := rig.Model.Generate(t.Context(), tt.r)
			if n := len(rig.Requests()); n != 0 {
				t.Fatalf("%d requests were sent before the sequence was ranged over", n)
			}
			for _, err := range seq {
				if err != nil {
					t.Fatal(err)
				}
			}
			got := rig.Requests()
			if len(got) != 1 || !reflect.DeepEqual(got[0], tt.r) {
				t.Errorf("arrived %s, want %s", show(got...), show(tt.r))
			}
		})
	}
}

// noSeed checks that a seed which cannot be used is not ignored.
func noSeed(t *testing.T, rig Rig, r providers.Request) {
	t.Helper()
	var e *providers.Error
	for _, err := range rig.Model.Generate(t.Context(), r) {
		if !errors.As(err, &e) || e.Kind != providers.BadRequest {
			t.Fatalf("a request with a seed gives the error %v, want one of kind %q", err, providers.BadRequest)
		}
	}
	if n := len(rig.Requests()); n != 0 {
		t.Fatalf("%d requests with a seed were sent", n)
	}
}
