package sink

import (
	"fmt"
	"strings"

	"mylm/agent"
	"mylm/cmd/mylm/internal/term"
)

// reply is what a terminal has shown of the model's last reply.
type reply struct {
	start     bool   // nothing yet: leading white space is left out
	space     string // white space that is shown only if something follows it
	shown     bool
	continued bool   // the next reply goes on where this one was cut
	thoughts  string // the line of thought that is not ended yet
	whole     bool   // the answer is shown at the end, since another one may replace it
	guessed   bool   // it was reported that the window is unknown
}

// begin is for what comes next as a reply of its own.
func (r *reply) begin() { r.start, r.space, r.shown = true, "", false }

// replyEvent shows what a single run does, text and thought of the model above
// all.
func (t *Terminal) replyEvent(ev agent.Event) {
	if _, ok := ev.Payload.(agent.Thought); !ok {
		t.endThought()
	}
	switch p := ev.Payload.(type) {
	case agent.TurnStart:
		if !t.reply.continued {
			t.reply.begin()
		}
		t.reply.continued = false
		t.spinner.Show("thinking")
	case agent.Waiting:
		t.spinner.Show(p.Text)
	case agent.Thought:
		t.thought(p.Text)
	case agent.TextDelta:
		t.text(p.Text)
	case agent.AnswerStart:
		if t.reply.shown {
			t.screen.EndAnswer()
		}
		t.reply.start, t.reply.space = true, ""
	case agent.Retract:
		t.retract()
	case agent.ToolCall:
		t.spinner.Hide()
		t.spinner.Show("running " + term.OneLine(p.Name, 60))
	case agent.ToolOutput, agent.FinalResponse:
		t.spinner.Hide()
	case agent.Compaction:
		t.compaction(p)
	case agent.Notice:
		switch p.Code {
		case agent.NoticeContinued:
			t.reply.continued = true
		case agent.NoticeChecking:
			t.spinner.Show(p.Text)
		case agent.NoticeLastWord: // the end of the run says why it stopped
			t.spinner.Show("summing up")
			if t.reply.shown {
				t.screen.EndAnswer()
			}
			t.reply.begin()
		case agent.NoticeNotVerified:
			t.retract()
			t.reply.whole = true
		}
	}
}

// text streams text to stdout without the white space around a reply.
func (t *Terminal) text(s string) {
	r := &t.reply
	if !t.options.Stream || r.whole {
		return
	}
	if r.start {
		if s = strings.TrimLeft(s, " \t\r\n"); s == "" {
			return
		}
		r.start = false
	}
	text := strings.TrimRight(s, " \t\r\n")
	if text == "" {
		r.space = bounded(r.space + s)
		return
	}
	t.spinner.Hide()
	r.shown = true
	t.screen.Answer(r.space + text)
	r.space = bounded(s[len(text):])
}

// bounded is white space that waits for what follows it, of which some models
// write without end: three newlines, and 200 bytes behind the last of them.
func bounded(space string) string {
	if len(space) < 200 {
		return space
	}
	last := space[strings.LastIndexByte(space, '\n')+1:]
	return strings.Repeat("\n", min(3, strings.Count(space, "\n"))) + last[:min(200, len(last))]
}

func (t *Terminal) retract() {
	if t.reply.shown {
		t.screen.EndAnswer()
		t.say("", "(the text above is withdrawn)")
	}
	t.reply.begin()
}

// thoughtLine is how much of a line of thought is kept back for its end.
const thoughtLine = 4096

func (t *Terminal) thought(s string) {
	if !t.options.Verbose || t.options.Quiet {
		return
	}
	r := &t.reply
	r.thoughts += s
	if len(r.thoughts) > thoughtLine {
		t.endThought()
		return
	}
	if i := strings.LastIndexByte(r.thoughts, '\n'); i >= 0 {
		t.showThought(r.thoughts[:i])
		r.thoughts = r.thoughts[i+1:]
	}
}

// endThought shows the line of thought that is not ended yet.
func (t *Terminal) endThought() {
	t.showThought(t.reply.thoughts)
	t.reply.thoughts = ""
}

func (t *Terminal) showThought(s string) {
	if s = strings.TrimSpace(s); s != "" {
		t.spinner.Hide()
		t.say("", "~ "+strings.ReplaceAll(s, "\n", "\n~ "))
	}
}

// compaction reports that the model sees less of the session from now on.
func (t *Terminal) compaction(c agent.Compaction) {
	what := "long tool output is shortened"
	if c.Dropped > 0 {
		what = term.Plural(c.Dropped, "earlier message") + " omitted"
		if c.Summarized {
			what = term.Plural(c.Dropped, "earlier message") + " summarized"
		}
	}
	t.say("", fmt.Sprintf("context: %s (about %d tokens, now %d)", what, c.Before, c.After))
	if c.Guessed && !c.Summarized && !t.reply.guessed {
		t.reply.guessed = true
		t.say("", fmt.Sprintf("  The model's context window is unknown; assuming %d tokens. Set context in its [models.NAME] entry, or --max-context-tokens.", c.Window))
	}
}
