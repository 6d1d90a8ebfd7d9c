package setup

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"mylm/agent"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools"
	"mylm/tools/ask"
	"mylm/tools/policy"
	"mylm/tools/sandbox"
)

// Approval is a call that a person is asked about.
type Approval struct {
	agent.ApprovalRequest
	policy.Decision        // why, and the rules that can be stored
	Project         string // for which a prefix is stored
}

// Answer is a person's answer to a question.
type Answer struct {
	Verdict agent.Verdict
	Reason  string // of a no, for the model
	Store   Rule   // which of the offered rules is to be stored
}

// Rule is an offered rule.
type Rule string

// The rules that can be offered.
const (
	StoreCall   Rule = "call"   // exactly this call, in this session
	StorePrefix Rule = "prefix" // command lines that begin so, in this project
	StoreHost   Rule = "host"   // calls that only talk to this host, in this session
)

// Dialog asks about calls in its own way, and puts the questions of a model.
type Dialog interface {
	Approve(context.Context, Approval) (Answer, error)
	Question(context.Context, ask.Question) (string, error)
}

// decide puts the question about a call until it gets an answer. A call that does not fit on the terminal
// needs "yes" instead of "y", unless all of it was viewed.
func (p *Person) decide(ctx context.Context, r agent.ApprovalRequest, d policy.Decision, project string) (Answer, error) {
	if p.Dialog != nil {
		defer p.pause()()
		return p.Dialog.Approve(ctx, Approval{r, d, project})
	}
	columns, height := term.Size()
	why := term.Fold("Why you are asked: "+term.OneLine(term.Visible(d.Why), 200), columns-1, term.WhyRows)
	rows := max(5, height-term.QuestionRows-strings.Count(why, "\n"))
	head := "\n" + term.Fold(fmt.Sprintf("The model wants to use %s (%s):", term.OneLine(r.Name, 60), r.Effect), columns-1, term.WhyRows) + "\n\n"
	refused, tail := term.Preview{}, why+"\n"
	if r.Refused != nil {
		refused = term.NewPreview(Listed(r.Refused), columns, max(3, rows/3))
		rows = max(3, rows-len(refused.Shown)-2)
		head = "\n" + term.Fold(strings.TrimSpace(Ran(r)), columns-1, term.WhyRows) + "\n\n"
		tail = RefusedHead(r.Refused) + "\n\n" + strings.Join(refused.Shown, "\n") + "\n\n" +
			term.Fold(Yes("A yes", r.Refused), columns-1, term.WhyRows) + "\n"
	}
	view := term.NewPreview(r.Preview, columns, rows)
	if view.Size != "" {
		head += term.NoteStart + view.Size + "; this is how much of it fits here:\n\n"
	}
	head += strings.Join(view.Shown, "\n") + "\n\n" + tail
	unseen := cmp.Or(view.Unseen, refused.Unseen)
	for {
		typed, err := p.Ask(ctx, head+choices(unseen, d.Offer, project, columns))
		if err != nil {
			return Answer{}, err
		}
		head = ""
		word, reason, _ := strings.Cut(typed, " ")
		if word = strings.ToLower(strings.TrimRight(word, ",:")); word == "n" || word == "no" {
			return Answer{Reason: strings.TrimSpace(reason)}, nil
		}
		switch strings.ToLower(typed) {
		case "yes":
			return Answer{Verdict: agent.Allow}, nil
		case "s", "stop":
			return Answer{Verdict: agent.Stop}, nil
		case "d":
			seen, err := p.Page(ctx, term.Texts(append(view.Whole, refused.Whole...)), max(5, height-2))
			if err != nil {
				return Answer{}, err
			}
			if seen {
				unseen = ""
			}
			head = "\n"
		default:
			if a, ok := allowing(strings.ToLower(typed), d.Offer); ok && unseen == "" {
				return a, nil
			}
			if typed != "" {
				head = fmt.Sprintf("%q is none of the answers.\n", term.OneLine(term.Visible(typed), 40))
			}
		}
	}
}

