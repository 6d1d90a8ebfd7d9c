package agent

import (
	"context"
	"fmt"
	"mylm/providers"
	"mylm/providers/calling"
	"slices"
	"strings"
)

// view is the conversation as the model is shown it. It is built from the
// session's record alone, which it never changes, so that it can be rebuilt
// anywhere. Until a compaction it only grows at its end, which is
// what lets a backend keep what it has read.
type view struct {
	limit    int                 // of a tool's result, in estimated tokens; 0: none
	taken    int                 // entries of the record that are in it
	messages []providers.Message // the first is the system prompt
	sizes    []int               // of the messages, in estimated tokens
	size     int                 // their sum
	groups   []group             // where it may be cut
	replies  int                 // groups that are an exchange
	from     int                 // the last entry that a compaction took out
	cut      int                 // the entry of that compaction
	closing  *closing            // for the last word; nil: for a turn
}

// closing is the system prompt that replaces the run's own in the request for
// the last word, and the question at its end. It is not part of the record.
type closing struct{ system, question providers.Message }

// group is messages that stay together: a reply and what it led to, or a
// question.
type group struct {
	seq     int // of its first entry
	message int // index of its first message
	reply   bool
}

// sync adds the entries that were recorded since.
func (v *view) sync(entries []Entry, limit int) {
	if limit != v.limit || len(v.messages) == 0 || v.taken > len(entries) {
		*v = v.empty()
		v.limit = limit
		v.skip(entries)
	}
	for v.taken < len(entries) {
		e := &entries[v.taken]
		v.taken++
		switch p := e.Payload.(type) {
		case RunEntry:
			// What was handed out before keeps the system prompt that it had.
			v.messages = slices.Clone(v.messages)
			v.setSystem(providers.Message{Role: providers.System, Text: p.System})
		case CompactionEntry:
			v.restart(entries, p, e.Seq)
		default:
			v.add(e)
		}
	}
}

// skip takes in the entries up to the last compaction, which leaves of them little to see.
func (v *view) skip(entries []Entry) {
	cut := lastOf[CompactionEntry](entries)
	if cut < 0 {
		return
	}
	if run := lastOf[RunEntry](entries[:cut]); run >= 0 {
		v.setSystem(providers.Message{Role: providers.System, Text: entries[run].Payload.(RunEntry).System})
	}
	v.taken = cut + 1
	v.restart(entries, entries[cut].Payload.(CompactionEntry), entries[cut].Seq)
}

// empty is the view of nothing yet.
func (v *view) empty() view {
	e := view{limit: v.limit, closing: v.closing, messages: make([]providers.Message, 1, 16), sizes: make([]int, 1, 16)}
	if v.closing != nil {
		e.size = sizeOf(v.closing.question)
	}
	return e
}

// sizeOf is what a message takes, in estimated tokens.
func sizeOf(m providers.Message) int {
	return calling.Estimate(m.Text) + calling.MessageTokens + imageTokens*len(m.Images)
}

func (v *view) setSystem(m providers.Message) {
	if v.closing != nil {
		m = v.closing.system
	}
	v.size -= v.sizes[0]
	v.messages[0], v.sizes[0] = m, sizeOf(m)
	v.size += v.sizes[0]
}

// restart builds the view again after a compaction.
func (v *view) restart(entries []Entry, c CompactionEntry, seq int) {
	system, taken := v.messages[0], v.taken
	*v = v.empty()
	v.taken, v.from, v.cut = taken, c.Through, seq
	v.setSystem(system)
	if 0 < c.Request && c.Request <= c.Through {
		m, _ := entries[c.Request-1].message(v.limit)
		v.push(m)
	}
	v.push(providers.Message{Role: providers.User, Text: c.Text})
	for i := c.Through; i < seq-1; i++ {
		v.add(&entries[i])
	}
}

// shrinks reports whether a compaction would make the view smaller.
func (v *view) shrinks(entries []Entry, c CompactionEntry) bool {
	next := *v
	next.restart(entries, c, len(entries)+1)
	return next.size < v.size
}

func (v *view) add(e *Entry) {
	m, ok := e.message(v.limit)
	kind := e.Kind()
	if kind == EntryReply || kind == EntryPrompt || kind == EntryHistory && m.Role == providers.User {
		v.groups = append(v.groups, group{seq: e.Seq, message: len(v.messages), reply: kind == EntryReply})
		if kind == EntryReply {
			v.replies++
		}
	}
	if ok {
		v.push(m)
	}
}

func (v *view) push(m providers.Message) {
	n := sizeOf(m)
	v.messages = append(v.messages, m)
	v.sizes = append(v.sizes, n)
	v.size += n
}

// hiddenBefore is what comes before the i-th group and would be hidden by a cut there:
// how many messages, and their size. The system prompt, the request with the
// given sequence number and an earlier summary do not count.
func (v *view) hiddenBefore(i, request int) (messages, size int) {
	for j, g := range v.groups[:i] {
		if g.seq == request {
			continue
		}
		end := len(v.messages)
		if j+1 < len(v.groups) {
			end = v.groups[j+1].message
		}
		for k := g.message; k < end; k++ {
			messages++
			size += v.sizes[k]
		}
	}
	return messages, size
}

// sinceLastReply is the size of the messages from the last reply on, which a backend
// that keeps what it has read finds at the end of the prompt.
func (v *view) sinceLastReply() (size int) {
	for i := len(v.messages) - 1; i > 0; i-- {
		if size += v.sizes[i]; v.messages[i].Role == providers.Assistant {
			break
		}
	}
	return size
}

// countWords is how many words the messages from the i-th on have: tokens do not
// reach across the space between two of them.
func (v *view) countWords(i int) (n int) {
	for _, m := range v.messages[i:] {
		for range strings.FieldsSeq(m.Text) {
			n++
		}
	}
	return n
}

