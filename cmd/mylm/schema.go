package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers/calling"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/urfave/cli/v2"
)

// answerSchema is what --schema names.
func answerSchema(c *cli.Context) (json.RawMessage, error) {
	given := c.String("schema")
	schema, err := readSchema(given)
	if err == nil {
		_, err = calling.NewFormat(schema)
	}
	if err != nil {
		return nil, failure.Usage("--schema %s: %v", term.Echoed(given), err).
			WithHint("It takes a file, JSON Schema, or a list such as 'name: string, age: int, tags: string[]'.")
	}
	return schema, nil
}

func readSchema(given string) (json.RawMessage, error) {
	text := strings.TrimSpace(given)
	if !strings.HasPrefix(text, "{") {
		info, err := os.Stat(given) // opening a pipe waits for a writer without an end
		if err != nil {
			if strings.Contains(given, ":") {
				return listedSchema(given)
			}
			var path *os.PathError
			if errors.As(err, &path) {
				err = path.Err
			}
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, errors.New("it is not a regular file")
		}
		f, err := os.Open(given)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		held, err := io.ReadAll(io.LimitReader(f, 1<<20)) // more than a schema may have
		if err != nil {
			return nil, err
		}
		text = string(held)
	}
	return json.RawMessage(text), nil
}

// schemaTypes are the types of a list, by all their names.
var schemaTypes = map[string]string{
	"string": "string", "str": "string", "text": "string", "int": "integer", "integer": "integer",
	"number": "number", "float": "number", "bool": "boolean", "boolean": "boolean",
}

// listedSchema is the schema of an object whose properties are listed: NAME: TYPE,
// with [] behind the type of a list, ? behind the name of one that may be absent,
// and words with | between them for a choice.
func listedSchema(list string) (json.RawMessage, error) {
	schema := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for part := range strings.SplitSeq(list, ",") {
		name, kind, ok := strings.Cut(part, ":")
		name, optional := strings.CutSuffix(strings.TrimSpace(name), "?")
		kind, many := strings.CutSuffix(strings.TrimSpace(kind), "[]")
		if !ok || name == "" || kind == "" {
			return nil, fmt.Errorf("%q is not NAME: TYPE", strings.TrimSpace(part))
		}
		if schema.Properties[name] != nil {
			return nil, fmt.Errorf("%q is listed twice", name)
		}
		of := &jsonschema.Schema{Type: schemaTypes[strings.ToLower(kind)]}
		switch {
		case strings.Contains(kind, "|"):
			for choice := range strings.SplitSeq(kind, "|") {
				of.Enum = append(of.Enum, strings.TrimSpace(choice))
			}
		case of.Type == "":
			return nil, fmt.Errorf("%q is not a type: it must be string, int, number or bool", kind)
		}
		if many {
			of = &jsonschema.Schema{Type: "array", Items: of}
		}
		schema.Properties[name] = of
		schema.PropertyOrder = append(schema.PropertyOrder, name)
		if !optional {
			schema.Required = append(schema.Required, name)
		}
	}
	return json.Marshal(schema)
}
