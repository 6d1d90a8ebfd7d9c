package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"mylm/providers"
)

const (
	// maxReply bounds one reply in bytes where nothing else does, so that a backend
	// that never stops does not fill the memory. It is twice what a call may hold.
	maxReply = 32 << 20

	longToken = 8 // bytes of a token that is longer than most
)

// endless is why a reply that goes on with a chunk is stopped; nil: it may go on.
// Unless its length is limited, it may have as many tokens as the window holds.
func (l *listener) endless(ctx context.Context, c providers.Chunk) error {
	r := l.run
	tooLong := func(format string, n int) error {
		return &LimitError{Reason: StopContextFull, Limit: "MaxTokens", Value: r.agent.opts.MaxTokens, Message: "the reply does not end: stopped after " + fmt.Sprintf(format, n)}
	}
	switch {
	case c.Stop != "":
	case l.repeating:
		return &LimitError{Reason: StopStuck, Message: "the reply repeats itself and does not end"}
	case l.size > maxReply:
		return tooLong("%d MiB", maxReply>>20)
	case r.agent.opts.MaxContextTokens == Off || len(r.past) > 0:
	case max(l.pieces, l.size/longToken) > cmp.Or(l.limit, r.state.Window, usualWindow):
		if l.limit == 0 {
			if l.limit = r.state.Window; l.limit == 0 || r.state.Guessed {
				l.limit = cmp.Or(r.askWindow(ctx), max(l.limit, usualWindow))
			}
			l.limit = max(l.limit, r.agent.opts.MaxTokens)
			return l.endless(ctx, c)
		}
		return tooLong("%d tokens, which is all that the context window holds", l.limit)
	}
	return nil
}

// filled is the error of a reply that the length limit cut, and that nothing can be
// added to.
func (r *run) filled(err error) error {
	return &LimitError{Reason: StopContextFull, Limit: "MaxTokens", Value: r.agent.opts.MaxTokens, Err: err,
		Message: "the reply filled the context window and is not complete"}
}

// The breaker of a reply that repeats one line, phrase or passage until somebody
// stops it. Tables and rulers repeat, too, but not for so long.
const (
	repeatedTokens = 1500     // of repetition, the first copy not counted
	longestPeriod  = 4 << 10  // bytes of what is repeated
	periodWindow   = 16 << 10 // bytes at the end of the reply that are looked at
	periodEvery    = 256      // bytes after which they are looked at again
)

// repetition looks for a period at the end of what a model writes.
type repetition struct {
	text   []byte // reversed when it is looked at
	chunks []int  // where in text they end: each is at least one token
	fresh  int    // bytes since the last look
}

// add takes in a chunk, and reports whether the text has only repeated itself for
// too long.
func (p *repetition) add(chunk string) bool {
	p.text = append(p.text, chunk...)
	p.chunks = append(p.chunks, len(p.text))
	if p.fresh += len(chunk); p.fresh < periodEvery {
		return false
	}
	p.fresh = 0
	if n := len(p.text) - periodWindow; n > periodWindow {
		p.text = append(p.text[:0], p.text[n:]...)
		for i := range p.chunks {
			p.chunks[i] -= n
		}
		p.chunks = slices.DeleteFunc(p.chunks, func(end int) bool { return end <= 0 })
	}
	return p.repeats(p.text[max(0, len(p.text)-periodWindow):])
}

// repeats reports whether the tail of the text is at least three copies of a
// passage, and long. For each period, the Z-algorithm on the reversed tail has how
// far back the text is the same as one period before.
func (p *repetition) repeats(tail []byte) bool {
	n := len(tail)
	at := func(i int) byte { return tail[n-1-i] }
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
		if same[i] >= 2*i && p.tokens(same[i]) >= repeatedTokens {
			return true
		}
	}
	return false
}

// tokens is how many tokens the last n bytes are, at least.
func (p *repetition) tokens(n int) int {
	from := len(p.text) - n
	chunk, _ := slices.BinarySearch(p.chunks, from)
	return max(estimate(string(p.text[from:])), len(p.chunks)-chunk)
}
