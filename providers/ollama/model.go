package ollama

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/ollama/ollama/api"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

// Model is one model of a server. It may be used by several goroutines at once.
type Model struct {
	client  *Client
	name    string
	options ModelOptions
	facts   *once[facts]
	window  *once[int]
	warm    atomic.Bool // it was in memory when it was last asked
	loads   atomic.Bool // the next call loads it
	adapts  wire.Adapter
}

var (
	_ providers.Model    = (*Model)(nil)
	_ providers.Informer = (*Model)(nil)
)

// Name returns the name that the model was opened with.
func (m *Model) Name() string { return m.name }

// Info describes the model without loading it. Window is the one that every
// call of this Model asks for, Loaded whether the model is in memory now.
func (m *Model) Info(ctx context.Context) (providers.Info, error) {
	if err := m.check(); err != nil {
		return providers.Info{}, err
	}
	f, err := m.known(ctx)
	if err != nil {
		return providers.Info{}, err
	}
	running, err := m.client.running(ctx)
	if err != nil {
		return providers.Info{}, err
	}
	info := f.info()
	current, isLoaded := running.window(m.name)
	info.Loaded = isLoaded
	if m.options.NumCtx > 0 {
		info.Window = f.limit(m.options.NumCtx)
		return info, nil
	}
	info.Window, err = m.window.get(ctx, func() (int, error) { return f.choose(current), nil })
	if info.Window == 0 {
		info.Window = f.trained
	}
	return info, err
}

func (m *Model) known(ctx context.Context) (facts, error) {
	return m.facts.get(ctx, func() (facts, error) { return m.client.show(ctx, m.name) })
}

// Prepare starts querying the server for what the first call needs, while the
// caller still assembles its request. If that fails, the first call asks again.
func (m *Model) Prepare(ctx context.Context) {
	go func() { _, _ = m.settle(ctx) }()
}

// Window returns the window that every call of this Model asks for; 0: none is sent.
// It queries the server for no more than a call does.
func (m *Model) Window(ctx context.Context) (int, error) { return m.settle(ctx) }

// settle determines the window of every call. Only a model that is not loaded with a window
// large enough has to be looked up: showing one takes the server a while.
func (m *Model) settle(ctx context.Context) (int, error) {
	if err := m.check(); err != nil || m.options.NumCtx > 0 {
		return m.options.NumCtx, err
	}
	return m.window.get(ctx, func() (int, error) {
		running, err := m.client.running(ctx)
		if err != nil {
			return 0, err
		}
		current, isLoaded := running.window(m.name)
		if current >= smallestWindow {
			m.warm.Store(isLoaded)
			return current, nil
		}
		f, err := m.known(ctx)
		if err != nil {
			return 0, err
		}
		n := f.choose(current)
		m.loads.Store(!f.remote && (!isLoaded || n != current))
		return n, nil
	})
}

// Generate implements providers.Model.
func (m *Model) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		err := m.adapts.Ask(r, yield, func(r providers.Request, _ wire.Refused, yield func(providers.Chunk, error) bool) error {
			return m.generate(ctx, r, yield)
		})
		if err != nil {
			yield(providers.Chunk{}, err)
		}
	}
}

// generate returns the error that is still to be yielded.
func (m *Model) generate(ctx context.Context, r providers.Request, yield func(providers.Chunk, error) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := wire.Check(r); err != nil {
		return err
	}
	numCtx, err := m.settle(ctx)
	if err != nil {
		return err
	}
	if r.HasImages() {
		switch f, err := m.known(ctx); {
		case err != nil:
			return err
		case f.sees == providers.Unable:
			return providers.CannotSee(m.client.server.Name, fmt.Sprintf("Ollama: %q cannot see pictures", wire.OneLine(m.name)))
		}
	}
	if m.loads.Swap(false) && r.Status != nil {
		r.Status("loading " + m.name)
	}
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	gone := false // the caller broke out of its loop
	x := &wire.Exchange{Server: &m.client.server, Format: wire.OllamaLines, Send: m.waiting(r).roundTrip,
		Pass: func(c providers.Chunk) error {
			m.warm.Store(true)
			if ctx.Err() != nil { // pieces that were read ahead come too late
				return ctx.Err()
			}
			if gone = !yield(c, nil); gone {
				return errGone
			}
			return nil
		}}
	err = m.client.exchange(call, m.name, x, func(ctx context.Context) error {
		return m.client.api.Chat(ctx, m.request(r, numCtx), unread)
	})
	switch {
	case gone:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return withWindow(err, numCtx)
	}
	var last providers.Chunk
	x.Note(func(reply *wire.Reply) {
		// Early servers, and some that imitate them, give no reason.
		last = providers.Chunk{Stop: cmp.Or(providers.StopReason(reply.Stop), providers.StopEnd), Usage: reply.Usage}
	})
	yield(last, nil)
	return nil
}

func (m *Model) check() error {
	switch {
	case m.name == "":
		return &providers.Error{Kind: providers.ModelMissing, Message: "no model is named",
			Backend: m.client.server.Name, Param: providers.ParamModel,
			Hint: "`ollama pull NAME` installs one."}
	case m.options.NumCtx < 0:
		return wire.BadRequest("a window of %d tokens is impossible", m.options.NumCtx)
	}
	return nil
}

// request translates r.
func (m *Model) request(r providers.Request, numCtx int) *api.ChatRequest {
	no := false
	out := &api.ChatRequest{Model: m.name, Truncate: &no, Shift: &no, Options: map[string]any{}}
	for _, msg := range r.Messages {
		images := make([]api.ImageData, len(msg.Images))
		for i, img := range msg.Images {
			images[i] = img.Data
		}
		out.Messages = append(out.Messages, api.Message{Role: string(msg.Role), Content: msg.Text, Images: images})
	}
	if numCtx > 0 {
		out.Options["num_ctx"] = numCtx
	}
	if r.Temperature != nil {
		out.Options["temperature"] = *r.Temperature
	}
	if r.Seed != nil {
		out.Options["seed"] = *r.Seed
	}
	if r.MaxTokens > 0 {
		out.Options["num_predict"] = r.MaxTokens
	}
	out.Format = r.Format
	if r.Think != providers.ThinkAuto {
		out.Think = &api.ThinkValue{Value: r.Think == providers.ThinkOn}
	}
	if m.options.KeepAlive != nil {
		out.KeepAlive = &api.Duration{Duration: *m.options.KeepAlive}
	}
	return out
}

// errGone unwinds the call when the caller has left its loop.
var errGone = errors.New("the caller has left")

// withWindow completes an overflow error of a server that gives no numbers.
func withWindow(err error, numCtx int) error {
	var e *providers.Error
	if errors.As(err, &e) && e.Kind == providers.Overflow && e.Window == 0 {
		e.Window = numCtx
		wire.DescribeOverflow(e)
	}
	return err
}

// unread is what Ollama's client does with a line of a response that is no reply, such as a
// redirect with a body.
func unread(api.ChatResponse) error { return nil }
