package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// types is what a schema's type keyword allows.
type types struct {
	kinds   kind
	integer bool // numbers must be integers
	any     bool // nothing is ruled out
}

// typeNames maps the words that schemas use for types. Beyond JSON Schema's
// own there are those of Python, which schemas made for function calling carry
// (the Berkeley Function Calling Leaderboard's do).
var typeNames = map[string]string{
	"null": "null", "boolean": "boolean", "integer": "integer", "number": "number", "string": "string", "array": "array", "object": "object",
	"none": "null", "bool": "boolean", "int": "integer", "float": "number", "double": "number", "str": "string",
	"list": "array", "tuple": "array", "dict": "object",
}

var kindOf = map[string]kind{
	"null": isNull, "boolean": isBool, "integer": isNumber, "number": isNumber, "string": isString, "array": isArray, "object": isObject,
}

// typeName is the JSON Schema word for a type; "" for one that rules nothing out.
func typeName(s string) string {
	if name, ok := typeNames[s]; ok {
		return name
	}
	return typeNames[strings.ToLower(s)]
}

func typesOf(s *jsonschema.Schema) types {
	if s.Type != "" {
		return types{}.with(s.Type)
	}
	if len(s.Types) == 0 {
		return types{any: true}
	}
	var t types
	for _, name := range s.Types {
		t = t.with(name)
	}
	return t
}

func (t types) with(word string) types {
	name := typeName(word)
	switch name {
	case "":
		t.any = true
	case "integer":
		t.integer = t.integer || t.kinds&isNumber == 0
	case "number":
		t.integer = false
	}
	t.kinds |= kindOf[name]
	return t
}

func (t types) has(v *node) bool {
	switch {
	case t.any:
		return true
	case t.kinds&v.kind == 0:
		return false
	}
	return v.kind != isNumber || !t.integer || isInteger(string(v.raw))
}

// isFalse reports whether s is the schema that nothing conforms to.
func isFalse(s *jsonschema.Schema) bool {
	return s != nil && s.Not != nil && reflect.ValueOf(s.Not).Elem().IsZero()
}

// equal reports whether v is the value that a schema holds as want.
func equal(v *node, want any) bool {
	w, err := parse([]byte(show(want)), maxDepth)
	return err == nil && same(v, w)
}

// same reports whether two values are equal as JSON.
func same(v, w *node) bool {
	if v.kind != w.kind || len(v.items) != len(w.items) || len(v.members) != len(w.members) {
		return false
	}
	switch v.kind {
	case isNumber:
		return number(string(v.raw)).Cmp(number(string(w.raw))) == 0
	case isBool:
		return v.raw[0] == w.raw[0]
	}
	for i := range v.items {
		if !same(v.items[i], w.items[i]) {
			return false
		}
	}
	for _, m := range v.members {
		if other := w.get(m.name); other == nil || !same(m.node, other) {
			return false
		}
	}
	return v.text == w.text
}

// patterns holds compiled patterns, nil for those that Go cannot read.
var patterns sync.Map

// matches reports whether s matches the pattern. A pattern that Go's regexp
// cannot read (look-ahead, back references) matches everything.
func matches(pattern, s string) bool {
	v, ok := patterns.Load(pattern)
	if !ok {
		re, err := regexp.Compile(pattern)
		if err != nil {
			re = nil
		}
		v, _ = patterns.LoadOrStore(pattern, re)
	}
	re := v.(*regexp.Regexp)
	return re == nil || re.MatchString(s)
}

// coerce writes v in a type that s allows, if that loses nothing. A value that
// conforms already stays what it is; only 1e2 and 5.0 become 100 and 5 where an
// integer is wanted, since Go reads them into no integer.
func (f *fitter) coerce(s *jsonschema.Schema, allowed types, v *node, at loc) *node {
	out := v
	switch {
	case allowed.any:
	case v.kind == isNumber && allowed.integer:
		out = cmp.Or(integer(v), v)
	case v.kind == isNumber && allowed.kinds == isString:
		out = stringNode(string(v.raw))
	case v.kind == isString && allowed.kinds&isString == 0:
		out = fromText(v, allowed, maxDepth-at.depth)
	}
	if s.Enum != nil {
		out = enumCase(s.Enum, out)
	}
	if out != v {
		f.repaired(at, Coerced, string(v.bytes()), string(out.bytes()))
	}
	return out
}

// pythonWords are Python's spellings of JSON's words.
var pythonWords = map[string]string{"True": "true", "False": "false", "None": "null"}

// fromText reads the JSON value that a string holds, if it is of an allowed type.
func fromText(v *node, allowed types, depth int) *node {
	text := strings.TrimSpace(v.text)
	if word, ok := pythonWords[text]; ok {
		text = word
	}
	if text == "" || text[0] == '"' {
		return v
	}
	w, err := parse([]byte(text), depth)
	if err != nil || !allowed.has(w) {
		return v
	}
	if allowed.integer && w.kind == isNumber {
		return cmp.Or(integer(w), v)
	}
	return w
}

// enumCase returns the only string of enum that is v in another case, else v.
func enumCase(enum []any, v *node) *node {
	if v.kind != isString || inEnum(enum, v) {
		return v
	}
	hit := ""
	for _, e := range enum {
		if s, ok := e.(string); ok && strings.EqualFold(s, v.text) {
			if hit != "" {
				return v
			}
			hit = s
		}
	}
	if hit == "" {
		return v
	}
	return stringNode(hit)
}

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