// shown is the conversation so far, which nothing added later changes.
func (v *view) shown() []providers.Message {
	messages := slices.Clip(v.messages)
	if v.closing != nil {
		messages = append(messages, v.closing.question)
	}
	return messages
}

// fit makes the conversation fit the window, before the model is asked, with room for
// a reply: long results are shown in part (by the view), older exchanges become a
// summary, and finally the oldest are omitted. A conversation that cannot be made
// to fit is an error of the model, every other is the engine's own.
func (r *run) fit(ctx context.Context) error {
	r.replayCompactions()
	r.syncView()
	if len(r.toReplay) > 0 { // it was made to fit when it was asked for
		return nil
	}
	r.learnWindow(ctx, false)
	if through := r.summarizeThrough(); through > 0 {
		if err := r.summarize(ctx, through); err != nil {
			return err
		}
	}
	if r.state.Window == 0 || r.promptTokens() <= r.room() {
		return nil
	}
	if _, err := r.makeRoom(ctx); err != nil {
		return err
	}
	return r.overflowError()
}

// overflowError is why a conversation that was made as small as it can be is not
// sent; nil: it is. While the window is a guess, or the backend has not counted,
// it knows better whether its window is full, but only the engine enforces a
// configured limit.
func (r *run) overflowError() error {
	n, window := r.promptTokens(), r.state.Window
	what, option := "the model's window", ""
	switch limit := int(r.agent.opts.MaxContextTokens); {
	case n <= window:
		return nil
	case 0 < limit && limit < n && (r.state.Guessed || limit == window):
		window = limit
		what, option = "the configured limit", "MaxContextTokens"
	case r.state.Guessed, r.state.Scale == 0 && r.view.countWords(0) <= window:
		return nil
	}
	if len(r.state.Continued) > 0 {
		return &modelError{r.windowFilled(nil)}
	}
	message := fmt.Sprintf("the conversation does not fit %s: the instructions, the request and the last step alone take about %d of %d tokens", what, n, window)
	e := &providers.Error{Kind: providers.Overflow, PromptTokens: n, Window: window, Message: message}
	if option != "" {
		e.Err = &LimitError{Reason: StopContextFull, Limit: option, Value: window, Message: message}
	}
	return &modelError{e}
}

// keepRecent is how many of the last exchanges a summary keeps at most, unless that is set.
const keepRecent = 4

// summarizeThrough is the last entry of what should become a summary now; 0: nothing
// should. Left to itself, the run does not give details away that there is
// still room for.
func (r *run) summarizeThrough() int {
	o, v := &r.agent.opts, &r.view
	after, keep := int(o.SummarizeAfterTurns), o.KeepRecentTurns
	switch {
	case o.SummarizeAfterTurns == Off, v.closing != nil: // the last word is not worth another call
		return 0
	case after == 0:
		if after = keepRecent; r.state.Window == 0 || r.promptTokens() <= r.room() {
			return 0
		}
	}
	if keep == 0 {
		keep = r.recentExchanges()
	}
	if keep = min(keep, after); v.replies <= after || v.size < 2*r.failedSummary {
		return 0
	}
	return r.beforeExchange(keep)
}

// beforeExchange is the last entry before so many of the last exchanges; 0: there is
// none that could be hidden.
func (r *run) beforeExchange(keep int) int {
	v := &r.view
	for i := len(v.groups) - 1; i > 0; i-- {
		if !v.groups[i].reply {
			continue
		}
		if keep--; keep == 0 {
			if !v.groups[i-1].reply { // a question stays with its reply
				i--
			}
			if messages, _ := v.hiddenBefore(i, r.request); messages > 0 {
				return v.groups[i].seq - 1
			}
			return 0
		}
	}
	return 0
}

// recentExchanges is how many of the last exchanges a summary keeps where that is not set:
// those that leave most of the room for what comes.
func (r *run) recentExchanges() (n int) {
	v, size := &r.view, 0
	for i := len(v.messages) - 1; i > 0 && n < keepRecent; i-- {
		if size += v.sizes[i]; v.messages[i].Role == providers.Assistant {
			if n > 0 && r.tokens(size) > r.room()/8 {
				break
			}
			n++
		}
	}
	return max(1, n)
}

// summarize has the model sum up everything before an entry. If it cannot,
// nothing changes.
func (r *run) summarize(ctx context.Context, through int) error {
	summary, err := r.sumUp(ctx, through)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		r.emit(Notice{Code: NoticeNoSummary, Text: "older steps could not be summarized and are kept: " + err.Error()})
		return nil
	}
	return r.replaceBy(ctx, summary, through)
}

// makeRoom makes room in the window: it shows less of long results if that is smaller,
// and leaves the oldest exchanges out until there is room for some turns to
// come. It reports whether the prompt got smaller.
func (r *run) makeRoom(ctx context.Context) (bool, error) {
	v, before := &r.view, r.view.size
	changed := r.limitResults()
	if r.promptTokens() > r.room() {
		target := int(compactionTarget * float64(r.room()))
		best := 0
		for i := 1; i < len(v.groups); i++ {
			messages, size := v.hiddenBefore(i, r.request)
			if messages == 0 {
				continue
			}
			best = i
			if r.tokens(v.size-size) <= target {
				break
			}
		}
		if best > 0 {
			summary, summarised := r.lastSummary()
			if _, err := r.compact(ctx, v.groups[best].seq-1, summary, summarised); err != nil {
				return false, err
			}
			return v.size < before, nil
		}
	}
	if changed && v.size < before {
		r.emit(Compaction{Before: r.tokens(before), After: r.promptTokens(), Window: r.state.Window, Guessed: r.state.Guessed})
	}
	return v.size < before, nil
}
