package chat

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
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
// editor once that is empty, and with it what was to follow it.
func (m *model) endJob(j *job, unsent bool) {
	if m.job != j {
		return
	}
	m.endAnswer()
	m.job, m.drawn, m.shownStatus = nil, nil, m.chat.o.Status()
	if unsent && j.text != "" && !j.canceled {
		m.queue, m.review = append([]string{j.text}, m.queue...), true
	}
}

// interrupt cancels the job. What was typed ahead was meant to follow an answer: it
// goes back into the editor.
func (m *model) interrupt() {
	if m.job == nil || m.job.canceled {
		return
	}
	m.job.canceled = true
	m.job.cancel()
	if m.review = len(m.queue) > 0; m.review && !m.editor.empty() {
		m.queue = append(m.queue, m.editor.text())
		m.editor.set("")
	}
}

// next takes what was typed ahead: it is sent once nothing runs, or comes back into an
// editor that is empty.
func (m *model) next() tea.Cmd {
	switch m.review = m.review && len(m.queue) > 0; {
	case len(m.queue) == 0:
	case m.review && m.editor.empty():
		m.editor.set(m.queue[0])
		m.queue = m.queue[1:]
	case !m.review && m.job == nil && len(m.dialogs) == 0 && !m.away:
		text := m.queue[0]
		m.queue = m.queue[1:]
		return m.submit(text)
	}
	return nil
}
