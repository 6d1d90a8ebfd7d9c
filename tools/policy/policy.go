package policy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"mylm/tools"
	"mylm/tools/command"
)

// Mode sets what needs approval.
type Mode string

// The modes, the strictest first.
const (
	ConfirmAll       Mode = "confirm-all"       // every call
	ConfirmSensitive Mode = "confirm-sensitive" // what may do more than read in the workspace
	Yolo             Mode = "yolo"              // nothing
)

// Modes are all modes, the strictest first.
var Modes = []Mode{ConfirmAll, ConfirmSensitive, Yolo}

// ParseMode reads a mode. "" is ConfirmSensitive.
func ParseMode(s string) (Mode, error) {
	if s == "" {
		return ConfirmSensitive, nil
	}
	if !slices.Contains(Modes, Mode(s)) {
		return "", fmt.Errorf("there is no mode %q; there are: confirm-all, confirm-sensitive, yolo", s)
	}
	return Mode(s), nil
}

// Stricter is the stricter of two modes.
func (m Mode) Stricter(n Mode) Mode {
	return Modes[min(slices.Index(Modes, m), slices.Index(Modes, n))]
}

// Unasked sets which command lines run without a question, in the mode
// ConfirmSensitive.
type Unasked string

// What runs unasked, the most first.
const (
	Sandbox Unasked = "sandbox" // any line, held to reading by the tool's sandbox
	Readers Unasked = "readers" // lines of plain readers, on files of the workspace
	Never   Unasked = "never"   // none
)

// ParseUnasked reads what runs unasked. "" is Sandbox.
func ParseUnasked(s string) (Unasked, error) {
	u := Unasked(cmp.Or(s, string(Sandbox)))
	if !slices.Contains(unaskeds, u) {
		return "", fmt.Errorf("unasked is %q; it must be sandbox, readers or never", s)
	}
	return u, nil
}

var unaskeds = []Unasked{Sandbox, Readers, Never}

// Stricter is the stricter of two.
func (u Unasked) Stricter(v Unasked) Unasked {
	return unaskeds[max(slices.Index(unaskeds, u), slices.Index(unaskeds, v))]
}

// Options of a Policy. The zero value asks about every command line.
type Options struct {
	Mode    Mode         // "": ConfirmSensitive
	Now     func() Mode  // the mode at the time of a decision, for one that changes meanwhile; nil: Mode. It is called from several goroutines at once
	Unasked Unasked      // "": Never
	Because string       // why no more command lines run unasked, for the question
	Check   func() error // why the sandbox cannot hold command lines, which then do not run unasked; nil: it can. Called once, at the first one
	Deny    []string     // rules beside DefaultDeny
	Allow   [][]string   // prefixes of command lines that are allowed in the project
}

// Policy decides. It may be used by several goroutines at once.
type Policy struct {
	mode    func() Mode
	unasked func() (Unasked, string)
	deny    []denyRule

	mu              sync.Mutex
	prefixes        [][]string
	calls           map[string]bool // exact calls of this session; whether they were allowed in a tainted run
	hosts           map[string]bool // the same of hosts
	approvedTainted bool            // a person has allowed something although the run is tainted
}

// New makes a policy. It is an error if the mode is unknown or a rule cannot be
// read.
func New(o Options) (*Policy, error) {
	mode, err := ParseMode(string(o.Mode))
	if err != nil {
		return nil, err
	}
	now := o.Now
	if now == nil {
		now = func() Mode { return mode }
	}
	p := &Policy{mode: now, unasked: sync.OnceValues(o.effectiveUnasked), prefixes: slices.Clone(o.Allow), calls: map[string]bool{}, hosts: map[string]bool{}}
	for _, text := range append(slices.Clone(DefaultDeny), o.Deny...) {
		rule, err := parseDeny(text)
		if err != nil {
			return nil, err
		}
		p.deny = append(p.deny, rule)
	}
	return p, nil
}

// Mode is what is asked about.
func (p *Policy) Mode() Mode { return p.mode() }

