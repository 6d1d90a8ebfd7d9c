package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// jsonValue is a reply that is one JSON value (D10).
var jsonValue = &dialect{name: "json"}

func opensJSON(_ *Decoder, s string, first bool) (ok, more bool) {
	if !first || s[0] != '{' && s[0] != '[' {
		return false, false
	}
	after := trimSpace(s[1:])
	if s[0] == '{' || after == "" || len(s)-len(after) >= maxTag {
		return s[0] == '{', s[0] == '[' && after == "" && len(s) < maxTag
	}
	return after[0] == '{', false
}

// scanJSON follows the value. When it is whole, it is either a call of a known
// tool or data; as long as it is neither, quotes of another kind may have put the
// scan off.
func scanJSON(d *Decoder) (end int, state scanState) {
	h := &d.held
	for h.span.pos < len(h.buf) {
		h.span.step(h.buf[h.span.pos])
		if h.span.depth > 0 || h.tries >= maxTries {
			continue
		}
		h.tries++
		x := d.resolver(h.buf[:h.span.pos], true)
		call, err := x.call()
		switch {
		case err == nil:
			if _, known := d.declared(call.Name); known {
				return h.span.pos, scanEnd
			}
			return h.span.pos, scanData
		case err.reason == BadJSON && strings.ContainsRune(x.src, '\''):
		case err.reason == NoName:
			return h.span.pos, scanData
		default:
			return h.span.pos, scanEnd
		}
	}
	return 0, scanMore
}

// The names under which models write the parts of a call in JSON, folded (D2).
var (
	nameKeys  = map[string]bool{"name": true, "tool": true, "toolname": true, "functionname": true, "function": true, "action": true}
	argsKeys  = map[string]bool{"arguments": true, "parameters": true, "args": true, "params": true, "kwargs": true, "input": true, "actioninput": true, "toolinput": true, "functionargs": true}
	callKeys  = map[string]bool{"toolcalls": true, "toolcall": true, "functioncall": true, "functioncalls": true, "calls": true}
	otherKeys = map[string]bool{"type": true, "id": true, "callid": true, "toolcallid": true, "index": true}
)

// envelope reads a call that is one JSON value, or the first of a list of them.
func (x *resolver) envelope() *readError {
	start := x.pos
	value, missing, err := x.read()
	if err != nil {
		return err
	}
	end := x.pos
	x.pos = start
	if err := x.fromJSON(value, missing, 0); err != nil {
		return err
	}
	x.pos, x.several = end, true
	if err := x.behind(); err != nil {
		return err
	}
	if !x.bare && strings.HasPrefix(x.rest(), "{") {
		y := &resolver{d: x.d, dialect: x.dialect, src: x.src, pos: x.pos, closed: x.closed}
		value, missing, err := y.read()
		if err == nil {
			err = y.fromJSON(value, missing, 0)
		}
		if err != nil && err.reason == NoName { // D4
			return x.fail(Ambiguous, "a second value without a name follows the first")
		}
	}
	if x.bare {
		return nil
	}
	return x.elements()
}

// fromJSON finds name and arguments in a value.
func (x *resolver) fromJSON(value json.RawMessage, missing, depth int) *readError {
	switch {
	case depth > 4:
		return x.fail(NoName, "the call names no tool")
	case value[0] == '[':
		return x.fromList(split(value), missing, depth)
	case value[0] == '"' && depth > 0: // D14: a list of calls in strings
		return x.fromString(text(value))
	case value[0] != '{':
		return x.fail(NoName, "the call is not a JSON object")
	}
	p, err := x.partsOf(value)
	switch {
	case err != nil:
		return err
	case p.inner != nil:
		return x.fromInner(p, missing, depth)
	case p.name == nil && p.args != nil && p.args[0] == '{' && missing == 1:
		return x.swallowed(p.args, p.rest)
	case missing > 0:
		return x.fail(BadJSON, "a closing brace is missing")
	case p.name == nil:
		return x.fail(NoName, "the call names no tool")
	}
	return x.fromParts(p)
}

// fromList takes the first of a list of calls.
func (x *resolver) fromList(list []member, missing, depth int) *readError {
	if len(list) == 0 {
		return x.fail(NoName, "the list of calls is empty")
	}
	if err := x.fromJSON(list[0].value, missing, depth+1); err != nil || len(list) == 1 {
		return err
	}
	y := &resolver{d: x.d, dialect: x.dialect}
	if err := y.fromJSON(list[1].value, 0, depth+1); err != nil && err.reason == NoName {
		return x.fail(Ambiguous, "a second value without a name follows the first")
	}
	return nil
}

// fromString reads a call of Python that is written in a string.
func (x *resolver) fromString(s string) *readError {
	y := &resolver{d: x.d, dialect: x.dialect, src: strings.TrimSpace(s), closed: true, bare: true}
	if err := y.python(); err != nil || !blank(strings.Trim(y.rest(), ";")) {
		return x.fail(NoName, "the call names no tool")
	}
	x.repair("python_call")
	x.name, x.args = y.name, y.args
	return nil
}

// parts are the members of an object that may be a call.
type parts struct {
	name, args json.RawMessage
	argsKey    string          // under which args stands
	inner      json.RawMessage // a call, or a list of calls
	aside      []member        // what stands beside every call, and thoughts
	rest       []member
}

