package protocol_test

import (
	"strings"
	"testing"

	"mylm/protocol"
)

// What Close finds to be a call in a form that is not read was doubtful from its
// beginning on, however the reply came: of the words that announce it no more than
// words was free. Of a result that the model made up nothing was.
func TestDoubtful(t *testing.T) {
	defaults, n := vectorTools(t), 0
	for _, v := range vectors(t) {
		set := defaults
		if defs, ok := section(v.Archive, "tools"); ok {
			set = parseToolset(t, defs)
		}
		reply, _ := section(v.Archive, "reply")
		o, stop := options(t, v.Archive, set)
		for _, size := range []int{1, 3, 7, 40} {
			d := protocol.NewDecoder(o)
			text, free := "", 0
			var verdict *protocol.FormatError
			take := func(parts []protocol.Part) {
				for _, p := range parts {
					switch p.Kind {
					case protocol.Text:
						text += p.Text
					case protocol.Retract:
						text, free = "", 0
					case protocol.Malformed:
						verdict = p.Err
					}
				}
			}
			for rest := reply; rest != ""; {
				piece := rest[:min(size, len(rest))]
				rest = rest[len(piece):]
				take(d.Push(piece))
				doubtful := d.Doubtful()
				if doubtful < 0 || doubtful > len(text) {
					t.Fatalf("%s: %d of %d bytes", v.name, doubtful, len(text))
				}
				free = max(free, len(text)-doubtful)
			}
			decided := d.Done()
			take(d.Close(stop))
			if !decided && verdict != nil && verdict.Reason == protocol.InventedObservation {
				if at := len(text) - (len(reply) - int(verdict.Offset)); at < free {
					t.Errorf("%s, in pieces of %d: %q was free", v.name, size, text[at:free])
				}
				continue
			}
			if verdict == nil || verdict.Raw != "" || verdict.Reason != protocol.UnknownForm && verdict.Reason != protocol.EscapedCall && verdict.Reason != protocol.FencedCall {
				continue
			}
			n++
			at := len(text) - (len(reply) - int(verdict.Offset))
			if at < 0 || at > free {
				continue
			}
			if said := text[at:free]; strings.ContainsAny(said, "{}<()") || strings.Contains(said, verdict.Tool) {
				t.Errorf("%s, in pieces of %d: %q was free of\n%s", v.name, size, said, text)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d replies", n)
	}
}

// Prose is free but for the word that is being written, and so is code in a fence.
func TestProseIsNotDoubtful(t *testing.T) {
	const prose = "# Title\n\nTo read a file, call the function: it takes a path.\n\n- **First**, open it (see below) [here](http://x).\n1. Read it, " +
		"if a < b and c > d.\n\n```go\nfunc main() {\n\tread_file(\"x\")\n}\n```\n\nActually: done. Use x{1} and <b>bold</b>.\n| a | b |\n|---|---|\n"
	o := protocol.Options{Tools: vectorTools(t)}
	d := protocol.NewDecoder(o)
	for i := range len(prose) {
		d.Push(prose[i : i+1])
		if n := d.Doubtful(); n > 24 {
			t.Fatalf("%d bytes are doubtful at %q", n, prose[:i+1])
		}
	}
}

// What an answer shows goes on once its object has ended, blank lines inside or not.
func TestDoubtEndsWithTheObject(t *testing.T) {
	for _, inside := range []string{"", "\n\n", "\n\n\n", "\n\n\"a\": 1,\n\n"} {
		d, text := protocol.NewDecoder(protocol.Options{Tools: vectorTools(t)}), ""
		for _, c := range "So:\n\n{\"name\": \"x\", \"arguments\": {" + inside + "\"to\": 1}}\n\nIt is read at the start.\n\nMore follows.\n\n" {
			for _, p := range d.Push(string(c)) {
				text += p.Text
			}
			d.Doubtful()
		}
		if n := d.Doubtful(); n > 20 {
			t.Errorf("with %q inside, %q is in doubt", inside, text[len(text)-n:])
		}
	}
}

// However many objects an answer shows, and however many blank lines are in one, what follows goes on.
func TestDoubtEndsWithEachObject(t *testing.T) {
	object := "{\"name\": \"x\",\n\n\"arguments\": {\n\n\"to\": 1}}\n\nIt is read.\n\n"
	for name, shown := range map[string]string{
		"many objects":     strings.Repeat(object, 20),
		"many blank lines": "{\"name\": \"x\", \"arguments\": {" + strings.Repeat("\n\n\"to\": 1,", 20) + "\n\n\"to\": 1}}\n\n" + strings.Repeat("Much is said of it.\n\n", 60),
	} {
		d, text := protocol.NewDecoder(protocol.Options{Tools: vectorTools(t)}), ""
		for _, c := range "So:\n\n" + shown {
			for _, p := range d.Push(string(c)) {
				text += p.Text
			}
			d.Doubtful()
		}
		if n := d.Doubtful(); n > 20 {
			t.Errorf("%s: %d bytes are in doubt", name, n)
		}
	}
}
