package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

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
