package agent

import (
	"context"
	"fmt"
	"slices"

	"mylm/providers/calling"
)

// answerRetries is how often a model may correct an answer that does not fit.
const answerRetries = 2

// fitsSchema reports whether the answer is a value that fits. One that does not is
// sent back with the reason, or ends the run.
func (r *run) fitsSchema(ctx context.Context) bool {
	s, entries := &r.state, r.session.snapshot()
	answer := answerIn(entries, append(slices.Clone(s.Continued), r.session.last())...)
	_, problem := r.agent.answer.Read(answer)
	if problem == "" {
		return true
	}
	problem = calling.FirstWords(problem, calling.MaxDetail)
	if s.Checks++; s.Checks <= answerRetries && r.turnsLeft() {
		r.requestCorrection(ctx, []string{"The answer is not a JSON value that fits the schema: " + problem}, "Write the value alone.", ": "+problem)
		return false
	}
	s.Stop = StopNotVerified
	r.err = &LimitError{Reason: s.Stop, Limit: "AnswerSchema", Value: s.Checks, Message: fmt.Sprintf("the answer does not fit the schema: %s", problem)}
	return false
}
