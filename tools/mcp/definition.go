package mcp

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mylm/tools"
)

// Definition is what a server says about one of its tools. Name is the server's own.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`

	output any // the schema of its structured content, as the server has it; nil: none
}

// hash identifies a definition.
func (d Definition) hash() string {
	b, _ := json.Marshal([]string{d.Name, d.Description, string(d.Schema)}) // strings are always written
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

// tokens estimates what showing the definition costs.
func (d Definition) tokens() int { return (len(d.Name)+len(d.Description)+len(d.Schema))/4 + 20 }

// Problem is a tool that is not offered, and why.
type Problem struct {
	Server, Tool string
	Reason       string
}

// String names the tool and the reason.
func (p Problem) String() string {
	return fmt.Sprintf("%s of %s: %s", plainLine(p.Tool), p.Server, p.Reason)
}

// Bounds of what a server may say about a tool. Schemas of real tools have 0.2 to 8 KB.
const (
	maxSchema      = 64 << 10
	maxSchemaDepth = 32
	maxDescription = 2 << 10
	maxToolName    = 128 // as MCP has it
	maxTools       = 1000
)

// read makes a Definition of what a server sent.
func read(t *mcp.Tool) (d Definition, err error) {
	d.Name, d.output = t.Name, t.OutputSchema
	if err := checkToolName(t.Name); err != nil {
		return d, err
	}
	m, ok := t.InputSchema.(map[string]any)
	if !ok {
		return d, errors.New("it has no schema of its arguments, which must be a JSON object")
	}
	delete(m, "$schema") // it tells the model nothing
	if d.Schema, err = json.Marshal(t.InputSchema); err != nil {
		return d, fmt.Errorf("its schema cannot be written as JSON: %w", err)
	}
	switch {
	case len(d.Schema) > maxSchema: // before anything else looks at it
		return d, fmt.Errorf("its schema has %d bytes; at most %d are read", len(d.Schema), maxSchema)
	case depth(d.Schema) > maxSchemaDepth:
		return d, fmt.Errorf("its schema is nested more than %d deep", maxSchemaDepth)
	}
	d.Schema = json.RawMessage(plain(string(d.Schema)))
	if _, err := d.schema(); err != nil {
		return d, err
	}
	text := plain(t.Description)
	if text == "" {
		text = plain(t.Title)
	}
	d.Description = strings.TrimSpace(cutBytes(text, maxDescription))
	return d, nil
}

func checkToolName(name string) error {
	if name == "" || len(name) > maxToolName {
		return fmt.Errorf("its name has %d bytes; it must have 1 to %d", len(name), maxToolName)
	}
	for _, r := range name {
		if r >= 0x80 || !isNamePart(byte(r)) && r != '.' && r != '/' {
			return fmt.Errorf("its name holds %q; only letters, digits, _, -, . and / can be told apart", r)
		}
	}
	return nil
}

func isNamePart(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '-'
}

// schema is the parsed schema, or why no arguments can be checked by it.
func (d Definition) schema() (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{}
	if err := json.Unmarshal(d.Schema, s); err != nil {
		return nil, &worded{"its schema is no JSON Schema" + misfit(err.Error()), err}
	}
	if s.Type == "" && s.Types == nil {
		s.Type = "object" // servers of old leave it out
	}
	if s.Type != "object" {
		return nil, errors.New("its schema is not of an object")
	}
	if err := checkParts(s); err != nil {
		return nil, err
	}
	return s, nil
}

// types are those of JSON Schema.
var types = []string{"null", "boolean", "object", "array", "number", "string", "integer"}

// checkParts refuses types that there are not, and references that lead nowhere, or to
// another document, which would be fetched or not enforced.
func checkParts(root *jsonschema.Schema) error {
	for s := range subschemas(root) {
		for _, name := range append(s.Types, s.Type) {
			if name != "" && !slices.Contains(types, name) {
				return fmt.Errorf("its schema has the type %q, which there is not", plainLine(name))
			}
		}
		if s.DynamicRef != "" {
			return fmt.Errorf("its schema uses $dynamicRef %q, which is not supported", plainLine(s.DynamicRef))
		}
		if s.Ref != "" && tools.Referred(root, s.Ref) == nil {
			return fmt.Errorf("its schema refers to %q; only a place in the schema itself can be referred to", plainLine(s.Ref))
		}
	}
	return nil
}

// callName is the name by which the model calls a tool: SERVER__TOOL, with what a
// name cannot hold replaced, and cut with a mark of the whole if it is too long.
func callName(server, tool string) string {
	name := server + separator + strings.Map(func(r rune) rune {
		if !isNamePart(byte(r)) {
			return '_'
		}
		return r
	}, tool)
	if len(name) <= maxCallName {
		return name
	}
	mark := fmt.Sprintf("%x", sha256.Sum256([]byte(tool)))[:8]
	return name[:maxCallName-len(mark)-1] + "_" + mark
}

const (
	separator   = "__"
	maxCallName = 64
)

// skeletons are what is left of a name without what a reader overlooks: the case, or
// which letter or digit it is of those that look alike; and which separator.
func skeletons(name string) []string {
	separators := strings.NewReplacer("-", "_", ".", "_", "/", "_")
	alike := strings.NewReplacer("I", "l", "1", "l", "0", "O")
	name = separators.Replace(name)
	return []string{strings.ToLower(name), strings.ToLower(alike.Replace(name))}
}

// collisions are the tools of a server that cannot be told apart by their names.
// None of them is offered: which one is meant, nobody knows.
func collisions(server string, all []Definition) (problems []Problem, kept []Definition) {
	first, other := map[string]int{}, map[int]int{}
	for i, d := range all {
		for kind, key := range skeletons(d.Name) {
			key = fmt.Sprint(kind, key)
			if j, ok := first[key]; ok {
				other[i], other[j] = j, i
			} else {
				first[key] = i
			}
		}
	}
	for i, d := range all {
		if j, ok := other[i]; ok {
			problems = append(problems, Problem{server, d.Name, fmt.Sprintf("its name cannot be told from that of %s of %s", all[j].Name, server)})
		} else {
			kept = append(kept, d)
		}
	}
	return problems, kept
}

// tool makes a tool of a definition.
func (s *server) tool(d Definition) (*tools.Tool, error) {
	schema, err := d.schema()
	if err != nil {
		return nil, err
	}
	t := s.callable(d.Name)
	t.Description, t.Schema = d.Description, schema
	if clean := s.hub.options.Clean; clean != nil {
		t.Description = clean(t.Description)
	}
	t.Run = s.run(d.Name, true)
	return t, nil
}