// effectiveUnasked is which command lines run without a question, and why no more do: none where
// the strict sandbox cannot confine them.
func (o Options) effectiveUnasked() (Unasked, string) {
	if o.Unasked == Sandbox && o.Check != nil {
		if err := o.Check(); err != nil {
			return Never, "the sandbox cannot confine it: " + err.Error()
		}
	}
	return cmp.Or(o.Unasked, Never), cmp.Or(o.Because, "no command runs unasked here")
}

// Unasked is which command lines run without a question.
func (p *Policy) Unasked() Unasked {
	unasked, _ := p.unasked()
	return unasked
}

// Call is a call of a tool that is decided about.
type Call struct {
	Tool    string
	Args    json.RawMessage
	Effect  tools.Effect
	Line    string        // the command line, of a tool that runs one
	Place   command.Place // where Line would run
	Host    string        // whom the call would talk to, if that is known
	Tainted bool          // the run has read what strangers wrote
	Foreign string        // where it is from; "" if that is unknown

	Refused []tools.Refusal // what the call was refused when it ran, and would be allowed now
}

// Verdict is what becomes of a call.
type Verdict string

// The verdicts.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// Decision is a verdict and what led to it.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	Hold    bool    `json:"hold,omitempty"` // allow no more than reading: the tool's sandbox enforces it
	Why     string  `json:"why"`            // for a person
	Rule    string  `json:"rule,omitempty"` // that decided; "" if none did
	Offer   *Offer  `json:"offer,omitempty"`
}

// Offer are the rules with which the user can avoid the same question later. None is
// offered in ConfirmAll.
type Offer struct {
	Prefix []string `json:"prefix,omitempty"` // of command lines, in the project; nil: none may be made
	Host   string   `json:"host,omitempty"`   // in the session
}

