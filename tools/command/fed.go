package command

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxNodes bounds what is looked at for texts, as pipelines inside others are
// looked at again.
const maxNodes = 500_000

// stmt looks for commands in the texts of a command or pipeline that may run them: in a here-document, or what echo
// prints, where a shell reads it.
func (l *looker) stmt(s *syntax.Stmt, depth int) {
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
			return
		}
		l.fed[c.X], l.fed[c.Y] = true, true
		if l.fed[s] {
			return
		}
	case *syntax.CallExpr:
		if l.fed[s] {
			return
		}
	default:
		return
	}
	var runs bool
	var texts []string
	var filled [][]string // calls of xargs
	syntax.Walk(s, func(n syntax.Node) bool {
		if l.nodes++; l.nodes > maxNodes {
			l.lost = true
		}
		switch n := n.(type) {
		case *syntax.CallExpr:
			words := l.shown(n.Args)
			runs = runs || runsText(n, words)
			switch {
			case len(words) < 2:
			case words[0] == "echo" || words[0] == "printf":
				texts = append(append(texts, strings.Join(words[1:], " ")), words[1:]...)
			case slices.Contains(words, "xargs"):
				filled = append(filled, words)
			}
		case *syntax.Redirect:
			if n.Hdoc != nil {
				texts = append(texts, strings.Join(l.word(n.Hdoc), " "))
			} else if n.Op == syntax.WordHdoc {
				texts = append(texts, strings.Join(l.word(n.Word), " "))
			}
		}
		return !l.lost
	})
	for _, text := range texts {
		if runs {
			l.line(escapes.Replace(text), depth+1)
		}
		for _, words := range filled {
			l.call(slices.Concat(words, strings.Fields(text)), depth+1)
		}
	}
}

// evaluating run what they read, or what their words name.
var evaluating = strings.Fields("eval source . at batch ssh")

// runsText reports whether a command may run what it reads, or what its words are
// made of.
func runsText(c *syntax.CallExpr, words []string) bool {
	if len(c.Args) == 0 || len(words) == 0 {
		return false
	}
	if _, computed := c.Args[0].Parts[0].(*syntax.CmdSubst); computed || slices.Contains(evaluating, words[0]) {
		return true
	}
	return !startsNothing(path.Base(words[0])) && slices.ContainsFunc(words, func(w string) bool { return slices.Contains(shells, path.Base(w)) || w == "eval" })
}
