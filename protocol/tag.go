package protocol

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// tag is what a piece of mark-up means in running text.
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
	comment      // <!--
	exampleOpen  // <pre> and the like: what is in it is shown, not meant
	exampleClose // its end
	delimiter    // <|im_start|>: it opens a call, or somebody's turn
	tokenOpen    // a token that opens calls and nothing else
	separator    // a token between the parts of a call
	channel      // a header of the harmony format
	turnEnd      // the model's turn is over
	struck       // <s>, which </s> ends elsewhere
)

// tagNames gives the meaning of a tag by its folded name (T3): lower case,
// without - and _. A closing tag's name begins with a slash.
var tagNames = map[string]tag{
	"observation": observationOpen, "toolresponse": observationOpen, "toolresult": observationOpen,
	"functionresponse": observationOpen, "functionresults": observationOpen,
	"finalanswer": answerOpen, "/finalanswer": answerClose,
	"/parameters": paramsClose, "/arguments": paramsClose, "/args": paramsClose, "/parameter": paramsClose, "/params": paramsClose,
	"endofturn": turnEnd, "startofturn": turnEnd, "/s": turnEnd, "s": struck,
}

// thoughtTags hold thought (H3), exampleTags what is only shown (T11).
var (
	thoughtTags = []string{"think", "thinking", "reasoning", "thought", "thoughts", "analysis", "scratchpad", "reflection", "innermonologue"}
	exampleTags = []string{"pre", "code", "example", "examples"}
)

// families are the prefixes that model families put before the names of their
// tags (T12).
var families = []string{"antml:", "atem:", "minimax:", "mm:", "seed:", "steptml:", "｜DSML｜"}

// token is a control token with a meaning, written just so (T4).
type token struct {
	text string
	tag  tag
}

// tokens are those of every family; dialects adds the ones that open calls.
var tokens = []token{
	{"<|/tool_call|>", toolClose}, {"<|tool_call_end|>", toolClose}, {"<|tool_calls_section_end|>", toolClose},
	{"<｜tool▁call▁end｜>", toolClose}, {"<｜tool▁calls▁end｜>", toolClose}, {"<｜tool_call_end｜>", toolClose}, {"<｜tool_calls_end｜>", toolClose}, {"<|call|>", toolClose}, {"<|action_end|>", toolClose},
	{"<|END_ACTION|>", toolClose}, {"<|tools_suffix|>", toolClose}, {"[/TOOL_CALLS]", toolClose}, {"<|python_end|>", toolClose},
	{"<|tool_call_argument_begin|>", separator}, {"<｜tool▁sep｜>", separator}, {"<｜tool_sep｜>", separator}, {"<|plugin|>", separator}, {"[ARGS]", separator}, {"[CALL_ID]", separator},
	{"[THINK]", thinkOpen}, {"[/THINK]", thinkClose}, {"◁think▷", thinkOpen}, {"◁/think▷", thinkClose},
	{"<|START_THINKING|>", thinkOpen}, {"<|END_THINKING|>", thinkClose},
	{"<|begin_of_thought|>", thinkOpen}, {"<|end_of_thought|>", thinkClose}, {"<|inner_prefix|>", thinkOpen}, {"<|inner_suffix|>", thinkClose},
	{"<|channel>", thinkOpen}, {"<channel|>", thinkClose}, {"<longcat_think>", thinkOpen}, {"</longcat_think>", thinkClose},
	{"<|think:start|>", thinkOpen}, {"<|think:end|>", thinkClose}, {"<think:opensource>", thinkOpen}, {"</think:opensource>", thinkClose},
	{"<|open|>think<|sep|>", thinkOpen}, {"<|close|>think<|sep|>", thinkClose},
	{"<|channel|>", channel}, {"<|start|>", channel},
	{"<|im_end|>", turnEnd}, {"<|eot_id|>", turnEnd}, {"<|eom_id|>", turnEnd}, {"<|endoftext|>", turnEnd}, {"<|end_of_text|>", turnEnd},
	{"<|end|>", turnEnd}, {"<|return|>", turnEnd}, {"<|eot|>", turnEnd}, {"<|im_user|>", turnEnd}, {"<|im_system|>", turnEnd},
	{"<|start_header_id|>", turnEnd}, {"<|end_header_id|>", turnEnd}, {"<|start_of_role|>", turnEnd}, {"<|header_start|>", turnEnd},
	{"<|user|>", turnEnd}, {"<|system|>", turnEnd}, {"<|observation|>", turnEnd}, {"<|END_OF_TURN_TOKEN|>", turnEnd},
	{"<|START_OF_TURN_TOKEN|>", turnEnd}, {"<｜end▁of▁sentence｜>", turnEnd}, {"<｜User｜>", turnEnd}, {"[INST]", turnEnd},
	{"<turn|>", turnEnd}, {"<|turn>", turnEnd}, {"<|end_of_turn|>", turnEnd}, {"<|endofturn|>", turnEnd}, {"<|end_of_sentence|>", turnEnd},
	{"<|end_of_msg|>", turnEnd}, {"<|assistant_end|>", turnEnd}, {"<|user_start|>", turnEnd}, {"<seed:eos>", turnEnd},
	{"</longcat_s>", turnEnd}, {"<SPECIAL_12>", turnEnd}, {"<｜hy_eos:opensource｜>", turnEnd}, {"[e~[", turnEnd}, {"[|endofturn|]", turnEnd},
}

