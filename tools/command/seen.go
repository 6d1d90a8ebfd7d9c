package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxSeen bounds the commands that are looked for in one line, since lines can be
// built that start each other in endless ways. A line that anybody means has fewer.
const maxSeen = 20_000

// maxWords bounds their words, of which a command inside another has its share
// again.
const maxWords = 100_000

// maxRead bounds the lines that are found in the words of a line, in bytes.
const maxRead = 1 << 20

// maxFuncs bounds how many functions are looked at for a bomb, each as a whole:
// they can be nested.
const maxFuncs = 50

// looker finds the commands of a line, wherever they stand.
type looker struct {
	seen  []Call
	words int
	funcs int
	read  int // bytes of lines
	nodes int // that were looked at for texts
	vars  map[string]string
	fed   map[*syntax.Stmt]bool // parts of pipelines, which are looked at as a whole
	bomb  bool
	lost  bool // one of the bounds was reached
}

// look finds what can be seen in a line. What no parser reads is cut at what
// ends a command: a rule that forbids should rather hold too often.
func look(line string) looker {
	l := looker{vars: map[string]string{}, fed: map[*syntax.Stmt]bool{}}
	l.line(line, 0)
	return l
}

func (l *looker) line(line string, depth int) {
	l.read += len(line)
	l.lost = l.lost || l.read > maxRead
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
		case *syntax.Stmt:
			l.stmt(n, depth)
		case *syntax.CallExpr:
			words := l.shown(n.Args) // by what variables were before
			l.assign(n.Assigns)
			l.call(words, depth)
		case *syntax.DeclClause:
			l.assign(n.Args)
		case *syntax.Redirect:
			switch op := n.Op.String(); {
			case n.Word == nil || n.Hdoc != nil:
			case strings.Contains(op, ">"):
				l.add(append([]string{">"}, l.word(n.Word)...), false)
			case n.Op == syntax.RdrIn:
				l.add(append([]string{"<"}, l.word(n.Word)...), false)
			}
		}
		return !l.lost
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
