package tools

import (
	"context"
	"sync"
	"time"
)

// Alarm calls a function once the process has run for a given time. Time in
// which the process was suspended (Ctrl-Z, SIGSTOP, a laptop's lid) does not
// count: the other side was not slow then, and what arrived meanwhile is
// waiting to be read.
type Alarm struct {
	f func()

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	left    time.Duration
	tick    time.Duration // until the timer fires
	since   time.Time     // when it was set
}

const (
	longestTick = time.Second
	// slack is how late a timer may fire in a process that runs. A later one fires
	// in a process that was stopped.
	slack = 500 * time.Millisecond
	// afterPause is the least that is left after a pause, to take what is there.
	afterPause = time.Second
)

// NewAlarm returns an alarm that calls f in a goroutine of its own after d.
func NewAlarm(d time.Duration, f func()) *Alarm {
	a := &Alarm{f: f}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(time.Hour, a.fire)
	a.set(d)
	return a
}

// Reset sets the alarm anew, whether it is stopped or not.
func (a *Alarm) Reset(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = false
	a.set(d)
}

// Stop stops the alarm and returns the time that is left.
func (a *Alarm) Stop() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.stopped {
		a.count()
		a.stopped = true
		a.timer.Stop()
	}
	return max(0, a.left)
}

func (a *Alarm) set(d time.Duration) {
	a.left, a.tick, a.since = d, min(d, longestTick), time.Now()
	a.timer.Reset(a.tick)
}

// count takes the time since the last tick off what is left, but for time in which the
// process was suspended.
func (a *Alarm) count() {
	ran := time.Since(a.since)
	if ran > a.tick+slack {
		a.left = max(a.left, afterPause)
		return
	}
	a.left -= ran
}

func (a *Alarm) fire() {
	a.mu.Lock()
	if a.stopped {
		a.mu.Unlock()
		return
	}
	if a.count(); a.left > 0 {
		a.set(a.left)
		a.mu.Unlock()
		return
	}
	a.stopped = true
	a.mu.Unlock()
	a.f()
}

// WithTimeout is context.WithTimeoutCause by the clock of an Alarm. The context has
// no deadline, and its error is context.Canceled.
func WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	a := NewAlarm(d, func() { cancel(cause) })
	return ctx, func() {
		a.Stop()
		cancel(nil)
	}
}
