package memorytest

import (
	"context"
	"io"
	"path/filepath"
	"testing"
	"time"

	"mylm/memory"
)

// Store is what a memory can do. See the methods of memory.Store.
type Store interface {
	Add(ctx context.Context, documents ...memory.Document) ([]memory.Document, error)
	Get(ctx context.Context, id string) (memory.Document, error)
	Around(ctx context.Context, id string, n int) ([]memory.Document, error)
	List(ctx context.Context, f memory.Filter, limit int) ([]memory.Document, error)
	Edit(ctx context.Context, id, text string) (memory.Document, error)
	Forget(ctx context.Context, f memory.Filter) (int, error)
	Supersede(ctx context.Context, old, replacement string) error
	Correct(ctx context.Context, old string, d memory.Document) (memory.Document, error)
	Search(ctx context.Context, q memory.Query) ([]memory.Hit, error)
	Stats(ctx context.Context) (memory.Stats, error)
	Export(ctx context.Context, w io.Writer, f memory.Filter) (int, error)
	Import(ctx context.Context, r io.Reader, m memory.Mapping) (memory.Imported, error)
	Close() error
}

// Open opens the memory that a path names.
type Open func(t *testing.T, path string) Store

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"what is added comes back", roundTrip},
		{"texts that are refused or made fit", cleaning},
		{"a repeated text is one document", repeats},
		{"ids are unique and ascending", ids},
		{"neighbours", neighbours},
		{"lists and filters", lists},
		{"edit", edits},
		{"forget", forgets},
		{"supersede", supersedes},
		{"corrections in a circle", circles},
		{"search", searches},
		{"scopes", scopes},
		{"an import hides nothing", hiding},
		{"ids from the future", future},
		{"secrets are not kept", secrets},
		{"export and import", exports},
		{"records without an id", nameless},
		{"two that are open at once", together},
		{"what was added is there after opening again", again},
		{"a context that is done", cancelled},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &suite{open: open, path: filepath.Join(t.TempDir(), "memory", "memory.db")}
			s.Store = s.another(t)
			test.run(t, s)
		})
	}
}

// suite is one memory under test.
type suite struct {
	Store
	open Open
	path string
}

// another opens the same memory once more.
func (s *suite) another(t *testing.T) Store {
	t.Helper()
	store := s.open(t, s.path)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return store
}

// day is a time that tests count from.
var day = time.Date(2026, 3, 14, 9, 26, 53, 589793000, time.UTC)

func (s *suite) add(t *testing.T, documents ...memory.Document) []memory.Document {
	t.Helper()
	stored, err := s.Add(t.Context(), documents...)
	if err != nil {
		t.Fatalf("Add: %v", err)
	}
	if len(stored) != len(documents) {
		t.Fatalf("Add returned %d documents for %d", len(stored), len(documents))
	}
	return stored
}

// note adds notes of these texts and returns their IDs.
func (s *suite) notes(t *testing.T, base memory.Document, texts ...string) (ids []string) {
	t.Helper()
	for _, text := range texts {
		base.Text = text
		ids = append(ids, s.add(t, base)[0].ID)
	}
	return ids
}

func (s *suite) get(t *testing.T, id string) memory.Document {
	t.Helper()
	d, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatalf("Get(%q): %v", id, err)
	}
	return d
}

// found are the IDs of what a query finds, best first.
func found(t *testing.T, s Store, q memory.Query) []string {
	t.Helper()
	hits, err := s.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("Search(%+v): %v", q, err)
	}
	ids := []string{}
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	return ids
}

func idsOf(documents []memory.Document) []string {
	ids := []string{}
	for _, d := range documents {
		ids = append(ids, d.ID)
	}
	return ids
}
