package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"mylm/providers"
	"mylm/providers/internal/ollamatest"
	"mylm/providers/internal/scriptmodel"
	"mylm/providers/ollama"
)

// vectors is a loopback server with embedding models. The vector of a text has
// its length in front.
type vectors struct {
	*httptest.Server
	tags, show string
	limit      int              // bytes of a text, as far as it is there
	embed      http.HandlerFunc // instead

	mu     sync.Mutex
	inputs [][]string
	bodies []string
}

func newVectors(t *testing.T) *vectors {
	s := &vectors{limit: 1 << 20,
		tags: `{"models":[
			{"name":"new-embed:latest","modified_at":"2026-02-02T00:00:00Z","digest":"aaaa","capabilities":["embedding"]},
			{"name":"chat:latest","modified_at":"2020-01-01T00:00:00Z","digest":"cccc","capabilities":["completion","thinking"]},
			{"name":"nomic-embed-text:latest","modified_at":"2026-01-01T00:00:00Z","digest":"0a109f422b47e3a30ba2b10eca18548e","capabilities":["embedding"]}]}`,
		show: `{"capabilities":["embedding"],"model_info":{"general.architecture":"bert","bert.context_length":512}}`,
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *vectors) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch r.URL.Path {
	case "/api/tags":
		io.WriteString(w, s.tags)
		return
	case "/api/show":
		io.WriteString(w, s.show)
		return
	case "/api/embed":
	default:
		http.NotFound(w, r)
		return
	}
	var in struct{ Input []string }
	json.Unmarshal(body, &in)
	s.mu.Lock()
	s.inputs, s.bodies = append(s.inputs, in.Input), append(s.bodies, string(body))
	s.mu.Unlock()
	if s.embed != nil {
		s.embed(w, r)
		return
	}
	var out [][]float32
	for _, text := range in.Input {
		if len(text) > s.limit {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error":"the input length exceeds the context length"}`)
			return
		}
		out = append(out, []float32{float32(len(text)), 0, float32(strings.Count(text, "x"))})
	}
	json.NewEncoder(w).Encode(map[string]any{"embeddings": out})
}