// turns are the tokens that begin a turn: true if it is never the model's, false
// if a role says whose it is. roles are those that are not the model's.
var (
	turns = map[string]bool{
		imStart: false, "startofturn": false, "<|START_OF_TURN_TOKEN|>": false,
		"<|start_header_id|>": false, "<|header_start|>": false, "<|start_of_role|>": false, "<|turn>": false, "<|user_start|>": true,
		"<|im_user|>": true, "<|im_system|>": true, "<|user|>": true, "<|system|>": true, "<|observation|>": true, "<｜User｜>": true, "[INST]": true,
	}
	roles = map[string]bool{"user": true, "system": true, "tool": true, "human": true, "ipython": true, "environment": true, "developer": true}
)

// tokensAt are the tokens by their third byte, tagStarts all that the name of a
// tag may begin with.
var (
	tokensAt [256][]token
	// wordTokens are the second bytes of tokens that are written like tags.
	wordTokens [256]bool
	tagStarts  = map[string]bool{}
	// tagPairs are the first two letters of tags and of families; 0 is any.
	tagPairs [256][256]bool
)

// indexTags adds the tags and tokens of dialects.
func indexTags() {
	add := func(name string, opens, closes tag) { tagNames[name], tagNames["/"+name] = opens, closes }
	for _, name := range thoughtTags {
		add(name, thinkOpen, thinkClose)
	}
	for _, name := range exampleTags {
		add(name, exampleOpen, exampleClose)
	}
	for _, d := range dialects {
		for _, name := range d.tags {
			add(name, toolOpen, toolClose)
		}
		for _, text := range d.tokens {
			opens := tokenOpen
			if text == imStart {
				opens = delimiter
			}
			tokens = append(tokens, token{text, opens})
		}
	}
	for _, t := range tokens {
		tokensAt[lower(t.text[2])] = append(tokensAt[lower(t.text[2])], t)
		wordTokens[lower(t.text[1])] = wordTokens[lower(t.text[1])] || t.text[0] == '<' && t.text[1] != '|' && t.text[1] < utf8.RuneSelf
	}
	for _, f := range families {
		tagPairs[f[0]][f[1]], tagPairs[f[0]][0] = true, true
	}
	for name := range tagNames {
		next := strings.TrimPrefix(name, "/") + ">"
		tagPairs[next[0]][next[1]], tagPairs[next[0]][0] = true, true
		for i := range len(name) + 1 {
			tagStarts[name[:i]] = true
		}
	}
}

// maxTag bounds a tag with its attributes and the white space inside it (L3),
// so that what is held back stays small.
const maxTag = 160

// mark is a tag that was read.
type mark struct {
	tag   tag
	kind  string // the folded name, or the token
	name  string // what follows =, or the name attribute
	attrs string // all there are
	n     int    // length
	empty bool   // <x/>
}

// matchTag reads the tag that s begins with. more means that the next bytes
// decide.
func matchTag(s string) (m mark, more bool) {
	if plain(s) {
		return mark{}, false
	}
	if m, more = matchName(s); m.tag == noTag && !more && len(s) > 1 && wordTokens[lower(s[1])] {
		return matchToken(s)
	}
	return m, more
}

// plain reports whether a < certainly begins no tag: of most, two bytes tell.
func plain(s string) bool {
	i := 1
	for i < len(s) && (isSpace(s[i]) || s[i] == '/') {
		i++
	}
	if s[0] != '<' || i+1 >= len(s) || s[i] >= utf8.RuneSelf || s[i] == '|' || s[i] == '!' {
		return false
	}
	c, next := lower(s[i]), lower(s[i+1])
	pair := tagPairs[c][0] && (tagPairs[c][next] || next != '>' && (next == '_' || !isWord(next)))
	return !pair && !wordTokens[c]
}

