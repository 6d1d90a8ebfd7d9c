package memory_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"mylm/memory"
)

func TestEmbedderFails(t *testing.T) {
	s, m := unhurried(t), newMeaning()
	var told []string
	s.Use(m, func(err error) { told = append(told, err.Error()) })
	add(t, s, memory.Document{Text: "an automobile"})
	m.fails = errors.New("no server")
	if got := textsOf(search(t, s, memory.Query{Text: "automobile"})); len(got) != 1 {
		t.Errorf("words were not looked for: %q", got)
	}
	if len(told) != 1 || !strings.Contains(told[0], "by words alone") || !strings.Contains(told[0], "meaning/1: no server") {
		t.Errorf("told %q", told)
	}
	m.fails, told = nil, nil
	add(t, s, memory.Document{Text: "a nan text"}) // one bad vector keeps nobody else out
	if got := textsOf(search(t, s, memory.Query{Text: "car"})); !slices.Equal(got, []string{"an automobile"}) {
		t.Errorf("%q", got)
	}
	if st, err := s.Stats(t.Context()); err != nil || st.Vectors[m.name] != 2 {
		t.Errorf("it would be tried for ever: %+v, %v", st, err)
	}
	if search(t, s, memory.Query{Text: "nan"}); len(told) != 1 {
		t.Errorf("a question's vector that is none: told %q", told)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	told = nil
	if _, err := s.Search(ctx, memory.Query{Text: "car"}); !errors.Is(err, context.Canceled) || len(told) > 0 {
		t.Errorf("cancelled: %v, told %q", err, told)
	}
	// The model behind the name was replaced.
	m.width, told = 9, nil
	add(t, s, memory.Document{Text: "a bird"})
	if got := search(t, s, memory.Query{Text: "automobile"}); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	if len(told) != 2 || !strings.Contains(told[0], "9 instead of 8") || !strings.Contains(told[1], "by words alone: the vector has another length") {
		t.Errorf("told %q", told)
	}
	if err := s.Embed(t.Context(), m, nil); err != nil {
		t.Fatal(err)
	}
	told = nil
	if got := textsOf(search(t, s, memory.Query{Text: "heron"})); !slices.Equal(got, []string{"a bird"}) || len(told) > 0 {
		t.Errorf("made anew: %q, told %q", got, told)
	}
}

// slow is an embedder that needs longer for some texts than anybody waits. A
// question is none of them unless deaf.
type slow struct {
	*meaning
	most int // texts that it is quick with
	deaf bool
	asks atomic.Int64
}

func (s *slow) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) > s.most {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.meaning.EmbedDocuments(ctx, texts)
}

func (s *slow) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	s.asks.Add(1)
	if s.deaf {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.meaning.EmbedQuery(ctx, text)
}

// A search waits a while for its embedder, once, and not longer.
func TestEmbedderDoesNotAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	synctest.Test(t, func(t *testing.T) { embedderDoesNotAnswer(t, path) })
}

func embedderDoesNotAnswer(t *testing.T, path string) {
	s, err := memory.Open(t.Context(), path, memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 40 {
		add(t, s, memory.Document{Text: fmt.Sprint("automobile ", i)})
	}
	e := &slow{meaning: newMeaning(), most: 2}
	s.Use(e, unexpected(t))
	for range 3 { // what it is quick with is kept, and each search gets on
		search(t, s, memory.Query{Text: "car"})
	}
	if st, err := s.Stats(t.Context()); err != nil || st.Vectors[e.name] != 9 {
		t.Errorf("%+v, %v, want 1 and 2 vectors of each search", st.Vectors, err)
	}
	e.deaf = true
	var told []string
	s.Use(e, func(err error) { told = append(told, err.Error()) })
	for range 3 {
		if got := search(t, s, memory.Query{Text: "automobile 7"}); len(got) != 5 || got[0].Text != "automobile 7" {
			t.Errorf("%q", textsOf(got))
		}
	}
	if e.asks.Load() != 4 || len(told) != 1 || !strings.Contains(told[0], "no answer within 10s") {
		t.Errorf("asked %d times, told %q", e.asks.Load(), told)
	}
}

// picky refuses texts that hold a word, and all that come with them.
type picky struct{ *meaning }

func (p picky) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	if slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, "poison") }) {
		return nil, errors.New("500: unsupported value: NaN")
	}
	return p.meaning.EmbedDocuments(ctx, texts)
}

