package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mylm/agent"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools"
	"mylm/tools/policy"
	"mylm/tools/shell"
	"mylm/tools/web"

	"github.com/urfave/cli/v2"
)

// denials are the table [policy] of a configuration or of a project's file.
type denials struct {
	Deny []string `toml:"deny"`
}

func (d denials) check() error {
	if _, err := policy.New(policy.Options{Deny: d.Deny}); err != nil {
		return fmt.Errorf("policy.deny: %w", err)
	}
	return nil
}

func checkConfirm(mode *string) error {
	if mode == nil {
		return nil
	}
	if _, err := policy.ParseMode(*mode); err != nil || *mode == "" {
		return fmt.Errorf("confirm is %q; it must be confirm-all, confirm-sensitive or yolo", term.Echoed(*mode))
	}
	return nil
}

func confirmModeFlag() cli.Flag {
	return &cli.StringFlag{Name: "confirm", Usage: "`MODE`: confirm-all asks about every call, confirm-sensitive about what may do more than read here, yolo about none",
		DefaultText: "confirm-sensitive", EnvVars: []string{"MYLM_CONFIRM"}}
}

// confirmFlag is the mode that the command line asks for: --yes is --confirm
// yolo, and beats a variable.
func confirmFlag(c *cli.Context) (mode *string, err error) {
	if !hasFlag(c, "confirm") {
		return nil, nil
	}
	take(c, "confirm", c.String, &mode)
	if err := checkConfirm(mode); err != nil {
		return nil, failure.Usage("%v", err)
	}
	if !c.Bool("yes") {
		return mode, nil
	}
	yolo := string(policy.Yolo)
	if mode != nil && *mode != yolo && *mode != os.Getenv("MYLM_CONFIRM") {
		return nil, failure.Usage("--yes and --confirm %s contradict each other", *mode).WithHint("--yes is --confirm yolo")
	}
	return &yolo, nil
}

// hasFlag reports whether a command has a flag: --yes of mylm memory forget is
// another.
func hasFlag(c *cli.Context, name string) bool {
	for _, f := range c.Command.Flags {
		for _, n := range f.Names() {
			if n == name {
				return true
			}
		}
	}
	return false
}

// policyStore keeps what was allowed for good.
func policyStore() (policy.Store, error) {
	dir, err := dataDir()
	return policy.Store{Path: filepath.Join(dir, "policy.json")}, err
}

// guard decides about the calls of a run, and asks the person where it is not
// for it to say.
type guard struct {
	*policy.Policy
	person  *person
	store   policy.Store
	project string
	dir     string // the workspace
	over    bool   // a project's file asks for more questions than the user
	loose   bool   // nothing confines commands here, so that no prefix allows any
}

// newGuard makes the policy of the settings, with what the project adds.
func newGuard(s settings, off restrictions, p *person) (*guard, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("the working directory is gone: %w", err)
	}
	mode, err := policy.ParseMode(value(s.Confirm))
	if err != nil {
		return nil, failure.Config(err)
	}
	g := &guard{person: p, loose: !s.Sandbox.possible(), project: projectOf(dir), dir: dir}
	o := policy.Options{Mode: mode, Deny: append(append([]string{}, s.deny...), off.Policy.Deny...)}
	if off.Confirm != nil {
		asked := policy.Mode(*off.Confirm)
		o.Mode = mode.Stricter(asked)
		g.over = o.Mode != mode
		if p != nil && asked != policy.Yolo {
			p.bound = projectFile + " of this project"
		}
	}
	// Without a home there are no rules.
	if g.store, err = policyStore(); err == nil && !g.loose {
		if o.Allow, err = g.store.Project(g.project); err != nil && p != nil && !isMissing(err) {
			p.Screen.Say(fmt.Sprintf("mylm: no rule counts that you stored: %v", err))
		}
	}
	if g.Policy, err = policy.New(o); err != nil {
		return nil, failure.Config(err)
	}
	return g, nil
}

// call is a call as the policy sees it.
func (g *guard) call(name string, args json.RawMessage, effect tools.Effect) policy.Call {
	c := policy.Call{Tool: name, Args: args, Effect: effect}
	c.Place.Root, c.Place.Env = g.dir, os.Environ()
	var in struct{ Command, Cwd string }
	_ = json.Unmarshal(args, &in) // what is no text is no command
	if name == shell.Name {
		c.Line = in.Command
		switch {
		case filepath.IsAbs(in.Cwd):
			c.Place.Dir = in.Cwd
		case in.Cwd != "":
			c.Place.Dir = filepath.Join(g.dir, in.Cwd)
		}
	}
	if effect&tools.Network != 0 {
		c.Host, _ = web.Host(args) // what cannot be fetched has none; rules still see its text
	}
	return c
}

