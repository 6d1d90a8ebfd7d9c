package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mylm/agent"
	"mylm/agent/eval"
	"mylm/agent/eval/evaltest"
	"mylm/prompts"
	"mylm/providers"
)

// untimed is a report without what differs from run to run by its nature.
func untimed(t *testing.T, r *eval.Report) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var c eval.Report
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	rows := append(c.Categories, c.Total)
	for i := range rows {
		rows[i].Seconds, rows[i].TokensPerSecond = 0, 0
	}
	c.Total = rows[len(rows)-1]
	for i := range c.Outcomes {
		o := &c.Outcomes[i]
		o.Seconds, o.Session, o.Recorded = 0, "", time.Time{}
	}
	c.Exam.ID, c.Exam.Started = "", time.Time{}
	b, err = json.MarshalIndent(c, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func number(n int) *int { return &n }

// The same seed and the same replies give the same report, whatever the number of
// workers and the order of the tasks.
func TestSameReport(t *testing.T) {
	t.Parallel()
	exam := func(workers int, suite *eval.Suite) *eval.Report {
		r, err := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: evaltest.Student{Suite: suite, P: 0.6}}, Seed: number(7), Runs: 2, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := exam(1, eval.Core())
	if n := first.Total.Passed; n < 60 || n > 160 || first.Done != 184 {
		t.Errorf("%d of %d passed", n, first.Done)
	}
	want := untimed(t, first)
	if got := untimed(t, exam(7, eval.Core())); got != want {
		t.Error("seven workers report something else")
	}
	reversed := *eval.Core()
	reversed.Tasks = slices.Clone(reversed.Tasks)
	slices.Reverse(reversed.Tasks)
	byTask := func(r *eval.Report) map[string]eval.Outcome {
		m := map[string]eval.Outcome{}
		for _, o := range r.Outcomes {
			o.Seconds, o.Recorded = 0, time.Time{}
			m[o.Task+string(rune('0'+o.Run))] = o
		}
		return m
	}
	if !reflect.DeepEqual(byTask(first), byTask(exam(3, &reversed))) {
		t.Error("another order gives other outcomes")
	}
}

// asked notes which requests reach a model.
type asked struct {
	providers.Model
	mu       sync.Mutex
	requests map[string]int
	stop     func() // called before the n-th request
	see      func(providers.Request)
	n        int
}

func (a *asked) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		text, _ := json.Marshal(r)
		a.mu.Lock()
		a.requests[string(text)]++
		if a.see != nil {
			a.see(r)
		}
		a.n--
		if a.n == 0 && a.stop != nil {
			a.stop()
		}
		a.mu.Unlock()
		for c, err := range a.Model.Generate(ctx, r) {
			if ctx.Err() != nil {
				yield(providers.Chunk{}, ctx.Err())
				return
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// An exam that is interrupted anywhere, and whose log ends in the middle of a line as
// after a kill, goes on and ends with the same report.
func TestResume(t *testing.T) {
	t.Parallel()
	suite := eval.Smoke()
	student := evaltest.Student{Suite: suite, P: 0.7}
	options := func(m providers.Model, l *eval.Log) eval.Options {
		return eval.Options{Suite: suite, Agent: agent.Options{Model: m}, Seed: number(3), Runs: 2, Workers: 2, Log: l}
	}
	create := func() *eval.Log {
		l, err := eval.Create(filepath.Join(t.TempDir(), "exam"), eval.Exam{ID: "x", Model: "student", Suite: suite.Name, Tasks: len(suite.Tasks), Runs: 2, Seed: number(3)}, suite)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	whole, err := eval.Run(t.Context(), options(student, create()))
	if err != nil {
		t.Fatal(err)
	}
	want := untimed(t, whole)
	for stopAt := 3; stopAt < 40; stopAt += 9 {
		log := create()
		model := &asked{Model: student, requests: map[string]int{}}
		for rounds := 0; ; rounds++ {
			ctx, cancel := context.WithCancel(t.Context())
			model.stop, model.n = cancel, stopAt
			report, err := eval.Run(ctx, options(model, log))
			cancel()
			if err == nil {
				if got := untimed(t, report); got != want {
					t.Errorf("stopped every %d requests, the report is another:\n%s\nwant\n%s", stopAt, got, want)
				}
				break
			}
			var stopped *eval.StopError
			if !errors.As(err, &stopped) || !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if rounds > 200 {
				t.Fatal("no progress")
			}
			path := filepath.Join(log.Dir(), "log.jsonl")
			text, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			// The process dies while it writes the next line.
			if err := os.WriteFile(path, append(text, `{"reply":{"task":"no-to`...), 0o600); err != nil {
				t.Fatal(err)
			}
			if log, err = eval.Open(log.Dir()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What a log holds is never asked again, at whatever line it ends: every third is tried,
// every one with MYLM_SLOW.
func TestNothingTwice(t *testing.T) {
	t.Parallel()
	suite := eval.Smoke()
	student := evaltest.Student{Suite: suite, P: 0.7}
	dir := filepath.Join(t.TempDir(), "exam")
	log, err := eval.Create(dir, eval.Exam{ID: "x", Suite: suite.Name, Runs: 1}, suite)
	if err != nil {
		t.Fatal(err)
	}
	count := &asked{Model: student, requests: map[string]int{}}
	options := eval.Options{Suite: suite, Agent: agent.Options{Model: count}, Seed: number(1), Log: log}
	whole, err := eval.Run(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "log.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	every := 3
	if os.Getenv("MYLM_SLOW") != "" {
		every = 1
	}
	for n := 0; n < len(lines); n += every {
		kept := strings.Join(lines[:n], "")
		if err := os.WriteFile(filepath.Join(dir, "log.jsonl"), []byte(kept), 0o600); err != nil {
			t.Fatal(err)
		}
		again := &asked{Model: student, requests: map[string]int{}}
		if options.Log, err = eval.Open(dir); err != nil {
			t.Fatal(err)
		}
		options.Agent.Model = again
		report, err := eval.Run(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		if untimed(t, report) != untimed(t, whole) {
			t.Errorf("after line %d the report is another", n)
		}
		if replies := strings.Count(kept, `{"reply"`); len(again.requests)+replies != len(count.requests) {
			t.Errorf("after line %d: %d replies kept, %d asked, of %d", n, replies, len(again.requests), len(count.requests))
		}
	}
}

// An exam goes on with the tasks it began with, also the short one after the built-in
// tasks have changed.
func TestKeptSuite(t *testing.T) {
	t.Parallel()
	for _, suite := range []*eval.Suite{eval.Core(), eval.Smoke()} {
		dir := filepath.Join(t.TempDir(), "exam")
		log, err := eval.Create(dir, eval.Exam{ID: "x", Suite: suite.Name, Tasks: len(suite.Tasks), Runs: 1}, suite)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "suite.yaml")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		older := strings.Replace(string(text), "What is 17 plus 26?", "What is 26 plus 17?", 1)
		older = strings.Replace(older, "    description:", "    field_of_another_version: x\n    description:", 1)
		if err := os.WriteFile(path, []byte(older), 0o600); err != nil {
			t.Fatal(err)
		}
		kept, err := log.Suite()
		if err != nil || len(kept.Tasks) != len(suite.Tasks) || kept.Name != suite.Name || !strings.HasPrefix(kept.Tasks[0].Question, "What is 26 plus 17?") {
			t.Errorf("%s: %v: %+v", suite.Name, err, kept)
		}
	}
}

// faulty answers, or fails, by request.
type faulty func(n int) (providers.Chunk, error)

type faultyModel struct {
	mu sync.Mutex
	n  int
	f  faulty
}

func (m *faultyModel) Generate(ctx context.Context, _ providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		m.mu.Lock()
		m.n++
		n := m.n
		m.mu.Unlock()
		yield(m.f(n))
	}
}

// A server that dies ends the exam with a report of what was reached.
func TestServerDies(t *testing.T) {
	t.Parallel()
	model := &faultyModel{f: func(n int) (providers.Chunk, error) {
		if n > 5 {
			return providers.Chunk{}, &providers.Error{Kind: providers.Unreachable, Message: "nobody listens"}
		}
		return providers.Chunk{Text: "43", Stop: providers.StopEnd}, nil
	}}
	r, err := eval.Run(t.Context(), eval.Options{Suite: eval.Core(), Agent: agent.Options{Model: model, Tries: 1}})
	var stopped *eval.StopError
	if !errors.As(err, &stopped) || providers.KindOf(err) != providers.Unreachable {
		t.Fatalf("error %v", err)
	}
	if r.Done != 5 || r.All != 92 || r.Total.Passed != 1 || r.Stopped == "" {
		t.Errorf("report of %d of %d, %d passed, stopped %q", r.Done, r.All, r.Total.Passed, r.Stopped)
	}
	// Faults of the server on single tasks end it, too, if there are many in a row.
	model = &faultyModel{f: func(int) (providers.Chunk, error) {
		return providers.Chunk{}, &providers.Error{Kind: providers.ServerFault, Message: "boom"}
	}}
	if r, err = eval.Run(t.Context(), eval.Options{Suite: eval.Core(), Agent: agent.Options{Model: model, Tries: 1}}); err == nil || r.Done != 3 || r.Total.Causes[eval.ModelFailed] != 3 {
		t.Errorf("%d done, %v, %v", r.Done, r.Total.Causes, err)
	}
	// Now and then they do not.
	model = &faultyModel{f: func(n int) (providers.Chunk, error) {
		if n%3 != 0 {
			return providers.Chunk{}, &providers.Error{Kind: providers.ServerFault, Message: "boom"}
		}
		return providers.Chunk{Text: "43", Stop: providers.StopEnd}, nil
	}}
	if r, err = eval.Run(t.Context(), eval.Options{Suite: quick(), Agent: agent.Options{Model: model, Tries: 1}}); err != nil || r.Done != 60 {
		t.Errorf("%d done, %v", r.Done, err)
	}
}

// bytewise is a model that sends each byte by itself.
type bytewise struct{ providers.Model }

func (m bytewise) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		for c, err := range m.Model.Generate(ctx, r) {
			for i := range len(c.Text) - 1 {
				if !yield(providers.Chunk{Text: c.Text[i : i+1]}, err) {
					return
				}
			}
			c.Text = c.Text[max(0, len(c.Text)-1):]
			if !yield(c, err) {
				return
			}
		}
	}
}

// A reply that came in pieces which are no text by themselves is kept as it was.
func TestSplitCharacters(t *testing.T) {
	t.Parallel()
	suite := *eval.Core()
	suite.Tasks = slices.DeleteFunc(slices.Clone(suite.Tasks), func(t *eval.Task) bool { return t.Category != "language" && t.Category != "arguments" })
	log, err := eval.Create(filepath.Join(t.TempDir(), "exam"), eval.Exam{Model: "m", Suite: suite.Name, Tasks: len(suite.Tasks), Runs: 1}, &suite)
	if err != nil {
		t.Fatal(err)
	}
	options := eval.Options{Suite: &suite, Agent: agent.Options{Model: bytewise{evaltest.Student{Suite: &suite, P: 1}}}, Log: log}
	first, err := eval.Run(t.Context(), options)
	if err != nil || first.Total.Passed != len(suite.Tasks) {
		t.Fatalf("%+v, %v", first.Total, err)
	}
	path := filepath.Join(log.Dir(), "log.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var replies string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, `{"reply"`) {
			replies += line
		}
	}
	if err := os.WriteFile(path, []byte(replies), 0o600); err != nil {
		t.Fatal(err)
	}
	model := &asked{Model: options.Agent.Model, requests: map[string]int{}}
	options.Agent.Model = model
	again, err := eval.Run(t.Context(), options)
	if err != nil || untimed(t, again) != untimed(t, first) || len(model.requests) > 0 {
		t.Errorf("%d of %d passed, %d requests, %v", again.Total.Passed, again.Done, len(model.requests), err)
	}
}

// mute is a model that sends the text, if there is one, and then nothing.
type mute string

func (m mute) Generate(ctx context.Context, _ providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		if m != "" && !yield(providers.Chunk{Text: string(m)}, nil) {
			return
		}
		<-ctx.Done()
		yield(providers.Chunk{}, ctx.Err())
	}
}

// A server that hangs ends the exam like one that fails; a task whose time is over does not.
func TestServerHangs(t *testing.T) {
	t.Parallel()
	for _, says := range []mute{"", "It is "} {
		r, err := eval.Run(t.Context(), eval.Options{Suite: eval.Smoke(), Agent: agent.Options{Model: says, Tries: 1, FirstTokenTimeout: time.Millisecond, TokenTimeout: time.Millisecond}})
		if err == nil || r.Done != 3 || r.Total.Causes[eval.ModelFailed] != 3 {
			t.Errorf("says %q: %d done, %v, %v", says, r.Done, r.Total.Causes, err)
		}
		suite := *eval.Smoke()
		suite.Tasks = nil
		for _, task := range eval.Smoke().Tasks {
			short := *task
			short.Limits.Time = time.Millisecond
			suite.Tasks = append(suite.Tasks, &short)
		}
		r, err = eval.Run(t.Context(), eval.Options{Suite: &suite, Agent: agent.Options{Model: says, Tries: 1}})
		if err != nil || r.Total.Causes[eval.TimedOut] != 12 {
			t.Errorf("says %q: %d done, %v, %v", says, r.Done, r.Total.Causes, err)
		}
	}
}

// Tasks on which the server failed are asked again when the exam goes on: its fault is
// not the model's.
func TestServerRecovers(t *testing.T) {
	t.Parallel()
	suite := eval.Smoke()
	log, err := eval.Create(filepath.Join(t.TempDir(), "exam"), eval.Exam{ID: "exam", Model: "m", Suite: suite.Name, Tasks: len(suite.Tasks), Runs: 1}, suite)
	if err != nil {
		t.Fatal(err)
	}
	model := &faultyModel{f: func(int) (providers.Chunk, error) {
		return providers.Chunk{}, &providers.Error{Kind: providers.ServerFault, Message: "loading"}
	}}
	r, err := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: model, Tries: 1}, Log: log})
	if err == nil || r.Total.Causes[eval.ModelFailed] != 3 {
		t.Fatalf("%v, %v", r.Total.Causes, err)
	}
	r, err = eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: evaltest.Student{Suite: suite, P: 1}}, Log: log})
	if err != nil || r.Done != len(suite.Tasks) || r.Total.Passed != r.Done {
		t.Errorf("%d of %d passed, %v", r.Total.Passed, r.Done, err)
	}
	for _, l := range []func() (*eval.Log, error){func() (*eval.Log, error) { return log, nil }, func() (*eval.Log, error) { return eval.Open(log.Dir()) }} {
		log, err := l()
		if err != nil {
			t.Fatal(err)
		}
		if kept, err := log.Report(); err != nil || untimed(t, kept) != untimed(t, r) {
			t.Errorf("the log has another report, %v", err)
		}
	}
}

