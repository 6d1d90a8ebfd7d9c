package command

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"mvdan.cc/sh/v3/syntax"
)

// word is a word of a line whose text is known before it runs.
type word struct {
	text  string
	glob  bool // it holds *, ? or [...], which stand for names of files
	bare  bool // it was written without quotes and escapes
	tilde bool // it begins with the home directory of somebody
}

// suspicious says what in a line does not look like what it is, or is nothing
// that anybody types.
func suspicious(line string) string {
	if len(line) > maxLine {
		return fmt.Sprintf("it is longer than %d bytes", maxLine)
	}
	if strings.Contains(line, "\\\n") {
		return "a word goes on behind a line end"
	}
	if strings.ContainsRune(line, unicode.ReplacementChar) || strings.ToValidUTF8(line, "") != line {
		return "it is not valid UTF-8"
	}
	if !norm.NFKC.IsNormalString(norm.NFC.String(line)) {
		return "it holds a character that looks like another"
	}
	latin, other := false, false // within one run of letters
	for _, r := range line {
		switch {
		case r == '\n' || r == '\t' || ' ' <= r && r <= '~':
		case !unicode.In(r, unicode.L, unicode.M, unicode.N):
			return fmt.Sprintf("it holds %U, which can be taken for something else", r)
		}
		switch {
		case !unicode.In(r, unicode.L, unicode.M):
			latin, other = false, false
		case unicode.Is(unicode.Latin, r):
			latin = true
		case unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu):
			other = true
		}
		if latin && other {
			return fmt.Sprintf("a word mixes letters that look alike (%U)", r)
		}
	}
	return ""
}

// literal is the text of a word, or why it is not known.
func literal(w *syntax.Word) (out word, why string) {
	out.bare = true
	var b strings.Builder
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if why := out.unquoted(&b, p.Value, i == 0, len(w.Parts) == 1); why != "" {
				return out, why
			}
		case *syntax.SglQuoted:
			if p.Dollar {
				return out, "it holds a text with escapes ($'...')"
			}
			out.bare = false
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar {
				return out, "it holds a text that is translated ($\"...\")"
			}
			out.bare = false
			if why := quoted(&b, p); why != "" {
				return out, why
			}
		default:
			return out, "it holds " + expansion(part) + ", so that its words are not known"
		}
	}
	out.text = b.String()
	return out, ""
}

// expansion names what a shell replaces by something else.
func expansion(p syntax.WordPart) string {
	switch p := p.(type) {
	case *syntax.ParamExp:
		if p.Param != nil {
			return "the variable $" + p.Param.Value
		}
		return "a variable"
	case *syntax.CmdSubst:
		return "a command substitution"
	case *syntax.ArithmExp:
		return "arithmetic"
	case *syntax.ProcSubst:
		return "a process substitution"
	}
	return "a pattern that not every shell knows"
}

// bracket is a set of letters in a pattern that every shell reads, if it reads it
// at all, as one of these.
var bracket = late(`^\[[A-Za-z0-9._!^-]+\]`)

// unquoted reads what stands outside quotes, at the begin of its word or alone in
// it. A literal at the begin may begin with ~.
func (w *word) unquoted(b *strings.Builder, text string, first, alone bool) string {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			if i++; i == len(text) {
				return "it ends in an escape"
			}
			w.bare = false
			b.WriteByte(text[i])
			continue
		case '*', '?':
			w.glob = true
		case '[':
			switch set := bracket().FindString(text[i:]); {
			case set != "":
				w.glob = true
				b.WriteString(set[:len(set)-1])
				i += len(set) - 1
			case text != "[" || !alone: // the program
				return "it holds a pattern with ["
			}
		case '{', '}':
			return "it holds braces, which sh and bash read in different ways"
		case '~':
			w.tilde = w.tilde || i == 0 && first || i > 0 && (text[i-1] == '=' || text[i-1] == ':')
		case '$':
			if i+1 < len(text) {
				return "it holds a $ that is not quoted"
			}
		case '`':
			return "it holds a command substitution"
		}
		b.WriteByte(text[i])
	}
	return ""
}

// quoted reads what stands in double quotes.
func quoted(b *strings.Builder, q *syntax.DblQuoted) string {
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "it holds " + expansion(part) + ", so that its words are not known"
		}
		for i := 0; i < len(lit.Value); i++ {
			if lit.Value[i] == '\\' && i+1 < len(lit.Value) && strings.IndexByte("$`\"\\", lit.Value[i+1]) >= 0 {
				i++
			}
			b.WriteByte(lit.Value[i])
		}
	}
	return ""
}

// late is a regular expression that is compiled when it is used first: a program
// that judges no command compiles none, which would take half a millisecond.
func late(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
