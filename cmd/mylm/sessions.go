package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mylm/agent/journal"
	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory/redact"

	"github.com/urfave/cli/v2"
)

// sessionsRun is one run of mylm sessions.
type sessionsRun struct {
	cli    *cli.Context
	screen *term.Screen
	store  *journal.Store
}

func sessionsCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Description: `Every session is kept in a file of its own, readable for you alone, for 90 days
after its last change. list and search look at this project; --global at all of them.
An id may be cut short; last is the last session of this project.`,
		UsageText: `mylm sessions list
mylm sessions show last
mylm sessions search "permission denied" --global
mylm sessions export last report.jsonl --redact
mylm sessions prune --days 30`,
		Subcommands: []*cli.Command{
			listSessionsCommand(s), showSessionCommand(s), searchSessionsCommand(s), exportSessionCommand(s), removeSessionsCommand(s), pruneSessionsCommand(s),
		},
	}
}

// withSessions makes the action of a subcommand: f is run with the store.
func withSessions(s *term.Screen, f func(*sessionsRun, context.Context) error) func(*cli.Context) error {
	return func(c *cli.Context) error {
		store, err := setup.Sessions()
		if err == nil {
			err = f(&sessionsRun{cli: c, screen: s, store: store}, c.Context)
		}
		return explainSession(err)
	}
}

// scope is the part of the sessions that --global and --limit select.
func (k *sessionsRun) scope() (journal.Filter, error) {
	f := journal.Filter{Limit: k.cli.Int("limit")}
	if k.cli.Bool("global") {
		return f, nil
	}
	_, project, err := config.Where(nil)
	f.Labels = map[string]string{"project": project}
	return f, err
}

func listSessionsCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list sessions, the last one first",
		Flags: []cli.Flag{globalFlag(), jsonFlag(), limitFlag("maximum number listed; 0 lists all"),
			&cli.BoolFlag{Name: "all", Usage: "also those that failed before the model replied, as with --json"}},
		Action: withSessions(s, func(k *sessionsRun, ctx context.Context) error {
			f, err := k.scope()
			if err != nil {
				return err
			}
			all, more, hidden, err := k.listed(ctx, f)
			if err != nil {
				return err
			}
			if k.cli.Bool("json") {
				for i := range all {
					all[i].Title = titleOf(all[i])
				}
				return term.PrintJSON(s.Out, append([]journal.Info{}, all...))
			}
			w, room := k.screen.Columns(""), lineText
			if columns, _ := k.screen.Size(); k.screen.OutTTY {
				const before, least, indent = 55, 24, 6
				if room = min(room, columns-before); room < least { // then it is below the rest
					room = max(least, columns-indent)
				}
			}
			for _, i := range all {
				fmt.Fprintln(w, sessionRow(i, room))
			}
			if err := w.Flush(); err != nil {
				return err
			}
			switch {
			case len(all) == 0 && hidden > 0:
				k.screen.Say("mylm: no session has a reply; --all lists those that failed before one")
			case len(all) == 0 && f.Labels != nil:
				k.screen.Say("mylm: there is no session of this project; --global lists those of all projects")
			case len(all) == 0:
				k.screen.Say("mylm: there is no session")
			case more:
				k.screen.Dim(moreListed(k.screen, "mylm sessions list"))
			case hidden > 0:
				k.screen.Dim(term.Plural(hidden, "session") + " without a reply not shown: --all lists them, too")
			}
			return nil
		}),
	}
}

// moreListed says how to list all. In a conversation that is another command.
func moreListed(s *term.Screen, command string) string {
	all := "--limit 0 lists all"
	if s.Typed("") != "" {
		all = s.Typed(command + " " + all)
	}
	return "there are more: " + all
}

// listed are the sessions to list, whether there are more, and how many of those
// read are hidden: failures without a reply, such as of a misspelt model.
func (k *sessionsRun) listed(ctx context.Context, f journal.Filter) (all []journal.Info, more bool, hidden int, err error) {
	most := f.Limit
	for {
		if most > 0 {
			f.Limit = most + hidden + 1 // one to see whether there are more
		}
		if all, err = k.store.List(ctx, f); err != nil {
			return nil, false, 0, err
		}
		whole, before := most == 0 || len(all) < f.Limit, hidden
		if !k.cli.Bool("all") && !k.cli.Bool("json") {
			n := len(all)
			all = slices.DeleteFunc(all, func(i journal.Info) bool { return k.neverReplied(ctx, i) })
			hidden = n - len(all)
		}
		if whole || hidden == before {
			break
		}
	}
	if more = most > 0 && len(all) > most; more {
		all = all[:most]
	}
	return all, more, hidden, ctx.Err()
}

