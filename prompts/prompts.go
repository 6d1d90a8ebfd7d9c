package prompts

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/template/parse"
)

//go:embed templates/*.tmpl
var builtin embed.FS

// The names of the templates.
const (
	SystemPrompt = "system"     // SystemData
	Correction   = "correction" // CorrectionData
	Continue     = "continue"   // no data
	OnlyFirst    = "only_first" // no data
	Refusal      = "refusal"    // CorrectionData
	Memory       = "memory"     // MemoryData
	Compacted    = "compacted"  // CompactedData
	Summary      = "summary"    // no data
	LastWord     = "last_word"  // no data
	Judge        = "judge"      // no data
	Retry        = "retry"      // RetryData
	Resume       = "resume"     // no data
	Unknown      = "unknown"    // no data
	Tree         = "tree"       // TreeData
	Project      = "project"    // ProjectData
	Answer       = "answer"     // AnswerData
	Choice       = "choice"     // ChoiceData

	// Of plans.
	Plan       = "plan"       // no data
	Reason     = "reason"     // no data
	Observe    = "observe"    // no data
	Reflect    = "reflect"    // no data
	PlanGoal   = "plan_goal"  // PlanData
	PlanState  = "plan_state" // PlanData
	PlanTask   = "plan_task"  // PlanData
	Unreadable = "unreadable" // PlanData
)

// DefaultIdentity is how the system prompt begins by default.
const DefaultIdentity = "You are mylm, an assistant that answers questions and gets work done on this computer with tools."

// Names lists the templates there are.
func Names() []string {
	return []string{
		SystemPrompt, Correction, Refusal, Continue, OnlyFirst, Memory, Compacted, Summary, LastWord, Judge, Retry, Resume, Unknown, Tree, Project, Answer, Choice,
		Plan, Reason, Observe, Reflect, PlanGoal, PlanState, PlanTask, Unreadable,
	}
}

// Environment describes the system to the model. It holds no time of day, so that
// the system prompt stays the same and a backend's prefix cache keeps hitting.
type Environment struct {
	OS, Shell, Directory string
	Date                 string // 2006-01-02
}

// Section is a part of the system prompt given as data, for instance a
// project's notes for agents. Whoever makes it neutralises foreign text.
type Section struct{ Title, Text string }

// SystemData is what the system template sees.
type SystemData struct {
	Identity    string // who the model is; DefaultIdentity if empty
	Tools       Tools
	Form        string   // of calls: tool_code, tool_call, function, invoke or python_tag
	Call        string   // a call in that form, with words in capitals for what the model fills in
	End         string   // the tag that ends a call; "": the form has none
	Example     *Example // nil: none is shown
	Compact     bool     // the window is small: signatures instead of schemas
	Sections    []Section
	Environment *Environment // nil leaves the block out
}

// Tools are the tools that a model is shown.
type Tools []Tool

// String is the <tool_definitions> block: a template that was made when Tools was that
// text still shows it.
func (t Tools) String() string {
	if len(t) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("<tool_definitions>\n")
	for _, x := range t {
		fmt.Fprintf(&b, "<tool><name>%s</name><description>%s</description><parameters>%s</parameters></tool>\n", x.Name, x.Description, x.Parameters)
	}
	b.WriteString("</tool_definitions>")
	return b.String()
}

// Tool is a tool as the system template shows it. All of it is safe to be shown. JSON
// and Signature are "" where the built-in template does not show them.
type Tool struct {
	Name, Description, Parameters string // Parameters is a JSON Schema; escaped as XML wants it
	JSON                          string // all of that as one JSON object
	Signature                     string // all of that in one line of text
}

// Example is an example of a call, its result, and the answer that rests on it.
type Example struct{ Question, Call, Observation, Answer string }

// CorrectionData is what the correction and refusal templates see.
type CorrectionData struct {
	Reason  string // the code of the fault
	Detail  string // what is wrong, in words
	Tool    string // the tool it tried to call; may be empty
	Example string // parameters for that tool as JSON; may be empty
	Call    string // a call of that tool with these parameters, in the form of calls
	Cut     bool   // the reply was cut by a limit on its length
}

// MemoryData is what the memory template sees.
type MemoryData struct {
	Save bool // notes can be kept
}

// TreeData is what the tree template sees.
type TreeData struct {
	Tree string // the files, neutralised
	Cut  bool   // not all is in it
}

