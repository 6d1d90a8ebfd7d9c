package hashed_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mylm/memory"
	"mylm/memory/hashed"
)

var _ memory.Embedder = hashed.Embedder{}

func similarity(t *testing.T, question, text string) float64 {
	t.Helper()
	q, err := hashed.Embedder{}.EmbedQuery(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	d, err := hashed.Embedder{}.EmbedDocuments(t.Context(), []string{text})
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for i, x := range q {
		sum += float64(x) * float64(d[0][i])
	}
	return sum
}

func TestNearer(t *testing.T) {
	for _, tt := range []struct{ name, question, near, far string }{
		{"a word", "which host is staging?", "The staging host is called heron.", "Lunch was pasta and a salad."},
		{"more words", "staging host heron", "The staging host is called heron.", "A host of daffodils."},
		{"a compound", "Server", "Der Staging-Hauptserver heißt Reiher.", "Zum Mittag gab es Nudeln mit Salat."},
		{"long and about it", "staging host", "The staging host is called heron, it has been there since March and nobody knows who pays for it.", "Staging."},
		{"characters", "会議", "来週の会議は火曜日です", "昼ごはんはパスタでした"},
	} {
		if near, far := similarity(t, tt.question, tt.near), similarity(t, tt.question, tt.far); near <= far || near <= 0 {
			t.Errorf("%s: %.3f is not more than %.3f", tt.name, near, far)
		}
	}
}

func TestVectors(t *testing.T) {
	e := hashed.Embedder{}
	texts := []string{"the staging host", "", "?!", strings.Repeat("many words of many kinds ", 5000), "\xff\x00 ok"}
	vectors, err := e.EmbedDocuments(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range vectors {
		var sum float64
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		want := 1.0
		if i == 1 || i == 2 {
			want = 0
		}
		if len(v) != 384 || math.Abs(sum-want) > 1e-5 {
			t.Errorf("%.20q: %d numbers, length %v", texts[i], len(v), sum)
		}
	}
	again, _ := e.EmbedDocuments(t.Context(), texts[:1])
	if !slices.Equal(again[0], vectors[0]) {
		t.Error("a text has two vectors")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.EmbedDocuments(ctx, texts); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := e.EmbedQuery(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What is stored must stay comparable: another vector needs another name.
func TestVersion(t *testing.T) {
	v, err := hashed.Embedder{}.EmbedQuery(t.Context(), "staging host")
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for i, x := range v {
		sum += float64(x) * float64(i+1)
	}
	const want = 77.8283
	if name := (hashed.Embedder{}).Name(); math.Abs(sum-want) > 1e-3 {
		t.Errorf("%s gives another vector (%.4f): change its name, and this test", name, sum)
	}
}

// Nothing is installed, and the memory's vectors work all the same.
func TestMemory(t *testing.T) {
	s, err := memory.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Add(t.Context(), memory.Document{Text: "Die Datenbank heißt Reiher."}, memory.Document{Text: "Zum Mittag gab es Nudeln."}); err != nil {
		t.Fatal(err)
	}
	s.Use(hashed.Embedder{}, func(err error) { t.Error(err) })
	hits, err := s.Search(t.Context(), memory.Query{Text: "Datenbankserver", Limit: 1})
	if err != nil || len(hits) != 1 || !strings.Contains(hits[0].Text, "Datenbank") || len(hits[0].Found.Terms) > 0 {
		t.Errorf("%+v, %v", hits, err)
	}
	if hits, err := s.Search(t.Context(), memory.Query{Text: "zebra crossing"}); err != nil || len(hits) != 0 {
		t.Errorf("what shares nothing: %+v, %v", hits, err)
	}
}

func BenchmarkEmbed(b *testing.B) {
	text := []string{"The staging host is called heron, it has been there since March and nobody knows who pays for it, or why it is still on."}
	for b.Loop() {
		if _, err := (hashed.Embedder{}).EmbedDocuments(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
}
