package langchain

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/tmc/langchaingo/llms"

	"mylm/providers"
)

// errGone unwinds langchaingo when the caller has left.
var errGone = errors.New("the caller has left")

// settling is how long a call that was given up is waited for. With its
// connection closed, langchaingo returns at once. A model of New that heeds
// neither its context nor its callback's error is left to itself after
// settlingAlone, within which a program seems to stop at once.
const (
	settling      = time.Second
	settlingAlone = 150 * time.Millisecond
)

// talk is one call under way. langchaingo runs in a goroutine of its own, and
// may call back from yet another one, while only the goroutine of the caller
// may yield: pieces go through a channel.
type talk struct {
	ctx    context.Context // ends with the call
	wait   time.Duration   // for a call that was given up
	pieces chan providers.Chunk
	done   chan outcome

	passed, thoughts int             // bytes handed on, counted by the caller's goroutine
	heard            strings.Builder // the text of them, where the model also returns it
}

// outcome is what langchaingo returns.
type outcome struct {
	resp *llms.ContentResponse
	err  error
}

// panicked is a panic of langchaingo's.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// talk makes the call and passes the reply on.
func (m *Model) talk(ctx context.Context, r providers.Request, messages []llms.MessageContent, yield func(providers.Chunk, error) bool) error {
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	x := m.exchange(call, asked{Request: r, model: m.config.Model, base: m.base(), window: m.config.Window, key: m.config.Key, settings: m.config.Settings})
	t := &talk{ctx: call, wait: settling, pieces: make(chan providers.Chunk), done: make(chan outcome, 1)}
	if m.link == nil {
		t.wait = settlingAlone
	}
	x.pass = t.pass
	go t.run(x.bind(call), m.llm, messages, m.options(r, t))
	for {
		select {
		case c := <-t.pieces:
			if ctx.Err() != nil {
				t.settle(cancel)
				return ctx.Err()
			}
			t.passed += len(c.Text)
			t.thoughts += len(c.Thought)
			if x.wire.reader == nil {
				t.heard.WriteString(c.Text)
			}
			if !yield(c, nil) {
				t.settle(cancel)
				return nil
			}
		case o := <-t.done:
			return m.finish(ctx, t, x, o, yield)
		case <-ctx.Done():
			t.settle(cancel)
			return ctx.Err()
		}
	}
}

// run is the goroutine of the call.
func (t *talk) run(ctx context.Context, llm llms.Model, messages []llms.MessageContent, options []llms.CallOption) {
	o := outcome{err: &panicked{value: "the goroutine ended without returning"}} // as runtime.Goexit does
	defer func() {
		if p := recover(); p != nil {
			o = outcome{err: &panicked{p, debug.Stack()}}
		}
		t.done <- o
	}()
	o.resp, o.err = llm.GenerateContent(ctx, messages, options...)
}

// settle ends the call and waits until langchaingo has returned.
func (t *talk) settle(cancel context.CancelFunc) {
	cancel()
	patience := time.NewTimer(t.wait)
	defer patience.Stop()
	select {
	case <-t.done:
	case <-patience.C:
	}
}

// text is the streaming callback.
func (t *talk) text(_ context.Context, chunk []byte) error {
	return t.pass(providers.Chunk{Text: string(chunk)})
}

// thought is the callback for reasoning. The text that comes with it comes to
// the other callback too.
func (t *talk) thought(_ context.Context, reasoning, _ []byte) error {
	return t.pass(providers.Chunk{Thought: string(reasoning)})
}

func (t *talk) pass(c providers.Chunk) error {
	if c == (providers.Chunk{}) {
		return nil
	}
	select {
	case t.pieces <- c:
		return nil
	case <-t.ctx.Done():
		return errGone
	}
}

// finish judges a call that has returned and yields what is left of the reply.
func (m *Model) finish(ctx context.Context, t *talk, x *exchange, o outcome, yield func(providers.Chunk, error) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	last, err := m.verdict(ctx, t, x, o)
	if err != nil {
		return err
	}
	content, reasoning := said(o.resp)
	if t.thoughts == 0 && reasoning != "" && !yield(providers.Chunk{Thought: reasoning}, nil) {
		return nil
	}
	if len(content) > t.passed && !yield(providers.Chunk{Text: content[t.passed:]}, nil) { // verdict has compared the beginning
		return nil
	}
	yield(last, nil)
	return nil
}
