package protocol

import "strings"

// python is a reply that is a call as Python writes it, or a list of them, bare
// or in strings (D14).
var python = &dialect{name: "python"}

func opensPython(d *Decoder, s string, first bool) (ok, more bool) {
	if !first {
		return false, false
	}
	bracket := s[0] == '['
	if bracket {
		rest := trimSpace(s[1:])
		if rest == "" || len(s)-len(rest) > maxTag {
			return false, rest == "" && len(s) < maxTag
		}
		if s = rest; s[0] == '"' || s[0] == '\'' {
			s = s[1:]
		}
	}
	return d.opensCall(s, bracket)
}

// opensCall reports whether s begins with the name of a tool and a parenthesis.
func (d *Decoder) opensCall(s string, bracket bool) (ok, more bool) {
	end := pathLen(s)
	switch {
	case end >= maxTag:
		return false, false
	case end == len(s): // any word may be a namespace
		return false, true
	case s[end] != '(' || end == 0:
		return false, false
	case s[:end] == "print" && !bracket:
		return d.opensCall(s[end+1:], true)
	}
	if _, known := d.declared(tidyName(s[:end])); known {
		return true, false
	}
	if !bracket {
		return false, false
	}
	// A list of calls is one though the first names no tool, if it names its arguments (D18).
	args := trimSpace(s[end+1:])
	key := trimSpace(args[min(len(args), pathLen(args)):])
	return pathLen(args) > 0 && key != "" && key[0] == '=', key == "" && len(s) < maxTag
}

// pathLen is the length of the name, with dots, that s begins with.
func pathLen(s string) int {
	end := 0
	for end < min(len(s), maxTag) && (isWord(s[end]) || s[end] == '.' || s[end] == '\\' || s[end] == '-') {
		end++
	}
	return end
}

// isPath reports whether s is a name as code writes one, with dots and with
// underscores that Markdown escaped.
func isPath(s string) bool {
	s = strings.ReplaceAll(s, `\_`, "_")
	for i := range len(s) {
		if c := s[i]; !isWord(c) && (i == 0 || c != '.' && c != '-') {
			return false
		}
	}
	return s != "" && !isDigit(s[0])
}

// pythonList reports whether s begins with a list of calls as Python writes
// them: a bracket, a name, a parenthesis.
func pythonList(s string) bool {
	s = trimSpace(s[1:])
	return strings.HasPrefix(s[pathLen(s):], "(") && isPath(s[:pathLen(s)])
}

// python reads one call as Python writes it: name(key=value, …) with literal
// values, perhaps the first of several, perhaps inside print() (D15). It is read
// as data; nothing is run or looked up, and code around it is refused.
func (x *resolver) python() *readError {
	list := strings.HasPrefix(x.rest(), "[")
	if list {
		x.pos++
		x.blank()
	}
	printed := strings.HasPrefix(x.rest(), "print(")
	if printed {
		x.pos += len("print(")
		x.blank()
	}
	head, _, ok := strings.Cut(x.rest(), "(")
	name := strings.TrimSpace(head)
	switch {
	case !ok && !x.closed && (name == "" || isPath(name)):
		return x.cut()
	case !ok || !isPath(name):
		return x.fail(NoName, "the call names no tool")
	}
	x.repair("python_call")
	x.name = name
	x.pos += len(head) + 1
	if err := x.keywords(); err != nil {
		return err
	}
	if printed {
		if x.blank(); !strings.HasPrefix(x.rest(), ")") {
			return x.fail(BadJSON, "code around the call is not run")
		}
		x.pos++
	}
	start := x.pos
	x.otherCalls(list)
	if x.bare {
		return nil
	}
	between := x.src[start:x.pos]
	x.blank()
	rest := x.rest()
	if rest != "" && rest[0] != '<' && rest[0] != '`' && !strings.Contains(between+x.src[start:x.pos], "\n") {
		return x.fail(BadJSON, "code around the call is not run")
	}
	return x.elements()
}

