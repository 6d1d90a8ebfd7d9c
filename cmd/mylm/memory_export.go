package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory"

	"github.com/urfave/cli/v2"
)

func exportCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write memories as JSON Lines, all of them unless told otherwise", ArgsUsage: "[FILE]",
		UsageText: `mylm memory export backup.jsonl
mylm memory export backup.sealed --encrypt`,
		Description: `Without a file, or with -, they go to stdout. What was corrected goes along. The
file is readable for you alone. With --encrypt it can be read with a passphrase only.`,
		Flags: append(scopeFlags(), tagFlag("only what has this `TAG` (repeatable)"),
			&cli.BoolFlag{Name: "encrypt", Usage: "encrypt the file with a passphrase"}, passphraseFlag()),
		Action: withMemory(s, func(r *memoryRun, ctx context.Context) error {
			f, err := r.filter("")
			if err != nil {
				return err
			}
			export, err := r.exporter(ctx, f)
			if err != nil {
				return err
			}
			path := r.cli.Args().Get(0)
			n := 0
			switch {
			case path != "" && path != "-":
				err = r.withSpinner("exporting", func() (err error) { n, err = exportFile(ctx, path, export); return err })
			case r.screen.OutTTY && r.cli.Bool("encrypt"):
				return failure.Usage("an encrypted export is nothing for a terminal").WithHint("Name a file: mylm memory export --encrypt memory.sealed")
			default:
				n, err = export(&stoppable{ctx: ctx, w: s.Out, plain: r.screen.OutTTY})
			}
			if err != nil {
				return err
			}
			r.screen.Dim("exported " + term.Plural(n, "document"))
			return nil
		}),
	}
}

// exporter is how memories are written: plain, or encrypted.
func (r *memoryRun) exporter(ctx context.Context, f memory.Filter) (func(io.Writer) (int, error), error) {
	if !r.cli.Bool("encrypt") {
		if r.cli.IsSet("passphrase-file") {
			return nil, failure.Usage("--passphrase-file is for --encrypt")
		}
		return func(w io.Writer) (int, error) { return r.store.Export(ctx, w, f) }, nil
	}
	secret, err := passphrase(ctx, r.cli, r.screen, "Passphrase to encrypt with: ", true)
	return func(w io.Writer) (int, error) { return r.store.ExportSealed(ctx, w, f, secret) }, err
}

// exportFile writes a file completely or not at all, and never replaces one.
func exportFile(ctx context.Context, path string, export func(io.Writer) (int, error)) (int, error) {
	if _, err := os.Lstat(path); err == nil {
		return 0, failure.Usage("%s already exists", term.Echoed(path)).WithHint("Name another file, or delete it first.")
	}
	out, err := config.TempBeside(path)
	if err != nil {
		return 0, unwritten(err)
	}
	part := out.Name()
	defer os.Remove(part)
	n, err := export(&stoppable{ctx: ctx, w: out})
	if err == nil {
		err = out.Sync()
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	return n, err
}

// unwritten is the error of a file that cannot be created.
func unwritten(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || config.IsMissing(err) {
		return failure.Usage("the file cannot be written: %w", err).
			WithHint("Name a file in a directory that is there and that you can write to.")
	}
	return fmt.Errorf("the file cannot be written: %w", err)
}

// stoppable is a writer that fails once its context is done. Plain removes control
// characters.
type stoppable struct {
	ctx   context.Context
	w     io.Writer
	plain bool
}

func (s *stoppable) Write(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	if !s.plain {
		return s.w.Write(p)
	}
	if _, err := io.WriteString(s.w, term.Printable(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
