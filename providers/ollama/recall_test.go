package ollama_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"mylm/memory"
	"mylm/providers/internal/ollamatest"
)

// TestRealMemory finds with a real server what shares no word with the
// question: of the model's words, car and automobile mean the same.
func TestRealMemory(t *testing.T) {
	s := ollamatest.Start(t)
	s.Create(t, "embed", ollamatest.Embedder())
	c := client(t, s.URL)
	path := filepath.Join(t.TempDir(), "memory.db")
	store, err := memory.Open(t.Context(), path, memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Add(t.Context(), memory.Document{Text: "automobile"}, memory.Document{Text: "apple tree"}); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if _, err := store.Add(t.Context(), memory.Document{Text: fmt.Sprintf("she did buy apple trees, stones and a river boat for number %d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	embedder, err := c.Embedder(deadline(t), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Embed(deadline(t), embedder, nil); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

	store, err = memory.Open(t.Context(), path, memory.Options{}) // as another process would
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	query := memory.Query{Text: "car"} // no document has the word
	if hits, err := store.Search(t.Context(), query); err != nil || len(hits) != 0 {
		t.Fatalf("words alone: %v, %v", hits, err)
	}
	var told []error
	store.Use(embedder, func(err error) { told = append(told, err) })
	hits, err := store.Search(deadline(t), query)
	if err != nil || len(hits) == 0 || hits[0].Text != "automobile" || !strings.HasPrefix(hits[0].Why(), "vector: ") || len(told) > 0 {
		t.Fatalf("with vectors: %+v, %v, told %v", hits, err, told)
	}
	s.Kill()
	if hits, err := store.Search(deadline(t), query); err != nil || len(hits) != 0 || len(told) != 1 {
		t.Errorf("without the server: %v, %v, told %v", hits, err, told)
	}
}
