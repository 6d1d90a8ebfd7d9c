package protocol

import "strings"

// bare is a reply that is a call without tags, and nothing else: JSON, a list of
// such, a call or calls as Python writes them, bare or in strings, or a name and
// an object on the next line.
var bare = &dialect{name: "bare"}

// functools is what Phi 4 mini and Firefunction write before a list of calls.
const functools = "functools"

// opensBare decides D10, D14, D16 and D18 at the reply's beginning: whether it may be a call
// without tags. Decoder.bare judges what is around it.
func opensBare(d *Decoder, s string, first bool) (ok, more bool) {
	if !first || s[0] == '{' { // D10
		return first, false
	}
	list := strings.HasPrefix(strings.TrimPrefix(s, functools), "[")
	inner := s
	if list {
		_, inner, _ = strings.Cut(s, "[")
		if inner = trimSpace(inner); inner == "" || len(s)-len(inner) >= maxTag {
			return false, len(s) < maxTag
		}
		if inner[0] == '"' || inner[0] == '\'' {
			inner = inner[1:]
		}
	}
	inner, printed := strings.CutPrefix(inner, "print(") // D15
	end := pathLen(inner)
	if end == len(inner) || end >= maxTag { // any word may be a namespace
		return false, end < maxTag
	}
	_, known := d.declared(tidyName(inner[:end]))
	after := trimSpace(inner[end:])
	switch {
	case list && inner[0] == '{': // D10
		return true, false
	case end > 0 && inner[end] == '(': // D14
		if known || !list && !printed {
			return known, false
		}
		// A list of calls is one though the first names no tool, if it names its arguments (D18).
		args := trimSpace(inner[end+1:])
		key := trimSpace(args[pathLen(args):])
		return pathLen(args) > 0 && strings.HasPrefix(key, "="), key == "" && len(inner) < maxTag
	case !known || list || printed || len(inner)-len(after) >= maxTag:
		return false, false
	}
	// D16: an object on the next line.
	return strings.HasPrefix(after, "{") && strings.Contains(inner[end:len(inner)-len(after)], "\n"), after == ""
}

// bareCall reads such a reply and names its dialect.
func (x *resolver) bareCall() {
	x.skip(functools)
	rest := x.rest()
	switch {
	case strings.HasPrefix(trimSpace(strings.TrimPrefix(rest, "[")), "{"):
		x.form = "json" // D10
	case strings.HasPrefix(trimSpace(rest[pathLen(rest):]), "{"):
		x.form = "named" // D16
	default:
		x.form = "python" // D14
	}
	x.content()
}

// pathLen is the length of the name, with dots, that s begins with.
func pathLen(s string) int {
	end := 0
	for end < min(len(s), maxTag) && (isWord(s[end]) || s[end] == '.' || s[end] == '\\' || s[end] == '-') {
		end++
	}
	return end
}

// isPath reports whether s is a name as code writes one.
func isPath(s string) bool {
	return s != "" && isWord(s[0]) && !isDigit(s[0]) && pathLen(s) == len(s)
}

// pythonList reports whether s begins with a list of calls as Python writes them (D14): a
// bracket, a name, a parenthesis.
func pythonList(s string) bool {
	s = trimSpace(s[1:])
	return strings.HasPrefix(s[pathLen(s):], "(") && isPath(s[:pathLen(s)])
}

// python reads one call as Python writes it: name(key=value, …) with literal values. Of what it
// reads it decides D14 and D15: the first of several calls, perhaps inside print(). It is read
// as data; nothing is run or looked up, and code around it is refused.
func (x *resolver) python() {
	list, printed := x.skip("["), x.skip("print(")
	head, _, ok := strings.Cut(x.rest(), "(")
	name := strings.TrimSpace(head)
	switch {
	case !ok && !x.closed && (name == "" || isPath(name)):
		x.cut()
	case !ok || !isPath(name):
		x.fail(NoName, "the call names no tool")
	}
	x.repair("python_call", x.pos)
	x.name = name
	x.pos += len(head) + 1
	x.keywords()
	if x.blank(); printed && !x.skip(")") {
		x.fail(BadJSON, "code around the call is not run")
	}
	x.pos = strings.LastIndexByte(x.src[:x.pos], ')') + 1
	start := x.pos
	x.otherCalls(list)
	if x.bare {
		return
	}
	x.blank()
	if rest := x.rest(); rest != "" && rest[0] != '<' && rest[0] != '`' && !strings.Contains(x.src[start:x.pos], "\n") {
		x.fail(BadJSON, "code around the call is not run")
	}
	x.elements()
}

// otherCalls moves past the calls that follow one, in a list, on lines of their own or behind a
// semicolon. It decides for D14 what may follow the first call. They are not looked at closely.
func (x *resolver) otherCalls(list bool) {
	for {
		rest := strings.TrimLeft(x.rest(), " \t\r\n,;]")
		x.pos = len(x.src) - len(rest)
		y := *x
		y.pos += pathLen(rest)
		if y.pos == x.pos || !y.skip("(") {
			return
		}
		if err := try(y.keywords); err != nil {
			if list && x.bare && strings.HasSuffix(strings.TrimRight(rest, " \t\r\n"), "]") {
				x.pos = len(x.src) // whatever the others are, the list ends with the reply
			}
			return
		}
		x.pos = y.pos
	}
}

// keywords reads keyword arguments up to the closing parenthesis. It decides for D14 what stands
// there: one object in their place is taken for them, positional arguments key refuses.
func (x *resolver) keywords() {
	x.cursor.python = true
	r := reader{cursor: &x.cursor, maxDepth: x.d.opts.MaxDepth, depth: 1}
	if r.space(); r.peek() == '{' {
		r.value(inTuple)
		if more, _ := r.more(')'); more {
			r.fail(BadJSON, "the arguments are given twice")
		}
	} else {
		r.object(')', '=', inTuple)
	}
	x.args = r.json()
}
