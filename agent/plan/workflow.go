package plan

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Workflow is a plan that is written down. Its text is a Markdown file with a
// head in YAML:
//
//	---
//	name: release_notes
//	description: Write the notes of a release.
//	inputs:
//	  - name: since
//	    description: the tag of the last release
//	    required: true
//	tools: [execute_command, write_file]
//	steps:
//	  - List the commits since {{since}}.
//	  - id: notes
//	    do: Write them up in NOTES.md, grouped by what they change.
//	---
//	Write the notes of the changes since {{since}}.
//
// The text below the head is the goal. A step without needs waits for the
// one before it. Without steps the model makes the plan.
type Workflow struct {
	Name        string         `yaml:"name"`
	Description string         `yaml:"description"`
	Inputs      []Input        `yaml:"inputs"`
	Tools       []string       `yaml:"tools"`   // the only ones; nil: all there are, empty: none
	Confirm     string         `yaml:"confirm"` // asks for more questions than otherwise: confirm-all or confirm-sensitive
	Steps       []WorkflowStep `yaml:"steps"`
	Goal        string         `yaml:"-"`
	Text        string         `yaml:"-"` // of the file
}

// Input is a value that a workflow is given. {{name}} is replaced by it.
type Input struct {
	Name        string   `yaml:"name"`
	Aliases     []string `yaml:"aliases"` // other names that it may be given by
	Description string   `yaml:"description"`
	Required    bool     `yaml:"required"`
	Default     string   `yaml:"default"`
}

// WorkflowStep is a task of a workflow. In YAML it is this, or the text alone.
type WorkflowStep struct {
	ID    string    `yaml:"id"`
	Do    string    `yaml:"do"`
	Needs *[]string `yaml:"needs"` // ids of steps; nil: the step before
	Tools []string  `yaml:"tools"` // the only ones; nil: those of the workflow, empty: none
}

// UnmarshalYAML reads a step.
func (s *WorkflowStep) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&s.Do)
	}
	type plain WorkflowStep
	for i := 0; i+1 < len(n.Content); i += 2 { // a node's Decode does not support KnownFields
		if key := n.Content[i].Value; !slices.Contains([]string{"id", "do", "needs", "tools"}, key) {
			return fmt.Errorf("line %d: a step has no %q; it has id, do, needs and tools", n.Content[i].Line, key)
		}
	}
	return n.Decode((*plain)(s))
}

var (
	placeholder  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{\s*([A-Za-z0-9_-]+)\s*\}\}`) })
	workflowName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`) })
)

// Bounds of a workflow, which may come from an untrusted source.
const (
	MaxWorkflow = 64 << 10 // bytes of its text; nobody reads more
	maxInputs   = 64
	maxKeys     = 16      // of anything in its head
	maxFilled   = 1 << 20 // bytes of what values make of it
)

// ParseWorkflow reads a workflow. Everything that cannot be meant is an error:
// a key that does not exist, a step that needs an unknown one or goes in a
// circle, a placeholder without an input. So is what is longer than MaxWorkflow,
// and what makes YAML larger than its text: anchors, aliases, merge keys, tags.
func ParseWorkflow(text string) (*Workflow, error) {
	if len(text) > MaxWorkflow {
		return nil, fmt.Errorf("it has more than %d bytes", MaxWorkflow)
	}
	head, goal, ok := splitHead(text)
	if !ok {
		return nil, errors.New("a workflow begins with a head in YAML, between two lines of ---")
	}
	w := &Workflow{Goal: strings.TrimSpace(goal), Text: text}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte("\n"+head), &root); err != nil {
		return nil, err
	}
	if err := checkNode(&root); err != nil {
		return nil, err
	}
	d := yaml.NewDecoder(strings.NewReader("\n" + head)) // the line of ---, so that lines count as in the file
	d.KnownFields(true)
	if err := d.Decode(w); err != nil && !errors.Is(err, io.EOF) {
		return nil, wrongHead(err)
	}
	return w, w.check()
}

