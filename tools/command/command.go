package command

import (
	"cmp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxLine is the maximum length of an analyzed line, in bytes. The parser's
// stack is bounded by it.
const maxLine = 32 << 10

// Place is where a command line would run.
type Place struct {
	Root string   // the workspace, absolute
	Dir  string   // the working directory, absolute, in Root; "": Root
	Env  []string // the environment, as os.Environ has it
}

// Analysis is what can be seen of a command line.
type Analysis struct {
	// Reads reports that every command is a plain reader, of files that lie in
	// the workspace. Why is the reason why it is not, for a person.
	Reads bool
	Why   string

	// Changes is what in the line obviously changes, builds or installs
	// something; "" if nothing is seen. It has no weight for safety.
	Changes string

	// Calls are the simple commands in their order, if nothing else would happen:
	// nil if a file is written to, something is substituted, assigned or left
	// in the background, or sh and Bash read the line in different ways.
	Calls []Call

	// Seen are all commands that can be seen, wherever they are. A redirect is the
	// call of ">" or "<" with the file.
	Seen []Call
	Bomb bool // a function of the line starts itself again and again
	Lost bool // the line holds more commands than were looked at
}

// Call is one simple command.
type Call struct {
	Words  []string // the program and its arguments, without quotes
	Reads  bool     // it is a plain reader of the workspace
	Starts bool     // of what is seen: its later words may be a command

	why       string // why it is no plain reader
	uncertain bool   // which program it starts, or with which words, is not certain
	fed       bool   // something is piped or redirected into it
	outside   bool   // something in it leads out of the workspace, or into .git
}

// Analyse analyzes a line that would run at a place. It reads files there, and
// changes nothing. It may be called from several goroutines at once.
func Analyse(line string, at Place) Analysis {
	at = at.clean()
	a := look(line)
	for _, c := range a.Seen {
		a.Changes = cmp.Or(a.Changes, c.Changes())
	}
	if a.Calls, a.Why = plain(line, at); a.Why != "" {
		return a
	}
	for _, c := range a.Calls {
		if !c.Reads {
			a.Why = c.why
			return a
		}
	}
	a.Reads = true
	return a
}

// plain are the calls of a line that is made of nothing else, or why it is not.
func plain(line string, at Place) (calls []Call, why string) {
	if len(line) > maxLine {
		return nil, "it is too long to analyze"
	}
	var readings [2]reading
	for i, lang := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash} {
		file, err := parse(line, lang)
		if err != nil {
			return nil, "it is not a valid command line"
		}
		r := &readings[i]
		for _, s := range file.Stmts {
			r.stmt(s, false)
		}
		if r.why != "" {
			return nil, r.why
		}
	}
	posix, bash := readings[0], readings[1]
	same := func(a, b simple) bool { return slices.Equal(a.words, b.words) && slices.Equal(a.inputs, b.inputs) }
	if len(posix.calls) == 0 || !slices.EqualFunc(posix.calls, bash.calls, same) {
		return nil, "sh and bash read it in different ways"
	}
	for _, s := range posix.calls {
		if s.enters {
			if at.Dir = at.dir(s.words[1]); at.Dir == "" {
				return nil, s.words[1].text + " is not a directory of the workspace"
			}
		}
		calls = append(calls, at.call(s))
	}
	return calls, ""
}

func parse(line string, lang syntax.LangVariant) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(line), "")
}

// reading is a line in one of the shells' readings, as far as it is plain.
type reading struct {
	calls []simple
	why   string // what is not plain
}

// simple is a command as it is written.
type simple struct {
	words  []word
	inputs []word // files that < reads
	fed    bool
	enters bool // cd DIRECTORY &&
}

func (r *reading) stmt(s *syntax.Stmt, fed bool) {
	var inputs []word
	for _, d := range s.Redirs {
		switch nowhere := d.Word != nil && d.Word.Lit() == "/dev/null"; {
		case d.Op == syntax.RdrIn && d.N == nil && !nowhere:
			w, ok := literal(d.Word)
			inputs, fed = append(inputs, w), true
			if !ok || w.glob {
				r.why = "it reads a file whose name is not certain"
			}
		case (d.Op == syntax.RdrIn || d.Op == syntax.RdrOut || d.Op == syntax.AppOut) && nowhere:
		case d.Op == syntax.DplOut && (d.Word.Lit() == "1" || d.Word.Lit() == "2") && (d.N == nil || d.N.Value != "0"):
		default:
			r.why = "it contains a redirect"
		}
	}
	if s.Background || s.Coprocess || s.Disown {
		r.why = "it leaves something running in the background"
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		call := simple{inputs: inputs, fed: fed}
		for _, arg := range c.Args {
			w, ok := literal(arg)
			if !ok {
				r.why = "it contains words that are known only when it runs"
			}
			call.words = append(call.words, w)
		}
		if len(c.Assigns) > 0 || len(c.Args) == 0 {
			r.why = "it sets a variable"
		}
		r.calls = append(r.calls, call)
	case *syntax.BinaryCmd:
		if c.Op != syntax.AndStmt && c.Op != syntax.OrStmt && c.Op != syntax.Pipe {
			r.why = "it is made of more than simple commands"
		}
		n := len(r.calls)
		r.stmt(c.X, fed)
		if n == 0 && len(r.calls) == 1 && c.Op == syntax.AndStmt && !c.X.Negated {
			x := &r.calls[0]
			x.enters = len(x.words) == 2 && x.words[0].text == "cd" && !strings.HasPrefix(x.words[1].text, "-")
		}
		r.stmt(c.Y, fed || c.Op == syntax.Pipe)
	default:
		r.why = "it is made of more than simple commands"
	}
}

// word is a word of a line whose text is known before it runs.
type word struct {
	text  string
	glob  bool // it holds * or ?, which match names of files
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

// unescaped removes backslashes: those in front of one of the characters, or,
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
