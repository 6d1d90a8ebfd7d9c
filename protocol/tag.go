package protocol

import (
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
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
	exampleOpen  // <pre> and the like: its content is only shown
	exampleClose // its end; thinkClose and it follow what they close
	delimiter    // <|im_start|>: it opens a call, or somebody's turn
	tokenOpen    // a token that opens calls and nothing else
	separator    // a token between the parts of a call
	channel      // a header of the harmony format
	turnEnd      // the model's turn is over
	ownTurn      // the header of the turn that the model writes
	struck       // <s>, which </s> ends elsewhere
)

// tagNames gives the meaning of a tag by its folded name: lower case, without - and _. A
// closing tag's name begins with a slash.
var tagNames = map[string]tag{}

// families are the prefixes that model families put before the names of their tags.
var families = []string{"antml:", "atem:", "minimax:", "mm:", "seed:", "steptml:", "｜DSML｜"}

// namesOf are the names of tags, folded: those of B19, A2, T14, H3 and T11. The latter two are
// elements, whose closing tags indexTags adds.
var namesOf = map[tag]string{
	observationOpen: "observation toolresponse toolresponses toolresult toolresults tooloutput tooloutputs functionresponse functionresponses functionresult functionresults " +
		"functionoutput functionoutputs toolcallresult toolcallresults toolcallresponse toolcallresponses toolcalloutput toolcodeoutput toolcoderesult functioncallresult functioncalloutput " +
		"executionresult executionresults executionoutput apiresponse apiresponses",
	answerOpen:  "finalanswer",
	answerClose: "/finalanswer",
	paramsClose: "/parameters /arguments /args /parameter /params",
	turnEnd:     "endofturn startofturn /s",
	struck:      "s",
	thinkOpen:   "think thinking reasoning thought thoughts analysis scratchpad reflection innermonologue",
	exampleOpen: "pre code example examples",
}

// tokensOf are the control tokens of every family, written just so: those that close calls
// or are in them, those of H3, D21, B19 and T14. dialects adds the ones that open calls.
var tokensOf = map[tag]string{
	toolClose: "<|/tool_call|> <|tool_call_end|> <|tool_calls_section_end|> <｜tool▁call▁end｜> <｜tool▁calls▁end｜> <｜tool_call_end｜> " +
		"<｜tool_calls_end｜> <|call|> <|action_end|> <|END_ACTION|> <|tools_suffix|> [/TOOL_CALLS] <|python_end|>",
	separator: "<|tool_call_argument_begin|> <｜tool▁sep｜> <｜tool_sep｜> <|plugin|> [ARGS] [CALL_ID]",
	thinkOpen: "[THINK] ◁think▷ <|START_THINKING|> <|begin_of_thought|> <|inner_prefix|> <|channel> <longcat_think> <|think:start|> " +
		"<think:opensource> <|open|>think<|sep|>",
	thinkClose: "[/THINK] ◁/think▷ <|END_THINKING|> <|end_of_thought|> <|inner_suffix|> <channel|> </longcat_think> <|think:end|> " +
		"</think:opensource> <|close|>think<|sep|>",
	channel: "<|channel|> <|start|>",
	observationOpen: "<|tool_response|> <|tool_response> <|tool|> <|tool_response_start|> <|tool_result|> <|tool_results|> <|tool_output|> " +
		"<|tool_outputs|> <|tool_responses|> <|tool_outputs_begin|> <|function_response|> <|function_output|> <start_function_response> " +
		"<｜tool▁outputs▁begin｜> <｜tool▁output▁begin｜> <｜tool_outputs_begin｜> <｜tool_output_begin｜> <|START_TOOL_RESULT|>",
	turnEnd: "<|im_end|> <|eot_id|> <|eom_id|> <|endoftext|> <|end_of_text|> <|end|> <|return|> <|eot|> <|im_user|> <|im_system|> " +
		"<|start_header_id|> <|end_header_id|> <|start_of_role|> <|header_start|> <|user|> <|system|> <|observation|> " +
		"<|END_OF_TURN_TOKEN|> <|START_OF_TURN_TOKEN|> <｜end▁of▁sentence｜> <｜User｜> [INST] <turn|> <|turn> <|end_of_turn|> " +
		"<|endofturn|> <|end_of_sentence|> <|end_of_msg|> <|assistant_end|> <|user_start|> <seed:eos> </longcat_s> <SPECIAL_12> " +
		"<｜hy_eos:opensource｜> [e~[ [|endofturn|] ]~b] " +
		"[|user|] [|system|] [|tool|] [|assistant|] <|assistant|> <｜Assistant｜> <｜hy_User｜> <｜hy_Assistant｜> <｜hy_place▁holder▁no▁2｜> <|eos|> " +
		"<|extra_0|> <|message_sep|> <|turn_end|> <|role_start|> <|role_end|> <role>HUMAN</role> <role>ASSISTANT</role> <|im_assistant|> " +
		"<end_of_utterance> <end_of_sentence> <beginning_of_sentence> <|userprompt|> <|endofresponse|> <|bom|> <|eom|>",
}

