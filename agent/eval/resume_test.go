package eval_test

import (
	"errors"
	"io/fs"
	"os"
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

// An exam whose process was killed while it began can begin again, and one that has begun
// cannot.
func TestCreateAfterKill(t *testing.T) {
	t.Parallel()
	suite, dir := eval.Smoke(), filepath.Join(t.TempDir(), "exam")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"suite.yaml", "exam.json.new"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []error{nil, fs.ErrExist} {
		if _, err := eval.Create(dir, eval.Exam{Model: "m", Suite: suite.Name, Tasks: len(suite.Tasks), Runs: 1}, suite); !errors.Is(err, want) {
			t.Errorf("%v, not %v", err, want)
		}
	}
	log, err := eval.Open(dir)
	if err != nil || log.Exam.Model != "m" {
		t.Errorf("the exam is gone: %v", err)
	}
}
