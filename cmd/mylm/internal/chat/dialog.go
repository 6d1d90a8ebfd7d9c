package chat

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"mylm/agent"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/ask"
)

// pause is how long a person must not have typed before a question takes keys:
// what was meant for the editor is no answer.
const pause = 600 * time.Millisecond

// armed is the message that a question may take keys now.
type armed struct{}

// reply is the answer to a dialog.
type reply struct {
	answer setup.Answer
	text   string
	none   bool // the person does not want to answer
}

// dialog is a question in place of the editor. One of approval, question and
// prompt is set.
type dialog struct {
	approval *setup.Approval
	question *ask.Question
	prompt   string
	secret   bool
	reply    chan reply // takes one

	ready  bool // it takes keys
	editor editor
	reason bool // the reason of a no is typed
	whole  bool // all of the call was shown
	help   bool
	note   string
}

// dialog is the question that is shown, nil if there is none.
func (m *model) dialog() *dialog {
	if len(m.dialogs) == 0 {
		return nil
	}
	return m.dialogs[0]
}

func (m *model) openDialog(d *dialog) {
	m.endAnswer()
	m.dialogs = append(m.dialogs, d)
	m.menu, m.search = nil, nil
}

func (m *model) dismiss(d *dialog) {
	m.dialogs = slices.DeleteFunc(m.dialogs, func(o *dialog) bool { return o == d })
}

// armed reports whether a question takes keys.
func (m *model) armed(d *dialog) bool {
	d.ready = d.ready || time.Since(m.typed) >= pause
	return d.ready
}

// typing reports whether the dialog's editor takes text.
func (d *dialog) typing() bool { return d.ready && (d.approval == nil || d.reason) }

// answer ends the dialog.
func (m *model) answer(d *dialog, r reply) {
	m.record(d, r)
	m.dismiss(d)
	d.reply <- r
}

// dialogKey carries a key of a question out.
func (m *model) dialogKey(d *dialog, k tea.KeyPressMsg) tea.Cmd {
	if !m.armed(d) {
		m.typed = time.Now() // it was meant for the editor
		if k.Text != "" {
			m.editor.insert(k.Text)
		} else if name := k.String(); name != "enter" {
			m.editor.edit(name)
		}
		return nil
	}
	d.note = ""
	switch {
	case d.typing():
		m.typeAnswer(d, k)
	case m.decide(d, k.String()):
	case k.Text != "":
		m.keep(d)
		m.editor.insert(k.Text)
	default:
		d.note = "Press one of the keys below."
	}
	return nil
}

// keep has a question wait: what is typed is a word for the editor, whose other letters
// are no answers.
func (m *model) keep(d *dialog) {
	if d != nil {
		m.typed, d.ready = time.Now(), false
	}
}

// typeAnswer carries out a key where text is typed.
func (m *model) typeAnswer(d *dialog, k tea.KeyPressMsg) {
	switch name := k.String(); name {
	case "enter":
		m.answerText(d)
	case "esc":
		if d.reason {
			d.reason = false
			d.editor.set("")
			return
		}
		if d.question != nil {
			m.answer(d, reply{none: true})
		}
	case "alt+enter", "shift+enter", "ctrl+j":
		d.editor.insert("\n")
	default:
		if !d.editor.edit(name) && k.Text != "" {
			d.editor.insert(k.Text)
		}
	}
}

func (m *model) answerText(d *dialog) {
	text := strings.TrimSpace(d.editor.text())
	switch {
	case d.reason:
		m.answer(d, reply{answer: setup.Answer{Verdict: agent.Deny, Reason: text}})
	case d.question != nil:
		m.answer(d, reply{text: text, none: text == ""})
	default:
		m.answer(d, reply{text: text})
	}
}

// decide carries out a key of an approval.
func (m *model) decide(d *dialog, key string) (known bool) {
	a, seen := d.approval, d.whole || m.preview(d).Unseen == ""
	allow := func(store setup.Rule) {
		if !seen {
			d.note = "Not all of it is shown: d shows it, Y allows it unseen."
			return
		}
		m.answer(d, reply{answer: setup.Answer{Verdict: agent.Allow, Store: store}})
	}
	switch {
	case key == "y":
		allow("")
	case key == "Y", key == "shift+y":
		m.answer(d, reply{answer: setup.Answer{Verdict: agent.Allow}})
	case key == "a" && a.Offer != nil:
		allow(setup.StoreCall)
	case key == "p" && a.Offer != nil && a.Offer.Prefix != nil:
		allow(setup.StorePrefix)
	case key == "h" && a.Offer != nil && a.Offer.Host != "":
		allow(setup.StoreHost)
	case key == "n":
		d.reason = true
	case key == "s":
		m.answer(d, reply{answer: setup.Answer{Verdict: agent.Stop}})
	case key == "d":
		m.showWhole(d)
	case key == "?":
		d.help = !d.help
	default:
		return false
	}
	return true
}

// showWhole puts all of a call into the scrollback.
func (m *model) showWhole(d *dialog) {
	if d.whole {
		return
	}
	m.lines = append(m.lines, "")
	for _, row := range m.callRows(d) {
		m.lines = append(m.lines, m.diffRow(d, row))
	}
	d.whole = true
}

// record leaves a question and its answer in the scrollback.
func (m *model) record(d *dialog, r reply) {
	switch {
	case d.secret:
	case d.question != nil:
		m.say("", "")
		m.say(bold, d.question.Asks())
		m.lines = append(m.lines, m.questionRows(d)...)
		said := "(no answer)"
		if !r.none {
			said = term.Visible(r.text)
		}
		m.say("", prompt+said)
	case d.approval != nil:
		if !d.whole {
			m.lines = append(m.lines, "")
			for _, row := range m.preview(d).Shown {
				m.lines = append(m.lines, m.diffRow(d, row))
			}
		}
		m.say(faint, decided(r.answer))
	default:
		m.say("", strings.TrimRight(d.prompt, "\n")+term.Visible(r.text))
	}
}

// decided says what was answered.
func decided(a setup.Answer) string {
	switch {
	case a.Verdict == agent.Stop:
		return "  refused, and the run is stopped"
	case a.Verdict == agent.Deny && a.Reason != "":
		return "  refused: " + term.OneLine(term.Visible(a.Reason), 200)
	case a.Verdict == agent.Deny:
		return "  refused"
	case a.Store == setup.StoreCall:
		return "  allowed, also again in this session"
	case a.Store == setup.StorePrefix:
		return "  allowed, also again in this project"
	case a.Store == setup.StoreHost:
		return "  allowed, as is all that only talks to this host in this session"
	}
	return "  allowed once"
}