// RefusedHead introduces the list of what a call was refused.
func RefusedHead(refused []tools.Refusal) string {
	if Changed(refused) {
		return "You have not agreed to:"
	}
	return "The sandbox refused:"
}

func lowered(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// Ran describes how a call ran that lacked a permission.
func Ran(r agent.ApprovalRequest) string {
	if Changed(r.Refused) {
		return "The model's call was not made, since the server has changed the tool since you agreed to it:\n\n"
	}
	had := r.Effect
	for _, f := range r.Refused {
		had &^= f.Effect
	}
	if had.OnlyReads() {
		return "The model's command was tried in the read-only sandbox, where it changed nothing:\n\n"
	}
	return "The model's command ran with what you allowed (" + had.String() + "), and lacked more:\n\n"
}

// Yes describes what a yes, by the name that it has where it is asked for, would do.
func Yes(name string, refused []tools.Refusal) string {
	if Changed(refused) {
		return name + " makes the call, and agrees to the tool as it is now."
	}
	return name + " runs it again, from the start, and lets it " + permission(refused) + "."
}

func permission(refused []tools.Refusal) string {
	var effects tools.Effect
	var all []string
	for _, f := range refused {
		if f.Kind != string(sandbox.Limit) {
			effects |= f.Effect
		} else if len(all) == 0 {
			all = []string{"exceed the limit that is named above"}
		}
	}
	for _, p := range []struct {
		effect tools.Effect
		words  string
	}{
		{tools.Writes, "write in the workspace"}, {tools.Network, "use the network"},
		{tools.Runs, "run what is named above"}, {tools.Leaves, "read what is named above"},
	} {
		if effects&p.effect != 0 {
			all = append(all, p.words)
		}
	}
	return strings.Join(all, ", and ")
}

// Listed lists refusals, one per line.
func Listed(refused []tools.Refusal) string {
	lines := make([]string, len(refused))
	for i, f := range refused {
		if lines[i] = f.String(); f.Text != "" {
			lines[i] += " is now: " + f.Text
		}
	}
	return strings.Join(lines, "\n")
}

// allowing reads the answers y, a, p and h to the question, for which the call must have
// been seen whole.
func allowing(typed string, offer *policy.Offer) (a Answer, ok bool) {
	a.Verdict = agent.Allow
	switch {
	case typed == "y":
	case offer == nil:
		return a, false
	case typed == "a":
		a.Store = StoreCall
	case (typed == "p" || typed == "prefix") && offer.Prefix != nil:
		a.Store = StorePrefix
	case (typed == "h" || typed == "host") && offer.Host != "":
		a.Store = StoreHost
	default:
		return a, false
	}
	return a, true
}

// choices are the answers that the question offers, y, a, p, h, n, s and d, and what p and h
// would store.
func choices(unseen string, offer *policy.Offer, project string, columns int) string {
	if unseen != "" {
		return unseen + ": not shown.\nAllow it? [d] all of it, [n]o, [s]top, or type yes to allow it unseen: "
	}
	if offer == nil {
		return "Allow it? [y]es, [n]o (n REASON tells the model why), [s]top: "
	}
	rule, more := "", ""
	whole := func(line string) string { return term.Fold(line, columns-1, len(line)) }
	if offer.Prefix != nil {
		rule += whole(fmt.Sprintf("p stores the rule \"%s ...\" for %s", term.Visible(strings.Join(offer.Prefix, " ")), term.OneLine(term.Visible(project), 200))) + "\n"
		more += ", [p]refix"
	}
	if offer.Host != "" {
		rule += whole(fmt.Sprintf("h allows %s in this session", term.OneLine(term.Visible(offer.Host), 200))) + "\n"
		more += ", [h]ost"
	}
	choice := "Allow it? [y]es, [a] for this session" + more + ", [n]o (n REASON tells the model why), [s]top:"
	return rule + whole(choice) + " "
}
