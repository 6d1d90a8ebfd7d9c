package scriptmodel

import (
	"fmt"
	"slices"
)

// Cond is a condition on the conversation, compiled into the chat template.
//
// It sees the messages as the template does: after the server has dropped what
// does not fit and, with a Go template, merged neighbors of one role.
type Cond struct {
	kind condKind
	text string
}

type condKind int

const (
	condLast    condKind = iota // the last message contains text
	condSystem                  // a system message contains text
	condAny                     // some message contains text
	condReplied                 // a message of the assistant contains text
	condThinks                  // thinking is on
)

// LastContains holds if the last message contains text.
func LastContains(text string) Cond { return Cond{condLast, text} }

// SystemContains holds if a system message contains text.
func SystemContains(text string) Cond { return Cond{condSystem, text} }

// AnyContains holds if any message contains text.
func AnyContains(text string) Cond { return Cond{condAny, text} }

// Replied holds if a message of the assistant contains text.
func Replied(text string) Cond { return Cond{condReplied, text} }

// Thinks holds if the request asked for thinking, or left it to the model.
func Thinks() Cond { return Cond{kind: condThinks} }

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
			if c.text == "" && c.kind != condThinks {
				return fmt.Errorf("script %d: a condition looks for an empty text", i)
			}
		}
	}
	return nil
}
