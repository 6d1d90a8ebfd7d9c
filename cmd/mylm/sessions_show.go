package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/memory"
)

// loaded is a session that was read.
type loaded struct {
	header  journal.Header
	entries []agent.Entry
}

// load reads the session that an argument names, a file if it looks like one.
// What stands before a damage is returned, and the damage told.
func load(ctx context.Context, store *journal.Store, screen *screen, name string) (l loaded, err error) {
	if strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".jsonl") {
		l, err = interruptibly(ctx, func() (l loaded, err error) { l.header, l.entries, err = journal.LoadFile(ctx, name); return l, err })
		if errors.Is(err, os.ErrNotExist) {
			return l, usageError("the file cannot be read: %v", err)
		}
	} else {
		var id string
		if id, err = findSession(ctx, store, name); err != nil {
			return l, err
		}
		l, err = interruptibly(ctx, func() (l loaded, err error) { l.header, l.entries, err = store.Load(ctx, id); return l, err })
	}
	if errors.Is(err, journal.ErrDamaged) && len(l.entries) > 0 {
		screen.say(fmt.Sprintf("mylm: %v; what follows is what stands before that", err))
		err = nil
	}
	return l, err
}

// one is the session that the first of at most n arguments names.
func (k *keeping) one(ctx context.Context, n int) (loaded, error) {
	if err := errMoreArgs(k.cli, n); err != nil {
		return loaded{}, err
	}
	name := k.cli.Args().First()
	if name == "" {
		name = "last"
	}
	return load(ctx, k.store, k.screen, name)
}

func showSessionCommand(s streams) *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "print a session", ArgsUsage: "[ID|last|FILE]",
		Flags: []cli.Flag{jsonFlag()},
		Action: withSessions(s, func(k *keeping, ctx context.Context) error {
			l, err := k.one(ctx, 1)
			if err != nil {
				return err
			}
			form := "markdown"
			if k.cli.Bool("json") {
				form = "json"
			}
			return l.write(ctx, s.out, form, k.screen.outTTY)
		}),
	}
}

// exportForms are the forms of an exported session.
var exportForms = []string{"jsonl", "json", "markdown"}

func exportSessionCommand(s streams) *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write a session to a file, for instance for a bug report", ArgsUsage: "[ID|last|FILE] [FILE]",
		Description: `Without a file, or with -, it goes to stdout. mylm replay and mylm sessions show read
what is written as jsonl, the form it is kept in. --redact takes out the secrets that
mylm knows by their form; look at the file before you give it away.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: strings.Join(exportForms, ", "), Value: exportForms[0]},
			&cli.BoolFlag{DisableDefaultText: true, Name: "redact", Usage: "take secrets out"},
		},
		Action: withSessions(s, (*keeping).export),
	}
}

func (k *keeping) export(ctx context.Context) error {
	form := k.cli.String("format")
	if !slices.Contains(exportForms, form) {
		return usageError("--format is %q; it is one of %s", echoed(form), strings.Join(exportForms, ", "))
	}
	l, err := k.one(ctx, 2)
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
		k.tellRedacted(kinds)
	}
	path := k.cli.Args().Get(1)
	if path == "" || path == "-" {
		return l.write(ctx, k.streams.out, form, k.screen.outTTY)
	}
	var text bytes.Buffer
	if err := l.write(ctx, &text, form, false); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return usageError("%s is there already", echoed(path)).withHint("Name another file, or delete it first.")
	}
	if err := createFile(path, text.String()); err != nil {
		return usageError("the file cannot be written: %v", err)
	}
	return nil
}

func (k *keeping) tellRedacted(kinds map[string]bool) {
	if len(kinds) == 0 {
		k.screen.dim("no secret of a known form was found")
		return
	}
	var all []string
	for kind := range kinds {
		all = append(all, kind)
	}
	slices.Sort(all)
	k.screen.dim("taken out: " + strings.Join(all, ", "))
}

// write prints the session. On a terminal nothing of it can make that do things.
func (l loaded) write(ctx context.Context, w io.Writer, form string, terminal bool) error {
	out := &stoppable{ctx: ctx, w: w, plain: terminal}
	switch form {
	case "json":
		return journal.WriteJSON(out, l.header, l.entries)
	case "markdown":
		return journal.WriteMarkdown(out, l.header, l.entries)
	}
	return journal.WriteJSONL(out, l.header, l.entries)
}