// Decide says whether a call is allowed, asked about or denied, and why. Deny rules come
// first, whatever the mode. Then the mode decides, the rules that are stored, as long as the
// run has read nothing that strangers may have written, and Unasked: which commands run
// without a question.
func (p *Policy) Decide(c Call) Decision {
	var a command.Analysis
	if c.Line != "" {
		a = command.Analyse(c.Line, c.Place)
	}
	if rule := p.forbids(c, a); rule != "" {
		return Decision{Verdict: Deny, Why: "the rule " + rule + " forbids it", Rule: rule}
	}
	switch mode := p.Mode(); {
	case mode == Yolo:
		return Decision{Verdict: Allow, Why: "nothing is asked about in the mode yolo"}
	case mode == ConfirmAll:
		return Decision{Verdict: Ask, Why: "everything is asked about in the mode confirm-all"}
	case c.Line == "" && c.Refused == nil && c.Effect.OnlyReads():
		return Decision{Verdict: Allow, Why: "it only reads in the workspace"}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	rule, nevertheless := p.allows(c, a)
	tainted := c.Tainted && !p.approvedTainted && !nevertheless
	switch {
	case rule != "" && !tainted:
		return Decision{Verdict: Allow, Why: rule, Rule: rule}
	case c.Line != "" && c.Refused == nil && p.Unasked() == Sandbox && a.Changes == "":
		return Decision{Verdict: Allow, Hold: true, Why: "it runs unasked in the read-only sandbox; what it is refused there is asked about"}
	case c.Line != "" && c.Refused == nil && p.Unasked() == Readers && a.Reads:
		return Decision{Verdict: Allow, Hold: true, Why: "it only reads files of the workspace"}
	case tainted:
		foreign := "this run has read foreign text"
		if c.Foreign != "" {
			foreign += " (" + c.Foreign + ")"
		}
		why := p.why(c, a) + "; " + foreign
		if rule != "" {
			why = rule + ", but no rule applies before you allow something in this run: " + foreign
		}
		return Decision{Verdict: Ask, Why: why, Rule: rule, Offer: &Offer{Host: c.Host}}
	}
	offer := &Offer{Host: c.Host}
	if !slices.ContainsFunc(c.Refused, func(r tools.Refusal) bool { return r.Effect&(tools.Writes|tools.Runs) == 0 }) {
		offer.Prefix = p.prefix(a)
	}
	return Decision{Verdict: Ask, Why: p.why(c, a), Offer: offer}
}

// why is why a call is asked about. What a rule covers is no reason.
func (p *Policy) why(c Call, a command.Analysis) string {
	for _, call := range a.Calls {
		if slices.ContainsFunc(p.prefixes, call.Covered) {
			continue
		}
		for _, prefix := range p.prefixes {
			if why := call.Exceeds(prefix); why != "" {
				return why
			}
		}
		if why := call.Changes(); why != "" && c.Refused == nil {
			return why
		}
	}
	switch {
	case c.Refused != nil:
		return "the sandbox refused it permission"
	case c.Line != "" && a.Changes != "":
		return a.Changes
	case c.Line != "" && p.Unasked() == Readers:
		return a.Why
	case c.Line != "":
		_, because := p.unasked()
		return because
	case c.Effect&tools.Network != 0 && c.Host != "":
		return "it talks to " + c.Host
	}
	var does []string
	for _, d := range []struct {
		effect tools.Effect
		words  string
	}{
		{tools.Writes, "writes in the workspace"}, {tools.Runs, "runs a program"}, {tools.Network, "uses the network"},
		{tools.Leaves, "reads outside the workspace"},
	} {
		if c.Effect&d.effect != 0 {
			does = append(does, d.words)
		}
	}
	return "it " + strings.Join(does, ", ")
}

// allows is the allow rule that a call falls under, in words, and whether it was made
// in a tainted run.
func (p *Policy) allows(c Call, a command.Analysis) (rule string, nevertheless bool) {
	if tainted, ok := p.calls[c.key()]; ok {
		return "you allowed this very call in this session", tainted
	}
	if tainted, ok := p.hosts[c.Host]; ok && c.Host != "" && c.Effect&(tools.Writes|tools.Runs|tools.Leaves) == 0 {
		return "you allowed " + c.Host + " in this session", tainted
	}
	if c.Refused != nil {
		return "", false
	}
	var used []string
	for _, call := range a.Calls {
		if call.Reads {
			continue
		}
		i := slices.IndexFunc(p.prefixes, call.Covered)
		if i < 0 {
			return "", false
		}
		used = append(used, strings.Join(p.prefixes[i], " "))
	}
	if used == nil {
		return "", false
	}
	return "you allowed " + strings.Join(used, " and ") + " in this project", false
}

// prefix is the one that would allow the line, if one alone does.
func (p *Policy) prefix(a command.Analysis) (found []string) {
	for _, call := range a.Calls {
		if call.Reads || slices.ContainsFunc(p.prefixes, call.Covered) {
			continue
		}
		prefix := call.Prefix()
		if !call.Covered(prefix) || found != nil && !slices.Equal(found, prefix) {
			return nil
		}
		found = prefix
	}
	return found
}

// key identifies a call and its permissions: two forms of the same arguments are one.
func (c Call) key() string {
	args, d := []byte(c.Args), json.NewDecoder(bytes.NewReader(c.Args))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		if b, err := json.Marshal(v); err == nil {
			args = b
		}
	}
	return c.Tool + " " + c.Place.Dir + " " + string(args) + fmt.Sprint(c.Refused)
}

// Allowed notes that a person has allowed a call: in a tainted run, rules count
// from then on.
func (p *Policy) Allowed(c Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.approvedTainted = p.approvedTainted || c.Tainted && !c.Effect.OnlyReads()
}

// AllowCall allows exactly the same call from now on. In later runs that are tainted it
// does if this one is.
func (p *Policy) AllowCall(c Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[c.key()] = p.calls[c.key()] || c.Tainted
}

// AllowHost allows calls that only talk to the call's host from now on, as AllowCall
// does.
func (p *Policy) AllowHost(c Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts[c.Host] = p.hosts[c.Host] || c.Tainted
}

// Adopt takes over the calls and hosts that were allowed with another policy for
// the rest of the session.
func (p *Policy) Adopt(other *Policy) {
	other.mu.Lock()
	defer other.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.calls, other.calls)
	maps.Copy(p.hosts, other.hosts)
}

// AllowPrefix allows command lines that the prefix covers from now on.
// What keeps it beyond the session is a Store.
func (p *Policy) AllowPrefix(prefix []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prefixes = append(p.prefixes, slices.Clone(prefix))
}
