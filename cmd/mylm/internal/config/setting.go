package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mylm/cmd/mylm/internal/term"
)

// Def describes a setting.
type Def struct {
	Key     string   // in the file and its profiles, with a dot in a table; "" is none
	Flag    string   // without dashes; "" is none
	Aliases []string // of the flag
	Var     string   // the variable; "" is none
	Usage   string   // one line of help; `QUOTED` is what the value is called
	Default string   // described for the help
	Example string   // a value for the template of the file, as TOML
	Words   []string // the only values there are; nil: others
	Group   string   // of the flag in the help

	Negated  bool // the flag and the variable say the opposite of the key
	TopOnly  bool // a profile cannot hold it
	PerModel bool // the entry of a model can hold it
	Adds     bool // the values of all layers count together

	forProjects bool // a project's file can hold it
}

// def makes a Row a Setting.
func (d *Def) def() *Def { return d }

// Row is a setting of a type: string, int, float64, bool, time.Duration or
// []string.
type Row[T any] struct {
	Def
	checks  []func(T) error
	project func(user, project T) (T, error)
}

// Setting is a row of any type.
type Setting interface {
	def() *Def
	parse(text string) (any, error)           // a flag or a variable
	decode(into func(any) error) (any, error) // a value of a file
	form() string                             // of a value in a file
	check(v any) error
	add(a, b any) any
	tighten(user Settings, project any) (v any, err error)
	held(s Settings) any
}

// table holds every setting, in the order in which they are listed.
var table []Setting

// add makes a setting part of the table. A check completes the sentence
// "max_turns is 0; it must be ...".
func add[T any](d Def, checks ...func(T) error) *Row[T] {
	r := &Row[T]{Def: d, checks: checks}
	table = append(table, r)
	return r
}

// tightenedBy makes a setting one that a project's file may hold. f applies its
// value to the user's, and refuses one that loosens it.
func (r *Row[T]) tightenedBy(f func(user, project T) (T, error)) *Row[T] {
	r.project, r.forProjects = f, true
	return r
}

// Lookup returns the effective value, and whether anything sets it.
func (r *Row[T]) Lookup(s Settings) (v T, set bool) {
	for _, l := range s {
		held, ok := l.values[&r.Def]
		switch {
		case !ok:
		case held == nil: // what is below does not count
			return v, set
		case !r.Adds:
			return held.(T), true
		case set:
			v = r.add(v, held).(T)
		default:
			v, set = held.(T), true
		}
	}
	return v, set
}

// Of is the effective value, or the zero value.
func (r *Row[T]) Of(s Settings) T {
	v, _ := r.Lookup(s)
	return v
}

// Or is the effective value, or another if nothing sets it.
func (r *Row[T]) Or(s Settings, other T) T {
	if v, ok := r.Lookup(s); ok {
		return v
	}
	return other
}

// Ptr is the effective value, nil if nothing sets it.
func (r *Row[T]) Ptr(s Settings) *T {
	if v, ok := r.Lookup(s); ok {
		return &v
	}
	return nil
}

// From is the origin of the effective value.
func (r *Row[T]) From(s Settings) Origin { return s.origin(&r.Def) }

// Place names the origin of the effective value: --model, MYLM_MODEL.
func (r *Row[T]) Place(s Settings) string { return r.From(s).text(&r.Def) }

// In is a layer with one more value.
func (r *Row[T]) In(l Layer, v T) Layer {
	if l.values == nil {
		l.values = values{}
	}
	l.values[&r.Def] = v
	return l
}

func (r *Row[T]) check(v any) error {
	if word, ok := v.(string); ok && r.Words != nil && !slices.Contains(r.Words, word) {
		return errors.New("it must be " + term.Alternatives(r.Words))
	}
	for _, c := range r.checks {
		if err := c(v.(T)); err != nil {
			return err
		}
	}
	return nil
}

func (r *Row[T]) decode(into func(any) error) (any, error) {
	var v T
	if _, ok := any(v).(time.Duration); ok {
		var text string
		if err := into(&text); err != nil {
			return nil, err
		}
		d, err := parseSpan(text)
		if err != nil {
			return nil, fmt.Errorf("%s is %q; %w", r.Key, term.Echoed(text), err)
		}
		return d, nil
	}
	err := into(&v)
	return v, err
}

