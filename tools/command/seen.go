package command

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxSeen bounds the commands that are looked for in one line, since lines can be
// built that start each other in endless ways. A line that anybody means has fewer.
const maxSeen = 20_000

// maxWords bounds their words, of which a command inside another has its share
// again.
const maxWords = 100_000

// maxChoices bounds the words that one list in braces becomes.
const maxChoices = 500

// maxFuncs bounds how many functions are looked at for a bomb, each as a whole:
// they can be nested.
const maxFuncs = 50

// looker finds the commands of a line, wherever they stand.
type looker struct {
	seen  []Call
	words int
	funcs int
	bomb  bool
	lost  bool // maxSeen or maxWords was reached
}

// look finds what can be seen in a line. What no parser reads is cut at what
// ends a command: a rule that forbids should rather hold too often.
func look(line string) looker {
	var l looker
	l.line(line, 0)
	return l
}

func (l *looker) line(line string, depth int) {
	if depth > 5 || l.lost {
		return
	}
	if len(line) <= maxLine {
		for _, lang := range []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX} {
			if file, err := parse(line, lang); err == nil {
				l.walk(file, depth)
				return
			}
		}
	}
	for part := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(";|&\n(){}`", r) }) {
		var words []string
		for w := range strings.FieldsSeq(part) {
			words = append(words, strings.Trim(w, `"'`))
		}
		l.call(words, depth)
	}
}

func (l *looker) walk(file *syntax.File, depth int) {
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			if l.funcs++; l.funcs <= maxFuncs {
				l.bomb = l.bomb || bomb(n)
			}
		case *syntax.CallExpr:
			var words []string
			for _, w := range n.Args {
				words = append(words, shown(w)...)
			}
			l.call(words, depth)
		case *syntax.Redirect:
			switch op := n.Op.String(); {
			case n.Word == nil || n.Hdoc != nil:
			case strings.Contains(op, ">"):
				l.add(append([]string{">"}, shown(n.Word)...), false)
			case n.Op == syntax.RdrIn:
				l.add(append([]string{"<"}, shown(n.Word)...), false)
			}
		}
		return true
	})
}

// bomb reports whether a function starts itself beside itself.
func bomb(f *syntax.FuncDecl) (found bool) {
	if f.Name == nil {
		return false
	}
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		var stmts []*syntax.Stmt
		switch n := n.(type) {
		case *syntax.Stmt:
			if n.Background {
				stmts = append(stmts, n)
			}
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				stmts = append(stmts, n.X, n.Y)
			}
		}
		for _, s := range stmts {
			if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 && c.Args[0].Lit() == f.Name.Value {
				found = true
			}
		}
		return !found
	})
	return found
}

func (l *looker) add(words []string, starts bool) {
	switch {
	case len(words) == 0:
	case len(l.seen) == maxSeen || l.words+len(words) > maxWords:
		l.lost = true
	default:
		l.words += len(words)
		l.seen = append(l.seen, Call{Words: words, Starts: starts})
	}
}

func (l *looker) call(words []string, depth int) {
	for len(words) > 0 && assignment(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 || depth > 5 || l.lost {
		return
	}
	name, args := path.Base(words[0]), words[1:]
	before, wraps := wrappers[name]
	unknown := !wraps && !slices.Contains(shells, name) && !startsNothing(name)
	l.add(words, unknown)
	switch {
	case name == "find" || name == "fd":
		for i, a := range args {
			if slices.Contains(executing, a) {
				l.call(args[i+1:], depth+1)
			}
		}
	case slices.Contains(readers, name):
		l.line(strings.Join(args, " "), depth+1)
		for _, a := range args { // or each of them is a line
			if _, line, named := strings.Cut(a, "="); named && name == "alias" {
				a = line
			}
			l.line(a, depth+1)
		}
	case slices.Contains(shells, name):
		for i, a := range args {
			if a == "--command" || len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Contains(a, "c") {
				l.texts(args[i+1:], depth)
			}
		}
	case name == "env":
		l.split(args, depth)
	}
	switch {
	case wraps && name != "find" && name != "fd":
		l.wrapped(args, before, depth)
	case unknown: // the policy looks for commands among the words; a shell's are in one of them
		for i, a := range args {
			if b := path.Base(a); slices.Contains(shells, b) || slices.Contains(readers, b) || b == "env" {
				l.call(args[i:], depth+1)
			}
		}
	}
}

// split looks into the line that env -S takes apart.
func (l *looker) split(args []string, depth int) {
	for i, a := range args {
		for _, flag := range []string{"--split-string=", "-S"} {
			if text, ok := strings.CutPrefix(a, flag); ok {
				l.line(strings.Join(append([]string{text}, args[i+1:]...), " "), depth+1)
			}
		}
	}
}

// texts looks into the first words that are no flags: one of them is the line
// for a shell.
func (l *looker) texts(args []string, depth int) {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			l.line(a, depth+1)
			return
		}
	}
}

// wrapped looks for the command behind a wrapper. Which flags take a value is not
// known, so what stands behind a flag counts as both.
func (l *looker) wrapped(args []string, before, depth int) {
	for i, a := range args {
		switch {
		case strings.HasPrefix(a, "-") || assignment(a):
			continue
		case i > 0 && strings.HasPrefix(args[i-1], "-") && args[i-1] != "--":
			l.call(args[i:], depth+1)
		case before > 0:
			before--
		default:
			l.call(args[i:], depth+1)
			return
		}
	}
}

func assignment(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	if !ok || name == "" {
		return false
	}
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return true
}

// shown is a word as far as it can be told: without quotes, variables by name. One that holds
// $IFS, or a list in braces, is several.
func shown(w *syntax.Word) []string {
	var b strings.Builder
	bare := true
	for _, part := range w.Parts {
		bare = piece(&b, part) && bare
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
	return slices.DeleteFunc(words, func(s string) bool { return s == "" && len(words) > 1 })
}

// separator stands for $IFS; no word can hold it.
const separator = "\x00"

// piece writes one part of a word, and reports whether it is a literal.
func piece(b *strings.Builder, part syntax.WordPart) bool {
	switch p := part.(type) {
	case *syntax.Lit:
		b.WriteString(unescape(p.Value))
		return true
	case *syntax.SglQuoted:
		if p.Dollar {
			b.WriteString(ansi(p.Value))
			return false
		}
		b.WriteString(p.Value)
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			piece(b, inner)
		}
	case *syntax.ParamExp:
		switch {
		case p.Param != nil && p.Param.Value == "IFS":
			b.WriteString(separator)
		case p.Param != nil:
			b.WriteString("$" + p.Param.Value)
		}
	default:
		b.WriteString("$(...)")
	}
	return false
}

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

// ansi reads the escapes of $'...', as far as they are those of Go.
func ansi(s string) string {
	var b strings.Builder
	for s != "" {
		r, multibyte, tail, err := strconv.UnquoteChar(s, '\'')
		switch {
		case err != nil:
			b.WriteByte(s[0])
			tail = s[1:]
		case r < 0x80 || multibyte:
			b.WriteRune(r)
		default:
			b.WriteByte(byte(r))
		}
		s = tail
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
