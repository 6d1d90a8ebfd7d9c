package eval_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/agent/eval"
	"mylm/agent/eval/evaltest"
	"mylm/providers/scripted"

	"go.yaml.in/yaml/v3"
)

// Every check can pass and can fail: the right script of each task passes, and each
// wrong one fails.
func TestCoreVerifies(t *testing.T) {
	t.Parallel()
	core := eval.Core()
	if n := len(core.Tasks); n < 80 {
		t.Errorf("core has %d tasks", n)
	}
	if n := len(eval.Smoke().Tasks); n != 12 {
		t.Errorf("smoke has %d tasks", n)
	}
	if err := core.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// Conditions on a text hold as they are documented.
func TestConditions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		conditions, answer string
		holds              bool
	}{
		{"{all: [a, b]}", "B and A", true},
		{"{all: [a, b]}", "A", false},
		{"{any: [a, b]}", "only B", true},
		{"{any: [a, b]}", "C", false},
		{"{none: [a, b]}", "C", true},
		{"{none: [a, b]}", "C, A", false},
		{"{none: [heron]}", "It is not heron.", true},
		{"{none: [heron]}", "A tern or a heron.", false},
		{"{none: [heron]}", "heron or tern", false},
		{"{all: [heron]}", "It's not a tern — heron.", true},
		{"{all: [heron]}", "Not tern - heron", true},
		{"{all: [heron]}", "It isn't tern → heron", true},
		{"{all: [heron]}", "It is not only a heron.", true},
		{"{all: [heron]}", "It is not the white-tailed heron.", false},
		{"{is: A b}", "A b\n", true},
		{"{is: A b}", "A  b", false},
		{"{match: ^A}", "AB", true},
		{"{match: ^A}", "ab", false},
		{"{most: 2}", "one two", true},
		{"{most: 2}", "one two three", false},
		{`{all: ["a b"]}`, "**A**\n  `b`", true},
		{`{all: ["42"]}`, "It is 42.", true},
		{`{all: ["42"]}`, "It is 42.0", true},
		{`{all: ["42"]}`, "It is 142", false},
		{`{all: ["42"]}`, "It is 42.5", false},
		{`{all: ["42"]}`, "$x = \\boxed{42}$", true},
		{`{all: ["42"]}`, "４２", true},
		{`{all: ["42"]}`, "(42)", true},
		{`{all: ["42"]}`, "€42,00", true},
		{`{all: ["42"]}`, "room A-42", true},
		{`{all: ["42"]}`, "It is -42", false},
		{`{all: ["42"]}`, "It is −42 or so", false},
		{`{all: ["42"]}`, "minus 42", false},
		{`{all: ["42"]}`, "42 below zero", false},
		{`{all: ["42"]}`, "40-42", false},
		{`{all: ["42"]}`, "42 pieces or 43", false},
		{`{all: ["42"]}`, "42,000", false},
		{`{all: ["42"]}`, "42 000", false},
		{`{all: ["42"]}`, "42%", false},
		{`{all: ["42"]}`, "0,42", false},
		{`{all: ["42"]}`, "It isn't 42.", false},
		{`{all: ["42"]}`, "42 is not the number.", false},
		{`{all: ["42"]}`, "42 is not much.", true},
		{`{all: ["42"]}`, "Not 43. It is 42.", true},
		{`{all: ["42"]}`, "It is not 43 but 42.", true},
		{`{all: ["234"]}`, "1 234", false},
		{`{all: ["1.5"]}`, "1,50 m", true},
		{`{all: ["1.5"]}`, "1½", true},
		{`{all: ["1.5"]}`, "1.55", false},
		{`{all: ["v1.5"]}`, "v1.50", false},
		{`{all: ["42"]}`, "Call 42 or write.", true},
		{`{all: ["1234"]}`, "It is 1,234", true},
		{`{all: ["1,234"]}`, "It is 1.234", true},
		{`{all: ["1234"]}`, "It is 1'234", true},
		{`{all: ["1234"]}`, "It is 1\u202f234", true},
		{`{all: ["1234567"]}`, "It is 1 234 567", true},
		{`{all: ["1234"]}`, "It is 12,34", false},
		{`{any: [heron, tern]}`, "neither a heron nor a tern", false},
		{`{none: [heron]}`, "a tern, not a heron", true},
		{`{all: [heron]}`, "a heron or a tern", false},
		{"{match: A, not_match: B}", "A", true},
		{"{match: A, not_match: B}", "AB", false},
		{`{not_match: "(?i)b"}`, "ab", false},
		{`{not_match: "b*"}`, "a", false},
	} {
		suite, err := eval.Parse(fmt.Appendf(nil, "suite: s\ntasks: [{id: t, category: c, question: q, check: {answer: %s}, right: [x], wrong: [[y], [z]]}]\n", tt.conditions))
		if err != nil {
			t.Fatal(err)
		}
		r, err := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: scripted.New(scripted.Reply{Text: tt.answer})}})
		if err != nil || r.Outcomes[0].Passed != tt.holds {
			t.Errorf("%s of %q: %v, %+v", tt.conditions, tt.answer, err, r.Outcomes)
		}
	}
}

