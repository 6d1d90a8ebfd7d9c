package term

import (
	"fmt"
	"sync"
	"time"
)

// Spinner animates a label in place on stderr. On a still screen it shows nothing.
type Spinner struct {
	screen *Screen
	mu     sync.Mutex
	rows   func(wheel string, since time.Duration) []string
	stop   chan struct{} // closed to end the drawing; nil while hidden
	done   chan struct{}
}

// NewSpinner is a hidden spinner on s.
func NewSpinner(s *Screen) *Spinner { return &Spinner{screen: s} }

// Show draws the spinner with a label, or changes its label.
func (sp *Spinner) Show(label string) { sp.Follow(func() string { return label }) }

// Follow draws the spinner with a label that changes. label may be called at any
// time until the spinner is hidden.
func (sp *Spinner) Follow(label func() string) {
	sp.Draw(func(wheel string, since time.Duration) []string {
		line := wheel + " " + OneLine(label(), 60)
		if since >= time.Second {
			line += fmt.Sprintf(" %ds", int(since.Seconds()))
		}
		return []string{line}
	})
}

// Draw draws rows, ten times a second until the spinner is hidden. wheel is the
// character that turns, since the time since the spinner was shown.
func (sp *Spinner) Draw(rows func(wheel string, since time.Duration) []string) {
	if sp.screen.Still {
		return
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.rows = rows
	if sp.stop == nil {
		sp.stop, sp.done = make(chan struct{}), make(chan struct{})
		go sp.run(sp.stop, sp.done)
	}
}

// Hide ends the drawing, and waits for its end.
func (sp *Spinner) Hide() {
	sp.mu.Lock()
	stop, done := sp.stop, sp.done
	sp.stop = nil
	sp.mu.Unlock()
	if stop != nil {
		close(stop)
		<-done
		sp.screen.Erase()
	}
}

func (sp *Spinner) run(stop, done chan struct{}) {
	defer close(done)
	wheel := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	if plain() {
		wheel = []rune(`|/-\`)
	}
	start := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		sp.mu.Lock()
		rows := sp.rows
		sp.mu.Unlock()
		sp.screen.drawRows(rows(string(wheel[i%len(wheel)]), time.Since(start)))
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// Busy shows a spinner until done is called.
func (s *Screen) Busy(label string) (done func()) {
	sp := NewSpinner(s)
	sp.Show(label)
	return sp.Hide
}
