package scriptmodel

import (
	"fmt"
	"slices"
)

// Cond is a condition on the conversation, compiled into the chat template.
//
// It sees the messages as the template does: after the server has dropped what
// does not fit and, with a Go template, merged neighbours of one role.
type Cond struct {
	kind condKind
	text string
	n    int
	not  bool
}

type condKind int

const (
	condLast    condKind = iota // the last message contains text
	condSystem                  // a system message contains text
	condCount                   // n messages contain text; n < 0: at least one
	condReplies                 // the conversation holds n assistant messages
	condThinks                  // thinking is on
)

// LastContains holds if the last message contains text.
func LastContains(text string) Cond { return Cond{kind: condLast, text: text} }

// SystemContains holds if a system message contains text.
func SystemContains(text string) Cond { return Cond{kind: condSystem, text: text} }

// AnyContains holds if any message contains text.
func AnyContains(text string) Cond { return Cond{kind: condCount, text: text, n: -1} }

// Count holds if exactly n messages contain text.
func Count(text string, n int) Cond { return Cond{kind: condCount, text: text, n: n} }

// Replies holds if the conversation has exactly n assistant messages.
func Replies(n int) Cond { return Cond{kind: condReplies, n: n} }

// Thinks holds if the request asked for thinking, or left it to the model.
func Thinks() Cond { return Cond{kind: condThinks} }

// Not inverts a condition.
func Not(c Cond) Cond {
	c.not = !c.not
	return c
}

// needles lists the distinct texts that conditions of one kind look for.
func (m *Model) needles(kind condKind) []string {
	var out []string
	for _, s := range m.Scripts {
		for _, c := range s.When {
			if c.kind == kind && !slices.Contains(out, c.text) {
				out = append(out, c.text)
			}
		}
	}
	return out
}

func (m *Model) check() error {
	for i, s := range m.scripts() {
		if s.Loop && s.Say == "" {
			return fmt.Errorf("script %d: a loop needs text", i)
		}
		for _, c := range s.When {
			if c.text == "" && (c.kind == condLast || c.kind == condSystem || c.kind == condCount) {
				return fmt.Errorf("script %d: a condition looks for an empty text", i)
			}
		}
	}
	return nil
}