// titleOf is what a session was about, without secrets. Of a title that was cut, what is ASCII
// goes from its last word: a part of a secret would not be recognised.
func titleOf(i journal.Info) string {
	title := i.Title
	if cut, ok := strings.CutSuffix(title, "…"); ok {
		title = strings.TrimRightFunc(cut, func(r rune) bool { return r > ' ' && r < utf8.RuneSelf }) + "…"
	}
	title, _ = redact.Text(title)
	return title
}

// sessionRow is a session in a list, with so much of what it was about.
func sessionRow(i journal.Info, room int) string {
	title := titleOf(i)
	if i.Problem != "" {
		title = i.Problem
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s", i.ID, i.Changed.Local().Format("2006-01-02 15:04"), term.OneLine(term.Printable(i.State), 20), term.OneLine(term.Printable(title), room))
}

func searchSessionsCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "search", Usage: "find questions, answers, calls and results", ArgsUsage: "WORDS...",
		UsageText:   `mylm sessions search "permission denied" --global`,
		Description: "Finds entries that contain all of the words, in any case. The last session comes first.",
		Flags:       []cli.Flag{globalFlag(), jsonFlag(), limitFlag("maximum number shown; 0 shows all")},
		Action: withSessions(s, func(k *sessionsRun, ctx context.Context) error {
			text := strings.TrimSpace(strings.Join(k.cli.Args().Slice(), " "))
			if text == "" {
				return failure.Usage("there is nothing to search for").WithHint("mylm sessions search \"permission denied\"")
			}
			f, err := k.scope()
			if err != nil {
				return err
			}
			hits, err := term.Wait(ctx, func() ([]journal.Hit, error) { return k.search(ctx, text, f) })
			if err != nil {
				return err
			}
			if k.cli.Bool("json") {
				return term.PrintJSON(s.Out, hits)
			}
			for _, h := range hits {
				e := h.Entry
				what := journal.Text(e)
				k.screen.Answer(fmt.Sprintf("%-13s  %s  %-7s  %s\n", h.Session.ID, e.Time.Local().Format("2006-01-02 15:04"), e.Kind(), around(term.Printable(what), text)))
			}
			switch {
			case len(hits) == 0 && f.Labels != nil:
				k.screen.Say("mylm: nothing that matches was found; --global searches all projects")
			case len(hits) == 0:
				k.screen.Say("mylm: nothing that matches was found")
			}
			return nil
		}),
	}
}

// search returns the hits, never nil, and reports what cannot be read.
func (k *sessionsRun) search(ctx context.Context, text string, f journal.Filter) ([]journal.Hit, error) {
	hits := []journal.Hit{}
	for hit, err := range k.store.Search(ctx, text, f) {
		switch {
		case err == nil:
			hits = append(hits, hit)
		case hit.Session.ID == "":
			return nil, err
		default:
			k.screen.Say(fmt.Sprintf("mylm: not searched, or in part: %v", err))
		}
	}
	return hits, nil
}

// around is the part of a text around the first word of the query, in one line.
func around(text, words string) string {
	const before = 60
	if at := strings.Index(strings.ToLower(text), strings.Fields(strings.ToLower(words))[0]); at > before && at < len(text) {
		text = "…" + strings.ToValidUTF8(text[at-before:], "")
	}
	return term.OneLine(text, lineText)
}

func removeSessionsCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "rm", Usage: "delete sessions", ArgsUsage: "ID...",
		UsageText:   `mylm sessions rm 6i4ywb e2advp`,
		Description: "What the memory holds of them stays: mylm memory forget --session ID deletes it.",
		Action: withSessions(s, func(k *sessionsRun, ctx context.Context) error {
			if k.cli.NArg() == 0 {
				return failure.Usage("sessions rm takes the ids of sessions").WithHint("mylm sessions list shows them.")
			}
			var ids []string
			for _, name := range k.cli.Args().Slice() { // a typo in one of them deletes none
				id, err := k.find(ctx, name)
				if err != nil {
					return err
				}
				if !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
			for _, id := range ids {
				if err := k.store.Remove(id); err != nil {
					return err
				}
				k.screen.Answer("deleted " + id + "\n")
			}
			return nil
		}),
	}
}

func pruneSessionsCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "prune", Usage: "delete old sessions",
		Flags: []cli.Flag{cmdline.Int(&cli.IntFlag{Name: "days", Usage: "delete sessions unchanged for `DAYS`", Value: int(setup.SessionsKept / (24 * time.Hour))}, 1, 0)},
		Action: withSessions(s, func(k *sessionsRun, ctx context.Context) error {
			n, err := k.store.Prune(ctx, time.Now().AddDate(0, 0, -k.cli.Int("days")), 0)
			if err != nil && n > 0 {
				err = errors.Join(fmt.Errorf("%s deleted before that", term.Plural(n, "session")), err)
			}
			if err != nil {
				return err
			}
			k.screen.Answer("deleted " + term.Plural(n, "session") + "\n")
			return nil
		}),
	}
}
