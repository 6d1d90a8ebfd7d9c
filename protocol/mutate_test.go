package protocol_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"mylm/protocol"
)

// fragments are what models, editors and attackers put in between.
var fragments = []string{
	"\u00a0", "\u200b", "\u0085", "\ufeff", "\xff", "\x00", "\"", "'", "`", "```", "<", ">", "</", "{", "}", "[", "]", "&", "&#0;", "\\",
	"<!--", "]]>", "<|im_end|>", "</think>", "</s>", ":", "= ", "\r", "\n\n", "e.g.", "“", "None",
}

// TestMutatedVectors puts fragments behind each mark of each vector: two in turn, all of
// them with MYLM_SLOW, one with -short. What comes out is for the vectors to say; here it
// only has to be sound: no panic, arguments that are JSON, and the same in two pieces.
func TestMutatedVectors(t *testing.T) {
	tools, tried, every := vectorTools(t), 0, 16
	switch {
	case os.Getenv("MYLM_SLOW") != "":
		every = 1
	case testing.Short():
		every = len(fragments)
	}
	for _, v := range vectors(t) {
		a := v.Archive
		reply, ok := section(a, "reply")
		if !ok || len(reply) > 1000 {
			continue
		}
		o := protocol.Options{Tools: tools}
		if own, ok := section(a, "tools"); ok {
			o.Tools = parseToolset(t, own)
		}
		for at, c := range reply {
			if !strings.ContainsRune("<>{}[]():,\"\n", c) {
				continue
			}
			tried++
			for k := tried % every; k < len(fragments); k += every {
				sound(t, o, reply[:at+1]+fragments[k]+reply[at+1:], at+2)
			}
		}
	}
}

func sound(t *testing.T, o protocol.Options, reply string, cut int) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%q: panic: %v", reply, p)
		}
	}()
	once := read(o, protocol.End, reply)
	if once.call != nil && !json.Valid(once.call.Args) {
		t.Errorf("%q: the arguments are no JSON: %s", reply, once.call.Args)
	}
	twice := read(o, protocol.End, reply[:cut], reply[cut:])
	if once.whole() != twice.whole() {
		t.Errorf("%q cut at %d:\n got %s\nwant %s", reply, cut, twice.whole(), once.whole())
	}
}
