package chat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/files"
)

// room is how many rows of a call fit with the rows of its question.
func (m *model) room() int { return max(5, m.height-term.QuestionRows-4) }

// callText is what a call would do, and what the sandbox has refused.
func callText(d *dialog) string {
	a := d.approval
	if a.Refused == nil {
		return a.Preview
	}
	return strings.TrimRight(a.Preview, "\n") + "\n\n" + setup.RefusedHead(a.Refused) + "\n" + setup.Listed(a.Refused)
}

func (m *model) preview(d *dialog) term.Preview {
	return term.NewPreview(callText(d), m.width, m.room())
}

func (m *model) callRows(d *dialog) []string { return term.Texts(m.preview(d).Whole) }

// changes reports whether a tool's calls are shown as changes of a file.
func changes(name string) bool { return name == files.WriteFileName || name == files.EditFileName }

// diffRow colours a row of a preview that is a change.
func (m *model) diffRow(d *dialog, row string) string {
	if !changes(d.approval.Name) {
		return row
	}
	const gutter = "  | "
	text, ok := strings.CutPrefix(row, gutter)
	switch {
	case !ok:
	case strings.HasPrefix(text, "+"):
		return gutter + m.styled(green, text)
	case strings.HasPrefix(text, "-"):
		return gutter + m.styled(red, text)
	case strings.HasPrefix(text, "@@"):
		return gutter + m.styled(cyan, text)
	}
	return row
}

// dialogRows draw a question.
func (m *model) dialogRows(d *dialog) (rows []string, cursor place) {
	switch {
	case d.approval != nil:
		rows = m.approvalRows(d)
	case d.question != nil:
		rows = append([]string{m.styled(bold, d.question.Asks())}, m.questionRows(d)...)
		rows = append(rows, m.styled(faint, "Enter sends the answer, a number chooses one; Esc answers nothing."))
	default:
		for line := range strings.SplitSeq(strings.Trim(d.prompt, "\n"), "\n") {
			rows = append(rows, m.wrap(line)...)
		}
	}
	switch {
	case !m.armed(d):
		rows = append(rows, m.styled(faint, "(waits until you stop typing)"))
		typed, at := m.editor.rows(m.method, m.columns(), 3, prompt, false)
		at.y += len(rows)
		return append(rows, typed...), at
	case d.approval == nil || d.reason:
		label := prompt
		if d.reason {
			label = "why? "
		}
		typed, at := d.editor.rows(m.method, m.columns(), 5, label, d.secret)
		at.y += len(rows)
		rows = append(rows, typed...)
		if d.reason {
			rows = append(rows, m.styled(faint, "Enter refuses, with or without a reason; Esc goes back."))
		}
		return append(rows, m.later()...), at
	}
	return slices.Concat(rows, m.keys(d), m.later()), place{0, len(rows)}
}

// later is what is in the editor while a question is in its place.
func (m *model) later() []string {
	if m.editor.empty() {
		return nil
	}
	return []string{m.styled(faint, ansi.Truncate("for later: "+term.OneLine(m.editor.shown(), 200), m.columns(), "…"))}
}

// approvalRows are a call and why it is asked about.
func (m *model) approvalRows(d *dialog) (rows []string) {
	a := d.approval
	head := fmt.Sprintf("The model wants to use %s (%s):", term.OneLine(term.Visible(a.Name), 60), a.Effect)
	if a.Refused != nil {
		head = strings.TrimSpace(setup.Ran(a.ApprovalRequest))
	}
	for _, row := range m.wrap(head) {
		rows = append(rows, m.styled(bold, row))
	}
	view := m.preview(d)
	switch {
	case d.whole:
		rows = append(rows, m.styled(faint, term.NoteStart+"(all of it is shown above)"))
	default:
		for _, row := range view.Shown {
			rows = append(rows, m.diffRow(d, row))
		}
		if view.Unseen != "" {
			rows = append(rows, m.wrap(term.NoteStart+"(d shows all of it, Y allows it unseen)")...)
		}
	}
	why := "Why you are asked: " + term.OneLine(term.Visible(a.Why), 200)
	if a.Refused != nil {
		why = setup.Yes("A yes", a.Refused)
	}
	rows = append(rows, strings.Split(term.Fold(why, m.columns(), term.WhyRows), "\n")...)
	if d.help {
		rows = append(rows, m.helpRows(d)...)
	}
	if d.note != "" {
		rows = append(rows, m.styled(yellow, ansi.Truncate(d.note, m.columns(), "…")))
	}
	return rows
}

// keys are the keys of an approval.
func (m *model) keys(d *dialog) []string {
	a := d.approval
	parts := []string{"[y] once"}
	if a.Offer != nil {
		parts = append(parts, "[a] for this session")
		if a.Offer.Prefix != nil {
			parts = append(parts, fmt.Sprintf("[p] always allow \"%s …\"", term.OneLine(term.Visible(strings.Join(a.Offer.Prefix, " ")), 40)))
		}
		if a.Offer.Host != "" {
			parts = append(parts, fmt.Sprintf("[h] %s for this session", term.OneLine(term.Visible(a.Offer.Host), 40)))
		}
	}
	parts = append(parts, "[n] no, say why", "[s] stop")
	full := "[d] in full"
	if changes(a.Name) {
		full = "[d] full diff"
	}
	parts = append(parts, full, "[?] help")
	var rows []string
	line := ""
	for _, p := range parts {
		if line != "" && ansi.StringWidth(line+"  "+p) > m.columns() {
			rows = append(rows, line)
			line = ""
		}
		line = strings.TrimLeft(line+"  "+p, " ")
	}
	rows = append(rows, line)
	for i, r := range rows {
		rows[i] = ansi.Truncate(r, m.columns(), "…")
	}
	return rows
}

// helpRows explain the keys.
func (m *model) helpRows(d *dialog) (rows []string) {
	o := d.approval.Offer
	for _, line := range []struct {
		text   string
		absent bool
	}{
		{"y  this call runs, once", false},
		{"a  so does exactly the same call later in this conversation", o == nil},
		{"p  so does every command that begins so, in this project, until mylm policy revoke", o == nil || o.Prefix == nil},
		{"h  so does every call that only talks to this host, in this conversation", o == nil || o.Host == ""},
		{"n  it does not run; the model is told your reason, and goes on", false},
		{"s  it does not run, and the reply ends here", false},
		{"d  puts all of the call into the scrollback", false},
		{"Deny rules and the sandbox hold whatever is allowed here.", false},
	} {
		if line.absent {
			continue
		}
		for _, row := range m.wrap(line.text) {
			rows = append(rows, m.styled(faint, row))
		}
	}
	return rows
}

// questionRows are a model's question with its options.
func (m *model) questionRows(d *dialog) []string {
	q := d.question
	rows := append([]string(nil), term.NewPreview(q.Text, m.width, max(5, m.room()-len(q.Options))).Shown...)
	for i, o := range q.Options {
		rows = append(rows, ansi.Truncate(fmt.Sprintf("  %2d  %s", i+1, term.Visible(term.OneLine(o, 200))), m.columns(), "…"))
	}
	return rows
}