// Each number of a long answer that resembles the one to be found is judged by what is
// near it: by the whole text this would take many minutes.
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	suite, err := eval.Parse([]byte("suite: s\ntasks: [{id: t, category: c, question: q, check: {answer: {all: ['7']}}, right: ['7'], wrong: [[y], [z]]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var numbers strings.Builder
	n := 10_000
	if testing.Short() {
		n = 1_000
	}
	for i := range n {
		fmt.Fprintf(&numbers, "%d7\n", i+1)
	}
	for _, end := range []string{"7", "77"} {
		r, err := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: scripted.New(scripted.Reply{Text: numbers.String() + end})}})
		if err != nil || r.Outcomes[0].Passed != (end == "7") || r.Outcomes[0].Stop != agent.StopComplete {
			t.Errorf("%s: %v, %+v", end, err, r.Outcomes)
		}
	}
}

// A check accepts what is right in other words, and refuses what only resembles it. A
// third of the tasks is tried, an eighth with -short, all with MYLM_SLOW.
func TestOtherWords(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/answers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var answers map[string]struct{ Right, Wrong []eval.Step }
	if err := yaml.Unmarshal(text, &answers); err != nil {
		t.Fatal(err)
	}
	core, every := eval.Core(), 3
	switch {
	case os.Getenv("MYLM_SLOW") != "":
		every = 1
	case testing.Short():
		every = 8
	}
	for n, task := range core.Tasks {
		rows := answers[task.ID]
		if len(rows.Right) < 2 || len(rows.Wrong) < 3 {
			t.Errorf("%s: %d right answers and %d wrong ones", task.ID, len(rows.Right), len(rows.Wrong))
		}
		if n%every != 0 {
			continue
		}
		for i, step := range slices.Concat(rows.Right, rows.Wrong) {
			script := slices.Clone(task.Right)
			last := len(script) - 1
			script[last].Text = step.Text
			if step.Args != nil {
				script[last-1].Args = step.Args
			}
			one := *core
			one.Tasks = []*eval.Task{task}
			r, err := eval.Run(t.Context(), eval.Options{Suite: &one, Agent: agent.Options{Model: script.Model()}})
			if err != nil {
				t.Fatal(err)
			}
			if o, right := r.Outcomes[0], i < len(rows.Right); o.Passed != right {
				t.Errorf("%s: %s %q is right: %t, and the check says %t: %s", task.ID, step.Args, step.Text, right, o.Passed, o.Detail)
			}
		}
	}
}

// A right run has no call that is refused, several steps are three to eight calls, and a
// long conversation leaves little of its window.
func TestCoreIsWhatItSays(t *testing.T) {
	t.Parallel()
	core := eval.Core()
	r, err := eval.Run(t.Context(), eval.Options{Suite: core, Agent: agent.Options{Model: evaltest.Student{Suite: core, P: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range r.Outcomes {
		if len(o.Refusals) > 0 {
			t.Errorf("%s: %v", o.Task, o.Refusals)
		}
		if o.Category == "several_steps" && (o.Calls < 3 || o.Calls > 8) {
			t.Errorf("%s: %d calls", o.Task, o.Calls)
		}
		if prompt := o.Usage.Prompt / o.Turns; o.Category == "long_conversation" && prompt < core.Tasks[i].Limits.Window/2 { // a quarter is kept for the reply
			t.Errorf("%s: a prompt of about %d tokens in a window of %d", o.Task, prompt, core.Tasks[i].Limits.Window)
		}
	}
}
