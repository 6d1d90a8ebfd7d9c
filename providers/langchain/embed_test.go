package langchain_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/embeddings"
	"github.com/tmc/langchaingo/llms/openai"

	"mylm/providers"
	"mylm/providers/langchain"
)

// embedding is an embedder of langchaingo's that does as it is told.
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
		"few":     {[][]float32{{1}}, nil, "1 for 2 texts"},
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

// One that langchaingo makes itself, over the wire.
func TestEmbedderOfOpenAI(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/embeddings" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"data":[{"index":0,"embedding":[0.5,0.5]},{"index":1,"embedding":[1,0]}]}`))
	}))
	defer s.Close()
	llm, err := openai.New(openai.WithBaseURL(s.URL+"/v1"), openai.WithToken("k"), openai.WithEmbeddingModel("m"), openai.WithHTTPClient(s.Client()))
	if err != nil {
		t.Fatal(err)
	}
	inner, err := embeddings.NewEmbedder(llm)
	if err != nil {
		t.Fatal(err)
	}
	v, err := langchain.NewEmbedder("openai/m", inner).EmbedDocuments(t.Context(), []string{"a", "b"})
	if err != nil || len(v) != 2 || v[1][0] != 1 {
		t.Error(v, err)
	}
}
