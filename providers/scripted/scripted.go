package scripted

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"mylm/providers"
)

// Reply is the model's reply to one request. The zero value is an empty reply
// that ends well.
type Reply struct {
	Thought string // comes before the text
	Text    string

	Stop  providers.StopReason // "" is StopEnd
	Usage providers.Usage      // reported with the end

	Chunk int           // bytes in a piece, at least a whole character; 0: all at once
	Delay time.Duration // before the first piece

	Err  error // comes after the text instead of an end
	Cut  bool  // the stream breaks off after the text: an Interrupted error
	Hang bool  // after the text nothing comes until the context is done
}

// Model returns the replies of a script. Set its fields before its first use;
// after that it may be used by several goroutines at once.
type Model struct {
	Loop    bool // begin again when the replies run out
	Discard bool // do not keep the requests

	replies []Reply

	mu       sync.Mutex
	used     int
	requests []providers.Request
}

// New makes a model that returns the replies in order.
func New(replies ...Reply) *Model { return &Model{replies: slices.Clone(replies)} }

// Say makes a model that returns the texts in order.
func Say(texts ...string) *Model {
	m := &Model{}
	for _, text := range texts {
		m.replies = append(m.replies, Reply{Text: text})
	}
	return m
}

// Requests returns the requests that came so far, in order.
func (m *Model) Requests() []providers.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Generate returns the next reply. A reply counts as used from the moment on
// that the sequence is ranged over, even if the caller breaks off. When none is
// left the error is a permanent BadRequest.
func (m *Model) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(providers.Chunk{}, err)
			return
		}
		reply, err := m.next(r)
		if err != nil {
			yield(providers.Chunk{}, err)
			return
		}
		reply.say(ctx, yield)
	}
}

func (m *Model) next(r providers.Request) (*Reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.Discard {
		r.Messages = slices.Clone(r.Messages)
		m.requests = append(m.requests, r)
	}
	if m.Loop && m.used == len(m.replies) {
		m.used = 0
	}
	if m.used == len(m.replies) {
		return nil, &providers.Error{
			Kind:      providers.BadRequest,
			Permanent: true,
			Message:   fmt.Sprintf("the script has no reply left (%d were used)", m.used),
			Hint:      "Add a reply to the script for every request that the run makes.",
		}
	}
	m.used++
	return &m.replies[m.used-1], nil
}

// say yields the reply to its end, or until the caller leaves.
func (r *Reply) say(ctx context.Context, yield func(providers.Chunk, error) bool) {
	if r.Delay > 0 {
		select {
		case <-time.After(r.Delay):
		case <-ctx.Done():
		}
	}
	for _, part := range []providers.Chunk{{Thought: r.Thought}, {Text: r.Text}} {
		for rest := part.Thought + part.Text; rest != "" && ctx.Err() == nil; {
			piece := cut(rest, r.Chunk)
			rest = rest[len(piece):]
			c := providers.Chunk{Text: piece}
			if part.Thought != "" {
				c = providers.Chunk{Thought: piece}
			}
			if !yield(c, nil) {
				return
			}
		}
	}
	if r.Hang {
		<-ctx.Done()
	}
	err := cmp.Or(ctx.Err(), r.Err)
	switch {
	case err != nil:
		yield(providers.Chunk{}, err)
	case r.Cut:
		yield(providers.Chunk{}, &providers.Error{Kind: providers.Interrupted, Message: "the script cuts the reply off here", Usage: r.Usage})
	default:
		yield(providers.Chunk{Stop: cmp.Or(r.Stop, providers.StopEnd), Usage: r.Usage}, nil)
	}
}

// cut returns the first n bytes of s, and as many more as end a character.
func cut(s string, n int) string {
	if n <= 0 || n >= len(s) {
		return s
	}
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return s[:n]
}
