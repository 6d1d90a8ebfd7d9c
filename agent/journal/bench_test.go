package journal_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/tools"
)

// BenchmarkList is what mylm sessions list costs among 5,000 sessions, and what
// it costs to list them all.
func BenchmarkList(b *testing.B) {
	store := newStore(b)
	text := read(b, store.Path(talk(b, store, "which host is staging?")))
	for i := range 5000 {
		write(b, store.Path(fmt.Sprintf("session%05d", i)), text)
	}
	for name, f := range map[string]journal.Filter{
		"the last 20":     {Limit: 20, Labels: map[string]string{"project": "/src"}},
		"all":             {},
		"of none of them": {Limit: 20, Labels: map[string]string{"project": "/other"}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := store.List(b.Context(), f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("search", func(b *testing.B) {
		b.SetBytes(int64(len(text)) * 5001)
		for b.Loop() {
			for _, err := range store.Search(b.Context(), "nothing of the kind", journal.Filter{}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkLoad reads a session of 100 MB: 2,000 results of 50 KB.
func BenchmarkLoad(b *testing.B) {
	store := newStore(b)
	id := big(b, store)
	info, err := os.Stat(store.Path(id))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("whole", func(b *testing.B) {
		b.SetBytes(info.Size())
		for b.Loop() {
			if _, _, err := store.Load(b.Context(), id); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("in a list", func(b *testing.B) {
		for b.Loop() {
			if all, err := store.List(b.Context(), journal.Filter{}); err != nil || all[0].State != "complete" {
				b.Fatal(all, err)
			}
		}
	})
}

// big is of the first version, whose lines have no checksums.
func big(b *testing.B, store *journal.Store) string {
	b.Helper()
	var text strings.Builder
	line := func(v any) {
		out, err := json.Marshal(v)
		if err != nil {
			b.Fatal(err)
		}
		text.Write(append(out, '\n'))
	}
	line(journal.Header{Format: "mylm session", Version: 1, ID: "bigone", Title: "q"})
	line(agent.Entry{Seq: 1, Run: "r", Payload: agent.RunEntry{}})
	line(agent.Entry{Seq: 2, Run: "r", Payload: agent.PromptEntry{Text: "q"}})
	output := strings.Repeat("a line of some output, \"quoted\" in part\n", 50<<10/40)
	for i := range 2000 {
		line(agent.Entry{Seq: i + 3, Run: "r", Payload: agent.ResultEntry{Name: "look", Success: true, Text: output}})
	}
	line(agent.Entry{Seq: 2003, Run: "r", Payload: agent.EndEntry{StopReason: agent.StopComplete}})
	write(b, store.Path("bigone"), text.String())
	return "bigone"
}

// BenchmarkAppend is what one entry costs: written only, and on the disk.
func BenchmarkAppend(b *testing.B) {
	for name, effect := range map[string]tools.Effect{"a call that reads": tools.Reads, "a call that writes": tools.Writes} {
		b.Run(name, func(b *testing.B) {
			store := newStore(b)
			defer store.Close()
			e := agent.Entry{Session: "bench", Seq: 1, Time: time.Now(), Run: "r", Payload: agent.PromptEntry{Text: "q"}}
			seq := 0
			for b.Loop() {
				if err := store.Append(b.Context(), e); err != nil {
					b.Fatal(err)
				}
				seq++
				e.Seq, e.Payload = seq+1, agent.CallEntry{ID: "c", Effect: &effect, Args: json.RawMessage(`{"path":"README.md"}`)}
			}
		})
	}
}
