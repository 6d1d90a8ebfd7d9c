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

	object, objectEnd int // where the last whole object begins, and the white space behind it ends

	fences, first, fence int // how many begin a line, up to 3, where the first does, and where the search for the next begins
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
	f := finder{d: d, text: d.passed.String(), from: d.passed.from, streams: true}
	from := min(f.placeFrom(), f.onlyFrom())
	if d.line.unended() {
		from = min(from, max(0, d.shownAt-f.from))
	}
	if d.mention.tool != "" {
		from = min(from, d.mention.at-f.from)
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
	if u.open {
		if u.until == "" {
			return u.from
		}
		begin := max(u.from, u.searched-len(u.until))
		if !strings.Contains(f.text[begin:], u.until) {
			u.searched = len(f.text)
			return u.from
		}
		if u.searched = len(f.text) + 1; !u.tries.take(len(f.text) - u.from) {
			return u.from
		}
		switch g := f.place(f.d.callStarts[u.next] - f.from); {
		case g.is == isOpen && g.until == u.until: // it came inside
			return u.from
		case g.certain():
			u.until = ""
			return u.from
		case g.is != isWaiting:
			u.next++
		}
		u.open = false
	}
	end, waits := len(f.text), false
	for k := u.next; k < len(f.d.callStarts) && f.d.callStarts[k]-f.from < end; k++ {
		at := f.d.callStarts[k] - f.from
		v := f.place(at)
		switch {
		case v.is == isNone && !waits:
			u.next = k + 1
		case v.is == isNone:
		case v.is == isOpen && !waits:
			u.next, u.open, u.from, u.until, u.searched, u.tries = k, true, at+v.at, v.until, at, budget{}
			if k+1 < len(f.d.callStarts) { // in the words that announce it
				u.from = min(u.from, f.d.callStarts[k+1]-f.from)
			}
			return u.from
		case v.is == isWaiting && v.at < 0:
			waits = true
		default:
			waits, end = true, at+v.at
		}
	}
	return end
}

// onlyFrom is where what only finds may begin, or the end of the text.
func (f *finder) onlyFrom() int {
	if f.streams && f.onlyCode() != "" {
		return 0
	}
	if !f.d.oneTool {
		return len(f.text)
	}
	from := len(f.text)
	if head := strings.TrimSpace(f.text[:min(len(f.text), maxTag)]); hasPrefixFold(head, "thought") || hasPrefixFold(head, "act") {
		from = f.stepFrom()
	}
	if at := f.fenceFrom(); at >= 0 {
		from = min(from, at)
	}
	return from
}

const fenceLine = "\n```"

// fenceFrom is where the only fence begins in which a reply may end behind prose; below
// 0: there is none.
func (f *finder) fenceFrom() int {
	u := &f.d.doubt
	for u.fences < 2 {
		i := strings.Index(f.text[u.fence:], fenceLine)
		if i < 0 {
			if u.fences == 0 {
				u.fence = max(0, len(f.text)-len(fenceLine)+1)
				return -1
			}
			return u.first
		}
		if u.fences == 0 {
			u.first = u.fence + i
		}
		u.fences++
		u.fence += i + len(fenceLine)
	}
	if u.fences > 2 || strings.TrimSpace(f.text[u.fence:]) != "" {
		u.fences = 3
		return -1
	}
	return u.first
}

// stepFrom is where the last line begins that may be an action, or the end of the text.
func (f *finder) stepFrom() int {
	end := len(strings.TrimRight(f.text, " \t\r\n"))
	for range 4 {
		at := strings.LastIndexByte(f.text[:end], '\n') + 1
		line := strings.TrimLeft(f.text[at:], " \t*_")
		if hasPrefixFold(line, "act") {
			return at
		}
		if end = at - 1; end <= 0 {
			break
		}
	}
	return len(f.text)
}
