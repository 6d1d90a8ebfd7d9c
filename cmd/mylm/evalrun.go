package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mylm/agent/eval"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/prompts"
	"mylm/providers/calling"

	"github.com/urfave/cli/v2"
)

// examRun is one run of mylm eval.
type examRun struct {
	cli     *cli.Context
	screen  *term.Screen
	budget  eval.Budget
	workers int
	jobs    []examJob
	out     examsOutput
}

// examJob is an exam that is to be made, or gone on with.
type examJob struct {
	suite *eval.Suite
	exam  eval.Exam
	log   *eval.Log // of an exam that goes on; nil: a new one
}

func newExamRun(c *cli.Context, s *term.Screen) (*examRun, error) {
	s.Still = s.Still || c.Bool("quiet")
	k := &examRun{cli: c, screen: s, workers: c.Int("workers"), out: examsOutput{screen: s, cli: c}}
	var err error
	if k.budget, err = parseBudget(c.String("budget")); err != nil {
		return nil, err
	}
	if c.Bool("json") && c.Bool("markdown") {
		return nil, failure.Usage("--json and --markdown exclude each other")
	}
	if c.IsSet("resume") {
		return k, k.resume()
	}
	suite, err := loadSuite(c.String("suite"))
	if err != nil {
		return nil, err
	}
	models := c.StringSlice("model")
	if len(models) == 0 {
		models = []string{""} // that of the settings
	}
	templates := []string{""}
	if path := c.String("prompt"); path != "" {
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		templates = append(templates, path)
	}
	forms := []string{c.String("form")}
	if forms[0] == "all" {
		forms = formNames()
	}
	for _, model := range models {
		for i := range len(templates) * len(forms) {
			template, form := templates[i/len(forms)], forms[i%len(forms)]
			k.jobs = append(k.jobs, examJob{suite: suite, exam: eval.Exam{Model: model, Form: form, Suite: suite.Name, Tasks: len(suite.Tasks), Prompt: template, Runs: c.Int("runs"), Version: version()}})
		}
	}
	return k, nil
}

// resume makes the job that goes on with an exam.
func (k *examRun) resume() error {
	for _, name := range []string{"suite", "runs", "model", "prompt", "form"} {
		if k.cli.IsSet(name) {
			return failure.Usage("--resume and --%s exclude each other: the exam goes on as it began", name)
		}
	}
	l, err := openExam(k.cli.String("resume"))
	if err != nil {
		return err
	}
	suite, err := l.Suite()
	if err != nil {
		return err
	}
	k.jobs = []examJob{{suite: suite, exam: l.Exam, log: l}}
	return nil
}

// do makes the exams, one after the other, and prints what they found out.
func (k *examRun) do(ctx context.Context) error {
	var failed error
	for _, j := range k.jobs {
		if failed = k.examine(ctx, j); failed != nil {
			break
		}
	}
	if len(k.out.reports) == 0 {
		return failed
	}
	return cmp.Or(k.out.print(), failed)
}

// load merges the settings for an exam: the model is the exam's.
func (k *examRun) load(ctx context.Context, j examJob) (*config.Config, error) {
	flags := slices.Clone(k.cli.Command.Flags)
	for _, given := range []struct {
		setting config.Setting
		name    string
		value   string
	}{{config.ModelName, "model", j.exam.Model}, {config.Form, "form", j.exam.Form}} {
		if given.value == "" {
			continue
		}
		f := config.Flags(given.setting)[0]
		set := flag.NewFlagSet("", flag.ContinueOnError)
		if err := f.Apply(set); err != nil {
			return nil, err
		}
		if err := set.Set(given.name, given.value); err != nil {
			return nil, err
		}
		flags = append(flags, f)
	}
	var kept *config.Resumed
	if j.log != nil {
		layer, err := config.Restore(j.exam.Args, examSettings()...)
		if err != nil {
			return nil, fmt.Errorf("the exam %s: %w", j.exam.ID, err)
		}
		kept = &config.Resumed{ID: j.exam.ID, Overrides: layer}
	}
	return config.Load(ctx, flags, kept)
}