// ProjectData is what the project template sees.
type ProjectData struct{ Files []ProjectFile }

// ProjectFile is one file of notes that a project keeps for agents.
type ProjectFile struct {
	Path    string
	Text    string // neutralised
	Omitted int    // bytes at the end that are not shown
}

// AnswerData is what the answer template sees.
type AnswerData struct {
	Schema string // of the answer, as JSON
}

// ChoiceData is what the choice template sees.
type ChoiceData struct {
	None bool   // no tool may be called
	Tool string // the only one that may be; "": any
}

// CompactedData is for the text that replaces messages that are no longer shown.
type CompactedData struct {
	Summary string // of the messages; "": there is none
	Dropped int    // messages that are in no summary
}

// RetryData is what a check found wrong with an answer.
type RetryData struct {
	Issues     []string
	Suggestion string // may be empty
}

// Set is a set of templates. It may be used by several goroutines at once.
type Set struct {
	files map[string]string // path of the user's template by name
	given []string          // the names of those that With replaced
	texts map[string]string // of those that Replace replaced

	mu     sync.Mutex
	parsed map[string]*parse.Tree
}

var defaults = sync.OnceValue(func() *Set { return &Set{parsed: map[string]*parse.Tree{}} })

// Default returns the built-in templates.
func Default() *Set { return defaults() }

// Load returns the built-in templates with those replaced that dir holds as
// NAME.tmpl. A missing directory replaces none. A .tmpl file of an unknown name
// is an error, since it would otherwise do nothing.
func Load(dir string) (*Set, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	s := &Set{files: map[string]string{}, parsed: map[string]*parse.Tree{}}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".tmpl")
		if !ok {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("%s: there is no prompt of that name; there are: %s", path, strings.Join(Names(), ", "))
		}
		s.files[name] = path
	}
	return s, nil
}

// With returns the set with one more template replaced, by that of a file.
func (s *Set) With(name, path string) *Set {
	files := maps.Clone(s.files)
	if files == nil {
		files = map[string]string{}
	}
	files[name] = path
	texts := maps.Clone(s.texts)
	delete(texts, name)
	return &Set{files: files, given: append(slices.Clone(s.given), name), texts: texts, parsed: map[string]*parse.Tree{}}
}

// Replace returns the set with other templates in the place of some: their texts by name.
func (s *Set) Replace(texts map[string]string) *Set {
	return &Set{files: s.files, given: s.given, texts: texts, parsed: map[string]*parse.Tree{}}
}

// Replaced returns the texts of the templates that are not the built-in ones, by name.
func (s *Set) Replaced() (map[string]string, error) {
	texts := map[string]string{}
	for _, name := range Names() {
		text, err := s.Source(name)
		if err != nil {
			return nil, err
		}
		if own, err := Builtin(name); err != nil || text != own {
			texts[name] = text
		}
	}
	return texts, nil
}

// Path returns the file of the user's own template, "" if the built-in one holds.
func (s *Set) Path(name string) string { return s.files[name] }

// Source returns the text of a template.
func (s *Set) Source(name string) (string, error) {
	if text, ok := s.texts[name]; ok {
		return text, nil
	}
	if path := s.files[name]; path != "" {
		// Opening a FIFO waits for a writer without an end.
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		if !info.Mode().IsRegular() {
			return "", fmt.Errorf("%s: not a regular file", path)
		}
		b, err := os.ReadFile(path)
		return string(b), err
	}
	return Builtin(name)
}

// Builtin returns the text of a built-in template.
func Builtin(name string) (string, error) {
	b, err := builtin.ReadFile("templates/" + name + ".tmpl")
	if err != nil {
		return "", fmt.Errorf("there is no prompt %q; there are: %s", name, strings.Join(Names(), ", "))
	}
	return string(b), nil
}

// Check renders every template that was replaced, so that a broken or an empty
// one is found before it is needed.
func (s *Set) Check() error {
	for _, name := range Names() {
		if s.files[name] == "" {
			continue
		}
		text, err := s.Example(name)
		if err != nil {
			return err
		}
		if text == "" {
			return fmt.Errorf("%s is empty%s", s.files[name], s.remedy(name, "write the prompt there"))
		}
	}
	return nil
}

