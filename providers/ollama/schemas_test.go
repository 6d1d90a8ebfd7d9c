package ollama_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/providers"
	"mylm/providers/scripted"
	"mylm/tools"
)

// answerCase is a schema with replies: one that fits, one that nearly does, and one
// that does not.
type answerCase struct {
	schema, right string
	near          string
	read          string // what the near one is read as; "" is no value
	wrong         string
}

// answerCases are what people ask for: records, lists, choices, numbers in bounds,
// texts of a form, alternatives, references, and schemas as generators write them
// (pydantic, zod, the documentation of Ollama, OpenAI and llama.cpp). The right values
// have required properties first, by the alphabet: Ollama 0.32.15 allows no other
// order, whatever the schema says.
var answerCases = []answerCase{
	// One value.
	{`{"type":"string"}`, `"heron"`, "```json\n\"heron\"\n```", `"heron"`, `42 herons`},
	{`{"type":"integer"}`, `42`, `"42"`, `42`, `forty-two`},
	{`{"type":"number"}`, `-3.5`, `The answer is: -3.5`, "", `about three`},
	{`{"type":"boolean"}`, `true`, `"true"`, `true`, `yes, I think so`},
	{`{"type":"null"}`, `null`, "```\nnull\n```", `null`, `nothing`},
	{`{"enum":["good","bad","ugly"]}`, `"ugly"`, "```json\n\"ugly\"\n```", `"ugly"`, `"pretty"`},
	{`{"const":"yes"}`, `"yes"`, "```\n\"yes\"\n```", `"yes"`, `"no"`},
	{`{"type":"integer","minimum":1,"maximum":10}`, `7`, `"7"`, `7`, `11`},
	{`{"type":"number","exclusiveMinimum":0}`, `0.5`, `"0.5"`, `0.5`, `0`},
	{`{"type":"integer","multipleOf":5}`, `15`, `"15"`, `15`, `16`},
	{`{"type":"string","minLength":2,"maxLength":5}`, `"abc"`, "```\n\"abc\"\n```", `"abc"`, `"abcdef"`},
	{`{"type":"string","pattern":"^[a-z]+-[0-9]+$"}`, `"ab-12"`, "```\n\"ab-12\"\n```", `"ab-12"`, `"AB 12"`},
	{`{"type":["string","null"]}`, `null`, "```\n\"x\"\n```", `"x"`, `[1]`},
	// Lists.
	{`{"type":"array","items":{"type":"string"}}`, `["a","b"]`, "Here they are: [\"a\", \"b\"]", `["a","b"]`, `a, b`},
	{`{"type":"array","items":{"type":"integer"},"minItems":2}`, `[1,2]`, `["1","2"]`, `[1,2]`, `[1]`},
	{`{"type":"array","items":{"type":"integer"},"maxItems":3}`, `[1,2,3]`, "```json\n[1, 2, 3]\n```", `[1,2,3]`, `[1,2,3,4]`},
	{`{"type":"array","items":{"type":"number"},"uniqueItems":true}`, `[1,2.5]`, `["1", 2.5]`, `[1,2.5]`, `[1,1]`},
	{`{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"minItems":2,"maxItems":2}`, `["a",1]`, "```\n[\"a\", 1]\n```", `["a",1]`, `[1,"a"]`},
	{`{"type":"array","items":{"type":"array","items":{"type":"integer"}}}`, `[[1,2],[3]]`, `[["1", 2], [3]]`, `[[1,2],[3]]`, `[1,2,3]`},
	{`{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`, `[{"name":"a"},{"name":"b"}]`, "Sure:\n[{\"name\": \"a\"},\n {\"name\": \"b\"}]", `[{"name":"a"},{"name":"b"}]`, `[{"nom":"a"}]`},
	// Records.
	{`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name","age"]}`, `{"age":3,"name":"Ann"}`, `Sure! {"name": "Ann", "age": "3"}`, `{"name":"Ann","age":3}`, `{"name":"Ann"}`},
	{`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}`, `{"a":1}`, "```json\n{\"a\": 1,}\n```", `{"a":1}`, `{"a":1,"b":2}`},
	{`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a"]}`, `{"a":1}`, `{'a': 1, 'b': 'x'}`, `{"a":1,"b":"x"}`, `{"b":"x"}`},
	{`{"type":"object","properties":{"host":{"type":"object","properties":{"name":{"type":"string"},"port":{"type":"integer","maximum":65535}},"required":["name","port"]}},"required":["host"]}`, `{"host":{"name":"heron","port":22}}`, `{"host": {"name": "heron", "port": "22"}}`, `{"host":{"name":"heron","port":22}}`, `{"host":{"name":"heron","port":70000}}`},
	{`{"type":"object","properties":{"tags":{"type":"array","items":{"enum":["x","y"]}}},"required":["tags"]}`, `{"tags":["x","y"]}`, "It is ```json\n{\"tags\": [\"x\", \"y\"]}\n```", `{"tags":["x","y"]}`, `{"tags":["z"]}`},
	{`{"type":"object","additionalProperties":{"type":"integer"}}`, `{"a":1,"b":2}`, "```\n{\"a\": 1, \"b\": 2}\n```", `{"a":1,"b":2}`, `{"a":"one"}`},
	{`{"type":"object","patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`, `{"x-a":"1"}`, "```\n{\"x-a\": \"1\"}\n```", `{"x-a":"1"}`, `{"y":"1"}`},
	{`{"type":"object","properties":{"when":{"type":"string","format":"date"}},"required":["when"]}`, `{"when":"2026-01-02"}`, `The date: {"when": "2026-01-02"}`, `{"when":"2026-01-02"}`, `{"when":[1]}`},
	{`{"type":"object","properties":{"id":{"type":"string","format":"uuid"}},"required":["id"]}`, `{"id":"123e4567-e89b-12d3-a456-426614174000"}`, "```\n{\"id\": \"123e4567-e89b-12d3-a456-426614174000\"}\n```", `{"id":"123e4567-e89b-12d3-a456-426614174000"}`, `{}`},
	{`{"type":"object","minProperties":1}`, `{"a":1}`, `Result: {"a": 1}`, `{"a":1}`, `{}`},
	// Alternatives and references.
	{`{"anyOf":[{"type":"integer"},{"type":"string"}]}`, `"x"`, "```\n5\n```", `5`, `[5]`},
	{`{"oneOf":[{"type":"object","properties":{"ok":{"const":true}},"required":["ok"]},{"type":"object","properties":{"error":{"type":"string"}},"required":["error"]}]}`, `{"error":"no host"}`, `It failed: {"error": "no host"}`, `{"error":"no host"}`, `{"fine":1}`},
	{`{"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"integer"}},"required":["b"]}]}`, `{"a":1,"b":2}`, "```\n{\"a\": 1, \"b\": 2}\n```", `{"a":1,"b":2}`, `{"a":1}`},
	{`{"$defs":{"p":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}},"type":"object","properties":{"from":{"$ref":"#/$defs/p"},"to":{"$ref":"#/$defs/p"}},"required":["from","to"]}`, `{"from":{"x":1},"to":{"x":2.5}}`, `{"from": {"x": "1"}, "to": {"x": 2.5}}`, `{"from":{"x":1},"to":{"x":2.5}}`, `{"from":{"x":1}}`},
	{`{"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"]}},"$ref":"#/$defs/node"}`, `{"next":{"next":null,"v":2},"v":1}`, "```json\n{\"v\": 1, \"next\": null}\n```", `{"v":1,"next":null}`, `{"v":1,"next":{"v":"two"}}`},
	{`{"type":"object","properties":{"a":{"not":{"type":"null"}}},"required":["a"]}`, `{"a":1}`, "```\n{\"a\": 1}\n```", `{"a":1}`, `{"a":null}`},
	{`{"type":"object","properties":{"kind":{"enum":["a","b"]},"n":{"type":"integer"}},"required":["kind"],"if":{"properties":{"kind":{"const":"b"}}},"then":{"required":["n"]}}`, `{"kind":"b","n":1}`, "```\n{\"kind\": \"a\"}\n```", `{"kind":"a"}`, `{"kind":"b"}`},
	// As generators write them.
	{`{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"Country","type":"object","properties":{"name":{"title":"Name","type":"string"},"capital":{"title":"Capital","type":"string"},"languages":{"items":{"type":"string"},"title":"Languages","type":"array"}},"required":["name","capital","languages"]}`, `{"capital":"Ottawa","languages":["English","French"],"name":"Canada"}`, "Here is the JSON:\n\n```json\n{\n  \"name\": \"Canada\",\n  \"capital\": \"Ottawa\",\n  \"languages\": [\"English\", \"French\"]\n}\n```\n\nLet me know!", `{"name":"Canada","capital":"Ottawa","languages":["English","French"]}`, `{"name":"Canada","capital":"Ottawa"}`},
	{`{"type":"object","properties":{"steps":{"type":"array","items":{"type":"object","properties":{"explanation":{"type":"string"},"output":{"type":"string"}},"required":["explanation","output"],"additionalProperties":false}},"final_answer":{"type":"string"}},"required":["steps","final_answer"],"additionalProperties":false}`, `{"final_answer":"x = -3.75","steps":[{"explanation":"Subtract 7.","output":"8x = -30"}]}`, `{"steps": [{"explanation": "Subtract 7.", "output": "8x = -30"}], "final_answer": "x = -3.75",}`, `{"steps":[{"explanation":"Subtract 7.","output":"8x = -30"}],"final_answer":"x = -3.75"}`, `{"steps":"none","final_answer":"x"}`},
	{`{"type":"object","properties":{"city":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null},"score":{"type":"number","minimum":0,"maximum":1,"description":"0 to 1"}},"required":["score"]}`, `{"score":0.5,"city":null}`, `{"score": ".5"}`, "", `{"score":1.5}`},
	{`{"type":"object","properties":{"data":{}},"required":["data"]}`, `{"data":[1,"x"]}`, "```json\n{\"data\": [1, \"x\"]}\n```", `{"data":[1,"x"]}`, `{"date":1}`},
	{`{"type":"array","items":true}`, `[1,"x"]`, "So: [1, \"x\"]", `[1,"x"]`, `{"a":1}`},
	{`{}`, `{"any":["thing",1]}`, "```json\n{\"any\": [\"thing\", 1]}\n```", `{"any":["thing",1]}`, `no value at all`},
	{`true`, `{"any":["thing",1]}`, "```json\n{\"any\": [\"thing\", 1]}\n```", `{"any":["thing",1]}`, `no value at all`},
}

