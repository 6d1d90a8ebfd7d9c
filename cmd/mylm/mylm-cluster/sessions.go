package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"mylm/agent/durable/postgres"
	"mylm/agent/journal"
	"mylm/cmd/mylm/internal/term"
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
	return c.withSessions(ctx, func(sessions *postgres.Sessions) error {
		all, err := sessions.List(ctx.Context, journal.Filter{Limit: ctx.Int("limit")})
		if err != nil {
			return err
		}
		if ctx.Bool("json") {
			return term.PrintJSON(c.screen, append([]journal.Info{}, all...))
		}
		for _, i := range all {
			c.screen.Answer(fmt.Sprintf("%s  %s  %s  %s\n", i.ID, i.Changed.Local().Format("2006-01-02 15:04"), i.State, term.OneLine(term.Printable(i.Title), 200)))
		}
		return nil
	})
}

func (c *cluster) showSession(ctx *cli.Context) error {
	name, err := id(ctx)
	if err != nil {
		return err
	}
	return c.withSessions(ctx, func(sessions *postgres.Sessions) error {
		header, entries, err := sessions.Load(ctx.Context, name)
		if err != nil {
			return err
		}
		if ctx.Bool("json") {
			return journal.WriteJSON(c.screen, header, entries)
		}
		var text bytes.Buffer
		if err := journal.WriteMarkdown(&text, header, entries); err != nil {
			return err
		}
		_, err = io.WriteString(c.screen, term.Printable(text.String()))
		return err
	})
}
