package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory"
)

func (c *cluster) memoryCommand() *cli.Command {
	project := func() []cli.Flag {
		return join(databaseFlags(),
			&cli.StringSliceFlag{Name: "project", Usage: "only this `PROJECT` (repeatable)"},
			&cli.StringSliceFlag{Name: "session", Usage: "only the session `ID` (repeatable)"},
			jsonFlag())
	}
	return &cli.Command{Name: "memory", Usage: "move, search and list what is remembered", Subcommands: []*cli.Command{
		{Name: "import", Usage: "add what mylm memory export wrote", ArgsUsage: "[FILE]", Flags: databaseFlags(), Action: c.importMemory},
		{Name: "export", Usage: "write memories as JSON Lines to stdout", Flags: databaseFlags(), Action: c.exportMemory},
		{Name: "search", Usage: "search the memory", ArgsUsage: "WORDS...", Flags: join(project(), limitFlag(5)), Action: c.searchMemory},
		{Name: "list", Usage: "list what is remembered, the newest first", Flags: join(project(), limitFlag(20)), Action: c.listMemory},
	}}
}

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
	var in io.Reader = c.screen.In
	if name := ctx.Args().First(); name != "" && name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return cmdline.Unread("", name, err)
		}
		defer file.Close()
		in = file
	}
	buffered := bufio.NewReader(in)
	if memory.Sealed(buffered) {
		return failure.Usage("this export is encrypted: make one without --encrypt, and pipe it here")
	}
	return c.withMemory(ctx, func(store *memory.Store) error {
		did, err := store.Import(ctx.Context, buffered, nil)
		c.screen.Say(fmt.Sprintf("%d records read, %d documents added, %d already existed, %d without a text skipped", did.Records, did.Added, did.Known, did.Skipped))
		if n := did.Kept + did.Circles; n > 0 {
			c.screen.Say(fmt.Sprintf("%d corrections skipped: this memory has another text, or they go round", n))
		}
		return err
	})
}

func (c *cluster) exportMemory(ctx *cli.Context) error {
	return c.withMemory(ctx, func(store *memory.Store) error {
		n, err := store.Export(ctx.Context, c.screen, memory.Filter{})
		if err == nil {
			c.screen.Say(fmt.Sprintf("%d documents exported", n))
		}
		return err
	})
}

func (c *cluster) searchMemory(ctx *cli.Context) error {
	words := strings.Join(ctx.Args().Slice(), " ")
	if strings.TrimSpace(words) == "" {
		return failure.Usage(`there is nothing to search for: mylm-cluster memory search "which host is staging?"`)
	}
	return c.withMemory(ctx, func(store *memory.Store) error {
		hits, err := store.Search(ctx.Context, memory.Query{Text: words, Limit: ctx.Int("limit"), Projects: ctx.StringSlice("project"), Sessions: ctx.StringSlice("session")})
		if err != nil {
			return err
		}
		if ctx.Bool("json") {
			return term.PrintJSON(c.screen, append([]memory.Hit{}, hits...))
		}
		if len(hits) == 0 {
			c.screen.Say("nothing that matches is remembered")
		}
		for _, h := range hits {
			c.line(h.Document)
			c.screen.Answer("  found by " + term.Printable(h.Why()) + "\n")
		}
		return nil
	})
}

func (c *cluster) listMemory(ctx *cli.Context) error {
	return c.withMemory(ctx, func(store *memory.Store) error {
		all, err := store.List(ctx.Context, memory.Filter{Projects: ctx.StringSlice("project"), Sessions: ctx.StringSlice("session")}, ctx.Int("limit"))
		if err != nil {
			return err
		}
		if ctx.Bool("json") {
			return term.PrintJSON(c.screen, append([]memory.Document{}, all...))
		}
		for _, d := range all {
			c.line(d)
		}
		return nil
	})
}

// line prints a document on one line.
func (c *cluster) line(d memory.Document) {
	text := term.OneLine(term.Printable(d.Text), 300)
	c.screen.Answer(fmt.Sprintf("%s  %s  %s  %s\n", term.Printable(d.ID), d.Time.Local().Format(time.DateOnly), d.Kind, text))
}
