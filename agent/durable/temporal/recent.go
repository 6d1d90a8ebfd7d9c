package temporal

import (
	"slices"
	"sync"

	"mylm/agent"
)

// recent are sessions that a worker has read or written last, so that it need not read a
// long one for each call. Entries never change, so that one may lack the last entries of
// its session, if another worker has made them, but holds no other ones.
type recent struct {
	mu    sync.Mutex
	all   map[string]*held
	size  int // bytes
	clock int
}

type held struct {
	entries []agent.Entry
	size    int
	used    int
}

// maxRecent is how many bytes of texts are held: of one very long run, or of a hundred of
// ten turns with results of 50 KB.
const maxRecent = 64 << 20

func (r *recent) get(session string) ([]agent.Entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, ok := r.all[session]
	if !ok {
		return nil, false
	}
	r.clock++
	h.used = r.clock
	return h.entries, true
}

// put holds a session, and lets those go that were not used for the longest time.
func (r *recent) put(session string, entries []agent.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.all[session]
	if h == nil || len(entries) < len(h.entries) {
		r.forget(session)
		h = &held{}
	}
	for _, e := range entries[len(h.entries):] {
		n := sizeOf(e)
		h.size, r.size = h.size+n, r.size+n
	}
	if r.all == nil {
		r.all = map[string]*held{}
	}
	r.clock++
	h.entries, h.used, r.all[session] = slices.Clip(entries), r.clock, h
	for r.size > maxRecent {
		oldest := session
		for id, other := range r.all {
			if other.used < r.all[oldest].used {
				oldest = id
			}
		}
		r.forget(oldest)
	}
}

func (r *recent) drop(session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(session)
}

func (r *recent) forget(session string) {
	if h := r.all[session]; h != nil {
		r.size -= h.size
		delete(r.all, session)
	}
}

// sizeOf is about what an entry takes.
func sizeOf(e agent.Entry) (n int) {
	for _, i := range e.Images() {
		n += len(i.Data)
	}
	const small = 500
	switch p := e.Payload.(type) {
	case agent.RunEntry:
		return n + small + len(p.System)
	case agent.PromptEntry:
		return n + small + len(p.Text)
	case agent.ReplyEntry:
		return n + 2*small + len(p.Text) + len(p.Raw) + len(p.Thought) + len(p.SeparateThought) + len(p.Answer)
	case agent.CallEntry:
		return n + small + len(p.Args)
	case agent.ResultEntry:
		return n + small + len(p.Text) + len(p.Args)
	case agent.CustomEntry:
		return n + small + len(p.Args)
	}
	return n + small
}