// otherCalls moves past the calls that follow one, in a list, on lines of their
// own or behind a semicolon. They are not looked at closely.
func (x *resolver) otherCalls(list bool) {
	for {
		start := x.pos
		x.pos = len(x.src) - len(trimSpace(x.rest()))
		rest := x.rest()
		switch {
		case list && strings.HasPrefix(rest, "]"):
			x.pos++
			list = false
			continue
		case list && !strings.HasPrefix(rest, ","):
			return
		case list, strings.HasPrefix(rest, ";"):
			x.pos++
			x.pos = len(x.src) - len(trimSpace(x.rest()))
		}
		y := &resolver{d: x.d, dialect: x.dialect, src: x.src, pos: x.pos, bare: true}
		head, _, _ := strings.Cut(y.rest(), "(")
		switch name := strings.TrimSpace(head); {
		case strings.HasPrefix(rest, ";") && y.rest() == "":
			return
		case !strings.HasPrefix(y.rest()[len(head):], "(") || !isPath(name):
			x.pos = start
			return
		}
		y.pos += len(head) + 1
		if err := y.keywords(); err == nil {
			x.pos = y.pos
		} else if end := strings.TrimRight(x.src, " \t\r\n"); list && x.bare && strings.HasSuffix(end, "]") {
			x.pos = len(x.src) // whatever the others are, the list ends with the reply
			return
		} else {
			x.pos = start
			return
		}
	}
}

// keywords reads keyword arguments up to the closing parenthesis. One object in
// their place is taken for them.
func (x *resolver) keywords() *readError {
	r := reader{src: x.src, pos: x.pos, maxDepth: x.d.opts.MaxDepth, python: true, depth: 1}
	more, err := r.next(')', true)
	if err != nil {
		return err
	}
	if more && r.peek() == '{' {
		if err := r.value(inTuple); err != nil {
			return err
		}
		if more, _, err = r.more(')'); err != nil || more {
			return r.fail("the arguments are given twice")
		}
		x.args, x.pos = r.out, r.pos
		x.repairs = append(x.repairs, r.repairs...)
		return nil
	}
	var ms []member
	seen := map[string]bool{}
	for more {
		start := r.pos
		for !r.end() && (isWord(r.peek()) || r.peek() == '\\') {
			r.pos++
		}
		key := strings.ReplaceAll(r.src[start:r.pos], `\_`, "_")
		if _, err := r.space(); err != nil {
			return err
		}
		switch {
		case r.end():
			return r.cut()
		case r.peek() != '=' || key == "":
			r.pos = start
			return r.fail("the arguments need their names: name(key=value)")
		}
		r.pos++
		r.out = nil
		if err := r.value(inTuple); err != nil {
			return err
		}
		if seen[key] {
			return &readError{reason: DuplicateKey, pos: start, detail: "an argument is given twice"}
		}
		seen[key] = true
		ms = append(ms, member{key, r.out})
		if more, _, err = r.more(')'); err != nil {
			return err
		}
	}
	x.args, x.pos = join(ms), r.pos
	x.repairs = append(x.repairs, r.repairs...)
	return nil
}

// named is a reply that is the name of a tool and, on the next line, an object
// (D16).
var named = &dialect{name: "named"}

func (x *resolver) named() *readError {
	name, object, _ := strings.Cut(x.src, "{")
	x.name, x.pos = strings.TrimSpace(name), len(x.src)-len(object)-1
	return x.object()
}

func opensNamed(d *Decoder, s string, first bool) (ok, more bool) {
	end := pathLen(s)
	switch {
	case !first || end >= maxTag || end == 0:
		return false, false
	case end == len(s):
		return false, true
	}
	if _, known := d.declared(tidyName(s[:end])); !known {
		return false, false
	}
	rest := trimSpace(s[end:])
	space := len(s) - end - len(rest)
	if rest == "" || space >= maxTag {
		return false, rest == "" && space < maxTag
	}
	return rest[0] == '{' && strings.Contains(s[end:end+space], "\n"), false
}
