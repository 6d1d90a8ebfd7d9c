package memory_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mylm/memory"
)

// TestSalvage checks the details of a repair: the log is read, corrections are kept,
// forgotten documents stay forgotten, and those whose tags are lost count as foreign.
func TestSalvage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "memory.db")
	s := open(t, path)
	fill(t, s, 600)
	long := strings.Repeat("a long text goes on other pages ", 2000)
	stored, err := s.Add(t.Context(), memory.Document{Text: "the host is heron"}, memory.Document{Text: "the host is kestrel"},
		memory.Document{Text: "zzyzx must go"}, memory.Document{Text: long, Tags: []string{"a", "b"}, Session: "s", Speaker: "Ada", Time: day},
		memory.Document{Text: "its tags cannot be read", Tags: []string{"zig", "foreign"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Supersede(t.Context(), stored[0].ID, stored[1].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(t.Context(), memory.Filter{IDs: []string{stored[2].ID}}); err != nil {
		t.Fatal(err)
	}
	late, err := s.Add(t.Context(), memory.Document{Text: "only in the log"})
	if err != nil {
		t.Fatal(err)
	}
	want := contents(t, s)
	unreadable := func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte(`["zig","foreign"]`), []byte(`["zig","foreign"}`))
	}
	db, log := unreadable(read(t, path)), unreadable(read(t, path+"-wal"))
	s.Close()

	copied := filepath.Join(t.TempDir(), "memory.db")
	copy(db, make([]byte, 100)) // no database any more
	write(t, copied, db)
	write(t, copied+"-wal", log)
	write(t, copied+".damaged", nil) // else SQLite would read the log first
	s = open(t, copied)
	defer s.Close()
	got := s.Salvaged()
	if got == nil || got.Saved != len(want) || got.Lost != 0 {
		t.Fatalf("Salvaged = %+v, want %d saved, none lost", got, len(want))
	}
	if message := got.String(); !strings.Contains(message, copied) || !strings.Contains(message, got.Aside) || !strings.Contains(message, fmt.Sprintf("%d documents", len(want))) {
		t.Errorf("the message does not say it: %s", message)
	}
	if first, err := s.Get(t.Context(), stored[0].ID); err != nil || first.SupersededBy != stored[1].ID {
		t.Errorf("%+v, %v: want superseded by %s", first, err, stored[1].ID)
	}
	if d, err := s.Get(t.Context(), stored[3].ID); err != nil || fmt.Sprint(d) != fmt.Sprint(stored[3]) {
		t.Errorf("the long text came back as %.200v, %v", d, err)
	}
	if d, err := s.Get(t.Context(), stored[4].ID); err != nil || !slices.Equal(d.Tags, []string{"foreign"}) {
		t.Errorf("the tags that cannot be read came back as %q, %v", d.Tags, err)
	}
	if d, err := s.Get(t.Context(), late[0].ID); err != nil || d.Text != late[0].Text {
		t.Errorf("what was in the log: %+v, %v", d, err)
	}
	if hits, err := s.Search(t.Context(), memory.Query{Text: "zzyzx"}); err != nil || len(hits) > 0 {
		t.Errorf("what was forgotten is back: %v, %v", hits, err)
	}
	healthy(t, s)
	if _, err := os.Stat(copied + ".damaged"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the mark of damage stands: %v", err)
	}
}

// TestSalvageGoesOn continues a repair that was killed while it moved files: the
// marker of damage names them, also if their folder has another name by now.
func TestSalvageGoesOn(t *testing.T) {
	for i, moved := range []bool{true, false, true} {
		path := filepath.Join(t.TempDir(), "memory.db")
		want := sample(t, path, 100)
		aside := path + ".damaged-earlier"
		named := []string{aside, aside, "/elsewhere/" + filepath.Base(aside)}[i]
		write(t, path+".damaged", []byte(named))
		write(t, path+".new", []byte("half a database"))
		if moved {
			if err := os.Rename(path, aside); err != nil {
				t.Fatal(err)
			}
		}
		s := open(t, path)
		if got := s.Salvaged(); got == nil || got.Saved != len(want) || got.Aside != aside {
			t.Errorf("moved %v: %+v, want %d saved from %s", moved, got, len(want), aside)
		}
		s.Close()
	}
}

// TestSalvageWithoutLog: documents may be in the log alone, so that a log which cannot
// be opened ends the repair.
func TestSalvageWithoutLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	want := sample(t, path, 100)
	write(t, path+".damaged", nil)
	loop := filepath.Join(filepath.Dir(path), "loop")
	if err := errors.Join(os.Symlink(loop, loop), os.Symlink(loop, path+"-wal")); err != nil {
		t.Skip(err)
	}
	if s, err := memory.Open(t.Context(), path, memory.Options{}); err == nil {
		t.Errorf("%v, without a word about the log", s.Salvaged())
		s.Close()
	}
	all, err := filepath.Glob(path + ".damaged-*-wal")
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if err := os.Remove(all[0]); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	defer s.Close()
	if got := s.Salvaged(); got == nil || got.Saved != len(want) {
		t.Errorf("the next time: %v", got)
	}
}

// TestTotalLoss: if nothing can be read, the number of lost documents is unknown.
func TestTotalLoss(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	sample(t, path, 100)
	write(t, path, bytes.Repeat([]byte("x"), 1<<16))
	s := open(t, path)
	defer s.Close()
	if got := s.Salvaged(); got == nil || got.Saved != 0 || !strings.Contains(got.String(), "nothing in it can be read, and how many documents it held is unknown") {
		t.Errorf("%v", got)
	}
}