// A text that an embedder does not take keeps no other one out.
func TestEmbedderRefusesTexts(t *testing.T) {
	for name, embed := range map[string]func(s *memory.Store, e memory.Embedder) (told []error){
		"searching": func(s *memory.Store, e memory.Embedder) (told []error) {
			s.Use(e, func(err error) { told = append(told, err) })
			search(t, s, memory.Query{Text: "car"})
			search(t, s, memory.Query{Text: "car"})
			return told
		},
		"reindex": func(s *memory.Store, e memory.Embedder) []error { return []error{s.Embed(t.Context(), e, nil)} },
	} {
		s := unhurried(t)
		for i := range 20 {
			text := fmt.Sprint("automobile ", i)
			if i == 13 {
				text = "poison"
			}
			add(t, s, memory.Document{Text: text})
		}
		e := picky{newMeaning()}
		told := embed(s, e)
		if len(told) != 1 || !errors.Is(told[0], memory.ErrRefused) || !strings.Contains(told[0].Error(), "NaN") {
			t.Errorf("%s: told %v", name, told)
		}
		if st, err := s.Stats(t.Context()); err != nil || st.Vectors[e.name] != 20 {
			t.Errorf("%s: it would be tried for ever: %+v, %v", name, st.Vectors, err)
		}
		s.Use(e, unexpected(t))
		if got := search(t, s, memory.Query{Text: "car", Limit: 30}); len(got) != 19 {
			t.Errorf("%s: %d are found", name, len(got))
		}
	}
}

func TestEmbed(t *testing.T) {
	s, m := unhurried(t), newMeaning()
	const all = 600
	var documents []memory.Document
	for i := range all {
		documents = append(documents, memory.Document{Text: fmt.Sprint("automobile ", i)})
	}
	add(t, s, documents...)
	// It stops when it is told to, and goes on where it was.
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Embed(ctx, m, func(done, total int) {
		if done >= all/3 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	stopped := len(m.texts)
	if stopped < all/3 || stopped >= all {
		t.Fatalf("stopped after %d", stopped)
	}
	var done, total int
	if err := s.Embed(t.Context(), m, func(d, n int) { done, total = d, n }); err != nil || done != all || total != all {
		t.Fatal(done, total, err)
	}
	if slices.Sort(m.texts); len(m.texts) != all || len(slices.Compact(m.texts)) != all {
		t.Errorf("%d texts were embedded", len(m.texts))
	}
	// Another embedder is noticed, and searches get there by themselves.
	other := newMeaning()
	other.name, other.idle = "meaning/2", errors.New("slow")
	s.Use(other, func(error) {})
	search(t, s, memory.Query{Text: "car"})
	other.idle = nil
	for range all {
		if search(t, s, memory.Query{Text: "car"}); len(other.texts) == all {
			break
		}
	}
	if st, _ := s.Stats(t.Context()); st.Vectors["meaning/2"] != all || st.Vectors["meaning/1"] != all {
		t.Errorf("%+v", st.Vectors)
	}
	if err := s.Embed(t.Context(), other, nil); err != nil {
		t.Fatal(err)
	}
	if st, _ := s.Stats(t.Context()); len(st.Vectors) != 1 {
		t.Errorf("the old vectors are still there: %+v", st.Vectors)
	}
}

// TestLargest takes a text of a megabyte and a question of 20,000 words through
// a store with an embedder.
func TestLargest(t *testing.T) {
	for name, e := range map[string]memory.Embedder{"meaning": newMeaning(), "noise": noise{}} {
		s := unhurried(t)
		s.Use(e, func(err error) { t.Errorf("%s: %v", name, err) })
		long := strings.Repeat("the heron stands in the reeds by the weir ", 1<<20/42+1)
		d := add(t, s, memory.Document{Text: long}, memory.Document{Text: "an automobile"})
		var words []string
		for i := range uint64(20_000) {
			words = append(words, word(i))
		}
		words[19_990] = "reeds" // of a question, the head and the end are looked for
		for _, question := range []string{"weir", strings.Join(words, " "), long} {
			hits := search(t, s, memory.Query{Text: question, Limit: 1})
			if len(hits) != 1 || hits[0].ID != d[0].ID || hits[0].Text != long {
				t.Errorf("%s: %.20q… finds %.200v", name, question, hits)
			}
		}
		if st, err := s.Stats(t.Context()); err != nil || st.Vectors[e.Name()] != 2 {
			t.Errorf("%s: vectors of %v, %v, want 2", name, st.Vectors, err)
		}
		healthy(t, s)
	}
}
