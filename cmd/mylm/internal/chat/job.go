package chat

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"mylm/cmd/mylm/internal/failure"
)

// job is a message that is answered, or a command that runs.
type job struct {
	text     string // the message; "" for a command
	cancel   context.CancelFunc
	canceled bool
	first    time.Time
	pieces   int
}

// wrote counts a piece of the answer.
func (j *job) wrote() {
	if j == nil {
		return
	}
	if j.pieces == 0 {
		j.first = time.Now()
	}
	j.pieces++
}

// Unsent is the error of a message that no model was asked: the person gets it back.
type Unsent struct{ Err error }

// Error implements error.
func (u *Unsent) Error() string { return u.Err.Error() }

// Unwrap gives errors.Is and errors.As the cause.
func (u *Unsent) Unwrap() error { return u.Err }

// start runs f in a goroutine.
func (m *model) start(f func(context.Context) error) { m.begin("", f) }

// ask sends a message.
func (m *model) ask(text string) {
	m.begin(text, func(ctx context.Context) error { return m.chat.o.Send(ctx, text) })
}

func (m *model) begin(text string, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(m.ctx)
	j := &job{text: text, cancel: cancel}
	m.job = j
	m.chat.jobs.Go(func() {
		defer cancel()
		defer m.chat.recover()
		err := f(ctx)
		m.chat.report(err)
		var unsent *Unsent
		m.chat.feed.push(item{done: j, unsent: errors.As(err, &unsent)})
	})
}

// report shows an error that was not shown yet.
func (c *Chat) report(err error) {
	if err != nil && !errors.Is(err, failure.ErrReported) {
		c.o.Screen.Report(failure.Of(err))
	}
}

// recover ends the conversation if a job panics; Run panics in its place.
func (c *Chat) recover() {
	if p := recover(); p != nil {
		c.crash = fmt.Sprintf("%v\n%s", p, debug.Stack())
		c.end()
	}
}

// endJob makes room for the next message. One that was not sent goes back into the
// editor if that is empty.
func (m *model) endJob(j *job, unsent bool) {
	if m.job != j {
		return
	}
	m.endAnswer()
	m.job, m.drawn, m.shownStatus = nil, nil, m.chat.o.Status()
	if !unsent || j.text == "" || j.canceled {
		return
	}
	if m.editor.empty() {
		m.editor.set(j.text)
	} else {
		m.queue = slices.Insert(m.queue, 0, j.text)
	}
	m.drop()
}

// interrupt cancels the job. What was typed ahead was meant to follow its answer.
func (m *model) interrupt() {
	m.job.canceled = true
	m.job.cancel()
	m.drop()
}

// drop forgets what was typed ahead. It becomes the last of the history: commands that
// acted at once may have come after it.
func (m *model) drop() {
	for _, text := range m.queue {
		m.history.add(text)
	}
	switch n := len(m.queue); n {
	case 0:
	case 1:
		m.say(faint, "1 message was not sent; Up brings it back.")
	default:
		m.say(faint, fmt.Sprintf("%d messages were not sent; Up brings them back.", n))
	}
	m.queue = nil
}

// next sends what was typed ahead, once nothing runs.
func (m *model) next() tea.Cmd {
	if len(m.queue) == 0 || m.job != nil || len(m.dialogs) > 0 || m.away {
		return nil
	}
	text := m.queue[0]
	m.queue = m.queue[1:]
	return m.submit(text)
}
