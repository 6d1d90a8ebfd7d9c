package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"mylm/agent"
	"mylm/prompts"
	"mylm/protocol"
	"mylm/tools"
)

// What the model is told is short, names the fault, and shows the right form,
// however large the tool is.
func TestWordsAreShort(t *testing.T) {
	schema := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for i := range 40 {
		name := fmt.Sprintf("argument_%02d", i)
		schema.Properties[name] = &jsonschema.Schema{Type: "integer", Description: "a number"}
		schema.PropertyOrder = append(schema.PropertyOrder, name)
		if i < 3 {
			schema.Required = append(schema.Required, name)
		}
	}
	registry, err := tools.NewRegistry(&tools.Tool{Name: "big_tool", Schema: schema, Run: func(context.Context, json.RawMessage) (tools.Result, error) {
		return tools.Result{}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	words := agent.Words{Prompts: prompts.Default(), Tools: registry}
	const form = "<name>big_tool</name>\n<parameters>{\"argument_00\":1,\"argument_01\":1,\"argument_02\":1}</parameters>"
	check := func(name, text, want string, err error) {
		t.Helper()
		if n := len(strings.Fields(text)); err != nil || n > 60 || !strings.Contains(text, form) || !strings.Contains(text, want) {
			t.Errorf("%s: %d words, %v:\n%s", name, n, err, text)
		}
	}
	for _, args := range []string{`{}`, `{"argument_00":"x","argument_01":[1],"argument_02":{},"nonsense":1,"more":2}`} {
		_, bad := registry.Prepare("big_tool", json.RawMessage(args))
		text, err := words.Refused(bad)
		check(args, text, "argument_00", err)
	}
	_, bad := registry.Prepare("bigtool", json.RawMessage(`{}`))
	text, err := words.Refused(bad)
	check("unknown tool", text, `"bigtool"`, err)
	text, err = words.Malformed(&protocol.FormatError{Reason: protocol.BadJSON, Tool: "big_tool", Detail: strings.Repeat("very wrong ", 50)})
	check("malformed", text, "very wrong", err)
}
