package agent

import (
	"slices"

	"mylm/providers"
)

// view is the conversation as the model is shown it. It is made of the
// session's record, which it never changes, and of nothing else, so that it can
// be made again anywhere. Until a compaction it only grows at its end, which is
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

// closing is what the last word is asked for with, instead of the run's own
// system prompt and behind everything else. It is no part of the record.
type closing struct{ system, question providers.Message }

// group is messages that stay together: a reply and what it led to, or a
// question.
type group struct {
	seq     int // of its first entry
	message int // index of its first message
	reply   bool
}

// sync takes in what was recorded since.
func (v *view) sync(entries []Entry, limit int) {
	if limit != v.limit || len(v.messages) == 0 || v.taken > len(entries) {
		*v = v.empty()
		v.limit = limit
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

// empty is the view of nothing yet.
func (v *view) empty() view {
	e := view{limit: v.limit, closing: v.closing, messages: make([]providers.Message, 1, 16), sizes: make([]int, 1, 16)}
	if v.closing != nil {
		e.size = sizeOf(v.closing.question)
	}
	return e
}

// sizeOf is what a message takes, in estimated tokens.
func sizeOf(m providers.Message) int { return estimate(m.Text) + messageTokens }

func (v *view) setSystem(m providers.Message) {
	if v.closing != nil {
		m = v.closing.system
	}
	v.size -= v.sizes[0]
	v.messages[0], v.sizes[0] = m, sizeOf(m)
	v.size += v.sizes[0]
}

// restart begins anew after a compaction.
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

// smaller reports whether a compaction would make the view smaller.
func (v *view) smaller(entries []Entry, c CompactionEntry) bool {
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

// before is what stands before the i-th group and would go with a cut there:
// how many messages, and their size. The system prompt, the request with the
// given sequence number and an earlier summary do not count.
func (v *view) before(i, request int) (messages, size int) {
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

// unread is the size of the messages from the last reply on, which a backend
// that keeps what it has read finds at the end of the prompt.
func (v *view) unread() (size int) {
	for i := len(v.messages) - 1; i > 0; i-- {
		if size += v.sizes[i]; v.messages[i].Role == providers.Assistant {
			break
		}
	}
	return size
}

// words is how many words the messages from the i-th on have: tokens do not
// reach across the space between two of them.
func (v *view) words(i int) (n int) {
	for _, m := range v.messages[i:] {
		n += countWords(m.Text)
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
