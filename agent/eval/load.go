package eval

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mylm/providers/calling"
	"mylm/tools"

	"go.yaml.in/yaml/v3"
)

//go:embed suites/core.yaml
var suites embed.FS

var core = sync.OnceValue(func() *Suite {
	text, err := suites.ReadFile("suites/core.yaml")
	var s *Suite
	if err == nil {
		s, err = Parse(text)
	}
	if err != nil {
		panic(err) // a test reads it
	}
	return s
})

// Core is the built-in exam. It is shared: a caller does not change it.
func Core() *Suite { return core() }

// smoke is the name of the short exam, whose source is that of the whole one.
const smoke = "smoke"

// Smoke is the short form of Core: a few tasks of different kinds.
func Smoke() *Suite { return core().short() }

// short is the suite with the tasks of the short exam only.
func (s *Suite) short() *Suite {
	short := *s
	short.Name = smoke
	short.Tasks = slices.DeleteFunc(slices.Clone(s.Tasks), func(t *Task) bool { return !t.Smoke })
	return &short
}

// maxSuite bounds a file with tasks.
const maxSuite = 8 << 20

// Load reads a suite from a file.
func Load(path string) (*Suite, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // opening a pipe waits for a writer without an end
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSuite+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSuite {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxSuite)
	}
	s, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Parse reads a suite from YAML. Its errors name the line or the task.
func Parse(text []byte) (*Suite, error) { return parse(text, true) }

// parse reads a suite. Fields that nobody knows are mistakes of a person, or those of
// another version in a suite that was kept.
func parse(text []byte, known bool) (*Suite, error) {
	var whole yaml.Node
	if err := yaml.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	if (sizes{}).of(&whole) > maxMade {
		return nil, fmt.Errorf("the texts made of lines have more than %d bytes in all", maxMade)
	}
	if d := date(&whole); d != nil {
		return nil, fmt.Errorf("line %d: %s is a time to YAML, not a text: write it in quotes", d.Line, d.Value)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(known)
	var s Suite
	if err := d.Decode(&s); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		return nil, err
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it holds more than one YAML document")
	}
	s.source = text
	if err := s.prepare(); err != nil {
		return nil, err
	}
	return &s, nil
}

// idForm is the form of a task's id, which becomes the name of a file.
var idForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`) })

// prepare checks the suite and makes the schemas.
func (s *Suite) prepare() error {
	if s.Name == "" {
		return errors.New("suite: the name is missing")
	}
	if len(s.Tasks) == 0 {
		return errors.New("tasks: there are none")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		t := s.Tools[name]
		if t == nil {
			return fmt.Errorf("tool %s: it is empty", name)
		}
		if slices.Contains(fileTools, name) {
			return fmt.Errorf("tool %s: a tool for the files of the workspace has that name", name)
		}
		err := t.prepare()
		if err == nil {
			_, err = tools.NewRegistry((&world{}).simulate(name, t))
		}
		if err != nil {
			return fmt.Errorf("tool %s: %w", name, err)
		}
	}
	seen := map[string]bool{}
	for i, t := range s.Tasks {
		if t == nil {
			return fmt.Errorf("task %d: it is empty", i+1)
		}
		if seen[t.ID] {
			return fmt.Errorf("task %s: two tasks have that id", t.ID)
		}
		seen[t.ID] = true
		if err := t.prepare(); err != nil {
			return fmt.Errorf("task %s: %w", strconv.Quote(t.ID), err)
		}
	}
	return nil
}

func (t *Task) prepare() error {
	switch {
	case !idForm().MatchString(t.ID) || len(t.ID) > 60:
		return errors.New("id: it must be lower-case words with - between them, at most 60 characters")
	case t.Category == "":
		return errors.New("category: it is missing")
	case strings.TrimSpace(t.Question) == "":
		return errors.New("question: it is missing")
	case t.Check.empty() && t.Verify == nil:
		return errors.New("check: there is nothing to check")
	case t.Limits.Turns < 0:
		return errors.New("limits: turns is negative")
	case t.Limits.Time < 0:
		return errors.New("limits: time is negative")
	case t.Limits.Window < 0:
		return errors.New("limits: window is negative")
	}
	for i, name := range t.Tools {
		if slices.Contains(t.Tools[:i], name) {
			return fmt.Errorf("tools: %s is named twice", name)
		}
	}
	for path := range t.Files {
		if err := filePath(path); err != nil {
			return fmt.Errorf("files: %w", err)
		}
		for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
			if _, ok := t.Files[dir]; ok {
				return fmt.Errorf("files: %s is a file, and %s lies below it", dir, path)
			}
		}
	}
	if err := t.Check.prepare(); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	if err := t.Injected.prepare(); err != nil {
		return fmt.Errorf("injected: %w", err)
	}
	if err := isJSON(t.State, t.Check, t.Injected); err != nil {
		return fmt.Errorf("state, check or injected: %w", err)
	}
	if t.Schema != nil && t.schema == nil { // a suite that was read is shared, and no longer changes
		text, err := json.Marshal(t.Schema)
		if err == nil {
			t.schema = text
			_, err = calling.NewFormat(text)
		}
		if err != nil {
			return fmt.Errorf("schema: %w", err)
		}
	}
	return nil
}

// filePath returns why a path cannot be that of a file in the workspace, or nil.
func filePath(path string) error {
	switch {
	case !filepath.IsLocal(path) || path == ".":
		return fmt.Errorf("%s is not a path in the workspace", strconv.Quote(path))
	case filepath.ToSlash(filepath.Clean(path)) != path: // it would be one file by two names
		return fmt.Errorf("%s is not in its shortest form, %s", strconv.Quote(path), filepath.ToSlash(filepath.Clean(path)))
	case strings.ContainsRune(path, 0) || len(path) > 1000 || slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool { return len(name) > 255 }):
		return fmt.Errorf("%s cannot be the name of a file", short(strconv.Quote(path)))
	}
	return nil
}

func (t *Tool) prepare() error {
	if t.Description == "" {
		return errors.New("description: it is missing")
	}
	for _, name := range t.Optional {
		if !slices.Contains(t.Args.order, name) {
			return fmt.Errorf("optional: there is no argument %q", name)
		}
	}
	if t.schema == nil {
		t.schema = t.Args.schema(t.Optional)
	}
	if len(t.Rules) == 0 {
		return errors.New("rules: there are none")
	}
	for i, r := range t.Rules {
		if r.Times < 0 {
			return fmt.Errorf("rule %d: times is negative", i+1)
		}
		if err := r.prepare(t.Args.order); err != nil {
			return fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	return nil
}

func (r *Rule) prepare(args []string) error {
	for name := range r.When {
		if !slices.Contains(args, name) {
			return fmt.Errorf("when: there is no argument %s", name)
		}
	}
	if err := checkPatterns([]any{slices.Collect(maps.Values(r.When)), slices.Collect(maps.Values(r.If))}); err != nil {
		return err
	}
	return isJSON(r.When, r.If, r.Value)
}

// isJSON refuses values that no model's call, state or answer can be equal to.
func isJSON(values ...any) error {
	if _, err := json.Marshal(values); err != nil {
		return fmt.Errorf("a value is not one of JSON, in which keys are texts (write 7 in quotes): %w", err)
	}
	return nil
}

// date finds a text without quotes that YAML reads as a time.
func date(n *yaml.Node) *yaml.Node {
	if n.ShortTag() == "!!timestamp" {
		return n
	}
	for _, c := range n.Content {
		if d := date(c); d != nil {
			return d
		}
	}
	return nil
}
