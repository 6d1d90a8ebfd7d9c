package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"mylm/agent"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools"
	"mylm/tools/ask"
	"mylm/tools/mcp"
	"mylm/tools/policy"
	"mylm/tools/recall"
	"mylm/tools/sandbox"
	"mylm/tools/shell"
	"mylm/tools/web"
)

// PolicyStore keeps what was allowed for good.
func PolicyStore() (policy.Store, error) {
	dir, err := config.DataDir()
	return policy.Store{Path: filepath.Join(dir, "policy.json")}, err
}

// NoStoredRules is a variable with which mylm starts a run for another program: what
// the user has allowed for good was not meant for its questions.
const NoStoredRules = "MYLM_NO_STORED_RULES"

// Guard decides about the calls of a run, and asks the person if the rules do not decide.
type Guard struct {
	*policy.Policy
	person          *Person
	Store           policy.Store
	project         string
	dir             string            // the workspace
	stricterProject bool              // the project's file asks for more questions than the user
	unstored        [][]string        // prefixes of this session that could not be stored
	noPrefixes      bool              // stored prefixes do not apply: nothing confines commands here, or another program asks
	refusesHost     func(string) bool // see web.Options; nil: none is refused
	unenforced      func() error      // see Unenforced; nil: it is not known here
}

// NewGuard makes the policy of the settings, with what the project has added to
// them and the mode that a workflow asks for, "" for none. Without a person it
// can only be inspected.
func NewGuard(c *config.Config, box *sandbox.Policy, workflow string, p *Person) (*Guard, error) {
	mode, err := stricter(config.Confirm.Of(c.Settings), workflow)
	if err != nil {
		return nil, failure.Config(err)
	}
	g := &Guard{person: p, noPrefixes: !c.SandboxPossible() || os.Getenv(NoStoredRules) != "", project: c.Project, dir: c.Workspace}
	g.refusesHost = web.Options{AllowHosts: config.AllowHosts.Of(c.Settings)}.Refuses
	g.unenforced = sync.OnceValue(func() error { return Unenforced(box) })
	users, err := stricter(config.Confirm.Of(c.Settings.Without(config.Project)), workflow)
	g.stricterProject = err == nil && mode != users
	o := policy.Options{Mode: mode, Deny: config.Deny.Of(c.Settings)}
	o.Unasked, o.Because = unasked(c, box)
	o.Check = func() error {
		strict := *box
		strict.Mode, strict.Strict = sandbox.ReadOnly, true
		return strict.Check()
	}
	if p != nil {
		if _, asks := config.Asked(c, config.Confirm); asks {
			p.Bound = config.ProjectFile + " of this project"
		} else if workflow != "" {
			p.Bound = "the workflow"
		}
		o.Now = p.Mode
	}
	// Without a home there are no rules.
	if g.Store, err = PolicyStore(); err == nil && !g.noPrefixes {
		if o.Allow, err = g.Store.Project(g.project); err != nil && p != nil && !config.IsMissing(err) {
			p.Screen.Say(fmt.Sprintf("mylm: no rule counts that you stored: %v", err))
		}
	}
	if g.Policy, err = policy.New(o); err != nil {
		return nil, failure.Config(err)
	}
	return g, nil
}

// unasked is which commands run without a question here, and why not more.
func unasked(c *config.Config, box *sandbox.Policy) (policy.Unasked, string) {
	set, _ := policy.ParseUnasked(config.Unasked.Of(c.Settings)) // settings are checked
	switch {
	case set == policy.Never:
		return set, fmt.Sprintf("nothing runs unasked, since %s is never (%s)", config.Unasked.Key, config.Unasked.Place(c.Settings))
	case runtime.GOOS == "windows":
		return policy.Never, "its shell is one whose lines are not understood, and there is no sandbox to hold it"
	case set == policy.Readers:
		return set, ""
	case box.Mode == sandbox.Off:
		return policy.Never, "there is no sandbox to hold it"
	}
	return set, ""
}

// Call is a call as the policy sees it.
func (g *Guard) Call(name string, args json.RawMessage, effect tools.Effect) policy.Call {
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
	if name == web.Name {
		c.Host, _ = web.Host(args) // what cannot be fetched has none; rules still see its text
	}
	return c
}

// Decision is the decision of the rules. Without a Rule a call is denied whose sandbox
// cannot be enforced: its tool refuses it, whatever anybody allows.
func (g *Guard) Decision(c policy.Call) policy.Decision {
	d := g.Decide(c)
	if c.Line != "" && d.Verdict != policy.Deny && g.unenforced != nil {
		if err := g.unenforced(); err != nil {
			return policy.Decision{Verdict: policy.Deny, Why: err.Error()}
		}
	}
	if d.Offer != nil && (g.noPrefixes || g.Store.Path == "") {
		d.Offer.Prefix = nil
	}
	if d.Offer != nil && d.Offer.Host != "" && g.refusesHost != nil && g.refusesHost(d.Offer.Host) {
		d.Offer.Host = "" // it would not help
	}
	if d.Verdict == policy.Ask && g.stricterProject {
		d.Why += " (" + config.ProjectFile + " of this project has it so)"
	}
	return d
}