// examine makes one exam. Its report is printed even if it did not come to its end.
func (k *examRun) examine(ctx context.Context, j examJob) error {
	c, err := k.load(ctx, j)
	if err != nil {
		return err
	}
	k.screen.SetColor(config.Color.Or(c.Settings, "auto"))
	set, err := promptSet(j.exam.Prompt)
	if err != nil {
		return err
	}
	model, err := setup.OpenModel(ctx, c, k.screen, &term.Prompter{Screen: k.screen})
	if err != nil {
		return err
	}
	if model.Notice != "" && !k.cli.Bool("quiet") {
		k.screen.Dim(model.Notice)
	}
	o := eval.Options{Suite: j.suite, Agent: setup.AgentOptions(c.Settings), Runs: j.exam.Runs, Workers: k.workers, Budget: k.budget, Seed: config.Seed.Ptr(c.Settings)}
	o.Agent.Model, o.Agent.Prompts, o.Agent.Form = model.Model, set, setup.FormFor(ctx, c.Settings, model.Model)
	if o.Log = j.log; o.Log != nil {
		o.Seed = j.exam.Seed
	} else {
		j.exam.Form = cmp.Or(string(o.Agent.Form), string(calling.ToolCode))
		j.exam.Model, j.exam.Seed, j.exam.Args = model.Name, o.Seed, config.Held(c.Settings, examSettings()...)
		if o.Log, err = newExamLog(j); err != nil {
			return err
		}
	}
	bar := k.progress(o.Log.Exam)
	o.Progress = bar.see
	report, err := eval.Run(ctx, o)
	bar.hide()
	if report == nil {
		return err
	}
	if failed := o.Log.Summarize(report); failed != nil && err == nil {
		err = failed
	}
	k.out.reports, k.out.logs = append(k.out.reports, report), append(k.out.logs, o.Log)
	return k.stopped(err, o.Log.Exam.ID, model)
}

// newExamLog begins the log of a new exam.
func newExamLog(j examJob) (*eval.Log, error) {
	dir, err := evalDir()
	if err != nil {
		return nil, err
	}
	j.exam.Started = time.Now()
	j.exam.ID = j.exam.Started.Format("20060102-150405-") + strings.ToLower(rand.Text()[:4])
	return eval.Create(filepath.Join(dir, j.exam.ID), j.exam, j.suite)
}

// stopped is how an exam that did not come to its end is reported.
func (k *examRun) stopped(err error, id string, model *setup.Model) error {
	var stop *eval.StopError
	if !errors.As(err, &stop) {
		return err
	}
	again := "Go on with it: mylm eval --resume " + id
	if errors.Is(err, eval.ErrBudget) {
		return (&failure.Error{Code: failure.ExitPartial, Name: "budget", Err: err}).WithHint(again + " --budget MORE")
	}
	if k.cli.Context.Err() != nil {
		return (&failure.Error{Code: failure.ExitInterrupted, Name: "interrupted", Err: failure.ErrInterrupted}).WithHint(again)
	}
	f := *failure.Of(stop.Err)
	model.Advise(&f)
	f.Err = err
	f.Hint = strings.TrimSpace(f.Hint + "\n" + again)
	return &f
}

// promptSet are the templates, with the system template of a file if one is named.
func promptSet(path string) (*prompts.Set, error) {
	set, err := setup.Prompts()
	if err == nil && path != "" {
		set = set.With(prompts.SystemPrompt, path)
	}
	if err == nil {
		err = set.Check()
	}
	if err != nil {
		return nil, failure.Config(err)
	}
	return set, nil
}

// progress shows how far an exam is.
type progress struct {
	screen  *term.Screen
	spinner *term.Spinner

	mu    sync.Mutex
	title string
	now   eval.Progress
}

func (k *examRun) progress(e eval.Exam) *progress {
	p := &progress{screen: k.screen, spinner: term.NewSpinner(k.screen), title: term.Printable(e.Title())}
	p.spinner.Draw(func(wheel string, _ time.Duration) []string { return []string{wheel + " " + p.text()} })
	return p
}

func (p *progress) see(now eval.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = now
}

func (p *progress) hide() { p.spinner.Hide() }

func (p *progress) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.now
	if n.All == 0 {
		return p.title
	}
	text := fmt.Sprintf("%s %s %d/%d, %d passed", term.OneLine(p.title, 30), term.Bar(int64(n.Done), int64(n.All)), n.Done, n.All, n.Passed)
	if n.Left > 0 {
		text += ", " + n.Left.Round(time.Second).String() + " left"
	}
	return text
}
