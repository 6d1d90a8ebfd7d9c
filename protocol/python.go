package protocol

import "strings"

// pythonList reports whether s begins with a list of calls as Python writes
// them: a bracket, a name, a parenthesis.
func pythonList(s string) bool {
	s = strings.TrimLeft(s[1:], " \t\r\n")
	name, _, ok := strings.Cut(s, "(")
	return ok && isPath(name)
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

// python reads one call as Python writes it: name(key=value, …) with literal
// values, perhaps the first of a list, perhaps inside print(). It is read as
// data; nothing is run or looked up, and code around it is refused.
func (x *resolver) python() *readError {
	list := strings.HasPrefix(x.rest(), "[")
	if list {
		x.pos++
		x.space()
	}
	printed := strings.HasPrefix(x.rest(), "print(")
	if printed {
		x.pos += len("print(")
		x.space()
	}
	head, _, ok := strings.Cut(x.rest(), "(")
	name := strings.TrimSpace(head)
	switch {
	case !ok && !x.closed && (name == "" || isPath(name)):
		return x.cut()
	case !ok || !isPath(name):
		return x.fail(NoName, "the call names no tool")
	}
	x.mend("python_call")
	x.name = name
	x.pos += len(head) + 1
	if err := x.arguments(); err != nil {
		return err
	}
	if printed {
		if x.space(); !strings.HasPrefix(x.rest(), ")") {
			return x.fail(BadJSON, "code around the call is not run")
		}
		x.pos++
	}
	if x.bare {
		return nil
	}
	if err := x.afterPython(list); err != nil {
		return err
	}
	return x.around(x.rest(), false)
}

// otherCalls moves past the calls that follow one, as of a list or on lines of
// their own.
func (x *resolver) otherCalls(list bool) {
	for {
		start := x.pos
		x.space()
		switch rest := x.rest(); {
		case list && strings.HasPrefix(rest, ","):
			x.pos++
			x.space()
		case list && strings.HasPrefix(rest, "]"):
			x.pos++
			return
		case list:
			return
		}
		y := &resolver{d: x.d, src: x.src, pos: x.pos, bare: true, utf8: x.utf8, checked: x.checked}
		if y.python() != nil {
			x.pos = start
			return
		}
		x.pos, x.utf8, x.checked = y.pos, y.utf8, y.checked
	}
}

// afterPython looks at what stands behind a call: nothing, a tag, the next one.
func (x *resolver) afterPython(list bool) *readError {
	x.otherCalls(list)
	start := x.pos
	x.space()
	rest := x.rest()
	switch {
	case rest == "", rest[0] == '<', rest[0] == '`':
	case strings.IndexByte(x.src[start:x.pos], '\n') >= 0:
	default:
		return x.fail(BadJSON, "code around the call is not run")
	}
	return nil
}

// arguments reads keyword arguments up to the closing parenthesis. One object
// in their place is taken for them.
func (x *resolver) arguments() *readError {
	r := x.reader()
	r.python, r.depth = true, 1
	more, err := r.begin(')')
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
		if err := r.space(); err != nil {
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