// A model's answer is the value that was asked for: of a server that can constrain
// it, and of a backend that cannot.

// asked is how a model answers the question of case n: with a tool beside, or
// constrained from the beginning.
func (c answerCase) asked(t *testing.T, m providers.Model, n int, way string, withTool bool) (agent.Result, *constraints) {
	t.Helper()
	seen := &constraints{Model: m}
	o := agent.Options{Model: seen, AnswerSchema: json.RawMessage(c.schema), MaxTokens: 200, MaxTurns: 4}
	if withTool {
		look, err := tools.New("look", "Look.", tools.Reads, func(context.Context, struct{}) (tools.Result, error) { return tools.Result{}, nil })
		if err != nil {
			t.Fatal(err)
		}
		if o.Tools, err = tools.NewRegistry(look); err != nil {
			t.Fatal(err)
		}
	}
	a, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := a.Ask(t.Context(), fmt.Sprintf("case %02d, %s", n, way)) // r says how it ended
	return r, seen
}

// constraints notes which requests were to be constrained: + or -.
type constraints struct {
	providers.Model
	formats string
}

func (w *constraints) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	if r.Format == nil {
		w.formats += "-"
	} else {
		w.formats += "+"
	}
	return w.Model.Generate(ctx, r)
}

// constrained is how a reply is that can only be the answer. Ollama lets an object
// have nothing that patternProperties allows; a schema that is a boolean it takes
// nowhere, and is asked again without.
func (c answerCase) constrained(way string) string {
	switch {
	case c.schema == "true", strings.Contains(c.schema, "patternProperties"):
		return "-"
	case way == "Ollama" && strings.Contains(c.schema, `"items":true`):
		return "+-"
	}
	return "+"
}

