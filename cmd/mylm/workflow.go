package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"

	"github.com/urfave/cli/v2"
)

// workflowRun is a workflow with the values of its inputs.
type workflowRun struct {
	*plan.Workflow
	values map[string]string
	typed  bool // the typed text is the value of the first input without one
}

// fill inserts the values and the typed text.
func (f *workflowRun) fill(text string) (goal string, tasks []plan.Task, err error) {
	if f.typed {
		i := slices.IndexFunc(f.Inputs, func(in plan.Input) bool { return f.values[in.Name] == "" })
		if i < 0 {
			return "", nil, failure.Usage("the workflow %s has no input left for %q", f.Name, term.Echoed(text)).WithHint("mylm agent workflow show " + f.Name + " prints its inputs.")
		}
		f.values[f.Inputs[i].Name] = text
	}
	goal, tasks, err = f.Fill(f.values)
	if err != nil {
		return "", nil, failure.Usage("%v", err).WithHint(f.remedy())
	}
	return goal, tasks, nil
}

// missing is the first required input without a value, or "".
func (f *workflowRun) missing() string {
	for _, in := range f.Inputs {
		if in.Required && strings.TrimSpace(f.values[in.Name]) == "" {
			return in.Name
		}
	}
	return ""
}

// remedy is the hint for values that cannot be used.
func (f *workflowRun) remedy() string {
	name := f.missing()
	if name == "" {
		return "mylm agent workflow show " + f.Name + " prints its inputs."
	}
	return fmt.Sprintf(`Give it: mylm agent workflow %s "VALUE", --set %s=VALUE, or --context '{"%s": "VALUE"}'`, f.Name, name, name)
}

// withoutText is the error of a workflow that needs text and got none.
func (f *workflowRun) withoutText() error {
	f.typed = false
	if _, _, err := f.fill(""); err != nil {
		return err
	}
	return failure.Usage("there is no text for the workflow %s", f.Name).WithHint("Leave - out: it waits for text on stdin, and there was none.")
}

// request is the part of the setup's request that a workflow determines.
func (p *planRequest) request() (r setup.Request) {
	if r.Confirm = p.confirm; p.workflow != nil {
		r.Workflow, r.Tools = p.workflow.Name, p.workflow.Tools
	}
	return r
}

func workflowFlags() []cli.Flag {
	return cmdline.Group(config.OfInput,
		&cli.StringFlag{Name: "workflow", Usage: "run the workflow `NAME` instead"},
		&cli.StringSliceFlag{Name: "set", Usage: "one input, as `NAME=VALUE` (repeatable)"},
	)
}

func workflowCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "workflow", Usage: "list workflows, show one, or run one", ArgsUsage: "list | show NAME | NAME [TEXT...]",
		Description: `A workflow is a Markdown file with a head in YAML: its inputs, steps and tools. Yours are
in the directory workflows beside the configuration file, those of a project in its
.mylm/workflows: these can only narrow tools and ask for more questions, and are shown
to you before they run for the first time.`,
		UsageText: `mylm agent workflow list
mylm agent workflow show debug_bug
mylm agent workflow refactor_code parse.go --set aim="shorter functions"`,
		Flags: append(planFlags(), workflowFlags()[1:]...),
		Action: func(c *cli.Context) error {
			switch name := c.Args().Get(0); {
			case name == "", name == "show" && c.NArg() < 2:
				return failure.Usage("agent workflow takes list, show NAME, or a NAME").WithHint("mylm agent workflow list lists what there is.")
			case name == "list":
				return listWorkflows(c, s)
			case name == "show":
				return showWorkflow(c, s)
			default:
				return runWorkflow(c, s, name, c.Args().Slice()[1:])
			}
		},
	}
}

func runWorkflow(c *cli.Context, s *term.Screen, name string, words []string) error {
	w, err := workflowNamed(c, name)
	if err != nil {
		return err
	}
	f := &workflowRun{Workflow: w.Workflow, values: map[string]string{}, typed: true}
	if err := f.read(c); err != nil {
		return err
	}
	if _, _, err := f.outline(); err != nil {
		return failure.Usage("%v", err).WithHint("mylm agent workflow show " + f.Name + " prints its inputs.")
	}
	switch {
	case strings.TrimSpace(strings.Join(words, " ")) != "":
	case f.missing() == "":
		f.typed, words = false, []string{w.Name}
	case term.IsTerminal(s.In):
		f.typed = false
		_, _, err := f.fill("")
		return err
	}
	if w.project {
		if err := trustWorkflow(c.Context, s, w, f); err != nil {
			return err
		}
	}
	return runPlan(c, s, runRequest{words: words, plan: &planRequest{workflow: f, confirm: w.Confirm}})
}

// read takes the inputs from the flags; --set overrides --context.
func (f *workflowRun) read(c *cli.Context) error {
	if c.IsSet("context") {
		values, err := readContext(c.String("context"))
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			f.set(name, values[name])
		}
	}
	for _, kv := range c.StringSlice("set") {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			return failure.Usage("--set is %q; it must be NAME=VALUE", term.Echoed(kv))
		}
		if !f.set(strings.TrimSpace(k), v) {
			var names []string
			for _, in := range f.Inputs {
				names = append(names, in.Name)
			}
			return failure.Usage("the workflow %s has no input %q; it has %s", f.Name, term.Echoed(k), cmp.Or(strings.Join(names, ", "), "none")).WithHint("mylm agent workflow show " + f.Name + " prints its inputs.")
		}
	}
	return nil
}

// set gives a value to the input with a name, and reports whether there is one. A
// value without an input is kept as context.
func (f *workflowRun) set(name, value string) bool {
	input, ok := f.InputName(name)
	if !ok {
		input = name
	}
	f.values[input] = value
	return ok
}

