package protocol

import (
	"fmt"
	"html"
	"strings"
)

// elem is one opening or closing tag inside a block.
type elem struct {
	name    string // as written
	fold    string
	attrs   string
	closing bool
	empty   bool // <x/>
	n       int  // length
}

// maxElem bounds a tag inside a block, attributes included.
const maxElem = 4096

// elemAt reads the tag at the beginning of s; ok is false if there is none.
func elemAt(s string) (e elem, ok bool) {
	end := strings.IndexByte(s[:min(len(s), maxElem)], '>')
	if len(s) < 3 || s[0] != '<' || end < 0 {
		return e, false
	}
	inner := strings.TrimSpace(s[1:end])
	e.n = end + 1
	inner, e.closing = strings.CutPrefix(inner, "/")
	inner, e.empty = strings.CutSuffix(inner, "/")
	inner = strings.TrimSpace(inner)
	k := strings.IndexFunc(inner, func(r rune) bool { return r == '=' || r <= ' ' })
	if k < 0 {
		k = len(inner)
	}
	e.name, e.attrs = inner[:k], strings.TrimSpace(inner[k:])
	e.fold = fold(e.name)
	switch {
	case e.closing && e.attrs != "", strings.Contains(e.attrs, "<") && !strings.ContainsAny(e.attrs, `"'`):
		return e, false
	}
	return e, e.fold != "" && !strings.ContainsAny(e.name, "<\"'{}")
}

// argument is the name of the argument that the element gives.
func (e elem) argument() string {
	if e.fold == "parameter" || e.fold == "arg" || e.fold == "param" {
		return nameAttr(e.attrs)
	}
	return e.name
}

// elementText reads the text of an element up to its closing tag. Elements of
// the same name may stand in it, closed like it.
func (x *resolver) elementText(e elem) (value string, err *readError) {
	x.pos += e.n
	if e.empty {
		return "", nil
	}
	rest := x.rest()
	if after, ok := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), "<![CDATA["); ok {
		return x.cdata(after)
	}
	inner, nested := 0, false
	for at := 0; ; at++ {
		k := strings.IndexByte(rest[at:], '<')
		if k < 0 && nested && x.closed {
			return "", x.fail(Ambiguous, fmt.Sprintf("<%s> stands in itself and is not closed", clip(e.name)))
		}
		if k < 0 {
			return "", x.cut()
		}
		at += k
		c, ok := elemAt(rest[at:min(len(rest), at+maxTag)])
		switch {
		case !ok || c.fold != e.fold || c.empty:
		case !c.closing:
			inner, nested = inner+1, true
		case inner > 0:
			inner--
		default:
			x.pos += at + c.n
			return plain(rest[:at]), nil
		}
	}
}

// cdata reads the text of an element that is one CDATA section, from behind the
// section's beginning.
func (x *resolver) cdata(after string) (value string, err *readError) {
	value, tail, ok := strings.Cut(after, "]]>")
	if !ok {
		return "", x.cut()
	}
	x.mend("cdata")
	x.pos = len(x.src) - len(tail)
	tail = strings.TrimLeft(tail, " \t\r\n")
	if c, ok := elemAt(tail); ok && c.closing {
		x.pos = len(x.src) - len(tail) + c.n
	}
	return value, nil
}

// plain takes the line ends away that set a text off from its tags; a text of
// several lines keeps its last, as a file does. It decodes character references
// if the text is escaped as XML is: without a bare <.
func plain(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "\r"), "\n")
	if line := strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r"); strings.IndexByte(line, '\n') < 0 {
		s = line
	}
	if strings.IndexByte(s, '<') < 0 && strings.Contains(s, "&") {
		return unescape(s)
	}
	return s
}

// unescape decodes the character references that end in a semicolon; others are
// parts of addresses: ?a=1&copy=2.
func unescape(s string) string {
	var b strings.Builder
	for {
		amp := strings.IndexByte(s, '&')
		if amp < 0 {
			break
		}
		b.WriteString(s[:amp])
		s = s[amp:]
		n := 1
		for n < min(len(s), maxReference) && (s[n] == '#' || isDigit(s[n]) || 'a' <= lower(s[n]) && lower(s[n]) <= 'z') {
			n++
		}
		if n < len(s) && s[n] == ';' {
			n++
			b.WriteString(html.UnescapeString(s[:n]))
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	b.WriteString(s)
	return b.String()
}

// maxReference is more than the longest name of a character.
const maxReference = 40