// Tasks on which the backend fails each time keep no other task from being asked, and
// an exam that is interrupted meanwhile has one report.
func TestServerFailsOnSome(t *testing.T) {
	t.Parallel()
	suite := eval.Smoke()
	log, err := eval.Create(filepath.Join(t.TempDir(), "exam"), eval.Exam{ID: "exam", Model: "m", Suite: suite.Name, Tasks: len(suite.Tasks), Runs: 1}, suite)
	if err != nil {
		t.Fatal(err)
	}
	model := evaltest.Student{Suite: suite, P: 1}
	fails := failsOn{model, suite.Tasks[:3]}
	for _, tt := range []struct {
		model  providers.Model
		budget int
		done   int
		ended  bool
		passed int
	}{{fails, 0, 3, false, 0}, {model, 1, 4, false, 1}, {fails, 0, 12, true, 9}, {fails, 1, 12, false, 9}, {model, 0, 12, true, 12}} {
		r, err := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: tt.model, Tries: 1}, Log: log, Budget: eval.Budget{Tokens: tt.budget}})
		if (err == nil) != tt.ended || r.Done != tt.done || r.Total.Passed != tt.passed {
			t.Errorf("%+v: %d done, %d passed, %v", tt, r.Done, r.Total.Passed, err)
		}
		if kept, err := log.Report(); err != nil || kept.Done != r.Done || kept.Total.Passed != r.Total.Passed || kept.Stopped != r.Stopped || (r.Stopped == "") != tt.ended {
			t.Errorf("%+v: the log has %d of %d, stopped %q, not %q, %v", tt, kept.Total.Passed, kept.Done, kept.Stopped, r.Stopped, err)
		}
		if all, err := eval.List(filepath.Dir(log.Dir())); err != nil || len(all) != 1 || all[0].Done != r.Done || all[0].Stopped != r.Stopped {
			t.Errorf("%+v: the list has %+v, %v", tt, all, err)
		}
	}
}