// Approve decides about a call for the engine.
func (g *Guard) Approve(ctx context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
	c := g.Call(r.Name, r.Args, r.Effect)
	c.Tainted, c.Foreign, c.Refused = r.Tainted, term.OneLine(r.Foreign, 80), r.Refused
	d := g.Decision(c)
	if d.Verdict == policy.Deny && d.Rule == "" {
		return agent.Decision{Verdict: agent.Allow, Hold: true}, nil // the tool refuses it, and says why
	}
	if d.Verdict != policy.Deny && Changed(r.Refused) {
		// Whoever allows every call has not agreed to what a server makes of one.
		d = policy.Decision{Verdict: policy.Ask, Why: "its server has changed the tool since you agreed to it"}
	}
	switch d.Verdict {
	case policy.Allow:
		return agent.Decision{Verdict: agent.Allow, Hold: d.Hold}, nil
	case policy.Deny:
		return g.forbid(r, c, d), nil
	}
	return g.question(ctx, r, c, d)
}

// approveDryRun decides about the calls of a dry run, in which nobody is asked and
// only rules forbid.
func (g *Guard) approveDryRun(_ context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
	c := g.Call(r.Name, r.Args, r.Effect)
	if d := g.Decision(c); d.Rule != "" && d.Verdict == policy.Deny {
		return g.forbid(r, c, d), nil
	}
	if r.Name == recall.RememberName {
		return agent.Decision{Verdict: agent.Rehearse}, nil
	}
	return agent.Decision{Verdict: agent.Allow}, nil
}

// forbid refuses a call that a rule forbids, and tells the person. The model gets the rule
// by the loop's refuse.
func (g *Guard) forbid(r agent.ApprovalRequest, c policy.Call, d policy.Decision) agent.Decision {
	what := "Call not allowed"
	if c.Line != "" {
		what = "Command not allowed"
	}
	g.tell(r, d.Why)
	return agent.Decision{Verdict: agent.Forbid, Reason: what + ": " + d.Why + ". Do not try it another way; tell the user."}
}

// unmade shows a call that is not made: a line, and the rest of its preview below.
// Some previews begin with the name.
func unmade(r agent.ApprovalRequest) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(r.Preview), "\n")
	text := term.OneLine(first, 200)
	if !strings.HasPrefix(text, r.Name+" ") {
		text = term.OneLine(r.Name, 60) + " " + text
	}
	text = term.Visible(text)
	if rest != "" {
		text += "\n" + strings.Join(term.NewPreview(rest, 200, 20).Shown, "\n") // for a log: no width
	}
	return text
}

// tell reports to the person what is forbidden.
func (g *Guard) tell(r agent.ApprovalRequest, why string) {
	p := g.person
	if p.View != nil {
		p.View.Pause()
		defer p.View.Resume()
	}
	p.Forbidden = true
	p.Screen.Say(fmt.Sprintf("mylm: forbidden: %s\n  %s", unmade(r), term.OneLine(why, 200)))
}

// question asks the person, and adds the rule that the answer chose. A call that nobody
// can be asked about is denied.
func (g *Guard) question(ctx context.Context, r agent.ApprovalRequest, c policy.Call, d policy.Decision) (agent.Decision, error) {
	p := g.person
	a, err := p.decide(ctx, r, d, g.project)
	var no term.Nobody
	switch {
	case errors.As(err, &no):
		remedy := "--yes allows everything."
		switch {
		case Changed(r.Refused):
			p.Changed, _, _ = strings.Cut(r.Name, "__")
			remedy = p.Agree()
		case p.Bound != "":
			remedy = p.WhyAsked() + ": run it on a terminal."
		case r.Refused != nil:
			remedy = failure.Permits(r.Refused, true)
		}
		said := fmt.Sprintf("mylm: denied: %s\n", unmade(r))
		if r.Refused != nil {
			p.Remedy = remedy
			said += "  " + lowered(RefusedHead(r.Refused)) + " " + term.Visible(term.OneLine(strings.ReplaceAll(Listed(r.Refused), "\n", "; "), 300)) + "\n"
		}
		p.Screen.Say(said + fmt.Sprintf("  %s; %s", no, remedy))
		return agent.Decision{Reason: "nobody can be asked"}, nil
	case err != nil:
		return agent.Decision{}, err
	case a.Verdict == agent.Stop:
		p.Stopped = true
		return agent.Decision{Verdict: agent.Stop, Reason: "the user said no and stopped the run"}, nil
	case a.Verdict == agent.Deny:
		p.Declined = true
		reason := "the user said no"
		if a.Reason != "" {
			reason += ": " + a.Reason
		}
		return agent.Decision{Reason: reason}, nil
	}
	g.Allowed(c)
	g.keep(ctx, a.Store, c, d.Offer)
	return agent.Decision{Verdict: agent.Allow}, nil
}

