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

// start runs f in a goroutine.
func (m *model) start(f func(context.Context) error) {
	ctx, cancel := context.WithCancel(m.ctx)
	j := &job{cancel: cancel}
	m.job = j
	m.chat.jobs.Go(func() {
		defer cancel()
		defer m.chat.recover()
		m.chat.report(f(ctx))
		m.chat.feed.push(item{done: j})
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

// endJob makes room for the next message.
func (m *model) endJob(j *job) {
	if m.job != j {
		return
	}
	m.endAnswer()
	m.job, m.drawn, m.shownStatus = nil, nil, m.chat.o.Status()
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