// failsOn is a model whose backend fails on some tasks.
type failsOn struct {
	providers.Model
	tasks []*eval.Task
}

func (f failsOn) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	for _, m := range r.Messages {
		if slices.ContainsFunc(f.tasks, func(t *eval.Task) bool { return strings.Contains(m.Text, t.Question) }) {
			return func(yield func(providers.Chunk, error) bool) {
				yield(providers.Chunk{}, &providers.Error{Kind: providers.ServerFault, Message: "crashed"})
			}
		}
	}
	return f.Model.Generate(ctx, r)
}

// A directory that was renamed or copied holds an exam of that name, and a summary that
// cannot be read is made again.
func TestMovedExam(t *testing.T) {
	t.Parallel()
	suite, dir := eval.Smoke(), t.TempDir()
	log, err := eval.Create(filepath.Join(dir, "one"), eval.Exam{ID: "one", Model: "m", Suite: suite.Name, Tasks: len(suite.Tasks), Runs: 1}, suite)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: evaltest.Student{Suite: suite, P: 1}}, Log: log}); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "one-copy"), os.DirFS(log.Dir())); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "one-copy", "summary.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := eval.List(dir)
	if err != nil || len(all) != 2 || all[0].Done != 12 || all[1].Done != 12 {
		t.Errorf("%+v, %v", all, err)
	}
	for _, name := range []string{"one", "one-copy"} {
		if id, err := eval.Find(dir, name); err != nil || id != name {
			t.Errorf("%s: %q, %v", name, id, err)
		}
	}
	if log, err = eval.Open(filepath.Join(dir, "one-copy")); err != nil || log.Exam.ID != "one-copy" {
		t.Errorf("it has another name, %v", err)
	}
}

