package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/policy"
	"mylm/tools/shell"

	"github.com/urfave/cli/v2"
)

func policyCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the rules that hold here",
				Flags:  append(config.Flags(config.ProfileName), globalFlag(), jsonFlag()),
				Action: func(c *cli.Context) error { return listRules(c, s) },
			},
			{
				Name: "revoke", Usage: "take back what you allowed in this project", ArgsUsage: "RULE... | --all",
				Description: "RULE is what mylm policy list shows, with or without the dots.",
				UsageText:   "mylm policy revoke go test",
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "all", Usage: "revoke every rule of this project"},
					globalFlag(), jsonFlag(),
				},
				Action: func(c *cli.Context) error { return revokeRules(c, s) },
			},
			{
				Name: "check", Usage: "show whether a command would be allowed, asked about or denied", ArgsUsage: cmdline.Verbatim,
				Description: "The first word on stdout is allow, ask or deny. Nothing is run.",
				UsageText:   "mylm policy check 'go test ./... | tail'",
				Flags:       append(config.Flags(config.ProfileName, config.Workspace, config.Confirm, config.Unasked, config.SandboxMode), jsonFlag()),
				Action:      func(c *cli.Context) error { return checkCommand(c, s) },
			},
		},
	}
}

// guardOf is the guard that a run here would have.
func guardOf(c *cli.Context) (*setup.Guard, *config.Config, error) {
	loaded, err := config.Load(c.Context, config.Source{Flags: c.Command.Flags})
	if err == nil {
		err = loaded.ApplyProject(c.Context)
	}
	if err != nil {
		return nil, nil, err
	}
	g, err := setup.NewGuard(loaded, setup.SandboxPolicy(loaded), "", nil)
	return g, loaded, err
}

func checkCommand(c *cli.Context, s *term.Screen) error {
	line := strings.Join(c.Args().Slice(), " ")
	if strings.TrimSpace(line) == "" {
		return failure.Usage("there is no command to check").WithHint("mylm policy check 'ls | wc -l'")
	}
	g, loaded, err := guardOf(c)
	if err != nil {
		return err
	}
	registry, err := setup.AllTools(loaded.Workspace, nil, nil)
	if err != nil {
		return err
	}
	args, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		return err
	}
	inv, err := registry.Prepare(shell.Name, args)
	if err != nil {
		return err
	}
	d := g.Decision(g.Call(shell.Name, inv.Args, inv.Effect))
	if c.Bool("json") {
		return term.PrintJSON(s.Out, struct {
			policy.Decision
			Effect  string         `json:"effect"`
			Mode    policy.Mode    `json:"mode"`
			Unasked policy.Unasked `json:"unasked"`
		}{d, inv.Effect.String(), g.Mode(), g.Unasked()})
	}
	_, err = fmt.Fprintf(s.Out, "%s  %s\n", d.Verdict, term.OneLine(term.Visible(d.Why), 400))
	return err
}

// listedRule is a rule as mylm policy list shows it.
type listedRule struct {
	Verdict policy.Verdict `json:"verdict"`
	Rule    string         `json:"rule"`
	From    string         `json:"from"`
	Added   *time.Time     `json:"added,omitempty"`
	Ignored bool           `json:"ignored,omitempty"` // of a kind that is no longer offered
}

func listRules(c *cli.Context, s *term.Screen) error {
	g, loaded, err := guardOf(c)
	if err != nil {
		return err
	}
	var rules []listedRule
	for from, deny := range map[string][]string{"built in": policy.BuiltIn(), "configuration": config.Deny.Of(loaded.Settings.Only(config.File)), config.ProjectFile: config.Deny.Of(loaded.Settings.Only(config.Project))} {
		for _, rule := range deny {
			rules = append(rules, listedRule{Verdict: policy.Deny, Rule: rule, From: from})
		}
	}
	slices.SortStableFunc(rules, func(a, b listedRule) int { return strings.Compare(a.From, b.From) })
	stored, err := g.Store.List()
	if err != nil && !config.IsMissing(err) {
		return failure.Config(err)
	}
	for _, r := range stored {
		if r.Project == loaded.Project || c.Bool("global") {
			rules = append(rules, listedRule{policy.Allow, strings.Join(r.Prefix, " "), r.Project, &r.Added, !r.Counts()})
		}
	}
	if c.Bool("json") {
		return term.PrintJSON(s.Out, map[string]any{"mode": g.Mode(), "unasked": g.Unasked(), "project": loaded.Project, "rules": rules})
	}
	most := 60 // of a rule; all of it where a program may read it
	if !s.OutTTY {
		most = 1 << 16
	}
	w := s.Columns("")
	fmt.Fprintf(w, "mode\t%s\nunasked\t%s\n", g.Mode(), g.Unasked())
	for _, r := range rules {
		dots := ""
		if r.Verdict == policy.Allow {
			dots = " ..."
		}
		note := ""
		if r.Ignored {
			note = "  (does not count any more: mylm policy revoke " + term.OneLine(term.Visible(r.Rule), 60) + ")"
		}
		fmt.Fprintf(w, "%s\t%s%s\t%s%s\n", r.Verdict, term.OneLine(term.Visible(r.Rule), most), dots, term.OneLine(term.Visible(r.From), 200), note)
	}
	return w.Flush()
}

func revokeRules(c *cli.Context, s *term.Screen) error {
	words := strings.Fields(strings.Join(c.Args().Slice(), " "))
	if len(words) > 0 && words[len(words)-1] == "..." {
		words = words[:len(words)-1]
	}
	if (len(words) > 0) == c.Bool("all") {
		return failure.Usage("say which rule, or --all").WithHint("mylm policy list shows them; mylm policy revoke go test takes one back")
	}
	_, project, err := config.Where(nil)
	if err != nil {
		return err
	}
	store, err := setup.PolicyStore()
	if err != nil {
		return err
	}
	gone, err := store.Revoke(c.Context, func(r policy.Stored) bool {
		return (r.Project == project || c.Bool("global")) && (c.Bool("all") || slices.Equal(r.Prefix, words))
	})
	switch {
	case err != nil:
		return failure.Config(err)
	case len(gone) == 0 && !c.Bool("all"):
		return failure.Usage("there is no rule %q in %s", term.Echoed(strings.Join(words, " ")), project).WithHint("mylm policy list --global shows those of all projects")
	case c.Bool("json"):
		return term.PrintJSON(s.Out, map[string]any{"revoked": append([]policy.Stored{}, gone...)})
	}
	var lines []error
	for _, r := range gone {
		_, err := fmt.Fprintf(s.Out, "revoked  %s ...  %s\n", term.OneLine(term.Visible(strings.Join(r.Prefix, " ")), 60), term.OneLine(term.Visible(r.Project), 200))
		lines = append(lines, err)
	}
	return errors.Join(lines...)
}
