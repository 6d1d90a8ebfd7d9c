package langchain

import (
	"cmp"
	"context"
	"iter"
	"sync/atomic"

	"github.com/tmc/langchaingo/llms"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

// Model is one model behind langchaingo. It may be used by several goroutines
// at once.
type Model struct {
	llm    llms.Model
	back   backend
	config Config
	server wire.Server
	link   *wire.Link // nil: a model of New
	known  atomic.Pointer[providers.Info]
	adapts wire.Adapter
}

var (
	_ providers.Model    = (*Model)(nil)
	_ providers.Informer = (*Model)(nil)
	_ providers.Lister   = (*Model)(nil)
)

// Name returns the name that the model was opened with.
func (m *Model) Name() string { return m.config.Model }

// Info returns the window that the model was opened with. Without one, a
// provider whose list of models has the windows is asked, once.
func (m *Model) Info(ctx context.Context) (providers.Info, error) {
	info := providers.Info{Window: m.config.Window, Chats: true, Sees: m.back.sees()}
	if info.Window > 0 || !m.back.list.windows {
		return info, nil
	}
	if known := m.known.Load(); known != nil {
		return *known, nil
	}
	list, err := m.Models(ctx)
	if err != nil {
		return providers.Info{}, err
	}
	for _, l := range list {
		if l.Name == m.config.Model || m.back.anyModel && len(list) == 1 {
			info = l.Info
			info.Window, info.Sees = cmp.Or(info.Window, info.Trained), m.back.sees()
		}
	}
	m.known.Store(&info)
	return info, nil
}

// Window returns the window of the model, 0 if it is unknown. Only a server at home,
// one that needs no key, is asked for it.
func (m *Model) Window(ctx context.Context) (int, error) {
	if m.config.Window > 0 || m.back.NeedsKey {
		return m.config.Window, nil
	}
	info, err := m.Info(ctx)
	return info.Window, err
}

// Close drops idle connections. The model remains usable.
func (m *Model) Close() {
	if m.link != nil {
		m.link.CloseIdleConnections()
	}
}

// Generate implements providers.Model.
func (m *Model) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		if err := m.generate(ctx, r, yield); err != nil {
			yield(providers.Chunk{}, err)
		}
	}
}

// generate returns the error that is still to be yielded.
func (m *Model) generate(ctx context.Context, r providers.Request, yield func(providers.Chunk, error) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.check(r); err != nil {
		return err
	}
	return m.adapts.Ask(r, yield, func(r providers.Request, without wire.Refused, yield func(providers.Chunk, error) bool) error {
		messages, err := m.back.messages(r.Messages)
		if err != nil {
			return err
		}
		return m.run(ctx, r, messages, without, yield)
	})
}

// check refuses what no backend could answer.
func (m *Model) check(r providers.Request) error {
	switch {
	case m.config.Model == "":
		return &providers.Error{Kind: providers.ModelMissing, Backend: m.server.Name, Param: providers.ParamModel,
			Message: "no model is named"}
	case len(r.Messages) == 0:
		return wire.BadRequest("the conversation is empty")
	case r.Think == providers.ThinkOn && m.back.api.think == nil:
		return &providers.Error{Kind: providers.BadRequest, Backend: m.server.Name, Param: providers.ParamThink,
			Message: m.back.Title + " has no switch for thinking", Hint: "A model that thinks does so by itself."}
	}
	if err := wire.Check(r); err != nil {
		return err
	}
	if err := m.checkImages(r); err != nil {
		return err
	}
	if m.back.noOptions && (r.Temperature != nil || r.MaxTokens > 0) {
		param := providers.ParamTemperature
		if r.MaxTokens > 0 {
			param = providers.ParamMaxTokens
		}
		return &providers.Error{Kind: providers.BadRequest, Permanent: true, Backend: m.server.Name, Param: param,
			Message: m.back.Title + " takes neither temperature nor limit",
			Hint:    "What the program calls them can be put into its arguments."}
	}
	if r.Seed != nil && m.back.api.noSeed {
		return &providers.Error{Kind: providers.BadRequest, Backend: m.server.Name, Param: providers.ParamSeed,
			Message: m.back.Title + " takes no seed"}
	}
	return nil
}

// options are for backends whose requests are not edited; the others have
// what they set replaced.
func (m *Model) options(r providers.Request, t *relay) []llms.CallOption {
	var out []llms.CallOption
	if !m.back.onePiece {
		out = append(out, llms.WithStreamingFunc(t.text), llms.WithStreamingReasoningFunc(t.thought))
	}
	if r.Temperature != nil {
		out = append(out, llms.WithTemperature(*r.Temperature))
	}
	if r.Seed != nil {
		out = append(out, llms.WithSeed(*r.Seed))
	}
	if r.MaxTokens > 0 {
		out = append(out, llms.WithMaxTokens(r.MaxTokens))
	}
	return out
}
