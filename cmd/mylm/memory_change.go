package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory"

	"github.com/urfave/cli/v2"
)

func addCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "add", Usage: "remember a note", ArgsUsage: "[TEXT... | -]",
		Description: "Without a text it is stdin.",
		UsageText: `mylm memory add "the staging host is called heron"
mylm memory add < notes.txt`,
		Flags: []cli.Flag{
			tagFlag("a `WORD` to find it by (repeatable)"), jsonFlag(),
			&cli.StringFlag{Name: "project", Usage: "`PROJECT` that it belongs to: a directory of it, or its name", DefaultText: "this one"},
		},
		Action: withMemory(s, func(r *memoryRun, ctx context.Context) error {
			words := r.cli.Args().Slice()
			if len(words) == 0 && !term.IsTerminal(s.In) {
				words = []string{"-"}
			}
			text, err := r.words(ctx, words)
			if err != nil {
				return err
			}
			if text == "" {
				return failure.Usage("there is nothing to remember").WithHint("mylm memory add \"the staging host is called heron\", or pipe a text into it")
			}
			d, err := r.note(ctx, text)
			if err != nil {
				return err
			}
			return r.changed(d, "")
		}),
	}
}

// note adds a note of the user.
func (r *memoryRun) note(ctx context.Context, text string) (memory.Document, error) {
	project := r.config.Project
	if name := r.cli.String("project"); name != "" {
		project = projectNamed(name)
	}
	kept, err := r.store.Add(ctx, memory.Document{
		Text: text, Kind: memory.Note, Role: "user", Project: project, Source: "memory add", Tags: r.cli.StringSlice("tag"),
	})
	if err != nil {
		return memory.Document{}, err
	}
	r.reportRedacted(text)
	return kept[0], nil
}

// reportRedacted reports which secrets were removed.
func (r *memoryRun) reportRedacted(text string) {
	if _, found := memory.Redact(text); len(found) > 0 {
		r.screen.Say("mylm: secrets are not kept; removed: " + strings.Join(found, ", "))
	}
}

// changed prints the id of the document that a command made or changed.
func (r *memoryRun) changed(d memory.Document, what string) error {
	if r.cli.Bool("json") {
		return term.PrintJSON(r.screen.Out, d)
	}
	r.screen.Answer(d.ID + what + "\n")
	return nil
}

func editMemoryCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "edit", Usage: "replace the text of a memory", ArgsUsage: "ID [TEXT... | -]",
		UsageText:   `mylm memory edit 01j8x2 "the staging host is called egret"`,
		Description: "Without a text, $VISUAL or $EDITOR opens it. To keep the old text as well: mylm memory supersede",
		Flags:       []cli.Flag{jsonFlag()},
		Action: withMemory(s, func(r *memoryRun, ctx context.Context) error {
			if r.cli.NArg() == 0 {
				return failure.Usage("memory edit takes an id").WithHint("mylm memory list and search show ids.")
			}
			old, err := r.store.Get(ctx, r.cli.Args().Get(0))
			if err != nil {
				return err
			}
			text, err := r.words(ctx, r.cli.Args().Slice()[1:])
			if err == nil && r.cli.NArg() == 1 {
				text, err = r.editor(old.Text)
			}
			switch {
			case err != nil:
				return err
			case text == "":
				return failure.Usage("the text is empty, and nothing was changed").WithHint("mylm memory forget " + old.ID + " deletes it.")
			case text == strings.TrimSpace(old.Text):
				r.screen.Say("mylm: nothing was changed")
				return nil
			}
			d, err := r.store.Edit(ctx, old.ID, text)
			if err != nil {
				return err
			}
			r.reportRedacted(text)
			return r.changed(d, "")
		}),
	}
}

// editor lets the user edit a text in a file that nobody else can read.
func (r *memoryRun) editor(text string) (string, error) {
	f, err := os.CreateTemp("", "mylm-memory-*.txt") // 0600
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	if err := term.Edit(r.cli.Context, r.screen.Streams, f.Name()); err != nil {
		return "", failure.Usage("%v", err).WithHint("Set VISUAL or EDITOR, or give the text: mylm memory edit ID \"...\"")
	}
	changed, err := readTextOf("the text", f.Name())
	return strings.TrimSpace(changed), err
}

func supersedeCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "supersede", Usage: "correct a memory: the old text is found with --history only", ArgsUsage: "OLD-ID NEW TEXT... | -",
		UsageText: `mylm memory supersede 01j8x2 "the staging host is called egret"
mylm memory supersede 01j8x2 --by 01j9a7`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "by", Usage: "corrected by the existing memory `ID`"},
			&cli.BoolFlag{Name: "undo", Usage: "withdraw the correction"},
			jsonFlag(),
		},
		Action: withMemory(s, func(r *memoryRun, ctx context.Context) error {
			if r.cli.NArg() == 0 {
				return failure.Usage("memory supersede takes the id of what is wrong").WithHint("mylm memory supersede ID \"what is right\"")
			}
			old, err := r.store.Get(ctx, r.cli.Args().Get(0))
			if err != nil {
				return err
			}
			text, err := r.words(ctx, r.cli.Args().Slice()[1:])
			if err != nil {
				return err
			}
			by, undo := r.cli.String("by"), r.cli.Bool("undo")
			d, what := old, " corrects "+old.ID
			switch {
			case text != "" && by == "" && !undo:
				d, err = r.store.Correct(ctx, old.ID, memory.Document{
					Text: text, Kind: old.Kind, Role: "user", Project: old.Project, Session: old.Session, Source: "memory supersede", Tags: old.Tags,
				})
				if err != nil {
					return err
				}
				r.reportRedacted(text)
				return r.changed(d, what)
			case text != "" || undo == (by != ""):
				return failure.Usage("memory supersede takes one of: what is right, --by ID, --undo").WithHint("mylm memory supersede " + old.ID + " \"what is right\"")
			case undo:
				what = " counts again"
			default:
				if d, err = r.store.Get(ctx, by); err != nil {
					return err
				}
			}
			if err := r.store.Supersede(ctx, old.ID, by); err != nil {
				return err
			}
			return r.changed(d, what)
		}),
	}
}

func forgetCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "forget", Usage: "delete memories, in every part of the file", ArgsUsage: "[ID...]",
		UsageText: `mylm memory forget 01j8x2
mylm memory forget --project . --before 2026-01-01`,
		Description: "Without ids, the flags say which. You are asked first, unless --yes is given.",
		Flags: append(scopeFlags(), tagFlag("only what has this `TAG` (repeatable)"), jsonFlag(),
			&cli.StringFlag{Name: "source", Usage: "only what came from `SOURCE`, as show prints it"},
			&cli.BoolFlag{Name: "all", Usage: "forget everything"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"},
		),
		Action: func(c *cli.Context) error {
			err := withMemory(s, (*memoryRun).forget)(c)
			if errors.Is(err, memory.ErrFull) && c.Bool("all") {
				return eraseMemory(c, s)
			}
			return err
		},
	}
}

// eraseMemory forgets everything if there is no space left for the usual way.
func eraseMemory(c *cli.Context, s *term.Screen) error {
	r := &memoryRun{cli: c, screen: s}
	if err := r.confirm(c.Context, nil); err != nil {
		return err
	}
	path, err := setup.MemoryPath()
	if err == nil {
		err = memory.Erase(c.Context, path, 10*time.Second)
	}
	if err != nil {
		return err
	}
	s.Say("mylm: forgot everything: the disk is full, so the memory was deleted as a whole")
	return nil
}

func (r *memoryRun) forget(ctx context.Context) error {
	f, err := r.filter("")
	if err != nil {
		return err
	}
	f.IDs, f.History = r.cli.Args().Slice(), true
	narrowed := len(f.IDs)+len(f.Projects)+len(f.Sessions)+len(f.Kinds)+len(f.Tags) > 0 || f.Source != "" || !f.After.IsZero() || !f.Before.IsZero()
	switch {
	case r.cli.Bool("all") && narrowed:
		return failure.Usage("--all is everything, so nothing else can be said beside it")
	case r.cli.Bool("all"):
		f = memory.All
		f.History = true
	case !narrowed:
		return failure.Usage("say what to forget: ids, or flags like --project . or --before 2026-01-01").WithHint("--all forgets everything.")
	}
	for _, id := range f.IDs { // a typo in one of them would go unnoticed
		if _, err := r.store.Get(ctx, id); err != nil {
			return err
		}
	}
	doomed, err := r.store.List(ctx, f, 0)
	if err != nil {
		return err
	}
	if len(doomed) > 0 {
		if err := r.confirm(ctx, doomed); err != nil {
			return err
		}
	}
	shown := memory.Filter{} // and nothing that was recorded meanwhile
	for _, d := range doomed {
		shown.IDs = append(shown.IDs, d.ID)
	}
	n := 0
	if len(doomed) > 0 {
		err := r.withSpinner("forgetting", func() (err error) { n, err = r.store.Forget(ctx, shown); return err })
		if err != nil {
			return err
		}
	}
	if err := r.forgetAside(); err != nil {
		return err
	}
	if r.cli.Bool("json") {
		return term.PrintJSON(r.screen.Out, map[string]int{"forgotten": n})
	}
	if n == 0 {
		r.screen.Say("mylm: nothing was forgotten: no document matches")
		return nil
	}
	r.screen.Say("mylm: forgot " + term.Plural(n, "document"))
	return nil
}

// forgetAside deletes damaged files that were moved aside, with everything
// else, or reports that they may still hold what was forgotten.
func (r *memoryRun) forgetAside() error {
	aside, err := r.store.Aside()
	if err != nil || len(aside) == 0 {
		return err
	}
	if !r.cli.Bool("all") {
		r.screen.Say("mylm: what was forgotten may still stand in files that were damaged once; delete them if nothing of them is needed:\n  " + strings.Join(aside, "\n  "))
		return nil
	}
	var errs []error
	for _, path := range aside {
		errs = append(errs, os.Remove(path))
	}
	return errors.Join(errs...)
}

// confirm asks before anything is deleted.
func (r *memoryRun) confirm(ctx context.Context, doomed []memory.Document) error {
	if r.cli.Bool("yes") {
		return nil
	}
	const most = 5
	question := "\nForget " + term.Plural(len(doomed), "document") + "? They cannot be brought back.\n\n"
	if doomed == nil {
		question = "\nThere is no space left on the disk. Delete the whole memory? It cannot be brought back.\n"
	}
	for i, d := range doomed {
		if i == most {
			question += fmt.Sprintf("  … and %d more\n", len(doomed)-most)
			break
		}
		question += "  " + r.line(d, 60) + "\n"
	}
	answer, err := (&term.Prompter{Screen: r.screen}).Ask(ctx, question+"\n[y]es, [n]o: ")
	var no term.Nobody
	switch {
	case errors.As(err, &no):
		return failure.Usage("nothing was forgotten (%s)", no).WithHint("--yes forgets without asking.")
	case err != nil:
		return err
	case !strings.EqualFold(answer, "y") && !strings.EqualFold(answer, "yes"):
		return &failure.Error{Code: failure.ExitDenied, Name: "denied", Err: errors.New("nothing was forgotten")}
	}
	return nil
}
