package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// EncodeCall decides E1: it writes a call in mylm's own form, as the model is asked to write
// it. args must be a JSON object.
func EncodeCall(name string, args json.RawMessage) string {
	return fmt.Sprintf("<tool_code>\n<name>%s</name>\n<parameters>%s</parameters>\n</tool_code>", name, args)
}

// EncodeObservation writes the result of a call for the model. It decides E3:
// "[name] Success:" and the output on the lines below it, or "[name] Error:"
// and the message. Tags in the body are neutralised, so that no output can
// close the observation, open a call or forge an answer.
func EncodeObservation(name string, success bool, body string) string {
	head := "Error: "
	if success {
		head = "Success:\n"
	}
	name = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '[' || r == ']' {
			return '_'
		}
		return r
	}, name)
	return "<observation>\n[" + Neutralise(name) + "] " + head + Neutralise(body) + "\n</observation>"
}

// guarded lists the tags that mean something to a decoder or to a chat template, those of E4,
// folded: letters and digits only, in lower case.
var guarded = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{"tooldefinitions": true}
	for name, t := range tagNames {
		if t != paramsClose && t != exampleOpen && t != exampleClose {
			m[strings.TrimPrefix(name, "/")] = true
		}
	}
	for _, t := range tokens { // those that are written like tags
		if t.text[0] == '<' && isWord(t.text[1]) || strings.HasPrefix(t.text, "</") {
			m[fold(t.text)] = true
		}
	}
	for name := range strings.FieldsSeq("startofturn endofturn turn s bos eos sop eop inst sys") {
		m[name] = true
	}
	return m
})

// maxGuarded is more than the longest guarded name. White space, - and _ and
// invisible characters do not count.
const maxGuarded = 32

// Neutralise makes text safe to show to a model as data. It decides E4 and E6: every tag in it
// that a decoder or a chat template would act on gets a backslash behind its <, with it every
// control token of the form <|name|> or [INST], and every line that begins a call without tags.
// Case, spacing, character references for < and invisible characters make no difference, as
// opener and isGuarded decide. The text stays readable, and what holds nothing of the kind comes
// back unchanged.
func Neutralise(s string) string {
	if !strings.ContainsAny(s, "<&[]") && !strings.Contains(s, "＜") && !strings.Contains(s, actionLabel) { // E6
		return s
	}
	var b strings.Builder
	last, lineStart := 0, true
	for i := 0; i < len(s); {
		n := opener(s[i:])
		wasStart := lineStart
		if r, _ := utf8.DecodeRuneInString(s[i:]); r == '\n' {
			lineStart = true
		} else if !unicode.IsSpace(r) && !invisible(r) {
			lineStart = false
		}
		switch {
		case n > 0 && isGuarded(s[i+n:]):
			i += n
		case bracketed(s[i:]):
			i++
		case s[i] == 'A' && strings.HasPrefix(s[i:], actionLabel) && wasStart:
		default:
			if n == 0 {
				_, n = utf8.DecodeRuneInString(s[i:])
			}
			i += n
			continue
		}
		b.WriteString(s[last:i])
		b.WriteByte('\\')
		last = i
		i++
	}
	if last == 0 && b.Len() == 0 { // E6
		return s
	}
	b.WriteString(s[last:])
	return b.String()
}

