package command

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxChoices bounds the words that one list in braces becomes.
const maxChoices = 500

// maxValue bounds the value of a variable, in bytes: x=$x$x doubles it.
const maxValue = 4 << 10

// assign notes what variables are set to, the last in the line: a loop may have it
// otherwise. The elements of an array have a separator between them.
func (l *looker) assign(list []*syntax.Assign) {
	for _, a := range list {
		if a.Name == nil || a.Naked {
			continue
		}
		old, value := l.vars[a.Name.Value], ""
		switch {
		case a.Array != nil:
			value = strings.Join(l.elements(a.Array), separator)
		case a.Value != nil:
			value = strings.Join(l.word(a.Value), " ")
		}
		switch {
		case a.Index != nil:
			value = replaced(old, subscript(a.Index), value)
		case a.Append && a.Array != nil && old != "":
			value = old + separator + value
		case a.Append:
			value = old + value
		}
		l.lost = l.lost || len(value) > maxValue
		l.vars[a.Name.Value] = value
	}
}

func (l *looker) elements(a *syntax.ArrayExpr) (words []string) {
	for _, e := range a.Elems {
		if e.Value != nil {
			words = append(words, l.word(e.Value)...)
		}
	}
	return words
}

// replaced is an array with one element set; where it is not known which, with one more.
func replaced(array, index, value string) string {
	if array == "" {
		return value
	}
	list := strings.Split(array, separator)
	if i, err := strconv.Atoi(index); err == nil && 0 <= i && i < len(list) {
		list[i] = value
		return strings.Join(list, separator)
	}
	return array + separator + value
}

// parameters notes what set makes of its words: $1, $2 and so on.
func (l *looker) parameters(args []string) {
	for len(args) > 0 && args[0] != "--" && strings.HasPrefix(strings.Replace(args[0], "+", "-", 1), "-") {
		with := 1
		if strings.HasSuffix(args[0], "o") { // its value is the next word
			with = min(2, len(args))
		}
		args = args[with:]
	}
	if len(args) == 0 {
		return
	}
	if args[0] == "--" {
		args = args[1:]
	}
	all := strings.Join(args, separator)
	l.lost = l.lost || len(all) > maxValue
	l.vars["@"], l.vars["*"] = all, all
	for i := range 9 {
		delete(l.vars, strconv.Itoa(i+1))
		if i < len(args) {
			l.vars[strconv.Itoa(i+1)] = args[i]
		}
	}
}

// shown are the words of a command as far as they can be told.
func (l *looker) shown(list []*syntax.Word) (words []string) {
	for _, w := range list {
		words = append(words, l.word(w)...)
	}
	return words
}

// word is a word as far as it can be told: without quotes, variables by what the line sets them to or by name. One
// that holds $IFS, or a list in braces, is several; $1, of which nothing is known, is none.
func (l *looker) word(w *syntax.Word) []string {
	var b strings.Builder
	bare, quoted := true, false
	for _, part := range w.Parts {
		_, literal := part.(*syntax.Lit)
		_, param := part.(*syntax.ParamExp)
		bare, quoted = bare && literal, quoted || !literal && !param
		l.piece(&b, part, false)
	}
	text := b.String()
	words := strings.Split(text, separator)
	if bare && strings.Contains(text, "{") {
		var all []string
		for _, w := range words {
			all = append(all, braces(w, 0)...)
		}
		words = all
	}
	return slices.DeleteFunc(words, func(s string) bool { return s == "" && (len(words) > 1 || !quoted) })
}

// separator stands for $IFS; no word can hold it.
const separator = "\x00"

// piece writes one part of a word.
func (l *looker) piece(b *strings.Builder, part syntax.WordPart, quoted bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		b.WriteString(unescape(p.Value))
	case *syntax.SglQuoted:
		text := p.Value
		if p.Dollar {
			text, _, _ = expand.Format(nil, text, nil)
		}
		b.WriteString(strings.ReplaceAll(text, separator, ""))
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			l.piece(b, inner, true)
		}
	case *syntax.ParamExp:
		l.param(b, p, quoted)
	default:
		b.WriteString("$(...)")
	}
}

// param writes what a variable stands for: what the line sets it to, else a
// default, else its name.
func (l *looker) param(b *strings.Builder, p *syntax.ParamExp, quoted bool) {
	if p.Param == nil {
		return
	}
	name := p.Param.Value
	value, set := l.vars[name]
	value = element(p, value, quoted)
	switch {
	case name == "IFS":
		b.WriteString(separator)
	case set && !quoted:
		b.WriteString(strings.Join(strings.Fields(value), separator))
	case set:
		b.WriteString(value)
	case strings.Trim(name, "@*123456789") == "":
	case p.Exp != nil && p.Exp.Word != nil && name != "HOME" && slices.Contains(defaults, p.Exp.Op):
		b.WriteString(strings.Join(l.word(p.Exp.Word), separator))
	default:
		b.WriteString("$" + name)
	}
}

// element is the part of an array that is meant: one element, or all of them. Where it is not known which, it is all.
func element(p *syntax.ParamExp, value string, quoted bool) string {
	index := p.Param.Value
	if index != "@" && index != "*" {
		index = subscript(p.Index)
	}
	list := strings.Split(value, separator)
	i, err := strconv.Atoi(index)
	if i < 0 {
		i += len(list)
	}
	switch {
	case index == "*" && quoted:
		return strings.Join(list, " ")
	case err != nil:
		return value
	case i < 0 || i >= len(list):
		return ""
	}
	return list[i]
}

// subscript is the index of an array as it is written, "0" without one, "" if it is calculated.
func subscript(x syntax.ArithmExpr) string {
	switch x := x.(type) {
	case nil:
		return "0"
	case *syntax.Word:
		return x.Lit()
	case *syntax.UnaryArithm:
		if x.Op == syntax.Minus {
			return "-" + subscript(x.X)
		}
	}
	return ""
}

// defaults are the operators whose word may be what a variable stands for.
var defaults = []syntax.ParExpOperator{syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull, syntax.AlternateUnset, syntax.AlternateUnsetOrNull}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// braces writes out a list in braces: {rm,-rf,x} is three words.
func braces(w string, depth int) []string {
	open := strings.IndexByte(w, '{')
	if open < 0 || depth > 3 {
		return []string{w}
	}
	end := strings.IndexByte(w[open:], '}')
	if end < 0 || !strings.Contains(w[open:open+end], ",") {
		return []string{w}
	}
	var out []string
	for choice := range strings.SplitSeq(w[open+1:open+end], ",") {
		out = append(out, braces(w[:open]+choice+w[open+end+1:], depth+1)...)
		if len(out) > maxChoices {
			break
		}
	}
	return out
}
