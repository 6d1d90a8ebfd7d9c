package calling_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beevik/etree"
	"github.com/google/jsonschema-go/jsonschema"

	"mylm/prompts"
	"mylm/providers/calling"
)

// block is how tools are shown in the prompt.
func block(t *testing.T, defs []calling.Definition) string {
	t.Helper()
	var d prompts.SystemData
	if err := calling.ToolCode.Prompt(&d, prompts.Default(), defs, nil, false); err != nil {
		t.Fatal(err)
	}
	return d.Tools.String()
}

func TestToolsRoundTrip(t *testing.T) {
	schema := &jsonschema.Schema{
		Type:          "object",
		Properties:    map[string]*jsonschema.Schema{"q": {Type: "string", Description: `a "quoted" <b> & ]]> thing`}},
		PropertyOrder: []string{"q"},
	}
	defs := []calling.Definition{
		{Name: "one", Description: `compares a < b && c > d, ends ]]> and "quotes" it's`, Schema: schema},
		{Name: "two", Description: "plain"},
	}
	text := block(t, defs)
	doc := etree.NewDocument()
	if err := doc.ReadFromString(text); err != nil {
		t.Fatalf("not XML: %v\n%s", err, text)
	}
	found := doc.FindElements("/tool_definitions/tool")
	if len(found) != len(defs) {
		t.Fatalf("%d tools in\n%s", len(found), text)
	}
	for i, e := range found {
		var order []string
		for _, c := range e.ChildElements() {
			order = append(order, c.Tag)
		}
		if got := fmt.Sprint(order); got != "[name description parameters]" {
			t.Errorf("elements %s", got)
		}
		if got := e.SelectElement("name").Text(); got != defs[i].Name {
			t.Errorf("name %q", got)
		}
		if got := e.SelectElement("description").Text(); got != defs[i].Description {
			t.Errorf("description %q, want %q", got, defs[i].Description)
		}
	}
	want, _ := json.Marshal(schema)
	if got := found[0].SelectElement("parameters").Text(); `{"type":"object",`+got[1:] != string(want) {
		t.Errorf("schema %s, want %s without its type", got, want)
	}
	if strings.Contains(text, "&quot;") || strings.Contains(text, "&apos;") {
		t.Errorf("quotes are escaped at the model's cost:\n%s", text)
	}
}

// A schema is written as its own MarshalJSON writes it.
func TestDefinitionSchemas(t *testing.T) {
	text, never := &jsonschema.Schema{Type: "string", Description: `a < "b" & c`}, &jsonschema.Schema{Not: &jsonschema.Schema{}}
	two := map[string]*jsonschema.Schema{"b": text, "a": {Type: "array", Items: text}}
	for _, s := range []*jsonschema.Schema{
		{Type: "object"},
		{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: never},
		{Type: "object", Properties: two, PropertyOrder: []string{"b", "a"}, Required: []string{"a"}, AdditionalProperties: text},
		{Type: "object", Properties: two},
		{Type: "object", Properties: two, PropertyOrder: []string{"a", "c"}},
		{Type: "object", Properties: two, PropertyOrder: []string{"a"}},
		{Type: "string", Enum: []any{"x", 1.5, nil}, Description: "one"},
		{Type: "integer", Enum: []any{1}, Minimum: jsonschema.Ptr(1.0), Maximum: jsonschema.Ptr(600.0), Description: "s"},
		{Types: []string{"null", "integer"}, Minimum: jsonschema.Ptr(1.0)},
		{Type: "object", Title: "T", Extra: map[string]any{"x": true}},
		{}, never,
	} {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := calling.Definition{Name: "one", Schema: s}.EncodeSchema()
		if err != nil || string(got) != string(want) {
			t.Errorf("schema %s, %v, want %s", got, err, want)
		}
	}
	bad := &jsonschema.Schema{Type: "object", Properties: two, PropertyOrder: []string{"a", "a"}}
	if _, err := (calling.Definition{Name: "one", Schema: bad}).EncodeSchema(); err == nil {
		t.Error("a schema that names a property twice is written")
	}
}

// TestCorpusDefinitions shows each real tool of the corpus and reads it back.
func TestCorpusDefinitions(t *testing.T) {
	dir := os.Getenv("MYLM_CORPUS")
	if dir == "" {
		t.Skip("MYLM_CORPUS is not set: it names a folder with tools.jsonl.gz")
	}
	file, err := os.Open(filepath.Join(dir, "tools.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines, n := bufio.NewScanner(plain), 0
	for lines.Buffer(nil, 1<<20); lines.Scan(); n++ {
		var tool struct {
			Name, Description string
			Parameters        json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &tool); err != nil {
			t.Fatal(err)
		}
		text := block(t, []calling.Definition{{Name: tool.Name, Description: tool.Description, JSON: tool.Parameters}})
		doc := etree.NewDocument()
		if err := doc.ReadFromString(text); err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		shown := doc.FindElement("/tool_definitions/tool")
		for name, want := range map[string]string{"name": tool.Name, "description": tool.Description, "parameters": string(tool.Parameters)} {
			if got := shown.SelectElement(name).Text(); got != want {
				t.Errorf("%s of %s: got %q, want %q", name, tool.Name, got, want)
			}
		}
	}
	if err := lines.Err(); err != nil || n == 0 {
		t.Errorf("%d tools, %v", n, err)
	}
}
