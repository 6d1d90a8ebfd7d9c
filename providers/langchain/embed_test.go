package langchain_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mylm/providers"
	"mylm/providers/langchain"
)

// embedding is an embedder of langchaingo's with a scripted answer.
type embedding func(ctx context.Context, texts []string) ([][]float32, error)

func (f embedding) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	return f(ctx, texts)
}

func (f embedding) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	v, err := f(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	return v[0], nil // as langchaingo's own do
}

func TestEmbedder(t *testing.T) {
	e := langchain.NewEmbedder("lengths", embedding(func(_ context.Context, texts []string) (v [][]float32, _ error) {
		for _, t := range texts {
			v = append(v, []float32{float32(len(t)), 1})
		}
		return v, nil
	}))
	if e.Name() != "langchain/lengths" {
		t.Error(e.Name())
	}
	if v, err := e.EmbedDocuments(t.Context(), []string{"a", "bcd"}); err != nil || len(v) != 2 || v[1][0] != 3 {
		t.Error(v, err)
	}
	if v, err := e.EmbedQuery(t.Context(), "ab"); err != nil || v[0] != 2 {
		t.Error(v, err)
	}
	if v, err := e.EmbedDocuments(t.Context(), nil); err != nil || len(v) != 0 {
		t.Error(v, err)
	}
}

func TestEmbedderFaults(t *testing.T) {
	refused := errors.New("401: no such key")
	for name, tt := range map[string]struct {
		vectors [][]float32
		err     error
		says    string
	}{
		"refused": {nil, refused, "no such key"},
		"nothing": {nil, nil, ""},
		"few":     {[][]float32{{1}}, nil, "1 vectors for 2 texts"},
		"empty":   {[][]float32{{}, {}}, nil, "empty"},
		"uneven":  {[][]float32{{1}, {1, 2}}, nil, "2"},
	} {
		e := langchain.NewEmbedder("x", embedding(func(context.Context, []string) ([][]float32, error) { return tt.vectors, tt.err }))
		_, err := e.EmbedDocuments(t.Context(), []string{"a", "b"})
		var fault *providers.Error
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "langchain/x") || fault.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
		if tt.err != nil && !errors.Is(err, tt.err) {
			t.Errorf("%s: the cause is lost: %v", name, err)
		}
	}
	e := langchain.NewEmbedder("x", embedding(func(context.Context, []string) ([][]float32, error) { return nil, nil }))
	if _, err := e.EmbedQuery(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("a panic: %v", err)
	}
}

func TestEmbedderCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	e := langchain.NewEmbedder("x", embedding(func(ctx context.Context, _ []string) ([][]float32, error) {
		cancel()
		<-ctx.Done()
		close(left)
		return nil, errors.New("interrupted")
	}))
	if _, err := e.EmbedQuery(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-left
	if _, err := e.EmbedDocuments(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// vectorsOf is a server of OpenAI's wire that refuses long texts and answers
// with a text's length.
func vectorsOf(t *testing.T, limit int, refuse http.HandlerFunc) (*httptest.Server, *[]string) {
	t.Helper()
	var bodies []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, r.Header.Get("Authorization")+" "+r.URL.Path+" "+string(body))
		if refuse != nil {
			refuse(w, r)
			return
		}
		var in struct{ Input []string }
		json.Unmarshal(body, &in)
		type vector struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		var out []vector
		for i, text := range in.Input {
			if len(text) > limit {
				w.WriteHeader(http.StatusBadRequest)
				io.WriteString(w, `{"error":{"message":"This model's maximum context length is 8192 tokens, however you requested 9000 tokens (9000 in your prompt; 0 for the completion). Please reduce your prompt.","type":"invalid_request_error","param":null,"code":null}}`)
				return
			}
			out = append(out, vector{i, []float32{float32(len(text)), 1}})
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"data": out})
	}))
	t.Cleanup(s.Close)
	return s, &bodies
}

func TestOpenEmbedder(t *testing.T) {
	s, bodies := vectorsOf(t, 1000, nil)
	e, err := langchain.OpenEmbedder("openai", langchain.Config{Model: "text-embedding-3-small", Key: "sk-key", BaseURL: s.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if e.Name() != "openai/text-embedding-3-small" {
		t.Error(e.Name())
	}
	v, err := e.EmbedDocuments(t.Context(), []string{"a\nb", "long " + strings.Repeat("word ", 2000)})
	if err != nil || len(v) != 2 || v[0][0] <= v[0][1] || v[1][0] <= v[1][1] {
		t.Error(v, err)
	}
	if v, err := e.EmbedQuery(t.Context(), "ab"); err != nil || v[0] != 2 {
		t.Error(v, err)
	}
	if first := (*bodies)[0]; !strings.HasPrefix(first, "Bearer sk-key /v1/embeddings ") || !strings.Contains(first, `"model":"text-embedding-3-small"`) || !strings.Contains(first, `a\nb`) {
		t.Error(first)
	}
}

func TestOpenEmbedderFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		refuse http.HandlerFunc
		kind   providers.Kind
	}{
		"key": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`, http.StatusUnauthorized)
		}, providers.Auth},
		"limit": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"message":"Rate limit reached"}}`, http.StatusTooManyRequests)
		}, providers.RateLimited},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"data":[{"index":0,"embedding":[`)
			for numbers := strings.Repeat("0.1,", 1<<16); ; {
				if _, err := io.WriteString(w, numbers); err != nil {
					return
				}
			}
		}, providers.ServerFault},
		"huge": {func(w http.ResponseWriter, _ *http.Request) {
			vector := `"embedding":[` + strings.Repeat("0.1,", 1<<17) + `1]}`
			io.WriteString(w, `{"data":[{"index":0,`+vector+`,{"index":1,`+vector+`]}`)
		}, providers.ServerFault},
		"nothing": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"data":[]}`) }, providers.ServerFault},
		"page":    {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `<html>hello</html>`) }, providers.Unreachable},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"data":[{"ind`)
		}, providers.Interrupted},
	} {
		s, _ := vectorsOf(t, 0, tt.refuse)
		e, err := langchain.OpenEmbedder("llamacpp", langchain.Config{Model: "m", BaseURL: s.URL + "/v1"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.EmbedDocuments(t.Context(), []string{"a", "b"})
		var fault *providers.Error
		if !errors.As(err, &fault) || fault.Kind != tt.kind || !strings.Contains(err.Error(), "llamacpp/m") {
			t.Errorf("%s: %s %v", name, providers.KindOf(err), err)
		}
		e.Close()
	}
	for provider, c := range map[string]langchain.Config{"anthropic": {Model: "m", Key: "k"}, "openai": {Key: "k"}, "nobody": {}} {
		if _, err := langchain.OpenEmbedder(provider, c); providers.KindOf(err) != providers.BadRequest {
			t.Errorf("%s: %v", provider, err)
		}
	}
}
