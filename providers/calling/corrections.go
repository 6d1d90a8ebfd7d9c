package calling

import (
	"cmp"
	"errors"
	"strings"

	"mylm/prompts"
	"mylm/protocol"
	"mylm/tools"
)

// Corrections puts what is wrong with a reply into words for the model. The templates
// have the details; each stays within 60 words, since a small model loses the
// thread of more.
type Corrections struct {
	Prompts *prompts.Set
	Tools   protocol.Lookup
	Form    Form // of the correct call
}

// The words that are left to the parts that come from outside.
const (
	MaxDetail    = 20
	maxSignature = 20
)

// Malformed explains why a reply could not be read, with the correct form of
// the call that it tried.
func (w Corrections) Malformed(f *protocol.FormatError) (string, error) {
	tool := w.meant(f)
	data := prompts.CorrectionData{
		Reason: string(f.Reason), Detail: protocol.Neutralise(FirstWords(f.Detail, MaxDetail)),
		Tool: protocol.Neutralise(FirstWords(tool, 3)), Example: w.example(tool), Cut: f.Cut,
	}
	data.Call = w.call(data)
	return w.Prompts.Correction(data)
}

// meant is the tool whose correct form helps: the one that was read, or the only
// one that the unreadable call mentions.
func (w Corrections) meant(f *protocol.FormatError) string {
	if _, known := w.Tools.Schema(f.Tool); known {
		return f.Tool
	}
	found := ""
	for _, tool := range w.Tools.Names() {
		if strings.Contains(f.Raw, tool) {
			if found != "" {
				return ""
			}
			found = tool
		}
	}
	return found
}

// Refused explains why a call cannot run, for an error of tools.Registry.Prepare.
func (w Corrections) Refused(err error) (string, error) {
	data := prompts.CorrectionData{Detail: FirstWords(err.Error(), MaxDetail+maxSignature)}
	var bad *tools.ArgError
	var unknown *tools.UnknownToolError
	switch {
	case errors.As(err, &bad):
		faults, usage, _ := strings.Cut(bad.Error(), "\n")
		data.Detail = FirstWords(faults, MaxDetail) + "\n" + FirstWords(usage, maxSignature)
		data.Tool = bad.Tool
	case errors.As(err, &unknown) && len(unknown.Near) > 0:
		data.Tool = unknown.Near[0]
	case errors.As(err, &unknown) && len(unknown.Known) == 1:
		data.Tool = unknown.Known[0]
	}
	data.Example = w.example(data.Tool)
	data.Call = w.call(data)
	return w.Prompts.Refusal(data)
}

// call is the right form of a call: of the tool that was meant, or of the first, so that
// a copy of it runs. Without tools it has words in capitals.
func (w Corrections) call(d prompts.CorrectionData) string {
	if names := w.Tools.Names(); d.Tool == "" && len(names) > 0 {
		d.Tool, d.Example = names[0], w.example(names[0])
	}
	return w.Form.Call(cmp.Or(d.Tool, "TOOL_NAME"), []byte(cmp.Or(d.Example, `{"ARGUMENT": "VALUE"}`)))
}

// openers are what the forms of calls begin with; the last is inside others, too.
var openers = []string{"\n<tool_code>", "\n<tool_call>", "\n<function_calls>", "\n{\"name\": "}

// SplitForm takes the form that a refusal shows off the words before it. The words
// go into the observation, where they are data; the form is unchanged, so that
// a copy of it runs.
func SplitForm(refusal string) (words, form string) {
	at := -1
	for i, opener := range openers {
		if at < 0 || i < len(openers)-1 {
			at = max(at, strings.LastIndex(refusal, opener))
		}
	}
	if at < 0 {
		return refusal, ""
	}
	at++
	at = strings.LastIndexByte(strings.TrimRight(refusal[:at], " \n"), '\n') + 1
	return strings.TrimRight(refusal[:at], "\n"), refusal[at:]
}

// example is an example of a tool's arguments, "" for an unknown tool.
func (w Corrections) example(tool string) string {
	if schema, ok := w.Tools.Schema(tool); ok {
		return tools.Example(schema)
	}
	return ""
}

// FirstWords cuts s after its n-th word. What it keeps of a longer text is on one line.
func FirstWords(s string, n int) string {
	var words []string
	for word := range strings.FieldsSeq(s) {
		if len(words) == n {
			return strings.Join(words, " ") + " …"
		}
		words = append(words, word)
	}
	return s
}
