package langchain

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

func anthropicBackend() backend {
	return backend{
		Provider: Provider{
			Name: "anthropic", Title: "Anthropic", BaseURL: "https://api.anthropic.com/v1", NeedsKey: true,
			KeyVars: []string{"ANTHROPIC_API_KEY"}, BaseVars: []string{"ANTHROPIC_BASE_URL"},
			Streams: true, Lists: true,
		},
		open: func(c Config, client *http.Client) (llms.Model, error) {
			return anthropic.New(anthropic.WithToken(c.Key), anthropic.WithBaseURL(c.BaseURL),
				anthropic.WithModel(c.Model), anthropic.WithHTTPClient(client))
		},
		api: api{
			body:   editAnthropic,
			format: wire.Format{Reader: func() wire.Reader { return &anthropicReader{} }},
			think:  thinkAnthropic,
			noSeed: true,
		},
		list: lister{
			path: "/models?limit=1000", next: "after_id",
			authorize: func(h http.Header, c Config) {
				h.Set("X-Api-Key", c.Key)
				h.Set("Anthropic-Version", "2023-06-01")
			},
		},
		oneSystem: true,
		noEmpty:   true,
		images:    imageData,
	}
}

func editAnthropic(f fields, a asked) {
	f.keep("model", "messages", "system", "stream")
	f.sampling(a, "", "max_tokens")
	if a.MaxTokens == 0 { // the API refuses a request without
		f["max_tokens"] = anthropicLimit(a)
	}
	f.thinking(a, thinkAnthropic)
}

// anthropicLimit is the longest reply that every model of a generation allows:
// 4096 tokens for Claude 3, 8192 for 3.5, 32000 from then on (Opus 4's limit,
// the lowest of the later ones). A quarter of the window is enough where that
// is small, since prompt and limit have to fit together.
func anthropicLimit(a asked) int {
	limit := 32000
	switch {
	case strings.Contains(a.model, "claude-3-7"):
	case strings.Contains(a.model, "claude-3-5"):
		limit = 8192
	case strings.Contains(a.model, "claude-3"), strings.Contains(a.model, "claude-2"):
		limit = 4096
	}
	if a.window > 0 {
		limit = min(limit, max(1, a.window/4))
	}
	return limit
}

// thinkAnthropic gives half of the reply to thinking, at least the 1024 tokens
// that the API demands. Without it, models do not think.
func thinkAnthropic(on bool, a asked) map[string]any {
	if !on {
		return nil
	}
	limit := a.MaxTokens
	if limit == 0 {
		limit = anthropicLimit(a)
	}
	return map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": max(1024, limit/2)}}
}

// anthropicReader reads the replies of Anthropic's messages.
type anthropicReader struct {
	call, input string // the call whose arguments are coming
	args        []byte
	join        wire.Joiner // of the pieces of the arguments
}

type anthropicEvent struct {
	Type    string        `json:"type"`
	Message anthropicBody `json:"message"`
	Block   anthropicPart `json:"content_block"`
	Delta   struct {
		anthropicPart
		StopReason wire.EndReason `json:"stop_reason"`
	} `json:"delta"`
	Usage anthropicUsage `json:"usage"`
}

type anthropicBody struct {
	Type       string          `json:"type"`
	Content    []anthropicPart `json:"content"`
	StopReason wire.EndReason  `json:"stop_reason"`
	Usage      anthropicUsage  `json:"usage"`
}

type anthropicPart struct {
	Text     json.RawMessage `json:"text"`
	Thinking json.RawMessage `json:"thinking"`

	Name  string          `json:"name"`         // of a call
	Input json.RawMessage `json:"input"`        // of a call in one piece
	Args  json.RawMessage `json:"partial_json"` // a piece of its arguments
}

type anthropicUsage struct {
	Input   wire.Count `json:"input_tokens"` // without those of the cache
	Output  wire.Count `json:"output_tokens"`
	Written wire.Count `json:"cache_creation_input_tokens"`
	Cached  wire.Count `json:"cache_read_input_tokens"`
}

// count notes the cost: the prompt's comes first, the reply's with the end.
func (n anthropicUsage) count(u *providers.Usage) {
	if prompt := n.Input + n.Written + n.Cached; prompt > 0 {
		u.Prompt = int(prompt)
		if n.Cached > 0 {
			u.Evaluated = int(n.Input + n.Written)
		}
	}
	if n.Output > 0 {
		u.Output = int(n.Output)
	}
}

func (a *anthropicReader) Event(r *wire.Reply, data []byte) error {
	var e anthropicEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return wire.ErrGarbled
	}
	r.Known = r.Known || e.Type != ""
	switch e.Type {
	case "message_start":
		e.Message.Usage.Output = 0 // a first guess; the end brings the number
		e.Message.Usage.count(&r.Usage)
	case "content_block_start":
		if a.call, a.input, a.args = e.Block.Name, string(e.Block.Input), nil; a.call == "" {
			return e.Block.read(r)
		}
		r.CallPart(a.call)
	case "content_block_delta":
		if wire.Present(e.Delta.Args) {
			piece := a.join.Text(e.Delta.Args)
			a.args = append(a.args, piece...)
			r.CallPart(piece)
		}
		return e.Delta.read(r)
	case "content_block_stop":
		r.CallText(a.call, cmp.Or(string(a.args), a.input, "{}"))
		a.call = ""
	case "message_delta":
		e.Usage.count(&r.Usage)
		if reason := e.Delta.StopReason.Words(); reason != "" { // gateways may send nothing behind it
			r.Stop, r.Ended, r.Settled = reason, true, true
		}
	case "message_stop":
		r.Ended, r.Over = true, true
	case "error":
		r.Fail(data)
	}
	return nil
}

func (*anthropicReader) Whole(r *wire.Reply, body []byte) error {
	var m anthropicBody
	if err := wire.Decode(body, &m); err != nil {
		return wire.ErrGarbled
	}
	if m.Type != "message" {
		if c, ok := wire.ReadError(body); ok {
			r.Fault = &c
		}
		return nil
	}
	m.Usage.count(&r.Usage)
	r.Ended, r.Over, r.Stop = true, true, m.StopReason.Words()
	for _, part := range m.Content {
		if err := part.read(r); err != nil {
			return err
		}
	}
	return nil
}

func (p anthropicPart) read(r *wire.Reply) error {
	r.Thinking(p.Thinking)
	r.Call(p.Name, p.Input)
	return r.Content(p.Text)
}
