package sink_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mylm/agent"
	"mylm/cmd/mylm/internal/sink"
	"mylm/cmd/mylm/internal/term"
)

// A short wait is not shown as none.
func TestRetryWait(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		0:                       "retry 2 now: busy",
		4 * time.Millisecond:    "retry 2 now: busy",
		44 * time.Millisecond:   "retry 2 in 40ms: busy",
		1512 * time.Millisecond: "retry 2 in 1.51s: busy",
	} {
		stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		defer stderr.Close()
		terminal := sink.NewTerminal(term.NewScreen(term.Streams{In: stderr, Out: stderr, Err: stderr}), sink.Options{})
		if err := terminal.Event(agent.Event{Payload: agent.Retry{Attempt: 2, Wait: wait, Reason: "busy"}}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(stderr.Name()); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%v: %q, %v, want %q", wait, got, err, want)
		}
	}
}
