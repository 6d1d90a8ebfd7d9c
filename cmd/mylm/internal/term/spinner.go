package term

import (
	"fmt"
	"sync"
	"time"
)

// Spinner shows that something is going on, on the current line of stderr.
type Spinner struct {
	screen *Screen
	mu     sync.Mutex
	stop   chan struct{} // closed to end the drawing; nil while hidden
	done   chan struct{}
	label  string
}

// NewSpinner is a hidden spinner on s.
func NewSpinner(s *Screen) *Spinner { return &Spinner{screen: s} }

// Show draws the spinner with a label, or changes its label.
func (sp *Spinner) Show(label string) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.label = label
	if sp.stop != nil {
		return
	}
	sp.stop, sp.done = make(chan struct{}), make(chan struct{})
	go sp.run(sp.stop, sp.done)
}

// Hide ends the drawing.
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
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	start := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		sp.mu.Lock()
		label := sp.label
		sp.mu.Unlock()
		line := fmt.Sprintf("%c %s", frames[i%len(frames)], OneLine(label, 60))
		if d := time.Since(start); d >= time.Second {
			line += fmt.Sprintf(" %ds", int(d.Seconds()))
		}
		sp.screen.draw(line)
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}