// decision is what the rules say.
func (g *guard) decision(c policy.Call) policy.Decision {
	d := g.Decide(c)
	if d.Offer != nil && (g.loose || g.store.Path == "") {
		d.Offer.Prefix = nil
	}
	if d.Verdict == policy.Ask && g.over {
		d.Why += " (" + projectFile + " of this project has it so)"
	}
	return d
}

// approve is asked by the engine about every call.
func (g *guard) approve(ctx context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
	c := g.call(r.Name, r.Args, r.Effect)
	c.Tainted = r.Tainted
	d := g.decision(c)
	switch d.Verdict {
	case policy.Allow:
		return agent.Decision{Verdict: agent.Allow}, nil
	case policy.Deny:
		return g.forbid(r, c, d), nil
	}
	return g.question(ctx, r, c, d)
}

// rehearse is asked about every call of a dry run, in which nobody is asked: what
// a rule forbids would not be done.
func (g *guard) rehearse(_ context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
	c := g.call(r.Name, r.Args, r.Effect)
	if d := g.decision(c); d.Verdict == policy.Deny {
		return g.forbid(r, c, d), nil
	}
	return agent.Decision{Verdict: agent.Allow}, nil
}

// forbid is the answer to what a rule forbids. The person is told too.
func (g *guard) forbid(r agent.ApprovalRequest, c policy.Call, d policy.Decision) agent.Decision {
	what := "Call"
	if c.Line != "" {
		what = "Command"
	}
	g.tell(r, d.Why)
	return agent.Decision{Verdict: agent.Forbid, Reason: what + " not allowed: " + d.Why + ". Do not try it another way; tell the user."}
}

// wanted is a call that is not made, in a line. Some previews begin with the name.
func wanted(r agent.ApprovalRequest) string {
	if text := term.OneLine(r.Preview, 200); strings.HasPrefix(text, r.Name+" ") {
		return term.Visible(text)
	}
	return term.Visible(term.OneLine(r.Name, 60) + " " + term.OneLine(r.Preview, 200))
}

// tell tells the person what is forbidden.
func (g *guard) tell(r agent.ApprovalRequest, why string) {
	p := g.person
	if p.View != nil {
		p.View.Pause()
		defer p.View.Resume()
	}
	p.forbidden = true
	p.Screen.Say(fmt.Sprintf("mylm: forbidden: %s\n  %s", wanted(r), term.OneLine(why, 200)))
}

// question asks the person, and keeps the rule that he chose.
func (g *guard) question(ctx context.Context, r agent.ApprovalRequest, c policy.Call, d policy.Decision) (agent.Decision, error) {
	p := g.person
	a, err := p.decide(ctx, r, d, g.project)
	var no term.Nobody
	switch {
	case errors.As(err, &no):
		remedy := "--yes allows everything."
		if p.bound != "" {
			remedy = p.boundBy() + ": run it on a terminal."
		}
		p.Screen.Say(fmt.Sprintf("mylm: denied: %s\n  %s; %s", wanted(r), no, remedy))
		return agent.Decision{Reason: "nobody is there to allow it"}, nil
	case err != nil:
		return agent.Decision{}, err
	case a.verdict == agent.Stop:
		p.stopped = true
		return agent.Decision{Verdict: agent.Stop, Reason: "the user said no and stopped the run"}, nil
	case a.verdict == agent.Deny && a.reason != "":
		return agent.Decision{Reason: "the user said no: " + a.reason}, nil
	case a.verdict == agent.Deny:
		return agent.Decision{Reason: "the user said no"}, nil
	}
	g.Allowed(c)
	g.keep(ctx, a.store, c, d.Offer)
	return agent.Decision{Verdict: agent.Allow}, nil
}

// keep makes the rule that was chosen. Where it cannot be stored it holds for
// this session.
func (g *guard) keep(ctx context.Context, rule string, c policy.Call, offer *policy.Offer) {
	switch rule {
	case storeCall:
		g.AllowCall(c)
	case storeHost:
		g.AllowHost(offer.Host)
	case storePrefix:
		g.AllowPrefix(offer.Prefix)
		text := strings.Join(offer.Prefix, " ")
		if err := g.store.Add(ctx, g.project, offer.Prefix); err != nil {
			g.person.Screen.Say(fmt.Sprintf("mylm: the rule holds for this session only: %v", err))
			return
		}
		g.person.Screen.Dim(fmt.Sprintf("stored: %s ... (mylm policy revoke %s takes it back)", text, text))
	}
}
