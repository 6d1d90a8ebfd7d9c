package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/sink"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/files/undo"

	"github.com/urfave/cli/v2"
)

// realWorkspace is the workspace with links resolved, as runs are filed by it.
func realWorkspace(c *cli.Context) (string, error) {
	dir, _, err := config.Where(c.Command.Flags)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

func undoCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Description: `What write_file and edit_file write over is kept for the last 20 runs in a directory.
This brings it back, as it was before the last run that is not undone yet; what
commands did is not undone.
A file that was changed since by somebody else is left, and nothing else is
touched, unless --force is given. Undoing can be undone: --run with its own id.`,
		UsageText: `mylm undo --dry-run
mylm undo
mylm undo --diff
mylm undo --list
mylm undo --run 20260131-140000-abcd`,
		Flags: append(config.Flags(config.Workspace),
			&cli.BoolFlag{Name: "list", Usage: "list the runs that can be undone here"},
			&cli.BoolFlag{Name: "all", Usage: "with --list: in all directories"},
			&cli.StringFlag{Name: "session", Usage: "undo the last run of the session `ID` here that is not undone"},
			&cli.StringFlag{Name: "run", Usage: "undo the run `ID`, or the last one of the session ID"},
			&cli.BoolFlag{Name: "dry-run", Aliases: []string{"n"}, Usage: "show what would be done, and do nothing"},
			&cli.BoolFlag{Name: "diff", Usage: "show what has changed since before the run, as a diff, and do nothing"},
			&cli.BoolFlag{Name: "force", Usage: "also overwrite files that somebody else has changed since"},
			jsonFlag(),
		),
		Action: func(c *cli.Context) error {
			u := &undoRun{cli: c, screen: s, store: setup.UndoStore()}
			if c.Bool("list") {
				return u.list()
			}
			if c.Bool("all") {
				return failure.Usage("--all goes with --list")
			}
			if c.Bool("diff") {
				if c.Bool("json") {
					return failure.Usage("--diff and --json exclude each other")
				}
				return u.diff(c.Context)
			}
			return u.undo(c.Context)
		},
	}
}

// undoRun is one run of mylm undo.
type undoRun struct {
	cli    *cli.Context
	screen *term.Screen
	store  *undo.Store
}

// runJSON is a run as --json prints it.
type runJSON struct {
	undo.Run
	Files  []string  `json:"files"`
	Undone time.Time `json:"undone,omitzero"`
	Active bool      `json:"active"`
}

// undoJSON is what undoRun did, or would do.
type undoJSON struct {
	Run    *runJSON    `json:"run"`
	Steps  []undo.Step `json:"steps"`
	DryRun bool        `json:"dry_run"`
	Done   bool        `json:"done"`
	By     string      `json:"by,omitempty"`
	Error  *sink.Error `json:"error,omitempty"`
}

func asRunJSON(r undo.Run) runJSON {
	return runJSON{Run: r, Files: r.Files(), Undone: r.Undone, Active: r.Active}
}

func (u *undoRun) list() error {
	dir, err := realWorkspace(u.cli)
	if err != nil {
		return err
	}
	if u.cli.Bool("all") {
		dir = ""
	}
	runs, err := u.store.Runs(dir)
	if err != nil {
		return err
	}
	if u.cli.Bool("json") {
		out := []runJSON{}
		for _, r := range runs {
			out = append(out, asRunJSON(r))
		}
		return term.PrintJSON(u.screen.Out, out)
	}
	if len(runs) == 0 {
		elsewhere := "; --all lists those of all directories"
		if dir == "" {
			elsewhere = ""
		}
		u.screen.Say("mylm: " + nothingToUndo + elsewhere + "\n  " + hintCommands)
	}
	for _, r := range runs {
		u.screen.Answer(u.line(r, dir == "") + "\n")
	}
	return nil
}

// line is a run in one line of a list.
func (u *undoRun) line(r undo.Run, where bool) string {
	names := r.Files()
	text := fmt.Sprintf("%s  %s  %s: ", r.ID, r.Started.Local().Format("2006-01-02 15:04"), term.Plural(len(names), "file"))
	text += term.OneLine(term.Printable(strings.Join(names, ", ")), 80)
	if where {
		text += "  in " + term.OneLine(term.Printable(r.Workspace), 200)
	}
	switch {
	case r.Active:
		text += "  (still running)"
	case r.Broken != nil:
		text += "  (cannot be undone: " + term.OneLine(term.Printable(r.Broken.Error()), 200) + ")"
	case !r.Undone.IsZero():
		text += "  (undone)"
	case r.Undoes != "":
		text += "  (undid " + r.Undoes + ")"
	}
	return text
}

