package protocol

import (
	"strings"
	"unicode/utf8"
)

// dialect is one way in which models write calls: what opens it, how its end is
// found while it arrives, and how it is read. What may follow a call is judged
// in one place for all of them (judge.go), and the content of a block is read in
// one place (block.go), since models mix the forms.
type dialect struct {
	name   string
	tags   []string // the elements that open it, folded
	tokens []string // the control tokens that do
	// opens reports whether s, at the start of a line, opens it. first says that
	// only white space, or the head of a fence, precedes it. more means that the
	// next bytes decide.
	opens func(d *Decoder, s string, first bool) (ok, more bool)
	scan  func(d *Decoder) (end int, state scanState)
	read  func(x *resolver)
}

// scanState is how far the search for the end of a call has come.
type scanState uint8

const (
	scanMore  scanState = iota // more is needed
	scanEnd                    // it ends here
	scanMaybe                  // it may end here, if it can be read up to here
	scanData                   // it is no call: all up to here is text
)

// imStart is the one token that opens turns too.
const imStart = "<|im_start|>"

// dialects is the table of all forms that are read. The order of those without
// tags is that in which they are tried.
var dialects = []*dialect{
	{name: "mylm", tags: []string{"toolcode"}},                         // B1: the house form
	{name: "tool_call", tags: []string{"toolcall", "longcattoolcall"}}, // D1
	{name: "tool_calls", tags: []string{"toolcalls"}},                  // D1, D4
	{name: "function_call", tags: []string{"functioncall"}},            // D1
	{name: "function_calls", tags: []string{"functioncalls"}},          // D1, D4
	{name: "function", tags: []string{"function"}},                     // D6
	{name: "invoke", tags: []string{"invoke"}},                         // D7
	// The tokens of D20; imStart is D9's.
	{name: "delimiter", tokens: []string{imStart, "<|python_tag|>", "<|python_start|>", "<|tool_call|>", "<|tool_call_start|>", "<|action_start|>", "<|START_ACTION|>", "<|tools_prefix|>"}},
	{name: "mistral", tokens: []string{"[TOOL_CALLS]"}},
	{name: "kimi", tokens: []string{"<|tool_calls_section_begin|>", "<|tool_call_begin|>"}},
	{name: "deepseek", tokens: []string{"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool_calls_begin｜>", "<｜tool_call_begin｜>"}},
	harmony, element, action, bare,
}

// dialectOf is the dialect that a tag or token opens.
var dialectOf = map[string]*dialect{}

func init() {
	defer indexTags()
	dialectOf[element.name] = element
	element.scan = scanElement
	action.opens, action.scan, action.read = opensAction, scanRest, (*resolver).action
	bare.opens, bare.scan, bare.read = opensBare, scanRest, (*resolver).bareCall
	for _, d := range dialects {
		for _, name := range append(d.tags, d.tokens...) {
			dialectOf[name] = d
		}
		if d.scan == nil {
			d.scan = scanBlock
		}
		if d.read == nil && d.tokens != nil {
			d.read = (*resolver).afterToken
		} else if d.read == nil {
			d.read = (*resolver).content
		}
	}
}

// fold reduces a name to what two spellings of it have in common: letters and
// digits in lower case.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r > 0x7f:
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, name)
}

// namespaces are what models put before a tool's name, with a dot.
var namespaces = []string{"functions.", "function.", "tools.", "tool.", "default_api.", "tool_code."}

const namespaceInitials = "ftd"

// declared finds the tool that a name refers to. It decides N1, N2, N3 and N5: the same name,
// else one that is equal after folding case and separators, else one without a known
// namespace, if there is only one. A near miss is never taken.
func (d *Decoder) declared(name string) (tool string, known bool) {
	if d.anyTool {
		return name, true
	}
	if !d.mayBeName(name) {
		return name, false
	}
	if _, ok := d.opts.Tools.Schema(name); ok { // N1
		return name, true
	}
	if d.folded == nil {
		d.folded = map[string][]string{}
		for _, tool := range d.opts.Tools.Names() {
			d.folded[fold(tool)] = append(d.folded[fold(tool)], tool)
		}
	}
	bare := name
	for _, space := range namespaces {
		if after, ok := strings.CutPrefix(name, space); ok {
			bare = after
		}
	}
	for _, want := range []string{fold(name), fold(bare)} { // N2, N3
		if hits := d.folded[want]; want != "" && len(hits) > 0 {
			if len(hits) == 1 {
				return hits[0], true
			}
			break
		}
	}
	return name, false // N5
}

// stands reports whether a word is the name of a tool and no word of prose.
func (d *Decoder) stands(word string) bool {
	return d.exact(word) && strings.Trim(word[1:], "abcdefghijklmnopqrstuvwxyz") != ""
}

// mayBeName reports by its first letter whether a name may be that of a tool.
func (d *Decoder) mayBeName(name string) bool {
	return name != "" && (d.initials[name[0]] || !isWord(name[0]) || name[0] >= utf8.RuneSelf || strings.IndexByte(namespaceInitials, name[0]) >= 0)
}

// tidyName decides N4: it takes from a name what models put around it.
func tidyName(name string) string {
	name = strings.Trim(strings.TrimSpace(name), "`'\"*")
	name = strings.TrimSuffix(name, "()")
	return strings.ReplaceAll(name, `\_`, "_")
}

// actionLabel begins a call in the format of ReAct, on a line of its own.
const actionLabel = "Action:"

// action is that format: Action: and a name with Action Input: and an object on the next
// line, or Action: and a call in another form, as smolagents and LangChain write it.
var action = &dialect{name: "action"}

// opensAction reports whether a line begins with it (D17).
func opensAction(_ *Decoder, s string, _ bool) (ok, more bool) {
	return strings.HasPrefix(s, actionLabel), strings.HasPrefix(actionLabel, s)
}

// action reads such a call. It decides D17; what may follow the call, Decoder.bare decides.
func (x *resolver) action() {
	x.pos = len(actionLabel)
	head, tail, _ := strings.Cut(x.rest(), "\n")
	switch head = strings.TrimSpace(head); {
	case head == "", head[0] == '{', strings.HasPrefix(head, "```"), strings.HasSuffix(head, ")"):
		x.content()
		return
	}
	x.name = head
	const input = "Action Input:"
	after := trimSpace(tail)
	switch {
	case after == "":
		x.cut()
	case len(after) < len(input) || !strings.EqualFold(after[:len(input)], input):
		x.fail(BadJSON, "there is no Action Input")
	}
	x.pos = len(x.src) - len(after) + len(input)
	x.blank()
	x.object()
}
