package protocol

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// mayObserve reports whether a line may begin like a result: with a bracket, or, behind
// marks, with a label or the name of a tool.
func (d *Decoder) mayObserve(s string) bool {
	line, _, ended := strings.Cut(s[:min(len(s), maxTag)], "\n")
	words := strings.TrimLeftFunc(line, func(r rune) bool { return !unicode.IsLetter(r) })
	switch {
	case s[0] == '[', words == "":
		return s[0] == '[' || !ended
	case !isWord(s[0]) && strings.IndexByte("#-=*(`", s[0]) < 0:
		return false
	}
	return labelled(words) || pathLen(words) == len(words) || d.exact(words[:pathLen(words)])
}

// mayLabel reports whether a bracket in the middle of a line, behind which s comes, may
// begin the result of a call. One that is quoted does not.
func (d *Decoder) mayLabel(s string) bool {
	n := pathLen(s)
	return strings.IndexByte("\"'`(", d.line.last) < 0 && (n == len(s) || d.exact(s[:n]) || labelled(s))
}

// shortLabels are what comes behind the name of a tool in brackets.
var shortLabels = []string{" Success:", " Error:", " Result:", " →", " ->", " =>"}

// labelWords are those that a label in words begins with.
var labelWords = []string{"observation", "tool", "function", "command", "execution", "system", "results", "outputs", "responses", "returnoffunctions"}

// maxLabelHead is how much of a line resultLabel looks at, in bytes.
const maxLabelHead = 64

// resultLabel is what programs write before the results in a conversation (B19), in brackets or
// in capitals. What goes on like a link, its definition, a heading or, but for Mistral's
// token, a sentence is prose all the same.
var resultLabel = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\[TOOL_RESULTS\][^(\[:]|✿RESULT✿|#+ Return of functions\.|` +
		`\[(?i:observation|(?:tool|function)[ _-]?(?:call[ _-])?(?:result|output|response|returned)s?(?: received)?|(?:tool |function )?tool (?:result|output|response|returned)|(?:result|output|response)s? (?:of|from|for) tool)(?:\][*_]*(?:\n|:\s*[^\s<#/.h]|:\s*h[^t]| *[{"]| +[A-Z0-9]| +[\w-]+[:=])|:| (?i:for|from|of) )|` +
		`\[(?i:(?:tool |function )?tool (?:returned|responded)) [^\]\n]|` +
		`(?:TOOL|FUNCTION)[ _](?:CALL[ _])?(?:RESULT|OUTPUT|RESPONSE)S?(?: \([^)\n]*\))?(?::|\n[^\n=-]))`)
})

// resultObject is how the message or the block of a result begins in the APIs of servers.
var resultObject = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\[\s]*\{\s*"(?:role"\s*:\s*"(?:tool|function|ipython)"|type"\s*:\s*"(?:tool_result|tool_response|function_call_output)"|(?i:(?:tool|function)_?(?:result|output|response)s?)"\s*:|call_id"\s*:\s*"[^"]*"\s*,\s*"output"|tool_(?:call|use)_id"\s*:[^{}]*"(?:content|output|result)")`)
})

// resultKey is a key with the name of a tool, with which such a message may begin.
var resultKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\[\s]*\{\s*"([\w-]+)_(?:result|response|output)"\s*:`)
})

// isMessage decides B19 for objects: whether one, or the first of a list, begins like such a
// message.
func (d *Decoder) isMessage(s string) bool {
	key, quoted := strings.CutPrefix(strings.TrimLeft(s, "[{ \t\r\n"), `"`)
	if key, _, _ = strings.Cut(key, `"`); !quoted || key == "" || strings.IndexByte("rtfc", lower(key[0])) < 0 && !strings.Contains(key, "_") {
		return false
	}
	m := resultKey().FindStringSubmatch(s)
	return m != nil && d.exact(m[1]) || resultObject().MatchString(s)
}

