package calling_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"mylm/prompts"
	"mylm/protocol"
	"mylm/providers/calling"
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
	words := calling.Corrections{Prompts: prompts.Default(), Tools: registry}
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

	// What the decoder says of a reply, and the tool that an unreadable call mentions.
	for _, tt := range []struct {
		name, reply string
		stop        protocol.Stop
		want        string
	}{
		{"cut by a limit", `<tool_code><name>big_tool</name><parameters>{"argument_00": 1`, protocol.Length, "shorter"},
		{"ended by the model", `<tool_code><name>big_tool</name><parameters>{"argument_00": 1`, protocol.End, "Write it again, whole."},
		{"no name", `<tool_code><big_tool><argument_00>1</argument_00></big_tool></tool_code>`, protocol.End, "no <name>"},
		{"name and object in one tag", `<function=big_tool{"argument_00": 1}</function>`, protocol.End, "not finished"},
	} {
		d := protocol.NewDecoder(protocol.Options{Tools: registry})
		parts := append(slices.Clone(d.Push(tt.reply)), d.Close(tt.stop)...)
		last := parts[len(parts)-1]
		if last.Kind != protocol.Malformed {
			t.Errorf("%s: %v", tt.name, last)
			continue
		}
		text, err := words.Malformed(last.Err)
		check(tt.name, text, tt.want, err)
	}
}
