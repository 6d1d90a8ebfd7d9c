package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory"

	"github.com/urfave/cli/v2"
)

// fieldNames are the parts of a document that --map can fill.
var fieldNames = []string{"id", "kind", "role", "speaker", "session", "project", "time", "source", "tags", "text"}

func importCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "add memories from a file", ArgsUsage: "FILE | -",
		Description: `The file is JSON Lines or a JSON array: what mylm memory export writes, what
llm logs --json prints (--from llm), or records of any kind with --map, or an
encrypted export:

   llm logs --json -n 0 | mylm memory import --from llm -
   mylm memory import --map text=body --map time=created_at chats.jsonl

The parts of a memory: ` + strings.Join(fieldNames, ", ") + `.
text may be given more than once. What is there already stays as it is, so that an
import can be repeated, also of records without an id, and of a file that grew.
Records that name no project are of this one.`,
		Flags: []cli.Flag{
			cmdline.OneOf(&cli.StringFlag{Name: "from", Usage: "program that wrote the file: mylm or llm", Value: "mylm"}, "mylm", "llm"),
			&cli.StringSliceFlag{Name: "map", Usage: "`PART=FIELD`: take a part of the memory from this field of a record (repeatable)"},
			&cli.StringFlag{Name: "project", Usage: "`PROJECT` of records that name none: a directory of it, or its name", DefaultText: "this one"},
			passphraseFlag(), jsonFlag(),
		},
		Action: withMemory(s, (*memoryRun).importFile),
	}
}

func (r *memoryRun) importFile(ctx context.Context) error {
	c := r.cli
	if c.NArg() != 1 {
		return failure.Usage("memory import takes one file, or - for stdin")
	}
	mapping, err := r.mapping()
	if err != nil {
		return err
	}
	in, err := r.source(ctx)
	if err != nil {
		return err
	}
	defer in.close()
	counted := &progressReader{r: in.r}
	done, err := term.Wait(ctx, func() (memory.Imported, error) {
		var done memory.Imported
		err := r.showing(func() string {
			label := "importing, " + term.Bytes(counted.n.Load())
			if in.size > 0 {
				label += fmt.Sprintf(", %d %%", 100*counted.n.Load()/in.size)
			}
			return label
		}, func() (err error) { done, err = r.store.Import(ctx, counted, mapping); return err })
		return done, err
	})
	if err != nil && ctx.Err() == nil {
		if done.Added > 0 {
			r.screen.Say(fmt.Sprintf("mylm: added %s before that; the import can be repeated", term.Plural(done.Added, "document")))
		}
		return failure.Usage("importing: %w", err).WithHint("mylm help memory import says what can be read.")
	}
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return term.PrintJSON(r.screen.Out, map[string]int{"records": done.Records, "added": done.Added, "known": done.Known, "skipped": done.Skipped, "kept": done.Kept, "circles": done.Circles})
	}
	text := fmt.Sprintf("%s read, %s added", term.Plural(done.Records, "record"), term.Plural(done.Added, "document"))
	if done.Known > 0 {
		text += fmt.Sprintf(", %d already existed", done.Known)
	}
	if done.Skipped > 0 {
		text += fmt.Sprintf(", %d without a text skipped", done.Skipped)
	}
	if done.Kept > 0 {
		text += fmt.Sprintf(", %s skipped because this memory has another", term.Plural(done.Kept, "correction"))
	}
	if done.Circles > 0 {
		text += fmt.Sprintf(", %s skipped that would close a cycle", term.Plural(done.Circles, "correction"))
	}
	r.screen.Say("mylm: " + text)
	return nil
}

// mapping reads --from and --map.
func (r *memoryRun) mapping() (memory.Mapping, error) {
	c := r.cli
	project := r.config.Project
	if name := c.String("project"); name != "" {
		project = projectNamed(name)
	}
	if pairs := c.StringSlice("map"); len(pairs) > 0 {
		if c.IsSet("from") {
			return nil, failure.Usage("--from and --map exclude each other")
		}
		return fieldMapping(pairs, project)
	}
	if c.String("from") == "llm" {
		return memory.LLMLogs(project), nil
	}
	return memory.Exported(project), nil
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
			return nil, failure.Usage("--map is %q; write PART=FIELD, where PART is one of %s", term.Echoed(pair), strings.Join(fieldNames, ", "))
		case part == "text":
			f.Text = append(f.Text, field)
		case *parts[part] != "":
			return nil, failure.Usage("--map fills %s twice; only text can be made of several fields", part)
		default:
			*parts[part] = field
		}
	}
	if len(f.Text) == 0 {
		return nil, failure.Usage("--map does not say where the text is").WithHint("For instance: --map text=body")
	}
	return f.Mapping(), nil
}

// progressReader counts the bytes that were read.
type progressReader struct {
	r io.Reader
	n atomic.Int64
}

func (p *progressReader) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.n.Add(int64(n))
	return n, err
}

// importSource is the input of an import.
type importSource struct {
	r     io.Reader
	size  int64 // in bytes; 0: unknown
	close func()
}

// source opens what is to be imported: stdin, or a file, plain or sealed.
func (r *memoryRun) source(ctx context.Context) (*importSource, error) {
	path := r.cli.Args().Get(0)
	secret := r.cli.IsSet("passphrase-file")
	in := &importSource{r: r.screen.In, close: func() {}}
	if path != "-" {
		f, err := term.Wait(ctx, func() (*os.File, error) { return os.Open(path) })
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, cmdline.Unread("", path, err)
		}
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			in.size = info.Size()
		}
		in.r, in.close = f, func() { f.Close() }
	}
	head := bufio.NewReader(in.r)
	in.r = head
	sealed, err := term.Wait(ctx, func() (bool, error) { return memory.Sealed(head), nil })
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case sealed:
		err = r.unsealed(ctx, in)
	case secret:
		err = failure.Usage("--passphrase-file is given, and this is not an encrypted export")
	}
	if err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// unsealed makes a source yield the content of the sealed export that it is.
func (r *memoryRun) unsealed(ctx context.Context, in *importSource) error {
	if r.cli.IsSet("map") || r.cli.IsSet("from") && r.cli.String("from") != "mylm" {
		return failure.Usage("this is an encrypted export of mylm's: it needs neither --from nor --map")
	}
	secret, err := passphrase(ctx, r.cli, r.screen, "Passphrase: ", false)
	if err != nil {
		return err
	}
	sealed := in.r
	in.size = 0 // what is counted is what comes out
	in.pipe(func(w io.Writer) error { return memory.Unseal(ctx, sealed, w, secret) })
	return nil
}

// pipe makes a source yield what f writes.
func (in *importSource) pipe(f func(io.Writer) error) {
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.CloseWithError(f(w))
	}()
	before := in.close
	in.r, in.close = r, func() {
		r.Close()
		<-done
		before()
	}
}
