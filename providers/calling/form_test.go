package calling_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"mylm/prompts"
	"mylm/protocol"
	"mylm/providers"
	"mylm/providers/calling"
	"mylm/tools"
)

// known is one tool.
type known struct{ schema *jsonschema.Schema }

func (known) Names() []string { return []string{"save_text"} }
func (k known) Schema(name string) (*jsonschema.Schema, bool) {
	return k.schema, name == "save_text"
}

// What is written in any form is read back as the same call, at once or byte by byte,
// whatever the arguments hold: no text in them can end or change the call.
func TestFormsRoundTrip(t *testing.T) {
	t.Parallel()
	schema := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{
		"text": {Type: "string"}, "n": {Type: "integer"}, "on": {Type: "boolean"}, "list": {Type: "array", Items: &jsonschema.Schema{Type: "string"}},
		"more": {Type: "object"},
	}}
	texts := []string{
		"plain", "", " a\n", "two\nlines", "5", "true", "null", `"quoted" 'single'`, `"quoted"`, "-1.5e3", `{"a": 1}`, "[1]", "</parameter>", "</tool_call>", "</tool_code>\n<observation>", "<b>&amp;</b>", "a < b && c > d", "<!-- x -->", "if x<y { f(\"<p>\") }\n</div>\n<p class='k'>&lt;", "\\n \\\\",
		"naïve 東京 ✓", "<|im_end|>", "```\ncode\n```", "a\r\nb", "\t", "</function>", "{\"name\": \"save_text\", \"parameters\": {}}",
	}
	pieces := []string{"<", "</", ">", "p", "param", "text", "=", "\"", "\n", " ", "a", "<div>", "</div>", "&lt;", "<text>", "</save_text>", "{}", "]]>", "```", "<b", "Action:", "<name>", "<parameters>", "</s>", "call"}
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		text := ""
		for range 1 + r.IntN(8) {
			text += pieces[r.IntN(len(pieces))]
		}
		texts = append(texts, text)
	}
	for _, form := range calling.Forms() {
		for i := range 400 {
			args := map[string]any{}
			if i > 0 {
				args["text"] = texts[i%len(texts)]
				if r.IntN(2) == 0 {
					args["n"] = r.IntN(1000) - 500
				}
				if r.IntN(2) == 0 {
					args["on"] = r.IntN(2) == 0
				}
				if r.IntN(3) == 0 {
					args["list"] = []string{texts[r.IntN(len(texts))], "x"}
				}
				if r.IntN(3) == 0 {
					args["more"] = map[string]any{"k": texts[r.IntN(len(texts))]}
				}
			}
			want, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			text := form.Call("save_text", want)
			if i%2 == 0 {
				text = "I save it.\n" + text
			}
			if form == calling.PythonTag && i%2 == 0 {
				continue // bare JSON behind text is decided at the end of a reply, as an answer may hold it
			}
			for _, chunk := range []int{len(text), 1} {
				reader := protocol.NewDecoder(protocol.Options{Tools: known{schema}})
				var parts []protocol.Part
				for rest := text; rest != ""; {
					n := min(chunk, len(rest))
					parts = append(parts, reader.Push(rest[:n])...)
					rest = rest[n:]
				}
				parts = append(parts, reader.Close(protocol.End)...)
				var got *protocol.ToolCall
				for _, p := range parts {
					if p.Kind == protocol.Call {
						got = p.Call
					}
				}
				if got == nil || got.Name != "save_text" {
					t.Fatalf("%s wrote\n%s\nread as %+v", form, text, parts)
				}
				if fitted, _, fault := tools.Fit(schema, got.Args); fault != nil || !sameJSON(fitted, want) {
					t.Fatalf("%s wrote\n%s\nread as %s: %v", form, text, got.Args, fault)
				}
			}
		}
	}
}

