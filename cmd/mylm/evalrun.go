package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mylm/agent"
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
	noticed map[string]bool // what was said about models
	out     *examsOutput
}

// examJob is an exam that is started or resumed.
type examJob struct {
	suite  *eval.Suite
	exam   eval.Exam
	log    *eval.Log // of an exam that goes on; nil: it begins
	config *config.Config
	model  *setup.Model
	agent  agent.Options
}

func newExamRun(c *cli.Context, out *examsOutput) (*examRun, error) {
	s := out.screen
	s.Still = s.Still || c.Bool("quiet")
	k := &examRun{cli: c, screen: s, workers: c.Int("workers"), noticed: map[string]bool{}, out: out}
	var err error
	if k.budget, err = parseBudget(c.String("budget")); err != nil {
		return nil, err
	}
	if err := checkOutput(c); err != nil {
		return nil, err
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
	all := c.String("form") == "all"
	if c.Bool("save") && !all {
		return nil, failure.Usage("--save is for --form all: it keeps the form that is better by more than chance")
	}
	given := c.String("form")
	if all {
		given = ""
	}
	for _, model := range models {
		conf, m, err := k.open(c.Context, model, given, nil)
		if err != nil {
			return nil, err
		}
		o := setup.AgentOptions(conf.Settings)
		setup.Suit(c.Context, conf.Settings, m.Model, &o)
		o.Form = cmp.Or(o.Form, calling.ToolCode)
		forms := []calling.Form{o.Form} // the one that is set comes first: the others are compared with it
		if all {
			forms = append(forms, slices.DeleteFunc(calling.Forms(), func(f calling.Form) bool { return f == o.Form })...)
		}
		for i := range len(templates) * len(forms) {
			j := examJob{suite: suite, config: conf, model: m, agent: o}
			j.exam = eval.Exam{ID: newExamID(), Version: version(), Model: m.Name, Backend: m.Backend, Address: m.Host, Suite: suite.Name, Tasks: len(suite.Tasks), Compact: o.Compact, Runs: c.Int("runs"),
				Seed: config.Seed.Ptr(conf.Settings), Args: config.Held(conf.Settings, append(examSettings(), waitSettings()...)...)}
			j.exam.Prompt, j.agent.Form = templates[i/len(forms)], forms[i%len(forms)]
			j.exam.Form = string(j.agent.Form)
			j.agent.Prompts, j.exam.Digest, err = promptSet(j.exam.Prompt, o.Identity)
			if err != nil && j.exam.Prompt != "" {
				return nil, failure.Usage("--prompt: %w", err).WithHint("mylm prompts eject system writes the default template to a file.")
			}
			if err != nil {
				return nil, err
			}
			k.jobs = append(k.jobs, j)
		}
	}
	if len(k.jobs) > 1 {
		series := eval.Series{}
		for _, j := range k.jobs {
			series.Exams = append(series.Exams, j.exam)
		}
		for i := range k.jobs {
			k.jobs[i].exam.Series = &eval.Series{Place: i, Exams: series.Exams}
		}
	}
	return k, k.compareForms()
}

// do makes the exams, one after the other.
func (k *examRun) do(ctx context.Context) error {
	var failed error
	for _, j := range k.jobs {
		if failed = k.examine(ctx, j); failed != nil {
			break
		}
	}
	for _, f := range k.out.forms {
		if err := f.judge(*k.out); err != nil {
			failed = cmp.Or(failed, err)
		}
	}
	return failed
}

// open merges the settings for an exam, with those that it began with if it goes on,
// and opens its model. A form that is "" is the one that is set.
func (k *examRun) open(ctx context.Context, model, form string, kept *config.Resumed) (*config.Config, *setup.Model, error) {
	source := config.Source{Flags: k.cli.Command.Flags, Resumed: kept}
	if model != "" {
		source.Chosen = config.ModelName.In(source.Chosen, model)
	}
	if form != "" {
		source.Chosen = config.Form.In(source.Chosen, form)
	}
	c, err := config.Load(ctx, source)
	if err != nil {
		return nil, nil, err
	}
	k.screen.SetColor(config.Color.Or(c.Settings, "auto"))
	m, err := setup.OpenModel(ctx, c, k.screen, &term.Prompter{Screen: k.screen})
	if err == nil && m.Notice != "" && !k.cli.Bool("quiet") && !k.noticed[m.Notice] {
		k.screen.Dim(m.Notice)
		k.noticed[m.Notice] = true
	}
	return c, m, err
}

// examine makes one exam. Its report is printed even if it did not come to its end.
func (k *examRun) examine(ctx context.Context, j examJob) (err error) {
	o := eval.Options{Suite: j.suite, Agent: j.agent, Runs: j.exam.Runs, Workers: k.workers, Budget: k.budget, Seed: j.exam.Seed, Log: j.log, Version: version()}
	if o.Log == nil {
		if o.Log, err = newExamLog(j); err != nil {
			return err
		}
	}
	bar := k.progress(o.Log.Exam)
	o.Progress = bar.see
	report, err := eval.Run(ctx, o)
	bar.hide()
	if errors.Is(err, eval.ErrInUse) {
		return failure.Usage("%v", err).WithHint("Wait for it to end, or begin another exam.")
	}
	if report == nil { // nothing was asked
		if j.log == nil {
			_ = os.RemoveAll(o.Log.Dir())
		}
		return err
	}
	k.out.reports, k.out.logs = append(k.out.reports, report), append(k.out.logs, o.Log)
	return k.stopped(err, o.Log.Exam.ID, j.model)
}

// newExamID is an id that no exam has.
func newExamID() string {
	return time.Now().Format("20060102-150405-") + strings.ToLower(rand.Text()[:4])
}

// newExamLog begins the log of a new exam.
func newExamLog(j examJob) (*eval.Log, error) {
	dir, err := evalDir()
	if err != nil {
		return nil, err
	}
	j.exam.Started = time.Now()
	l, err := eval.Create(filepath.Join(dir, j.exam.ID), j.exam, j.suite)
	if err != nil {
		return nil, (&failure.Error{Code: failure.ExitError, Name: "internal", Err: err}).
			WithHint("Make " + dir + " a directory that you can write to, or have XDG_DATA_HOME name another one.")
	}
	return l, nil
}

// stopped is how an exam that did not come to its end is reported.
func (k *examRun) stopped(err error, id string, model *setup.Model) error {
	var stop *eval.StopError
	if !errors.As(err, &stop) {
		return err
	}
	again := "To resume it: mylm eval --resume " + id
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

// promptSet are the templates, with the system template of a file if one is named, and
// a digest of their texts and of the one that says who the model is.
func promptSet(path, identity string) (set *prompts.Set, digest string, err error) {
	set, err = setup.Prompts()
	if err == nil && path != "" {
		set = set.With(prompts.SystemPrompt, path)
	}
	if err == nil {
		err = set.Check()
	}
	h := sha256.New()
	_, _ = h.Write([]byte(identity))
	for _, name := range prompts.Names() {
		var text string
		if err == nil {
			text, err = set.Source(name)
		}
		fmt.Fprintf(h, "%s\x00%s\x00", name, text)
	}
	if err != nil {
		return nil, "", failure.Config(err)
	}
	return set, hex.EncodeToString(h.Sum(nil)[:8]), nil
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
	text := fmt.Sprintf(" %d/%d, %d passed", n.Done, n.All, n.Passed)
	if n.Left > 0 {
		text += ", " + n.Left.Round(time.Second).String() + " left"
	}
	columns, _ := p.screen.Size()
	if columns >= 72 {
		text = " " + term.Bar(int64(n.Done), int64(n.All)) + text
	}
	return term.OneLine(p.title, min(30, max(1, columns-len(text)-6))) + text
}
