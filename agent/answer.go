package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"mylm/protocol"
	"mylm/tools"
)

// answerSchema is Options.AnswerSchema, ready for use.
type answerSchema struct {
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
	text     json.RawMessage // as the model and the backend get it
}

// ParseSchema reads a JSON Schema for Options.AnswerSchema. It is an error if the
// schema is invalid, has more than 64 KB, is nested more than 100 deep, leads back to
// itself without a value in between, or has so many alternatives that checking a
// value would take too long.
func ParseSchema(text []byte) (*jsonschema.Schema, error) {
	if err := checkSchema(text); err != nil {
		return nil, err
	}
	s := &jsonschema.Schema{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("it is not a JSON Schema: %w", err)
	}
	if _, err := s.CloneSchemas().Resolve(nil); err != nil {
		return nil, err
	}
	return s, nil
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
	return (&alternatives{root: root, known: map[string]int{}}).each(root, 0)
}

func newAnswerSchema(s *jsonschema.Schema) (*answerSchema, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if err := checkSchema(text); err != nil {
		return nil, err
	}
	// A schema belongs to what resolved it first.
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, err
	}
	return &answerSchema{&schema, resolved, text}, nil
}

// read returns the value that an answer holds, on one line. problem says why there
// is none that fits.
func (a *answerSchema) read(answer string) (value json.RawMessage, problem string) {
	answer = strings.TrimSpace(answer)
	if whole := json.RawMessage(answer); json.Valid(whole) {
		return a.fit(whole)
	}
	_, _, err := protocol.ReadValue(answer, func(v json.RawMessage) bool {
		value, problem = a.fit(v)
		return problem == ""
	})
	if err != nil && problem == "" {
		problem = err.Error()
	}
	return value, problem
}

// fit makes a value fit the schema where that loses nothing.
func (a *answerSchema) fit(value json.RawMessage) (json.RawMessage, string) {
	problem := a.validate(value)
	if problem != "" {
		fitted, _, fault := tools.Fit(a.schema, value)
		switch {
		case fault != nil:
			return nil, misfit(fault.Faults[0])
		case a.validate(fitted) != "":
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

func (a *answerSchema) validate(value json.RawMessage) (problem string) {
	var v any
	err := json.Unmarshal(value, &v)
	if err == nil {
		err = a.resolved.Validate(v)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// answerRetries is how often a model may correct an answer that does not fit.
const answerRetries = 2

// fitsSchema reports whether the answer is a value that fits. One that does not is
// sent back with the reason, or ends the run.
func (r *run) fitsSchema(ctx context.Context) bool {
	s, entries := &r.state, r.session.snapshot()
	answer := s.continuedText(entries) + answerOf(entries, r.session.last())
	_, problem := r.agent.answer.read(answer)
	if problem == "" {
		return true
	}
	problem = firstWords(problem, maxDetail)
	if s.Checks++; s.Checks <= answerRetries && r.turnsLeft() {
		r.requestCorrection(ctx, []string{"The answer is not a JSON value that fits the schema: " + problem}, "Write the value alone.", ": "+problem)
		return false
	}
	s.Stop = StopNotVerified
	r.err = &LimitError{Reason: s.Stop, Limit: "AnswerSchema", Value: s.Checks, Message: fmt.Sprintf("the answer does not fit the schema: %s", problem)}
	return false
}
