package sink

import (
	"errors"
	"strings"
	"unicode"

	"mylm/agent"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/markdown"
	"mylm/cmd/mylm/internal/term"
)

// text streams text to stdout without the white space around a reply.
func (t *Terminal) text(s string) {
	r := &t.reply
	if r.start {
		if s = strings.TrimLeft(s, " \t\r\n"); s == "" {
			return
		}
		r.start = false
		t.said.Reset()
	}
	text := strings.TrimRight(s, " \t\r\n")
	if text == "" {
		r.space = bounded(r.space + s)
		return
	}
	t.spinner.Hide()
	r.shown = true
	t.said.WriteString(r.space + text)
	t.show(r.space + text)
	r.space = bounded(s[len(text):])
}

// proseWidth is the most columns of a row: longer ones are hard to read.
const proseWidth = 120

// show adds to the text on stdout. The last column stays empty: a terminal would
// go on to the next row.
func (t *Terminal) show(text string) {
	if t.format == nil {
		t.screen.Piece(text)
		return
	}
	columns, _ := t.screen.Size()
	if t.format.Width = min(columns-1, proseWidth); t.stream == nil {
		t.stream = markdown.New(*t.format)
	}
	t.stream.Resize(t.format.Width)
	final := t.stream.Write(text)
	t.screen.Rows(final, t.stream.Open(), t.stream.Within())
}

// Lines has an answer in a pipe printed by line as it comes, where its text is known to
// be the answer: in a run without tools, once the model has thought; from the beginning
// on if it never thinks. It is called before the first event.
func (t *Terminal) Lines(neverThinks bool) {
	if t.options.Answer && !t.options.Value && !t.options.Plan && !t.screen.OutTTY {
		t.lines = &lines{certain: neverThinks, neverThinks: neverThinks}
	}
}

// errWithdrawn is why an answer is not on stdout whose beginning is not what was printed.
var errWithdrawn = errors.New("the model began anew when lines of an earlier reply had been printed (--no-stream waits for the end)")

// lines prints the lines of an answer, each once.
type lines struct {
	neverThinks, certain bool
	continued            bool            // the next reply continues this one
	text                 strings.Builder // of the reply, what is not printed
	begun                bool            // the reply, with something to read
	printed              strings.Builder
	again                string // of that, what a reply that was begun anew has to repeat
}

// event returns what an event allows to be printed.
func (l *lines) event(p agent.Payload) string {
	switch p := p.(type) {
	case agent.TurnStart:
		if !l.continued {
			l.begin()
		}
		l.continued = false
	case agent.Notice:
		l.continued = l.continued || p.Code == agent.NoticeContinued
	case agent.Thought:
		l.certain = true
	case agent.Retract, agent.AnswerStart:
		l.begin()
	case agent.TextDelta:
		return l.add(p.Text)
	}
	return ""
}

func (l *lines) begin() {
	l.certain, l.begun, l.again = l.neverThinks, false, l.printed.String()
	l.text.Reset()
}

// add returns the lines that have ended. White space waits for what follows it: an answer
// ends in none.
func (l *lines) add(s string) string {
	if !l.begun {
		if s = strings.TrimLeftFunc(s, unicode.IsSpace); s == "" {
			return ""
		}
		l.begun = true
	}
	l.text.WriteString(s)
	if !l.certain || !strings.Contains(s, "\n") {
		return ""
	}
	text := l.text.String()
	n := min(len(l.again), len(text))
	if text[:n] != l.again[:n] {
		return ""
	}
	l.again, text = l.again[n:], text[n:]
	end := strings.LastIndexByte(text, '\n') + 1
	if strings.TrimSpace(text[end:]) == "" {
		end = len(strings.TrimRightFunc(text, unicode.IsSpace))
		if end > 0 && strings.HasPrefix(text[end:], "\n") {
			end++
		} else {
			end = strings.LastIndexByte(text[:end], '\n') + 1
		}
	}
	l.text.Reset()
	l.text.WriteString(text[end:])
	l.printed.WriteString(text[:end])
	return text[:end]
}

// blocked reports what the sandbox refused a command that may have ignored it, so that
// its output may be wrong. Quiet is no reason to keep it back.
func (t *Terminal) blocked(task string, o agent.ToolOutput) {
	var all []string
	for _, r := range o.Blocked {
		all = append(all, r.String())
	}
	text := "the sandbox refused: " + term.OneLine(term.Visible(strings.Join(all, "; ")), 300) + "; to allow it, " + failure.Permits(o.Blocked, false)
	if t.options.Quiet {
		t.screen.Say("mylm: " + text)
		return
	}
	t.say(task, text)
}
