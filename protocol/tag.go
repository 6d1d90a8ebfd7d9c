package protocol

import "strings"

// tag is a mark-up tag that means something in running text.
type tag uint8

const (
	noTag tag = iota
	toolOpen
	toolClose
	observationOpen
	answerOpen
	answerClose
	thinkOpen
	thinkClose
	paramsClose
)

// tagNames lists every tag by what stands between < and >.
var tagNames = []struct {
	name string
	tag  tag
}{
	{"tool_code", toolOpen},
	{"/tool_code", toolClose},
	{"observation", observationOpen},
	{"final_answer", answerOpen},
	{"/final_answer", answerClose},
	{"think", thinkOpen},
	{"thinking", thinkOpen},
	{"reasoning", thinkOpen},
	{"/think", thinkClose},
	{"/thinking", thinkClose},
	{"/reasoning", thinkClose},
	{"/parameters", paramsClose},
}

// maxTag bounds a tag with the white space inside it, so that what is held
// back stays small.
const maxTag = 40

// matchTag reads the tag that s, which starts with '<', begins with. n is its
// length. more means that the next bytes decide.
func matchTag(s string) (t tag, n int, more bool) {
	const (
		before = iota // white space after <
		inside        // the name
		after         // white space after the name
	)
	var name [16]byte
	k, state := 0, before
	for i := 1; i < len(s); i++ {
		if i == maxTag {
			return noTag, 0, false
		}
		c := s[i]
		switch {
		case c == '>':
			return tagOf(string(name[:k])), i + 1, false
		case isSpace(c):
			if state == inside {
				state = after
			}
		case state == after || k == len(name):
			return noTag, 0, false
		default:
			state = inside
			name[k] = lower(c)
			k++
			if !isTagPrefix(name[:k]) {
				return noTag, 0, false
			}
		}
	}
	return noTag, 0, true
}

func tagOf(name string) tag {
	for _, t := range tagNames {
		if t.name == name {
			return t.tag
		}
	}
	return noTag
}

func isTagPrefix(name []byte) bool {
	for _, t := range tagNames {
		if strings.HasPrefix(t.name, string(name)) {
			return true
		}
	}
	return false
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
