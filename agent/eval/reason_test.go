package eval_test

import (
	"strings"
	"testing"

	"mylm/agent"
	"mylm/agent/eval"
	"mylm/agent/eval/evaltest"
)

// The reason why a task failed begins with the answer, however long the pattern is that
// it does not match: lists cut what comes last.
func TestReasonBeginsWithAnswer(t *testing.T) {
	t.Parallel()
	suite, err := eval.Parse([]byte("suite: s\ntasks: [{id: t, category: c, question: Say 7., check: {answer: {match: '^(seven|7" + strings.Repeat("|VII", 50) + ")$'}}, right: ['7'], wrong: [['eight'], ['nine']]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: evaltest.Student{Suite: suite}}})
	if err != nil || !strings.HasPrefix(r.Outcomes[0].Detail, "the answer is "+r.Outcomes[0].Answer+",") {
		t.Errorf("%v: %q", err, r.Outcomes[0].Detail)
	}
}
