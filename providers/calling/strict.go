package calling

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// typeNames are the types of JSON Schema.
var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// checkTypes refuses a schema with a type that does not exist, which no value would fit, and
// keywords as only draft 4 has them. named means that the keys of v are names, and its values schemas.
func checkTypes(v any, named bool) error {
	switch v := v.(type) {
	case []any:
		for _, in := range v {
			if err := checkTypes(in, false); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, in := range v {
			if !named && slices.Contains([]string{"enum", "const", "default", "examples"}, key) { // data
				continue
			}
			if !named && key == "type" {
				if err := checkTypeNames(in); err != nil {
					return err
				}
				continue
			}
			if of, old := map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[key]; old && !named {
				switch in {
				case true:
					return fmt.Errorf("%q is true, as in draft 4 of JSON Schema: make it the number, in place of %q", key, of)
				case false:
					return fmt.Errorf("%q is false, as in draft 4 of JSON Schema: leave it out", key)
				}
			}
			names := slices.Contains([]string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}, key)
			if err := checkTypes(in, !named && names); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkTypeNames(v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, one := range list {
		if name, ok := one.(string); ok && !slices.Contains(typeNames, name) {
			return fmt.Errorf("%q is not a type: JSON Schema has %s", name, "array, boolean, integer, null, number, object and string")
		}
	}
	return nil
}

// repeatedKey is a key that an object in the value has twice, or "": which of
// the two counts depends on who reads the value.
func repeatedKey(value json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(value))
	type object struct {
		keys map[string]bool // nil: a list
		key  bool            // a key comes next
	}
	var open []object
	for {
		token, err := d.Token()
		if err != nil { // its end; what is no JSON is reported elsewhere
			return ""
		}
		var in *object
		if len(open) > 0 {
			in = &open[len(open)-1]
		}
		switch {
		case token == json.Delim('}') || token == json.Delim(']'):
			open = open[:len(open)-1]
			continue
		case in != nil && in.key:
			name := token.(string)
			if in.keys[name] {
				return name
			}
			in.keys[name], in.key = true, false
			continue
		case in != nil:
			in.key = in.keys != nil
		}
		switch token {
		case json.Delim('{'):
			open = append(open, object{keys: map[string]bool{}, key: true})
		case json.Delim('['):
			open = append(open, object{})
		}
	}
}
