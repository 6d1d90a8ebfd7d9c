package command

import (
	"io"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// variables are those that a line sets, the last values in it: a loop may have it
// otherwise. It is the environment of the expansion.
type variables map[string]expand.Variable

// maxValue bounds the value of a variable, in bytes: x=$x$x doubles it.
const maxValue = 4 << 10

// Get implements expand.Environ. A variable that the line does not set is its own
// name; parameters are empty, since nothing is known about them.
func (v variables) Get(name string) expand.Variable {
	value, set := v[name]
	switch {
	case set:
		return value
	case name == "IFS":
		return expand.Variable{Set: true, Kind: expand.String, Str: " \t\n"}
	case strings.Trim(name, "@*#?$!-0123456789") == "" || name == "PWD" || strings.Contains(name, " "):
		return expand.Variable{}
	}
	return expand.Variable{Set: true, Kind: expand.String, Str: "$" + name}
}

// Each implements expand.Environ.
func (v variables) Each(func(string, expand.Variable) bool) {}

// assign notes what the line sets variables to. ok is false if that is too long.
func (v variables) assign(list []*syntax.Assign) (ok bool) {
	for _, a := range list {
		if a.Name == nil || a.Naked {
			continue
		}
		was, is := v[a.Name.Value], expand.Variable{Set: true, Kind: expand.String}
		switch {
		case a.Array != nil:
			is.Kind = expand.Indexed
			if a.Append {
				is.List = was.List
			}
			for _, e := range a.Array.Elems {
				if e.Value != nil {
					is.List = append(is.List, v.fields(e.Value)...)
				}
			}
		case a.Value != nil:
			is.Str = strings.Join(v.fields(a.Value), " ")
			if a.Append {
				is.Str = was.Str + is.Str
			}
		}
		if len(is.Str) > maxValue || len(is.List) > maxValue {
			return false
		}
		v[a.Name.Value] = is
	}
	return true
}

// fields are the words to which a shell expands others, as far as that is known. A
// word that cannot be expanded stays as written.
func (v variables) fields(words ...*syntax.Word) (out []string) {
	for _, w := range words {
		out = append(out, v.expand(w)...)
	}
	return out
}

func (v variables) expand(w *syntax.Word) (out []string) {
	var text strings.Builder
	_ = syntax.NewPrinter().Print(&text, w)
	written := []string{text.String()}
	defer func() {
		if recover() != nil { // syntax that the library does not expand
			out = written
		}
	}()
	env := v
	syntax.Walk(w, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil && p.Exp != nil && slices.Contains(defaults, p.Exp.Op) {
			if _, set := v[p.Param.Value]; !set && p.Param.Value != "HOME" {
				env = variables{}
				for name, value := range v {
					env[name] = value
				}
				env[p.Param.Value] = expand.Variable{}
			}
		}
		return true
	})
	braces, commas := strings.Count(written[0], "{"), strings.Count(written[0], ",")
	if braces > 1 && commas > 12 || braces > 0 && strings.Contains(written[0], "..") || len(written[0]) > maxLine {
		return written // it may become too many
	}
	out, err := expand.Fields(&expand.Config{
		Env:       env,
		CmdSubst:  func(w io.Writer, _ *syntax.CmdSubst) error { _, err := io.WriteString(w, "$(...)"); return err },
		ProcSubst: func(*syntax.ProcSubst) (string, error) { return "$(...)", nil },
	}, w)
	if err != nil {
		return written
	}
	return out
}

// defaults are the operators whose word may become the value of a variable.
var defaults = []syntax.ParExpOperator{syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull, syntax.AlternateUnset, syntax.AlternateUnsetOrNull}
