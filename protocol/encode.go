package protocol

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/beevik/etree"
	"github.com/google/jsonschema-go/jsonschema"
)

// Definition is a tool as the model is shown it.
type Definition struct {
	Name        string
	Description string
	Schema      *jsonschema.Schema // of the parameters; nil: none
}

// EncodeTools writes the <tool_definitions> block (E2): one <tool> element a tool,
// with its name, description and JSON Schema. Only what XML demands is escaped,
// since every character is paid for by the model. It fails if a schema cannot
// be written as JSON.
func EncodeTools(tools []Definition) (string, error) {
	doc := etree.NewDocument()
	doc.WriteSettings.CanonicalText = true
	root := doc.CreateElement("tool_definitions")
	for _, t := range tools {
		root.CreateText("\n")
		e := root.CreateElement("tool")
		e.CreateElement("name").SetText(t.Name)
		e.CreateElement("description").SetText(t.Description)
		schema := []byte("{}")
		if t.Schema != nil {
			var err error
			if schema, err = t.Schema.MarshalJSON(); err != nil {
				return "", fmt.Errorf("tool %q: its schema cannot be written as JSON: %w", t.Name, err)
			}
		}
		e.CreateElement("parameters").SetText(string(schema))
	}
	root.CreateText("\n")
	return doc.WriteToString()
}

// EncodeCall writes a call in mylm's own form (E1), as the model is asked to write
// it. args must be a JSON object.
func EncodeCall(name string, args json.RawMessage) string {
	return fmt.Sprintf("<tool_code>\n<name>%s</name>\n<parameters>%s</parameters>\n</tool_code>", name, args)
}

// EncodeObservation writes what a call gave back as the model is told it (E3):
// "[name] Success:" and the output on the lines below it, or "[name] Error:"
// and the message. Tags in the body are neutralised, so that no output can
// close the observation, open a call or forge an answer.
func EncodeObservation(name string, success bool, body string) string {
	head := "Error: "
	if success {
		head = "Success:\n"
	}
	name = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '[' || r == ']' {
			return '_'
		}
		return r
	}, name)
	return "<observation>\n[" + Neutralise(name) + "] " + head + Neutralise(body) + "\n</observation>"
}
