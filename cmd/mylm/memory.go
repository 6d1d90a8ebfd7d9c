package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory"

	"github.com/urfave/cli/v2"
)

// memoryRun is one run of mylm memory.
type memoryRun struct {
	cli      *cli.Context
	config   *config.Config
	screen   *term.Screen
	memories *setup.Memory
	store    *memory.Store
}

func memoryCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Description: `What is asked, found out and answered is kept on this machine, and found again by
the model or by you. list and search look at this project; --global at all of them.`,
		UsageText: `mylm memory search "which host is staging?"
mylm memory list --limit 50
mylm memory forget --project . --before 2026-01-01
mylm memory export backup.jsonl`,
		Subcommands: []*cli.Command{
			addCommand(s), searchCommand(s), listCommand(s), showCommand(s), editMemoryCommand(s), forgetCommand(s),
			supersedeCommand(s), statsCommand(s), exportCommand(s), importCommand(s), reindexCommand(s), verifyCommand(s),
		},
	}
}

// withMemory makes the action of a subcommand: f is run with the memory open.
func withMemory(s *term.Screen, f func(*memoryRun, context.Context) error) func(*cli.Context) error {
	return func(c *cli.Context) error {
		r := &memoryRun{cli: c, screen: s}
		var err error
		if r.config, err = config.Load(c.Context, config.Source{Flags: c.Command.Flags}); err != nil {
			return err
		}
		r.memories = setup.NewMemory(r.config, r.screen)
		defer r.memories.Close()
		if r.store, err = r.memories.Open(c.Context); err == nil {
			err = f(r, c.Context)
		}
		return explainMemory(err)
	}
}

// explainMemory gives an error of the memory its exit code and hint.
func explainMemory(err error) error {
	var f *failure.Error
	switch {
	case err == nil, errors.As(err, &f):
		return err
	case errors.Is(err, memory.ErrNotFound):
		return failure.Usage("%v", err).WithHint("mylm memory list and search show ids; they look at this project unless --global is given.")
	case errors.Is(err, memory.ErrEmpty):
		return failure.Usage("%v", err)
	case errors.Is(err, memory.ErrEverything):
		return failure.Usage("%v", err)
	case errors.Is(err, memory.ErrDamaged):
		return (&failure.Error{Code: failure.ExitError, Name: "damaged", Err: err}).WithHint("Run the command again: the memory is repaired first.")
	}
	if hint := setup.DataHint(err); hint != "" {
		return failure.Of(err).WithHint(hint)
	}
	return err
}

// withSpinner shows a spinner while f runs.
func (r *memoryRun) withSpinner(label string, f func() error) error {
	return r.showing(func() string { return label }, f)
}

// showing is withSpinner with a label that changes and may be called at any time.
func (r *memoryRun) showing(label func() string, f func() error) error {
	sp := term.NewSpinner(r.screen)
	sp.Follow(label)
	defer sp.Hide()
	return f()
}

// scopeFlags select a part of the memory.
func scopeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "project", Usage: "only this `PROJECT`: a directory of it, or its name (repeatable)"},
		&cli.StringSliceFlag{Name: "session", Usage: "only the conversation `ID` (repeatable)"},
		&cli.StringSliceFlag{Name: "kind", Usage: "only this `KIND`: exchange, note, tool or summary (repeatable)"},
		&cli.StringFlag{Name: "after", Usage: "only from this `DATE` on, like 2026-01-31"},
		&cli.StringFlag{Name: "before", Usage: "only before this `DATE`"},
	}
}

func globalFlag() cli.Flag {
	return &cli.BoolFlag{Name: "global", Aliases: []string{"g"}, Usage: "all projects, not only this one"}
}

func tagFlag(usage string) cli.Flag {
	return &cli.StringSliceFlag{Name: "tag", Usage: usage}
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON"}
}

// limitFlag bounds a list; with 0 it is complete.
func limitFlag(usage string) cli.Flag {
	return cmdline.Int(&cli.IntFlag{Name: "limit", Aliases: []string{"n"}, Usage: usage, Value: 20}, 0, 0)
}

func historyFlag() cli.Flag {
	return &cli.BoolFlag{Name: "history", Usage: "include corrected memories"}
}

// filter reads the flags of scopeFlags. Here is the project if none of them names
// one; "" is all.
func (r *memoryRun) filter(here string) (f memory.Filter, err error) {
	c := r.cli
	for _, name := range c.StringSlice("project") {
		f.Projects = append(f.Projects, projectNamed(name))
	}
	f.Sessions, f.Tags = c.StringSlice("session"), c.StringSlice("tag")
	if here != "" && !c.Bool("global") && len(f.Projects) == 0 && len(f.Sessions) == 0 {
		f.Projects = []string{here}
	}
	for _, k := range c.StringSlice("kind") {
		switch kind := memory.Kind(k); kind {
		case memory.Exchange, memory.Note, memory.Tool, memory.Summary:
			f.Kinds = append(f.Kinds, kind)
		default:
			return f, failure.Usage("--kind is %q; it must be exchange, note, tool or summary", term.Echoed(k))
		}
	}
	if f.After, err = day(c, "after"); err == nil {
		f.Before, err = day(c, "before")
	}
	f.Source, f.History = c.String("source"), c.Bool("history")
	return f, err
}