// splitHead separates the head of a workflow from the text below it.
func splitHead(text string) (head, goal string, ok bool) {
	body := strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	rest, begun := strings.CutPrefix(body, "---\n")
	head, goal, ok = strings.Cut(rest, "\n---")
	return head, goal, begun && ok && (goal == "" || goal[0] == '\n')
}

// HeadName is the name in the head of a workflow, which is not read
// beyond that; "" if there is none to be seen.
func HeadName(text string) string {
	head, _, ok := splitHead(text)
	if !ok {
		return ""
	}
	for line := range strings.SplitSeq(head, "\n") {
		if value, ok := strings.CutPrefix(line, "name:"); ok {
			value, _, _ = strings.Cut(value, " #")
			return strings.Trim(value, " \t\"'")
		}
	}
	return ""
}

// checkNode refuses what is not needed in a head and costs more than its text.
func checkNode(n *yaml.Node) error {
	wrong := func(what, have string) error {
		return fmt.Errorf("line %d: %s: a workflow has no %s; write it out", n.Line, what, have)
	}
	switch {
	case n.Kind == yaml.AliasNode:
		return wrong("*"+n.Value, "aliases")
	case n.Anchor != "":
		return wrong("&"+n.Anchor, "anchors")
	case n.Tag == "!!merge":
		return wrong(n.Value, "merge keys")
	case n.Style&yaml.TaggedStyle != 0:
		return wrong(n.ShortTag(), "tags")
	case n.Kind == yaml.MappingNode && len(n.Content) > 2*maxKeys:
		return fmt.Errorf("line %d: there are %d keys; at most %d are allowed", n.Line, len(n.Content)/2, maxKeys)
	}
	for i, c := range n.Content {
		if err := checkNode(c); err != nil {
			return err
		}
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			if err := checkList(n.Content[i-1].Value, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkList refuses lists that are too long, and one of tools that is neither
// there nor empty.
func checkList(key string, value *yaml.Node) error {
	most := map[string]int{"inputs": maxInputs, "steps": MaxTasks}[key]
	switch {
	case most > 0 && len(value.Content) > most:
		return fmt.Errorf("line %d: it has %d %s; at most %d are allowed", value.Line, len(value.Content), key, most)
	case key == "tools" && value.Tag == "!!null":
		return fmt.Errorf("line %d: tools is empty; leave it out for all of them, or write [] for none", value.Line)
	}
	return nil
}

// wrongHead puts the library's words for a key that does not exist into ours.
func wrongHead(err error) error {
	var bad *yaml.TypeError
	if !errors.As(err, &bad) {
		return err
	}
	text := strings.Join(bad.Errors, "; ")
	for typ, keys := range map[string]string{
		"Workflow": "a workflow has name, description, inputs, tools, confirm and steps", "Input": "an input has name, aliases, description, required and default",
	} {
		text = strings.ReplaceAll(text, "not found in type plan."+typ, "is not known: "+keys)
	}
	return errors.New(text)
}

func (w *Workflow) check() error {
	if !workflowName().MatchString(w.Name) {
		return fmt.Errorf("name is %q; it must be letters, digits, _ and -", w.Name)
	}
	if w.Goal == "" {
		return errors.New("there is no goal below the head")
	}
	if !slices.Contains([]string{"", "confirm-all", "confirm-sensitive"}, w.Confirm) {
		return fmt.Errorf("confirm is %q; a workflow can ask for confirm-all or confirm-sensitive", w.Confirm)
	}
	inputs, names := map[string]bool{}, map[string]bool{}
	for _, in := range w.Inputs {
		if !workflowName().MatchString(in.Name) {
			return fmt.Errorf("an input is called %q; it must be letters, digits, _ and -", in.Name)
		}
		for _, name := range append([]string{in.Name}, in.Aliases...) {
			if names[name] {
				return fmt.Errorf("two inputs have the name %s", name)
			}
			names[name] = true
		}
		inputs[in.Name] = true
	}
	texts := []string{w.Goal}
	for i, s := range w.Steps {
		if strings.TrimSpace(s.Do) == "" {
			return fmt.Errorf("step %d has no text", i+1)
		}
		texts = append(texts, s.Do)
	}
	for _, text := range texts {
		for _, m := range placeholder().FindAllStringSubmatch(text, -1) {
			if !inputs[m[1]] {
				return fmt.Errorf("%s is not an input", m[0])
			}
		}
	}
	_, flaws := NewGraph(w.tasks())
	for _, f := range flaws {
		return errors.New(f.Text)
	}
	return nil
}

// tasks are the steps, without their inputs.
func (w *Workflow) tasks() (tasks []Task) {
	for i, s := range w.Steps {
		t := Task{ID: s.ID, Description: s.Do, Tools: s.Tools, Status: Pending, Given: true}
		if t.ID == "" {
			t.ID = fmt.Sprintf("t%d", i+1)
		}
		switch {
		case s.Needs != nil:
			t.Dependencies = *s.Needs
		case i > 0:
			t.Dependencies = []string{tasks[i-1].ID}
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// InputName returns the input that a name or an alias means; ok is false for
// others.
func (w *Workflow) InputName(name string) (input string, ok bool) {
	i := slices.IndexFunc(w.Inputs, func(in Input) bool { return in.Name == name || slices.Contains(in.Aliases, name) })
	if i < 0 {
		return "", false
	}
	return w.Inputs[i].Name, true
}

// WithContext adds facts to a goal.
func WithContext(goal string, facts map[string]string) string {
	if len(facts) == 0 {
		return goal
	}
	goal += "\n\nContext:"
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		goal += "\n- " + name + ": " + facts[name]
	}
	return goal
}

// Fill puts values into a workflow. The tasks are nil if the workflow has no
// steps. A required value that is missing is an error; a value that is not an
// input becomes context of the goal.
func (w *Workflow) Fill(values map[string]string) (goal string, tasks []Task, err error) {
	all, facts := map[string]string{}, map[string]string{}
	for name, value := range values {
		if input, known := w.InputName(name); !known {
			facts[name] = value
		} else if strings.TrimSpace(value) != "" {
			all[input] = value
		}
	}
	for _, in := range w.Inputs {
		if _, given := all[in.Name]; given {
			continue
		}
		if all[in.Name] = in.Default; in.Required {
			return "", nil, fmt.Errorf("the workflow %s needs %s (%s)", w.Name, in.Name, in.Description)
		}
	}
	size := 0
	// Once, so that a value is not searched for others.
	fill := func(text string) string {
		return placeholder().ReplaceAllStringFunc(text, func(m string) string {
			value := all[placeholder().FindStringSubmatch(m)[1]]
			if size += len(value); size > maxFilled {
				return ""
			}
			return value
		})
	}
	tasks = w.tasks()
	for i := range tasks {
		tasks[i].Description = fill(tasks[i].Description)
	}
	goal = WithContext(strings.TrimSpace(fill(w.Goal)), facts)
	if size > maxFilled {
		return "", nil, fmt.Errorf("with these values the workflow %s is longer than %d bytes", w.Name, maxFilled)
	}
	return goal, tasks, nil
}

//go:embed workflows/*.md
var builtin embed.FS

// Workflows are those that are built in, by name.
var Workflows = sync.OnceValue(func() []*Workflow {
	files, err := fs.Glob(builtin, "workflows/*.md")
	var all []*Workflow
	for _, f := range files {
		text, _ := builtin.ReadFile(f)
		w, bad := ParseWorkflow(string(text))
		if bad != nil {
			panic(fmt.Sprintf("%s: %v", f, bad)) // a test reads them
		}
		all = append(all, w)
	}
	if err != nil {
		panic(err)
	}
	return all
})
