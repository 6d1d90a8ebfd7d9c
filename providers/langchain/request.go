package langchain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

// api is how a family of providers wants requests and writes replies. The zero
// api leaves both to langchaingo.
type api struct {
	// body makes the body of a request that langchaingo wrote hold what was
	// asked for and nothing else. Nil: it is sent unchanged.
	body func(f fields, a asked)

	// head changes the address or the headers of a request. May be nil.
	head func(req *http.Request, a asked)

	// format is how replies are read.
	format wire.Format

	// think is what thinking on or off adds to a request. Nil: the provider
	// has no switch.
	think func(on bool, a asked) map[string]any

	noSeed bool // the provider takes no seed
}

// asked is what a request is made for.
type asked struct {
	providers.Request
	without  wire.Refused
	model    string
	base     string // where it goes
	window   int    // tokens; 0: unknown
	key      string
	settings map[string]string
}

// edit changes the requests that langchaingo makes.
func (m *Model) edit(a asked, api *api) func(*http.Request) (*http.Request, error) {
	return func(req *http.Request) (*http.Request, error) {
		if m.config.Key == "" && m.back.ownKeys == "" {
			req.Header.Del("Authorization") // langchaingo wants a key where there is none
		}
		if api != nil && api.head != nil {
			api.head(req, a)
		}
		for name, value := range m.config.Headers {
			req.Header.Set(name, value)
		}
		if api == nil || api.body == nil || req.Body == nil || req.Method != http.MethodPost {
			return req, nil
		}
		body, err := io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
		f := fields{}
		if err := json.Unmarshal(body, &f); err != nil {
			return nil, fmt.Errorf("langchaingo wrote a request that is no JSON object: %w", err)
		}
		api.body(f, a)
		if body, err = json.Marshal(f); err != nil {
			return nil, err
		}
		setBody(req, body)
		return req, nil
	}
}

func setBody(req *http.Request, body []byte) {
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
}

// fields is a JSON object that is edited.
type fields map[string]any

// keep drops all fields but the named ones.
func (f fields) keep(names ...string) {
	maps.DeleteFunc(f, func(name string, _ any) bool { return !slices.Contains(names, name) })
}

// sampling sets what was asked for under the names that most providers share.
func (f fields) sampling(a asked, seed, maxTokens string) {
	if a.Temperature != nil {
		f["temperature"] = *a.Temperature
	}
	if a.Seed != nil {
		f[seed] = *a.Seed
	}
	if a.MaxTokens > 0 {
		f[maxTokens] = a.MaxTokens
	}
}

// thinking sets the option for thinking in the request.
func (f fields) thinking(a asked, think func(bool, asked) map[string]any) {
	if think == nil || a.Think == providers.ThinkAuto {
		return
	}
	for name, v := range think(a.Think == providers.ThinkOn, a) {
		f[name] = v
	}
}
