package shell

import (
	"unicode"
	"unicode/utf8"
)

// state is where in an escape sequence (ECMA-48) a cleaner is.
type state uint8

const (
	plain   state = iota
	escape        // after ESC
	control       // after ESC [, until a byte from @ to ~
	str           // after ESC ] and the like, until BEL or ESC \
)

// cleaner turns the bytes of a program into text for a reader who is no
// terminal: valid UTF-8 without escape sequences and without control
// characters but newline and tab. It may be fed in pieces of any size.
type cleaner struct {
	state   state
	cr      bool   // a carriage return whose meaning the next character tells
	partial []byte // the start of a character, whose rest has not come yet
	alien   int    // bytes that text does not have: NUL and invalid UTF-8
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
			c.alien++
		}
		dst = c.rune(dst, r)
		p = p[size:]
	}
	return dst
}

// simple is how many bytes at the start of p stand for themselves.
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
		c.alien++
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
		c.alien++
		dst = append(dst, '\n')
	case r == '\n', r == '\t', !unicode.IsControl(r):
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}
