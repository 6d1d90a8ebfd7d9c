package memory_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mylm/memory"
)

// TestManyWords: each of the words of a long text finds it.
func TestManyWords(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "w%05dx ", i)
	}
	s := fresh(t)
	add(t, s, memory.Document{Text: b.String()}, memory.Document{Text: "something else"})
	for _, word := range []string{"w00000x", "w65535x", "w65536x", "w99999x"} {
		if hits := search(t, s, memory.Query{Text: word}); len(hits) != 1 {
			t.Errorf("%s finds %d documents", word, len(hits))
		}
	}
	healthy(t, s)
}

// TestOldToolOutput: of what a tool printed long ago the call and the lines remain
// that were talked about, and what is younger stays whole.
func TestOldToolOutput(t *testing.T) {
	now := day
	path := filepath.Join(t.TempDir(), "memory.db")
	s, err := memory.Open(t.Context(), path, memory.Options{ToolsWhole: 90 * 24 * time.Hour, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var output strings.Builder
	for i := range 40 {
		fmt.Fprintf(&output, "line %d of some log\n", i)
		if i == 20 {
			output.WriteString("listening on port 4711 behind the proxy\n")
		}
	}
	run := func(session string) string {
		all := add(t, s,
			memory.Document{Kind: memory.Exchange, Role: "user", Session: session, Text: "which port does the proxy use?"},
			memory.Document{Kind: memory.Tool, Role: "tool", Session: session, Text: "execute_command {}\n" + output.String()},
			memory.Document{Kind: memory.Exchange, Role: "assistant", Session: session, Text: "It is port 4711."})
		return all[1].ID
	}
	old := run("one")
	now = now.Add(100 * 24 * time.Hour)
	young := run("two")
	for i := range 60 { // until the index is made
		var some []memory.Document
		for n := range 10 {
			some = append(some, memory.Document{Text: fmt.Sprint("number ", 10*i+n)})
		}
		add(t, s, some...)
	}
	d, err := s.Get(t.Context(), old)
	if err != nil || len(d.Text) > 300 || !strings.HasPrefix(d.Text, "execute_command {}\n…\n") || !strings.Contains(d.Text, "\nlistening on port 4711 behind the proxy") {
		t.Errorf("the old one: %q, %v", d.Text, err)
	}
	if d, err = s.Get(t.Context(), young); err != nil || !strings.HasSuffix(d.Text, output.String()) {
		t.Errorf("the young one: %q, %v", d.Text, err)
	}
	if hits := search(t, s, memory.Query{Text: "4711 proxy", Kinds: []memory.Kind{memory.Tool}}); len(hits) == 0 {
		t.Error("it is not found any more")
	}
	if hits := search(t, s, memory.Query{Text: "line 39 log", Kinds: []memory.Kind{memory.Tool}}); len(hits) != 1 || hits[0].ID != young {
		t.Errorf("what was cut finds %v", textsOf(hits))
	}
	healthy(t, s)
}

// TestShortenEnds: whatever a tool printed, at most 300 bytes of it remain, and the
// next time nothing changes. What stays too long would be chosen again each time,
// in place of what is newer.
func TestShortenEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	now := day
	s, err := memory.Open(t.Context(), path, memory.Options{ToolsWhole: time.Hour, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	add(t, s, memory.Document{Text: "the heron flies"})
	printed := []string{"ls\n" + strings.Repeat("heron\nzz\n", 200)}
	r := rand.New(rand.NewPCG(1, 2))
	lines := []string{"heron", "zz", "", "a heron", "…", "heron本", strings.Repeat("heron ", 16) + "heré", strings.Repeat("本", 50) + " heron"}
	for range 300 {
		var b strings.Builder
		for of := 1 + r.IntN(len(lines)); b.Len() <= 300+r.IntN(2000); b.WriteByte('\n') {
			b.WriteString(lines[r.IntN(of)])
		}
		printed = append(printed, "x"+b.String())
	}
	tools := memory.Filter{Kinds: []memory.Kind{memory.Tool}}
	for some := range slices.Chunk(printed, 5) {
		docs := []memory.Document{{Text: fmt.Sprint("another heron flies, number ", len(some[0]))}}
		for _, text := range some {
			docs = append(docs, memory.Document{Kind: memory.Tool, Text: text})
		}
		add(t, s, docs...)
	}
	shortened := func() (texts []string) {
		t.Helper()
		now = now.Add(24 * time.Hour)
		fold(t, s)
		all, err := s.List(t.Context(), tools, 0)
		if err != nil || len(all) < 100 {
			t.Fatal(len(all), err)
		}
		for _, d := range all {
			if len(d.Text) > 300 {
				t.Errorf("%d bytes remain: %q", len(d.Text), d.Text)
			}
			texts = append(texts, d.Text)
		}
		return texts
	}
	if once := shortened(); !slices.Equal(once, shortened()) {
		t.Error("shortening again changes something")
	}
	healthy(t, s)
}

// TestShortenHourly: to look for old outputs reads all documents, so it is not done with
// each fold.
func TestShortenHourly(t *testing.T) {
	now := day
	s, err := memory.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"), memory.Options{ToolsWhole: time.Minute, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d := add(t, s, memory.Document{Kind: memory.Tool, Text: strings.Repeat("heron\n", 100)})[0]
	for i, whole := range []bool{true, true, false} { // when it is young; soon after; an hour later
		now = day.Add([]time.Duration{0, 2 * time.Minute, time.Hour}[i])
		fold(t, s)
		if got, err := s.Get(t.Context(), d.ID); err != nil || (got.Text == d.Text) != whole {
			t.Errorf("%v later: whole is %v, %v", now.Sub(day), !whole, err)
		}
	}
}

// TestFoldWithoutShortening: documents go into the index also where what tools
// printed cannot be shortened.
func TestFoldWithoutShortening(t *testing.T) {
	now := day
	path := filepath.Join(t.TempDir(), "memory.db")
	s, err := memory.Open(t.Context(), path, memory.Options{ToolsWhole: time.Hour, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	long := strings.Repeat("heron\n", 100)
	d := add(t, s, memory.Document{Kind: memory.Tool, Text: long})[0]
	execute(t, path, "CREATE TRIGGER refused BEFORE UPDATE OF text ON documents BEGIN SELECT RAISE(ABORT, 'refused'); END")
	now = now.Add(24 * time.Hour)
	fold(t, s)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var pending int
	if err := db.QueryRow("SELECT count(*) FROM documents WHERE num > (SELECT coalesce(max(last), 0) FROM segments)").Scan(&pending); err != nil || pending > 512 {
		t.Errorf("%d documents are pending, %v", pending, err)
	}
	if d, err = s.Get(t.Context(), d.ID); err != nil || d.Text != long {
		t.Errorf("the trigger let pass %q, %v", d.Text, err)
	}
}

// fold adds so many documents that the index is made of them.
func fold(t *testing.T, s *memory.Store) {
	t.Helper()
	st, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	notes := make([]memory.Document, 600)
	for i := range notes {
		notes[i].Text = fmt.Sprint("number ", st.Documents+i)
	}
	add(t, s, notes...)
}
