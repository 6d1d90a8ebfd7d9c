package command

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// reading is a line in one of the shells' readings, as far as it is plain.
type reading struct {
	dir    []word // of a cd that stands in front of everything
	calls  [][]word
	fed    []bool // for each call: something is piped or redirected into it
	inputs []word // files that < reads
	why    string // what is not plain
}

func (r *reading) refuse(format string, args ...any) {
	if r.why == "" {
		r.why = fmt.Sprintf(format, args...)
	}
}

func (r *reading) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		r.stmt(s, false)
	}
}

func (r *reading) stmt(s *syntax.Stmt, fed bool) {
	if s.Background || s.Coprocess || s.Disown {
		r.refuse("it leaves something running in the background (&)")
	}
	for _, redirect := range s.Redirs {
		r.redirect(redirect)
		fed = fed || feeds(redirect)
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		r.call(c, fed)
	case *syntax.BinaryCmd:
		if c.Op != syntax.AndStmt && c.Op != syntax.OrStmt && c.Op != syntax.Pipe {
			r.refuse("%s is not known here", c.Op)
		}
		if dir := enters(c); dir != nil && r.dir == nil && len(r.calls) == 0 {
			r.dir = dir
		} else {
			r.stmt(c.X, fed)
		}
		r.stmt(c.Y, fed || c.Op == syntax.Pipe)
	case nil:
		r.refuse("a redirect without a command")
	default:
		r.refuse("it holds more than simple commands (%s)", construct(c))
	}
}

// enters is the cd DIRECTORY that stands in front of &&, nil if there is
// something else.
func enters(c *syntax.BinaryCmd) []word {
	call, ok := c.X.Cmd.(*syntax.CallExpr)
	if !ok || c.Op != syntax.AndStmt || c.X.Negated || c.X.Background || len(c.X.Redirs) > 0 || len(call.Assigns) > 0 || len(call.Args) != 2 {
		return nil
	}
	var words []word
	for _, arg := range call.Args {
		w, why := literal(arg)
		if why != "" {
			return nil
		}
		words = append(words, w)
	}
	if words[0].text != "cd" || !words[0].bare || strings.HasPrefix(words[1].text, "-") {
		return nil
	}
	return words
}

// construct names what a shell program is made of beside simple commands.
func construct(c syntax.Command) string {
	switch c.(type) {
	case *syntax.Subshell:
		return "( ... )"
	case *syntax.Block:
		return "{ ... }"
	case *syntax.FuncDecl:
		return "a function"
	case *syntax.IfClause:
		return "if"
	case *syntax.ForClause, *syntax.WhileClause:
		return "a loop"
	case *syntax.CaseClause:
		return "case"
	case *syntax.TestClause:
		return "[[ ... ]]"
	case *syntax.ArithmCmd, *syntax.LetClause:
		return "arithmetic"
	case *syntax.DeclClause:
		return "a declaration"
	case *syntax.CoprocClause:
		return "a coprocess"
	case *syntax.TimeClause:
		return "time"
	}
	return "syntax that is not known here"
}

func (r *reading) call(c *syntax.CallExpr, fed bool) {
	if len(c.Assigns) > 0 {
		r.refuse("it sets a variable (%s)", c.Assigns[0].Name.Value)
		return
	}
	var words []word
	for _, arg := range c.Args {
		w, why := literal(arg)
		if why != "" {
			r.refuse("%s", why)
			return
		}
		words = append(words, w)
	}
	if len(words) == 0 {
		r.refuse("it is empty")
		return
	}
	r.calls, r.fed = append(r.calls, words), append(r.fed, fed)
}

// feeds reports whether a redirect changes what a command reads, but to nothing.
func feeds(d *syntax.Redirect) bool {
	nothing := d.Word != nil && d.Word.Lit() == "/dev/null"
	return d.Op == syntax.RdrIn && !nothing || d.N != nil && d.N.Value == "0"
}

// redirect lets through what writes nowhere: files that are read, the three
// streams onto each other, and /dev/null.
func (r *reading) redirect(d *syntax.Redirect) {
	if d.N != nil && d.N.Value != "0" && d.N.Value != "1" && d.N.Value != "2" {
		r.refuse("it opens another stream than the usual three (%s)", d.N.Value)
		return
	}
	if d.Hdoc != nil || d.Word == nil {
		r.refuse("it holds a here-document")
		return
	}
	target, why := literal(d.Word)
	if why != "" {
		r.refuse("%s", why)
		return
	}
	if target.glob {
		r.refuse("a redirect to a pattern (%s)", target.text)
		return
	}
	switch d.Op {
	case syntax.RdrIn:
		r.inputs = append(r.inputs, target)
	case syntax.RdrOut, syntax.AppOut:
		if target.text != "/dev/null" {
			r.refuse("it writes to %s", target.text)
		}
	case syntax.DplOut:
		if target.text != "1" && target.text != "2" {
			r.refuse("it writes to %s", target.text)
		}
	default:
		r.refuse("the redirect %s is not known here", d.Op)
	}
}
