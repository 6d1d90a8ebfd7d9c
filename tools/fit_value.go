package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// kind is the type of a JSON value, as a bit, so that a kind can also be a set of them.
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

// quote writes s as a JSON string.
func quote(s string) []byte { return []byte(show(s)) }

// show writes v as JSON without escaping <, > and &.
func show(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // of a schema that is no JSON
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
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
	p := parser{src: src, d: json.NewDecoder(bytes.NewReader(src))}
	p.d.UseNumber()
	v, err := p.value(depth)
	if err != errDeep && !json.Valid(src) {
		var any any
		err = json.Unmarshal(src, &any) // which explains it
	}
	return v, err
}

type parser struct {
	src []byte
	d   *json.Decoder
}

// token returns the next token, and where in the source it begins.
func (p *parser) token() (json.Token, int, error) {
	start := int(p.d.InputOffset())
	t, err := p.d.Token()
	for err == nil && strings.IndexByte(" \t\r\n,:", p.src[start]) >= 0 {
		start++
	}
	return t, start, err
}

func (p *parser) value(depth int) (*node, error) {
	t, start, err := p.token()
	if err != nil {
		return nil, err
	}
	v := &node{}
	switch t := t.(type) {
	case nil:
		v.kind = isNull
	case bool:
		v.kind = isBool
	case json.Number:
		v.kind = isNumber
	case string:
		v.kind, v.text = isString, t
	case json.Delim:
		if depth == 0 {
			return nil, errDeep
		}
		v.kind = isArray
		if t == '{' {
			v.kind = isObject
		}
		for p.d.More() && err == nil {
			err = p.child(v, depth-1)
		}
		if err == nil {
			_, err = p.d.Token() // the bracket that closes it
		}
	}
	v.raw = p.src[start:p.d.InputOffset()]
	return v, err
}

// child reads the next item or member of v.
func (p *parser) child(v *node, depth int) error {
	var m member
	if v.kind == isObject {
		name, start, err := p.token()
		if err != nil {
			return err
		}
		m.name, m.raw = name.(string), p.src[start:p.d.InputOffset()]
	}
	w, err := p.value(depth)
	if v.kind == isArray {
		v.items = append(v.items, w)
	} else {
		m.node = w
		v.members = append(v.members, m)
	}
	return err
}
