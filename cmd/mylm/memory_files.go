package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/urfave/cli/v2"

	"mylm/memory"
)

func exportCommand(s streams) *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write memories as JSON Lines, all of them unless told otherwise", ArgsUsage: "[FILE]",
		Description: "Without a file, or with -, they go to stdout. What was corrected goes along. The file is readable for you alone.",
		Flags:       append(scopeFlags(), tagFlag("only what has this `TAG` (repeatable)")),
		Action: withMemory(s, func(r *remembering, ctx context.Context) error {
			if err := errMoreArgs(r.cli, 1); err != nil {
				return err
			}
			f, err := r.filter("")
			if err != nil {
				return err
			}
			path := r.cli.Args().First()
			n := 0
			if path == "" || path == "-" {
				out := &stoppable{ctx: ctx, w: s.out, plain: r.screen.outTTY}
				n, err = r.store.Export(ctx, out, f)
			} else {
				err = r.busily("exporting", func() (err error) { n, err = r.exportFile(ctx, path, f); return err })
			}
			if err != nil {
				return err
			}
			r.screen.dim("exported " + plural(n, "document"))
			return nil
		}),
	}
}

// exportFile writes a file that is whole or not there. One that is there stays.
func (r *remembering) exportFile(ctx context.Context, path string, f memory.Filter) (int, error) {
	if _, err := os.Lstat(path); err == nil {
		return 0, usageError("%s is there already", echoed(path)).withHint("Name another file, or delete it first.")
	}
	part := path + ".part"
	out, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, usageError("the file cannot be written: %v", err)
	}
	defer os.Remove(part)
	n, err := r.store.Export(ctx, &stoppable{ctx: ctx, w: out}, f)
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

// stoppable is a writer that ends with a context. Plain takes out what could
// make a terminal do things.
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
	if _, err := io.WriteString(s.w, printable(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// fieldNames are the parts of a document that --map can fill.
var fieldNames = []string{"id", "kind", "role", "speaker", "session", "project", "time", "source", "tags", "text"}

func importCommand(s streams) *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "add memories from a file", ArgsUsage: "FILE | -",
		Description: `The file is JSON Lines or a JSON array: what mylm memory export writes, what
llm logs --json prints (--from llm), or records of any kind with --map:

   llm logs --json -n 0 | mylm memory import --from llm -
   mylm memory import --map text=body --map time=created_at chats.jsonl

A part of a memory is one of: ` + strings.Join(fieldNames, ", ") + `.
text may be given more than once. What is there already stays as it is, so that an
import can be repeated.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "mylm or llm", Value: "mylm"},
			&cli.StringSliceFlag{Name: "map", Usage: "`PART=FIELD`: take a part of the memory from this field of a record (repeatable)"},
			&cli.StringFlag{Name: "project", Usage: "of this `PROJECT` where a record names none: a directory of it, or its name"},
			jsonFlag(),
		},
		Action: withMemory(s, (*remembering).importFile),
	}
}

func (r *remembering) importFile(ctx context.Context) error {
	c := r.cli
	if c.NArg() != 1 {
		return usageError("memory import takes one file, or - for stdin")
	}
	mapping, err := r.mapping()
	if err != nil {
		return err
	}
	in, size := io.Reader(r.streams.in), int64(0)
	if path := c.Args().First(); path != "-" {
		f, err := interruptibly(ctx, func() (*os.File, error) { return os.Open(path) })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return usageError("the file cannot be read: %v", err)
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
		in = f
	}
	counted := &progressReader{r: in}
	done, err := interruptibly(ctx, func() (memory.Imported, error) {
		var done memory.Imported
		err := r.importing(counted, size, func() (err error) { done, err = r.store.Import(ctx, counted, mapping); return err })
		return done, err
	})
	if err != nil && ctx.Err() == nil {
		if done.Added > 0 {
			r.screen.say(fmt.Sprintf("mylm: %s were added before that; the import can be repeated", plural(done.Added, "document")))
		}
		return usageError("importing: %w", err).withHint("mylm help memory import says what can be read.")
	}
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(r.streams.out, map[string]int{"records": done.Records, "added": done.Added, "known": done.Known, "skipped": done.Skipped})
	}
	text := fmt.Sprintf("%s read, %s added", plural(done.Records, "record"), plural(done.Added, "document"))
	if done.Known > 0 {
		text += fmt.Sprintf(", %d were there already", done.Known)
	}
	if done.Skipped > 0 {
		text += fmt.Sprintf(", %d without a text left out", done.Skipped)
	}
	r.screen.say("mylm: " + text)
	return nil
}

// mapping reads --from and --map.
func (r *remembering) mapping() (memory.Mapping, error) {
	c := r.cli
	project := ""
	if name := c.String("project"); name != "" {
		project = projectNamed(name)
	}
	if pairs := c.StringSlice("map"); len(pairs) > 0 {
		if c.IsSet("from") {
			return nil, usageError("--from and --map exclude each other")
		}
		return fieldMapping(pairs, project)
	}
	switch c.String("from") {
	case "mylm":
		if project != "" {
			return nil, usageError("--project does not go with a file of mylm's own: it says which project each memory is of")
		}
		return nil, nil
	case "llm":
		return func(record map[string]any) ([]memory.Document, error) {
			made, err := memory.LLMLogs(record)
			for i := range made {
				made[i].Project = project
			}
			return made, err
		}, nil
	}
	return nil, usageError("--from is %q; it is mylm or llm", echoed(c.String("from")))
}

func fieldMapping(pairs []string, project string) (memory.Mapping, error) {
	f := memory.Fields{Default: memory.Document{Kind: memory.Exchange, Project: project, Source: "import"}}
	parts := map[string]*string{
		"id": &f.ID, "kind": &f.Kind, "role": &f.Role, "speaker": &f.Speaker, "session": &f.Session, "project": &f.Project,
		"time": &f.Time, "source": &f.Source, "tags": &f.Tags,
	}
	for _, pair := range pairs {
		part, field, ok := strings.Cut(pair, "=")
		switch {
		case !ok || field == "" || !slices.Contains(fieldNames, part):
			return nil, usageError("--map is %q; write PART=FIELD, where PART is one of %s", echoed(pair), strings.Join(fieldNames, ", "))
		case part == "text":
			f.Text = append(f.Text, field)
		case *parts[part] != "":
			return nil, usageError("--map fills %s twice; only text can be made of several fields", part)
		default:
			*parts[part] = field
		}
	}
	if len(f.Text) == 0 {
		return nil, usageError("--map does not say where the text is").withHint("For instance: --map text=body")
	}
	return f.Mapping(), nil
}

// progressReader counts what was read.
type progressReader struct {
	r io.Reader
	n atomic.Int64
}

func (p *progressReader) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.n.Add(int64(n))
	return n, err
}

// importing shows how far an import is.
func (r *remembering) importing(in *progressReader, size int64, f func() error) error {
	return r.showing(func() string {
		label := "importing, " + bytesText(in.n.Load())
		if size > 0 {
			label += fmt.Sprintf(", %d %%", 100*in.n.Load()/size)
		}
		return label
	}, f)
}