// A model is shown its calls in the form of the session, also those with code and with
// values that a form without types holds as texts. Only a text with the tags of a call
// has no place there.
func TestFormsHold(t *testing.T) {
	t.Parallel()
	for args, own := range map[string]bool{
		`{"order":"50714"}`: false, `{"order":50714,"on":true,"list":["a"]}`: false, `{"text":"if a < b && c > d {"}`: false, `{"text":"<p class=\"x\">AT&amp;T</p>"}`: false,
		`{"text":"close it with </parameter>"}`: true, `{"text":"<tool_call>"}`: true, `{"text":"<|im_end|>"}`: true,
	} {
		for _, form := range []calling.Form{calling.Function, calling.Invoke} {
			if text := form.Call("save_text", []byte(args)); strings.HasPrefix(text, "<tool_code>") != own {
				t.Errorf("%s holds %s as\n%s", form, args, text)
			}
		}
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}

// Each form shows the tools, the call, the example and the correction in itself, and
// in no other form.
func TestFormsInThePrompt(t *testing.T) {
	t.Parallel()
	never := &jsonschema.Schema{Not: &jsonschema.Schema{}}
	defs := []calling.Definition{{Name: "save_text", Description: "Saves a <text>.", Schema: &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{
		"text": {Type: "string", Description: "what to save"}, "times": {Type: "integer"},
	}, PropertyOrder: []string{"text", "times"}, Required: []string{"text"}, AdditionalProperties: never}}}
	marks := map[calling.Form]string{
		calling.ToolCode: "<tool_code>", calling.ToolCall: "<tool_call>\n{", calling.Function: "<function=", calling.Invoke: "<invoke name=", calling.PythonTag: "\n{\"name\": \"TOOL_NAME\", \"parameters\": ",
	}
	for form := range marks {
		var d prompts.SystemData
		if err := form.Prompt(&d, prompts.Default(), defs, nil, false); err != nil {
			t.Fatal(err)
		}
		text, err := prompts.Default().System(d)
		if err != nil {
			t.Fatal(err)
		}
		hint, err := calling.Corrections{Prompts: prompts.Default(), Tools: known{defs[0].Schema}, Form: form}.Malformed(&protocol.FormatError{Reason: protocol.BadJSON, Tool: "save_text"})
		if err != nil {
			t.Fatal(err)
		}
		words, shown := calling.SplitForm(hint)
		if want := form.Call("save_text", []byte(`{"text":"..."}`)); !strings.HasSuffix(shown, want) || strings.Contains(words, want) {
			t.Errorf("%s: the hint %q is split into %q and %q", form, hint, words, shown)
		}
		for other, foreign := range marks {
			if strings.Contains(text, foreign) != (other == form) {
				t.Errorf("%s: the prompt has %q: %v\n%s", form, foreign, other != form, text)
			}
		}
		if strings.Contains(text, "additionalProperties") || !strings.Contains(text, "what to save") || !strings.Contains(text, "save_text") {
			t.Errorf("%s: the tools are shown as\n%s", form, text)
		}
		elements := form == calling.Function || form == calling.Invoke
		if strings.Contains(text, "one JSON object") == elements || strings.Contains(text, "Each argument is an element") != elements {
			t.Errorf("%s: the arguments are said to be in another form:\n%s", form, text)
		}
	}
	var d prompts.SystemData
	if err := calling.ToolCode.Prompt(&d, prompts.Default(), defs, nil, true); err != nil {
		t.Fatal(err)
	}
	text, err := prompts.Default().System(d)
	if want := "- save_text(text (what to save), times? int): Saves a <text>.\n"; err != nil || !strings.Contains(text, want) || strings.Contains(text, "Schema") {
		t.Errorf("the compact prompt lacks %q: %v\n%s", want, err, text)
	}
	if _, err := calling.ParseForm("bogus"); err == nil {
		t.Error("an unknown form is taken")
	}
}

// Nor does the definition of a tool, which may be a stranger's.
func TestDefinitionsHoldNoTokens(t *testing.T) {
	for _, form := range calling.Forms() {
		for _, token := range []string{"<|im_end|>", "[INST]", "</s>", "<start_of_turn>user", "]~b]user"} {
			f := &fake{replies: []string{"Yes."}}
			schema := `{"type":"object","properties":{"city":{"type":"string","description":"Of ` + token + `","enum":["a[i]","` + token + `"]}}}`
			got := generate(t.Context(), &calling.Model{Model: f, Form: form}, calling.Request{Messages: []calling.Message{user("x")},
				Tools: []calling.Tool{{Name: "get_weather", Description: "Looks. " + token, Schema: json.RawMessage(schema)}}})
			if got.err != nil {
				t.Fatal(got.err)
			}
			if system := f.requests[0].Messages[0].Text; strings.Contains(system, token) || !strings.Contains(system, `"a[i]"`) || !strings.Contains(system, "Looks. ") {
				t.Errorf("%s: %s", form, system)
			}
		}
	}
}

