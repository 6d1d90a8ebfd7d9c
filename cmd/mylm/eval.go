package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mylm/agent/eval"
	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers/calling"

	"github.com/urfave/cli/v2"
)

// Groups of flags in the help of mylm eval.
const ofExam = "Exam"

func evalCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		ArgsUsage: "[COMMAND]",
		Description: `Asks a model the tasks of a suite, each with tools that are simulated or confined to
a temporary directory, and reports how many it passes, with 95% intervals, and why it
fails the others. Nothing else is changed, and nobody is asked for permission.

The suites are core (all tasks), smoke (12 of them), or a file: docs/eval.md explains
how to write one. Results are kept. --resume resumes an exam that was interrupted,
and asks nothing twice.`,
		UsageText: `mylm eval -m qwen3:8b --suite smoke
mylm eval -m qwen3:8b -m llama3.2 --chart models.svg
mylm eval -m qwen3:8b --form all --save
mylm eval --resume last
mylm eval compare 20310514-101500-4f2a last`,
		Flags: slices.Concat(
			cmdline.Group(ofExam,
				&cli.StringFlag{Name: "suite", Usage: "`NAME` is core, smoke, or a file with tasks", Value: "core"},
				cmdline.Int(&cli.IntFlag{Name: "runs", Usage: "ask each task `N` times", Value: 1}, 1, eval.MaxRuns),
				cmdline.Int(&cli.IntFlag{Name: "workers", Usage: "ask `N` tasks at once", Value: 1}, 1, 64),
				&cli.StringFlag{Name: "budget", Usage: "begin no task after this many tokens or this much time: `LIMIT` such as 200000 or 30m"},
				cmdline.OneOf(&cli.StringFlag{Name: "form", Usage: "`FORM` in which calls are shown to the model, or all, to compare them", DefaultText: "as it is set"}, append(formNames(), "auto", "all")...),
				&cli.BoolFlag{Name: "save", Usage: "with --form all: set the form in the configuration if one is better by more than chance"},
				&cli.StringFlag{Name: "prompt", Usage: "also examine the system template in `FILE`, and compare"},
				&cli.StringFlag{Name: "resume", Usage: "resume the exam `ID`, or last, and those begun by the same command"}),
			cmdline.Group(config.OfModel, &cli.StringSliceFlag{Name: "model", Aliases: []string{"m"}, Usage: "examine model `NAME` (repeatable)", DefaultText: "the last one used, or the only one there is"}),
			config.Flags(evalSettings()...),
			cmdline.Group(config.OfOutput,
				&cli.BoolFlag{Name: "json", Usage: "print JSON"},
				&cli.BoolFlag{Name: "markdown", Usage: "print a table in Markdown"},
				&cli.StringFlag{Name: "chart", Usage: "write a chart to `FILE`, as SVG"},
				&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print nothing but the result and errors"})),
		Subcommands: []*cli.Command{listExamsCommand(s), showExamCommand(s), compareExamsCommand(s), checkSuiteCommand(s)},
		Action: func(c *cli.Context) error {
			out := examsOutput{screen: s, cli: c}
			err := examine(c, &out)
			return out.finish(err)
		},
	}
}

// examine makes the exams that the flags name.
func examine(c *cli.Context, out *examsOutput) error {
	if c.NArg() > 0 {
		return cmdline.Missing(c.Command, c.Args().First(), "mylm help eval lists what there is; a file with tasks is --suite FILE")
	}
	k, err := newExamRun(c, out)
	if err != nil {
		return err
	}
	return k.do(c.Context)
}

// formNames are the forms of calls.
func formNames() (names []string) {
	for _, f := range calling.Forms() {
		names = append(names, string(f))
	}
	return names
}

// evalSettings are what can be set for an exam.
func evalSettings() []config.Setting {
	return slices.Concat([]config.Setting{config.ProfileName, config.Host, config.Color}, examSettings(), waitSettings())
}

