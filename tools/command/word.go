package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is a word of a line whose text is known before it runs.
type word struct {
	text  string
	glob  bool // it holds * or ?, which stand for names of files
	bare  bool // it was written without quotes and escapes
	tilde bool // it begins with the home directory of somebody
}

// literal is the text of a word, if it is known.
func literal(w *syntax.Word) (out word, ok bool) {
	out.bare = true
	var b strings.Builder
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "{}[$`") && p.Value != "[" {
				return out, false // which shells read in different ways
			}
			out.glob = out.glob || strings.ContainsAny(p.Value, "*?")
			out.tilde = out.tilde || i == 0 && p.Value[0] == '~' || strings.Contains(p.Value, "=~") || strings.Contains(p.Value, ":~")
			out.bare = out.bare && !strings.Contains(p.Value, `\`)
			b.WriteString(unescaped(p.Value, ""))
		case *syntax.SglQuoted:
			out.bare = false
			if p.Dollar {
				return out, false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			out.bare = false
			for _, inner := range p.Parts {
				lit, isLit := inner.(*syntax.Lit)
				if !isLit || p.Dollar {
					return out, false
				}
				b.WriteString(unescaped(lit.Value, "$`\"\\\n"))
			}
		default:
			return out, false
		}
	}
	out.text = b.String()
	return out, !strings.ContainsRune(out.text, 0)
}

// unescaped takes backslashes away: those in front of one of the characters, or,
// if there are none, all. One in front of a line end takes that with it.
func unescaped(s, characters string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (characters == "" || strings.IndexByte(characters, s[i+1]) >= 0) {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
