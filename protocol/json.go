package protocol

import (
	"encoding/json"
	"slices"
	"strings"
)

// The names under which models write the parts of a call in JSON, folded: function_name is
// functionname. Those of D2; callKeys hold a call or a list of calls, as D4 has it.
var (
	nameKeys  = map[string]bool{"name": true, "tool": true, "toolname": true, "functionname": true, "function": true, "action": true}
	argsKeys  = map[string]bool{"arguments": true, "parameters": true, "args": true, "params": true, "kwargs": true, "input": true, "actioninput": true, "toolinput": true, "functionargs": true}
	callKeys  = map[string]bool{"toolcalls": true, "toolcall": true, "functioncall": true, "functioncalls": true, "calls": true}
	otherKeys = map[string]bool{"type": true, "id": true, "callid": true, "toolcallid": true, "index": true}
)

// envelope reads a call that is one JSON value, or the first of a list of them (D1, D4).
func (x *resolver) envelope() {
	start := x.pos
	value, missing := x.read()
	end := x.pos
	x.pos = start
	x.fromJSON(value, missing, 0)
	x.pos, x.several = end, true
	x.behind()
	if !x.bare && strings.HasPrefix(x.rest(), "{") {
		y := *x
		x.named(func() {
			value, missing := y.read()
			y.fromJSON(value, missing, 0)
		})
	}
	x.elements()
}

// named refuses the call if read, of the value behind it, finds one without a
// name: the two may be parts of one call (D4).
func (x *resolver) named(read func()) {
	if err := try(read); err != nil && err.Reason == NoName {
		x.fail(Ambiguous, "a second value without a name follows the first")
	}
}

// fromJSON finds name and arguments in a value, and decides which form of D2, D4 or D5 it has.
func (x *resolver) fromJSON(value json.RawMessage, missing, depth int) {
	switch {
	case value[0] == '[' && depth < 4:
		x.fromList(split(value), missing, depth)
		return
	case value[0] == '"': // D14: a call in a string
		x.fromString(text(value))
		return
	case value[0] != '{' || depth > 4:
		x.fail(NoName, "the call is not a JSON object")
	}
	p := x.partsOf(value)
	switch {
	case p.inner != nil: // D2, D4
		x.fromInner(p, missing, depth)
	case p.name == nil && missing == 1: // D5
		x.swallowed(p.args, p.rest)
	case missing > 0: // V19
		x.fail(BadJSON, "a closing brace is missing")
	case p.name == nil && !x.fromKey(p): // B21
		x.fail(NoName, "the call names no tool")
	case p.name != nil:
		x.fromParts(p)
	}
}

// fromKey reads a call behind a token that is an object with the tool's name for
// its key (D20), as Apertus writes it.
func (x *resolver) fromKey(p parts) bool {
	if x.dialect.tokens == nil || len(p.rest) != 1 || p.args != nil || len(p.aside) > 0 || p.rest[0].value[0] != '{' {
		return false
	}
	if _, known := x.d.declared(p.rest[0].key); !known {
		return false
	}
	x.name = p.rest[0].key
	x.take(p.rest[0].value)
	return true
}

// fromList decides D4: it takes the first of a list of calls.
func (x *resolver) fromList(list []member, missing, depth int) {
	if len(list) == 0 {
		x.fail(NoName, "the list of calls is empty")
	}
	x.fromJSON(list[0].value, missing, depth+1)
	if len(list) > 1 {
		y := &resolver{d: x.d, dialect: x.dialect}
		x.named(func() { y.fromJSON(list[1].value, 0, depth+1) })
	}
}

// fromString reads a call of Python that is written in a string (D14).
func (x *resolver) fromString(s string) {
	y := &resolver{d: x.d, dialect: x.dialect, cursor: cursor{src: strings.TrimSpace(s)}, closed: true, bare: true}
	if err := try(y.python); err != nil || !blank(strings.Trim(y.rest(), ";")) {
		x.fail(NoName, "the call names no tool")
	}
	x.repair("python_call", x.pos)
	x.name, x.args = y.name, y.args
}

// parts are the members of an object that may be a call.
type parts struct {
	name, args json.RawMessage
	argsKey    string          // the key of args
	inner      json.RawMessage // a call, or a list of calls
	aside      []member        // what APIs write beside every call, and thoughts
	rest       []member
}

