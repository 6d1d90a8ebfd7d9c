package eval

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mylm/providers/calling"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"
)

// arguments are the arguments of a simulated tool, in their order.
type arguments struct {
	order []string
	of    map[string]*jsonschema.Schema
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (a *arguments) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: args are names with their JSON Schemas", n.Line)
	}
	a.of = map[string]*jsonschema.Schema{}
	for i := 0; i < len(n.Content); i += 2 {
		var v any
		if err := n.Content[i+1].Decode(&v); err != nil {
			return err
		}
		text, err := json.Marshal(v)
		var schema *jsonschema.Schema
		if err == nil {
			schema, err = calling.ParseSchema(text)
		}
		name := n.Content[i].Value
		if err != nil {
			return fmt.Errorf("line %d: %s is no JSON Schema: %w", n.Content[i].Line, name, err)
		}
		a.order, a.of[name] = append(a.order, name), schema
	}
	return nil
}

func (a arguments) schema(optional []string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, PropertyOrder: a.order, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for _, name := range a.order {
		s.Properties[name] = a.of[name]
		if !slices.Contains(optional, name) {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

// Text is a text of a suite. In YAML it is a string, or a long text that is made of
// lines: {lines: 300, each: "row {n} is fine", at: {217: "row 217 is odd"}}.
type Text string

// maxLines bounds a text that is made of lines, and maxMade the bytes of all such texts
// of a suite: a line of a file can stand for any number of them.
const (
	maxLines = 100_000
	maxMade  = 64 << 20
)

// made is a text that is made of lines.
type made struct {
	Lines int            `yaml:"lines"`
	Each  string         `yaml:"each"`
	At    map[int]string `yaml:"at"`
	Extra map[string]any `yaml:",inline"`
}

// sizes sums up the texts that are made of lines, by the node that holds them: an alias
// makes its texts again.
type sizes map[*yaml.Node]int

func (s sizes) of(n *yaml.Node) int {
	if size, ok := s[n]; ok {
		return size
	}
	s[n] = 0 // an anchor inside itself is refused later
	size := 0
	var text made
	if n.Kind == yaml.MappingNode && slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return c.Value == "lines" }) && n.Decode(&text) == nil {
		size = min(max(text.Lines, 0), maxLines) * (len(text.Each) + strings.Count(text.Each, "{n}")*len("100000") + 1)
		for _, line := range text.At {
			size += len(line)
		}
	}
	for _, c := range n.Content {
		size = min(size+s.of(c), 2*maxMade)
	}
	if n.Alias != nil {
		size = s.of(n.Alias)
	}
	s[n] = min(size, 2*maxMade)
	return s[n]
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *Text) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return n.Decode((*string)(t))
	}
	var made made
	if err := n.Decode(&made); err != nil {
		return err
	}
	if err := unknown(made.Extra); err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	if size := (sizes{}).of(n); size > maxMade {
		return fmt.Errorf("line %d: the text has more than %d bytes", n.Line, maxMade)
	}
	if made.Lines < 1 || made.Lines > maxLines {
		return fmt.Errorf("line %d: lines is %d; it must be from 1 to %d", n.Line, made.Lines, maxLines)
	}
	var b strings.Builder
	for i := 1; i <= made.Lines; i++ {
		line, ok := made.At[i]
		if !ok {
			line = strings.ReplaceAll(made.Each, "{n}", strconv.Itoa(i))
		}
		b.WriteString(line + "\n")
	}
	*t = Text(b.String())
	return nil
}

// unknown refuses fields that there are not.
func unknown(fields map[string]any) error {
	if len(fields) == 0 {
		return nil
	}
	return fmt.Errorf("there is no field %s", strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (s *Script) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return fmt.Errorf("line %d: a script is a list of replies, such as [\"It is 7.\"]", n.Line)
	}
	return n.Decode((*[]Step)(s))
}

// UnmarshalYAML implements yaml.Unmarshaler: a step is a text, or a mapping with
// call, args and say.
func (s *Step) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return n.Decode(&s.Text)
	}
	var step struct {
		Call  string         `yaml:"call"`
		Args  map[string]any `yaml:"args"`
		Say   string         `yaml:"say"`
		Extra map[string]any `yaml:",inline"`
	}
	if err := n.Decode(&step); err != nil {
		return err
	}
	if err := unknown(step.Extra); err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	if step.Args == nil {
		step.Args = map[string]any{}
	}
	args, err := json.Marshal(step.Args)
	if err != nil {
		return fmt.Errorf("line %d: args: %w", n.Line, err)
	}
	s.Call, s.Args, s.Text = step.Call, args, step.Say
	return nil
}