func (s *vectors) open(t *testing.T, name string) *ollama.Embedder {
	t.Helper()
	e, err := client(t, s.URL).Embedder(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEmbedderIsFound(t *testing.T) {
	s := newVectors(t)
	for name, want := range map[string]string{
		"":                 "ollama/nomic-embed-text:latest@0a109f422b47+nomic", // the oldest
		"nomic-embed-text": "ollama/nomic-embed-text:latest@0a109f422b47+nomic",
		"new-embed":        "ollama/new-embed:latest@aaaa",
	} {
		if got := s.open(t, name).Name(); got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
	}
	c := client(t, s.URL)
	_, err := c.Embedder(t.Context(), "nomic-embed-txt")
	check(t, err, providers.Error{Kind: providers.ModelMissing}, "nomic-embed-txt", "nomic-embed-text")
	s.show = `{"capabilities":["completion"]}`
	_, err = c.Embedder(t.Context(), "chat")
	check(t, err, providers.Error{Kind: providers.BadRequest, Permanent: true}, "chat", "ollama pull nomic-embed-text")
	s.show = `{}` // an old server reports no capabilities
	s.open(t, "chat")
	s.tags = `{"models":[{"name":"chat:latest","capabilities":["completion","thinking"]}]}`
	_, err = c.Embedder(t.Context(), "")
	check(t, err, providers.Error{Kind: providers.ModelMissing}, "no embedding model", "ollama pull")
	if len(s.inputs) > 0 {
		t.Error("something was embedded")
	}
}

func TestEmbedderPrompts(t *testing.T) {
	s := newVectors(t)
	for name, want := range map[string][2]string{
		"nomic-embed-text":        {"search_query: ", "search_document: "},
		"nomic-embed-text-v2-moe": {"search_query: ", "search_document: "},
		"mxbai-embed-large:335m":  {"Represent this sentence for searching relevant passages: ", ""},
		"snowflake-arctic-embed":  {"Represent this sentence for searching relevant passages: ", ""},
		"snowflake-arctic-embed2": {"query: ", ""},
		"bge-m3":                  {"", ""},
		"bge-large":               {"Represent this sentence for searching relevant passages: ", ""},
		"jeffh/intfloat-e5":       {"", ""},
		"jeffh/e5-large:q8":       {"query: ", "passage: "},
		"multilingual-e5-large-instruct": {
			"Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ", ""},
		"qwen3-embedding:0.6b": {"Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ", ""},
		"embeddinggemma":       {"task: search result | query: ", "title: none | text: "},
		"all-minilm":           {"", ""},
	} {
		s.tags = fmt.Sprintf(`{"models":[{"name":%q,"capabilities":["embedding"]}]}`, name)
		e := s.open(t, name)
		if _, err := e.EmbedQuery(t.Context(), "q"); err != nil {
			t.Fatal(err)
		}
		if _, err := e.EmbedDocuments(t.Context(), []string{"d", "d"}); err != nil {
			t.Fatal(err)
		}
		n := len(s.inputs)
		if q, d := s.inputs[n-2][0], s.inputs[n-1]; q != want[0]+"q" || !slices.Equal(d, []string{want[1] + "d", want[1] + "d"}) {
			t.Errorf("%s: %q and %q, want %q", name, q, d, want)
		}
		if plain := want == [2]string{}; plain == strings.Contains(e.Name(), "+") {
			t.Errorf("%s is called %s", name, e.Name())
		}
	}
	if !strings.Contains(s.bodies[0], `"truncate":false`) {
		t.Errorf("sent %s", s.bodies[0])
	}
}

func TestEmbedderBatches(t *testing.T) {
	s := newVectors(t)
	var texts []string
	for i := range 75 {
		texts = append(texts, strings.Repeat("x", i%7+1)+strings.Repeat("y", 3))
	}
	got, err := s.open(t, "new-embed").EmbedDocuments(t.Context(), texts)
	if err != nil || len(got) != len(texts) {
		t.Fatal(len(got), err)
	}
	for i, v := range got { // direction is what counts
		if x := float64(i%7 + 1); math.Abs(float64(v[2]/v[0])-x/(x+3)) > 1e-6 {
			t.Errorf("text %d has the vector %v", i, v)
		}
	}
	if len(s.inputs) != 3 || len(s.inputs[0]) != 32 {
		t.Errorf("%d requests", len(s.inputs))
	}
}

func TestEmbedderSplits(t *testing.T) {
	s := newVectors(t)
	s.limit = 100 // the model takes less than its window promises
	e := s.open(t, "new-embed")
	text := strings.Repeat("xy ä ", 400)
	got, err := e.EmbedDocuments(t.Context(), []string{text, "x"})
	if err != nil || len(got) != 2 || got[0][0] <= 0 || got[0][2] <= 0 || got[1][2] != got[1][0] {
		t.Fatal(got, err)
	}
	n := len(s.inputs)
	last := s.inputs[n-1]
	if len(last) != 17 {
		t.Errorf("%d pieces", len(last))
	}
	joined := strings.Join(last[:16], "")
	if !strings.HasPrefix(text, joined) || len(joined) < 1000 {
		t.Errorf("the pieces are not the text: %q", last)
	}
	for _, p := range last {
		if len(p) > 100 || !strings.HasSuffix(p, " ") && p != last[15] && p != "x" { // the last one is cut where it ends
			t.Errorf("piece %q", p)
		}
	}
	if _, err := e.EmbedQuery(t.Context(), text); err != nil || len(s.inputs) != n+1 {
		t.Errorf("what was found out was forgotten: %d requests, %v", len(s.inputs)-n, err)
	}
	s.limit = 0
	_, err = e.EmbedQuery(t.Context(), "x")
	check(t, err, providers.Error{Kind: providers.Overflow, Status: 400}, "", "")
}

func TestEmbedderFaults(t *testing.T) {
	s := newVectors(t)
	e := s.open(t, "new-embed")
	for _, tt := range []struct {
		name  string
		embed http.HandlerFunc
		want  providers.Error
		says  string
	}{
		{"too few", says(`{"embeddings":[[1]]}`), providers.Error{Kind: providers.ServerFault, Permanent: true}, "1 vectors for 2 texts"},
		{"none", says(`{"embeddings":[[],[]]}`), providers.Error{Kind: providers.ServerFault, Permanent: true}, "empty"},
		{"gone", refuses(404, `{"error":"model 'new-embed' not found"}`), providers.Error{Kind: providers.ModelMissing, Status: 404}, "new-embed"},
		{"cut", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			io.WriteString(w, `{"embeddings":[[`)
		}, providers.Error{Kind: providers.Interrupted}, ""},
	} {
		s.embed = tt.embed
		_, err := e.EmbedDocuments(t.Context(), []string{"a", "b"})
		t.Logf("%s: %v", tt.name, err)
		check(t, err, tt.want, tt.says, "")
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.embed = func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}
	if _, err := e.EmbedQuery(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	s.Close()
	_, err := client(t, s.URL).Embedder(t.Context(), "")
	check(t, err, providers.Error{Kind: providers.Unreachable}, "", "ollama serve")
}

func TestRealEmbedder(t *testing.T) {
	s := ollamatest.Start(t)
	s.Create(t, "embed", ollamatest.Embedder())
	s.Create(t, "short", &scriptmodel.Embedder{ContextLength: 64})
	e, err := client(t, s.URL).Embedder(deadline(t), "")
	if err != nil || !strings.HasPrefix(e.Name(), "ollama/embed:latest@") {
		t.Fatal(e, err)
	}
	got, err := e.EmbedDocuments(deadline(t), []string{"car", "automobile", "apple tree"})
	if err != nil || len(got) != 3 || cosine(got[0], got[1]) < 0.99 || cosine(got[0], got[2]) > 0.5 {
		t.Fatalf("%d vectors, %v", len(got), err)
	}
	short, err := client(t, s.URL).Embedder(deadline(t), "short")
	if err != nil {
		t.Fatal(err)
	}
	long, err := short.EmbedDocuments(deadline(t), []string{strings.Repeat("a b c ", 500), "a b c"})
	if err != nil || cosine(long[0], long[1]) < 0.9 {
		t.Errorf("a text that is too long: %v", err)
	}
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab, aa, bb = ab+float64(a[i]*b[i]), aa+float64(a[i]*a[i]), bb+float64(b[i]*b[i])
	}
	return ab / math.Sqrt(aa*bb)
}
