package memory_test

import (
	"fmt"
	"path/filepath"
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
	for i := range 600 { // until the index is made
		add(t, s, memory.Document{Text: fmt.Sprint("number ", i)})
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
