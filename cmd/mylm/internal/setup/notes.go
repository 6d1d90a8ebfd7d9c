package setup

import (
	"mylm/cmd/mylm/internal/config"
	"mylm/prompts"
)

// Notes are the paths of the AGENTS.md files that the model is shown, the nearest
// first. What is wrong with one is said when a run is set up.
func Notes(c *config.Config) []string {
	s := &Setup{Request: Request{Config: c, Notify: discard{}}}
	_, _ = s.projectSection(prompts.Default())
	return s.Notes
}

// discard is a Notify that says nothing.
type discard struct{}

func (discard) Say(string) {}
func (discard) Dim(string) {}

func (discard) Busy(string) func() { return func() {} }
