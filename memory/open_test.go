package memory_test

import (
	"compress/gzip"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mylm/memory"
)

func TestForgottenIsNowhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s := open(t, path)
	defer s.Close()
	fill(t, s, 700) // some in segments, some pending
	stored, err := s.Add(t.Context(), memory.Document{Text: "a quetzalcoatlus", Session: "quetzalcoatlus", Speaker: "quetzalcoatlus"},
		memory.Document{Text: "a pteranodon"})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, 700)
	if err := s.Reindex(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(t.Context(), memory.Filter{IDs: []string{stored[0].ID}}); err != nil {
		t.Fatal(err)
	}
	nowhere := func(word string) {
		t.Helper()
		files, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.Contains(string(read(t, file)), word) {
				t.Errorf("%s still holds what was forgotten", filepath.Base(file))
			}
		}
	}
	nowhere("quetzal")
	if _, err := s.Edit(t.Context(), stored[1].ID, "edited"); err != nil {
		t.Fatal(err)
	}
	nowhere("pterano")
	healthy(t, s)
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	newer := filepath.Join(dir, "newer.db")
	sample(t, newer, 1)
	execute(t, newer, "PRAGMA user_version = 99")
	foreign := filepath.Join(dir, "foreign.db")
	execute(t, foreign, "CREATE TABLE bookmarks (url TEXT)")
	busy := filepath.Join(dir, "busy.db")
	other := open(t, busy)
	defer other.Close()
	write(t, busy+".damaged", nil)
	file := filepath.Join(dir, "file")
	write(t, file, nil)
	for _, tt := range []struct {
		name, path string
		is         error
		says       string
	}{
		{"a newer version", newer, memory.ErrNewer, "99"},
		{"another program's", foreign, nil, "another program"},
		{"a repair while others use it", busy, memory.ErrBusy, "end them"},
		{"a folder", dir, nil, "is a folder"},
		{"below a file", filepath.Join(file, "memory.db"), nil, file},
	} {
		s, err := memory.Open(t.Context(), tt.path, memory.Options{Wait: 50 * time.Millisecond})
		if err == nil {
			s.Close()
		}
		if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %v and %q", tt.name, err, tt.is, tt.says)
		}
	}
	if !slices.Equal(read(t, file), nil) || len(read(t, foreign)) == 0 {
		t.Error("a file of somebody else was touched")
	}
}

func TestClockGoesBack(t *testing.T) {
	now := day
	s, err := memory.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"), memory.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	last := ""
	for i := range 50 {
		now = now.Add(-time.Hour)
		d, err := s.Add(t.Context(), memory.Document{Text: fmt.Sprint("text ", i), Session: "s"})
		if err != nil || d[0].ID <= last || !d[0].Time.Equal(now) {
			t.Fatalf("%+v, %v after %s", d, err, last)
		}
		last = d[0].ID
	}
	around, err := s.Around(t.Context(), last, 1)
	if err != nil || len(around) != 2 || around[0].Text != "text 48" {
		t.Errorf("before the last comes %v, %v", around, err)
	}
}

// TestLogWithoutFile has the log of a memory whose file was deleted: SQLite would
// put its pages into the file that takes the place.
func TestLogWithoutFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s := open(t, path)
	if _, err := s.Add(t.Context(), memory.Document{Text: "deleted with the file"}); err != nil {
		t.Fatal(err)
	}
	log := read(t, path+"-wal")
	s.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, path+"-wal", log)
	s = open(t, path)
	defer s.Close()
	if got := contents(t, s); len(got) > 0 || s.Salvaged() != nil {
		t.Errorf("a memory that was deleted holds %v, salvaged %v", got, s.Salvaged())
	}
	healthy(t, s)
}

// TestMigration opens a memory that is older than the index.
func TestMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	want := sample(t, path, 700)
	older(t, path)
	s := open(t, path)
	defer s.Close()
	if got := contents(t, s); len(got) != len(want) || s.Salvaged() != nil {
		t.Errorf("%d documents, %v, want %d", len(got), s.Salvaged(), len(want))
	}
	if hits, err := s.Search(t.Context(), memory.Query{Text: question}); err != nil || len(hits) == 0 {
		t.Errorf("Search after a migration: %v, %v", hits, err)
	}
	healthy(t, s)
}

// older takes a memory back to the first version of its schema.
func older(t *testing.T, path string) {
	t.Helper()
	execute(t, path, `DROP TABLE chunks; DROP TABLE segments; DROP TABLE state; DROP TABLE scopes; DROP TABLE speakers;
		DROP TABLE vectors; DROP TABLE embedders; UPDATE documents SET hash = substr(hash, 1, 16); PRAGMA user_version = 1`)
}

// TestAnalyserChanged opens a memory whose index another version made.
func TestAnalyserChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	sample(t, path, 700)
	execute(t, path, "UPDATE state SET analyser = 99; UPDATE chunks SET data = x'00'")
	s := open(t, path)
	defer s.Close()
	if hits, err := s.Search(t.Context(), memory.Query{Text: question}); err != nil || len(hits) == 0 {
		t.Errorf("Search: %v, %v", hits, err)
	}
	healthy(t, s)
}

// hold takes the write lock of a memory until it is released.
func hold(t *testing.T, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = tx.Rollback() // the second time it is done
		db.Close()
	}
}

