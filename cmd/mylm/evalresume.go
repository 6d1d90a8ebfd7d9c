package main

import (
	"maps"
	"slices"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
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
	series := l.Exam.Series
	forms := map[string]int{}
	if series == nil {
		k.jobs = []examJob{{suite: suite, exam: l.Exam, log: l}}
	} else {
		logs, err := examsOf(k.cli.Context, *series)
		if err != nil {
			return err
		}
		logs[series.Place] = l
		for i, p := range series.Exams {
			j := examJob{suite: suite, exam: l.Exam, log: logs[i]}
			if j.log != nil {
				j.exam = j.log.Exam
			} else { // it was not begun
				at := *series
				at.Place = i
				j.exam.ID, j.exam.Digest, j.exam.Series = "", "", &at
				j.exam.Model, j.exam.Form, j.exam.Prompt = p.Model, p.Form, p.Prompt
			}
			if k.jobs = append(k.jobs, j); p.Prompt == "" && p.Form != "" {
				forms[p.Model]++
			}
		}
	}
	for _, j := range k.jobs {
		if _, digest, err := promptSet(j.exam.Prompt); err != nil {
			return err
		} else if j.exam.Digest != "" && j.exam.Digest != digest {
			return failure.Usage("the prompt templates have changed since the exam %s began: its report would be about neither", j.exam.ID).
				WithHint("Begin a new exam; mylm eval show " + j.exam.ID + " prints what was reached.")
		}
	}
	for _, model := range slices.Sorted(maps.Keys(forms)) {
		if forms[model] == len(formNames()) {
			of, _, err := k.formsFor(k.cli.Context, model)
			if err != nil {
				return err
			}
			k.out.forms = append(k.out.forms, of)
		}
	}
	if k.cli.Bool("save") && k.out.forms == nil {
		return failure.Usage("--save is for exams in all forms, and exam %s is none", l.Exam.ID)
	}
	return nil
}
