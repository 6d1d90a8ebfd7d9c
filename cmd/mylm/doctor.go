package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"

	"github.com/urfave/cli/v2"
)

func doctorCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Description: `It looks at everything that a question needs, and prints what to do about what is wrong. It
changes nothing, but opening a damaged memory repairs it. The exit code is 1 if there is an
error, and 0 if there are only warnings. Flags of mylm ask can be given, to see what would be
wrong with them.`,
		UsageText: `mylm doctor
mylm doctor -m qwen3:8b --num-ctx 65536
mylm doctor --json`,
		Flags: append(config.Flags(askSettings()...), jsonFlag()),
		Action: func(c *cli.Context) error {
			d := &doctor{cli: c, screen: s}
			return d.examine(c.Context)
		},
	}
}

// How bad a finding is.
const (
	statusOK      = "ok"
	statusWarning = "warning" // something is missing that a run can do without
	statusError   = "error"   // runs fail
)

// finding is what one check of mylm doctor found.
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"`
	Text   string `json:"text"`
	Fix    string `json:"fix,omitempty"` // what to do about it
}

// doctor is one run of mylm doctor.
type doctor struct {
	cli    *cli.Context
	screen *term.Screen
	config *config.Config // nil: it cannot be read
	found  []finding
}

// checkPatience is how long one check may take: whatever takes longer is
// reported as that.
const checkPatience = 15 * time.Second

// examine makes all checks, and prints what they find as it comes.
func (d *doctor) examine(ctx context.Context) error {
	for i, check := range []func(context.Context){
		d.checkConfiguration,
		d.checkTerminal, d.checkData, d.checkTemplates,
		d.checkKeys, d.checkOllama, d.checkModel, d.checkServers, d.checkSandbox, d.checkMemory, // by the settings
	} {
		if i > 3 && d.config == nil {
			break
		}
		limited, cancel := context.WithTimeout(ctx, checkPatience)
		check(limited)
		cancel()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	counts := map[string]int{}
	for _, f := range d.found {
		counts[f.Status]++
	}
	if d.cli.Bool("json") {
		if err := term.PrintJSON(d.screen.Out, d.found); err != nil {
			return err
		}
	} else {
		d.screen.Answer("\n" + term.Plural(counts[statusError], "error") + ", " + term.Plural(counts[statusWarning], "warning") + "\n")
	}
	if counts[statusError] > 0 {
		return &failure.Error{Code: failure.ExitError, Err: failure.ErrReported}
	}
	return nil
}

// add keeps a finding, and prints it unless there is going to be JSON.
func (d *doctor) add(status, check, fix, format string, args ...any) {
	f := finding{check, status, strings.TrimSpace(fmt.Sprintf(format, args...)), strings.TrimSpace(fix)}
	d.found = append(d.found, f)
	if d.cli.Bool("json") {
		return
	}
	const indent = 23
	text := fmt.Sprintf("%-8s %-13s %s", f.Status, f.Check, f.Text)
	if f.Fix != "" {
		text += "\n" + f.Fix
	}
	text = strings.ReplaceAll(term.Printable(text), "\n", "\n"+strings.Repeat(" ", indent))
	d.screen.Answer(d.screen.Folded(text, indent) + "\n")
}

func (d *doctor) ok(check, format string, args ...any) { d.add(statusOK, check, "", format, args...) }

func (d *doctor) warn(check, fix, format string, args ...any) {
	d.add(statusWarning, check, fix, format, args...)
}

func (d *doctor) fail(check, fix, format string, args ...any) {
	d.add(statusError, check, fix, format, args...)
}

// fault is an error as a finding, with the hint that its message would have.
func (d *doctor) fault(status, check string, err error, fix string) {
	f := failure.Of(err)
	if errors.Is(err, context.Canceled) {
		return // examine reports it
	}
	d.add(status, check, cmp.Or(fix, f.Hint), "%s", err)
}

// checkConfiguration reads the settings of all sources.
func (d *doctor) checkConfiguration(ctx context.Context) {
	loaded, err := config.Load(ctx, config.Source{Flags: d.cli.Command.Flags})
	if err == nil {
		err = loaded.ApplyProject(ctx)
	}
	if err == nil {
		err = setup.CheckTools(loaded)
	}
	if err != nil {
		d.add(statusError, "configuration", cmp.Or(failure.Of(err).Hint, "Correct it or remove it; the other checks then use the settings."), "%s", err)
		return
	}
	d.config = loaded
	path, err := config.Path()
	switch _, statErr := os.Stat(path); {
	case err != nil:
		d.ok("configuration", "there is no directory for a file (HOME is not set): the defaults apply")
	case statErr != nil:
		d.ok("configuration", "there is no file %s: the defaults apply", path)
	default:
		d.ok("configuration", "%s", path)
	}
}

// checkTerminal looks at what questions and answers are shown on.
func (d *doctor) checkTerminal(context.Context) {
	if why := (&term.Prompter{Screen: d.screen}).Absent(); why != "" {
		d.warn("terminal", "In a script: mylm ask --yes allows every call, and mylm policy shows what needs no question.", "%s, so what needs a question is denied", why)
		return
	}
	columns, rows := term.Size()
	name := os.Getenv("TERM")
	switch {
	case name == "dumb":
		d.warn("terminal", "Set TERM to what the terminal is, such as xterm-256color.", "TERM is dumb: nothing is drawn in place and there are no colors")
	case columns < 40:
		d.warn("terminal", "Make it wider: from 80 columns on diffs and tables can be read.", "it has only %d columns", columns)
	default:
		d.ok("terminal", "%d columns, %d rows, TERM=%s", columns, rows, term.Printable(name))
	}
}
