package recall_test

import (
	"testing"

	"mylm/memory"
	"mylm/tools"
	"mylm/tools/recall"
)

// A note of another program counts as a stranger's words also where an earlier version
// has kept it, without a tag.
func TestNotesOfOthers(t *testing.T) {
	note := func(source, role string) memory.Document {
		return memory.Document{Text: "The staging host is heron, says " + source + ".", Kind: memory.Note, Role: role, Project: "/src/shop", Source: source}
	}
	for name, test := range map[string]struct {
		note memory.Document
		want string
	}{
		"the model's own": {note(recall.RememberName, "assistant"), tools.Memory},
		"a person's":      {note("memory add", "user"), tools.Memory},
		"of no source":    {note("", "assistant"), tools.Memory},
		"another's":       {note("other-agent", "assistant"), tools.Elsewhere},
	} {
		if o := newRig(t, nil, test.note).call(recall.SearchMemoryName, `{"query":"staging host"}`); o.Origin != test.want {
			t.Errorf("%s: the origin is %q, want %q\n%s", name, o.Origin, test.want, o.Text)
		}
	}
}