// examSettings are the settings that decide what is measured. They are kept with the
// exam, and hold again when it goes on.
func examSettings() []config.Setting {
	return []config.Setting{
		config.System, config.Temperature, config.Seed, config.MaxTokens, config.NumCtx, config.KeepAlive, config.Think,
		config.SelfEval, config.SummarizeAfterTurns, config.KeepRecentTurns, config.MaxContextTokens, config.MaxToolResultTokens,
		config.MaxRepeatedCalls, config.MaxConsecutiveErrors, config.MaxMalformed, config.MaxRepetition,
	}
}

// waitSettings are how long a reply is waited for. They are kept with the exam, and
// flags alone come before them when it goes on: a slow backend may need more.
func waitSettings() []config.Setting {
	return []config.Setting{config.Timeout, config.FirstTokenTimeout, config.StepTimeout}
}

// evalDir is where exams are kept.
func evalDir() (string, error) {
	dir, err := config.DataDir()
	return filepath.Join(dir, "eval"), err
}

// openExam opens a kept exam by the beginning of its id, or last.
func openExam(prefix string) (*eval.Log, error) {
	dir, err := evalDir()
	if err != nil {
		return nil, err
	}
	id, err := eval.Find(dir, prefix)
	if errors.Is(err, eval.ErrNoExam) {
		return nil, failure.Usage("there is no exam %q", term.Echoed(prefix)).WithHint("mylm eval list shows those that are kept.")
	}
	if errors.Is(err, eval.ErrAmbiguous) {
		return nil, failure.Usage("%w", err).WithHint("Type more of the id; mylm eval list shows them.")
	}
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, id)
	l, err := eval.Open(dir)
	return l, unreadable(err, dir)
}

// unreadable is the error of a kept exam of which something cannot be read.
func unreadable(err error, dir string) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return (&failure.Error{Code: failure.ExitError, Name: "damaged", Err: err}).
		WithHint("mylm eval list shows what is kept. To delete this exam: rm -r " + term.ShellQuote(dir))
}

// loadSuite reads the suite of a name, or of a file.
func loadSuite(name string) (*eval.Suite, error) {
	switch name {
	case "core":
		return eval.Core(), nil
	case "smoke":
		return eval.Smoke(), nil
	}
	suite, err := eval.Load(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, failure.Usage("there is no suite or file %s", term.Echoed(name)).WithHint("The built-in suites are core and smoke; a file is named by its path.")
	case err != nil:
		return nil, failure.Usage("%w", err).WithHint("docs/eval.md explains the format.")
	}
	return suite, nil
}

// parseBudget reads a number of tokens or a duration.
func parseBudget(text string) (b eval.Budget, err error) {
	if text == "" {
		return b, nil
	}
	if b.Tokens, err = strconv.Atoi(strings.ReplaceAll(text, "_", "")); err == nil && b.Tokens > 0 {
		return b, nil
	}
	if b.Time, err = time.ParseDuration(text); err == nil && b.Time > 0 {
		return eval.Budget{Time: b.Time}, nil
	}
	return b, failure.Usage("--budget is %s; it must be a number of tokens such as 200000, or a duration such as 30m", term.Quoted(text))
}

func checkSuiteCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "run the scripts in a file with tasks, without a model", ArgsUsage: "FILE",
		Description: "The right script of each task must pass its check, and each wrong one must fail.",
		UsageText:   `mylm eval check my-exam.yaml`,
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return failure.Usage("eval check takes one file")
			}
			suite, err := loadSuite(c.Args().First())
			if err != nil {
				return err
			}
			if _, err := term.Wait(c.Context, func() (any, error) { return nil, suite.Verify(c.Context, nil) }); err != nil {
				if c.Context.Err() != nil {
					return c.Context.Err()
				}
				return &failure.Error{Code: failure.ExitError, Name: "suite", Err: err}
			}
			s.Answer(fmt.Sprintf("%s: %s, and every script ends as it should\n", term.Printable(suite.Name), term.Plural(len(suite.Tasks), "task")))
			return nil
		},
	}
}

func listExamsCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list the exams that are kept, the last one first",
		Flags: []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			all, err := listExams(c.Context)
			if err != nil && len(all) == 0 {
				return err
			}
			if err != nil {
				s.Say("mylm: " + err.Error())
			}
			if c.Bool("json") {
				return term.PrintJSON(s.Out, append([]eval.Summary{}, all...))
			}
			if len(all) == 0 {
				s.Say("mylm: no exam is kept; mylm eval -m MODEL --suite smoke makes one")
				return nil
			}
			w := s.Columns("ID\tMODEL\tSUITE\tPASSED\t95%\tSTATE")
			for _, e := range all {
				state := "complete"
				if e.Stopped != "" {
					state = fmt.Sprintf("not complete: %d of %d asked", e.Done, e.All)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", e.Exam.ID, term.OneLine(term.Printable(e.Exam.Title()), 60), term.OneLine(term.Printable(e.Exam.Suite), 30), rateText(e.Total), intervalText(e.Total), state)
			}
			return w.Flush()
		},
	}
}

func listExams(ctx context.Context) ([]eval.Summary, error) {
	dir, err := evalDir()
	if err != nil {
		return nil, err
	}
	type listed struct {
		all []eval.Summary
		err error
	}
	l, err := term.Wait(ctx, func() (listed, error) {
		all, err := eval.List(dir)
		return listed{all, err}, nil
	})
	if err != nil {
		return nil, err
	}
	return l.all, l.err
}

func showExamCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "print the report of an exam", ArgsUsage: "[ID|last]",
		Flags: []cli.Flag{jsonFlag(),
			&cli.BoolFlag{Name: "markdown", Usage: "print a table in Markdown"},
			&cli.StringFlag{Name: "chart", Usage: "write a chart to `FILE`, as SVG"}},
		UsageText: `mylm eval show last --markdown`,
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return failure.Usage("eval show takes one exam").WithHint("mylm eval compare takes two.")
			}
			if err := checkOutput(c); err != nil {
				return err
			}
			l, r, err := keptReport(c.Context, cmp.Or(c.Args().First(), "last"))
			if err != nil {
				return err
			}
			out := examsOutput{screen: s, cli: c, reports: []*eval.Report{r}, logs: []*eval.Log{l}}
			return out.finish(nil)
		},
	}
}

// keptReport is the report of a kept exam.
func keptReport(ctx context.Context, name string) (*eval.Log, *eval.Report, error) {
	l, err := openExam(name)
	if err != nil {
		return nil, nil, err
	}
	r, err := term.Wait(ctx, l.Report)
	return l, r, unreadable(err, l.Dir())
}

func compareExamsCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "compare", Usage: "report whether two exams differ by more than chance", ArgsUsage: "A B",
		Description: `The tasks that both asked are compared in pairs, by an exact sign test: only those count
in which one exam did better. A task that was asked several times counts once.`,
		UsageText: `mylm eval compare 20310514-101500-4f2a last`,
		Flags:     []cli.Flag{jsonFlag(), &cli.StringFlag{Name: "chart", Usage: "write a chart of both to `FILE`, as SVG"}},
		Action: func(c *cli.Context) error {
			if c.NArg() != 2 {
				return failure.Usage("eval compare takes two exams").WithHint("mylm eval list shows their ids.")
			}
			if err := checkOutput(c); err != nil {
				return err
			}
			var reports []*eval.Report
			for _, name := range c.Args().Slice() {
				_, r, err := keptReport(c.Context, name)
				if err != nil {
					return err
				}
				if r.Done == 0 {
					return failure.Usage("the exam %s has no outcomes yet", r.Exam.ID).WithHint("To resume it: mylm eval --resume " + r.Exam.ID)
				}
				reports = append(reports, r)
			}
			both := eval.Compare(reports[0], reports[1])
			if both.Tasks == 0 {
				return failure.Usage("the exams have no task in common that both asked in the same words: one is of the suite %s, the other of %s",
					term.Echoed(reports[0].Exam.Suite), term.Echoed(reports[1].Exam.Suite))
			}
			if err := writeChart(c, reports); err != nil {
				return err
			}
			if c.Bool("json") {
				a, b := reports[0].Exam.ID, reports[1].Exam.ID
				return term.PrintJSON(s.Out, examComparison{A: a, B: b, Comparison: both, Adjusted: both.P, Better: map[string]string{"A": a, "B": b}[both.Better()]})
			}
			s.Answer(comparisonText(reports[0], reports[1], both, both.P))
			return nil
		},
	}
}