// resultNoun ends the name of an element with the result of a tool.
var resultNoun = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:([\w-]+)[_-])?(?:result|response|output)s?$`)
})

// isResult decides B19 for elements: whether one is the result of a tool that its name or an
// attribute names.
func (d *Decoder) isResult(e elem) bool {
	m := resultNoun().FindStringSubmatch(e.name)
	if m == nil || m[1] != "" {
		return m != nil && d.stands(m[1])
	}
	for _, value := range attributes(e.attrs) {
		if d.stands(value) {
			return true
		}
	}
	return false
}

// spokenLabel is a result's label in words (B19), in bold type or a heading too, but in no list:
// such items explain words. What it belongs to may still come.
var spokenLabel = sync.OnceValue(func() *regexp.Regexp {
	const (
		noun   = `(?:result|output|response)s?`
		tool   = `(?:tool|function|command tool)(?: \x60?tool\x60?)?(?:\([^)\n]*\))?(?: tool| function)?[ _-]+(?:(?:(?:call|execution)[ _-])?(?:` + noun + `|returned|responded))`
		of     = `(?:observation|(?:execution )?` + noun + `) (?:(?:of|from|for) (?:calling )?(?:the )?(?:function |tool )?\(?|\()[\x60"]?(?:tool[\x60"]?\)?(?: (?:call|execution))?|[\w.-]*$)`
		begins = `(?:(?:observation|tool|function|command|call|calling|execution|` + noun + `|returned|responded|of|from|for|the)[ _\x60-]+)+[\w.-]*$`
		whose  = `(?: \([^)\n]*\)?| (?:f(?:or?|rom?)?|of?)(?: [^\s:：]*)?)`
		mark   = `(?:([:：]|[-=*]{3}|[-–—] |\{["\n ])|[-=–—\x{FFFD}{]{0,3}$)`
	)
	return regexp.MustCompile(`^(#+ +|[-=*]{3,} *|[^\x00-\x7f\pL]+ ?)?([*_(]*)(?i:` + begins + `|` +
		`(?:` + of + `|` + tool + `)[*_]*(?:` + whose + `{0,2}[*_ ]*` + mark + `|(\n[^\n=-])|(\n[ \t]*\n)|\n[ \t]*$)|` +
		`observation(?:[ 0-9]*[*_ ]*` + mark + `|[*_]*(\n)))|^(?:[-=]{3,} *|[^\x00-\x7f\pL]+ ?|\()[*_(]*[\w.-]*$`)
})

// speaks reports whether a line has a word that such a label needs.
func speaks(line string) bool {
	line = strings.ToLower(line)
	return slices.ContainsFunc([]string{"result", "output", "respon", "return", "observation"}, func(noun string) bool { return strings.Contains(line, noun) })
}

// observed decides B19 for labels: whether a line begins with the result of a call, which the
// model made up: as ReAct labels it, as EncodeObservation has it, or as other programs do. A
// bracket may be in the middle of a line.
func (f *finder) observed(s string) (g guess) {
	const label, success = "Observation:", " Success:"
	line := strings.TrimPrefix(s[:min(len(s), maxTag)], "System: ")
	if line == "" {
		return f.soon(s, maxTag, 0)
	}
	head, list := strings.CutPrefix(line, "[")
	inside, after, closed := strings.Cut(head, "]")
	name, _, _ := strings.Cut(inside, " ")
	known := f.d.exact(name)
	if !f.streams {
		line += "\n"
	}
	words, named := f.nameless(line)
	var m []string
	first, below, ended := strings.Cut(words, "\n")
	const enough = 16 // bytes of the line below a label
	words = words[:len(words)-len(below)+min(len(below), enough)]
	// A whole line has a noun, and a mark behind or before it.
	if !f.d.opts.Reports && !list && (!ended || (!isWord(words[0]) || words[0] >= utf8.RuneSelf || strings.ContainsAny(first, ":：-=*–—")) && speaks(first)) {
		m = spokenLabel().FindStringSubmatch(words)
	}
	mark := ""
	if m != nil {
		mark = m[3] + m[6]
	}
	if f.d.opts.Told && strings.HasSuffix(mark, " ") && mark[0] != '{' { // a dash, as in a glossary
		mark = ""
	}
	begin := fold(strings.TrimLeftFunc(words, func(r rune) bool { return !unicode.IsLetter(r) }))
	value, role := strings.CutPrefix(line, "tool:")
	value, _, whole := strings.Cut(value, "\n")
	called := false
	if role {
		_, called = f.d.declared(tidyName(value))
	}
	switch {
	case strings.HasPrefix(s, label), strings.IndexByte("[TF#\xe2", words[0]) >= 0 && resultLabel().MatchString(words[:min(len(words), maxLabelHead)]),
		list && known && slices.ContainsFunc(shortLabels, func(label string) bool { return strings.HasPrefix(after, label) }),
		m != nil && (mark != "" || m[1]+m[2] != "" && (m[4]+m[7] != "" || named && m[5] != "")),
		named && closed == list && !f.d.opts.Reports && namedLabel().MatchString(words),
		!f.d.opts.Reports && whole && role && value != "" && !called:
		return guess{is: isOpen, invented: true}
	case strings.HasPrefix(label, s), s[0] == '`' && pathLen(s[1:]) == len(s)-1,
		list && !closed && !strings.ContainsAny(inside, "\n{("), list && closed && strings.Trim(after, ": \nh*_") == "", list && known && len(after) < len(success),
		strings.IndexByte(line[:max(0, len(line)-1)], '\n') < 0 && (strings.HasPrefix(line, "TOOL") || strings.HasPrefix(line, "FUNCTION") || strings.HasPrefix("TOOL", line) || strings.HasPrefix("FUNCTION", line)),
		m != nil, slices.ContainsFunc(labelWords, func(word string) bool { return strings.HasPrefix(word, begin) }), !whole && role:
		return f.soon(s, maxTag, 0)
	}
	return g
}

// namedLabel is the name of a tool in brackets before what it returned, or with it (B19). Links
// have brackets too.
var namedLabel = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\[tool(?:(?:\([^)\n]*\))?\]:\s*(?:[^\s<#/.h]|h[^t])|(?:: |[ :]+[\w-]+=)[^\]\n]+\][^(:])`)
})

// nameless is a line in which the tool that it names before a colon is called a tool,
// without marks around it. A name that may be any word has to be in brackets.
func (f *finder) nameless(line string) (words string, named bool) {
	head := line[:strings.IndexAny(line+"\n", ":：\n")]
	for name := range namesIn(head) {
		if stands := f.d.stands(name); stands || head[0] == '[' && f.d.exact(name) {
			for _, mark := range []string{"**", "`"} {
				if strings.HasPrefix(line, mark+name+mark) {
					name = mark + name + mark
				}
			}
			return strings.Replace(line, name, "tool", 1), stands
		}
	}
	return line, false
}

// result decides B19 for an element in the middle of a line, from behind its opening tag on: it is
// made up, if it ends and holds some word.
func (f *finder) result(s string) guess {
	const closer = "</"
	inside, _, closed := strings.Cut(f.ahead(s, maxPassed), closer)
	switch {
	case !closed && f.streams:
		return guess{is: isOpen, until: closer}
	case closed && strings.ContainsFunc(inside, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
		return guess{is: isOpen, invented: true}
	}
	return guess{}
}