// pick finds the run that the flags name, or the last one that is not undone.
func (u *undoRun) pick() (undo.Run, error) {
	id, session := u.cli.String("run"), u.cli.String("session")
	if id != "" && session != "" {
		return undo.Run{}, failure.Usage("--run and --session exclude each other")
	}
	dir, err := realWorkspace(u.cli)
	if err != nil && id == "" {
		return undo.Run{}, err
	}
	if id != "" {
		dir = ""
	}
	runs, err := u.store.Runs(dir)
	if err != nil {
		return undo.Run{}, err
	}
	var last *undo.Run // if every one is undone
	for _, r := range runs {
		if session != "" && r.Session != session {
			continue
		}
		if id != "" && (r.ID == id || r.Session == id && r.Undoes == "") || id == "" && r.Undoes == "" && r.Undone.IsZero() {
			return r, nil
		}
		if last == nil && r.Undoes == "" {
			last = &r
		}
	}
	if id == "" && last != nil {
		return *last, nil
	}
	if id != "" {
		return undo.Run{}, failure.Usage("there is no run %q", term.Echoed(id)).WithHint("mylm undo --list --all lists them.")
	}
	hint := hintCommands
	if session != "" {
		return undo.Run{}, failure.Usage("no run of this session has changed a file here with write_file or edit_file").WithHint(hint + "\nmylm undo --list lists the runs of others.")
	}
	if all, err := u.store.Runs(""); err == nil && len(all) > 0 {
		hint += "\nThe last run that wrote a file was in " + all[0].Workspace + ": go there, or mylm undo --list --all"
	}
	return undo.Run{}, failure.Usage(nothingToUndo).WithHint(hint)
}

const (
	nothingToUndo = "no run has changed a file here with write_file or edit_file"
	hintCommands  = "What commands change is not recorded: mylm sessions show last lists those that ran; version control or a backup brings files back."
)

func (u *undoRun) undo(ctx context.Context) error {
	r, err := u.pick()
	if err != nil {
		return err
	}
	shown := asRunJSON(r)
	out := undoJSON{Run: &shown, Steps: []undo.Step{}, DryRun: u.cli.Bool("dry-run")}
	switch {
	case !r.Undone.IsZero() && u.cli.String("run") == "":
		u.screen.Say(fmt.Sprintf("mylm: every run here is undone, %s the last of them; mylm undo --list shows them", r.ID))
	case out.DryRun:
		out.Steps, err = u.store.Plan(ctx, r)
	default:
		var report undo.Report
		report, err = u.store.Undo(ctx, r, u.cli.Bool("force"))
		out.Steps, out.By, out.Done = append(out.Steps, report.Steps...), report.By, err == nil
	}
	if err != nil {
		return u.explain(r, err)
	}
	if u.cli.Bool("json") {
		return term.PrintJSON(u.screen.Out, out)
	}
	for _, step := range out.Steps {
		u.screen.Answer(u.step(step) + "\n")
	}
	if out.By != "" {
		u.screen.Dim("to reverse this: " + u.screen.Typed("mylm undo --run "+out.By))
	}
	return nil
}

// step is what is done to a file, in one line.
func (u *undoRun) step(s undo.Step) string {
	text := map[undo.Action]string{undo.Restore: "restore", undo.Remove: "remove ", undo.Nothing: "as it was"}[s.Action] + "  " + term.Printable(s.Name)
	if s.Conflict != "" {
		text += "  (" + term.Printable(s.Conflict) + ")"
	}
	return text
}

// explain gives an error its exit code and hint.
func (u *undoRun) explain(r undo.Run, err error) error {
	var in *undo.ConflictError
	switch {
	case errors.As(err, &in):
		lines, hint := []string{}, "--force restores the earlier versions anyway; the present ones are saved first."
		for _, step := range in.Steps {
			if step.Blocked {
				hint = "Move what is in the way by hand, then run mylm undo again. --force does not do that."
			}
			lines = append(lines, term.Printable(step.Name)+": "+term.Printable(step.Conflict))
		}
		return (&failure.Error{Code: failure.ExitError, Name: "conflict", Err: fmt.Errorf("nothing was undone:\n  %s", strings.Join(lines, "\n  "))}).
			WithHint(hint)
	case errors.Is(err, undo.ErrActive):
		return (&failure.Error{Code: failure.ExitError, Name: "active", Err: fmt.Errorf("run %s: %w", r.ID, err)})
	case ctxDone(err):
		return (&failure.Error{Code: failure.ExitInterrupted, Name: "interrupted", Err: failure.ErrInterrupted}).WithHint("mylm undo does the rest.")
	}
	return err
}

func ctxDone(err error) bool { return errors.Is(err, context.Canceled) }
