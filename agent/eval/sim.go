package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mylm/internal/tempdir"
	"mylm/tools"
	"mylm/tools/files"
)

// fileTools are the real tools for files, which a task can name. They are confined
// to its workspace.
var fileTools = []string{files.ListDirName, files.ReadFileName, files.FindFilesName, files.SearchFilesName, files.WriteFileName, files.EditFileName}

// world is what the tools of one task act on.
type world struct {
	dir  string // "": the task has no workspace
	temp *tempdir.Dir

	mu    sync.Mutex
	state map[string]any
	used  map[*Rule]int
}

// newWorld makes the workspace and the state of a task.
func newWorld(t *Task) (*world, error) {
	w := &world{state: map[string]any{}, used: map[*Rule]int{}}
	state, _ := plainValue(t.State).(map[string]any)
	maps.Copy(w.state, state)
	if len(t.Files)+len(t.Check.Files) == 0 && (t.Injected == nil || len(t.Injected.Files) == 0) && t.Verify == nil && !slices.ContainsFunc(t.Tools, func(name string) bool { return slices.Contains(fileTools, name) }) {
		return w, nil
	}
	var err error
	if w.temp, err = tempdir.New("mylm-eval-"); err != nil {
		return nil, err
	}
	if w.dir, err = filepath.EvalSymlinks(w.temp.Path); err != nil {
		w.close()
		return nil, err
	}
	for path, text := range t.Files {
		path = filepath.Join(w.dir, path)
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

// close removes the workspace.
func (w *world) close() {
	if w.temp != nil {
		w.temp.Remove()
	}
}

// registry has the tools that a task names.
func (w *world) registry(s *Suite, t *Task, more *tools.Registry) (*tools.Registry, error) {
	var all []*tools.Tool
	for _, name := range t.Tools {
		tool, err := w.tool(name, s, more)
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", t.ID, err)
		}
		all = append(all, tool)
	}
	return tools.NewRegistry(all...)
}

func (w *world) tool(name string, s *Suite, more *tools.Registry) (*tools.Tool, error) {
	if t := s.Tools[name]; t != nil {
		return w.simulate(name, t), nil
	}
	if t := more.Lookup(name); t != nil {
		return t, nil
	}
	makers := []func(files.Options) (*tools.Tool, error){files.ListDir, files.ReadFile, files.FindFiles, files.SearchFiles, files.WriteFile, files.EditFile}
	if i := slices.Index(fileTools, name); i >= 0 {
		tool, err := makers[i](files.Options{Root: w.dir})
		if err != nil {
			return nil, err
		}
		return w.confined(tool), nil
	}
	known := slices.Concat(slices.Sorted(maps.Keys(s.Tools)), more.Names(), fileTools)
	return nil, tools.Unknown(name, known)
}

// confined is a tool for files that reaches nothing outside the workspace, and does not
// show the path of that, which is another one each time.
func (w *world) confined(t *tools.Tool) *tools.Tool {
	effect, run := t.Effect, t.Run
	t.Effect = func(args json.RawMessage) tools.Effect { return effect(args) &^ tools.Leaves }
	t.Run = func(ctx context.Context, args json.RawMessage) (tools.Result, error) {
		result, err := run(ctx, args)
		result.Text = strings.ReplaceAll(result.Text, w.dir, ".")
		if err != nil && strings.Contains(err.Error(), w.dir) {
			err = errors.New(strings.ReplaceAll(err.Error(), w.dir, "."))
		}
		return result, err
	}
	return t
}

// simulate makes a tool that acts on the state.
func (w *world) simulate(name string, t *Tool) *tools.Tool {
	effect := tools.Reads
	for _, r := range t.Rules {
		if r.Add+r.Set+r.Remove != "" {
			effect = tools.Writes
		}
	}
	return &tools.Tool{
		Name: name, Description: t.Description, Schema: t.schema,
		Effect: func(json.RawMessage) tools.Effect { return effect },
		Run: func(_ context.Context, args json.RawMessage) (tools.Result, error) {
			var values map[string]any
			if err := json.Unmarshal(args, &values); err != nil {
				return tools.Result{}, err
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			text, err := w.apply(t, values)
			return tools.Result{Text: text}, err
		},
	}
}

// apply carries out the first rule that holds for a call.
func (w *world) apply(t *Tool, args map[string]any) (string, error) {
	for i := range t.Rules {
		r := &t.Rules[i]
		if r.Times > 0 && w.used[r] >= r.Times || !w.holds(r, args) {
			continue
		}
		w.used[r]++
		return w.do(r, args)
	}
	return "", errors.New("nothing is known about that")
}

func (w *world) holds(r *Rule, args map[string]any) bool {
	for name, want := range r.When {
		if !fits(want, args[name]) {
			return false
		}
	}
	for path, want := range r.If {
		got, _ := lookup(w.state, filled(path, args))
		if !agrees(plainValue(want), got) {
			return false
		}
	}
	return true
}

// fits compares an argument with what a rule wants.
func fits(want, got any) bool {
	a, aText := want.(string)
	b, bText := got.(string)
	if aText && bText {
		return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
	}
	return agrees(plainValue(want), got)
}

func (w *world) do(r *Rule, args map[string]any) (string, error) {
	if r.Error != "" {
		return "", errors.New(filled(r.Error, args))
	}
	var value any = args
	if r.Value != nil {
		value = filledValue(plainValue(r.Value), args)
	}
	if r.Add != "" {
		path := filled(r.Add, args)
		was, _ := lookup(w.state, path)
		list, _ := was.([]any)
		assign(w.state, path, append(slices.Clip(list), value))
	}
	if r.Set != "" {
		assign(w.state, filled(r.Set, args), value)
	}
	if r.Remove != "" {
		path := filled(r.Remove, args)
		if _, ok := lookup(w.state, path); !ok {
			return "", fmt.Errorf("there is no %s", last(path))
		}
		assign(w.state, path, nil)
	}
	switch {
	case r.Show != "":
		path := filled(r.Show, args)
		v, ok := lookup(w.state, path)
		if !ok {
			return "", fmt.Errorf("there is no %s", last(path))
		}
		return asText(v), nil
	case r.Search != "":
		return w.search(r.Search, fmt.Sprint(args["query"])), nil
	case r.Say != "":
		return filled(string(r.Say), args), nil
	}
	return "done", nil
}

// search returns the texts of a list that hold a word of the query, four letters or
// more of it, since small words are everywhere.
func (w *world) search(path, query string) string {
	list, _ := lookup(w.state, path)
	items, _ := list.([]any)
	var found []string
	for _, item := range items {
		text := asText(item)
		for word := range strings.FieldsFuncSeq(strings.ToLower(query), func(r rune) bool { return strings.ContainsRune(" .,;:!?\"'()-/", r) }) {
			if len([]rune(word)) > 3 && strings.Contains(strings.ToLower(text), word) {
				found = append(found, text)
				break
			}
		}
	}
	if found == nil {
		return "nothing found"
	}
	return strings.Join(found, "\n")
}

func asText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // it is read as it is written
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// A path of the state has a slash between its steps, as a key may have a dot.
func lookup(state map[string]any, path string) (any, bool) {
	var at any = state
	for step := range strings.SplitSeq(path, "/") {
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = m[step]; !ok {
			return nil, false
		}
	}
	return at, true
}

func last(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// assign sets a path of the state; nil deletes it. No map of the task itself changes.
func assign(state map[string]any, path string, v any) {
	step, rest, more := strings.Cut(path, "/")
	switch {
	case more:
		inner, _ := state[step].(map[string]any)
		inner = maps.Clone(inner)
		if inner == nil {
			inner = map[string]any{}
		}
		assign(inner, rest, v)
		state[step] = inner
	case v == nil:
		delete(state, step)
	default:
		state[step] = v
	}
}

// filled puts arguments in the place of their names in braces.
func filled(text string, args map[string]any) string {
	if !strings.Contains(text, "{") {
		return text
	}
	var pairs []string
	for name, v := range args {
		pairs = append(pairs, "{"+name+"}", asText(v))
	}
	return strings.NewReplacer(pairs...).Replace(text) // once: an argument may hold braces, too
}

// filledValue fills the texts of a value. A text that is one name becomes the
// argument itself.
func filledValue(v any, args map[string]any) any {
	switch v := v.(type) {
	case string:
		if name, ok := strings.CutPrefix(v, "{"); ok {
			if name, ok = strings.CutSuffix(name, "}"); ok {
				if arg, ok := args[name]; ok {
					return arg
				}
			}
		}
		return filled(v, args)
	case map[string]any:
		out := map[string]any{}
		for k, in := range v {
			out[k] = filledValue(in, args)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, in := range v {
			out[i] = filledValue(in, args)
		}
		return out
	}
	return v
}

// plainValue is a value of YAML as JSON would have it: numbers are float64.
func plainValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return nil
		}
		out := map[string]any{}
		for k, in := range v {
			out[k] = plainValue(in)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, in := range v {
			out[i] = plainValue(in)
		}
		return out
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case json.Number:
		f, _ := strconv.ParseFloat(string(v), 64)
		return f
	}
	return v
}
