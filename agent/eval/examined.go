package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"mylm/providers"
)

// examined is the model of one task: it measures, and answers from the log what the
// log holds.
type examined struct {
	providers.Model
	log  *Log // nil: nothing is kept
	task string
	run  int
	had  []reply

	mu      sync.Mutex
	seconds float64
	asked   int
}

// Name implements the agent's optional interface.
func (m *examined) Name() string {
	if named, ok := m.Model.(interface{ Name() string }); ok {
		return named.Name()
	}
	return ""
}

// Info implements providers.Informer.
func (m *examined) Info(ctx context.Context) (providers.Info, error) {
	if informer, ok := m.Model.(providers.Informer); ok {
		return informer.Info(ctx)
	}
	return providers.Info{}, errors.ErrUnsupported
}

// digest names a request.
func digest(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Generate implements providers.Model.
func (m *examined) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		name := digest(r)
		m.mu.Lock()
		i := slices.IndexFunc(m.had, func(h reply) bool { return h.Request == name })
		var had reply
		if i >= 0 {
			had = m.had[i]
			m.had = slices.Delete(m.had, i, i+1)
			m.seconds += had.Seconds
		} else {
			m.asked++
		}
		m.mu.Unlock()
		if i >= 0 {
			for _, c := range had.Chunks {
				chunk := providers.Chunk{Text: c.Text, Thought: c.Thought, Call: c.Call, CallPart: c.CallPart, Stop: c.Stop}
				if c.Usage != nil {
					chunk.Usage = *c.Usage
				}
				if !yield(chunk, nil) {
					return
				}
			}
			return
		}
		m.ask(ctx, r, name, yield)
	}
}

// ask asks the model itself, and keeps a reply that came to its end: its own, or
// that of the one who listened.
func (m *examined) ask(ctx context.Context, r providers.Request, name string, yield func(providers.Chunk, error) bool) {
	kept := reply{Task: m.task, Run: m.run, Request: name}
	took, began := time.Duration(0), time.Now()
	keep := func() error {
		kept.Seconds = took.Seconds()
		m.mu.Lock()
		m.seconds += kept.Seconds
		m.mu.Unlock()
		if m.log == nil || len(kept.Chunks) == 0 {
			return nil
		}
		return m.log.write(line{Reply: &kept}, false)
	}
	for c, err := range m.Model.Generate(ctx, r) {
		took += time.Since(began)
		if err != nil {
			m.mu.Lock()
			m.seconds += took.Seconds()
			m.mu.Unlock()
			yield(c, err)
			return
		}
		p := piece{Text: c.Text, Thought: c.Thought, Call: c.Call, CallPart: c.CallPart, Stop: c.Stop}
		if c.Usage != (providers.Usage{}) {
			p.Usage = &c.Usage
		}
		if n := len(kept.Chunks); n > 0 && split(kept.Chunks[n-1].Text) { // JSON holds whole characters only
			kept.Chunks[n-1].Text += p.Text
			p.Text = ""
		}
		if p != (piece{}) {
			kept.Chunks = append(kept.Chunks, p)
		}
		if c.Stop != "" { // before anybody acts on it
			if err := keep(); err != nil {
				yield(providers.Chunk{}, err)
				return
			}
			yield(c, nil)
			return
		}
		if !yield(c, nil) {
			if ctx.Err() == nil { // enough for the listener; else it was interrupted
				_ = keep() // the log remembers the failure
			}
			return
		}
		began = time.Now()
	}
	yield(providers.Chunk{}, &providers.Error{Kind: providers.Interrupted, Message: "the reply broke off before its end"})
}

// split reports whether a text ends in the middle of a character.
func split(s string) bool {
	for i := len(s) - 1; i >= 0 && i > len(s)-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return !utf8.FullRuneInString(s[i:])
		}
	}
	return false
}