// answersAs checks how the replies of a case are taken, with a backend whose model
// gives them in order.
func (c answerCase) answersAs(t *testing.T, n int, way string, m func(replies ...string) providers.Model) {
	t.Helper()
	constrained := c.constrained(way)
	for _, tt := range []struct {
		way     string
		replies []string
		want    string
		formats string // with a tool
	}{
		{"right", []string{c.right}, c.right, "-"},
		{"near", []string{c.near, c.right}, c.read, "-"},
		{"wrong", []string{c.wrong, c.right}, c.right, "-" + constrained},
	} {
		if tt.want == "" { // no value
			tt.want, tt.formats = c.right, "-"+constrained
		}
		r, seen := c.asked(t, m(tt.replies...), n, tt.way, true)
		if r.Response != tt.want || r.StopReason != agent.StopComplete || seen.formats != tt.formats {
			t.Errorf("%s case %d, %s: %q (%s, %v), constrained %s; want %q, constrained %s\n%s", way, n, tt.way, r.Response, r.StopReason, r.Err, seen.formats, tt.want, tt.formats, c.schema)
		}
	}
}

// The answer is the value that was asked for with a backend that cannot constrain a
// reply; a model that never gives one does not end as if it had.
func TestAnswersBySchema(t *testing.T) {
	if n := len(answerCases); n < 40 {
		t.Errorf("%d schemas", n)
	}
	plain := func(replies ...string) providers.Model {
		all := make([]scripted.Reply, len(replies))
		for i, text := range replies {
			all[i] = scripted.Reply{Text: text}
		}
		return scripted.New(all...)
	}
	for n, c := range answerCases {
		c.answersAs(t, n, "scripted", plain)
		r, seen := c.asked(t, plain(c.wrong, c.wrong, c.wrong), n, "never", true)
		if r.StopReason != agent.StopNotVerified || seen.formats != "-"+c.constrained("")+c.constrained("") || !strings.Contains(fmt.Sprint(r.Err), "does not fit the schema") {
			t.Errorf("case %d, never: %q (%s, %v), constrained %s", n, r.Response, r.StopReason, r.Err, seen.formats)
		}
	}
}
