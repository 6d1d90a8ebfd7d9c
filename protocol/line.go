package protocol

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// line tracks the position in the line, and the code around running text. It
// follows CommonMark as far as a stream allows: a fence opens with three or
// more backticks or tildes at the start of a line and closes with as many; an
// inline code span ends with its line, so that one stray backtick hides nothing
// for long.
type line struct {
	filled bool // the line holds something other than white space
	quote  bool // it begins with >
	seen   bool // something other than white space came before this line or on it

	item itemState // how much of a list's mark the line has begun with

	run      int  // length of the run of backticks or tildes being read
	runChar  byte // which
	runStart bool // the run begins its line
	runSeen  bool // seen before the run

	comment bool // inside <!-- -->
	dashes  int  // of the comment's end that were read
	last    byte // what was read last, white space aside
	spaced  bool // white space was read behind it

	inline int // length of the run that opened a code span; 0: outside

	fence     int  // length of the run that opened a fence; 0: outside
	fenceChar byte // which
	fenceLead bool // prose came before the fence
	fenceFull bool // a line of the fence holds something
	fenceHead bool // still on the line that opens it
	closing   bool // a closing run was read, and nothing after it
	span      bool // it is inline code of several lines, which ends anywhere
	afterSpan bool // the end of such code opened it, or was meant to be no more than that

	example string // the element whose content is only shown; "": none

	words int // one more than where in the text a line of words began that is not noted; 0: none

	stars bool // nothing but * comes before on this line

	column int  // of what comes next, as long as the line is blank
	gap    bool // a blank line came before this one, or indented code
	code   bool // this line is indented code
}

// itemState is how far the mark of a list item was read, behind which the item's
// own first line starts, as in CommonMark: - * + 1. 1)
type itemState uint8

const (
	noItem     itemState = iota
	itemDigits           // of an ordered list
	itemMark             // the mark, which white space must follow
	inItem               // nothing else came yet
)

// itemAfter is the state behind a byte that is not white space, for fences in lists (T8).
func (l *line) itemAfter(c byte) itemState {
	switch {
	case isDigit(c) && (!l.filled || l.item == itemDigits):
		return itemDigits
	case !l.filled && (c == '-' || c == '*' || c == '+'), l.item == itemDigits && (c == '.' || c == ')'):
		return itemMark
	}
	return noItem
}

// step moves past one byte of text.
func (l *line) step(c byte) {
	if l.comment {
		l.inComment(c)
		return
	}
	if c == '`' || c == '~' {
		l.tick(c)
		return
	}
	if l.run > 0 {
		l.settle()
	}
	l.spaced = isSpace(c)
	switch {
	case c == '\n':
		l.newline()
	case isSpace(c):
		if l.column++; c == '\t' {
			l.column = (l.column + 3) &^ 3
		}
		switch l.item {
		case itemDigits:
			l.item = noItem
		case itemMark:
			l.item = inItem
		}
	default:
		l.quote = l.quote || c == '>' && !l.filled // T6
		l.stars = c == '*' && (l.stars || !l.filled)
		l.item = l.itemAfter(c)
		l.last = c
		l.mark()
	}
}

// inComment looks for the end of an HTML comment (T7).
func (l *line) inComment(c byte) {
	switch {
	case c == '-':
		l.dashes++
	case c == '>' && l.dashes >= 2:
		l.comment = false
	default:
		l.dashes = 0
	}
	if !isSpace(c) {
		l.mark()
	} else if c == '\n' {
		l.newline()
	}
}

// skip moves past text in the middle of a line that holds nothing of note.
func (l *line) skip(s string) {
	for i := len(s) - 1; i >= 0; i-- {
		if !isSpace(s[i]) {
			l.last, l.spaced = s[i], i < len(s)-1
			return
		}
	}
	l.spaced = l.spaced || s != ""
}

func (l *line) mark() {
	l.code = l.indented()
	l.filled, l.seen, l.closing = true, true, false
	if l.fence > 0 && !l.fenceHead {
		l.fenceFull = true
	}
}

func (l *line) tick(c byte) {
	if l.run > 0 && l.runChar != c {
		l.settle()
	}
	if l.run == 0 {
		l.runChar, l.runStart, l.runSeen = c, !l.filled || l.item == inItem && l.fence == 0, l.seen
		l.item = noItem
	}
	l.run++
	l.filled, l.seen, l.spaced = true, true, false
}

