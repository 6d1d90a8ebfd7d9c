package protocol

import (
	"slices"
	"strings"
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

// maxLabelHead is how much of a line resultLabel looks at, in bytes.
const maxLabelHead = 64

// resultLabel is what programs write before the results in a conversation (B19), in brackets or
// in capitals. What goes on like a link, its definition, a heading or, but for Mistral's
// token, a sentence is prose all the same.
var resultLabel = lazyRegexp(`^(?:\[TOOL_RESULTS\][^(\[:]|✿RESULT✿|#+ Return of functions\.|` +
	`\[(?i:observation|(?:tool|function)[ _-]?(?:call[ _-])?(?:result|output|response|returned)s?(?: received)?|(?:tool |function )?tool (?:result|output|response|returned)|(?:result|output|response)s? (?:of|from|for) tool)(?:\][*_]*(?:\n|:\s*[^\s<#/.h]|:\s*h[^t]| *[{"]| +[A-Z0-9]| +[\w-]+[:=])|:| (?i:for|from|of) )|` +
	`\[(?i:(?:tool |function )?tool (?:returned|responded)) [^\]\n]|` +
	`(?:TOOL|FUNCTION)[ _](?:CALL[ _])?(?:RESULT|OUTPUT|RESPONSE)S?(?: \([^)\n]*\))?(?::|\n[^\n=-]))`)

// resultObject is how the message or the block of a result begins in the APIs of servers.
var resultObject = lazyRegexp(`^[\[\s]*\{\s*"(?:role"\s*:\s*"(?:tool|function|ipython)"|type"\s*:\s*"(?:tool_result|tool_response|function_call_output)"|(?i:(?:tool|function)_?(?:result|output|response)s?)"\s*:|call_id"\s*:\s*"[^"]*"\s*,\s*"output"|tool_(?:call|use)_id"\s*:[^{}]*"(?:content|output|result)")`)

// resultKey is a key with the name of a tool, with which such a message may begin.
var resultKey = lazyRegexp(`^[\[\s]*\{\s*"([\w-]+)_(?:result|response|output)"\s*:`)

// isMessage decides B19 for objects: whether one, or the first of a list, begins like such a
// message.
func (d *Decoder) isMessage(s string) bool {
	m := resultKey().FindStringSubmatch(s)
	return m != nil && d.exact(m[1]) || resultObject().MatchString(s)
}

// spokenLabel is a result's label in words (B19), in bold type or a heading too, but in no list:
// such items explain words. What it belongs to may still come, on the next line.
var spokenLabel = lazyRegexp(`^(#+ +|[-=*]{3,} *|[^\x00-\x7f\pL]+ ?)?([*_(]*)(?i:(?:` + saidOf + `|` + saidTool + `)[*_]*(?:` +
	saidWhose + `{0,2}[*_ ]*` + saidMark + `|(\n[^\n=-])|(\n[ \t]*\n)|\n[ \t]*$)|observation(?:[ 0-9]*[*_ ]*` + saidMark + `|[*_]*(\n)))`)

const (
	saidNoun  = `(?:result|output|response)s?`
	saidTool  = `(?:tool|function|command tool)(?: \x60?tool\x60?)?(?:\([^)\n]*\))?(?: tool| function)?[ _-]+(?:(?:(?:call|execution)[ _-])?(?:` + saidNoun + `|returned|responded))`
	saidOf    = `(?:observation|(?:execution )?` + saidNoun + `) (?:(?:of|from|for) (?:calling )?(?:the )?(?:function |tool )?\(?|\()[\x60"]?tool[\x60"]?\)?(?: (?:call|execution))?`
	saidWhose = `(?: \([^)\n]*\)?| (?:for|from|of)(?: [^\s:：]*)?)`
	saidMark  = `([:：]|[-=*]{3}|\{["\n ])`
)

// speaks reports whether a line has a word that such a label needs.
func speaks(line string) bool {
	line = strings.ToLower(line)
	return slices.ContainsFunc([]string{"result", "output", "respon", "return", "observation"}, func(noun string) bool { return strings.Contains(line, noun) })
}

// observed decides B19 for labels: whether a line begins with the result of a call, which the
// model made up: as ReAct labels it, as EncodeObservation has it, or as other programs do. A
// bracket may be in the middle of a line.
func (f *finder) observed(s string) guess {
	line := strings.TrimPrefix(s[:min(len(s), maxTag)], "System: ")
	if !f.streams || line == "" {
		line += "\n"
	}
	head, list := strings.CutPrefix(line, "[")
	inside, after, closed := strings.Cut(head, "]")
	name, _, _ := strings.Cut(inside, " ")
	words, named := f.nameless(line)
	first, below, ended := strings.Cut(words, "\n")
	const enough = 16 // bytes of the line below a label
	words = words[:len(words)-len(below)+min(len(below), enough)]
	reports := f.d.opts.Reports
	var m []string // a line with a noun, and a mark behind or before it
	if !reports && !list && ended && (!isWord(words[0]) || words[0] >= utf8.RuneSelf || strings.ContainsAny(first, ":：-=*")) && speaks(first) {
		m = spokenLabel().FindStringSubmatch(words)
	}
	value, role := strings.CutPrefix(line, "tool:")
	value, _, _ = strings.Cut(value, "\n")
	_, called := f.d.declared(tidyName(value))
	switch {
	case strings.HasPrefix(s, "Observation:"), strings.IndexByte("[TF#\xe2", words[0]) >= 0 && resultLabel().MatchString(words[:min(len(words), maxLabelHead)]),
		list && f.d.exact(name) && slices.ContainsFunc(shortLabels, func(label string) bool { return strings.HasPrefix(after, label) }),
		m != nil && (m[3]+m[6] != "" || m[1]+m[2] != "" && (m[4]+m[7] != "" || named && m[5] != "")),
		named && closed == list && !reports && namedLabel().MatchString(words),
		!reports && ended && role && value != "" && !called:
		return guess{invented: true}
	case m != nil, below == "" && !strings.Contains(first, " = "), list && closed && strings.Trim(after, ": \nh*_") == "":
		return f.soon(s, maxTag, 0)
	}
	return guess{}
}

// namedLabel is the name of a tool in brackets before what it returned, or with it (B19). Links
// have brackets too.
var namedLabel = lazyRegexp(`^\[tool(?:(?:\([^)\n]*\))?\]:\s*(?:[^\s<#/.h]|h[^t])|(?:: |[ :]+[\w-]+=)[^\]\n]+\][^(:])`)

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
		return guess{until: closer}
	case closed && strings.ContainsFunc(inside, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
		return guess{invented: true}
	}
	return guess{}
}