// Example renders a template with something for all that it may look at.
func (s *Set) Example(name string) (string, error) {
	var data any
	switch name {
	case SystemPrompt:
		data = SystemData{
			Identity: "x", Tools: []Tool{{"x", "x", "{}", "{}", "x()"}}, Form: "tool_code", Call: "x", End: "x", Example: &Example{"x", "x", "x", "x"}, Sections: []Section{{Title: "x", Text: "x"}},
			Environment: &Environment{OS: "x", Shell: "x", Directory: "x", Date: "2006-01-02"},
		}
	case Correction, Refusal:
		data = CorrectionData{Reason: "x", Detail: "x", Tool: "x", Example: "{}", Call: "x", Cut: true}
	case Memory:
		data = MemoryData{Save: true}
	case Tree:
		data = TreeData{Tree: "x", Cut: true}
	case Project:
		data = ProjectData{Files: []ProjectFile{{Path: "x", Text: "x", Omitted: 1}}}
	case Answer:
		data = AnswerData{Schema: "{}"}
	case Choice:
		data = ChoiceData{Tool: "x"}
	case Compacted:
		data = CompactedData{Summary: "x", Dropped: 1}
	case Retry:
		data = RetryData{Issues: []string{"x"}, Suggestion: "x"}
	case PlanGoal, PlanState, PlanTask, Unreadable:
		data = examplePlan
	}
	return s.render(name, data)
}

// System renders the system prompt.
func (s *Set) System(d SystemData) (string, error) {
	d.Identity = cmp.Or(strings.TrimSpace(d.Identity), DefaultIdentity)
	return s.render(SystemPrompt, d)
}

// Correction renders what the model is told about a reply that could not be read.
func (s *Set) Correction(d CorrectionData) (string, error) { return s.render(Correction, d) }

// Refusal renders what the model is told about a call that was read but cannot
// run: its tool does not exist, or its arguments do not fit.
func (s *Set) Refusal(d CorrectionData) (string, error) { return s.render(Refusal, d) }

// Remembering renders when to use the tools of the memory: the text of a Section.
func (s *Set) Remembering(d MemoryData) (string, error) { return s.render(Memory, d) }

// Files renders what is in the working directory: the text of a Section.
func (s *Set) Files(d TreeData) (string, error) { return s.render(Tree, d) }

// Project renders a project's own notes: the text of a Section.
func (s *Set) Project(d ProjectData) (string, error) { return s.render(Project, d) }

// Answer renders what the final answer must be: the text of a Section.
func (s *Set) Answer(d AnswerData) (string, error) { return s.render(Answer, d) }

// Choose renders what the next reply must be: the text of a Section, and what the
// model is told if it was something else.
func (s *Set) Choose(d ChoiceData) (string, error) { return s.render(Choice, d) }

// Compacted renders the text that replaces messages that are no longer shown.
func (s *Set) Compacted(d CompactedData) (string, error) { return s.render(Compacted, d) }

// Retry renders what the model is told about an answer that a check found short.
func (s *Set) Retry(d RetryData) (string, error) { return s.render(Retry, d) }

// Text renders a template that takes no data.
func (s *Set) Text(name string) (string, error) { return s.render(name, nil) }

func (s *Set) render(name string, data any) (string, error) {
	t, err := s.template(name)
	if err != nil {
		return "", err
	}
	text, err := execute(t, data)
	if err != nil {
		return "", fmt.Errorf("prompt template: %w%s", err, s.remedy(name, "fix "+s.files[name]))
	}
	return strings.TrimSpace(text), nil
}

func (s *Set) template(name string) (*parse.Tree, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.parsed[name]; t != nil {
		return t, nil
	}
	source, err := s.Source(name)
	if err != nil {
		return nil, err
	}
	path := cmp.Or(s.files[name], name)
	t, err := compile(path, source)
	if err != nil {
		return nil, fmt.Errorf("prompt template: %w%s", err, s.remedy(name, "fix "+s.files[name]))
	}
	s.parsed[name] = t
	return t, nil
}

// remedy is what to do about the user's template: fix is one way.
func (s *Set) remedy(name, fix string) string {
	switch {
	case s.files[name] == "":
		return ""
	case slices.Contains(s.given, name): // deleting it would change nothing
		return " (" + fix + ")"
	}
	return " (" + fix + ", or delete it to get the built-in one back)"
}
