package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory"

	"github.com/urfave/cli/v2"
)

// loadedSession is a session that was read.
type loadedSession struct {
	name    string // as commands take it
	header  journal.Header
	entries []agent.Entry
	damage  error // after the entries; nil: all was read
}

// load reads the session that an argument names, a file if it looks like one.
func (k *sessionsRun) load(ctx context.Context, name string) (l loadedSession, err error) {
	read := func(f func() (journal.Header, []agent.Entry, error)) (loadedSession, error) {
		return term.Wait(ctx, func() (loadedSession, error) {
			h, entries, err := f()
			return loadedSession{header: h, entries: entries}, err
		})
	}
	what, advice := term.Echoed(name), "Get the file again from where it was recorded: nothing of this one can be used."
	if strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".jsonl") {
		l, err = read(func() (journal.Header, []agent.Entry, error) { return journal.LoadFile(ctx, name) })
		if errors.Is(err, os.ErrNotExist) {
			return l, cmdline.Unread("", name, err)
		}
		if errors.Is(err, journal.ErrCut) || errors.Is(err, journal.ErrDamaged) {
			err = fmt.Errorf("%s: %w", what, err)
		}
		l.name = term.ShellQuote(name)
	} else {
		if name, err = k.find(ctx, name); err != nil {
			return l, err
		}
		l, err = read(func() (journal.Header, []agent.Entry, error) { return k.store.Load(ctx, name) })
		l.name, what, advice = name, "session "+name, deleteHint(k.store, name)
	}
	none := len(l.entries) == 0
	switch {
	case errors.Is(err, journal.ErrDamaged) && none:
		return l, damaged(err).WithHint(advice)
	case errors.Is(err, journal.ErrDamaged):
		l.damage = err
	case err != nil && !errors.Is(err, journal.ErrCut):
		return l, err
	case none:
		return l, damaged(fmt.Errorf("%s: %w", what, journal.ErrNothing)).WithHint(advice)
	case err != nil:
		k.screen.Say(fmt.Sprintf("mylm: %v; skipped", err))
	}
	return l, nil
}

// partly is the failure of a command that did its work with a part of the session.
func (l loadedSession) partly() error {
	if l.damage == nil {
		return nil
	}
	return damaged(fmt.Errorf("%w; only the entries before it were read", l.damage))
}

// one is the session that the first argument names.
func (k *sessionsRun) one(ctx context.Context) (loadedSession, error) {
	name := k.cli.Args().Get(0)
	if name == "" {
		name = "last"
	}
	return k.load(ctx, name)
}

func showSessionCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "print a session", ArgsUsage: "[ID|last|FILE]",
		UsageText: `mylm sessions show last
mylm sessions show report.jsonl`,
		Flags: []cli.Flag{jsonFlag()},
		Action: withSessions(s, func(k *sessionsRun, ctx context.Context) error {
			l, err := k.one(ctx)
			if err != nil {
				return err
			}
			if l.damage != nil {
				k.screen.Say(fmt.Sprintf("mylm: %v; these are the entries before it", l.damage))
			}
			form := "markdown"
			if k.cli.Bool("json") {
				form = "json"
			}
			return l.write(ctx, s.Out, form, k.screen.OutTTY)
		}),
	}
}

// exportForms are the forms of an exported session.
var exportForms = []string{"jsonl", "json", "markdown"}

func exportSessionCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write a session to a file, for instance for a bug report", ArgsUsage: "[ID|last|FILE] [FILE]",
		UsageText: `mylm sessions export last report.jsonl --redact
mylm sessions export last --format markdown`,
		Description: `Without a file, or with -, it goes to stdout. mylm replay and mylm sessions show read
what is written as jsonl, the form it is kept in. --redact takes out the secrets that
mylm knows by their form; look at the file before you give it away.`,
		Flags: []cli.Flag{
			cmdline.OneOf(&cli.StringFlag{Name: "format", Usage: "form of the output: " + term.Alternatives(exportForms), Value: exportForms[0]}, exportForms...),
			&cli.BoolFlag{Name: "redact", Usage: "take out secrets whose form is known"},
		},
		Action: withSessions(s, (*sessionsRun).export),
	}
}

func (k *sessionsRun) export(ctx context.Context) error {
	form := k.cli.String("format")
	l, err := k.one(ctx)
	if err != nil {
		return err
	}
	if k.cli.Bool("redact") {
		kinds := map[string]bool{}
		l.header, l.entries = journal.Clean(l.header, l.entries, func(text string) string {
			clean, found := memory.Redact(text)
			for _, kind := range found {
				kinds[kind] = true
			}
			return clean
		})
		k.reportRedacted(kinds)
	}
	path := k.cli.Args().Get(1)
	if path == "" || path == "-" {
		return cmp.Or(l.write(ctx, k.screen.Out, form, k.screen.OutTTY), l.partly())
	}
	var text bytes.Buffer
	if err := l.write(ctx, &text, form, false); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return failure.Usage("%s already exists", term.Echoed(path)).WithHint("Name another file, or delete it first.")
	}
	if err := config.CreateFile(path, text.String()); err != nil {
		return unwritten(err)
	}
	return l.partly()
}

func (k *sessionsRun) reportRedacted(kinds map[string]bool) {
	if len(kinds) == 0 {
		k.screen.Dim("no secret of a known form was found")
		return
	}
	var all []string
	for kind := range kinds {
		all = append(all, kind)
	}
	slices.Sort(all)
	k.screen.Dim("taken out: " + strings.Join(all, ", "))
}

// write prints the session. On a terminal nothing of it can make that do things.
func (l loadedSession) write(ctx context.Context, w io.Writer, form string, terminal bool) error {
	out := &stoppable{ctx: ctx, w: w, plain: terminal}
	switch form {
	case "json":
		return journal.WriteJSON(out, l.header, l.entries)
	case "markdown":
		return journal.WriteMarkdown(out, l.header, l.entries)
	}
	return journal.WriteJSONL(out, l.header, l.entries)
}
