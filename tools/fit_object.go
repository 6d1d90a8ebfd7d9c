package tools

import (
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// declares reports whether s says by itself which names an object may have.
func declares(s *jsonschema.Schema) bool {
	return len(s.Properties) > 0 || s.AdditionalProperties != nil || len(s.AllOf) > 0 || len(s.AnyOf) > 0 || len(s.OneOf) > 0
}

func (f *fitter) object(s *jsonschema.Schema, v *node, at loc) *node {
	known, closed := s.Properties, isFalse(s.AdditionalProperties)
	if !closed && !at.inner {
		known, closed = f.declared(s)
	}
	if closed && !f.strict {
		v = f.rename(known, v, at)
	}
	var missing []string
	for _, name := range s.Required { // first, since it is what helps most
		if v.get(name) == nil {
			missing = append(missing, name)
			f.fail(at.key(name), "required", nil, s.Properties[name])
		}
	}
	out := v
	for i, m := range v.members {
		fitted := f.member(s, m, closed, known, missing, at)
		if fitted == m.node {
			continue
		}
		if out == v {
			out = &node{kind: isObject, members: slices.Clone(v.members)}
		}
		out.members[i].node = fitted
	}
	return out
}

func (f *fitter) member(s *jsonschema.Schema, m member, closed bool, known map[string]*jsonschema.Schema, missing []string, at loc) *node {
	v, at := m.node, at.key(m.name)
	sub, found := s.Properties[m.name]
	if found {
		v = f.value(sub, v, at)
	}
	for pattern, sub := range s.PatternProperties {
		if matches(pattern, m.name) {
			v, found = f.value(sub, v, at), true
		}
	}
	switch {
	case found:
	case closed:
		if _, ok := known[m.name]; !ok {
			f.unknown(known, missing, m, at)
		}
	case s.AdditionalProperties != nil:
		v = f.value(s.AdditionalProperties, v, at)
	}
	return v
}

// unknown suggests what an unknown argument may have meant: a missing one rather
// than one that looks like it.
func (f *fitter) unknown(known map[string]*jsonschema.Schema, missing []string, m member, at loc) {
	before := len(f.faults)
	f.fail(at, "unknown", m.node, nil)
	if len(f.faults) > before {
		names := slices.Sorted(maps.Keys(known))
		near := missing
		if len(missing) != 1 {
			if near = Nearest(m.name, missing); len(near) == 0 {
				near = Nearest(m.name, names)
			}
		}
		f.faults[before].Wanted = otherwise(near, names)
	}
}

// declared collects the names that s and all schemas that apply at the same
// place declare, and reports whether others are a fault: they are unless one of
// these schemas speaks of additional ones.
func (f *fitter) declared(s *jsonschema.Schema) (map[string]*jsonschema.Schema, bool) {
	if s.Ref == "" && s.AllOf == nil && s.AnyOf == nil && s.OneOf == nil {
		return s.Properties, len(s.Properties) > 0 && !open(s)
	}
	if len(s.Properties) == 0 && len(s.AllOf) == 0 {
		return nil, false // the one schema that is chosen decides
	}
	names, seen := map[string]*jsonschema.Schema{}, map[*jsonschema.Schema]bool{}
	closed := f.collect(s, names, seen)
	return names, closed && len(names) > 0
}

func (f *fitter) collect(s *jsonschema.Schema, names map[string]*jsonschema.Schema, seen map[*jsonschema.Schema]bool) bool {
	if s == nil || seen[s] {
		return true
	}
	seen[s] = true
	maps.Copy(names, s.Properties)
	closed := !open(s) && f.collect(f.resolve(s), names, seen)
	for _, subs := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, sub := range subs {
			closed = f.collect(sub, names, seen) && closed
		}
	}
	return closed
}

func open(s *jsonschema.Schema) bool {
	return s.AdditionalProperties != nil || s.UnevaluatedProperties != nil || len(s.PatternProperties) > 0
}

// rename gives members that are not known the one known name that is missing
// and equal after folding.
func (f *fitter) rename(known map[string]*jsonschema.Schema, v *node, at loc) *node {
	strange := map[string]int{} // folded name: how many members spell it in an unknown way
	for _, m := range v.members {
		if _, ok := known[m.name]; !ok {
			strange[fold(m.name)]++
		}
	}
	if len(strange) == 0 {
		return v
	}
	declared := map[string][]string{}
	for name := range known {
		declared[fold(name)] = append(declared[fold(name)], name)
	}
	out := v
	for i, m := range v.members {
		key := fold(m.name)
		if _, ok := known[m.name]; ok || key == "" || strange[key] != 1 {
			continue
		}
		name, ok := onlyMissing(declared[key], v)
		if !ok {
			continue
		}
		if out == v {
			out = &node{kind: isObject, members: slices.Clone(v.members)}
		}
		out.members[i].name, out.members[i].raw = name, quote(name)
		f.repaired(at.key(name), Renamed, m.name, name)
	}
	return out
}

// onlyMissing returns the one of names that v has no member of.
func onlyMissing(names []string, v *node) (string, bool) {
	var missing []string
	for _, name := range names {
		if v.get(name) == nil {
			missing = append(missing, name)
		}
	}
	if len(missing) != 1 {
		return "", false
	}
	return missing[0], true
}