// settle decides T5 and T8: whether a finished run of backticks or tildes opens or ends inline
// code, or a fence.
func (l *line) settle() {
	n := l.run
	l.run = 0
	switch {
	case n == 0:
	case l.fenceHead && l.runChar == '`' && l.fenceChar == '`': // T8: an opening line holds no other backtick: inline code
		if l.inline = l.fence; l.inline == n {
			l.inline = 0
		}
		l.fence, l.fenceHead = 0, false
	case l.span && l.runChar == l.fenceChar && n >= l.fence:
		// At the start of a line CommonMark has a fence there, whatever came before.
		if l.span, l.fence = false, 0; l.runStart {
			l.fence, l.afterSpan, l.fenceHead, l.fenceFull = n, true, true, false
		}
	case l.fence > 0: // T8: as many or more may close it
		if l.runStart && l.runChar == l.fenceChar && n >= l.fence {
			l.closing = true
		} else {
			l.mark()
		}
	case l.runStart && n >= 3: // T8: it opens a fence
		l.fence, l.fenceChar, l.fenceLead = n, l.runChar, l.runSeen
		l.fenceHead, l.fenceFull, l.closing = true, false, false
	case l.runChar != '`':
	case l.inline == 0: // T5: it opens
		l.inline = n
	case l.inline == n: // T5: it ends
		l.inline = 0
	}
}

// newline ends the line, and with it inline code (T5), a fence that is closed (T8) and a
// quotation (T6).
func (l *line) newline() {
	switch {
	case l.closing:
		l.fence, l.afterSpan = 0, false
	case l.inline >= 3 && l.fence == 0: // T8: Example: ```xml
		l.fence, l.fenceChar, l.fenceLead, l.fenceFull, l.span = l.inline, '`', true, false, true
	}
	l.gap = !l.filled && l.seen || l.code
	l.filled, l.quote, l.inline, l.closing, l.fenceHead = false, false, 0, false, false
	l.column, l.code, l.item, l.words = 0, false, noItem, 0
}

// fenceMark is a line end and the least that closes the fence, or opens one like it.
func (l *line) fenceMark() string { return "\n" + strings.Repeat(string(l.fenceChar), 3) }

// indented decides T13: whether the line is code by its indentation, as CommonMark has it,
// four columns, behind a blank line. The first line of a reply is not.
func (l *line) indented() bool {
	return l.code || !l.filled && l.column >= 4 && l.gap && l.seen && l.fence == 0
}

// unended reports whether this is in a comment, an example or inline code of several
// lines, or behind such code: a reply that ends there may not have meant to show what
// is in it.
func (l *line) unended() bool { return l.comment || l.example != "" || l.span || l.afterSpan }

// literal decides T5, T6, T7, T11 and T13: whether a tag here is only shown, in inline code, a
// block quote, an HTML comment, an example or indented code.
func (l *line) literal() bool {
	return l.inline > 0 || l.quote || l.comment || l.example != "" || l.indented()
}

// inSentence decides T14 for a token that ends a turn, with which s begins: it is text if it is
// in the middle of a sentence. unsure means that the next bytes decide.
func (d *Decoder) inSentence(s string, m mark) (text, unsure bool) {
	const longestMark = 3
	after := s[m.n:min(len(s), maxTag)]
	spaced := d.line.spaced || !d.line.filled
	switch _, begins := turns[m.kind]; {
	case m.tag != turnEnd, begins, d.mode == inThought, d.line.literal():
		return false, false
	case after == "", after[0] >= utf8.RuneSelf && len(after) < longestMark:
		return false, len(s) < maxTag
	}
	return startsWithAny(after, closingMarks) || spaced && startsWithAny(after, sentenceMarks) ||
		!spaced && after[0] == '*' && d.line.last == '*', false
}

// What is directly behind a token that a sentence shows, and behind one that has a space before it.
var (
	closingMarks  = strings.Fields("\" ' ) ] } , ; ” ’ » 」 』 ） 、 ，")
	sentenceMarks = strings.Fields(". : ! ? 。 ：")
)

func startsWithAny(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}
