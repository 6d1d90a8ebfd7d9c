package sink

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/markdown"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/shell"
)

// Options set what the terminal shows.
type Options struct {
	Quiet   bool // only the answer
	Verbose bool // thought, and the output of tools
	Answer  bool // the answer goes to stdout
	Value   bool // the answer is one JSON value: no other text goes to stdout
	Stream  bool // as it comes, if stdout is a terminal
	Stats   *Meter
	Plan    bool // a plan is made
}

// Terminal shows a run on a terminal as it goes: calls and notices as lines on
// stderr, the answer on stdout. Below the lines moves a spinner, or the tree of
// a plan. It may be used by several goroutines at once, and gets out of the way
// of questions.
type Terminal struct {
	screen  *term.Screen
	options Options
	spinner *term.Spinner

	mu     sync.Mutex
	format *markdown.Options // nil: text is shown as it is written
	stream *markdown.Stream  // of the text that is being shown
	said   strings.Builder   // the last text that was shown as it came
	lines  *lines            // nil: in a pipe the answer is printed at the end
	reply  reply
	tree   *tree    // nil: there is no plan, or it has not started
	paused bool     // a question is shown
	held   []string // lines to print after the question
}

// NewTerminal is a sink that writes to a screen.
func NewTerminal(s *term.Screen, o Options) *Terminal {
	o.Stream = o.Stream && o.Answer && s.OutTTY && !o.Quiet && !o.Plan
	return &Terminal{screen: s, options: o, spinner: term.NewSpinner(s), reply: reply{start: true}}
}

// Format has the answer shown as Markdown, on a screen that draws. It is called
// before the first event.
func (t *Terminal) Format(o markdown.Options) { t.format = &o }

// Open implements Sink.
func (t *Terminal) Open(r Run) error {
	switch {
	case r.Goal != "":
		t.tree = newTree(r.Goal)
		t.draw()
	case t.options.Plan:
		t.spinner.Show("planning")
	}
	return nil
}

// draw has the tree drawn until the spinner is hidden.
func (t *Terminal) draw() {
	t.spinner.Draw(func(wheel string, _ time.Duration) []string {
		t.mu.Lock()
		defer t.mu.Unlock()
		_, height := t.screen.Size()
		return t.tree.live(wheel, height)
	})
}

// Pause implements term.Pauser.
func (t *Terminal) Pause() {
	t.spinner.Hide()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endText()
	t.paused = true
}

// Resume implements term.Pauser. A spinner is shown again by the next event.
func (t *Terminal) Resume() {
	t.mu.Lock()
	t.paused = false
	for _, l := range t.held {
		t.screen.Dim(l)
	}
	t.held = nil
	t.mu.Unlock()
	if t.tree != nil {
		t.draw()
	}
}

// Close implements Sink: the tree is unchanged, and the rest of the answer is printed.
func (t *Terminal) Close(o Outcome) error {
	t.spinner.Hide()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tree != nil && !t.screen.Still && len(t.tree.tasks) > 0 {
		t.screen.Dim(strings.Join(t.tree.rows(len(t.tree.tasks)), "\n"))
	}
	if o.Result == nil {
		return nil
	}
	if t.options.Stream && (t.reply.shown || t.said.String() == o.Answer()) {
		t.endText()
	} else if text := o.Answer(); text != "" && t.options.Answer {
		if t.lines != nil {
			rest, ok := strings.CutPrefix(text+"\n", t.lines.printed.String())
			if !ok {
				return errWithdrawn
			}
			t.screen.Answer(rest)
		} else if t.options.Value && o.Result.StopReason != agent.StopComplete {
			t.screen.Say(term.Visible(text))
		} else if t.format == nil {
			t.screen.Answer(text + "\n")
		} else {
			t.show(text)
			t.endText()
		}
	}
	if t.options.Stats != nil {
		t.screen.Dim(t.options.Stats.text(*o.Result))
	}
	return nil // the screen knows whether that worked
}

// Event implements Sink.
func (t *Terminal) Event(ev agent.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	task := label(ev.Task)
	if t.tree != nil {
		t.planEvent(ev)
	} else {
		t.replyEvent(ev)
	}
	switch p := ev.Payload.(type) {
	case agent.ToolCall:
		t.line(task, CallLine(p.Name, p.Args))
		if t.options.Verbose && len(p.Repairs) > 0 {
			t.line(task, "  repaired: "+strings.Join(p.Repairs, ", "))
		}
	case agent.ToolOutput:
		t.output(task, p)
	case agent.Retry:
		when := "now"
		if wait := p.Wait.Round(10 * time.Millisecond); wait > 0 {
			when = "in " + wait.String()
		}
		t.say(task, fmt.Sprintf("retry %d %s: %s", p.Attempt, when, term.OneLine(p.Reason, 200)))
	case agent.Error:
		if p.Source == "format" {
			t.say(task, unusable(p))
		}
	case agent.Notice:
		t.notice(ev.Task, p)
	}
	return nil
}

// unusable describes a reply that could not be read.
func unusable(e agent.Error) string {
	text := "unusable reply"
	if e.Again {
		text += ", retrying"
	}
	return text + ": " + term.OneLine(e.Message, 200)
}

