package evaltest

import (
	"context"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"mylm/agent/eval"
	"mylm/providers"
	"mylm/tools"
)

// Run examines a model, and logs each task that it did not pass. The test fails if less
// than the share least of the tasks pass (0.9 for 90%), or if the exam does not come to
// its end. It returns the report of what was reached; nil: nothing was.
func Run(t testing.TB, suite *eval.Suite, o eval.Options, least float64) *eval.Report {
	t.Helper()
	o.Suite = suite
	report, err := eval.Run(t.Context(), o)
	if err != nil {
		t.Errorf("exam %s: %v", suite.Name, err)
	}
	if report == nil {
		return nil
	}
	for _, f := range report.Failures() {
		t.Logf("task %s, run %d: %s: %s", f.Task, f.Run, f.Cause, f.Detail)
	}
	total := report.Total
	t.Logf("exam %s: %d of %d passed, %.0f%% (95%% interval %.0f%% to %.0f%%)", suite.Name, total.Passed, total.Of, 100*total.Rate, 100*total.Low, 100*total.High)
	if total.Of == 0 || total.Rate < least {
		t.Errorf("exam %s: %.1f%% passed, at least %.1f%% must", suite.Name, 100*total.Rate, 100*least)
	}
	return report
}

// Verify fails the test for each task whose right script does not pass, or one of
// whose wrong scripts does. more are tools that tasks name beside the suite's.
func Verify(t testing.TB, suite *eval.Suite, more *tools.Registry) {
	t.Helper()
	if err := suite.Verify(t.Context(), more); err != nil {
		t.Errorf("suite %s: %v", suite.Name, err)
	}
}

// Student is a model that has learned a suite by heart: it follows the right script
// of a task with the probability P, else a wrong one. Which one depends on Salt, the
// task and the seed of the request alone. It may be used by several goroutines.
type Student struct {
	Suite *eval.Suite
	P     float64
	Salt  uint64
}

// Reply is the reply to the last message of a conversation.
func (s Student) Reply(messages []providers.Message, seed int) string {
	task, step := s.Place(messages)
	if task == nil {
		return "I do not know that question."
	}
	script := task.Right
	if r := s.coin(task, seed); r.Float64() >= s.P {
		script = task.Wrong[r.IntN(len(task.Wrong))]
	}
	if step >= len(script) {
		return "I have nothing to add."
	}
	return script[step].Reply()
}

// Knows reports whether it follows the right script of a task.
func (s Student) Knows(t *eval.Task, seed int) bool { return s.coin(t, seed).Float64() < s.P }

func (s Student) coin(t *eval.Task, seed int) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(t.ID))
	return rand.New(rand.NewPCG(h.Sum64(), s.Salt^uint64(seed)<<32))
}

// Place finds the task of a conversation, and how many replies it has so far. The task
// is nil if the conversation is about none of the suite.
func (s Student) Place(messages []providers.Message) (*eval.Task, int) {
	replies := 0
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		if m.Role == providers.Assistant {
			replies++
		}
		if m.Role != providers.User {
			continue
		}
		for _, t := range s.Suite.Tasks {
			if strings.TrimSpace(t.Question) == strings.TrimSpace(strings.ReplaceAll(m.Text, `<\`, "<")) {
				return t, replies
			}
		}
	}
	return nil, 0
}

// Generate implements providers.Model.
func (s Student) Generate(_ context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		seed := 0
		if r.Seed != nil {
			seed = *r.Seed
		}
		text := s.Reply(r.Messages, seed)
		size := 0
		for _, m := range r.Messages {
			size += len(m.Text)
		}
		yield(providers.Chunk{Text: text, Stop: providers.StopEnd, Usage: providers.Usage{Prompt: 1 + size/4, Output: 1 + len(text)/4}}, nil)
	}
}
