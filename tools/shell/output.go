package shell

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"mylm/tools"
)

const (
	// sniffed is how many bytes http.DetectContentType looks at.
	sniffed = 512

	// invalidShare is the share of NULs and invalid UTF-8, one byte in so many,
	// above which output is binary. Text in Latin-1 and file names separated by
	// NULs have less, programs, archives and UTF-16 have more.
	invalidShare = 10
)

// output keeps the beginning and the end of what is written to it, as text.
// Its memory does not grow with what is written.
type output struct {
	progress         func(string)
	headCap, tailCap int

	clean      cleaner
	buffer     []byte // of the last write, as text
	first      []byte // the first raw bytes, from which their type is determined
	raw        int    // bytes written
	head, tail []byte // text; tail holds up to twice its share
	size       int    // bytes of text
	lines      int    // newlines of text
}

func newOutput(limit int, progress func(string)) *output {
	head := limit * 2 / 3
	return &output{progress: progress, headCap: head, tailCap: limit - head}
}

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	if n := sniffed - len(o.first); n > 0 {
		o.first = append(o.first, p[:min(n, len(p))]...)
	}
	o.raw += len(p)
	o.buffer = o.clean.feed(o.buffer[:0], p)
	o.keep(o.buffer)
	return len(p), nil
}

func (o *output) binary() bool { return o.clean.invalid*invalidShare > o.raw }

func (o *output) keep(text []byte) {
	if len(text) == 0 {
		return
	}
	if !o.binary() {
		o.progress(string(text))
	}
	o.size += len(text)
	o.lines += bytes.Count(text, []byte{'\n'})
	n := min(o.headCap-len(o.head), len(text))
	o.head = append(o.head, text[:n]...)
	o.tail = append(o.tail, text[n:]...)
	if len(o.tail) > 2*o.tailCap {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-o.tailCap:]...)
	}
}

// text ends the output and returns what the model sees of it, and whether that
// is less than there was.
func (o *output) text() (text string, cut bool) {
	o.keep(o.clean.close(nil))
	if o.binary() {
		return fmt.Sprintf("(binary output, not shown: %d bytes, %s)", o.raw, http.DetectContentType(o.first)), true
	}
	if o.size <= o.headCap+o.tailCap {
		return strings.TrimRight(string(o.head)+string(o.tail), "\n"), false
	}
	tail := o.tail[len(o.tail)-min(o.tailCap, len(o.tail)):]
	missing := tools.Gap{Bytes: o.size - len(o.head) - len(tail), Breaks: o.lines - bytes.Count(o.head, []byte{'\n'}) - bytes.Count(tail, []byte{'\n'})}
	return strings.TrimRight(missing.Join(string(o.head), string(tail)), "\n"), true
}

// state is where in an escape sequence (ECMA-48) a cleaner is.
type state uint8

const (
	plain   state = iota
	escape        // after ESC
	control       // after ESC [, until a byte from @ to ~
	str           // after ESC ] and the like, until BEL or ESC \
)

// cleaner turns the output of a program into plain text: valid UTF-8 without escape sequences and without control
// characters but newline and tab. It may be fed in pieces of any size.
type cleaner struct {
	state   state
	cr      bool   // a carriage return whose meaning depends on the next character
	partial []byte // the start of a character, whose rest has not come yet
	invalid int    // bytes that text does not have: NUL and invalid UTF-8
}

// feed appends to dst what the bytes p mean.
func (c *cleaner) feed(dst, p []byte) []byte {
	if len(c.partial) > 0 {
		p = append(c.partial, p...)
		c.partial = nil
	}
	for len(p) > 0 {
		if n := c.simple(p); n > 0 { // nearly all there is, and it may be gigabytes
			dst, p = append(dst, p[:n]...), p[n:]
			continue
		}
		r, size := utf8.DecodeRune(p)
		if r == utf8.RuneError && size == 1 {
			if !utf8.FullRune(p) {
				c.partial = append(c.partial, p...)
				break
			}
			c.invalid++
		}
		dst = c.rune(dst, r)
		p = p[size:]
	}
	return dst
}

// simple is how many bytes at the start of p are plain text.
func (c *cleaner) simple(p []byte) int {
	if c.state != plain || c.cr {
		return 0
	}
	for i, b := range p {
		if (b < ' ' || b > '~') && b != '\n' && b != '\t' {
			return i
		}
	}
	return len(p)
}

// close appends what was held back.
func (c *cleaner) close(dst []byte) []byte {
	for range c.partial {
		c.invalid++
		dst = c.rune(dst, utf8.RuneError)
	}
	c.partial = nil
	if c.cr {
		c.cr = false
		dst = append(dst, '\n')
	}
	return dst
}

func (c *cleaner) rune(dst []byte, r rune) []byte {
	switch c.state {
	case escape:
		c.state = afterEscape(r)
	case control:
		if r >= '@' && r <= '~' {
			c.state = plain
			return dst
		}
		if r < ' ' || r > '~' {
			c.state = plain // not a sequence after all
			return c.text(dst, r)
		}
	case str:
		switch r {
		case '\a':
			c.state = plain
		case '\x1b':
			c.state = escape
		case '\n': // an unterminated one must not swallow all that follows
			c.state = plain
			return c.text(dst, r)
		}
	default:
		return c.text(dst, r)
	}
	if r == '\n' {
		return c.text(dst, r)
	}
	return dst
}

func afterEscape(r rune) state {
	switch {
	case r == '[':
		return control
	case r == ']', r == 'P', r == 'X', r == '^', r == '_':
		return str
	case r >= ' ' && r <= '/', r == '\x1b': // an intermediate byte; the final one follows
		return escape
	}
	return plain
}

// text appends one character outside an escape sequence. A carriage return
// alone starts a line over, as progress bars do; here it ends the line.
func (c *cleaner) text(dst []byte, r rune) []byte {
	if c.cr && r != '\r' {
		c.cr = false
		if r != '\n' {
			dst = append(dst, '\n')
		}
	}
	switch {
	case r == '\x1b':
		c.state = escape
	case r == '\r':
		c.cr = true
	case r == 0: // separates records, as in the output of find -print0
		c.invalid++
		dst = append(dst, '\n')
	case r == '\n', r == '\t', !unicode.IsControl(r):
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}
