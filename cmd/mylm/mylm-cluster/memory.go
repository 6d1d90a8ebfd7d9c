package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/urfave/cli/v2"

	"mylm/memory"
)

// withMemory runs f with the memory of the tenant.
func (c *cluster) withMemory(ctx *cli.Context, f func(*memory.Store) error) error {
	db, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := db.Memory(ctx.Context, ctx.String("tenant"), memory.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	return f(store)
}

func (c *cluster) importMemory(ctx *cli.Context) error {
	if ctx.NArg() > 1 {
		return usage("memory import takes one file, or reads stdin")
	}
	in := c.in
	if name := ctx.Args().First(); name != "" && name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return usage("%w", err)
		}
		defer file.Close()
		in = file
	}
	buffered := bufio.NewReader(in)
	if memory.Sealed(buffered) {
		return usage("this export is encrypted: make one without --encrypt, and pipe it here")
	}
	return c.withMemory(ctx, func(store *memory.Store) error {
		did, err := store.Import(ctx.Context, buffered, nil)
		fmt.Fprintf(c.messages, "%d records read, %d documents added, %d already existed, %d without a text skipped\n", did.Records, did.Added, did.Known, did.Skipped)
		if n := did.Kept + did.Circles; n > 0 {
			fmt.Fprintf(c.messages, "%d corrections skipped: this memory has another text, or they go round\n", n)
		}
		return err
	})
}

func (c *cluster) exportMemory(ctx *cli.Context) error {
	if ctx.NArg() > 0 {
		return usage("memory export writes to stdout, and takes no arguments")
	}
	return c.withMemory(ctx, func(store *memory.Store) error {
		n, err := store.Export(ctx.Context, c.out, memory.Filter{})
		if err == nil {
			fmt.Fprintf(c.messages, "%d documents exported\n", n)
		}
		return err
	})
}

func (c *cluster) searchMemory(ctx *cli.Context) error {
	words := strings.Join(ctx.Args().Slice(), " ")
	if strings.TrimSpace(words) == "" {
		return usage(`there is nothing to search for: mylm-cluster memory search "which host is staging?"`)
	}
	return c.withMemory(ctx, func(store *memory.Store) error {
		hits, err := store.Search(ctx.Context, memory.Query{Text: words, Limit: ctx.Int("limit"), Projects: ctx.StringSlice("project"), Sessions: ctx.StringSlice("session")})
		if err != nil {
			return err
		}
		if ctx.Bool("json") {
			return printJSON(c.out, append([]memory.Hit{}, hits...))
		}
		if len(hits) == 0 {
			fmt.Fprintln(c.messages, "nothing that matches is remembered")
		}
		for _, h := range hits {
			c.line(h.Document)
			fmt.Fprintf(c.out, "  found by %s\n", printable(h.Why()))
		}
		return nil
	})
}

func (c *cluster) listMemory(ctx *cli.Context) error {
	if ctx.NArg() > 0 {
		return usage("memory list takes no arguments; memory search takes words")
	}
	return c.withMemory(ctx, func(store *memory.Store) error {
		all, err := store.List(ctx.Context, memory.Filter{Projects: ctx.StringSlice("project"), Sessions: ctx.StringSlice("session")}, ctx.Int("limit"))
		if err != nil {
			return err
		}
		if ctx.Bool("json") {
			return printJSON(c.out, append([]memory.Document{}, all...))
		}
		for _, d := range all {
			c.line(d)
		}
		return nil
	})
}

// line prints a document on one line.
func (c *cluster) line(d memory.Document) {
	const most = 300
	text := []rune(strings.Join(strings.Fields(printable(d.Text)), " "))
	if len(text) > most {
		text = append(text[:most-1], '…')
	}
	fmt.Fprintf(c.out, "%s  %s  %s  %s\n", printable(d.ID), d.Time.Local().Format(time.DateOnly), d.Kind, string(text))
}

func printJSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// printable is a text without what a terminal obeys, and without what turns the
// direction of writing.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return -1
		}
		return r
	}, s)
}
