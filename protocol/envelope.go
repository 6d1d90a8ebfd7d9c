package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The names under which models write the parts of a call in JSON, folded.
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
	x.pos = end
	if err := x.after(true); err != nil {
		return err
	}
	if x.restNamesNone() {
		return x.fail(Ambiguous, "a second value without a name follows the first")
	}
	return x.around(x.rest(), true)
}

// restNamesNone reports whether the value that follows is no call of its own.
func (x *resolver) restNamesNone() bool {
	y := &resolver{d: x.d, src: x.src, pos: x.pos, closed: x.closed}
	y.space()
	if !strings.HasPrefix(y.rest(), "{") {
		return false
	}
	value, missing, err := y.read()
	if err == nil {
		err = y.fromJSON(value, missing, 0)
	}
	return err != nil && err.reason == NoName
}

// fromJSON finds name and arguments in a value.
func (x *resolver) fromJSON(value json.RawMessage, missing, depth int) *readError {
	if depth > 4 {
		return x.fail(NoName, "the call names no tool")
	}
	switch value[0] {
	case '[':
		return x.fromList(elementsOf(value), missing, depth)
	case '{':
	default:
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
func (x *resolver) fromList(list []json.RawMessage, missing, depth int) *readError {
	if len(list) == 0 {
		return x.fail(NoName, "the list of calls is empty")
	}
	if err := x.fromJSON(list[0], missing, depth+1); err != nil || len(list) == 1 {
		return err
	}
	y := &resolver{d: x.d}
	if err := y.fromJSON(list[1], 0, depth+1); err != nil && err.reason == NoName {
		return x.fail(Ambiguous, "a second value without a name follows the first")
	}
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
	for _, m := range members(object) {
		switch key := fold(m.key); {
		case (callKeys[key] || key == "function" && m.value[0] == '{') && p.inner == nil:
			p.inner = m.value
		case callKeys[key]:
			return p, x.fail(Ambiguous, "two calls stand in one object")
		case nameKeys[key] && m.value[0] == '"' && p.name == nil:
			p.name = m.value
		case argsKeys[key] && p.args == nil:
			p.args, p.argsKey = m.value, m.key
		case otherKeys[key] || noise[key]:
			p.aside = append(p.aside, m)
		default:
			p.rest = append(p.rest, m)
		}
	}
	return p, nil
}

// fromInner reads a call that stands in a member of its own.
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
	for _, m := range slices.Concat(p.rest, p.aside) {
		if !otherKeys[fold(m.key)] && x.property(m.key) != nil {
			return x.fail(Ambiguous, fmt.Sprintf("%q stands beside the call", clip(m.key)))
		}
	}
	return nil
}

// fromParts reads a call whose name stands in the object.
func (x *resolver) fromParts(p parts) *readError {
	x.name = text(p.name)
	args, rest := p.args, p.rest
	if args != nil && args[0] != '{' && x.property(p.argsKey) != nil { // an argument of that name
		rest, args = append(rest, member{p.argsKey, args}), nil
	}
	for _, m := range p.aside {
		if x.property(m.key) != nil && !hasMember(args, m.key) && (args == nil || !isMeta(m)) {
			rest = append(rest, m)
		}
	}
	describes := func(m member) bool { return m.key == "description" && x.property(m.key) == nil }
	described := slices.ContainsFunc(rest, describes)
	switch {
	case described && (args == nil || args[0] != '{'), args != nil && x.isSchema(args):
		x.name = ""
		return x.fail(NoName, "it is the definition of a tool")
	case args == nil:
		return x.take(join(rest))
	}
	if rest = slices.DeleteFunc(rest, describes); len(rest) > 0 {
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
	return len(value) > 0 && value[0] == '{' && slices.ContainsFunc(members(value), func(m member) bool { return fold(m.key) == fold(name) })
}

// isSchema reports whether value is a JSON Schema where the tool wants none.
func (x *resolver) isSchema(value json.RawMessage) bool {
	if value[0] != '{' || x.property("properties") != nil {
		return false
	}
	object, properties := false, false
	for _, m := range members(value) {
		object = object || m.key == "type" && text(m.value) == "object"
		properties = properties || m.key == "properties" && m.value[0] == '{'
	}
	return object && properties
}

// take sets the arguments: an object, nothing, or a string that holds an object.
func (x *resolver) take(args json.RawMessage) *readError {
	switch args[0] {
	case '{':
		x.args = args
		return nil
	case 'n':
		x.args = json.RawMessage("{}")
		return nil
	case '"':
		inner := strings.TrimSpace(text(args))
		if inner == "" {
			x.args = json.RawMessage("{}")
			return nil
		}
		y := &resolver{d: x.d, src: inner}
		if value, _, err := y.read(); err == nil && value[0] == '{' && strings.TrimSpace(y.rest()) == "" {
			x.mend("stringified_arguments")
			x.repairs = append(x.repairs, y.repairs...)
			x.args = value
			return nil
		}
	}
	return x.fail(NotObject, "the arguments must be one JSON object")
}

// swallowed reads {"arguments": {…, "name": "tool"} with the brace between
// missing: the last member is the name, if it is that of a tool.
func (x *resolver) swallowed(args json.RawMessage, rest []member) *readError {
	ms := members(args)
	n := len(ms) - 1
	if n < 0 || ms[n].key != "name" || len(rest) > 0 || x.d.opts.Tools == nil {
		return x.fail(BadJSON, "a closing brace is missing")
	}
	tool, known := x.d.declared(tidyName(text(ms[n].value)))
	if schema, _ := x.d.opts.Tools.Schema(tool); !known || schema == nil || schema.Properties["name"] != nil {
		return x.fail(Ambiguous, "a closing brace is missing")
	}
	x.mend("missing_brace")
	x.name, x.args = tool, join(ms[:n])
	return nil
}

// quoteJSON writes s as JSON. Tags stay readable.
func quoteJSON(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always can be
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