// readContext reads facts from a JSON object.
func readContext(text string) (map[string]string, error) {
	const bad = "--context is no JSON object: "
	var m map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		return nil, failure.Usage(bad+"%v", err)
	}
	if m == nil {
		return nil, failure.Usage(bad + "it is null")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, failure.Usage(bad + "there is more behind it")
	}
	values := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		switch m[k].(type) {
		case string, json.Number, bool:
			values[k] = fmt.Sprint(m[k])
		default:
			b, _ := json.Marshal(m[k]) // it was just read
			return nil, failure.Usage("--context: %s is %s; it must be text, a number, true or false", term.Echoed(k), term.Echoed(string(b)))
		}
	}
	return values, nil
}

// foundWorkflow is a workflow and where it was found.
type foundWorkflow struct {
	*plan.Workflow
	from    string
	project bool
	bad     error // the file cannot be read
}

// workflows are all that were found.
type workflows struct {
	all    []foundWorkflow
	unread error // why those of the project could not be read
}

// allWorkflows are the user's, the built-in ones, and those of the project, in
// this order of precedence: a project cannot replace a familiar one. With a name,
// only its file is parsed; of the others only the name is read.
func allWorkflows(c *cli.Context, name string) (there workflows, err error) {
	var all []foundWorkflow
	if dir, err := config.Dir(); err == nil {
		all = append(all, workflowsIn(c.Context, filepath.Join(dir, "workflows"), name, false)...)
	}
	for _, w := range plan.Workflows() {
		all = append(all, foundWorkflow{Workflow: w, from: "built in"})
	}
	_, project, err := config.Where(c.Command.Flags)
	if err != nil {
		return there, err
	}
	dir, unread := projectDir(project)
	if unread == nil {
		all = append(all, workflowsIn(c.Context, dir, name, true)...)
	}
	if err := c.Context.Err(); err != nil {
		return there, err
	}
	seen := map[string]bool{}
	all = slices.DeleteFunc(all, func(k foundWorkflow) bool {
		was := seen[k.Name]
		seen[k.Name] = true
		return was
	})
	return workflows{all, unread}, nil
}

var errLink = errors.New("it is a link, and links are not followed")

// projectDir is the directory of a project's workflows. It must not be reached by
// a link, which may lead out of the project.
func projectDir(project string) (dir string, err error) {
	dir = project
	for _, name := range []string{".mylm", "workflows"} {
		dir = filepath.Join(dir, name)
		if info, err := os.Lstat(dir); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return "", fmt.Errorf("%s: %w", dir, errLink)
		}
	}
	return dir, nil
}

func workflowsIn(ctx context.Context, dir, wanted string, project bool) (all []foundWorkflow) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".md")
		link := e.Type()&os.ModeSymlink != 0
		if !ok || !link && !e.Type().IsRegular() {
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		k := foundWorkflow{Workflow: &plan.Workflow{Name: name}, from: filepath.Join(dir, e.Name()), project: project}
		if k.bad = errLink; !link {
			k.bad = k.parse(wanted)
		}
		all = append(all, k)
	}
	return all
}

// parse reads the file of a workflow, only its name if it is not the wanted one.
func (k *foundWorkflow) parse(wanted string) error {
	text, err := readWorkflow(k.from)
	if err != nil {
		return err
	}
	if says := plan.HeadName(text); wanted != "" && wanted != k.Name && says != "" && wanted != says {
		k.Name = says
		return nil
	}
	w, err := plan.ParseWorkflow(text)
	if err == nil {
		k.Workflow = w
	}
	return err
}

func readWorkflow(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, plan.MaxWorkflow+1))
	return string(b), err // plan.ParseWorkflow says if it is too long
}

func workflowNamed(c *cli.Context, name string) (foundWorkflow, error) {
	there, err := term.Wait(c.Context, func() (workflows, error) { return allWorkflows(c, name) })
	if err != nil {
		return foundWorkflow{}, err
	}
	var names []string
	for _, k := range there.all {
		if k.Name == name && k.bad != nil {
			return foundWorkflow{}, failure.Config(fmt.Errorf("%s: %w", k.from, k.bad))
		}
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	if there.unread != nil {
		return foundWorkflow{}, failure.Config(there.unread).WithHint("There may be workflows of this project behind it. Put the files themselves there.")
	}
	return foundWorkflow{}, failure.Usage("there is no workflow %q; there are: %s", term.Echoed(name), strings.Join(sorted(names), ", ")).
		WithHint(strings.TrimSpace(failure.Suggest(name, append(names, "list", "show"))))
}

func listWorkflows(c *cli.Context, s *term.Screen) error {
	if err := cmdline.AtMost(c, 1); err != nil {
		return err
	}
	there, err := term.Wait(c.Context, func() (workflows, error) { return allWorkflows(c, "") })
	if err != nil {
		return err
	}
	if there.unread != nil {
		s.Say("mylm: " + term.Visible(there.unread.Error()))
	}
	w := s.Columns("NAME\tFROM\tWHAT IT DOES")
	for _, k := range there.all {
		text := k.Description
		if k.bad != nil {
			text = "(cannot be read: " + k.bad.Error() + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", term.Visible(k.Name), term.Visible(k.from), term.Visible(term.OneLine(text, 100)))
	}
	return w.Flush()
}

func showWorkflow(c *cli.Context, s *term.Screen) error {
	if err := cmdline.AtMost(c, 2); err != nil {
		return err
	}
	w, err := workflowNamed(c, c.Args().Get(1))
	if err != nil {
		return err
	}
	text := w.Text
	if term.IsTerminal(s.Out) {
		text = term.Visible(text)
	}
	_, err = io.WriteString(s.Out, text)
	return err
}