// partsOf decides D2: which members of an object are the name and the arguments, or hold a call
// (D4), and which are left out.
func (x *resolver) partsOf(object json.RawMessage) (p parts) {
	for _, m := range split(object) {
		switch key := fold(m.key); {
		case (callKeys[key] || key == "function" && m.value[0] == '{') && p.inner == nil:
			p.inner = m.value
		case callKeys[key]:
			x.fail(Ambiguous, "two calls are in one object") // D4: refused
		case nameKeys[key] && m.value[0] == '"' && p.name == nil:
			p.name = m.value
		case argsKeys[key] && p.args == nil:
			p.args, p.argsKey = m.value, m.key
		case otherKeys[key] || thoughtNames[key]:
			p.aside = append(p.aside, m)
		default:
			p.rest = append(p.rest, m)
		}
	}
	return p
}

// fromInner reads a call that is a member of its own. It decides D2, and P14 for
// members of the call's object, of what may stand beside it: what an API writes there.
func (x *resolver) fromInner(p parts, missing, depth int) {
	if p.name != nil || p.args != nil {
		x.fail(Ambiguous, "a name or arguments are beside the call")
	}
	x.fromJSON(p.inner, missing, depth+1)
	for _, m := range append(p.rest, p.aside...) {
		if !otherKeys[fold(m.key)] {
			x.fail(Ambiguous, "%q is beside the call", m.key)
		}
	}
}

// fromParts reads a call whose name is in the object. It decides D3: its arguments are their
// member or, if there is none, the rest of the object; for P14, that no member is dropped that
// may be a part of the call; and for D4, that the definition of a tool is no call.
func (x *resolver) fromParts(p parts) {
	x.name = text(p.name)
	args, rest, described := p.args, p.rest, false
	if args != nil && args[0] != '{' && x.property(p.argsKey) != nil { // D3: an argument of that name
		rest, args = append(rest, member{p.argsKey, args}), nil
	}
	for _, m := range p.aside {
		declared := x.property(m.key) != nil
		described = described || m.key == "description" && !declared
		if declared && !hasMember(args, m.key) && (args == nil || !isMeta(m)) {
			rest = append(rest, m)
		}
	}
	switch {
	case described && (args == nil || args[0] != '{'),
		hasMember(args, "properties") && (described || hasMember(args, "type")) && x.property("properties") == nil:
		x.name = "" // D4: a definition
		x.fail(NoName, "it is the definition of a tool")
	case args == nil: // D3: the rest
		if s, _ := x.d.opts.Tools.Schema(x.tool()); len(rest) > 0 && s != nil && s.Properties != nil && len(s.Properties) == 0 {
			x.fail(Ambiguous, "%q is beside the name of a tool without arguments", rest[0].key)
		}
		args = join(rest)
	case len(rest) > 0: // D3, P14
		x.fail(Ambiguous, "%q is beside the arguments", rest[0].key)
	}
	x.take(args)
}

// isMeta reports whether a member is what APIs write beside the arguments of every call, the
// exception in P14: "type": "function", "id": "call_…".
func isMeta(m member) bool {
	return otherKeys[fold(m.key)] && slices.ContainsFunc([]string{"function", "tool", "call", "chatcmpl"}, func(p string) bool { return strings.HasPrefix(text(m.value), p) })
}

// hasMember reports whether value is an object with a member of that name.
func hasMember(value json.RawMessage, name string) bool {
	return slices.ContainsFunc(split(value), func(m member) bool { return fold(m.key) == fold(name) })
}

// take sets the arguments. It decides P2, P10 and P12: an object, null, or a string that holds
// an object; anything else is refused.
func (x *resolver) take(args json.RawMessage) {
	switch args[0] {
	case '{':
		x.args = args
		return
	case 'n': // P2
		x.args = json.RawMessage("{}")
		return
	case '"':
		y := &resolver{d: x.d, cursor: cursor{src: text(args)}}
		if err := try(func() { x.args, _ = y.read() }); err == nil && x.args[0] == '{' && blank(y.rest()) {
			x.repair("stringified_arguments", x.pos) // P10
			x.repairs = append(x.repairs, y.repairs...)
			return
		}
	}
	x.fail(NotObject, "the arguments must be one JSON object") // P12
}

