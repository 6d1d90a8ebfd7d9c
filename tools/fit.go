package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Codes of a Repair.
const (
	Coerced = "coerced" // a value was written in the type that the schema wants
	Renamed = "renamed" // an argument's name was written as the schema declares it
)

// Repair is one change that Fit made without losing anything.
type Repair struct {
	Path string `json:"path"` // where: "items[2].name"; "" is the whole
	Code string `json:"code"` // Coerced or Renamed
	From string `json:"from"` // the value before, shortened if it is long
	To   string `json:"to"`   // the value after, shortened if it is long
}

// Fault is one thing about arguments that does not conform to the schema.
type Fault struct {
	Path   string `json:"path"`            // where: "items[2].name"; "" is the whole
	Code   string `json:"code"`            // the schema's keyword, or json, depth, unknown, false, range, complex
	Given  string `json:"given,omitempty"` // the value, shortened if it is long; "" is nothing
	Wanted string `json:"wanted"`          // the value that is required, in words
}

// maxDepth bounds the nesting of arguments. Schemas of real tools nest less
// than ten deep; whatever is deeper came from a model that repeats itself.
const maxDepth = 100

// maxFaults bounds how many faults are kept: a long array of wrong elements is
// reported up to the first hundred.
const maxFaults = 100

// Fit makes args conform to schema where that loses nothing: "5" becomes 5, a
// string that holds an object becomes that object, an enum value in another
// case the declared one, an argument name in
// another spelling the declared one. What does not conform after that is
// reported whole in the *ArgError: every fault with its path.
//
// Empty or null args count as {}. Arguments that schema does not declare are a
// fault unless its additionalProperties allows them, which is stricter than
// JSON Schema: models invent arguments. Numbers keep their literal, so integers
// are exact at any size, and arguments keep their order. If nothing changed the
// result is args itself. A nil schema accepts everything.
//
// Fit does not change schema and may be called from several goroutines at once.
func Fit(schema *jsonschema.Schema, args json.RawMessage) (json.RawMessage, []Repair, *ArgError) {
	f := &fitter{root: schema, steps: 100_000 + 16*len(args)}
	v, empty, err := f.read(args)
	if err != nil {
		f.faults = append(f.faults, *err)
		return nil, nil, f.argError()
	}
	out := f.value(schema, v, loc{})
	if f.count == 0 && len(f.repairs) > 0 {
		f.strict = true // a coercion for one keyword may break another
		f.value(schema, out, loc{})
	}
	if f.steps < 0 {
		f.faults = append(f.faults, Fault{Code: "complex", Given: cut(args), Wanted: "simpler arguments; checking these against the schema takes too long"})
	}
	if f.count > 0 || len(f.faults) > 0 {
		return nil, nil, f.argError()
	}
	if out == v && !empty {
		return args, f.repairs, nil
	}
	return out.bytes(), f.repairs, nil
}

// read parses args; empty means that there were none and {} replaces them.
func (f *fitter) read(args json.RawMessage) (v *node, empty bool, fault *Fault) {
	trimmed := bytes.Trim(args, " \t\r\n") // JSON's white space is less than Unicode's
	if len(trimmed) == 0 {
		return emptyObject(), true, nil
	}
	if string(trimmed) == "null" && f.root != nil && !typesOf(f.root).has(&node{kind: isNull}) {
		f.repaired(loc{}, Coerced, "null", "{}")
		return emptyObject(), true, nil
	}
	v, err := parse(trimmed, maxDepth)
	switch {
	case err == errDeep:
		return nil, false, &Fault{Code: "depth", Given: cut(trimmed), Wanted: fmt.Sprintf("values nested at most %d deep", maxDepth)}
	case err != nil:
		return nil, false, &Fault{Code: "json", Given: cut(trimmed), Wanted: fmt.Sprintf("a JSON object (%v)", err)}
	}
	return v, false, nil
}

// fitter is one Fit on its way through schema and value.
type fitter struct {
	root    *jsonschema.Schema
	repairs []Repair
	faults  []Fault
	count   int  // faults, recorded or not
	strict  bool // do not coerce
	quiet   bool // only count faults and repairs
	steps   int  // schema applications left: schemas can be built whose check takes exponential time
}

// loc is where the fitter is.
type loc struct {
	path  *step
	refs  *hop // the $refs followed at this place, to notice a circle
	depth int
	inner bool // another schema at this place says which names are declared
}

type step struct {
	up    *step
	name  string
	index int // of an array; -1: name counts
}

type hop struct {
	up *hop
	to *jsonschema.Schema
}

func (at loc) key(name string) loc {
	return loc{path: &step{up: at.path, name: name, index: -1}, depth: at.depth + 1}
}

func (at loc) item(i int) loc {
	return loc{path: &step{up: at.path, index: i}, depth: at.depth + 1}
}

func (at loc) within() loc {
	at.inner = true
	return at
}

func (at loc) String() string { return at.path.String() }

func (s *step) String() string {
	switch {
	case s == nil:
		return ""
	case s.index >= 0:
		return fmt.Sprintf("%s[%d]", s.up, s.index)
	case s.up == nil:
		return s.name
	}
	return s.up.String() + "." + s.name
}

func (f *fitter) fail(at loc, code string, given *node, s *jsonschema.Schema) {
	f.count++
	if f.quiet || len(f.faults) >= maxFaults {
		return
	}
	fault := Fault{Path: cut(at.String()), Code: code, Wanted: f.wanted(code, s)}
	if given != nil {
		fault.Given = cut(given.bytes())
	}
	f.faults = append(f.faults, fault)
}

func (f *fitter) repaired(at loc, code, from, to string) {
	f.repairs = append(f.repairs, Repair{Path: at.String(), Code: code, From: cut(from), To: cut(to)})
}

// try applies s and takes everything back: it returns the value, the repairs
// made, and whether the value conforms.
func (f *fitter) try(s *jsonschema.Schema, v *node, at loc, strict bool) (*node, []Repair, bool) {
	g := &fitter{root: f.root, strict: strict || f.strict, quiet: true, steps: f.steps}
	out := g.value(s, v, at)
	f.steps = g.steps
	return out, g.repairs, g.count == 0
}

func (f *fitter) argError() *ArgError {
	return &ArgError{Faults: f.faults, Signature: Signature("", f.root)}
}

// declares reports whether s itself lists the names that an object may have.
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
