package protocol

import (
	"regexp"
	"strings"
	"sync"
)

// doubt is a place in the text at which a call may have begun in a form that is not
// read (A8), and what decides whether it has.
type doubt struct {
	next     int // the first of callStarts that is not decided
	open     bool
	from     int    // where in the text it begins
	until    string // after this has come, it is decided; "": at the end of the reply
	searched int    // so far in the text, until was not found

	fences, first, fence int // how many begin a line, up to 3, where the first does, and where the search for the next begins
}

// Doubtful returns how many bytes at the end of the text that was passed on Close may
// find to be a call in a form that is not read (UnknownForm, FencedCall, EscapedCall). Who
// cannot take text back withholds as much. Where a call is announced in words, those are
// not among them. It is to be called after each Push, and after no other method.
func (d *Decoder) Doubtful() int {
	if d.mode == done || d.answered || d.opts.Insisted || d.anyTool || len(d.opts.Tools.Names()) == 0 {
		return 0
	}
	f := finder{d: d, text: d.passed.String()}
	from := min(f.placeFrom(), f.onlyFrom())
	if d.line.unended() {
		from = min(from, d.shownAt)
	}
	return len(f.text) - from
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
		if tool, _ := f.find(f.d.callStarts[u.next : u.next+1]); tool != "" {
			u.until = ""
			return u.from
		}
		u.open = false
		u.next++
	}
	end, waits := len(f.text), false
	for k := u.next; k < len(f.d.callStarts) && f.d.callStarts[k] < end; k++ {
		at := f.d.callStarts[k]
		v := f.place(at)
		switch {
		case v.is == isNone && !waits:
			u.next = k + 1
		case v.is == isNone:
		case v.is == isOpen && !waits:
			u.next, u.open, u.from, u.until, u.searched = k, true, at+v.at, v.until, at
			for _, at := range f.d.callStarts[k+1:] { // in the words that announce it
				if at >= u.from {
					break
				}
				if v := f.place(at); v.is != isNone && v.at >= 0 {
					u.from = at
				}
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

// guess is what is known of a place: that no call begins there, that more text will
// tell, or that one may have begun.
type guess struct {
	is    uint8
	at    int    // from where on there is a doubt; below 0: there is none yet
	until string // of isOpen
}

const (
	isNone uint8 = iota
	isWaiting
	isOpen
)

const blankLine = "\n\n"

func (f *finder) place(at int) guess {
	s := f.text[at:]
	before := strings.TrimRight(f.text[:at], " \t\r")
	start := before == "" || strings.HasSuffix(before, "\n")
	if s[0] == '<' {
		if g := f.element(s, start || strings.HasSuffix(before, minimaxPrefix)); g.is != isNone {
			return g
		}
	}
	if start {
		return f.lineGuess(s)
	}
	return guess{}
}

// soon is a doubt that ends when there is more of the text.
func soon(s string, most, at int) guess {
	if len(s) < most {
		return guess{is: isWaiting, at: at}
	}
	return guess{}
}

// lineGuess is what may begin at the start of a line; see atLine.
func (f *finder) lineGuess(s string) guess {
	rest := s
	if c := s[0]; !isWord(c) || '0' <= c && c <= '9' || c == '_' {
		rest = s[len(bulletMarks().FindString(s)):]
	}
	if strings.HasPrefix(functools, rest) {
		return soon(s, maxTag, 0)
	}
	rest = strings.TrimPrefix(rest, functools)
	switch skipped := len(s) - len(rest); rest[0] {
	case '{':
		return guess{isOpen, skipped, blankLine}
	case '&':
		if name, _, closed := strings.Cut(rest[min(len(rest), len(lt)):min(len(rest), maxTag)], "&gt;"); strings.HasPrefix(rest, lt) && closed {
			if m, _ := matchTag("<" + name + ">"); m.tag == toolOpen {
				return f.named(s)
			}
		} else if strings.HasPrefix(lt, rest) || strings.HasPrefix(rest, lt) {
			return soon(rest, maxTag, 0)
		}
	case '[':
		if inside := trimSpace(rest[1:]); inside == "" || inside[0] == '{' {
			return guess{isOpen, skipped, blankLine}
		}
		if g := f.nameGuess(s, rest[1:]); g.is != isNone {
			return g
		}
	}
	if g := f.nameGuess(s, rest); g.is != isNone {
		return g
	}
	return f.labelGuess(s, rest)
}

// nameGuess is whether rest, at the end of s, begins with a tool and its arguments;
// see call.
func (f *finder) nameGuess(s, rest string) guess {
	if strings.HasPrefix("print(", rest) {
		return soon(s, maxTag, 0)
	}
	rest = strings.TrimPrefix(rest, "print(")
	n := pathLen(rest)
	if n == len(rest) {
		return soon(s, maxTag, 0)
	}
	if _, known := f.d.declared(tidyName(rest[:n])); n == 0 || !known {
		return guess{}
	}
	rest = rest[n+len(beforeArgs().FindString(rest[n:min(len(rest), n+maxTag)])):]
	if rest == "" || strings.HasPrefix("[ARGS]", rest) || strings.HasPrefix(rest, "<|") {
		return soon(s, 2*maxTag, 0)
	}
	if inside := trimSpace(rest[1:]); rest[0] == '(' || rest[0] == '{' && (inside == "" || inside[0] == '"') {
		return guess{is: isOpen}
	}
	return guess{}
}

// lineFormStart is the beginning of lineForm with as much of a name as there is.
var lineFormStart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(lineFormHead + `([\w.\\-]*)(?:[ *\x60\ra-z]|<\|[a-z]*\|?>?)*$`)
})

// labelGuess is whether words, and then a call, begin at the start of a line, of which
// rest is what follows the marks of a list.
func (f *finder) labelGuess(s, rest string) guess {
	skipped := len(s) - len(rest)
	head := rest[:min(len(rest), maxTag)]
	if strings.ContainsAny(head, "{:：>=[✿") {
		label := len(objectLabel().FindString(head))
		if label > 0 && strings.HasPrefix(rest[label:], "{") {
			return guess{isOpen, skipped + label, blankLine}
		}
		if m := lineForm().FindStringSubmatchIndex(head); m != nil {
			if _, known := f.d.declared(tidyName(head[m[2]:m[3]])); known {
				return guess{is: isOpen, at: skipped + m[2]}
			}
		}
		if m := lineFormStart().FindStringSubmatchIndex(head); m != nil && len(head) < maxTag {
			return guess{is: isWaiting, at: skipped + m[2]}
		}
	}
	if len(head) < maxTag && !strings.Contains(head, "\n") {
		return guess{is: isWaiting, at: -1}
	}
	return guess{}
}

// named is a place whose call needs the name of a tool behind it.
func (f *finder) named(s string) guess {
	if f.word(s) != "" {
		return guess{is: isOpen}
	}
	return soon(s, maxElem, 0)
}

// element is what a < may begin; see markUp.
func (f *finder) element(s string, start bool) guess {
	e, ok := elemAt(s[:min(len(s), maxElem)])
	m, _ := matchTag(s[:min(len(s), maxTag)])
	switch token := s[:min(len(s), 2*maxGuarded)]; {
	case callToken().MatchString(token):
		return f.named(s)
	case len(s) == 1 || strings.Contains("|｜", s[1:min(len(s), 2)]) && !strings.ContainsAny(token[1:], "<>"):
		return soon(s, 2*maxGuarded, 0)
	case m.tag == toolOpen && ok && !e.closing && start:
		return f.named(s)
	case !ok && strings.IndexByte(s[:min(len(s), maxElem)], '>') < 0:
		name := 1 + pathLen(s[1:])
		_, known := f.d.declared(s[1:name])
		if isWord(s[1]) && (start || known || name == len(s) || s[name] == ':') {
			return soon(s, maxElem, 0)
		}
		return guess{}
	case !ok, e.closing, m.tag != noTag:
		return guess{}
	}
	_, known := f.d.declared(e.name)
	switch {
	case known && (e.empty || start):
		return guess{is: isOpen}
	case known:
		return guess{is: isOpen, until: "</" + e.name}
	case !start:
		return guess{}
	case strings.Contains(e.fold, "functioncall"), strings.Contains(e.fold, "toolcall"):
		return f.named(s)
	}
	return guess{is: isOpen, until: "</" + e.name}
}

// onlyFrom is where what only finds may begin, or the end of the text.
func (f *finder) onlyFrom() int {
	if len(f.d.opts.Tools.Names()) != 1 {
		return len(f.text)
	}
	from := len(f.text)
	head := strings.ToLower(strings.TrimSpace(f.text[:min(len(f.text), maxTag)]))
	if strings.HasPrefix(head, "thought") || strings.HasPrefix(head, "act") || strings.HasPrefix("thought", head) || strings.HasPrefix("act", head) {
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
		line := strings.ToLower(strings.TrimLeft(f.text[at:], " \t*_"))
		if strings.HasPrefix("act", line) || strings.HasPrefix(line, "act") {
			if _, behind, said := strings.Cut(f.text[at:], ":"); !said || !strings.Contains(strings.TrimSpace(behind), "\n") {
				return at
			}
		}
		if end = at - 1; end <= 0 {
			break
		}
	}
	return len(f.text)
}
