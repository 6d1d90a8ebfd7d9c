package calling

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// debrisLine is a line that models write before a call and that belongs to it: the first of a
// fence, a token in brackets, a lone tag, marks, the language of a fence, the label of an
// action.
var debrisLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^(?:(?:`+|~+) ?[\\w-]*|\\[(?:[A-Z_]{4,}|(?i:tool|function)_?(?i:calls?|request)?)\\]?|</?[\\w:.-]*>?|[*_#>\"'-]+|json|[*_#]*Action ?\\d*:?[*_]*)$")
})

// debrisBegun is what may become such a line while more of it comes. A line that ended, such as
// a mark of A, is text.
var debrisBegun = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\[[A-Z_]*|js?o?|[*_#]*A(?:c(?:t(?:io?)?)?)?)$`)
})

// debrisToken is the control token, or the opening bracket, that a text ends with: before a
// call it opened one.
var debrisToken = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:<(?:\|[^<>|\s]*\||｜[^<>｜\s]*｜)>|[\[(]+["'\x60*]*)$`)
})

const (
	maxDebris      = 40 // how long such a line may be, in bytes
	maxDebrisLines = 16 // how many lines and tokens may belong to a call
)

// beforeCall is text, which follows what was shown, with so many fences, without such lines
// and tokens at its end, and without what may become one if there is more to come.
func beforeCall(text string, follows bool, shown int, more bool) string {
	before := shown + fences(text)
	begun := more && text == strings.TrimRightFunc(text, unicode.IsSpace)
	for range maxDebrisLines {
		text = strings.TrimRightFunc(text, unicode.IsSpace)
		if text != "" && strings.IndexByte(">[(\"'`*", text[len(text)-1]) >= 0 {
			if token := debrisToken().FindString(text[max(0, len(text)-maxDebris):]); token != "" {
				text, begun = text[:len(text)-len(token)], false
				continue
			}
		}
		begin := strings.LastIndexByte(text, '\n') + 1
		line := strings.TrimSpace(text[begin:])
		switch {
		case line == "", len(line) > maxDebris, begin == 0 && follows, !debrisLine().MatchString(line) && !(begun && debrisBegun().MatchString(line)):
			return text
		}
		before -= fences(line)
		if (line[0] == '`' || line[0] == '~') && before%2 == 1 { // it ends one
			return text
		}
		text, begun = text[:begin], false
	}
	return strings.TrimRightFunc(text, unicode.IsSpace)
}

// fences is how many lines of a text begin or end a fence.
func fences(text string) (n int) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			n++
		}
	}
	return n
}
