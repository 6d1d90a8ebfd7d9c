package eval_test

import (
	"path/filepath"
	"testing"

	"mylm/agent"
	"mylm/agent/eval"
	"mylm/agent/eval/evaltest"
	"mylm/providers"
)

// Of the tasks that are asked again, those that failed longest ago come first: some that
// always fail keep no others from being asked.
func TestAgainInTurn(t *testing.T) {
	t.Parallel()
	suite := eval.Smoke()
	log, err := eval.Create(filepath.Join(t.TempDir(), "exam"), eval.Exam{Model: "m", Suite: suite.Name, Tasks: len(suite.Tasks), Runs: 1}, suite)
	if err != nil {
		t.Fatal(err)
	}
	student := evaltest.Student{Suite: suite, P: 1}
	for _, tt := range []struct {
		model  providers.Model
		passed int
	}{
		{failsOn{student, suite.Tasks}, 0}, {failsOn{student, suite.Tasks}, 0}, {failsOn{student, suite.Tasks}, 0}, {failsOn{student, suite.Tasks}, 0},
		{failsOn{student, suite.Tasks[:3]}, 0}, {failsOn{student, suite.Tasks[:3]}, 9},
	} {
		r, _ := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: tt.model, Tries: 1}, Log: log}) // it may stop
		if r.Total.Passed != tt.passed {
			t.Errorf("%d of %d passed, not %d", r.Total.Passed, r.Done, tt.passed)
		}
		if log, err = eval.Open(log.Dir()); err != nil {
			t.Fatal(err)
		}
	}
}
