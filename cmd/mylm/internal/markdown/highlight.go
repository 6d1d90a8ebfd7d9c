package markdown

import (
	"slices"
	"strings"
)

// language is what the highlighter knows of a family of languages. Colouring is
// by words, strings and comments alone.
type language struct {
	names    string // as they follow a fence
	keywords string
	comment  string // begins a comment up to the end of the line; more are separated by blanks
	block    string // begins and ends a longer comment
	quotes   string // begin and end a string in a line
	long     string // begin and end a string of several lines; separated by blanks
}

// languages is a function, so that nothing is set up at the start of the program.
func languages() []language {
	const c = "break case catch class const continue default do else enum export extends false final finally for if import in instanceof interface " +
		"new null package private protected public return static super switch this throw throws true try void while"
	return []language{
		{"go golang", "break case chan const continue default defer else fallthrough false for func go goto if import interface iota map nil package range return select struct switch true type var any error string int bool byte rune", "//", "/* */", `"'`, "`"},
		{"python py", "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield", "#", "", `"'`, `""" '''`},
		{"javascript js typescript ts jsx tsx", c + " async await delete from function let of typeof undefined var yield as type implements readonly keyof never any string number boolean", "//", "/* */", `"'`, "`"},
		{"java kotlin kt scala csharp cs c# swift dart php", c + " abstract implements boolean int long double float char byte string String val var fun func let guard override object namespace using foreach function echo bool base sealed async await", "//", "/* */", `"'`, `"""`},
		{"c cpp c++ h hpp cc objc", c + " auto bool char delete double extern float goto inline int long namespace nullptr operator short signed sizeof struct template typedef typename union unsigned using virtual volatile include define ifdef ifndef endif", "//", "/* */", `"'`, ""},
		{"rust rs", "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while", "//", "/* */", `"`, ""},
		{"bash sh shell zsh console fish", "if then else elif fi for while until do done case esac in function return local export readonly set unset exit source echo cd", "#", "", `"'`, ""},
		{"ruby rb", "alias and begin break case class def defined do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield require", "#", "", `"'`, ""},
		{"sql", "select from where and or not null is in insert into values update set delete create table drop alter index join left right inner outer on as group by order having limit offset union all distinct primary key foreign references default case when then else end with begin commit", "--", "/* */", `'"`, ""},
		{"json json5 jsonc", "true false null", "//", "", `"`, ""},
		{"yaml yml toml ini conf properties dockerfile make makefile", "true false null yes no on off FROM RUN CMD COPY ENV WORKDIR ENTRYPOINT EXPOSE ARG", "#", "", `"'`, ""},
		{"lua haskell hs", "and break do else elseif end false for function if in local nil not or repeat return then true until while case class data deriving import instance let module of type where", "--", "", `"'`, ""},
		{"html xml svg vue", "", "", "<!-- -->", `"'`, ""},
		{"css scss less", "important", "", "/* */", `"'`, ""},
	}
}

// highlighter colours code line by line.
type highlighter struct {
	language
	diff  bool
	words []string
	until string // what ends the comment or string that a line before began
	role  role   // of that
}

func newHighlighter(name string) *highlighter {
	name = strings.ToLower(name)
	h := &highlighter{diff: name == "diff" || name == "patch"}
	for _, l := range languages() {
		if name != "" && slices.Contains(strings.Fields(l.names), name) {
			h.language, h.words = l, strings.Fields(l.keywords)
		}
	}
	return h
}

// line colours the next line.
func (h *highlighter) line(line string) *styled {
	t := &styled{}
	switch {
	case h.diff:
		t.add(line, style{role: diffRole(line)})
		return t
	case h.names == "":
		t.add(line, style{})
		return t
	}
	for line != "" {
		n, role := h.token(line)
		t.add(line[:n], style{role: role})
		line = line[n:]
	}
	return t
}

func diffRole(line string) role {
	switch {
	case strings.HasPrefix(line, "+"):
		return added
	case strings.HasPrefix(line, "-"):
		return removed
	case strings.HasPrefix(line, "@@"):
		return number
	}
	return plain
}

// token is the length of what text begins with, and what that is.
func (h *highlighter) token(text string) (int, role) {
	if h.until != "" {
		return h.rest(text, 0), h.role
	}
	for _, mark := range strings.Fields(h.comment) {
		if strings.HasPrefix(text, mark) {
			return len(text), comment
		}
	}
	if begin, end, ok := strings.Cut(h.block, " "); ok && strings.HasPrefix(text, begin) {
		h.until, h.role = end, comment
		return h.rest(text, len(begin)), comment
	}
	for _, quote := range strings.Fields(h.long) {
		if strings.HasPrefix(text, quote) {
			h.until, h.role = quote, literal
			return h.rest(text, len(quote)), literal
		}
	}
	c := text[0]
	switch {
	case strings.IndexByte(h.quotes, c) >= 0:
		if n := quoted(text); n > 1 {
			return n, literal
		}
		return 1, plain
	case '0' <= c && c <= '9':
		return wordLength(text), number
	case isWord(c):
		n := wordLength(text)
		word := text[:n]
		if h.names == "sql" {
			word = strings.ToLower(word)
		}
		if slices.Contains(h.words, word) {
			return n, keyword
		}
		return n, plain
	}
	n := 1
	for n < len(text) && text[n] == ' ' {
		n++
	}
	return n, plain
}

// rest is the length of text up to the end of the comment or string that it is
// in.
func (h *highlighter) rest(text string, from int) int {
	i := strings.Index(text[from:], h.until)
	if i < 0 {
		return len(text)
	}
	n := from + i + len(h.until)
	h.until = ""
	return n
}

// quoted is the length of the string that text begins with: one character if it
// does not end in the line, as after an apostrophe.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		}
	}
	return 1
}

func isWord(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= 0x80
}

func wordLength(text string) int {
	n := 0
	for n < len(text) && isWord(text[n]) {
		n++
	}
	return n
}
