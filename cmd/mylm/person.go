package main

import "mylm/cmd/mylm/internal/term"

// person is who is asked about calls, and what came of it.
type person struct {
	term.Prompter
	stopped   bool   // the answer to a question was to stop
	forbidden bool   // a rule forbade a call
	bound     string // what asks for questions, so that --yes does not count; "" if nothing does
}

// boundBy says why --yes is no remedy.
func (p *person) boundBy() string {
	return p.bound + " asks for questions, so that --yes does not count"
}
