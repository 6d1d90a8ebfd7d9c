package recall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mylm/memory"
	"mylm/tools"
)

// Names of the tools.
const (
	SearchMemoryName = "search_memory"
	ReadMemoryName   = "read_memory"
	RememberName     = "remember"
)

// DefaultMaxBytes is how much text one call shows: about 1,500 tokens of
// English, a fifth of a window of 8,192.
const DefaultMaxBytes = 6 << 10

// Options say which memory the tools use, and for whom.
type Options struct {
	// Open gives the store when the first call needs it. It is called by every
	// call, and may return the same store each time. The tools do not close it.
	Open func(context.Context) (*memory.Store, error)
	// Project is what the conversation is about. Notes are kept under it.
	Project string
	// Session names the conversation. Notes are kept under it.
	Session func() string
	// NoSave is why nothing may be kept, as a sentence for the model; "" if
	// notes are kept.
	NoSave string
	// MaxBytes bounds the text that one call shows; 0: DefaultMaxBytes.
	MaxBytes int
	// Location is the zone of the times that are shown and read; nil: time.Local.
	Location *time.Location
}

// recaller is a checked Options.
type recaller struct{ Options }

func newRecaller(o Options) (*recaller, error) {
	switch {
	case o.Open == nil:
		return nil, errors.New("there is no memory: Open is nil")
	case o.MaxBytes < 0:
		return nil, fmt.Errorf("MaxBytes is %d; it must be 0 (for %d) or more", o.MaxBytes, DefaultMaxBytes)
	case o.MaxBytes == 0:
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Location == nil {
		o.Location = time.Local
	}
	if o.Session == nil {
		o.Session = func() string { return "" }
	}
	return &recaller{o}, nil
}

// newTool puts a tool together.
func newTool[In any](o Options, name, description string, e tools.Effect, run func(*recaller, context.Context, In) (tools.Result, error)) (*tools.Tool, error) {
	r, err := newRecaller(o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return tools.New(name, description, e, func(ctx context.Context, in In) (tools.Result, error) { return run(r, ctx, in) })
}

type rememberInput struct {
	Text string   `json:"text" jsonschema:"one fact in a sentence that makes sense by itself"`
	Tags []string `json:"tags,omitempty" jsonschema:"words to find it by"`
}

// Remember makes the tool remember. Its effect is tools.Remembers: a call adds
// to the store and touches nothing else. With Options.NoSave every call fails
// with that reason.
func Remember(o Options) (*tools.Tool, error) {
	t, err := newTool(o, RememberName, "Keep a note for later conversations.", tools.Remembers, (*recaller).remember)
	if err != nil {
		return nil, err
	}
	tags := t.Schema.Properties["tags"]
	tags.Type, tags.Types = "array", nil // a slice may be nil in Go; the model need not know
	return t, nil
}

func (r *recaller) remember(ctx context.Context, in rememberInput) (tools.Result, error) {
	if strings.TrimSpace(in.Text) == "" {
		return tools.Result{}, errors.New("the text is empty; give the sentence to remember")
	}
	if r.NoSave != "" {
		return tools.Result{}, errors.New(r.NoSave)
	}
	store, err := r.Open(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	kept, err := store.Add(ctx, memory.Document{
		Text: strings.TrimSpace(in.Text), Kind: memory.Note, Role: "assistant", Project: r.Project, Session: r.Session(), Source: RememberName, Tags: in.Tags,
	})
	if err != nil {
		return tools.Result{}, err
	}
	text := "Remembered as " + kept[0].ID + "."
	if kept[0].Count > 1 {
		text = "It was remembered already, as " + kept[0].ID + "."
	}
	if _, found := memory.Redact(in.Text); len(found) > 0 {
		text += " Secrets are not kept; left out: " + strings.Join(found, ", ") + "."
	}
	return tools.Result{Text: text}, nil
}

// parseTime reads a date or a time as a model writes it.
func (r *recaller) parseTime(field, s string) (time.Time, error) {
	if s = strings.TrimSpace(s); s == "" {
		return time.Time{}, nil
	}
	if t, err := memory.ParseTime(s, r.Location); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%s is %.40q; write a date like 2026-01-31", field, s)
}
