package eval_test

import (
	"bytes"
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

// An exam that stopped is not complete after a kill while it asks tasks again.
func TestKilledWhileAgain(t *testing.T) {
	t.Parallel()
	suite := eval.Smoke()
	log, err := eval.Create(filepath.Join(t.TempDir(), "exam"), eval.Exam{Model: "m", Suite: suite.Name, Tasks: len(suite.Tasks), Runs: 1}, suite)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(log.Dir(), "log.jsonl")
	student := evaltest.Student{Suite: suite, P: 1}
	fails := failsOn{student, suite.Tasks[:2]}
	var stopped []byte
	for _, o := range []eval.Options{{Agent: agent.Options{Model: fails}}, {Agent: agent.Options{Model: fails}, Budget: eval.Budget{Tokens: 1}}, {Agent: agent.Options{Model: student}}} {
		if stopped, err = os.ReadFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		o.Suite, o.Log, o.Agent.Tries = suite, log, 1
		_, _ = eval.Run(t.Context(), o) // the second one stops
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	outcome := bytes.Index(whole[len(stopped):], []byte(`{"outcome"`)) + len(stopped)
	killed := outcome + bytes.IndexByte(whole[outcome:], '\n') + 1
	if err := os.WriteFile(path, whole[:killed], 0o600); err != nil {
		t.Fatal(err)
	}
	if log, err = eval.Open(log.Dir()); err != nil {
		t.Fatal(err)
	}
	if r, err := log.Report(); err != nil || r.Done != 12 || r.Total.Passed != 11 || r.Stopped == "" {
		t.Errorf("%d asked, %d passed, stopped %q, %v", r.Done, r.Total.Passed, r.Stopped, err)
	}
}
