package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"mylm/agent"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/shell"
)

// view shows a run on the terminal as it goes.
type view struct {
	screen  *term.Screen
	quiet   bool
	verbose bool
	stream  bool // the answer goes to stdout as it comes

	spinner   *term.Spinner
	start     bool   // nothing of this reply was shown yet: leading white space is left out
	space     string // white space that is shown only if something follows it
	thoughts  string // the line of thought that is not ended yet
	streamed  bool   // text of the last reply was shown
	continued bool   // the next reply goes on where this one was cut
	guessed   bool   // it was said that nobody tells the window
}

func newView(s *term.Screen, quiet, verbose, stream bool) *view {
	v := &view{screen: s, quiet: quiet, verbose: verbose, stream: stream && s.OutTTY && !quiet, start: true}
	if !s.Still {
		v.spinner = term.NewSpinner(s)
	}
	return v
}

// event shows one event.
func (v *view) event(ev agent.Event) {
	if _, ok := ev.Payload.(agent.Thought); !ok {
		v.endThought()
	}
	switch p := ev.Payload.(type) {
	case agent.TurnStart:
		if !v.continued {
			v.start, v.space, v.streamed = true, "", false
		}
		v.continued = false
		v.spin("thinking")
	case agent.Waiting:
		v.spin(p.Text)
	case agent.Thought:
		v.thought(p.Text)
	case agent.TextDelta:
		v.text(p.Text)
	case agent.AnswerStart:
		if v.streamed {
			v.screen.EndAnswer()
		}
		v.start, v.space = true, ""
	case agent.Retract:
		v.retract()
	case agent.Retry:
		v.say(fmt.Sprintf("retry %d in %v: %s", p.Attempt, p.Wait.Round(100*time.Millisecond), p.Reason))
	case agent.ToolCall:
		v.call(p)
	case agent.ToolOutput:
		v.output(p)
	case agent.Error:
		if p.Source == "format" {
			v.say(unusable(p))
		}
	case agent.Notice:
		v.notice(p)
	case agent.Compaction:
		v.compaction(p)
	case agent.FinalResponse:
		v.idle()
	}
}

// unusable says that a reply could not be read.
func unusable(e agent.Error) string {
	text := "the reply cannot be used"
	if e.Again {
		text += ", asking again"
	}
	return text + ": " + term.OneLine(e.Message, 200)
}

func (v *view) spin(label string) {
	if v.spinner != nil {
		v.spinner.Show(label)
	}
}

// idle ends the spinner.
func (v *view) idle() {
	if v.spinner != nil {
		v.spinner.Hide()
	}
}

// Pause gets out of the way of a question.
func (v *view) Pause() { v.idle() }

// Resume does nothing: the next event shows itself.
func (v *view) Resume() {}

func (v *view) say(text string) {
	if !v.quiet {
		v.screen.Dim(text)
	}
}

// text streams text to the terminal without the white space around a reply.
func (v *view) text(s string) {
	if !v.stream {
		return
	}
	if v.start {
		if s = strings.TrimLeft(s, " \t\r\n"); s == "" {
			return
		}
		v.start = false
	}
	kept := strings.TrimRight(s, " \t\r\n")
	if kept == "" {
		v.space = held(v.space + s)
		return
	}
	v.idle()
	v.streamed = true
	v.screen.Answer(v.space + kept)
	v.space = held(s[len(kept):])
}

// held bounds white space that waits for what follows it, of which some models
// write without end: three newlines, and 200 bytes behind the last of them.
func held(space string) string {
	if len(space) < 200 {
		return space
	}
	last := space[strings.LastIndexByte(space, '\n')+1:]
	return strings.Repeat("\n", min(3, strings.Count(space, "\n"))) + last[:min(200, len(last))]
}

// thoughtLine is how much of a line of thought is kept back for its end.
const thoughtLine = 4096

func (v *view) thought(s string) {
	if !v.verbose || v.quiet {
		return
	}
	v.thoughts += s
	if len(v.thoughts) > thoughtLine {
		v.endThought()
		return
	}
	if i := strings.LastIndexByte(v.thoughts, '\n'); i >= 0 {
		v.showThought(v.thoughts[:i])
		v.thoughts = v.thoughts[i+1:]
	}
}

// endThought shows the line of thought that is not ended yet.
func (v *view) endThought() {
	v.showThought(v.thoughts)
	v.thoughts = ""
}

func (v *view) showThought(s string) {
	if s = strings.TrimSpace(s); s != "" {
		v.idle()
		v.screen.Dim("~ " + strings.ReplaceAll(s, "\n", "\n~ "))
	}
}

func (v *view) retract() {
	if v.streamed {
		v.screen.EndAnswer()
		v.say("(the text above is taken back)")
	}
	v.start, v.space, v.streamed = true, "", false
}

func (v *view) call(p agent.ToolCall) {
	v.idle()
	v.say(callLine(p.Name, p.Args))
	if v.verbose && len(p.Repairs) > 0 {
		v.say("  mended: " + strings.Join(p.Repairs, ", "))
	}
	v.spin("running " + term.OneLine(p.Name, 60))
}

// commandLines is how much of a command is shown while it runs.
const commandLines = 5

// callLine is a call in a line or few: a command as in a shell, another tool by
// name.
func callLine(name string, args json.RawMessage) string {
	if name == shell.Name {
		var in struct{ Command string }
		if json.Unmarshal(args, &in) == nil && in.Command != "" {
			lines := strings.Split(strings.TrimSpace(in.Command), "\n")
			more := len(lines) - commandLines
			if more > 1 {
				lines = lines[:commandLines]
			}
			for i, l := range lines {
				lines[i] = term.Shorten(l, 200)
			}
			if more > 1 {
				lines = append(lines, fmt.Sprintf("… %d more lines", more))
			}
			return "$ " + strings.Join(lines, "\n  ")
		}
	}
	return "> " + term.OneLine(name, 60) + " " + term.OneLine(string(args), 200)
}

func (v *view) output(p agent.ToolOutput) {
	v.idle()
	switch {
	case p.DryRun:
		v.say("dry run, not run: " + callLine(p.Name, p.Args))
	case p.Skipped:
		v.say("repeated, not run: " + callLine(p.Name, p.Args))
	case !p.Success && !p.Denied:
		v.say("  " + term.OneLine(p.Name, 60) + ": " + term.OneLine(p.Error, 200))
	}
	if v.verbose && !p.Skipped && p.Output != "" {
		v.say("  " + strings.ReplaceAll(strings.TrimRight(p.Output, "\n"), "\n", "\n  "))
	}
}
