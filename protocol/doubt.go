package protocol

import (
	"slices"
	"strings"
)

// doubt is a place in the text at which a call may have begun in a form that is not
// read, and what decides whether it has.
type doubt struct {
	next     int // the first of callStarts that is not decided
	open     bool
	from     int    // where in the text it begins
	until    string // after this has come, it is decided; "": at the end of the reply
	searched int    // so far in the text, until was not found
	tries    budget // of looking again at this place

	fences, fence, searchedFence int // how many begin a line, up to 3, where the first does, and how far they were looked for
}

// Doubtful returns how many bytes at the end of the text that was passed on Close may
// find to be a call in a form that is not read (UnknownForm, FencedCall, EscapedCall), or
// a result that was made up (InventedObservation). Who cannot take text back withholds as
// much. Of words that announce a call, only the name of the tool counts, if it comes last.
// It is to be called
// after each Push; after Close it is how much of the text was found to be such.
func (d *Decoder) Doubtful() int {
	if d.mode == done {
		return d.lostAt
	}
	if d.answered || d.opts.Insisted || len(d.opts.Tools.Names()) == 0 {
		return 0
	}
	f := finder{d: d, text: d.passed.String(), streams: true}
	from := min(f.placeFrom(), f.onlyFrom())
	if d.line.unended() {
		from = min(from, d.shownAt)
	}
	if d.mention.tool != "" {
		from = min(from, d.mention.at)
	}
	return len(f.text) - f.nameBefore(from)
}

// nameBefore is where the name of a tool begins, or what may become one, that the text up
// to end ends with: the name of a call of which only the arguments are in doubt.
func (f *finder) nameBefore(end int) int {
	const marks = "`*\"'"
	from := max(0, end-2*maxTag)
	s := strings.TrimRight(f.text[from:end], " \t\r\n:"+marks)
	at := pathStart(s)
	word := tidyName(s[at:])
	_, known := f.d.declared(word)
	begun := f.streams && from+len(s) == len(f.text) && slices.ContainsFunc(f.d.opts.Tools.Names(), func(name string) bool { return strings.HasPrefix(name, word) })
	if word == "" || !known && !begun {
		if !f.streams || end < len(f.text) {
			return end
		}
		s, at = f.text[from:], end-from // the name may follow
	}
	return from + len(strings.TrimRight(s[:at], marks+"@"))
}

// placeFrom is where the first call begins that there may be, or the end of the text.
func (f *finder) placeFrom() int {
	u := &f.d.doubt
	again := u.open
	if begin := max(u.from, u.searched-len(u.until)); u.open && (u.until == "" || !strings.Contains(f.text[begin:], u.until)) {
		u.searched = len(f.text)
		return u.from
	}
	if u.searched = len(f.text) + 1; u.open && !u.tries.take(len(f.text)-u.from) {
		return u.from
	}
	end := len(f.text)
	u.open = false
	for k := u.next; k < len(f.d.callStarts) && f.d.callStarts[k] < end; k++ {
		at := f.d.callStarts[k]
		switch v := f.place(at); {
		case v.none() && k == u.next:
			u.next, again = k+1, false
		case v.none(), v.waits && v.at < 0:
		case again && k == u.next && v.until != "" && v.until == u.until: // it came inside
			u.open = true
			return u.from
		case !v.waits && k == u.next:
			u.open, u.from, u.until, u.searched, u.tries = true, at+v.at, v.until, at, budget{}
			if k+1 < len(f.d.callStarts) { // in the words that announce it
				u.from = min(u.from, f.d.callStarts[k+1])
			}
			return u.from
		default:
			end = at + v.at
		}
	}
	return end
}

// onlyFrom is where what only finds may begin, or the end of the text.
func (f *finder) onlyFrom() int {
	u := &f.d.doubt
	head := strings.TrimLeft(f.text[:min(len(f.text), maxTag)], white)
	switch {
	case f.onlyCode() != "", f.d.oneTool && (hasPrefixFold(head, "thought") || hasPrefixFold(head, "act")):
		return 0
	case !f.d.oneTool:
		return len(f.text)
	}
	for u.fences < 3 {
		i := strings.Index(f.text[u.searchedFence:], fenceLine)
		if i < 0 {
			break
		}
		if u.fences++; u.fences == 1 {
			u.fence = u.searchedFence + i
		}
		u.searchedFence += i + len(fenceLine)
	}
	switch {
	case u.fences == 0:
		u.searchedFence = max(0, len(f.text)-len(fenceLine)+1)
	case u.fences == 1, u.fences == 2 && blank(f.text[u.searchedFence:]):
		return u.fence
	default:
		u.fences = 3
	}
	return len(f.text)
}

const fenceLine = "\n```"
