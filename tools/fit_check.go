package tools

import (
	"bytes"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// value applies s to v: it coerces unless the fitter is strict, records every
// error, and returns the value to pass on.
func (f *fitter) value(s *jsonschema.Schema, v *node, at loc) *node {
	if f.steps--; s == nil || f.steps < 0 {
		return v
	}
	if isFalse(s) {
		f.fail(at, "false", v, s)
		return v
	}
	v = f.ref(s, v, at)
	allowed := typesOf(s)
	if !f.strict {
		v = f.coerce(s, allowed, v, at)
	}
	if !allowed.has(v) {
		f.fail(at, "type", v, s)
		return v
	}
	f.fixed(s, v, at)
	switch v.kind {
	case isNumber:
		if allowed.integer && integer(v) == nil {
			f.fail(at, "range", v, s)
		}
		f.number(s, v, at)
	case isString:
		f.text(s, v, at)
	case isArray:
		v = f.array(s, v, at)
	case isObject:
		v = f.object(s, v, at)
	}
	return f.combined(s, v, at)
}

// ref applies what s refers to. A reference that Referred cannot follow is not
// enforced, nor is one that leads back to itself without descending.
func (f *fitter) ref(s *jsonschema.Schema, v *node, at loc) *node {
	target := f.resolve(s)
	if target == nil {
		return v
	}
	for h := at.refs; h != nil; h = h.up {
		if h.to == target {
			return v
		}
	}
	at.refs = &hop{up: at.refs, to: target}
	at.inner = at.inner || declares(s)
	return f.value(target, v, at)
}

func (f *fitter) resolve(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Ref == "" {
		return nil
	}
	return Referred(f.root, s.Ref)
}

func (f *fitter) fixed(s *jsonschema.Schema, v *node, at loc) {
	if s.Enum != nil && !inEnum(s.Enum, v) {
		f.fail(at, "enum", v, s)
	}
	if s.Const != nil && !equal(v, *s.Const) {
		f.fail(at, "const", v, s)
	}
}

func inEnum(enum []any, v *node) bool {
	for _, e := range enum {
		if equal(v, e) {
			return true
		}
	}
	return false
}

func (f *fitter) number(s *jsonschema.Schema, v *node, at loc) {
	within := func(code string, limit *float64, ok func(int) bool) {
		if limit != nil && !ok(number(string(v.raw)).Cmp(float(*limit))) {
			f.fail(at, code, v, s)
		}
	}
	within("minimum", s.Minimum, func(c int) bool { return c >= 0 })
	within("maximum", s.Maximum, func(c int) bool { return c <= 0 })
	within("exclusiveMinimum", s.ExclusiveMinimum, func(c int) bool { return c > 0 })
	within("exclusiveMaximum", s.ExclusiveMaximum, func(c int) bool { return c < 0 })
}

func (f *fitter) text(s *jsonschema.Schema, v *node, at loc) {
	f.length("Length", s.MinLength, s.MaxLength, utf8.RuneCountInString(v.text), s, v, at)
	if s.Pattern != "" && !matches(s.Pattern, v.text) {
		f.fail(at, "pattern", v, s)
	}
}

// length checks minWHAT and maxWHAT.
func (f *fitter) length(what string, least, most *int, n int, s *jsonschema.Schema, v *node, at loc) {
	if least != nil && n < *least {
		f.fail(at, "min"+what, v, s)
	}
	if most != nil && n > *most {
		f.fail(at, "max"+what, v, s)
	}
}

func (f *fitter) array(s *jsonschema.Schema, v *node, at loc) *node {
	f.length("Items", s.MinItems, s.MaxItems, len(v.items), s, v, at)
	first, rest := s.PrefixItems, s.Items
	if s.ItemsArray != nil {
		first, rest = s.ItemsArray, s.AdditionalItems
	}
	if len(first) == 0 && rest == nil {
		return v
	}
	out := v
	for i, item := range v.items {
		sub := rest
		if i < len(first) {
			sub = first[i]
		}
		if fitted := f.value(sub, item, at.item(i)); fitted != item {
			if out == v {
				out = &node{kind: isArray, items: append([]*node(nil), v.items...)}
			}
			out.items[i] = fitted
		}
	}
	return out
}

// combined applies allOf, anyOf, oneOf and not.
func (f *fitter) combined(s *jsonschema.Schema, v *node, at loc) *node {
	for _, sub := range s.AllOf {
		v = f.value(sub, v, at.within())
	}
	branch := at
	branch.inner = at.inner || len(s.Properties) > 0 || len(s.AllOf) > 0
	if s.AnyOf != nil {
		v = f.choose("anyOf", s.AnyOf, s, v, branch)
	}
	if s.OneOf != nil {
		v = f.choose("oneOf", s.OneOf, s, v, branch)
	}
	if s.Not != nil {
		if _, _, ok := f.try(s.Not, v, at.within(), true); ok {
			f.fail(at, "not", v, s)
		}
	}
	return v
}

// choose applies the alternative that v conforms to unchanged, or else the only
// way of coercing it. Two ways with different values are an error.
func (f *fitter) choose(code string, subs []*jsonschema.Schema, s *jsonschema.Schema, v *node, at loc) *node {
	var hits []*jsonschema.Schema
	for _, sub := range subs {
		if _, _, ok := f.try(sub, v, at, true); ok {
			hits = append(hits, sub)
		}
	}
	switch {
	case len(hits) == 1, len(hits) > 1 && code == "anyOf":
		if f.strict {
			return v
		}
		return f.value(hits[0], v, at) // writes 1e2 as 100 where an integer is wanted
	case len(hits) == 0 && !f.strict:
		if out, ok := f.coerceTo(code, subs, v, at); ok {
			return out
		}
	}
	f.explain(code, len(hits), subs, s, v, at)
	return v
}

func (f *fitter) coerceTo(code string, subs []*jsonschema.Schema, v *node, at loc) (*node, bool) {
	var out *node
	var repairs []Repair
	for _, sub := range subs {
		w, made, ok := f.try(sub, v, at, false)
		switch {
		case !ok:
		case out == nil:
			out, repairs = w, made
		case code == "oneOf" || !bytes.Equal(out.bytes(), w.bytes()):
			return nil, false
		}
	}
	f.repairs = append(f.repairs, repairs...)
	return out, out != nil
}

// explain describes why no alternative fits: with the faults of the only one
// that has the right type, otherwise with the alternatives.
func (f *fitter) explain(code string, hits int, subs []*jsonschema.Schema, s *jsonschema.Schema, v *node, at loc) {
	if hits == 0 && !f.quiet {
		if sub := f.onlyOfType(subs, v); sub != nil {
			before := f.count
			if f.value(sub, v, at); f.count > before {
				return
			}
		}
	}
	f.fail(at, code, v, s)
}

func (f *fitter) onlyOfType(subs []*jsonschema.Schema, v *node) *jsonschema.Schema {
	var only *jsonschema.Schema
	for _, sub := range subs {
		if target := f.resolve(sub); target != nil {
			sub = target
		}
		if !typesOf(sub).has(v) {
			continue
		}
		if only != nil {
			return nil
		}
		only = sub
	}
	return only
}