// turns are those tokens of T14 that begin a turn: true if it is never the model's, false if
// a role follows. ownTurns begin the model's. roles are those that are not.
var (
	turns = map[string]bool{
		imStart: false, "startofturn": false, "<|START_OF_TURN_TOKEN|>": false,
		"<|start_header_id|>": false, "<|header_start|>": false, "<|start_of_role|>": false, "<|turn>": false, "]~b]": false, "<|role_start|>": false, "<|im_assistant|>": false,
		"<beginning_of_sentence>": false, "[|user|]": true, "[|system|]": true, "[|tool|]": true, "<｜hy_User｜>": true, "<role>HUMAN</role>": true,
		"<|userprompt|>": true, "<|user_start|>": true,
		"<|im_user|>": true, "<|im_system|>": true, "<|user|>": true, "<|system|>": true, "<|observation|>": true, "<｜User｜>": true, "[INST]": true,
	}
	ownTurns = map[string]bool{"<|assistant|>": true, "<｜Assistant｜>": true, "[|assistant|]": true, "<｜hy_Assistant｜>": true, "<role>ASSISTANT</role>": true}
	ownRoles = map[string]bool{"assistant": true, "model": true, "ai": true, "chatbot": true}
	roles    = map[string]bool{"user": true, "system": true, "tool": true, "human": true, "ipython": true, "environment": true, "developer": true, "tool_response": true}
)

// headerEnds close the header of a turn, as Llama 3, Llama 4, Granite, Megrez, Kimi,
// Command R and MiniMax M1 write it.
var headerEnds = []string{"<|end_header_id|>", "<|header_end|>", "<|end_of_role|>", "<|role_end|>", "<|im_middle|>", "|>", " name=assistant"}

// token is a control token with a meaning.
type token struct {
	text string
	tag  tag
}

var (
	tokens   []token
	tokensAt [256][]token // by their third byte
	// tokenStarts are their first two bytes; 0 is any.
	tokenStarts [256][256]bool
	sortedTags  []string // of tagNames
	// tagPairs are the first two letters of tags, of families and of tokens that
	// are written like tags.
	tagPairs [256][256]bool
	// elementStarts are those of the elements of callElement, and of results.
	elementStarts [256][256]bool
)

// indexTags adds the tags and tokens of dialects.
func indexTags() {
	for t, names := range namesOf {
		for name := range strings.FieldsSeq(names) {
			if tagNames[name] = t; t == thinkOpen || t == exampleOpen {
				tagNames["/"+name] = t + 1
			}
		}
	}
	for t, texts := range tokensOf {
		for text := range strings.FieldsSeq(texts) {
			tokens = append(tokens, token{text, t})
		}
	}
	for _, d := range dialects {
		for _, name := range d.tags {
			tagNames[name], tagNames["/"+name] = toolOpen, toolClose
		}
		for _, text := range d.tokens {
			opens := tokenOpen
			if text == imStart {
				opens = delimiter
			}
			tokens = append(tokens, token{text, opens})
		}
	}
	pair := func(name string) {
		name = strings.ToLower(strings.TrimPrefix(name, "/")) + ">"
		tagPairs[name[0]][name[1]] = true
	}
	for _, t := range tokens {
		tokensAt[lower(t.text[2])] = append(tokensAt[lower(t.text[2])], t)
		tokenStarts[t.text[0]][lower(t.text[1])], tokenStarts[t.text[0]][0] = true, true
		pair(t.text[1:])
	}
	for _, f := range families {
		pair(f)
	}
	for name := range tagNames {
		pair(name)
	}
	sortedTags = slices.Sorted(maps.Keys(tagNames))
	for two := range strings.FieldsSeq("us ex ru ca in mc to fu ac ap pl ob lo") {
		elementStarts[two[0]][two[1]] = true
	}
}

