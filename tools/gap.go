package tools

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Gap is what is missing in the middle of a text that was too long to be shown.
// The text has a mark in its place, as "[... left out: 9 lines, 99 bytes ...]".
type Gap struct {
	Bytes  int
	Breaks int // line ends among them
}

func (g Gap) plus(text string) Gap {
	return Gap{g.Bytes + len(text), g.Breaks + strings.Count(text, "\n")}
}

// Join returns a text of which the beginning and the end are left: head, the mark
// of the gap, and tail. Where lines are short it also leaves out the incomplete
// ones beside the gap, and otherwise incomplete characters. What is shown and what
// the mark names make up the whole.
func (g Gap) Join(head, tail string) string {
	keep := len(head)
	if i := strings.LastIndexByte(head, '\n') + 1; i > 0 && i >= len(head)/2 {
		keep = i
	} else {
		keep = len(Begin(head, keep))
	}
	skip := 0
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i <= len(tail)/2 {
		skip = i // the line end stays: that of the last line left out
	} else {
		for skip < min(len(tail), utf8.UTFMax-1) && !utf8.RuneStart(tail[skip]) {
			skip++
		}
	}
	g = g.plus(head[keep:]).plus(tail[:skip])
	head, tail = defused(head[:keep]), defused(tail[skip:])
	return head + g.mark((head == "" || strings.HasSuffix(head, "\n")) && strings.HasPrefix(tail, "\n")) + tail
}

// mark represents the gap in a text. With whole, it is made of complete lines.
func (g Gap) mark(whole bool) string {
	text := Count(g.Bytes, "byte")
	switch {
	case whole:
		text = Count(g.Breaks+1, "line") + ", " + text
	case g.Breaks > 0:
		text += ", " + Count(g.Breaks, "line break")
	}
	return "[... left out: " + text + " ...]"
}

var marks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[\.\.\. left out: (?:(\d+) lines?, )?(\d+) bytes?(?:, (\d+) line breaks?)? \.\.\.\]`)
})

// find returns the position of a gap's mark in a text, and the gap.
func find(text string) (from, upto int, g Gap, ok bool) {
	m := marks().FindStringSubmatchIndex(text)
	if m == nil {
		return 0, 0, g, false
	}
	var err error
	number := func(group int) (n int) {
		if at := m[2*group]; at >= 0 && err == nil {
			n, err = strconv.Atoi(text[at:m[2*group+1]])
		}
		return n
	}
	const lines, bytes, breaks = 1, 2, 3
	g = Gap{number(bytes), max(number(breaks), number(lines)-1)}
	return m[0], m[1], g, err == nil
}

// defused returns a text in which nothing looks like the mark of a gap: a file or
// a page must not be able to say what was left out of it.
func defused(text string) string {
	return marks().ReplaceAllStringFunc(text, func(mark string) string { return "(" + mark[1:len(mark)-1] + ")" })
}

// Abridge leaves out the middle of a text, as of a long result, that is longer than head and tail, in
// bytes, together. With cut, the text has a gap already, which becomes larger, so
// that there is one.
func Abridge(text string, head, tail int, cut bool) string {
	if head+tail >= len(text) {
		return text
	}
	from, upto := head, len(text)-tail
	if at, end, g, ok := find(text); ok && cut {
		from, upto = min(from, at), max(upto, end)
		return g.plus(text[from:at]).plus(text[end:upto]).Join(text[:from], text[upto:])
	}
	return Gap{}.plus(text[from:upto]).Join(text[:from], text[upto:])
}

// Begin returns at most n bytes of a text that do not end within a character.
func Begin[T string | []byte](text T, n int) T {
	text = text[:min(n, len(text))]
	for i := len(text) - 1; i >= 0 && i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune([]byte(text[i:])) {
				return text[:i]
			}
			break
		}
	}
	return text
}

// Count returns a number of things in words: "1 line", "2 lines", "2 replies".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "y"); ok {
		thing = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Sampled is how many bytes Binary looks at; git looks at as many for a NUL
// (buffer_is_binary in xdiff-interface.c).
const Sampled = 8000

// Binary reports whether content is not text: its beginning contains a NUL, is that of
// a PDF, or has more than a tenth of invalid characters. Text in Latin-1 has less.
func Binary[T string | []byte](text T) bool {
	sample := []byte(text[:min(Sampled, len(text))])
	if bytes.IndexByte(sample, 0) >= 0 || bytes.HasPrefix(sample, []byte("%PDF-")) {
		return true
	}
	invalid := 0
	for b := sample; len(b) > 0; {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && utf8.FullRune(b) {
			invalid += size
		}
		b = b[size:]
	}
	return invalid*10 > len(sample)
}
