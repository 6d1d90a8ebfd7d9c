package journal_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mylm/agent/journal"
)

// A path with a session's name that is not a session is listed with the reason,
// is never waited for, and can be deleted.
func TestNoFiles(t *testing.T) {
	store := newStore(t)
	good := talk(t, store, "go")
	for id, create := range map[string]func(path string) error{
		"folder":  func(path string) error { return os.Mkdir(path, 0o700) },
		"full":    func(path string) error { return os.MkdirAll(filepath.Join(path, "in"), 0o700) },
		"nowhere": func(path string) error { return os.Symlink("nothing", path) },
		"pipe":    namedPipe,
	} {
		if err := create(store.Path(id)); err != nil {
			t.Skipf("%s cannot be made here: %v", id, err)
		}
	}
	want := map[string]string{"folder": "is a directory", "full": "is a directory", "nowhere": "is a link to a missing file", "pipe": "is a named pipe"}
	problems := map[string]string{}
	all, err := store.List(t.Context(), journal.Filter{Labels: map[string]string{"project": "/src"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		problems[i.ID] = i.Problem
	}
	found := map[string]string{}
	for hit, err := range store.Search(t.Context(), "go", journal.Filter{}) {
		if err != nil {
			found[hit.Session.ID] = err.Error()
		}
	}
	for id, why := range want {
		_, _, loaded := store.Load(t.Context(), id)
		_, opened := store.Open(t.Context(), id)
		for _, text := range []string{problems[id], found[id], fmt.Sprint(loaded), fmt.Sprint(opened)} {
			if !strings.Contains(text, why) {
				t.Errorf("%s: %q", id, text)
			}
		}
	}
	last, unreadable, err := store.Last(t.Context(), journal.Filter{})
	if err != nil || last == nil || last.ID != good || len(unreadable) == 0 {
		t.Errorf("the last is %v, %v, %v", last, unreadable, err)
	}
	if n, err := store.Prune(t.Context(), time.Now().Add(time.Hour), 0); n != 4 || err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("%d deleted: %v", n, err)
	}
	if all, err := store.List(t.Context(), journal.Filter{}); err != nil || len(all) != 1 {
		t.Errorf("left are %v, %v", all, err)
	}
}

// Anything else in the place of a lock file is reported, and never waited for.
func TestNoLocks(t *testing.T) {
	store := newStore(t)
	for name, test := range map[string]struct {
		create func(path string) error
		is     string
	}{
		"folder": {func(path string) error { return os.Mkdir(path, 0o700) }, "a directory"},
		"link":   {func(path string) error { return os.Symlink("nothing", path) }, "a link"},
		"pipe":   {namedPipe, "a named pipe"},
	} {
		t.Run(name, func(t *testing.T) {
			id := talk(t, store, "go")
			path := strings.TrimSuffix(store.Path(id), ".jsonl") + ".lock"
			if err := test.create(path); err != nil {
				t.Skipf("it cannot be made here: %v", err)
			}
			_, opened := store.Open(t.Context(), id)
			for _, err := range []error{opened, store.Remove(id)} {
				if err == nil || !strings.Contains(err.Error(), path+" is "+test.is) || !strings.Contains(err.Error(), "delete it yourself") {
					t.Errorf("error %v", err)
				}
			}
			if last, _, err := store.Last(t.Context(), journal.Filter{}); err != nil || last.ID != id {
				t.Errorf("%v, %v", last, err)
			}
			if _, err := store.Prune(t.Context(), time.Now().Add(time.Hour), 0); err == nil {
				t.Error("it was deleted")
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Open(t.Context(), id); err != nil {
				t.Error(err)
			}
			store.Close()
		})
	}
}

// A search reports a line that cannot be read, wherever its words are.
func TestSearchTellsOfDamage(t *testing.T) {
	store := newStore(t)
	id := talk(t, store, "what about the heron?")
	lines := strings.SplitAfter(read(t, store.Path(id)), "\n")
	for name, bad := range map[string]string{"cut": lines[5][:30] + "\n", "zeros": strings.Repeat("\x00", 50) + "\n", "no object": `{"heron, about }` + "\n"} {
		write(t, store.Path(id), strings.Join(lines[:5], "")+bad+strings.Join(lines[6:], ""))
		hits, told := 0, ""
		for _, err := range store.Search(t.Context(), "heron about", journal.Filter{}) {
			if err == nil {
				hits++
			} else {
				told += err.Error()
			}
		}
		if hits != 1 || !strings.Contains(told, id) || !strings.Contains(told, "line 6 cannot be read") {
			t.Errorf("%s: %d hits, %q", name, hits, told)
		}
	}
}

// TestBitFlips changes one bit anywhere in a journal: it is never taken for whole.
func TestBitFlips(t *testing.T) {
	store := newStore(t)
	id := talk(t, store, "go")
	whole := []byte(read(t, store.Path(id)))
	_, entries, err := store.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		at := random.IntN(len(whole))
		if i < 30 { // the checksum of the first line, and its name
			at = bytes.IndexByte(whole, '\n') - i
		}
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1 << random.IntN(8)
		write(t, store.Path(id), string(flipped))
		if _, got, err := store.Load(t.Context(), id); err == nil {
			t.Errorf("the bit flip at byte %d (%q) goes unnoticed: %d entries of %d", at, whole[max(0, at-20):min(len(whole), at+20)], len(got), len(entries))
		}
	}
}