// NeutraliseTokens makes a text of the model's own safe to show to it again, as E8 says: the
// tokens with which chat templates begin and end turns and results get a backslash behind their
// first byte, and all else stays as the model wrote it.
func NeutraliseTokens(s string) string {
	return replaceTokens(s, func(first byte) string { return string(first) + `\` })
}

// EscapeTokens does that in JSON, where the first byte of each such token becomes an escape: the
// value stays what it is. With NeutraliseTokens it decides E8.
func EscapeTokens(text json.RawMessage) json.RawMessage {
	return json.RawMessage(replaceTokens(string(text), func(first byte) string { return fmt.Sprintf(`\u%04x`, first) }))
}

// replaceTokens replaces the first byte of each token of a turn.
func replaceTokens(s string, with func(first byte) string) string {
	var b strings.Builder
	last := 0
	for i := range len(s) {
		if (s[i] == '<' || s[i] == '[' || s[i] == ']') && beginsTurn(s[i:]) {
			b.WriteString(s[last:i])
			b.WriteString(with(s[i]))
			last = i + 1
		}
	}
	if last == 0 {
		return s
	}
	b.WriteString(s[last:])
	return b.String()
}

// turnTokens are the tokens of E8 by their first three bytes.
var turnTokens = sync.OnceValue(func() map[string][]string {
	all := strings.Fields("<s> </s> <bos> <eos> <sop> <eop> <start_of_turn> <end_of_turn> <seed:bos> <<SYS>> <</SYS>> [/INST] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] " +
		"[AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CONTENT] [gMASK] [sMASK] ]~!b[ ]<]minimax")
	for _, t := range tokens {
		if t.tag == turnEnd || t.tag == observationOpen {
			all = append(all, t.text)
		}
	}
	m := map[string][]string{}
	for _, t := range all {
		m[t[:3]] = append(m[t[:3]], t)
	}
	return m
})

// turnToken is a token with bars, or the name of a role as Ling's templates write it.
var turnToken = lazyRegexp(`^<(?:[|｜][\pL\pN_▁.:-]+[|｜]|role>[A-Z]+</role)>`)

// beginsTurn reports whether s begins with a token of E8, written just so. Tokenizers take such a
// token anywhere, also within code; another spelling, as <S> of a type, is none to them.
func beginsTurn(s string) bool {
	if len(s) < 3 {
		return false
	}
	if slices.ContainsFunc(turnTokens()[s[:3]], func(t string) bool { return strings.HasPrefix(s, t) }) {
		return true
	}
	return (s[1] == '|' || s[1] == 'r' || strings.HasPrefix(s[1:], "｜")) && turnToken().MatchString(s[:min(len(s), 2*maxGuarded)])
}

// bracketed reports whether s begins with a token in brackets.
func bracketed(s string) bool {
	if len(s) < 2 || s[0] != '[' && s[0] != ']' {
		return false
	}
	letter := 'a' <= s[1]|0x20 && s[1]|0x20 <= 'z' // what is between brackets in JSON begins otherwise
	return (s[0] == '[' && (letter || s[1] == '/' || s[1] == '|') || s[0] == ']' && (s[1] == '~' || s[1] == '<')) && bracketToken().MatchString(s[:min(len(s), maxGuarded)])
}

// bracketToken is a control token in brackets, of Mistral's templates, EXAONE's or MiniMax's
// (E4).
var bracketToken = lazyRegexp(`^(?:\[e~\[|\]~!?b[\[\]]|\]<\]minimax|\[(/?(INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK|ARGS|CALL_ID|[gs]?MASK)|\|\w+\|)\])`)

// wordToken is the name of a role as Ling's templates write it, or an end of Seed's, behind its <
// (E4).
var wordToken = lazyRegexp(`^(?:role>[A-Z]+</role>|seed:[be]os>)`)

// opener decides E5 for the <: it returns the length of the one that s starts with, in any
// spelling.
func opener(s string) int {
	switch {
	case s[0] == '<':
		return 1
	case s[0] == '&':
		end := strings.IndexByte(s[:min(len(s), 12)], ';')
		if end < 0 {
			return 0
		}
		ref := strings.ToLower(s[1:end])
		if ref == "lt" {
			return end + 1
		}
		if num, ok := strings.CutPrefix(ref, "#"); ok {
			num, hex := strings.CutPrefix(num, "x")
			num = strings.TrimLeft(num, "0")
			if hex && num == "3c" || !hex && num == "60" {
				return end + 1
			}
		}
	case strings.HasPrefix(s, "＜"):
		return len("＜")
	}
	return 0
}

// isGuarded decides E5 for the name that follows a <, with whatever makes no difference in it.
func isGuarded(s string) bool {
	if controlToken(s) || wordToken().MatchString(s[:min(len(s), maxGuarded)]) {
		return true
	}
	var name [maxGuarded]byte
	k := 0
	for _, r := range s {
		if k == maxGuarded {
			return false
		}
		switch {
		case r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			name[k] = lower(byte(r))
			k++
		case k == 0 && (r == '/' || unicode.IsSpace(r)):
		case r == '_' || r == '-' || invisible(r):
		default:
			return guarded()[string(name[:k])]
		}
	}
	return guarded()[string(name[:k])]
}

// invisible reports whether r shows nothing: format characters, soft hyphens,
// variation selectors and the like (Unicode's Cf and Mn).
func invisible(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Mn) }

// controlToken reports whether s continues a control token of a chat template (E4),
// "|im_start|>", also with the full-width bars that some use.
func controlToken(s string) bool {
	for _, bar := range []string{"|", "｜"} {
		rest, ok := strings.CutPrefix(s, bar)
		if !ok {
			continue
		}
		name, _, ok := strings.Cut(rest[:min(len(rest), 2*maxGuarded)], ">") // <|turn> of Gemma 4, too
		return ok && name != "" && !strings.ContainsFunc(name, unicode.IsSpace)
	}
	return false
}
