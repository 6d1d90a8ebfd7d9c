package calling

import (
	"bytes"
	"slices"
	"sync"
)

// Bounds of what is remembered of requests: programs send the same tools each time, some
// of them several sets in turn.
const (
	maxShown      = 8
	maxShownBytes = 1 << 20 // of one
)

// shown is what a request has besides its conversation, as the model is shown it.
type shown struct {
	identity string
	tools    []Tool
	choice   Choice
	format   string

	all     *toolset // that the caller has
	offered *toolset // those that may be called
	system  string   // the system prompt
}

func (s *shown) is(o *shown) bool {
	return s.identity == o.identity && s.format == o.format && s.choice.Mode == o.choice.Mode && slices.Equal(s.choice.Only, o.choice.Only) &&
		slices.EqualFunc(s.tools, o.tools, func(a, b Tool) bool {
			return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
		})
}

func (s *shown) size() int {
	n := len(s.identity) + len(s.format)
	for _, t := range s.tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return n
}

// own copies what s is compared by: the caller may change its own in place.
func (s *shown) own() {
	s.choice.Only, s.tools = slices.Clone(s.choice.Only), slices.Clone(s.tools)
	for i := range s.tools {
		s.tools[i].Schema = bytes.Clone(s.tools[i].Schema)
	}
}

// knownShown is the last ones, the one that was used last in front.
type knownShown struct {
	mu   sync.Mutex
	last []*shown
}

// get returns what is remembered of a request like want, or makes it.
func (k *knownShown) get(want *shown, complete func(*shown) error) (*shown, error) {
	k.mu.Lock()
	if at := slices.IndexFunc(k.last, want.is); at >= 0 {
		found := k.last[at]
		copy(k.last[1:], k.last[:at])
		k.last[0] = found
		k.mu.Unlock()
		return found, nil
	}
	k.mu.Unlock()
	if err := complete(want); err != nil || len(want.tools) == 0 || want.size() > maxShownBytes {
		return want, err
	}
	want.own()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = slices.Insert(k.last, 0, want)
	if len(k.last) > maxShown {
		k.last[maxShown] = nil
		k.last = k.last[:maxShown]
	}
	return want, nil
}

// show is what the model is shown of a request besides its conversation.
func (m *Model) show(q Request, identity string) (*shown, error) {
	want := &shown{identity: identity, tools: q.Tools, choice: q.Choice}
	if q.Format != nil {
		want.format = string(q.Format.Text())
	}
	return m.shown.get(want, func(s *shown) (err error) {
		if s.all, err = newToolset(q.Tools); err != nil {
			return err
		}
		s.offered = &toolset{}
		switch q.Choice.Mode {
		case Auto, Required:
			if s.offered, err = s.all.only(q.Choice.Only); err != nil {
				return err
			}
			if q.Choice.Mode == Required && len(s.offered.names) == 0 {
				return bad("tool_choice", "a call is required, and there are no tools")
			}
		case None:
		default:
			return bad("tool_choice", "unknown mode %q", q.Choice.Mode)
		}
		s.system, err = m.system(identity, q, s.offered)
		return err
	})
}