// Beside tools the schema of an answer holds none either, and an escape that stands in a description
// stays one: the definitions are JSON, and say what the program says.
func TestDefinitionsAreJSON(t *testing.T) {
	const literal = `A "\u003c|im_end|>" is no <|im_start|> or [INST], & <b>.`
	quoted, _ := json.Marshal(literal)
	format, err := calling.NewFormat([]byte(`{"type":"object","description":` + string(quoted) + `,"properties":{"z":{"type":"string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range calling.Forms() {
		for _, choice := range []calling.Mode{calling.Auto, calling.None} {
			f := &fake{replies: []string{`{"z":"x"}`}}
			got := generate(t.Context(), &calling.Model{Model: f, Form: form}, calling.Request{Messages: []calling.Message{user("x")}, Format: format, Choice: calling.Choice{Mode: choice},
				Tools: []calling.Tool{{Name: "get_weather", Description: literal, Schema: json.RawMessage(`{"type":"object","description":` + string(quoted) + `}`)}}})
			if got.err != nil {
				t.Fatal(got.err)
			}
			system := f.requests[0].Messages[0].Text
			if strings.Contains(system, "<|im_") || strings.Contains(system, "[INST]") {
				t.Errorf("%s: %s", form, system)
			}
			for line := range strings.Lines(system) {
				if line = strings.TrimSpace(line); !strings.HasPrefix(line, `{"type": "function", "function": {"name": "get_weather"`) {
					continue
				}
				var def struct{ Function struct{ Description string } }
				if err := json.Unmarshal([]byte(line), &def); err != nil || def.Function.Description != literal {
					t.Errorf("%s: %v %s", form, err, line)
				}
			}
		}
	}
}

// A tool whose name holds such a token is refused.
func TestNamesHoldNoTokens(t *testing.T) {
	f := &fake{replies: []string{"Yes."}}
	got := generate(t.Context(), &calling.Model{Model: f}, calling.Request{Messages: []calling.Message{user("x")}, Tools: []calling.Tool{clock, {Name: "x[INST]"}}})
	if got.err == nil || !strings.Contains(got.err.Error(), `tools[1]: its name, "x[INST]"`) || len(f.requests) > 0 {
		t.Errorf("%v", got.err)
	}
}

// Nor does what a model is shown of its own reply that had to be corrected, whatever was wrong.
func TestCorrectionsHoldNoTokens(t *testing.T) {
	for _, reply := range []string{
		"Text <<SYS>>\n" + called("get_weather", `{"town":"[INST] </s>"}`),
		"<tool_code>\n<name>get_weather</name>\n<parameters>[\"[INST]\", \"<start_of_turn>user\", \"</s>\"]</parameters>\n</tool_code>",
		"<tool_code>\n<name>get_weather[INST]</s></name>\n<parameters>{}</parameters>\n</tool_code>",
	} {
		for _, form := range calling.Forms() {
			f := &fake{replies: []string{reply, "Yes."}}
			got := generate(t.Context(), &calling.Model{Model: f, Form: form}, calling.Request{Messages: []calling.Message{user("x")}, Tools: []calling.Tool{weather}})
			if len(f.requests) < 2 {
				t.Fatalf("%q is not corrected: %v", reply, got)
			}
			for _, m := range f.requests[1].Messages {
				for _, token := range []string{"[INST]", "</s>", "<start_of_turn>", "<<SYS>>"} {
					if strings.Contains(m.Text, token) {
						t.Errorf("%s: %s", form, m.Text)
					}
				}
			}
		}
	}
}

// No form of a call brings a token of a chat template from a client's history into the prompt.
func TestFormsHoldNoTokens(t *testing.T) {
	for _, form := range calling.Forms() {
		for _, token := range []string{"<|im_end|>", "[INST]", "</s>", "<start_of_turn>user"} {
			f := &fake{replies: []string{"Yes."}}
			args, _ := json.Marshal(map[string]any{"city": "Bern " + token, "list": []string{token}})
			args = []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(args)))
			generate(t.Context(), &calling.Model{Model: f, Form: form}, calling.Request{Tools: []calling.Tool{weather}, Messages: []calling.Message{
				user("x"), {Role: providers.Assistant, Text: "I look.", Calls: []calling.Call{{ID: "1", Name: "get_weather", Args: args}}}, {Role: calling.Result, CallID: "1", Text: "21"}}})
			if got := f.requests[0].Messages[2].Text; strings.Contains(got, token) || !strings.Contains(got, "Bern ") {
				t.Errorf("%s: %s", form, got)
			}
		}
	}
}
