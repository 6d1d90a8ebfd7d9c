package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// kind is the type of a JSON value, as a bit so that a set of them is one too.
type kind uint8

const (
	isNull kind = 1 << iota
	isBool
	isNumber
	isString
	isArray
	isObject
)

// node is a JSON value that keeps its source. It is not changed once built:
// a coercion makes another one.
type node struct {
	kind    kind
	raw     []byte // the source; nil if the value must be written from its parts
	text    string // of a string
	items   []*node
	members []member
}

type member struct {
	name string
	raw  []byte // the name as written, with its quotes
	*node
}

func emptyObject() *node { return &node{kind: isObject, raw: []byte("{}")} }

func stringNode(s string) *node {
	return &node{kind: isString, text: s, raw: quote(s)}
}

func numberNode(literal string) *node {
	return &node{kind: isNumber, raw: []byte(literal)}
}

// quote writes s as a JSON string without escaping <, > and &.
func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil { // a string always encodes
		return []byte(strconv.Quote(s))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// get returns the member of that name. Of several the last one counts, as it
// does for encoding/json.
func (v *node) get(name string) *node {
	for i := len(v.members) - 1; i >= 0; i-- {
		if v.members[i].name == name {
			return v.members[i].node
		}
	}
	return nil
}

// bytes is the value as JSON.
func (v *node) bytes() []byte {
	if v.raw != nil {
		return v.raw
	}
	return v.append(nil)
}

func (v *node) append(b []byte) []byte {
	if v.raw != nil {
		return append(b, v.raw...)
	}
	if v.kind == isArray {
		b = append(b, '[')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = item.append(b)
		}
		return append(b, ']')
	}
	b = append(b, '{')
	for i, m := range v.members {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(append(b, m.raw...), ": "...)
		b = m.node.append(b)
	}
	return append(b, '}')
}

var errDeep = errors.New("nested too deep")

// parse reads one JSON value nested at most depth deep.
func parse(src []byte, depth int) (*node, error) {
	if tooDeep(src, depth) {
		return nil, errDeep
	}
	if !json.Valid(src) {
		var v any
		if err := json.Unmarshal(src, &v); err != nil {
			return nil, err
		}
		return nil, errors.New("invalid JSON")
	}
	p := parser{src: src}
	return p.value(), nil
}

// tooDeep looks for brackets outside strings that are open at once. It runs
// before anything recursive does.
func tooDeep(src []byte, depth int) bool {
	open, quoted := 0, false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if open++; open > depth {
				return true
			}
		case c == '}' || c == ']':
			open--
		}
	}
	return false
}

// parser walks over source that is known to be valid JSON.
type parser struct {
	src []byte
	at  int
}

func (p *parser) space() byte {
	for p.src[p.at] <= ' ' {
		p.at++
	}
	return p.src[p.at]
}

func (p *parser) value() *node {
	v := &node{}
	c := p.space()
	start := p.at
	switch c {
	case '{':
		v.kind = isObject
		p.members(v)
	case '[':
		v.kind = isArray
		p.items(v)
	case '"':
		v.kind = isString
		v.text = p.text()
	case 't', 'f':
		v.kind = isBool
		p.word()
	case 'n':
		v.kind = isNull
		p.word()
	default:
		v.kind = isNumber
		p.word()
	}
	v.raw = p.src[start:p.at]
	return v
}

func (p *parser) members(v *node) {
	p.at++
	for p.space() != '}' {
		if p.src[p.at] == ',' {
			p.at++
			p.space()
		}
		start := p.at
		m := member{name: p.text()}
		m.raw = p.src[start:p.at]
		p.space()
		p.at++ // the colon
		m.node = p.value()
		v.members = append(v.members, m)
	}
	p.at++
}

func (p *parser) items(v *node) {
	p.at++
	for p.space() != ']' {
		if p.src[p.at] == ',' {
			p.at++
		}
		v.items = append(v.items, p.value())
	}
	p.at++
}

// word skips a number, true, false or null.
func (p *parser) word() {
	for p.at < len(p.src) {
		switch c := p.src[p.at]; {
		case c <= ' ', c == ',', c == '}', c == ']':
			return
		}
		p.at++
	}
}

func (p *parser) text() string {
	start, escaped := p.at, false
	for p.at++; p.src[p.at] != '"'; p.at++ {
		if p.src[p.at] == '\\' {
			escaped = true
			p.at++
		}
	}
	p.at++
	if plain := p.src[start+1 : p.at-1]; !escaped && utf8.Valid(plain) {
		return string(plain)
	}
	var s string
	_ = json.Unmarshal(p.src[start:p.at], &s) // valid already; lone surrogates become U+FFFD
	return s
}
