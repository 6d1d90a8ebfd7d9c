package protocol

import (
	"iter"
	"strings"
)

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
	comment   // <!--
	delimiter // <|im_start|>, which some models put around calls
	control   // another control token of a chat template, which ends a call
)

// tagNames gives the meaning of a tag by its folded name: lower case, without
// - and _. A closing tag's name begins with a slash.
var tagNames = map[string]tag{
	"toolcode": toolOpen, "/toolcode": toolClose,
	"toolcall": toolOpen, "/toolcall": toolClose,
	"toolcalls": toolOpen, "/toolcalls": toolClose,
	"functioncall": toolOpen, "/functioncall": toolClose,
	"functioncalls": toolOpen, "/functioncalls": toolClose,
	"function": toolOpen, "/function": toolClose,
	"invoke": toolOpen, "/invoke": toolClose,
	"observation": observationOpen, "toolresponse": observationOpen, "toolresult": observationOpen,
	"functionresponse": observationOpen, "functionresults": observationOpen,
	"finalanswer": answerOpen, "/finalanswer": answerClose,
	"think": thinkOpen, "/think": thinkClose,
	"thinking": thinkOpen, "/thinking": thinkClose,
	"reasoning": thinkOpen, "/reasoning": thinkClose,
	"/parameters": paramsClose, "/arguments": paramsClose, "/args": paramsClose, "/parameter": paramsClose, "/params": paramsClose,
	"|imstart|": delimiter, "|pythontag|": delimiter, "|toolcall|": delimiter,
	"|imend|": control, "|startheaderid|": control, "|endheaderid|": control, "|eotid|": control, "|eomid|": control, "|endoftext|": control, "|end|": control,
}

// tokens are the control tokens among the tags: what is not written just so is
// none.
var tokens = map[string]bool{
	"<|im_start|>": true, "<|python_tag|>": true, "<|tool_call|>": true, "<|im_end|>": true, "<|start_header_id|>": true, "<|end_header_id|>": true,
	"<|eot_id|>": true, "<|eom_id|>": true, "<|endoftext|>": true, "<|end_of_text|>": true, "<|end|>": true,
}

// trie finds a tag's name letter by letter, so that a < in text that begins no
// tag is recognised at once.
type trie struct {
	next [28]uint8 // a to z, slash, bar; 0: no such name
	kind string    // the name that ends here; "": none
}

var tries = func() []trie {
	t := make([]trie, 1, 160)
	for name := range tagNames {
		at := uint8(0)
		for i := range len(name) {
			k := letter(name[i])
			if t[at].next[k] == 0 {
				t = append(t, trie{})
				t[at].next[k] = uint8(len(t) - 1)
			}
			at = t[at].next[k]
		}
		t[at].kind = name
	}
	return t
}()

// letter is the place of c in a trie's node, -1 if it has none.
func letter(c byte) int {
	switch {
	case 'a' <= c && c <= 'z':
		return int(c - 'a')
	case 'A' <= c && c <= 'Z':
		return int(c - 'A')
	case c == '/':
		return 26
	case c == '|':
		return 27
	}
	return -1
}

// maxTag bounds a tag with its attributes and the white space inside it, so
// that what is held back stays small.
const maxTag = 160

// mark is a tag that was read.
type mark struct {
	tag   tag
	kind  string // the folded name
	name  string // what follows =, or the name attribute
	attrs string // all there are
	n     int    // length

	empty bool // <x/>
}

// matchTag reads the tag that s, which starts with '<', begins with. more means
// that the next bytes decide.
func matchTag(s string) (m mark, more bool) {
	if len(s) > 1 && s[1] == '!' {
		const open = "<!--"
		if strings.HasPrefix(s, open) {
			return mark{tag: comment, n: len(open)}, false
		}
		return mark{}, strings.HasPrefix(open, s)
	}
	at, i := uint8(0), 1
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	first := i
	for ; i < len(s); i++ {
		c := s[i]
		if c == '_' || c == '-' || isSpace(c) && i > first && s[i-1] == '/' {
			continue
		}
		k := letter(c)
		if k < 0 || k == 26 && at != 0 {
			if tries[at].kind == "" {
				return mark{}, false
			}
			return endTag(tries[at].kind, s[:min(len(s), maxTag)], i)
		}
		if at = tries[at].next[k]; at == 0 {
			return mark{}, false
		}
	}
	return mark{}, len(s) <= maxTag
}

// endTag reads what follows the name of a tag up to its >.
func endTag(kind, s string, i int) (mark, bool) {
	if i >= len(s) {
		return mark{}, false
	}
	m := mark{tag: tagNames[kind], kind: kind}
	switch c := s[i]; {
	case c == '>':
	case isSpace(c), c == '=' && (kind == "function" || kind == "invoke"), c == '/' && m.tag == toolOpen:
		end := strings.IndexByte(s[i:min(len(s), maxTag)], '>')
		if end < 0 {
			return mark{}, len(s) < maxTag
		}
		attrs := s[i : i+end]
		i += end
		if m.tag == toolOpen {
			m.name, m.attrs = nameAttr(attrs), attrs
			m.empty = strings.HasSuffix(attrs, "/")
		}
		if strings.TrimSpace(attrs) != "" && m.name == "" && m.tag != observationOpen {
			return mark{}, false // <think harder> is no tag
		}
	default:
		return mark{}, false
	}
	if (kind == "function" || kind == "invoke") && m.name == "" {
		return mark{}, false // HTML and prose have such words too
	}
	m.n = i + 1
	if kind[0] == '|' && !tokens[strings.ToLower(s[:m.n])] {
		return mark{}, false
	}
	return m, false
}

// nameAttr is the NAME of =NAME, or of name="NAME".
func nameAttr(attrs string) string {
	for key, value := range attributes(attrs) {
		if key == "" || strings.EqualFold(key, "name") {
			return value
		}
	}
	return ""
}

// attributes yields the attributes of a tag. One without a key is that of
// =NAME.
func attributes(attrs string) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		rest := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(attrs), "/"))
		for {
			key, after, ok := strings.Cut(rest, "=")
			if !ok {
				return
			}
			var value string
			value, rest = attrValue(strings.TrimSpace(after))
			if !yield(strings.TrimSpace(key), value) {
				return
			}
		}
	}
}

// attrValue reads the value that s begins with, in quotes or up to a space.
func attrValue(s string) (value, rest string) {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		value, rest, _ = strings.Cut(s[1:], s[:1])
		return value, rest
	}
	value, rest, _ = strings.Cut(s, " ")
	return value, rest
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// cutAnswer reports whether a tag in the making may be the end of the wrapping.
func cutAnswer(tag string) bool {
	name, ok := strings.CutPrefix(strings.TrimLeft(tag, "< \t\r\n"), "/")
	return ok && strings.HasPrefix("finalanswer", fold(name))
}
