package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"mylm/agent/durable/postgres"
	"mylm/agent/journal"
)

// withSessions runs f with the sessions of the tenant.
func (c *cluster) withSessions(ctx *cli.Context, f func(*postgres.Sessions) error) error {
	db, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	sessions, err := db.Sessions(ctx.String("tenant"))
	if err != nil {
		return err
	}
	return f(sessions)
}

func (c *cluster) listSessions(ctx *cli.Context) error {
	if ctx.NArg() > 0 {
		return usage("list takes no arguments; show takes an id")
	}
	return c.withSessions(ctx, func(sessions *postgres.Sessions) error {
		all, err := sessions.List(ctx.Context, journal.Filter{Limit: ctx.Int("limit")})
		if err != nil {
			return err
		}
		if ctx.Bool("json") {
			return printJSON(c.out, append([]journal.Info{}, all...))
		}
		for _, i := range all {
			fmt.Fprintf(c.out, "%s  %s  %s  %s\n", i.ID, i.Changed.Local().Format("2006-01-02 15:04"), i.State, printable(i.Title))
		}
		return nil
	})
}

func (c *cluster) showSession(ctx *cli.Context) error {
	if ctx.NArg() != 1 {
		return usage("show takes the id of one session")
	}
	return c.withSessions(ctx, func(sessions *postgres.Sessions) error {
		header, entries, err := sessions.Load(ctx.Context, ctx.Args().First())
		if err != nil {
			return err
		}
		if ctx.Bool("json") {
			return journal.WriteJSON(c.out, header, entries)
		}
		var text bytes.Buffer
		if err := journal.WriteMarkdown(&text, header, entries); err != nil {
			return err
		}
		_, err = io.WriteString(c.out, printable(text.String()))
		return err
	})
}
