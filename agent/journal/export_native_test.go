package journal_test

import (
	"strings"
	"testing"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/providers"
)

// A call that a server took out of a reply is cleaned like the text, whether its
// arguments are JSON or not.
func TestCleanServerCall(t *testing.T) {
	for _, args := range []string{`{"key":"secret"}`, `{"key":"secret`} {
		was := agent.ReplyEntry{Native: &providers.ServerCall{Name: "look", Args: args}}
		_, clean := journal.Clean(journal.Header{}, []agent.Entry{{Seq: 1, Payload: was}}, func(s string) string {
			return strings.ReplaceAll(s, "secret", "***")
		})
		got := clean[0].Payload.(agent.ReplyEntry).Native
		if want := strings.ReplaceAll(args, "secret", "***"); got.Name != "look" || got.Args != want || was.Native.Args != args {
			t.Errorf("%+v, want %s; the entry itself has %s", got, want, was.Native.Args)
		}
	}
}