// TestEarlierVersions opens a file of the version that had built-in vectors: they
// go, with the space that they took, and the index is built again.
func TestEarlierVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s := open(t, path)
	var all []memory.Document
	for i := range 300 {
		all = append(all, memory.Document{Text: fmt.Sprint("the heron stands in pond ", i)})
	}
	add(t, s, all...)
	if err := s.Embed(t.Context(), builtIn{}, nil); err != nil {
		t.Fatal(err)
	}
	s.Close()
	old, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"PRAGMA user_version = 3", "UPDATE state SET analyser = 1", "UPDATE vectors SET data = zeroblob(4*384)", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err := old.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	old.Close()
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	defer s.Close()
	if hits := search(t, s, memory.Query{Text: "pond 217"}); len(hits) == 0 || !strings.HasSuffix(hits[0].Text, " 217") {
		t.Errorf("found %v", textsOf(hits))
	}
	st, err := s.Stats(t.Context())
	if err != nil || len(st.Vectors) != 0 || st.Documents != 300 || st.Bytes > before.Size()/2 {
		t.Errorf("%+v, %v; it had %d bytes", st, err, before.Size())
	}
	healthy(t, s)
}

// TestGolden opens a file that a binary of that version wrote.
func TestGolden(t *testing.T) {
	f, err := os.Open("testdata/version3.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	before, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "memory.db")
	write(t, path, before)
	s := open(t, path)
	defer s.Close()
	if hits := search(t, s, memory.Query{Text: "which host has service 3?", Projects: []string{"shop"}}); len(hits) == 0 || !strings.HasSuffix(hits[0].Text, "called heron3") {
		t.Errorf("found %v", textsOf(hits))
	}
	if st, err := s.Stats(t.Context()); err != nil || st.Documents != 40 || len(st.Vectors) != 0 || s.Salvaged() != nil {
		t.Errorf("%+v, %v, %v", st, err, s.Salvaged())
	}
	healthy(t, s)
	if st, err := s.Stats(t.Context()); err != nil || st.Bytes > int64(len(before))*3/4 {
		t.Errorf("%d bytes, %v; before %d", st.Bytes, err, len(before))
	}
}

// builtIn has the name of an embedder that there was.
type builtIn struct{ noise }

func (builtIn) Name() string { return "hashed/1" }

// TestEraseOnlyItsOwn: a file that the user named like the memory stays, and the memory
// is deleted also where another file cannot be.
func TestEraseOnlyItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	sample(t, path, 10)
	users := []string{".damaged-by-hand", ".damaged.txt", ".damaged-20260101T000000Z.notes", ".damaged-20260101T000000Z-2.bak", ".new.txt", ".backup"}
	for _, suffix := range users {
		write(t, path+suffix, []byte("mine"))
	}
	for _, suffix := range []string{".damaged-20260101T000000Z", ".damaged-20260101T000000Z-wal", ".damaged-20260101T000000Z-2", ".damaged-20260101T000000Z-2-shm",
		".damaged.new", ".new", ".new-wal", "-wal"} {
		write(t, path+suffix, []byte("what was damaged once"))
	}
	stuck := []string{".damaged-20250101T000000Z", ".damaged-20270101T000000Z"}
	for _, suffix := range stuck { // a folder cannot be overwritten
		if err := os.MkdirAll(filepath.Join(path+suffix, "full"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	err := memory.Erase(t.Context(), path, time.Second)
	for _, suffix := range stuck {
		if err == nil || !strings.Contains(err.Error(), path+suffix) {
			t.Errorf("%v does not name %s", err, suffix)
		}
	}
	var want []string
	for _, suffix := range append(append(users, stuck...), ".lock") {
		want = append(want, path+suffix)
	}
	slices.Sort(want)
	left, err := filepath.Glob(path + "*")
	if err != nil || !slices.Equal(left, want) {
		t.Errorf("left are\n%q, %v, want\n%q", left, err, want)
	}
	s := open(t, path)
	defer s.Close()
	if aside, err := s.Aside(); err != nil || !slices.Equal(aside, []string{path + stuck[0], path + stuck[1]}) {
		t.Errorf("aside are %q, %v", aside, err)
	}
}

// TestEditOfEarlierVersions: names that today's rules of redaction would change stay
// as they are when the text of their document changes. Its hash is over both.
func TestEditOfEarlierVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s := open(t, path)
	defer s.Close()
	d := add(t, s, memory.Document{Text: "the host is heron", Project: "/src/shop"})[0]
	d.Project = "/src/password=hunter2hunter2"
	if clean, _ := memory.Redact(d.Project); clean == d.Project {
		t.Fatal("nothing is redacted in it")
	}
	execute(t, path, fmt.Sprintf("UPDATE documents SET project = '%s', hash = x'%x'", d.Project, hashOf(d)))
	if _, err := s.Edit(t.Context(), d.ID, "the host is wren"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(t.Context(), d.ID); err != nil || got.Text != "the host is wren" || got.Project != d.Project {
		t.Errorf("%+v, %v", got, err)
	}
}

// hashOf is what a memory stores as the hash of a document.
func hashOf(d memory.Document) []byte {
	h := sha256.New()
	for _, s := range []string{string(d.Kind), d.Role, d.Speaker, d.Project, d.Text} {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	id := sha256.Sum256([]byte(d.ID))
	return append(h.Sum(nil)[:16], id[:4]...)
}
