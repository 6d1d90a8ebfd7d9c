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

// The reason shows both what there is and what was expected, short and as it is written.
func TestReasonShowsBoth(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("and so on ", 50)
	suite, err := eval.Parse([]byte("suite: s\ntools: {put: {description: Put., args: {text: {type: string}}, rules: [{add: kept, say: done}]}}\ntasks: [" +
		"{id: m, category: c, question: Say 7., check: {answer: {match: '^(seven|7" + strings.Repeat("|VII", 500) + ")$'}}, right: ['7'], wrong: [['eight'], ['nine']]}," +
		"{id: k, category: c, question: Put it., tools: [put], check: {state: {kept: [{text: x}]}}, right: [{call: put, args: {text: '</p> & " + long + "'}}, ok], wrong: [[eight], [nine]]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	suite.Tasks[0].Right[0].Text = "eight " + long
	for i, want := range []string{"which does not match ^(seven|7", `not [{"text":"x"}]`} {
		one := *suite
		one.Tasks = suite.Tasks[i : i+1]
		r, err := eval.Run(t.Context(), eval.Options{Suite: &one, Agent: agent.Options{Model: suite.Tasks[i].Right.Model()}})
		if err != nil {
			t.Fatal(err)
		}
		if d := []rune(r.Outcomes[0].Detail); len(d) > 140 || !strings.Contains(string(d), want) || strings.Contains(string(d), `\u00`) {
			t.Errorf("%d: %q", len(d), string(d))
		}
	}
}