// Two processes do not go on with an exam at once.
func TestInUse(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "exam")
	suite := eval.Smoke()
	log, err := eval.Create(dir, eval.Exam{ID: "x", Model: "m", Suite: suite.Name, Tasks: len(suite.Tasks), Runs: 1}, suite)
	if err != nil {
		t.Fatal(err)
	}
	var second error
	model := &faultyModel{f: func(n int) (providers.Chunk, error) {
		if n == 1 {
			other, err := eval.Open(dir)
			if err != nil {
				return providers.Chunk{}, err
			}
			_, second = eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: evaltest.Student{Suite: suite, P: 1}}, Log: other})
		}
		return providers.Chunk{Text: "43", Stop: providers.StopEnd}, nil
	}}
	for range 2 { // it is free again afterwards
		if _, err := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: model}, Log: log}); err != nil {
			t.Fatal(err)
		}
	}
	if !errors.Is(second, eval.ErrInUse) {
		t.Errorf("the second: %v", second)
	}
}

// What the list says of an exam that went on and was killed is what its log holds, not
// what was reached before.
func TestListAfterKill(t *testing.T) {
	t.Parallel()
	suite, dir := eval.Smoke(), t.TempDir()
	log, err := eval.Create(filepath.Join(dir, "exam"), eval.Exam{ID: "x", Model: "m", Suite: suite.Name, Tasks: len(suite.Tasks), Runs: 1}, suite)
	if err != nil {
		t.Fatal(err)
	}
	options := eval.Options{Suite: suite, Agent: agent.Options{Model: evaltest.Student{Suite: suite, P: 1}}, Log: log, Budget: eval.Budget{Tokens: 1}}
	report, err := eval.Run(t.Context(), options)
	if !errors.Is(err, eval.ErrBudget) {
		t.Fatal(err)
	}
	path := filepath.Join(log.Dir(), "summary.json")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	options.Budget = eval.Budget{}
	if _, err := eval.Run(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	for _, summary := range []string{string(before), "{}", "null", ""} { // the process dies before it writes the summary
		if err := os.WriteFile(path, []byte(summary), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := eval.List(dir)
		if err != nil || len(all) != 1 || all[0].Done != len(suite.Tasks) || all[0].Stopped != "" || all[0].Exam.Model != "m" || report.Done > 3 {
			t.Errorf("%d at first, then %+v, %v", report.Done, all, err)
		}
	}
}

// blocked answers nothing until it is stopped.
type blocked struct{}

func (blocked) Generate(ctx context.Context, _ providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		<-ctx.Done()
		yield(providers.Chunk{}, ctx.Err())
	}
}

// The limits of a task hold: its time, and its window whatever the model has.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		model    providers.Model
		limits   string
		question string
		cause    eval.Cause
	}{
		{blocked{}, "{time: 1ms}", "Say 7.", eval.TimedOut},
		{endless("7 "), "{}", "Say 7.", eval.Loop},
		{evaltest.Student{P: 1}, "{window: 800}", strings.Repeat("Say seven. ", 400), eval.ContextFull},
		{evaltest.Student{P: 1}, "{}", strings.Repeat("Say seven. ", 400), ""},
	} {
		suite, err := eval.Parse(fmt.Appendf(nil, "suite: s\ntasks: [{id: t, category: c, question: %q, limits: %s, check: {answer: {all: ['7']}}, right: ['7'], wrong: [['1'], ['2']]}]\n", tt.question, tt.limits))
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := tt.model.(evaltest.Student); ok {
			s.Suite = suite
			tt.model = s
		}
		r, err := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: tt.model, Tries: 1}})
		if err != nil || r.Outcomes[0].Cause != tt.cause {
			t.Errorf("%s: %v: %+v", tt.limits, err, r)
		}
	}
}

