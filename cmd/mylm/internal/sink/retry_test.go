package sink_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

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
		if got := printed(t, agent.Retry{Attempt: 2, Wait: wait, Reason: "busy"}); !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", wait, got, want)
		}
	}
}

// printed is what an event leaves on a stderr that is no terminal.
func printed(t *testing.T, p agent.Payload) string {
	t.Helper()
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	terminal := sink.NewTerminal(term.NewScreen(term.Streams{In: stderr, Out: stderr, Err: stderr}), sink.Options{Verbose: true})
	if err := terminal.Event(agent.Event{Payload: p}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(stderr.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// A log that is looked at later holds no control characters of a model's, either.
func TestControlCharactersInALog(t *testing.T) {
	for name, p := range map[string]agent.Payload{
		"call":   agent.ToolCall{Name: "ls\x1b[2J", Args: []byte("{\"p\x1b]0;x\x07\":1}")},
		"fault":  agent.ToolOutput{Name: "ls\x1b[2J", Error: "unknown\u009b2J"},
		"output": agent.ToolOutput{Name: "ls", Success: true, Output: "a\x1b[2Jb\tc\nd"},
	} {
		if got := printed(t, p); got == "" || strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