func (r *Row[T]) form() string {
	var v T
	switch any(v).(type) {
	case int:
		return formNumber
	case float64:
		return "a number without quotes, such as 0.5"
	case bool:
		return "true or false without quotes"
	case time.Duration:
		return `a duration in quotes, such as "30s"`
	case []string:
		return `a list of texts in quotes, such as ["read_file"]`
	}
	return formText
}

func (r *Row[T]) parse(text string) (any, error) {
	var v T
	switch any(v).(type) {
	case int:
		n, err := strconv.Atoi(text)
		return n, orMessage(err, "it must be a whole number")
	case float64:
		n, err := strconv.ParseFloat(text, 64)
		return n, orMessage(err, "it must be a number")
	case bool:
		on, err := strconv.ParseBool(text)
		return on != r.Negated, orMessage(err, "it must be true or false")
	case time.Duration:
		return parseSpan(text)
	case []string:
		return splitList(text), nil
	}
	return text, nil
}

func orMessage(err error, message string) error {
	if err != nil {
		return errors.New(message)
	}
	return nil
}

func parseSpan(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("it must be a duration such as 30s, 10m or 1h30m")
	}
	return d, nil
}

func splitList(text string) []string {
	out := []string{}
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// add is a list of a layer, followed by that of a lower one.
func (r *Row[T]) add(a, b any) any {
	list, _ := a.([]string)
	below, _ := b.([]string)
	return slices.Concat(list, below)
}

// tighten merges a project's value into the user's.
func (r *Row[T]) tighten(user Settings, project any) (any, error) {
	return r.project(r.Of(user), project.(T))
}

// values are those of a layer; with nil it is as if no layer below set anything.
type values map[*Def]any

// Layer holds the settings of one source.
type Layer struct {
	From   Origin
	values values
}

// Holds reports whether a layer sets anything.
func (l Layer) Holds() bool { return len(l.values) > 0 }

// Origin is where a value comes from.
type Origin struct {
	Kind Kind
	Name string // of a profile, an entry, a session or a file
}

// Kind is a kind of layer.
type Kind int

// The kinds of layers. Default is the kind of a setting that nothing sets.
const (
	Default Kind = iota
	Project
	Flag
	Variable
	Session
	Profile
	Model
	File
	OllamaHost
	LastModel
)

// Settings are layers, the one with the highest precedence first.
type Settings []Layer

func (s Settings) origin(d *Def) Origin {
	for _, l := range s {
		if _, ok := l.values[d]; ok {
			return l.From
		}
	}
	return Origin{}
}

// Without are the layers without those of some kinds.
func (s Settings) Without(kinds ...Kind) Settings {
	return slices.DeleteFunc(slices.Clone(s), func(l Layer) bool { return slices.Contains(kinds, l.From.Kind) })
}

// Only are the layers of a kind.
func (s Settings) Only(kind Kind) Settings {
	return slices.DeleteFunc(slices.Clone(s), func(l Layer) bool { return l.From.Kind != kind })
}

// text describes where a value of a setting comes from.
func (o Origin) text(d *Def) string {
	switch o.Kind {
	case Project:
		return ProjectFile + " of the project"
	case Flag:
		return "--" + d.Flag
	case Variable:
		return d.Var
	case Session:
		return "session " + o.Name
	case Profile:
		return "[profiles." + o.Name + "]"
	case Model:
		return "[models." + o.Name + "]"
	case File:
		return "configuration"
	case OllamaHost:
		return "OLLAMA_HOST"
	case LastModel:
		return "the model that answered last"
	}
	return "default"
}

// checkAll checks the values of a layer. name is the name of a setting there.
func checkAll(v values, name func(*Def) string) error {
	var errs []error
	for _, s := range table {
		d := s.def()
		if held, ok := v[d]; ok {
			if err := s.check(held); err != nil {
				if _, list := held.([]string); list { // the error says which of it
					errs = append(errs, fmt.Errorf("%s: %w", name(d), err))
				} else {
					errs = append(errs, fmt.Errorf("%s is %s; %w", name(d), valueText(held), err))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// valueText is a value as messages repeat it.
func valueText(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(term.Echoed(v))
	case []string:
		quoted := make([]string, len(v))
		for i, s := range v {
			quoted[i] = strconv.Quote(term.Echoed(s))
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// held is the effective value, nil if nothing sets it.
func (r *Row[T]) held(s Settings) any {
	if v, ok := r.Lookup(s); ok {
		return v
	}
	return nil
}
