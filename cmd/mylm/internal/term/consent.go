package term

import (
	"context"
	"fmt"
	"math"
	"strings"
)

// QuestionRows are the rows of the question besides the preview, with one row for
// the reason, which may take up to WhyRows.
const (
	QuestionRows = 10
	WhyRows      = 3
)

// Proposal is a text that needs a person's consent.
type Proposal struct {
	Head, Text, Tail string // only Text is foreign and shown behind the gutter
	What             string // what a yes does
	Edit             bool   // the text can be edited
	Whole            bool   // the text is shown whole, however long it is
}

// The answers to a proposal.
const (
	answerYes = iota + 1
	AnswerNo
	AnswerEdit
)

// Consent asks about a proposal until there is an answer. A text that does not
// fit on the terminal needs "yes" instead of "y", unless all of it was viewed.
func (p *Prompter) Consent(ctx context.Context, o Proposal) (said int, err error) {
	columns, height := Size()
	rows := max(5, height-QuestionRows-strings.Count(o.Tail, "\n"))
	if o.Whole {
		rows = math.MaxInt
	}
	v := NewPreview(o.Text, columns, rows)
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
			choice = v.Unseen + ": not shown.\n" + choice + "[d] all of it, [n]o" + edit + ", or type yes to " + o.What + " unseen: "
		}
		typed, err := p.Ask(ctx, head+choice)
		if err != nil {
			return 0, err
		}
		head = "\n"
		switch typed = strings.ToLower(typed); {
		case typed == "yes", typed == "y" && v.Unseen == "":
			return answerYes, nil
		case typed == "n", typed == "no":
			return AnswerNo, nil
		case o.Edit && (typed == "e" || typed == "edit"):
			return AnswerEdit, nil
		case typed == "d":
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

// A text to decide on is shown behind a gutter that nothing else has, so that no
// command can imitate mylm's own lines.
const (
	gutter          = "  | "
	continuedGutter = "  : " // continues the line above
	NoteStart       = "    " // our words about the text, in brackets
)

// row is one row of a preview on the terminal, and how much of the text it covers.
type row struct {
	text         string
	lines, bytes int
}

// Preview is a text to decide on, as it fits on a terminal.
type Preview struct {
	Whole  []row
	Shown  []string
	Unseen string // describes what is not shown; "" if everything is
	Size   string // lines and bytes, if it had to be shortened
}

// NewPreview lays text out for a terminal of so many columns, in at most height
// rows.
func NewPreview(text string, columns, height int) Preview {
	width := max(20, columns-len(gutter)-1)
	lines := strings.Split(strings.TrimRight(Visible(text), "\n"), "\n")
	p := Preview{}
	for _, l := range lines {
		p.Whole = append(p.Whole, wrap(l, width)...)
	}
	if len(p.Whole) <= height {
		p.Shown = Texts(p.Whole)
		return p
	}
	p.Size = fmt.Sprintf("%s, %s", Plural(len(lines), "line"), Plural(len(text), "byte"))
	folded, cut := fold(lines, width)
	var missing []string
	if len(folded) > height {
		head := height * 2 / 3
		tail := len(folded) - (height - head - 1)
		left := row{}
		for _, r := range folded[head:tail] {
			left.lines, left.bytes = left.lines+r.lines, left.bytes+r.bytes
		}
		what := fmt.Sprintf("%s (%s)", Plural(left.lines, "line"), Plural(left.bytes, "byte"))
		missing = append(missing, what)
		p.Shown = append(Texts(folded[:head]), NoteStart+"[... "+what+" not shown ...]")
		folded = folded[tail:]
	}
	p.Shown = append(p.Shown, Texts(folded)...)
	if cut > 0 {
		missing = append(missing, "the rest of "+Plural(cut, "long line"))
	}
	p.Unseen = strings.Join(missing, " and ")
	return p
}

// wrap breaks a line into rows, between words where that leaves a row half full.
func wrap(line string, width int) []row {
	line = strings.ReplaceAll(line, "\t", "    ")
	rows := []row{{text: gutter, lines: 1, bytes: 1}}
	for {
		piece := Cut(line, width)
		if i := strings.LastIndexByte(piece, ' '); len(piece) < len(line) && i >= len(piece)/2 {
			piece = piece[:i+1]
		}
		last := &rows[len(rows)-1]
		last.text += piece
		last.bytes += len(piece)
		if line = line[len(piece):]; line == "" {
			return rows
		}
		rows = append(rows, row{text: continuedGutter})
	}
}

// fold is the text with several blank lines in one row, and with at most two
// rows of a line. It reports how many lines are cut.
func fold(lines []string, width int) (rows []row, long int) {
	for len(lines) > 0 {
		blank := 0
		for blank < len(lines) && strings.TrimSpace(lines[blank]) == "" {
			blank++
		}
		if blank > 1 {
			rows = append(rows, row{fmt.Sprintf("%s[%d blank lines]", NoteStart, blank), blank, blank})
			lines = lines[blank:]
			continue
		}
		line := wrap(lines[0], width)
		lines = lines[1:]
		if len(line) > 3 {
			rest := row{}
			for _, r := range line[2:] {
				rest.bytes += r.bytes
			}
			rest.text = fmt.Sprintf("%s[... %s more in this line ...]", NoteStart, Plural(rest.bytes, "byte"))
			line = append(line[:2], rest)
			long++
		}
		rows = append(rows, line...)
	}
	return rows, long
}

// Texts are rows as they are shown.
func Texts(rows []row) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.text
	}
	return out
}
