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

// moment is how long no other key may follow one that answers a question: a letter of a
// word is no answer. Who types fast takes half as long.
const moment = 200 * time.Millisecond

// alone is the message that a moment has passed since a key of a question.
type alone struct{ d *dialog }

// delayed reports whether a key of an approval acts a moment later. A no does at once:
// text that follows it is its reason.
func delayed(key string) bool { return key != "n" && key != "?" }

// reply is the answer to a dialog.
type reply struct {
	answer setup.Answer
	text   string
	none   bool // the person does not want to answer
	absent bool // nobody has answered
}

// dialog is a question in place of the editor. One of approval, question and
// prompt is set.
type dialog struct {
	approval *setup.Approval
	question *ask.Question
	prompt   string
	secret   bool
	reply    chan reply // takes one

	ready  bool            // it takes keys
	letter tea.KeyPressMsg // a key that acts unless another follows
	since  time.Time       // of letter; zero: there is none
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
	name := k.String()
	d.note = ""
	if !d.since.IsZero() {
		if name == "enter" {
			m.act(d)
			return nil
		}
		m.keep(d)
	}
	switch ready := m.armed(d); {
	case d.typing():
		m.typeAnswer(d, k)
	case ready && m.known(d, name) && delayed(name):
		d.letter, d.since = k, time.Now()
		return tea.Tick(moment, func(time.Time) tea.Msg { return alone{d} })
	case ready && m.known(d, name):
		m.decide(d, name)
	case name == "enter" && d.approval != nil && slices.Contains([]string{"yes", "no"}, strings.ToLower(m.editor.text())):
		m.editor.set("")
		d.note = "Press one of the keys below."
	case name == "enter" && !m.editor.empty():
		cmd := m.enter()
		m.keep(d)
		return cmd
	case k.Text != "":
		m.keep(d)
		m.editor.insert(k.Text)
	case !m.editor.empty() && m.editor.edit(name):
		m.keep(d)
	case ready:
		d.note = "Press one of the keys below."
	}
	return nil
}

// keep has a question wait: what is typed is a word for the editor, whose letters are no
// answers.
func (m *model) keep(d *dialog) {
	if d == nil {
		return
	}
	if !d.since.IsZero() {
		m.editor.insert(d.letter.Text)
	}
	m.typed, d.ready, d.since = time.Now(), false, time.Time{}
}

// act carries out a key that no other has followed.
func (m *model) act(d *dialog) {
	d.since = time.Time{}
	m.decide(d, d.letter.String())
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

// known reports whether an approval has a key.
func (m *model) known(d *dialog, key string) bool {
	o := d.approval.Offer
	switch key {
	case "y", "Y", "shift+y", "n", "s", "d", "?":
		return true
	case "a":
		return o != nil
	case "p":
		return o != nil && o.Prefix != nil
	case "h":
		return o != nil && o.Host != ""
	}
	return false
}

// decide carries out a key of an approval.
func (m *model) decide(d *dialog, key string) {
	seen := d.whole || m.preview(d).Unseen == ""
	allow := func(store setup.Rule) {
		if !seen {
			d.note = "Not all of it is shown: d shows it, Y allows it unseen."
			return
		}
		m.answer(d, reply{answer: setup.Answer{Verdict: agent.Allow, Store: store}})
	}
	switch key {
	case "y":
		allow("")
	case "Y", "shift+y":
		m.answer(d, reply{answer: setup.Answer{Verdict: agent.Allow}})
	case "a":
		allow(setup.StoreCall)
	case "p":
		allow(setup.StorePrefix)
	case "h":
		allow(setup.StoreHost)
	case "n":
		d.reason = true
	case "s":
		m.answer(d, reply{answer: setup.Answer{Verdict: agent.Stop}})
	case "d":
		m.showWhole(d)
	case "?":
		d.help = !d.help
	}
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
		said := "  not answered"
		if !r.absent {
			said = decided(r.answer)
		}
		m.say(faint, said)
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
