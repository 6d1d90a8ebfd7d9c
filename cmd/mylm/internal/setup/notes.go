package setup

import (
	"mylm/cmd/mylm/internal/config"
	"mylm/prompts"
)

// Notes are the paths of the AGENTS.md files that the model is shown, the nearest
// first. What is wrong with one is said when a run is set up.
func Notes(c *config.Config) []string {
	s := &Setup{Request: Request{Config: c, Notify: unsaid{}}}
	_, _ = s.projectSection(prompts.Default())
	return s.Notes
}

// unsaid is a Notify that says nothing.
type unsaid struct{}

func (unsaid) Say(string) {}
func (unsaid) Dim(string) {}

func (unsaid) Busy(string) func() { return func() {} }
