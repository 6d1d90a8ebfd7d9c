package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory"

	"github.com/urfave/cli/v2"
)

func searchCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "search", Usage: "search the memory", ArgsUsage: "WORDS...",
		UsageText: `mylm memory search "which host is staging?"`,
		Description: `With --jsonl questions are read from stdin, one {"id","scope","text"} a line, where
scope is a project; for each, {"query_id","ids","latency_us"} is printed.`,
		Flags: append(append(scopeFlags(), config.Flags(config.Embedder, config.Host)...), globalFlag(), historyFlag(), jsonFlag(),
			cmdline.Int(&cli.IntFlag{Name: "limit", Aliases: []string{"n"}, Usage: "maximum number shown", Value: 5}, 1, 0),
			&cli.BoolFlag{Name: "jsonl", Usage: "read questions from stdin, one JSON object a line"},
		),
		Action: withMemory(s, (*memoryRun).search),
	}
}

func (r *memoryRun) search(ctx context.Context) error {
	f, err := r.filter(r.config.Project)
	if err != nil {
		return err
	}
	q := memory.Query{
		Limit: r.cli.Int("limit"), Projects: f.Projects, Sessions: f.Sessions, Kinds: f.Kinds, After: f.After, Before: f.Before, History: f.History,
	}
	if r.cli.Bool("jsonl") {
		if err := cmdline.AtMost(r.cli, 0); err != nil {
			return err
		}
		return r.searchAll(ctx, q)
	}
	if q.Text, err = r.words(ctx, r.cli.Args().Slice()); err != nil {
		return err
	}
	if q.Text == "" {
		return failure.Usage("there is nothing to search for").WithHint("mylm memory search \"which host is staging?\"")
	}
	var hits []memory.Hit
	err = r.withSpinner("searching", func() error {
		store, err := r.memories.Searched(ctx)
		if err == nil {
			hits, err = store.Search(ctx, q)
		}
		return err
	})
	if err != nil {
		return err
	}
	if r.cli.Bool("json") {
		return term.PrintJSON(r.screen.Out, append([]memory.Hit{}, hits...))
	}
	if len(hits) == 0 {
		hint := "; try names, or other words that were probably used"
		if len(q.Projects) > 0 && len(r.cli.StringSlice("project")) == 0 {
			hint = " in this project; --global searches all" + hint
		}
		r.screen.Say("mylm: nothing that matches is remembered" + hint)
	}
	for _, h := range hits {
		r.screen.Answer(r.screen.Folded(r.line(h.Document, lineText)+"\n  found by "+term.Printable(h.Why()), 2) + "\n")
	}
	return nil
}

// searchAll answers a batch of questions, one after the other, each as soon as it arrives.
func (r *memoryRun) searchAll(ctx context.Context, base memory.Query) error {
	type question struct {
		ID    string  `json:"id"`
		Scope *string `json:"scope"`
		Text  string  `json:"text"`
	}
	type answer struct {
		ID      string   `json:"query_id"`
		IDs     []string `json:"ids"`
		Latency int64    `json:"latency_us"`
	}
	store, err := r.memories.Searched(ctx)
	if err != nil {
		return err
	}
	in := json.NewDecoder(bufio.NewReader(r.screen.In))
	out := json.NewEncoder(r.screen.Out)
	for n := 1; ; n++ {
		q, err := term.Wait(ctx, func() (q question, err error) { err = in.Decode(&q); return q, err })
		if errors.Is(err, io.EOF) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return failure.Usage("question %d: %v", n, err).WithHint(`Each line is an object: {"id": "1", "scope": "PROJECT", "text": "..."}`)
		}
		query := base
		query.Text = q.Text
		if q.Scope != nil {
			query.Projects = []string{*q.Scope}
		}
		start := time.Now()
		hits, err := store.Search(ctx, query)
		if err != nil {
			return fmt.Errorf("question %d: %w", n, err)
		}
		a := answer{ID: q.ID, IDs: []string{}, Latency: time.Since(start).Microseconds()}
		for _, h := range hits {
			a.IDs = append(a.IDs, h.ID)
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
}

func listCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list what is remembered, the newest first",
		Flags: append(scopeFlags(), globalFlag(), tagFlag("only what has this `TAG` (repeatable)"), historyFlag(), jsonFlag(),
			limitFlag("maximum number listed; 0 lists all")),
		Action: withMemory(s, func(r *memoryRun, ctx context.Context) error {
			f, err := r.filter(r.config.Project)
			if err != nil {
				return err
			}
			limit := r.cli.Int("limit")
			ask := limit
			if limit > 0 {
				ask++ // to see whether there is more
			}
			all, err := r.store.List(ctx, f, ask)
			if err != nil {
				return err
			}
			more := limit > 0 && len(all) > limit
			if more {
				all = all[:limit]
			}
			if r.cli.Bool("json") {
				return term.PrintJSON(s.Out, append([]memory.Document{}, all...))
			}
			for _, d := range all {
				r.screen.Answer(r.screen.Folded(r.line(d, lineText), 2) + "\n")
			}
			switch {
			case len(all) == 0:
				r.screen.Say("mylm: nothing of the kind is remembered; --global lists all projects")
			case more:
				r.screen.Dim(moreListed(r.screen, "mylm memory search QUERY"))
			}
			return nil
		}),
	}
}

func showCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "print one memory, all of it", ArgsUsage: "ID",
		UsageText: `mylm memory show 01j8x2 --around 3`,
		Flags:     []cli.Flag{jsonFlag(), cmdline.Int(&cli.IntFlag{Name: "around", Usage: "also print the `NUMBER` before and after it in its conversation"}, 0, 0)},
		Action: withMemory(s, func(r *memoryRun, ctx context.Context) error {
			if r.cli.NArg() != 1 {
				return failure.Usage("memory show takes one id").WithHint("mylm memory list and search show ids.")
			}
			found, err := r.store.Around(ctx, r.cli.Args().Get(0), r.cli.Int("around"))
			if err != nil {
				return err
			}
			if r.cli.Bool("json") {
				return term.PrintJSON(s.Out, found)
			}
			for i, d := range found {
				if i > 0 {
					r.screen.Answer("\n")
				}
				r.screen.Answer(whole(d))
			}
			return nil
		}),
	}
}

// whole is a document with all of its fields.
func whole(d memory.Document) string {
	var b strings.Builder
	field := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, term.OneLine(term.Printable(text), 400))
		}
	}
	field("id", d.ID)
	field("time", d.Time.Local().Format("2006-01-02 15:04:05"))
	if d.Count > 1 {
		field("count", fmt.Sprintf("%d, the last on %s", d.Count, d.Last.Local().Format("2006-01-02 15:04:05")))
	}
	field("kind", string(d.Kind))
	field("role", d.Role)
	field("speaker", d.Speaker)
	field("session", d.Session)
	field("project", d.Project)
	field("source", d.Source)
	field("tags", strings.Join(d.Tags, ", "))
	field("corrected", d.SupersededBy)
	fmt.Fprintf(&b, "\n%s\n", d.Text)
	return b.String()
}