// Run n of a task is sent the seed plus n - 1, and without a seed none.
func TestSeeds(t *testing.T) {
	t.Parallel()
	for seed, want := range map[*int]string{nil: "", number(7): "7 8 9 "} {
		suite := eval.Smoke()
		suite.Tasks = suite.Tasks[:1]
		sent := ""
		model := &asked{Model: evaltest.Student{Suite: suite, P: 1}, requests: map[string]int{}, see: func(r providers.Request) {
			if r.Seed != nil {
				sent += fmt.Sprint(*r.Seed, " ")
			}
		}}
		if _, err := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: model}, Seed: seed, Runs: 3}); err != nil || sent != want {
			t.Errorf("%v, the model was sent %q, not %q", err, sent, want)
		}
	}
}

// What differs from machine to machine is in no prompt, an answer that must fit a schema
// is asked for again, nothing outside the workspace is read or written, and nothing is left of it.
func TestConfined(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	outside := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(outside, []byte("alpha SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	suite, err := eval.Parse(fmt.Appendf(nil, `
suite: s
tasks:
  - id: t
    category: c
    question: Write it.
    tools: [write_file, read_file, list_dir, find_files, search_files, edit_file]
    limits: {turns: 20}
    schema: {type: object, required: [n]}
    check: {json: {n: 7}, files: {x: {is: y}}}
    right:
      - {call: write_file, args: {path: %[1]q, content: y}}
      - {call: edit_file, args: {path: %[1]q, old: alpha, new: y}}
      - {call: write_file, args: {path: x, content: z}}
      - {call: read_file, args: {path: %[1]q}}
      - {call: search_files, args: {path: %[2]q, pattern: al.ha}}
      - {call: read_file, args: {path: x}}
      - {call: list_dir, args: {path: %[2]q}}
      - {call: find_files, args: {path: %[2]q, pattern: "*"}}
      - {call: list_dir}
      - {call: write_file, args: {path: ../x, content: y}}
      - {call: write_file, args: {path: x, content: y}}
      - It is done.
      - '{"n": 7}'
    wrong: [['{"n": 8}'], ['{"n": 9}']]
`, outside, filepath.Dir(outside)))
	if err != nil {
		t.Fatal(err)
	}
	evaltest.Verify(t, suite, nil)
	model := &asked{Model: evaltest.Student{Suite: suite, P: 1}, requests: map[string]int{}}
	r, err := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: model, Environment: &prompts.Environment{OS: "Plan 9"}, Sections: []prompts.Section{{Title: "Notes", Text: "Plan 9"}}}})
	if err != nil || r.Total.Passed != 1 || r.Outcomes[0].Digest == "" {
		t.Fatalf("%v: %+v", err, r)
	}
	for request := range model.requests {
		if strings.Contains(request, "Plan 9") || strings.Contains(request, tmp) || strings.Contains(request, "SECRET") {
			t.Errorf("the model is sent\n%s", request)
		}
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "alpha SECRET" {
		t.Errorf("the file outside the workspace has %q, %v", text, err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// A budget ends an exam between two tasks.
func TestBudget(t *testing.T) {
	t.Parallel()
	r, err := eval.Run(t.Context(), eval.Options{Suite: eval.Core(), Agent: agent.Options{Model: evaltest.Student{Suite: eval.Core(), P: 1}}, Budget: eval.Budget{Tokens: 5000}})
	if !errors.Is(err, eval.ErrBudget) || r.Done == 0 || r.Done == r.All {
		t.Errorf("%d of %d, %v", r.Done, r.All, err)
	}
	if used := r.Total.PromptTokens + r.Total.OutputTokens; used < 5000 {
		t.Errorf("stopped after %d tokens", used)
	}
	// The first task alone uses it up.
	if r, err = eval.Run(t.Context(), eval.Options{Suite: eval.Core(), Agent: agent.Options{Model: evaltest.Student{Suite: eval.Core(), P: 1}}, Budget: eval.Budget{Tokens: 1}}); !errors.Is(err, eval.ErrBudget) || r.Done != 1 {
		t.Errorf("%d asked with a budget of one token, %v", r.Done, err)
	}
	if r, err = eval.Run(t.Context(), eval.Options{Suite: eval.Core(), Agent: agent.Options{Model: evaltest.Student{Suite: eval.Core(), P: 1}}, Budget: eval.Budget{Time: 1}}); !errors.Is(err, eval.ErrBudget) || r.Done != 0 {
		t.Errorf("%d asked with a budget of a nanosecond, %v", r.Done, err)
	}
	// It cuts off runs, not tasks; how far it is, is reported before and after each of them.
	suite := eval.Smoke()
	if r, err = eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: evaltest.Student{Suite: suite, P: 1}}}); err != nil {
		t.Fatal(err)
	}
	once := r.Total.PromptTokens + r.Total.OutputTokens
	var last eval.Progress
	begun := 0
	r, err = eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: evaltest.Student{Suite: suite, P: 1}}, Runs: 2, Budget: eval.Budget{Tokens: once + 1}, Progress: func(p eval.Progress) {
		last = p
		if p.Ended == nil {
			begun++
		}
	}})
	if !errors.Is(err, eval.ErrBudget) || r.Done != 13 || r.Outcomes[len(r.Outcomes)-1].Task != suite.Tasks[11].ID {
		t.Errorf("%d of %d, %v", r.Done, r.All, err)
	}
	if begun != r.Done || last.Done != r.Done || last.All != 24 || last.Passed != r.Done || last.Left <= 0 || last.Ended == nil {
		t.Errorf("%d of %d, %d begun: %+v", r.Done, r.All, begun, last)
	}
}

// endless writes the same text until it is stopped.
type endless string

func (e endless) Generate(ctx context.Context, _ providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		for ctx.Err() == nil {
			if !yield(providers.Chunk{Text: string(e)}, nil) {
				return
			}
		}
		yield(providers.Chunk{}, ctx.Err())
	}
}

// A model that never stops, and one that writes nonsense, pass nothing, and the report
// is of every task and says why.
func TestHopelessModels(t *testing.T) {
	t.Parallel()
	says := func(text string) providers.Model {
		return &faultyModel{f: func(int) (providers.Chunk, error) { return providers.Chunk{Text: text, Stop: providers.StopEnd}, nil }}
	}
	for name, tt := range map[string]struct {
		model providers.Model
		cause eval.Cause // of all tasks; "": several
	}{
		"never stops":      {endless("and so on "), eval.Loop},
		"never stops, one": {endless("\n"), eval.Loop},
		"nonsense":         {says("Colorless green ideas \x00 sleep furiously."), ""},
		"half a call":      {says("<tool_code>\n<name>"), eval.Unreadable},
		"nothing":          {says(""), eval.Unreadable},
	} {
		r, err := eval.Run(t.Context(), eval.Options{Suite: eval.Smoke(), Agent: agent.Options{Model: tt.model, Tries: 1}})
		if r == nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Logf("%s: %d of %d, %v, %v", name, r.Done, r.All, r.Total.Causes, err)
		failed := 0
		for _, n := range r.Total.Causes {
			failed += n
		}
		if r.Total.Passed != 0 || r.Done == 0 || failed != r.Done || r.Done < r.All && err == nil || tt.cause != "" && r.Total.Causes[tt.cause] != r.Done {
			t.Errorf("%s: %d of %d done, %d passed, %v, %v", name, r.Done, r.All, r.Total.Passed, r.Total.Causes, err)
		}
	}
}

// BenchmarkSmoke is the short exam with a model that takes 100 ms for each reply: the
// ratio is the exam's time to the model's own.
func BenchmarkSmoke(b *testing.B) {
	suite := eval.Smoke()
	for b.Loop() {
		model := &patient{Model: evaltest.Student{Suite: suite, P: 1}, delay: 100 * time.Millisecond}
		log, err := eval.Create(filepath.Join(b.TempDir(), "exam"), eval.Exam{ID: "x", Suite: suite.Name, Runs: 1}, suite)
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		if _, err := eval.Run(b.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: model}, Log: log}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(began))/float64(model.took), "ratio")
	}
}

// patient answers after a delay, and sums up how long that really took.
type patient struct {
	providers.Model
	delay, took time.Duration
}

func (p *patient) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	began := time.Now()
	time.Sleep(p.delay)
	p.took += time.Since(began)
	return p.Model.Generate(ctx, r)
}
