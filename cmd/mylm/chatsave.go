package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"mylm/agent"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/sink"
	"mylm/cmd/mylm/internal/term"
	"mylm/protocol"
)

// save writes the conversation into a new file, as Markdown.
func (t *talk) save(ctx context.Context, name string) error {
	if name == "" {
		return failure.Usage("/save needs the name of a file").WithHint("/save notes.md")
	}
	if t.from == nil {
		return failure.Usage("nothing was said yet")
	}
	f, err := os.OpenFile(t.path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return failure.Usage("/save: %w", err).WithHint("It has to be a new file, in a directory that exists.")
	}
	_, err = f.WriteString(transcript(t.from.session.Joined()))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return failure.Usage("/save: %w", err)
	}
	t.screen.Dim("saved in " + term.Printable(f.Name()))
	return nil
}

// transcript is a conversation as Markdown: what was said, and the calls between, without
// what they returned.
func transcript(entries []agent.Entry) string {
	var b strings.Builder
	head, shown := "", ""
	say := func(who, text string) {
		if text = strings.TrimSpace(text); text == "" {
			return
		}
		if head != who {
			fmt.Fprintf(&b, "## %s\n\n", who)
		}
		head = who
		b.WriteString(text + "\n\n")
	}
	for _, e := range entries {
		switch p := e.Payload.(type) {
		case agent.PromptEntry:
			head = ""
			say("user", p.Text)
		case agent.ReplyEntry:
			say("assistant", cmp.Or(p.Answer, prose(p.Text)))
		case agent.CallEntry:
			shown = p.ID
			say("assistant", fenced(sink.CallLine(p.Name, p.Args)))
		case agent.ResultEntry:
			switch {
			case p.Denied:
				if p.ID != shown { // it did not begin
					say("assistant", fenced(sink.CallLine(p.Name, p.Args)))
				}
				say("assistant", "*(denied)*")
			case !p.Success && !p.Skipped:
				say("assistant", "*(failed)*")
			}
		}
	}
	return b.String()
}

// fenced is a text as a block of code, whatever is in it.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}

// prose is a reply without its call.
func prose(reply string) string {
	d := protocol.NewDecoder(protocol.Options{})
	text := ""
	for _, p := range append(d.Push(reply), d.Close(protocol.End)...) {
		if p.Kind == protocol.Text {
			text += p.Text
		}
	}
	return text
}