// notice shows what a person should know. Of a task's own notices, a plan shows
// those that are about the plan.
func (t *Terminal) notice(task string, n agent.Notice) {
	switch {
	case !t.options.Plan && t.tree == nil:
		if n.Code != agent.NoticeContinued && n.Code != agent.NoticeChecking && n.Code != agent.NoticeLastWord {
			t.say("", n.Text)
		}
	case task == "" || n.Code == plan.NoticeUnreadable:
		t.say("", "plan: "+term.OneLine(term.Visible(n.Text), 300))
	}
}

func (t *Terminal) output(task string, p agent.ToolOutput) {
	switch {
	case p.DryRun:
		t.say(task, "dry run, not run: "+CallLine(p.Name, p.Args))
	case p.Skipped:
		t.line(task, "repeated, not run: "+CallLine(p.Name, p.Args))
	case !p.Success && !p.Denied:
		t.line(task, "  "+term.OneLine(p.Name, 60)+": "+term.OneLine(p.Error, 200))
		if p.Name == shell.Name && !t.options.Verbose && p.Output != "" {
			t.line(task, ending(p.Output))
		}
	}
	if p.Blocked != nil {
		t.blocked(task, p)
	}
	if t.options.Verbose && !p.Skipped && p.Output != "" {
		t.say(task, "  "+strings.ReplaceAll(strings.TrimRight(p.Output, "\n"), "\n", "\n  "))
	}
}

// say prints lines, each with the name of the task they are about. While a
// question is shown they wait.
func (t *Terminal) say(task, text string) {
	if task != "" {
		text = task + "  " + strings.ReplaceAll(text, "\n", "\n"+task+"  ")
	}
	switch {
	case t.options.Quiet:
	case t.paused:
		t.held = append(t.held, text)
	default:
		t.screen.Dim(t.screen.Folded(text, 2))
	}
}

// line prints what a tree would show, if no tree is drawn.
func (t *Terminal) line(task, text string) {
	if t.tree == nil || t.screen.Still {
		t.say(task, text)
	}
}

// label is the id of a task as it begins a line.
func label(task string) string { return term.OneLine(term.Visible(task), 30) }

// reply is the state of the model's last reply on the terminal.
type reply struct {
	start     bool   // nothing is shown yet: leading white space is dropped
	space     string // white space that is shown only if something follows it
	shown     bool
	continued bool   // the next reply continues this one, which was cut
	thoughts  string // the unfinished line of thought
	whole     bool   // the answer is shown at the end, since another one may replace it
	guessed   bool   // it was reported that the window is unknown
}

// begin starts a new reply.
func (r *reply) begin() { r.start, r.space, r.shown = true, "", false }

// replyEvent shows an event of a run without a plan.
func (t *Terminal) replyEvent(ev agent.Event) {
	if t.lines != nil {
		if text := t.lines.event(ev.Payload); text != "" {
			t.spinner.Hide()
			t.screen.Answer(text)
		}
	}
	if _, ok := ev.Payload.(agent.Thought); !ok {
		t.endThought()
	}
	switch p := ev.Payload.(type) {
	case agent.TurnStart:
		if !t.reply.continued {
			t.endText()
			t.reply.begin()
		}
		t.reply.continued = false
		t.spinner.Show("waiting for the model")
	case agent.Retry:
		t.spinner.Show("waiting for the model")
	case agent.Waiting:
		t.spinner.Show(p.Text)
	case agent.Thought:
		t.thought(p.Text)
	case agent.TextDelta:
		if t.options.Stream && !t.reply.whole {
			t.text(p.Text)
		} else if t.lines == nil || t.lines.printed.Len() == 0 {
			t.spinner.Show("writing")
		}
	case agent.AnswerStart:
		t.endText()
		t.reply.start, t.reply.space = true, ""
	case agent.Retract:
		t.retract()
	case agent.ToolCall:
		t.endText()
		t.spinner.Hide()
		t.spinner.Show("running " + what(p.Name, p.Args))
	case agent.ToolOutput, agent.FinalResponse:
		t.endText()
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
			t.endText()
			t.reply.begin()
		case agent.NoticeNotVerified:
			t.retract()
			t.reply.whole = true
		}
	}
}

func (t *Terminal) retract() {
	t.endText()
	t.said.Reset()
	if t.reply.shown {
		t.say("", "(the text above is withdrawn)")
	}
	t.reply.begin()
}

// thoughtLine is how much of a line of thought is kept back for its end.
const thoughtLine = 4096

func (t *Terminal) thought(s string) {
	r := &t.reply
	if !t.options.Verbose || t.options.Quiet {
		if !r.shown {
			t.spinner.Show("thinking")
		}
		return
	}
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

// compaction prints the line "context:": the model sees less of the session from now on.
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

// endText ends the text on stdout: nothing of it changes any more.
func (t *Terminal) endText() {
	if t.stream != nil {
		t.screen.Rows(t.stream.Close(), "", false)
		t.stream = nil
	} else if t.screen.OutTTY {
		t.screen.EndAnswer()
	}
}

// bounded is white space that waits for what follows it, of which some models
// write without end: three newlines, and 200 bytes after the last of them.
func bounded(space string) string {
	if len(space) < 200 {
		return space
	}
	last := space[strings.LastIndexByte(space, '\n')+1:]
	return strings.Repeat("\n", min(3, strings.Count(space, "\n"))) + last[:min(200, len(last))]
}
