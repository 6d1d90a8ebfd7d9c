package ollama

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/types/model"

	"mylm/providers"
)

// facts is what does not change about a model.
type facts struct {
	trained               int   // the longest context it was trained for; 0: unknown
	cache                 int64 // bytes of cache that one token of context takes; 0: unknown
	numCtx                int   // set in its Modelfile; 0: not set
	remote                bool  // runs on another server, which has its own window
	silent                bool  // the server does not report capabilities
	chats, thinks, embeds bool
	sees                  providers.Ability
	form                  string // of calls, by its template; "": unknown
}

func newFacts(capabilities []model.Capability, trained int) facts {
	has := func(c model.Capability) bool { return slices.Contains(capabilities, c) }
	sees := providers.AbilityUnknown
	if has(model.CapabilityVision) {
		sees = providers.Able
	}
	return facts{
		sees:    sees,
		trained: trained,
		silent:  capabilities == nil,
		chats:   has(model.CapabilityCompletion),
		thinks:  has(model.CapabilityThinking),
		embeds:  has(model.CapabilityEmbedding),
	}
}

func (f facts) info() providers.Info {
	return providers.Info{Trained: f.trained, Chats: f.chats, Thinks: f.thinks, Embeds: f.embeds, Sees: f.sees, Form: f.form}
}

// show asks for the facts of one model.
func (c *Client) show(ctx context.Context, name string) (facts, error) {
	s, err := call(ctx, c, name, func(ctx context.Context) (*api.ShowResponse, error) {
		return c.api.Show(ctx, &api.ShowRequest{Model: name})
	})
	if err != nil {
		return facts{}, err
	}
	arch, _ := s.ModelInfo["general.architecture"].(string)
	number := func(key string) int64 {
		n, _ := s.ModelInfo[arch+"."+key].(float64)
		return int64(n)
	}
	f := newFacts(s.Capabilities, int(number("context_length")))
	f.chats = f.chats || f.silent // such servers had chat models only
	if !f.silent && f.sees == providers.AbilityUnknown {
		f.sees = providers.Unable
	}
	f.cache = cachePerToken(number)
	f.numCtx = numCtxParameter(s.Parameters)
	f.remote = s.RemoteHost != ""
	f.form = formOf(s)
	return f, nil
}

// formOf is the form in which a model was trained to write calls, "" if that is
// unknown: by the renderer of the server that makes its prompt, else by what its
// template makes of calls, else by its family.
func formOf(s *api.ShowResponse) string {
	if renderer := cmp.Or(s.Renderer, instruction(s.Modelfile, "RENDERER")); renderer != "" {
		for _, x := range rendererForms {
			if strings.HasPrefix(renderer, x.prefix) {
				return x.form
			}
		}
		return ""
	}
	for _, x := range templateForms {
		if strings.Contains(s.Template, x.mark) {
			return x.form
		}
	}
	// A model that was imported may lack its template. Those of DeepSeek that are
	// of this family have one of their own.
	if plain := strings.ReplaceAll(s.Template, " ", "") == "{{.Prompt}}"; plain || strings.Contains(s.Template, "<|im_start|>") {
		for _, x := range familyForms {
			if strings.HasPrefix(s.Details.Family, x.prefix) {
				return x.form
			}
		}
	}
	return ""
}

// The tables of formOf. The first row that fits counts; "" is a form that is not
// among those that can be shown.
var (
	rendererForms = []struct{ prefix, form string }{ // ollama/ollama, model/renderers
		{"qwen3-coder", "function"}, {"qwen3.", "function"}, {"ornith", "function"}, {"nemotron-3", "function"}, {"qwen3-vl", "tool_call"},
	}
	templateForms = []struct{ mark, form string }{
		{"<arg_key>", ""},           // GLM, in <tool_call>
		{"<parameter=", "function"}, // in <tool_call>, too
		{"<invoke", "invoke"},
		{"<tool_call>", "tool_call"},
		{"<|python_tag|>", "python_tag"},
		{`"parameters": dictionary`, "python_tag"}, // Llama 3.1 to 3.3
	}
	familyForms = []struct{ prefix, form string }{{"qwen35", "function"}, {"qwen", "tool_call"}}
)

// instruction is the value of a line of a Modelfile.
func instruction(modelfile, name string) string {
	for line := range strings.Lines(modelfile) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && key == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

const (
	maxAsked   = 20 // models that are asked whether they think: showing one is slow
	maxAskedAt = 4  // models asked at once
)

// factsOf returns the facts in the list, completed by showing the models of
// which it has too few; thinking is whether it matters which models think. One
// that cannot be shown keeps the facts in the list.
func (c *Client) factsOf(ctx context.Context, list []api.ListModelResponse, thinking bool) []facts {
	all := make([]facts, len(list))
	var silent, unsure []int
	for i, l := range list {
		all[i] = newFacts(l.Capabilities, l.Details.ContextLength)
		switch {
		case l.Capabilities == nil:
			silent = append(silent, i)
		case thinking && all[i].chats && !all[i].thinks:
			unsure = append(unsure, i)
		}
	}
	if len(unsure) <= maxAsked {
		silent = append(silent, unsure...)
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxAskedAt)
	for _, i := range silent {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if f, err := c.show(ctx, list[i].Name); err == nil {
				f.trained = cmp.Or(f.trained, all[i].trained)
				all[i] = f
			}
		})
	}
	wg.Wait()
	return all
}

// cachePerToken is the size of the keys and values of one token, two bytes a
// number, in all layers. Models with layers of different kinds need less or
// give no single number of heads; for these it is too high or 0.
func cachePerToken(number func(key string) int64) int64 {
	heads := number("attention.head_count")
	key, value := number("attention.key_length"), number("attention.value_length")
	if key == 0 && heads > 0 {
		key = number("embedding_length") / heads
	}
	if value == 0 {
		value = key
	}
	return number("block_count") * number("attention.head_count_kv") * (key + value) * 2
}

// numCtxParameter finds num_ctx in the parameters of a Modelfile, one a line.
func numCtxParameter(parameters string) int {
	for line := range strings.Lines(parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

const (
	smallestWindow = 8 << 10  // what an agent's prompt and a few turns need
	largestWindow  = 64 << 10 // beyond it small models lose the thread
	cacheLimit     = 1 << 30  // of an 8B model: 8192 tokens
)

// choose returns the window for a model that is loaded with the given one, or
// with 0 if it is not loaded. Zero means that none should be sent.
func (f facts) choose(loaded int) int {
	if f.remote {
		return 0
	}
	n := smallestWindow
	switch {
	case loaded >= smallestWindow:
		return loaded
	case f.numCtx >= smallestWindow:
		n = f.numCtx
	case f.cache > 0:
		for n < largestWindow && 2*int64(n)*f.cache <= cacheLimit {
			n *= 2
		}
	}
	return f.limit(n)
}

// limit lowers a window to what the model was trained for, as the server does.
func (f facts) limit(n int) int {
	if f.trained > 0 {
		return min(n, f.trained)
	}
	return n
}

// once computes a value on first use. A failure is not kept: the next caller
// tries again. Callers that wait for another's attempt give up with their ctx.
type once[T any] struct {
	turn  chan struct{} // holds a token while somebody is at it
	known bool
	value T
}

func newOnce[T any]() *once[T] { return &once[T]{turn: make(chan struct{}, 1)} }

func (o *once[T]) get(ctx context.Context, compute func() (T, error)) (T, error) {
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
	if !o.known {
		v, err := compute()
		if err != nil {
			return v, err
		}
		o.value, o.known = v, true
	}
	return o.value, nil
}
