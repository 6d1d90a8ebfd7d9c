package term

import (
	"context"
	"fmt"
	"strings"
)

// questionRows is what the question takes besides the preview, with one row for
// the reason, which may take up to whyRows.
const (
	QuestionRows = 10
	WhyRows      = 3
)

// Proposal is a text that somebody is to agree to.
type Proposal struct {
	Head, Text, Tail string // text stands behind the gutter, head and tail are our words
	What             string // is done with a yes
	Edit             bool   // it can be changed
}

// What somebody says to a proposal.
const (
	saidYes = iota + 1
	SaidNo
	SaidEdit
)

// Consent asks about a proposal until there is an answer. What does not fit on
// the terminal takes a whole yes, or that all of it was looked at.
func (p *Prompter) Consent(ctx context.Context, o Proposal) (said int, err error) {
	columns, height := Size()
	v := NewPreview(o.Text, columns, max(5, height-QuestionRows-strings.Count(o.Tail, "\n")))
	head := o.Head + strings.Join(v.Shown, "\n") + "\n\n" + o.Tail
	edit := ""
	if o.Edit {
		edit = ", [e]dit"
	}
	for {
		choice := strings.ToUpper(o.What[:1]) + o.What[1:] + "? "
		if v.Unseen == "" {
			choice += "[y]es, [n]o" + edit + ": "
		} else {
			choice = v.Unseen + ": not shown.\n" + choice + "[v]iew all of it, [n]o" + edit + ", or type yes to " + o.What + " unseen: "
		}
		typed, err := p.Ask(ctx, head+choice)
		if err != nil {
			return 0, err
		}
		head = "\n"
		switch typed = strings.ToLower(typed); {
		case typed == "yes", typed == "y" && v.Unseen == "":
			return saidYes, nil
		case typed == "n", typed == "no":
			return SaidNo, nil
		case o.Edit && (typed == "e" || typed == "edit"):
			return SaidEdit, nil
		case typed == "v", typed == "view":
			seen, err := p.Page(ctx, Texts(v.Whole), max(5, height-2))
			if err != nil {
				return 0, err
			}
			if seen {
				v.Unseen = ""
			}
		}
	}
}

// Page shows rows page by page, and reports whether the last one was reached.
func (p *Prompter) Page(ctx context.Context, rows []string, height int) (whole bool, err error) {
	pages := (len(rows) + height - 1) / height
	for i := range pages {
		text := strings.Join(rows[i*height:min(len(rows), (i+1)*height)], "\n") + "\n"
		if i == pages-1 {
			text += fmt.Sprintf("[page %d of %d, the last] Enter goes back to the question: ", i+1, pages)
		} else {
			text += fmt.Sprintf("[page %d of %d] Enter for the next, q for the question: ", i+1, pages)
		}
		answer, err := p.Ask(ctx, text)
		if err != nil {
			return false, err
		}
		if strings.HasPrefix(strings.ToLower(answer), "q") && i < pages-1 {
			return false, nil
		}
	}
	return true, nil
}