// projectNamed is the project that a user names: by a directory in it, else by
// the name itself, since imported projects may have any name.
func projectNamed(name string) string {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		if abs, err := filepath.Abs(name); err == nil {
			return config.ProjectOf(abs)
		}
	}
	return name
}

// day reads a flag that holds a date or a time in the zone of this machine.
func day(c *cli.Context, flag string) (time.Time, error) {
	s := c.String(flag)
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := memory.ParseTime(s, time.Local); err == nil {
		return t, nil
	}
	return time.Time{}, failure.Usage("--%s is %q; write a date like 2026-01-31, or a time like \"2026-01-31 14:00\"", flag, term.Echoed(s))
}

// words joins the arguments; a single - is stdin.
func (r *memoryRun) words(ctx context.Context, args []string) (string, error) {
	if len(args) == 1 && args[0] == "-" {
		text, err := readStdinText(ctx, r.screen)
		return strings.TrimSpace(text), err
	}
	return strings.TrimSpace(strings.Join(args, " ")), nil
}

// line is a document in one line of a list.
func (r *memoryRun) line(d memory.Document, width int) string {
	who := cmp.Or(d.Speaker, d.Role)
	if d.Kind != memory.Exchange {
		who = string(d.Kind)
	}
	text := term.OneLine(term.Printable(d.Text), width)
	if d.Count > 1 {
		text += fmt.Sprintf(" (%d times)", d.Count)
	}
	if d.SupersededBy != "" {
		text += " (corrected by " + d.SupersededBy + ")"
	}
	return fmt.Sprintf("%s  %s  %-9s  %s", term.OneLine(term.Printable(d.ID), 40), d.Time.Local().Format("2006-01-02 15:04"), term.OneLine(term.Printable(who), 20), text)
}

// lineText is how many characters of a text a list shows.
const lineText = 160

func statsCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "stats", Usage: "show the size and the content of the memory", Flags: []cli.Flag{jsonFlag()},
		Action: withMemory(s, func(r *memoryRun, ctx context.Context) error {
			st, err := r.store.Stats(ctx)
			if err != nil {
				return err
			}
			if r.cli.Bool("json") {
				kinds, bytes := map[memory.Kind]int{}, map[memory.Kind]int64{}
				for k, n := range st.Kinds {
					kinds[k], bytes[k] = n.Documents, n.Bytes
				}
				return term.PrintJSON(s.Out, struct {
					Path       string                `json:"path"`
					Bytes      int64                 `json:"bytes"`
					Documents  int                   `json:"documents"`
					Superseded int                   `json:"superseded"`
					Projects   int                   `json:"projects"`
					Sessions   int                   `json:"sessions"`
					Kinds      map[memory.Kind]int   `json:"kinds"`
					TextBytes  map[memory.Kind]int64 `json:"text_bytes"`
					Oldest     time.Time             `json:"oldest,omitzero"`
					Newest     time.Time             `json:"newest,omitzero"`
					Vectors    map[string]int        `json:"vectors"`
				}{r.store.Path(), st.Bytes, st.Documents, st.Superseded, st.Projects, st.Sessions, kinds, bytes, st.Oldest, st.Newest, st.Vectors})
			}
			text := fmt.Sprintf("%s, %s\n%s in %s and %s", r.store.Path(), term.Bytes(st.Bytes),
				term.Plural(st.Documents, "document"), term.Plural(st.Projects, "project"), term.Plural(st.Sessions, "session"))
			for _, k := range []memory.Kind{memory.Exchange, memory.Note, memory.Tool, memory.Summary} {
				if n := st.Kinds[k]; n.Documents > 0 {
					text += fmt.Sprintf("\n  %-9s %6d  %9s  from %s to %s", k, n.Documents, term.Bytes(n.Bytes), modTime(n.Oldest), modTime(n.Newest))
				}
			}
			if st.Superseded > 0 {
				text += fmt.Sprintf("\n%d corrected by others", st.Superseded)
			}
			for _, name := range slices.Sorted(maps.Keys(st.Vectors)) {
				text += fmt.Sprintf("\n%s of %s", term.Plural(st.Vectors[name], "vector"), name)
			}
			aside, err := r.store.Aside()
			if err != nil {
				return err
			}
			for _, path := range aside {
				text += "\ndamaged once, and moved aside: " + path
			}
			r.screen.Answer(text + "\n")
			return nil
		}),
	}
}

func verifyCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "check the whole memory for damage", Flags: []cli.Flag{jsonFlag()},
		Action: withMemory(s, func(r *memoryRun, ctx context.Context) error {
			var report memory.Report
			err := r.withSpinner("checking", func() (err error) { report, err = r.store.Verify(ctx); return err })
			if err != nil {
				return err
			}
			if r.cli.Bool("json") {
				err = term.PrintJSON(s.Out, struct {
					Documents int      `json:"documents"`
					Problems  []string `json:"problems"`
				}{report.Documents, append([]string{}, report.Problems...)})
			} else if len(report.Problems) == 0 {
				r.screen.Answer(term.Plural(report.Documents, "document") + ", and all is well\n")
			}
			if err != nil || len(report.Problems) == 0 {
				return err
			}
			return (&failure.Error{Code: failure.ExitError, Name: "damaged", Err: fmt.Errorf("the memory is damaged:\n  %s", strings.Join(report.Problems, "\n  "))}).
				WithHint("The next command that opens it moves the file aside and saves what can be read: mylm memory stats")
		}),
	}
}
