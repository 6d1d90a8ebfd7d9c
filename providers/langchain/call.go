package langchain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/tmc/langchaingo/llms"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

// errGone unwinds langchaingo when the caller has left.
var errGone = errors.New("the caller has left")

// settling is how long to wait for an abandoned call. With its connection
// closed, langchaingo returns at once. A model of New that ignores its context
// and its callback's error is abandoned after settlingAlone, within which a
// program seems to stop at once.
const (
	settling      = time.Second
	settlingAlone = 150 * time.Millisecond
)

// relay is one call under way. langchaingo runs in a goroutine of its own, and
// may call back from yet another one, while only the goroutine of the caller
// may yield: pieces go through a channel.
type relay struct {
	ctx    context.Context // ends with the call
	pieces chan providers.Chunk

	passed, thoughts int             // bytes handed on, counted by the caller's goroutine
	streamed         strings.Builder // the text of them, where the model also returns it
}

// outcome is what a function returned.
type outcome[T any] struct {
	value T
	err   error
}

// panicked is a panic of langchaingo's.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// guarded calls f in a goroutine of its own, and makes an error of a panic or a
// goroutine that ends.
func guarded[T any](f func() (T, error)) <-chan outcome[T] {
	done := make(chan outcome[T], 1)
	go func() {
		o := outcome[T]{err: &panicked{value: "the goroutine ended without returning"}} // as runtime.Goexit does
		defer func() {
			if p := recover(); p != nil {
				o.err = &panicked{p, debug.Stack()}
			}
			done <- o
		}()
		o.value, o.err = f()
	}()
	return done
}

// settle cancels a call and waits until it has returned, but no longer than
// the given time.
func settle[T any](cancel context.CancelFunc, done <-chan outcome[T], wait time.Duration) {
	cancel()
	patience := time.NewTimer(wait)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
	}
}

// run makes the call and passes the reply on.
func (m *Model) run(ctx context.Context, r providers.Request, messages []llms.MessageContent, without wire.Refused,
	yield func(providers.Chunk, error) bool) error {
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &relay{ctx: call, pieces: make(chan providers.Chunk)}
	x := &wire.Exchange{Server: &m.server, Format: m.back.api.format, Pass: t.pass, Edit: m.edit(asked{
		Request: r, without: without, model: m.config.Model, base: m.base(), window: m.config.Window, key: m.config.Key, settings: m.config.Settings}, &m.back.api)}
	wait := settling
	if m.link == nil {
		wait = settlingAlone
	}
	bound := context.WithValue(x.Bind(call), requestKey{}, r)
	done := guarded(func() (*llms.ContentResponse, error) {
		return m.llm.GenerateContent(bound, messages, m.options(r, t)...)
	})
	for {
		select {
		case c := <-t.pieces:
			t.passed += len(c.Text)
			t.thoughts += len(c.Thought)
			if m.back.api.format.Reader == nil {
				t.streamed.WriteString(c.Text)
			}
			if ctx.Err() != nil || !yield(c, nil) {
				settle(cancel, done, wait)
				return ctx.Err()
			}
		case o := <-done:
			return m.finish(ctx, t, x, o, yield)
		case <-ctx.Done():
			settle(cancel, done, wait)
			return ctx.Err()
		}
	}
}

// requestKey is where a model of our own finds the request.
type requestKey struct{}

// text is the streaming callback.
func (t *relay) text(_ context.Context, chunk []byte) error {
	return t.pass(providers.Chunk{Text: string(chunk)})
}

// thought is the callback for reasoning. The text that comes with it comes to
// the other callback too.
func (t *relay) thought(_ context.Context, reasoning, _ []byte) error {
	return t.pass(providers.Chunk{Thought: string(reasoning)})
}

func (t *relay) pass(c providers.Chunk) error {
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
func (m *Model) finish(ctx context.Context, t *relay, x *wire.Exchange, o outcome[*llms.ContentResponse],
	yield func(providers.Chunk, error) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e := m.failure(x, o.err); e != nil {
		if e.Kind == providers.ModelMissing {
			m.addNames(ctx, e)
		}
		return cmp.Or(ctx.Err(), error(e))
	}
	content, reasoning := contentOf(o.value)
	last, e := m.lastChunk(t, x, o.value, content)
	if e != nil {
		e.Usage = last.Usage
		return e
	}
	if t.thoughts == 0 && reasoning != "" && !yield(providers.Chunk{Thought: reasoning}, nil) {
		return nil
	}
	// lastChunk has compared the beginning
	if len(content) > t.passed && !yield(providers.Chunk{Text: content[t.passed:]}, nil) {
		return nil
	}
	yield(last, nil)
	return nil
}

// failure is nil if the call succeeded, as far as its requests show.
func (m *Model) failure(x *wire.Exchange, err error) *providers.Error {
	e := x.Failure(err)
	var p *panicked
	if errors.As(err, &p) && (e == nil || e.Err == err) {
		return &providers.Error{Kind: providers.ServerFault, Permanent: true, Err: err, Backend: m.server.Name,
			Message: fmt.Sprintf("langchaingo cannot handle the reply of %s (%v)", m.back.Title,
				wire.OneLine(p.Error()))}
	}
	return e
}

// lastChunk is the last chunk of a reply that no fault ended, if it is whole.
func (m *Model) lastChunk(t *relay, x *wire.Exchange, resp *llms.ContentResponse, content string) (
	last providers.Chunk, fault *providers.Error) {
	last = providers.Chunk{Stop: stopReason(stopOf(resp)), Usage: usageOf(resp)}
	ended := false
	x.Note(func(r *wire.Reply) {
		if ended = r.Ended; r.Stop != "" || r.Ended {
			last.Stop = stopReason(r.Stop)
		}
		if r.Usage != (providers.Usage{}) {
			last.Usage = r.Usage
		}
	})
	switch {
	case m.back.api.format.Reader == nil && last.Stop == "" && !ended && m.cut(t, content):
		return last, wire.Interrupted(&m.server, wire.NoEnd, nil)
	case len(content) > t.passed && !strings.HasPrefix(content, t.streamed.String()):
		return last, wire.Interrupted(&m.server, "the model returned another text than it streamed", nil)
	case refused(last.Stop) && t.passed == 0 && content == "":
		return last, &providers.Error{Kind: providers.Filtered, Permanent: true, Backend: m.server.Name,
			Hint:    wire.HintFiltered,
			Message: fmt.Sprintf("%s refused to answer (%s)", m.back.Title, wire.OneLine(string(last.Stop)))}
	}
	last.Stop = cmp.Or(last.Stop, providers.StopEnd)
	return last, nil
}

// cut reports whether a reply without a stop reason may lack its end.
func (m *Model) cut(t *relay, content string) bool {
	streamed := t.passed+t.thoughts > 0
	switch m.back.endOf {
	case EndReason:
		return streamed || content == ""
	case EndWholeText:
		return content == ""
	}
	return !streamed && content == ""
}
