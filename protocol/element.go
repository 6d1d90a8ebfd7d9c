package protocol

import "strings"

// element is an element named like a tool, with elements for its arguments
// (D19), as Cline, Roo Code and Kilo Code have models write calls.
var element = &dialect{name: "element"}

// matchElement reads the opening tag of a tool's element that s begins with.
func (d *Decoder) matchElement(s string) (m mark, more bool) {
	if d.opts.Tools == nil || len(s) < 2 || !isWord(s[1]) {
		return mark{}, false
	}
	n := 1 + pathLen(s[1:])
	name := s[1:n]
	if n == len(s) {
		for _, tool := range d.opts.Tools.Names() {
			more = more || strings.HasPrefix(tool, name)
		}
		return mark{}, more && n < maxTag
	}
	if _, ok := d.opts.Tools.Schema(name); !ok || s[n] != '>' {
		return mark{}, false
	}
	return mark{tag: toolOpen, kind: element.name, name: name, n: n + 1}, false
}

// scanElement looks for the tool's closing tag. The first of an argument begins
// at once, or it is no call; a closing tag that is part of an argument is passed.
func scanElement(d *Decoder) (end int, state scanState) {
	h := &d.held
	if !h.begun {
		head := trimSpace(h.buf[min(h.open.n, len(h.buf)):])
		switch {
		case head == "" && len(h.buf) < maxBlank, head != "" && head[0] == '<' && len(head) < maxTag && !strings.Contains(head, ">"):
			return 0, scanMore
		case head == "" || head[0] != '<':
			return h.open.n, scanData
		}
		e, ok := elemAt(head)
		x := resolver{d: d, name: h.open.name}
		if !ok || e.closing || x.property(e.name) == nil {
			return h.open.n, scanData
		}
		h.begun = true
	}
	closer := "</" + h.open.name + ">"
	i := strings.Index(h.buf[h.span.pos:], closer)
	if i < 0 {
		h.span.pos = max(h.span.pos, len(h.buf)-len(closer)+1)
		return 0, scanMore
	}
	h.inside = h.span.pos + i
	h.span.pos = h.inside + len(closer)
	h.closed = true
	return h.span.pos, scanMaybe
}

// toolElement reads the arguments. An argument ends at the first of its closing
// tags that another argument, or the end of the call, follows.
func (x *resolver) toolElement() *readError {
	for {
		x.blank()
		rest := x.rest()
		if rest == "" && (x.tagged || len(x.children) > 0) {
			return nil
		}
		e, ok := elemAt(rest)
		switch {
		case !ok && !x.closed && len(x.children) > 0 && strings.HasPrefix("</"+x.name+">", rest):
			return nil
		case !ok && !x.closed:
			return x.cut()
		case !ok || e.closing || e.empty || e.attrs != "":
			x.stray = true
			return x.fail(BadJSON, "an argument is not in an element of its own")
		}
		x.pos += e.n
		closer := "</" + e.name + ">"
		end, at := -1, 0
		for rest = x.rest(); ; {
			i := strings.Index(rest[at:], closer)
			if i < 0 {
				break
			}
			at += i + len(closer)
			if next, ok := elemAt(trimSpace(rest[at:])); ok && !next.closing && x.property(next.name) != nil || blank(rest[at:]) || end < 0 {
				end = at
				if ok || blank(rest[at:]) {
					break
				}
			}
		}
		if end < 0 {
			return x.cut()
		}
		x.children = append(x.children, child{e.name, verbatim(e.name, rest[:end-len(closer)])})
		x.pos += end
	}
}

// verbatim is the text of an argument: what a file is to hold, byte for byte,
// and anything else without the white space around it.
func verbatim(name, text string) string {
	if name == "content" || name == "diff" {
		return text
	}
	return strings.TrimSpace(text)
}
