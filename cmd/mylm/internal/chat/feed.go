package chat

import "sync"

// item is one thing that another goroutine has for the terminal's. One thing of
// it is set.
type item struct {
	answer  string   // a piece of an answer
	final   []string // rows of an answer
	open    []string // rows of it that will be replaced
	within  bool     // what comes next belongs to the same block
	answers bool     // final and open are set
	beside  []string // rows that are none of the answer
	end     bool     // the answer's line is over
	lines   string   // whole lines
	whole   bool     // lines are set, also if they are empty
	faint   bool     // of lines
	rows    []string
	draws   bool // rows are drawn in place, or none
	dialog  *dialog
	dismiss *dialog
	done    *job // has ended
	unsent  bool // of done: see Unsent
	copy    string
	clear   bool
	begun   bool // the first drawing is on the terminal
}

// feed is a queue that never blocks who writes: the terminal's goroutine takes all
// there is at once, so that a flood of small pieces costs one drawing.
type feed struct {
	mu    sync.Mutex
	items []item
	told  bool // the reader was woken, and has not taken the items yet
	wake  func()
}

// wake is the message that there are items.
type wake struct{}

func (f *feed) start(wake func()) { f.wake = wake }

func (f *feed) push(i item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.items); n > 0 && i.answer != "" && f.items[n-1].answer != "" && len(f.items[n-1].answer) < 1<<16 {
		f.items[n-1].answer += i.answer
	} else {
		f.items = append(f.items, i)
	}
	if !f.told {
		f.told = true
		go f.wake()
	}
}

func (f *feed) take() []item {
	f.mu.Lock()
	defer f.mu.Unlock()
	items := f.items
	f.items, f.told = nil, false
	return items
}
