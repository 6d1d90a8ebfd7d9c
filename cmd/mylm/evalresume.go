package main

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"mylm/agent/eval"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers/calling"
)

// resume makes the jobs that resume an exam, and those that were begun with it.
func (k *examRun) resume() error {
	names := []string{"suite", "runs", "model", "prompt", "form"}
	for _, f := range config.Flags(append(examSettings(), config.ProfileName)...) {
		names = append(names, f.Names()[0])
	}
	for _, name := range names {
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
		return unreadable(err, l.Dir())
	}
	exams, at := []eval.Exam{l.Exam}, 0
	if s := l.Exam.Series; s != nil {
		exams, at = s.Exams, s.Place
	}
	for i, e := range exams {
		j := examJob{suite: suite, exam: e, log: l}
		if i != at {
			if j.log, err = begunExam(e.ID); err != nil {
				return err
			}
		}
		if j.log != nil {
			j.exam = j.log.Exam
		} else {
			j.exam.Series = &eval.Series{Place: i, Exams: exams}
		}
		if err := k.goOn(&j); err != nil {
			return err
		}
		k.jobs = append(k.jobs, j)
	}
	if err := k.compareForms(); err != nil {
		return err
	}
	if k.cli.Bool("save") && k.out.forms == nil {
		return failure.Usage("--save is for exams in all forms, and exam %s is none", l.Exam.ID)
	}
	return nil
}

// begunExam is the log of an exam of a series, nil if it was not begun.
func begunExam(id string) (*eval.Log, error) {
	dir, err := evalDir()
	if err != nil {
		return nil, err
	}
	if id != filepath.Base(id) || !filepath.IsLocal(id) || id == "." {
		return nil, failure.Usage("an earlier version of mylm began these exams, and did not keep which they are").
			WithHint("Begin them again; mylm eval list shows what was reached.")
	}
	dir = filepath.Join(dir, id)
	l, err := eval.Open(dir)
	if errors.Is(err, eval.ErrNoExam) {
		return nil, nil
	}
	return l, unreadable(err, dir)
}

// goOn makes the options of an exam that goes on: those that it began with.
func (k *examRun) goOn(j *examJob) (err error) {
	e := j.exam
	kept, err := k.keptSettings(e)
	if err != nil {
		return err
	}
	if j.config, j.model, err = k.open(k.cli.Context, e.Model, "", kept); err != nil {
		return err
	}
	if err := k.sameModel(e, j.model); err != nil {
		return err
	}
	j.agent = setup.AgentOptions(j.config.Settings)
	set, digest, err := promptSet(e.Prompt, j.agent.Identity)
	if err != nil {
		return err
	}
	if e.Digest != digest {
		return failure.Usage("the prompt templates have changed since the exam %s began: its report would be about neither", e.ID).
			WithHint("Begin a new exam; mylm eval show " + e.ID + " prints what was reached.")
	}
	j.agent.Model, j.agent.Prompts, j.agent.Form, j.agent.Compact = j.model.Model, set, calling.Form(e.Form), e.Compact
	return nil
}

// keptSettings are the settings that an exam began with, without the times that flags
// change.
func (k *examRun) keptSettings(e eval.Exam) (*config.Resumed, error) {
	held := maps.Clone(e.Args)
	settings := slices.DeleteFunc(append(examSettings(), waitSettings()...), func(s config.Setting) bool {
		name := config.Flags(s)[0].Names()[0]
		if k.cli.IsSet(name) {
			delete(held, name)
		}
		return k.cli.IsSet(name)
	})
	fixed, err := config.Restore(held, settings...)
	if err != nil {
		return nil, failure.Usage("the exam %s cannot go on as it began: %w", e.ID, err).WithHint("Begin a new exam; mylm eval list shows what was reached.")
	}
	return &config.Resumed{ID: e.ID, Fixed: fixed}, nil
}

// sameModel refuses to go on with another model than an exam began with. A flag can say
// where Ollama is now.
func (k *examRun) sameModel(e eval.Exam, m *setup.Model) error {
	ollama := m.Provider == config.Ollama
	moved := e.Address != m.Host && !(ollama && k.cli.IsSet("host"))
	if e.Backend == "" || e.Backend == m.Backend && !moved { // "": an earlier version began it
		return nil
	}
	where := func(backend, address string) string {
		if address != "" {
			backend += " at " + address
		}
		return term.Printable(backend)
	}
	f := failure.Usage("the exam %s asks %s, and the model %s is %s now", e.ID, where(e.Backend, e.Address), term.Printable(e.Model), where(m.Backend, m.Host))
	if e.Backend == m.Backend && ollama {
		return f.WithHint("To ask it there: mylm eval --resume " + e.ID + " --host " + term.ShellQuote(e.Address) + "\nIf the server has moved, --host with its address now.")
	}
	return f.WithHint("Set what the name stands for back (mylm config edit), or begin a new exam; mylm eval show " + e.ID + " prints what was reached.")
}