// lazyRegexp compiles a pattern when it is first needed: most replies need few.
func lazyRegexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// beginsTag reports whether a tag's name may begin with s.
func beginsTag(s string) bool {
	i, _ := slices.BinarySearch(sortedTags, s)
	return i < len(sortedTags) && strings.HasPrefix(sortedTags[i], s)
}

// maxTag decides L3 in text: it bounds a tag with its attributes and the white space inside
// it, so that what is held back stays small.
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

// matchTag reads the tag or token that s begins with. It decides T3 and T4: what is a tag, and
// what only begins like one. more means that the next bytes decide.
func matchTag(s string) (m mark, more bool) {
	const open = "<!--"
	if plain(s) {
		return mark{}, false
	}
	if m, more = matchToken(s); m.tag != noTag || s[0] != '<' {
		return m, more
	}
	if strings.HasPrefix(s, open) {
		return mark{tag: comment, n: len(open)}, false
	}
	more = more || strings.HasPrefix(open, s)
	i := 1
	var buf [maxTag]byte
	name := buf[:0]
	for i < len(s) && (isSpace(s[i]) || s[i] == '/' && len(name) == 0) {
		if s[i] == '/' {
			name = append(name, '/')
		}
		i++
	}
	n, partly := family(s[i:])
	for i += n; i < min(len(s), maxTag) && (s[i] == '_' || s[i] == '-' || 'a' <= lower(s[i]) && lower(s[i]) <= 'z'); i++ {
		if s[i] != '_' && s[i] != '-' {
			name = append(name, lower(s[i]))
		}
	}
	if partly || i == len(s) {
		return mark{}, (partly || more || beginsTag(string(name))) && len(s) <= maxTag
	}
	t, ok := tagNames[string(name)]
	if !ok {
		return mark{}, more
	}
	named := string(name) == "function" || string(name) == "invoke" // D6, D7, T4: a tag only with the name of a tool
	ended := isSpace(s[i]) || s[i] == '>' || s[i] == '=' && named || s[i] == '/' && t == toolOpen
	end := strings.IndexByte(s[i:min(len(s), maxTag)], '>')
	if !ended || end < 0 {
		return mark{}, more || ended && len(s) < maxTag
	}
	attrs := strings.TrimSpace(s[i : i+end])
	m = mark{tag: t, kind: string(name), n: i + end + 1}
	if t == toolOpen {
		m.name, m.attrs, m.empty = nameAttr(attrs), attrs, strings.HasSuffix(attrs, "/")
	}
	switch valued := (t == toolOpen || t == thinkOpen) && strings.Contains(attrs, "="); {
	case named && (m.name == "" || attrs[0] == '=' && strings.Contains(m.name, "<")): // HTML and prose have such words too
	case attrs == "", attrs == "/" && m.empty, m.name != "", valued, t == observationOpen, t == exampleOpen:
		return m, false
	}
	return mark{}, false // <think harder> is no tag
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
	next := lower(s[i+1])
	if !isWord(next) { // all of the name
		next = '>'
	}
	return !tagPairs[lower(s[i])][next]
}

// family decides T12: it is the length of a family's prefix that s begins with. more says
// that s may go on to be one, and can be nothing else.
func family(s string) (n int, more bool) {
	for _, f := range families {
		if strings.HasPrefix(s, f) {
			return len(f), false
		}
		more = more || strings.HasPrefix(f, s)
	}
	return 0, more
}

