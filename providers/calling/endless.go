package calling

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mylm/providers"
	"mylm/tools"
)

// MaxReply bounds one reply in bytes where nothing else does, so that a backend that
// never stops does not fill the memory. It is twice what a call may hold.
const MaxReply = 32 << 20

const (
	longToken = 8 // bytes of a token that is longer than most
	meanToken = 6 // and of one that is longer than a text's are on average
)

// ExceedsLimit reports whether a reply that came in so many pieces, and has so many bytes,
// surely has more than n tokens, though the backend was given that limit. Some backends
// send a character at once.
func ExceedsLimit(pieces, bytes, n int) bool {
	return max(min(pieces, bytes/meanToken), bytes/longToken/2) > n
}

// ExceedsWindow is the same for a context window of n tokens. It is not sure of a backend that
// sends less than a token at once, of which a window has many.
func ExceedsWindow(pieces, bytes, n int) bool { return max(pieces, bytes/longToken) > n }

// limiter stops a reply that does not end.
type limiter struct {
	maxTokens     int        // 0: the window holds no more
	window        func() int // in tokens; 0: unknown
	pieces, bytes int
	repetition    Repetition
	lenient       bool  // any text may be wanted, a table of zeros too
	met           limit // what stops it if it goes on
}

type limit uint8

const (
	within  limit = iota
	tooLong       // it has all the tokens that it may
	repeats       // it does nothing but repeat itself
)

var errRepeats = errors.New("it repeats itself and does not end")

// longReply is how many tokens a reply has before the window is looked up.
const longReply = 1024

// take counts a piece of the reply. inCall is how many bytes of its end are in a call.
func (l *limiter) take(piece string, inCall int) {
	if piece == "" {
		return
	}
	l.pieces++
	l.bytes += len(piece)
	l.repetition.Add(piece)
	most := MaxRepetition
	if l.lenient {
		most *= 10
	}
	switch {
	case l.repetition.Tokens >= most && l.repetition.Bytes > inCall:
		l.met = repeats
	case l.bytes > MaxReply, l.maxTokens > 0 && ExceedsLimit(l.pieces, l.bytes, l.maxTokens):
		l.met = tooLong
	case l.maxTokens == 0 && ExceedsWindow(l.pieces, l.bytes, longReply) && l.pieces%longReply == 0:
		if window := l.window(); window > 0 && ExceedsWindow(l.pieces, l.bytes, window) {
			l.met = tooLong
		}
	}
}

// MaxRepetition is how many tokens a reply may do nothing but repeat itself, the first
// copy not counted. Tables and rulers repeat, too, but not for so long; data in the
// arguments of a call, such as a file of zeros, may.
const MaxRepetition = 1500

const (
	longestPeriod = 4 << 10  // bytes of what is repeated
	periodWindow  = 16 << 10 // bytes at the end of the reply that are searched
	periodEvery   = 256      // bytes between two searches
)

// Repetition looks for a period at the end of what a model writes: for one line, phrase or
// passage that it repeats without end. The zero value has read nothing. It is not safe
// for concurrent use.
type Repetition struct {
	text   []byte
	chunks []int // where in text they end: each is at least one token
	fresh  int   // bytes since the last search

	Bytes, Tokens int // at the end that do nothing but repeat what is before them
}

// Add appends a chunk, which is at least one token, and measures the repetition at the end.
func (p *Repetition) Add(chunk string) {
	if chunk == "" {
		return
	}
	p.text = append(p.text, chunk...)
	p.chunks = append(p.chunks, len(p.text))
	if p.fresh += len(chunk); p.fresh < periodEvery {
		return
	}
	if n := len(p.text) - periodWindow; n > periodWindow {
		p.text = append(p.text[:0], p.text[n:]...)
		for i := range p.chunks {
			p.chunks[i] -= n
		}
		p.chunks = slices.DeleteFunc(p.chunks, func(end int) bool { return end <= 0 })
	}
	// A repetition that is longer than the window is counted piece by piece.
	repeated := repeatedTail(p.text[max(0, len(p.text)-periodWindow):])
	bytes, tokens := 0, 0
	if repeated >= p.fresh {
		bytes, tokens = p.Bytes+p.fresh, p.Tokens+p.count(p.fresh)
	}
	p.Bytes, p.Tokens, p.fresh = max(repeated, bytes), max(p.count(repeated), tokens), 0
}

// repeatedTail is how many bytes at the end of a text repeat what is before them,
// if they and that are at least three copies of a passage. For each period, the
// Z-algorithm on the reversed text finds how far back the text is the same as one
// period before.
func repeatedTail(text []byte) (longest int) {
	n := len(text)
	at := func(i int) byte { return text[n-1-i] }
	same := make([]int, min(n, longestPeriod+1))
	for i, left, right := 1, 0, 0; i < len(same); i++ {
		if i < right {
			same[i] = min(right-i, same[i-left])
		}
		for i+same[i] < n && at(same[i]) == at(i+same[i]) {
			same[i]++
		}
		if i+same[i] > right {
			left, right = i, i+same[i]
		}
		if same[i] >= 2*i {
			longest = max(longest, same[i])
		}
	}
	return longest
}

// count is how many tokens the last n bytes are, at least.
func (p *Repetition) count(n int) int {
	from := len(p.text) - n
	chunk, _ := slices.BinarySearch(p.chunks, from)
	return max(Estimate(string(p.text[from:])), len(p.chunks)-chunk)
}

// watch cancels a request in which nothing arrives for too long.
type watch struct {
	timer  *tools.Alarm
	cancel context.CancelCauseFunc
	next   time.Duration
}

func (w *watch) set(d time.Duration, format string) {
	if d <= 0 {
		return
	}
	w.timer = tools.NewAlarm(d, func() {
		w.cancel(&providers.Error{Kind: providers.Stalled, Message: fmt.Sprintf(format, d)})
	})
}

func (w *watch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// cause is why a request ended: a stall rather than the cancellation it led to.
func (w *watch) cause(ctx context.Context, err error) error {
	var stalled *providers.Error
	if errors.As(context.Cause(ctx), &stalled) {
		return stalled
	}
	return err
}
