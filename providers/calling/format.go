package calling

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"mylm/protocol"
	"mylm/tools"
)

// Format is a JSON Schema that an answer has to fit. It may be used by several
// goroutines at once.
type Format struct {
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
	text     json.RawMessage
	loose    bool // patterns have been left out
}

// Text is the schema as JSON, as the model gets it.
func (f *Format) Text() json.RawMessage { return f.text }

// Constraint is the schema for a backend that can constrain its reply, nil for one
// that would do so wrongly: llama.cpp, and so Ollama, lets an object have no property
// that only patternProperties allows.
func (f *Format) Constraint() json.RawMessage {
	if bytes.Contains(f.text, []byte(`"patternProperties":`)) || f.loose || f.text[0] != '{' {
		return nil
	}
	return f.text
}

// ParseSchema reads a JSON Schema for [NewFormat]. It is an error if the
// schema is invalid or names a type that does not exist, has more than 64 KB, is nested more than 100 deep, leads back to
// itself without a value in between, or has so many alternatives that checking a
// value would take too long.
func ParseSchema(text []byte) (*jsonschema.Schema, error) { return parseSchema(text, false) }

// parseSchema reads a schema. foreign means that patterns that Go's expressions do not have
// are left out.
func parseSchema(text []byte, foreign bool) (*jsonschema.Schema, error) {
	if err := checkSchema(text); err != nil {
		return nil, err
	}
	s := &jsonschema.Schema{}
	if err := json.Unmarshal(text, s); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			keyword := kind.Field[strings.LastIndexByte(kind.Field, '.')+1:]
			if keyword == "" {
				return nil, fmt.Errorf("it is not a JSON Schema: it is a JSON %s", kind.Value)
			}
			return nil, fmt.Errorf("it is not a JSON Schema: its %q is a JSON %s, which that keyword cannot be", keyword, kind.Value)
		}
		return nil, fmt.Errorf("it is not a JSON Schema: %w", err)
	}
	s.Schema = draftOf(s.Schema)
	if foreign {
		loosened(s)
	}
	if _, err := s.CloneSchemas().Resolve(nil); err != nil {
		return nil, err
	}
	return nullable(s), nil
}

// draftOf is the draft as which a schema is read: the old ones are read like draft 7, however the
// schema spells their addresses, and others like the newest.
func draftOf(schema string) string {
	_, name, _ := strings.Cut(strings.TrimSuffix(schema, "#"), "://")
	if slices.Contains([]string{"json-schema.org/draft-04/schema", "json-schema.org/draft-06/schema", "json-schema.org/draft-07/schema"}, name) {
		return "http://json-schema.org/draft-07/schema#"
	}
	return ""
}

// Bounds of a schema. The model has to read it, and a check looks at up to
// maxAlternatives schemas for each value.
const (
	maxSchemaBytes  = 64 << 10
	maxSchemaDepth  = 100
	maxAlternatives = 10_000
)

func checkSchema(text []byte) error {
	if len(text) > maxSchemaBytes {
		return fmt.Errorf("the schema has %d bytes, more than %d", len(text), maxSchemaBytes)
	}
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		return fmt.Errorf("it is not a JSON Schema: %w", err)
	}
	if err := (&alternatives{root: root, known: map[string]int{}}).each(root, 0); err != nil {
		return err
	}
	return checkTypes(root, false)
}

// NewFormat prepares the text of a schema, within the bounds of [ParseSchema]. The text
// stays as it is: the order of properties is the one in which a model writes them, and
// servers take {} where they refuse true.
func NewFormat(text json.RawMessage) (*Format, error) { return newFormat(text, false) }

// ForeignFormat prepares a schema that a program of somebody else made, for other regular
// expressions: a pattern that Go's do not have, as one that looks ahead, is shown to the model and
// not enforced, and no backend is asked to.
func ForeignFormat(text json.RawMessage) (*Format, error) {
	f, err := newFormat(text, false)
	if err != nil {
		f, err = newFormat(text, true)
	}
	return f, err
}

func newFormat(text json.RawMessage, foreign bool) (*Format, error) {
	schema, err := parseSchema(text, foreign)
	if err != nil {
		return nil, err
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return nil, err
	}
	return &Format{schema, resolved, line.Bytes(), foreign}, nil
}

// Read returns the value that an answer holds, on one line. problem says why there
// is none that fits.
func (f *Format) Read(answer string) (value json.RawMessage, problem string) {
	answer = unfenced(strings.TrimSpace(answer))
	if whole := json.RawMessage(answer); json.Valid(whole) {
		return f.fit(whole)
	}
	_, _, err := protocol.ReadValue(answer, func(v json.RawMessage) bool {
		value, problem = f.fit(v)
		return problem == ""
	})
	if err != nil && problem == "" {
		problem = err.Error()
	}
	return value, problem
}

// unfenced is what a fence holds if it is the whole answer: a word or a number in one
// could be anything if it stood beside a text.
func unfenced(answer string) string {
	const fence = "```"
	_, held, ok := strings.Cut(answer, "\n")
	held, closed := strings.CutSuffix(held, "\n"+fence)
	if !ok || !closed || !strings.HasPrefix(answer, fence) || strings.Contains(held, fence) {
		return answer
	}
	return strings.TrimSpace(held)
}

// fit makes a value fit the schema where that loses nothing.
func (f *Format) fit(value json.RawMessage) (json.RawMessage, string) {
	if key := repeatedKey(value); key != "" {
		return nil, fmt.Sprintf("the key %q is given twice", key)
	}
	problem := f.validate(value)
	if problem != "" {
		fitted, _, fault := tools.Fit(f.schema, value)
		switch {
		case fault != nil:
			return nil, misfit(fault.Faults[0])
		case f.validate(fitted) != "":
			return nil, problem
		}
		value = fitted
	}
	var line bytes.Buffer
	if err := json.Compact(&line, value); err != nil {
		return nil, err.Error()
	}
	return line.Bytes(), ""
}

func misfit(f tools.Fault) string {
	path := cmp.Or(f.Path, "the value")
	switch {
	case f.Code == "unknown":
		return path + " is not in the schema"
	case f.Given == "":
		return path + " is missing; it must be " + f.Wanted
	}
	return fmt.Sprintf("%s is %s; it must be %s", path, f.Given, f.Wanted)
}

func (f *Format) validate(value json.RawMessage) (problem string) {
	var v any
	err := json.Unmarshal(value, &v)
	if err == nil {
		err = f.resolved.Validate(v)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
