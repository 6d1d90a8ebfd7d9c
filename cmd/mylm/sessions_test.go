//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Sessions that nobody has touched for 90 days go at the end of a run, once a
// day, and without a word.
func TestOldSessionsGo(t *testing.T) {
	h := newHome(t, newPlaced(t, "Fine."))
	dir := filepath.Join(h.dir, "data", "mylm", "sessions")
	age := func(path string, days int) {
		t.Helper()
		at := time.Now().AddDate(0, 0, -days)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	ask := func() string {
		t.Helper()
		_, errs, code := h.run("ask", "q")
		if code != "0" || strings.Contains(errs, "deleted") {
			t.Fatalf("exit %s, %s", code, errs)
		}
		all, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return slices.MaxFunc(all, func(a, b string) int {
			x, err1 := os.Stat(a)
			y, err2 := os.Stat(b)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			return x.ModTime().Compare(y.ModTime())
		})
	}
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }

	old, young := ask(), ask()
	age(old, 91)
	age(young, 89)
	ask()
	if !there(old) {
		t.Error("a second time on one day")
	}
	age(filepath.Join(dir, "pruned"), 2)
	ask()
	if there(old) || !there(young) {
		t.Errorf("old is there: %v, young: %v", there(old), there(young))
	}
	age(young, 40)
	if out, _, code := h.run("sessions", "prune", "--days", "30"); code != "0" || out != "deleted 1 session\n" || there(young) {
		t.Errorf("exit %s, %q", code, out)
	}
}
