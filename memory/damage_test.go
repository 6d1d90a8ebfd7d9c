package memory_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mylm/memory"

	_ "modernc.org/sqlite"
)

// rounds is how often a fault is tried: few times with every test run, as
// often as it takes to believe it with MYLM_SLOW=1.
func rounds(few, many int) int {
	if os.Getenv("MYLM_SLOW") != "" {
		return many
	}
	return few
}

// long leaves a test to MYLM_SLOW=1.
func long(t *testing.T) {
	t.Helper()
	if rounds(0, 1) == 0 {
		t.Skip("it takes long: MYLM_SLOW=1 runs it")
	}
}

// sample makes a closed memory of documents and returns their texts by ID.
func sample(t *testing.T, path string, n int) map[string]string {
	t.Helper()
	s := open(t, path)
	fill(t, s, n)
	all := contents(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

func contents(t *testing.T, s *memory.Store) map[string]string {
	t.Helper()
	all, err := s.List(t.Context(), memory.Filter{History: true}, 0)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, d := range all {
		texts[d.ID] = d.Text
	}
	return texts
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// healthy fails the test unless Verify has nothing to say.
func healthy(t *testing.T, s *memory.Store) {
	t.Helper()
	r, err := s.Verify(t.Context())
	if err != nil || len(r.Problems) > 0 {
		t.Fatalf("Verify: %v, %q", err, r.Problems)
	}
}

func TestVerify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	sample(t, path, 100)
	s := open(t, path)
	healthy(t, s)
	if err := s.Reindex(t.Context()); err != nil {
		t.Fatal(err)
	}
	healthy(t, s)
	s.Close()
	for _, tt := range []struct{ name, sql, want string }{
		{"a text", "UPDATE documents SET text = 'nobody said this' WHERE num = 7", "the text is not what was written"},
		{"an ID", "UPDATE documents SET id = 'nobody' WHERE num = 7", "the text is not what was written"},
		{"an index of words", "DELETE FROM chunks WHERE term = (SELECT term FROM chunks LIMIT 1)", "the index"},
		{"facts", "UPDATE segments SET facts = zeroblob(length(facts))", "the index"},
		{"the name of a scope", "DELETE FROM scopes WHERE num = 1", "the index"},
		{"a missing entry", "PRAGMA writable_schema=1; DELETE FROM sqlite_schema WHERE name = 'documents_hash'", ""},
		{"a segment", "UPDATE segments SET last = first - 1", "segment"},
		{"a segment without end", "UPDATE segments SET last = 9223372036854775807", "segment"},
		{"a segment of far too many", "UPDATE segments SET last = 4611686018427387904", "segment"},
		{"a segment before the first document", "UPDATE segments SET first = -9", "segment"},
		{"a number that nothing can have", "UPDATE documents SET num = 4611686018427387904 WHERE num = 100", "numbers"},
		{"a number before the first", "UPDATE documents SET num = -7 WHERE num = 7", "numbers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			copied := filepath.Join(t.TempDir(), "memory.db")
			write(t, copied, read(t, path))
			execute(t, copied, tt.sql)
			s := open(t, copied)
			if _, err := s.Search(t.Context(), memory.Query{Text: question}); err != nil && !errors.Is(err, memory.ErrDamaged) {
				t.Errorf("Search: %v", err)
			}
			r, err := s.Verify(t.Context())
			if slices.ContainsFunc(r.Problems, func(p string) bool { return strings.ContainsAny(p, "*\n") }) {
				t.Errorf("a problem is more than one line: %q", r.Problems)
			}
			if err != nil || len(r.Problems) == 0 || !strings.Contains(strings.Join(r.Problems, "\n"), tt.want) {
				t.Errorf("Verify = %+v, %v, want %q", r, err, tt.want)
			}
			s.Close()
			s = open(t, copied)
			defer s.Close()
			if s.Salvaged() == nil {
				t.Error("what Verify found was not repaired")
			}
			healthy(t, s)
		})
	}
}

// execute changes a memory behind its back.
func execute(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// TestOverwritten and TestTruncated damage a file at many places. The memory must
// return everything that is readable, and nothing that was not written.
func TestOverwritten(t *testing.T) {
	r := rand.New(rand.NewPCG(4, uint64(time.Now().UnixNano())))
	damage(t, func(t *testing.T, whole []byte) ([]byte, int) {
		at, n := r.IntN(len(whole)), 1+r.IntN(4096)
		t.Logf("%d bytes at %d", n, at)
		for i := at; i < min(at+n, len(whole)); i++ {
			whole[i] = byte(r.Uint32())
		}
		return whole, 2 * 4096 / 100 // two pages of the shortest documents
	})
}

// TestOverwrittenID has other bytes in place of an ID, in the row but not in the
// index: the text must not come back under an ID that nobody was given.
func TestOverwrittenID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	want := sample(t, path, 100)
	id := slices.Sorted(maps.Keys(want))[50]
	file, changed := read(t, path), 0
	for page := range slices.Chunk(file, 4096) {
		if at := bytes.Index(page, []byte(id)); at >= 0 && page[0] == 0x0d { // a leaf of a table
			copy(page[at:], "zzzzzzzzzzzzz")
			changed++
		}
	}
	if changed != 1 {
		t.Fatalf("%s is in %d rows", id, changed)
	}
	write(t, path, file)
	write(t, path+".damaged", nil)
	s := open(t, path)
	defer s.Close()
	delete(want, id)
	if got := contents(t, s); !maps.Equal(got, want) {
		t.Errorf("%d documents with other IDs or texts than were recorded, want %d", len(got), len(want))
	}
	if got := s.Salvaged(); got.Saved != 99 || got.Lost != 1 {
		t.Errorf("Salvaged = %+v, want 99 saved and 1 lost", got)
	}
	healthy(t, s)
}

func TestTruncated(t *testing.T) {
	r := rand.New(rand.NewPCG(5, uint64(time.Now().UnixNano())))
	damage(t, func(t *testing.T, whole []byte) ([]byte, int) {
		at := r.IntN(len(whole))
		t.Logf("cut at %d of %d", at, len(whole))
		return whole[:at], (len(whole) - at) / 100
	})
}

func damage(t *testing.T, spoil func(*testing.T, []byte) (spoilt []byte, mayLose int)) {
	path := filepath.Join(t.TempDir(), "memory.db")
	want := sample(t, path, rounds(500, 1000))
	whole := read(t, path)
	for i := range rounds(4, 200) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			copied := filepath.Join(t.TempDir(), "memory.db")
			spoilt, mayLose := spoil(t, slices.Clone(whole))
			write(t, copied, spoilt)
			s, err := memory.Open(t.Context(), copied, memory.Options{})
			if errors.Is(err, memory.ErrNewer) {
				return // that is what the file says
			}
			if err != nil {
				t.Fatalf("Open: %v", err)
			}
			_, err = s.Search(t.Context(), memory.Query{Text: question})
			if err != nil && !errors.Is(err, memory.ErrDamaged) {
				t.Errorf("Search: %v", err)
			}
			report, err := s.Verify(t.Context())
			if err != nil {
				t.Errorf("Verify: %v", err)
			}
			first := s.Salvaged()
			if err := s.Close(); err != nil && !errors.Is(err, memory.ErrDamaged) {
				t.Errorf("Close: %v", err)
			}
			s = open(t, copied)
			defer s.Close()
			salvaged := s.Salvaged()
			if (len(report.Problems) > 0) != (salvaged != nil) {
				t.Errorf("Verify found %q, and then Open salvaged %v", report.Problems, salvaged)
			}
			if salvaged == nil {
				salvaged = first
			}
			healthy(t, s)
			got := contents(t, s)
			for id, text := range got {
				if want[id] != text {
					t.Errorf("%s says %.60q, was %.60q", id, text, want[id])
				}
			}
			lost := len(want) - len(got)
			if lost > 0 && salvaged == nil {
				t.Errorf("%d documents are lost without a word", lost)
			}
			if lost > mayLose {
				t.Errorf("%d documents are lost, at most %d should be: %v", lost, mayLose, salvaged)
			}
			if salvaged != nil {
				t.Log(salvaged)
				if salvaged.Saved != len(got) || salvaged.Lost > lost+1 || len(read(t, salvaged.Aside)) == 0 && len(spoilt) > 0 {
					t.Errorf("%+v, but %d of %d are there", salvaged, len(got), len(want))
				}
			}
		})
	}
}

// TestReadingChecks changes a text in the file: no read may return a text that was
// not recorded.
func TestReadingChecks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	sample(t, path, 10)
	execute(t, path, "UPDATE documents SET text = 'nobody said this' WHERE num = 7")
	s := open(t, path)
	_, err := s.List(t.Context(), memory.Filter{}, 0)
	if !errors.Is(err, memory.ErrDamaged) || !strings.Contains(err.Error(), "next time it is opened") {
		t.Errorf("List: %v, want ErrDamaged with what happens next", err)
	}
	s.Close()
	s = open(t, path)
	defer s.Close()
	if got := s.Salvaged(); got == nil || got.Saved != 9 || got.Lost != 1 {
		t.Errorf("Salvaged = %+v, want 9 saved and 1 lost", got)
	}
}