// keep stores the rule that an answer to the question chose. If it cannot be stored it holds for this
// session.
func (g *Guard) keep(ctx context.Context, rule Rule, c policy.Call, offer *policy.Offer) {
	switch rule {
	case StoreCall:
		g.AllowCall(c)
	case StoreHost:
		g.AllowHost(c)
	case StorePrefix:
		g.AllowPrefix(offer.Prefix)
		text := strings.Join(offer.Prefix, " ")
		if err := g.Store.Add(ctx, g.project, offer.Prefix); err != nil {
			g.unstored = append(g.unstored, offer.Prefix)
			g.person.Screen.Say(fmt.Sprintf("mylm: the rule holds for this session only: %v", err))
			return
		}
		g.person.Screen.Dim(fmt.Sprintf("stored: %s ... (mylm policy revoke %s removes it)", text, text))
	}
}

// adopt takes over what a person has allowed for the rest of the session.
func (g *Guard) adopt(before *Guard) {
	g.Policy.Adopt(before.Policy)
	g.unstored = before.unstored
	for _, prefix := range g.unstored {
		g.AllowPrefix(prefix)
	}
}

// Person answers questions on the terminal. The answer affects how the end of a run is reported.
type Person struct {
	term.Prompter
	Dialog    Dialog             // nil: lines on the terminal
	Mode      func() policy.Mode // the mode at the time of a call, if the person can change it meanwhile; nil: as it is set
	Stopped   bool               // the answer to a question was to stop
	Declined  bool               // the answer to a question was no
	Forbidden bool               // a rule forbade a call
	Changed   string             // why a call was denied: this MCP server has changed its tool, and nobody could be asked
	Remedy    string             // what to do about what a command lacked and was denied, since nobody could be asked
	Bound     string             // what requires questions, so that --yes does not count; "" if nothing does
}

// pause has what is drawn make room for a question.
func (p *Person) pause() (resume func()) {
	if p.View == nil {
		return func() {}
	}
	p.View.Pause()
	return p.View.Resume
}

// Agree is how to agree to what a server has changed.
func (p *Person) Agree() string {
	return "mylm mcp test " + term.OneLine(p.Changed, 30) + " --agree agrees to what it offers now."
}

// WhyAsked is why --yes does not help.
func (p *Person) WhyAsked() string {
	return p.Bound + " requires approval, so --yes has no effect"
}

// tool is the tool ask_user; none where there is nobody to ask, which is an
// error if it is one of those that are named.
func (p *Person) tool(only []string) ([]*tools.Tool, error) {
	named := slices.Contains(only, ask.Name)
	if only != nil && !named {
		return nil, nil
	}
	reason := p.Absent()
	if reason != "" && named {
		return nil, fmt.Errorf("%s needs somebody to ask: %w", ask.Name, reason)
	}
	if reason != "" {
		return nil, nil
	}
	t, err := ask.New(p.Answer)
	return []*tools.Tool{t}, err
}

// Answer asks the person a question of the model. Its text is shown behind the
// gutter, like every foreign text.
func (p *Person) Answer(ctx context.Context, q ask.Question) (string, error) {
	if p.Dialog != nil {
		defer p.pause()()
		return p.Dialog.Question(ctx, q)
	}
	columns, height := term.Size()
	height = max(5, height-term.QuestionRows-len(q.Options))
	var b strings.Builder
	b.WriteString("\n" + q.Asks() + "\n\n")
	b.WriteString(strings.Join(term.NewPreview(q.Text, columns, height).Shown, "\n"))
	b.WriteString("\n\n")
	for i, o := range q.Options {
		fmt.Fprintf(&b, "  %2d  %s\n", i+1, term.Visible(term.OneLine(o, max(20, columns-8))))
	}
	if len(q.Options) > 0 {
		b.WriteString("\nNumber, or your own answer (Enter: none): ")
	} else {
		b.WriteString("Answer (Enter: none): ")
	}
	text, err := p.Ask(ctx, b.String())
	var no term.Nobody
	if errors.As(err, &no) {
		return "", ask.ErrNoAnswer
	}
	return text, err
}

// Changed reports whether a question is about a tool that its server has changed.
func Changed(refused []tools.Refusal) bool {
	return slices.ContainsFunc(refused, func(r tools.Refusal) bool { return r.Kind == mcp.Changed })
}