func (x *resolver) partsOf(object json.RawMessage) (p parts, err *readError) {
	for _, m := range split(object) {
		switch key := fold(m.key); {
		case (callKeys[key] || key == "function" && m.value[0] == '{') && p.inner == nil:
			p.inner = m.value
		case callKeys[key]:
			return p, x.fail(Ambiguous, "two calls stand in one object")
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
	return p, nil
}

// fromInner reads a call that stands in a member of its own. What an API writes
// beside it is known; anything else is refused (P14).
func (x *resolver) fromInner(p parts, missing, depth int) *readError {
	switch {
	case p.name != nil:
		return x.fail(Ambiguous, "two tools are named in one call")
	case p.args != nil:
		return x.fail(Ambiguous, "the arguments stand beside the call")
	}
	if err := x.fromJSON(p.inner, missing, depth+1); err != nil {
		return err
	}
	for _, m := range p.aside {
		if !otherKeys[fold(m.key)] && x.property(m.key) != nil {
			p.rest = append(p.rest, m)
		}
	}
	for _, m := range p.rest {
		if x.property(m.key) != nil || m.key != "role" && m.key != "content" {
			return x.fail(Ambiguous, fmt.Sprintf("%q stands beside the call", clip(m.key)))
		}
	}
	return nil
}

// fromParts reads a call whose name stands in the object.
func (x *resolver) fromParts(p parts) *readError {
	x.name = text(p.name)
	args, rest := p.args, p.rest
	if args != nil && args[0] != '{' && x.property(p.argsKey) != nil { // an argument of that name (D3)
		rest, args = append(rest, member{p.argsKey, args}), nil
	}
	described := false
	for _, m := range p.aside {
		described = described || m.key == "description" && x.property(m.key) == nil
		if x.property(m.key) != nil && !hasMember(args, m.key) && (args == nil || !isMeta(m)) {
			rest = append(rest, m)
		}
	}
	switch {
	case described && (args == nil || args[0] != '{'), args != nil && x.isSchema(args): // D4
		x.name = ""
		return x.fail(NoName, "it is the definition of a tool")
	case args == nil:
		return x.take(join(rest))
	case len(rest) > 0:
		return x.fail(Ambiguous, fmt.Sprintf("%q stands beside the arguments", clip(rest[0].key)))
	}
	return x.take(args)
}

// isMeta reports whether a member is what APIs write beside the arguments of
// every call: "type": "function", "id": "call_…".
func isMeta(m member) bool {
	value := text(m.value)
	switch key := fold(m.key); {
	case !otherKeys[key]:
		return false
	case key == "type":
		return value == "function" || strings.HasPrefix(value, "tool") || strings.HasPrefix(value, "function_")
	}
	return strings.HasPrefix(value, "call") || strings.HasPrefix(value, "tool") || strings.HasPrefix(value, "chatcmpl")
}

// hasMember reports whether value is an object with a member of that name.
func hasMember(value json.RawMessage, name string) bool {
	return len(value) > 0 && value[0] == '{' && slices.ContainsFunc(split(value), func(m member) bool { return fold(m.key) == fold(name) })
}

// isSchema reports whether value is a JSON Schema where the tool wants none.
func (x *resolver) isSchema(value json.RawMessage) bool {
	if value[0] != '{' || x.property("properties") != nil {
		return false
	}
	object, properties := false, false
	for _, m := range split(value) {
		object = object || m.key == "type" && text(m.value) == "object"
		properties = properties || m.key == "properties" && m.value[0] == '{'
	}
	return object && properties
}

// take sets the arguments: an object, nothing (P2), or a string that holds an
// object (P10).
func (x *resolver) take(args json.RawMessage) *readError {
	inner := strings.TrimSpace(text(args))
	switch {
	case args[0] == '{':
		x.args = args
		return nil
	case args[0] == 'n', args[0] == '"' && inner == "":
		x.args = json.RawMessage("{}")
		return nil
	case args[0] == '"':
		y := &resolver{d: x.d, src: inner}
		if value, _, err := y.read(); err == nil && value[0] == '{' && blank(y.rest()) {
			x.repair("stringified_arguments")
			x.repairs = append(x.repairs, y.repairs...)
			x.args = value
			return nil
		}
	}
	return x.fail(NotObject, "the arguments must be one JSON object")
}

// swallowed reads {"arguments": {…, "name": "tool"} with the brace between
// missing: the last member is the name, if it is that of a tool (D5).
func (x *resolver) swallowed(args json.RawMessage, rest []member) *readError {
	ms := split(args)
	n := len(ms) - 1
	if n < 0 || ms[n].key != "name" || len(rest) > 0 || x.d.opts.Tools == nil {
		return x.fail(BadJSON, "a closing brace is missing")
	}
	tool, known := x.d.declared(tidyName(text(ms[n].value)))
	if schema, _ := x.d.opts.Tools.Schema(tool); !known || schema == nil || schema.Properties["name"] != nil {
		return x.fail(Ambiguous, "a closing brace is missing")
	}
	x.repair("missing_brace")
	x.name, x.args = tool, join(ms[:n])
	return nil
}

// escaped is a reply that begins with a block whose tags are written as in HTML
// (B20): a call gone wrong.
var escaped = &dialect{name: "escaped"}

func opensEscaped(_ *Decoder, s string, first bool) (ok, more bool) {
	const lt, gt = "&lt;", "&gt;"
	name, ok := strings.CutPrefix(s, lt)
	if !first || !ok {
		return false, first && strings.HasPrefix(lt, s)
	}
	name, _, ok = strings.Cut(name[:min(len(name), maxTag)], gt)
	if !ok {
		return false, len(name) < maxTag
	}
	m, _ := matchTag("<" + name + ">")
	return m.tag == toolOpen, false
}
