package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"mylm/agent"
	"mylm/agent/durable/postgres"
	"mylm/agent/journal"
	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/sink"
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
		rows := []listed{}
		for _, i := range all {
			row := listed{Info: i}
			if i.Labels[journal.LabelPlan] != "" {
				row.Tasks, err = tasksOf(ctx.Context, sessions, i.ID)
				if err := c.unread(ctx, "the tasks of "+i.ID, err); err != nil {
					return err
				}
			}
			if i.State == string(agent.StopInterrupted) {
				end, err := sessions.End(ctx.Context, i.ID)
				if err := c.unread(ctx, "the end of "+i.ID, err); err != nil {
					return err
				}
				row.Reason = whose(end.StopReason, end.Error)
			}
			rows = append(rows, row)
		}
		if ctx.Bool("json") {
			return term.PrintJSON(c.screen, rows)
		}
		for _, i := range rows {
			title := term.OneLine(term.Printable(i.Title), 200)
			c.screen.Answer(fmt.Sprintf("%s  %s  %s  %s\n", i.ID, i.Changed.Local().Format("2006-01-02 15:04"), i.State, title))
			if i.Reason != "" {
				c.screen.Answer("  " + term.OneLine(term.Printable(i.Reason), 200) + "\n")
			}
			for _, t := range i.Tasks {
				c.screen.Answer(fmt.Sprintf("  %-13s  %s\n", t.Session(), sink.TaskRow(t)))
			}
		}
		return nil
	})
}

// unread says why a part of a session cannot be read, without which the rest is shown.
func (c *cluster) unread(ctx *cli.Context, what string, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	c.screen.Say("mylm-cluster: " + what + " cannot be read: " + term.OneLine(err.Error(), 300))
	return nil
}

// listed is a session as list --json prints it.
type listed struct {
	journal.Info
	Tasks  []plan.Task `json:"tasks,omitempty"`  // of a plan
	Reason string      `json:"reason,omitempty"` // who interrupted the run, and why
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
		of := record{Sessions: sessions, id: name}
		if all, err := of.join(ctx.Context, entries); err == nil {
			entries = all
		} else if err := c.unread(ctx, "the tasks of "+name, err); err != nil {
			return err
		}
		for i := range entries {
			entries[i].Seq = i + 1
		}
		if ctx.Bool("json") {
			return journal.WriteJSON(c.screen, header, entries)
		}
		var text bytes.Buffer
		if err := journal.WriteMarkdown(&text, header, entries); err != nil {
			return err
		}
		writeChanges(&text, entries)
		tasks, err := tasksOf(ctx.Context, sessions, name)
		if err == nil {
			err = writeTasks(&text, tasks, entries)
		}
		if err := c.unread(ctx, "the tasks of "+name, err); err != nil {
			return err
		}
		_, err = io.WriteString(c.screen, term.Printable(text.String()))
		return err
	})
}

// writeTasks writes the tasks of a plan, and the sessions of those that were begun.
func writeTasks(w io.Writer, tasks []plan.Task, entries []agent.Entry) error {
	for i, t := range tasks {
		if i == 0 {
			fmt.Fprint(w, "\n## Tasks\n\n")
		}
		fmt.Fprintf(w, "- %s\n", sink.TaskRow(t))
	}
	parts, err := plan.Parts(entries)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if p.Role != "" {
			continue
		}
		fmt.Fprintf(w, "\n# Task %s\n\n", p.Task)
		header := journal.Header{ID: p.Entries[0].Session, Created: p.Entries[0].Time}
		if err := journal.WriteMarkdown(w, header, p.Entries); err != nil {
			return err
		}
	}
	return nil
}
