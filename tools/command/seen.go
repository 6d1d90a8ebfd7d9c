package command

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what is looked at in one line, since lines can be built that start
// each other in endless ways. A line that anybody means stays below them.
const (
	maxSeen  = 20_000
	maxWords = 100_000 // of all commands together
	maxRead  = 1 << 20 // bytes of lines that are found in the words of a line
	maxDepth = 5
)

// looker finds the commands of a line, wherever they are.
type looker struct {
	Analysis
	words int
	read  int
	vars  variables
}

// look finds what can be seen in a line. What no parser reads is cut at what
// ends a command: a rule that forbids should rather hold too often.
func look(line string) Analysis {
	l := looker{vars: variables{}}
	l.line(line, 0)
	return l.Analysis
}

func (l *looker) line(line string, depth int) {
	l.read += len(line)
	l.Lost = l.Lost || l.read > maxRead || depth > maxDepth
	if l.Lost {
		return
	}
	if len(line) <= maxLine {
		for _, lang := range []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX} {
			if file, err := parse(line, lang); err == nil {
				syntax.Walk(file, func(n syntax.Node) bool {
					l.node(n, depth)
					return !l.Lost
				})
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

func (l *looker) node(n syntax.Node, depth int) {
	switch n := n.(type) {
	case *syntax.FuncDecl:
		l.Bomb = l.Bomb || bomb(n)
	case *syntax.Stmt:
		l.fed(n, depth)
	case *syntax.CallExpr:
		words := l.vars.fields(n.Args...) // by what variables were before
		l.Lost = l.Lost || !l.vars.assign(n.Assigns)
		l.call(words, depth)
	case *syntax.DeclClause:
		l.Lost = l.Lost || !l.vars.assign(n.Args)
	case *syntax.Redirect:
		stream := n.Op == syntax.DplOut && strings.Trim(n.Word.Lit(), "0123456789-") == ""
		if op := n.Op.String(); n.Word != nil && n.Hdoc == nil && !stream && (strings.Contains(op, ">") || n.Op == syntax.RdrIn) {
			l.add(append([]string{op[:1]}, l.vars.fields(n.Word)...), false)
			if strings.HasPrefix(op, "&") {
				l.add(append([]string{">"}, l.vars.fields(n.Word)...), false)
			}
		}
	}
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

// fed looks for commands in the texts of a pipeline or command that a shell
// reads: in a here-document, or what echo prints.
func (l *looker) fed(s *syntax.Stmt, depth int) {
	pipe, ok := s.Cmd.(*syntax.BinaryCmd)
	if len(s.Redirs) == 0 && !(ok && (pipe.Op == syntax.Pipe || pipe.Op == syntax.PipeAll)) {
		return
	}
	var runs bool
	var texts []string
	syntax.Walk(s, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			words := l.vars.fields(n.Args...)
			l.read += len(words)
			runs = runs || len(words) > 0 && !startsNothing(path.Base(words[0])) && slices.ContainsFunc(words, func(w string) bool { return slices.Contains(shells, path.Base(w)) })
			if len(words) > 1 && (words[0] == "echo" || words[0] == "printf") {
				texts = append(append(texts, strings.Join(words[1:], " ")), words[1:]...)
			}
		case *syntax.Redirect:
			if n.Hdoc != nil {
				texts = append(texts, strings.Join(l.vars.fields(n.Hdoc), " "))
			} else if n.Op == syntax.WordHdoc {
				texts = append(texts, strings.Join(l.vars.fields(n.Word), " "))
			}
		}
		return l.read <= maxRead
	})
	for _, text := range texts {
		if runs {
			l.line(text, depth+1)
		}
	}
}

func (l *looker) add(words []string, starts bool) {
	switch {
	case len(words) == 0:
	case len(l.Seen) == maxSeen || l.words+len(words) > maxWords:
		l.Lost = true
	default:
		l.words += len(words)
		l.Seen = append(l.Seen, Call{Words: words, Starts: starts})
	}
}
