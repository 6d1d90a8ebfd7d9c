package sink

import (
	"io"
	"os"
	"os/signal"
	"syscall"

	"mylm/agent"
	"mylm/cmd/mylm/internal/term"
)

// Lines prints every event as it comes, as a line of JSON. A line about the
// session comes first, and one about the failure last, if there is one.
type Lines struct {
	out    io.Writer
	broken chan os.Signal
}

// NewLines is a sink that writes to out.
func NewLines(out io.Writer) *Lines { return &Lines{out: out} }

// Open implements Sink. From here on a reader that goes away is an error of the
// next line. The signal would end the process, and with it the care for what it
// began.
func (l *Lines) Open(r Run) error {
	l.broken = make(chan os.Signal, 1)
	signal.Notify(l.broken, syscall.SIGPIPE)
	return term.PrintJSONLine(l.out, struct {
		Type    string `json:"type"`
		Session string `json:"session"`
		Model   string `json:"model"`
		Saved   bool   `json:"saved"`
	}{"session", r.Session, r.Model, r.Saved})
}

// Event implements Sink.
func (l *Lines) Event(ev agent.Event) error { return term.PrintJSONLine(l.out, ev) }

// Close implements Sink.
func (l *Lines) Close(o Outcome) error {
	if o.Failure == nil {
		return nil
	}
	return term.PrintJSONLine(l.out, struct {
		Type  string `json:"type"`
		Error *Error `json:"error"`
	}{"failure", NewError(o.Failure)})
}