// matchToken decides T4 for control tokens: it reads the one that s begins with, in any case,
// without white space.
func matchToken(s string) (m mark, more bool) {
	if len(s) <= 2 {
		return mark{}, tokenStarts[s[0]][lower((s + "\x00")[1])]
	}
	for _, t := range tokensAt[lower(s[2])] {
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

// white is all white space that there is: other characters are part of a name.
const white = " \t\r\n"

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func trimSpace(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	return s
}

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

// maxElem decides L3 in a block: it bounds a tag there, attributes included.
const maxElem = 4096

// elemAt reads the tag at the beginning of s, inside a block (T3); ok is false if there is
// none.
func elemAt(s string) (e elem, ok bool) {
	end := strings.IndexByte(s[:min(len(s), maxElem)], '>')
	if len(s) < 3 || s[0] != '<' || end < 0 {
		return e, false
	}
	inner := strings.Trim(s[1:end], white)
	e.n = end + 1
	inner, e.closing = strings.CutPrefix(inner, "/")
	inner, e.empty = strings.CutSuffix(inner, "/")
	inner = strings.Trim(inner, white)
	e.name, e.attrs = tagName(inner)
	if e.closing && e.attrs != "" || strings.Contains(e.attrs, "<") && !strings.ContainsAny(e.attrs, `"'`) || strings.ContainsAny(e.name, "<\"'{}") {
		return e, false
	}
	e.fold = fold(e.name)
	return e, e.fold != ""
}

// tagName takes apart what is inside a tag: its name, without a family's prefix, and its
// attributes.
func tagName(s string) (name, attrs string) {
	prefix, _ := family(s)
	s = s[prefix:]
	k := strings.IndexFunc(s+" ", func(r rune) bool { return r == '=' || r <= ' ' })
	return s[:k], strings.TrimSpace(s[k:])
}

// afterToken decides D20 behind the token: it takes apart the call, JSON or Python, or a name,
// other tokens between the parts, and an object.
func (x *resolver) afterToken() {
	for {
		x.blank()
		rest := x.rest()
		m, _ := matchTag(rest[:min(len(rest), maxTag)] + " ")
		switch {
		case rest == "":
			x.cut()
		case m.tag == delimiter || m.tag == tokenOpen || m.tag == separator:
			x.pos += m.n
			continue
		case strings.IndexByte("{[<", rest[0]) >= 0:
			x.content()
			return
		}
		head := rest[:pathLen(rest)]
		after := trimSpace(strings.TrimLeft(rest[len(head):], ":0123456789")) // Kimi numbers its calls: functions.name:0
		m, _ = matchTag(after[:min(len(after), maxTag)] + " ")
		switch {
		case head == "":
			x.fail(BadJSON, "the call is not one that is known behind this token")
		case strings.HasPrefix(after, "("):
			if name, ok := strings.CutSuffix(head, ".call"); ok { // Llama's built-in tools
				x.src, x.pos = name+rest[len(head):], 0
			}
			x.python()
			return
		case m.tag == separator && (x.name != "" || head == "function"): // Mistral's id of a call, DeepSeek's type
		case x.name != "":
			x.fail(Ambiguous, "%q is beside the call", rest)
		default:
			x.name = head
		}
		x.pos = len(x.src) - len(after)
		if m.tag == noTag || m.tag == toolOpen {
			x.content()
			return
		}
		x.pos += m.n
	}
}

// harmony is the format of gpt-oss: messages with a channel, and a recipient where they are
// calls.
var harmony = &dialect{name: "harmony"}

const startToken, channelToken, endToken = "<|start|>", "<|channel|>", "<|end|>"

// prefilled reports whether a reply goes on in a header whose <|channel|> the prompt ended
// with (D21). more means that the next bytes decide.
func (d *Decoder) prefilled(s string) (begun, more bool) {
	for _, ch := range []string{"analysis<|", "commentary<|", "commentary to=", "final<|"} {
		if strings.HasPrefix(s, ch) {
			_, _, n, more := d.header(channelToken + s)
			return n > 0, more
		}
		more = more || strings.HasPrefix(ch, s)
	}
	return false, more
}

// header takes apart a header of the harmony format (D21), which begins with one of its
// tokens and ends with <|message|>. more means that it may still come.
func (d *Decoder) header(s string) (ch, recipient string, n int, more bool) {
	const message = "<|message|>"
	head, _, ok := strings.Cut(s[:min(len(s), maxTag)], message)
	switch {
	case strings.Contains(head, endToken), strings.Contains(head, "\n"):
		return "", "", 0, false
	case !ok:
		return "", "", 0, len(s) < maxTag
	}
	n = len(head) + len(message)
	if role, ok := strings.CutPrefix(head, startToken); ok && !strings.HasPrefix(role, "assistant") {
		return "other", "", n, false
	}
	_, ch, _ = strings.Cut(head, channelToken)
	_, recipient, _ = strings.Cut(head, " to=")
	return ch[:pathLen(ch)], recipient[:pathLen(recipient)], n, false
}