// matchName is matchTag for all but the tokens that are written like tags.
func matchName(s string) (m mark, more bool) {
	if s[0] != '<' || len(s) > 1 && (s[1] == '|' || s[1] >= 0x80) {
		const dsml = "<｜DSML｜"
		if m, more = matchToken(s); m.tag != noTag || !strings.HasPrefix(s, dsml) {
			return m, more || strings.HasPrefix(dsml, s)
		}
	}
	if len(s) > 1 && s[1] == '!' {
		const open = "<!--"
		if strings.HasPrefix(s, open) {
			return mark{tag: comment, n: len(open)}, false
		}
		return mark{}, strings.HasPrefix(open, s)
	}
	i := 1
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	var folded [maxName]byte
	name := folded[:0]
	for first := i; i < len(s); i++ {
		c := s[i]
		if c == '_' || c == '-' || isSpace(c) && i > first && s[i-1] == '/' {
			continue
		}
		if len(name) == 0 || len(name) == 1 && name[0] == '/' {
			n, more := family(s[i:])
			if i += n; more {
				return mark{}, len(s) <= maxTag
			}
			if i == len(s) {
				break
			}
			c = s[i]
		}
		letter := lower(c)
		if letter != '/' && (letter < 'a' || letter > 'z') || letter == '/' && len(name) > 0 {
			if _, ok := tagNames[string(name)]; !ok {
				return mark{}, false
			}
			return endTag(string(name), s[:min(len(s), maxTag)], i)
		}
		if len(name) == maxName || !tagStarts[string(append(name, letter))] {
			return mark{}, false
		}
		name = append(name, letter)
	}
	return mark{}, len(s) <= maxTag
}

// maxName is more than the longest name of a tag.
const maxName = 24

// family is the length of a family's prefix that s begins with. more says that
// s may go on to be one, and can be nothing else.
func family(s string) (n int, more bool) {
	for _, f := range families {
		switch {
		case s[0] != f[0]:
		case strings.HasPrefix(s, f):
			return len(f), false
		case strings.HasPrefix(f, s):
			more = true
		}
	}
	return 0, more
}

// matchToken reads the control token that s begins with, in any case.
func matchToken(s string) (m mark, more bool) {
	among := tokens
	if len(s) > 2 {
		among = tokensAt[lower(s[2])]
	}
	for _, t := range among {
		switch n := min(len(s), len(t.text)); {
		case s[0] != t.text[0] || !strings.EqualFold(s[:n], t.text[:n]):
		case n == len(t.text):
			return mark{tag: t.tag, kind: t.text, n: n}, false
		default:
			more = true
		}
	}
	return mark{}, more
}

// endTag reads what follows the name of a tag up to its >.
func endTag(kind, s string, i int) (mark, bool) {
	if i >= len(s) {
		return mark{}, false
	}
	m := mark{tag: tagNames[kind], kind: kind}
	named := kind == "function" || kind == "invoke"
	switch c := s[i]; {
	case c == '>':
	case isSpace(c), c == '=' && named, c == '/' && m.tag == toolOpen:
		end := strings.IndexByte(s[i:], '>')
		if end < 0 {
			return mark{}, len(s) < maxTag
		}
		attrs := s[i : i+end]
		i += end
		if m.tag == toolOpen {
			m.name, m.attrs = nameAttr(attrs), attrs
			m.empty = strings.HasSuffix(attrs, "/")
		}
		if strings.TrimSpace(attrs) != "" && m.name == "" && m.tag != observationOpen && m.tag != exampleOpen &&
			(m.tag != toolOpen && m.tag != thinkOpen || !strings.Contains(attrs, "=")) {
			return mark{}, false // <think harder> is no tag
		}
	default:
		return mark{}, false
	}
	if named && m.name == "" {
		return mark{}, false // HTML and prose have such words too
	}
	m.n = i + 1
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
			after = strings.TrimSpace(after)
			var value string
			if after != "" && (after[0] == '"' || after[0] == '\'') {
				value, rest, _ = strings.Cut(after[1:], after[:1])
			} else {
				value, rest, _ = strings.Cut(after, " ")
			}
			if !yield(strings.TrimSpace(key), value) {
				return
			}
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func trimSpace(s string) string { return strings.TrimLeft(s, " \t\r\n") }

func blank(s string) bool { return trimSpace(s) == "" }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// elem is one opening or closing tag inside a block.
type elem struct {
	name    string // as written, without a family's prefix
	fold    string
	attrs   string
	closing bool
	empty   bool // <x/>
	n       int  // length
}

// maxElem bounds a tag inside a block, attributes included (L3).
const maxElem = 4096

// elemAt reads the tag at the beginning of s; ok is false if there is none.
func elemAt(s string) (e elem, ok bool) {
	end := strings.IndexByte(s[:min(len(s), maxElem)], '>')
	if len(s) < 3 || s[0] != '<' || end < 0 {
		return e, false
	}
	inner := strings.TrimSpace(s[1:end])
	e.n = end + 1
	inner, e.closing = strings.CutPrefix(inner, "/")
	inner, e.empty = strings.CutSuffix(inner, "/")
	inner = strings.TrimSpace(inner)
	if inner != "" {
		n, _ := family(inner)
		inner = inner[n:]
	}
	k := strings.IndexFunc(inner, func(r rune) bool { return r == '=' || r <= ' ' })
	if k < 0 {
		k = len(inner)
	}
	e.name, e.attrs = inner[:k], strings.TrimSpace(inner[k:])
	if e.closing && e.attrs != "" || strings.Contains(e.attrs, "<") && !strings.ContainsAny(e.attrs, `"'`) || strings.ContainsAny(e.name, "<\"'{}") {
		return e, false
	}
	e.fold = fold(e.name)
	return e, e.fold != ""
}