// swallowed decides D5: in {"arguments": {…, "name": "tool"} with the brace between missing, the
// last member is the name, if it is that of a tool.
func (x *resolver) swallowed(args json.RawMessage, rest []member) {
	ms := split(args)
	n := len(ms) - 1
	if n < 0 || ms[n].key != "name" || len(rest) > 0 || x.d.anyTool {
		x.fail(BadJSON, "a closing brace is missing")
	}
	tool, known := x.d.declared(tidyName(text(ms[n].value)))
	x.name = tool
	if !known || x.property("name") != nil {
		x.name = ""
		x.fail(Ambiguous, "a closing brace is missing")
	}
	x.repair("missing_brace", x.pos)
	x.args = join(ms[:n])
}

// memberStart is the key of a member, and its value if that is a word or begins
// an object, perhaps in a string.
var memberStart = lazyRegexp(`["']([\w.-]+)["']\s*:\s*(?:["']([\w.-]+)["']|("?\{))?`)

// object decides A8 and B19 for an object at a place, up to a blank line: a call, of the tool that
// it names, or the message of a result.
func (f *finder) object(s string, at int) guess {
	if !f.shown && f.d.isMessage(s[:min(len(s), maxTag)]) { // B19
		return guess{invented: true}
	}
	if f.streams && !strings.Contains(s, blankLine) {
		return guess{at: at, until: blankLine}
	}
	g := found(f.inObject(s))
	if g.tool == "" && !f.d.opts.Told && nameAndArgs().MatchString(s) { // A8: of any tool, at the end of the reply
		value := f.value(s)
		x := &resolver{d: f.d, dialect: bare, cursor: cursor{src: value}, bare: true}
		call, err := x.call()
		switch ends := err == nil && blank(endTokens().ReplaceAllString(f.within(s[len(value):], maxElem), "")); {
		case f.streams && err != nil && err.Reason == Truncated: // the blank line is inside
			return guess{at: at, until: blankLine}
		case f.streams && ends:
			g.waits = true
		case ends:
			g = found(call.Name)
		}
	}
	g.at = at
	return g
}

// inObject returns the tool that an object, or the first of a list, names (A8): under one of
// nameKeys with an object beside it, or as the key of one. A definition of a tool names none.
func (f *finder) inObject(s string) (tool string) {
	value := f.value(s)
	if strings.ContainsAny(value, "'/#") { // its end may be none: in other quotes, or in a comment
		value = f.ahead(s, 1<<16)
	}
	s, _, _ = strings.Cut(value, blankLine)
	args, called := false, ""
	var keys []string
	for _, m := range memberStart().FindAllStringSubmatch(s, -1) {
		key, value, opens := m[1], m[2], m[3] != ""
		keys = append(keys, key)
		_, isTool := f.d.opts.Tools.Schema(key)
		named, known := f.d.declared(value)
		switch {
		case key == "properties" && !echoed().MatchString(s), key == "description":
			return ""
		case opens && isTool:
			tool, args = key, true
		case opens && argsKeys[fold(key)], key == "action_input":
			args = true
		case known && (nameKeys[fold(key)] || key == "recipient_name") && tool == "":
			tool = named
		case f.d.stands(value) && called == "": // under another key
			called = value
		}
	}
	if tool == "" && args {
		tool = called
	}
	if tool == "" || !args && !slices.ContainsFunc(keys, func(key string) bool { return !nameKeys[fold(key)] && f.d.property(tool, key) != nil }) || f.wrapped(s) {
		return ""
	}
	return tool
}

// echoed is a schema with values in place of what it says of them, as Llama 3 writes it.
var echoed = lazyRegexp(`"properties"\s*:\s*\{\s*"[\w-]+"\s*:\s*[^{\s]`)

// wrapped reports whether a call that an object holds is one part of it among others, as in a
// request of a protocol, a response or a list of messages: there it is quoted, A8 says.
func (f *finder) wrapped(s string) (is bool) {
	x := resolver{d: f.d, dialect: bare, cursor: cursor{src: s}}
	_ = try(func() {
		value, _ := x.read()
		is = x.among(value)
	})
	return is
}

// among is the same for a value.
func (x *resolver) among(value json.RawMessage) bool {
	members := split(value)
	if value[0] == '[' {
		return len(members) > 0 && x.among(members[0].value)
	}
	p := x.partsOf(value)
	if p.name != nil || p.inner != nil || slices.ContainsFunc(p.rest, func(m member) bool {
		_, known := x.d.opts.Tools.Schema(m.key)
		return known || m.key == "recipient_name" || x.d.stands(strings.Trim(string(m.value), `"`))
	}) {
		return false
	}
	return len(p.rest) != 1 || x.among(p.rest[0].value)
}
