//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mylm/agent/eval"
	"mylm/agent/eval/evaltest"
	"mylm/prompts"
)

// wordSuite is a suite of n tasks, each to say a word, and its text.
func wordSuite(t *testing.T, n int) (text string, s *eval.Suite) {
	text = "suite: words\ntools: {look: {description: Looks., rules: [{say: nothing}]}}\ntasks:\n"
	for i := range n {
		text += fmt.Sprintf("  - {id: t%d, category: c, question: Say word %d., tools: [look], check: {answer: {all: [w%d]}}, right: [w%d], wrong: [[x], [y]]}\n", i, i, i, i)
	}
	s, err := eval.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return text, s
}

// Nothing is concluded from the forms, and nothing saved, while the exam of one of them was
// stopped, also if each of its tasks was asked; and the list, the report and JSON say so.
func TestStoppedForms(t *testing.T) {
	slow(t)
	t.Parallel()
	exams, suite := wordSuite(t, 8)
	o := newSchool(t, evaltest.Student{Suite: suite})
	handler := o.placed.served()
	o.placed.serveWith(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte("TOOL_NAME\\\", \\\"parameters")) { // python_tag, the last one
			http.Error(w, `{"error":"cannot"}`, http.StatusBadRequest)
			return
		}
		o.mu.Lock()
		if o.P = 0; bytes.Contains(body, []byte("fences:\\n\\u003ctool_call\\u003e\\n{")) || bytes.Contains(body, []byte("fences:\\n<tool_call>\\n{")) {
			o.P = 1
		}
		o.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	})
	h := newHome(t, o.placed)
	if err := os.WriteFile(filepath.Join(h.dir, "words.yaml"), []byte(exams), 0o600); err != nil {
		t.Fatal(err)
	}
	next := []string{"eval", "-m", "m", "--suite", "words.yaml", "--form", "all", "--save", "--json"}
	for _, done := range []int{3, 6, 8} {
		out, errs, code := h.run(next...)
		var printed struct {
			Exams []eval.Report
			Forms []struct{ Partial bool }
		}
		if err := json.Unmarshal([]byte(out), &printed); err != nil || code == "0" || len(printed.Exams) != 5 || len(printed.Forms) != 1 {
			t.Fatalf("exit %s, %v: %s%s", code, err, out, errs)
		}
		r := printed.Exams[4]
		if r.Done != done || r.Stopped == "" || !printed.Forms[0].Partial || h.read("config/mylm/config.toml") != "" || printed.Exams[1].Total.Passed != 8 {
			t.Errorf("%d of 8 asked, stopped %q, forms %+v: %s%s", r.Done, r.Stopped, printed.Forms, errs, h.read("config/mylm/config.toml"))
		}
		var kept struct{ Exams []eval.Report }
		var all []eval.Summary
		shown, _, _ := h.run("eval", "show", r.Exam.ID, "--json")
		list, _, _ := h.run("eval", "list", "--json")
		if json.Unmarshal([]byte(shown), &kept) != nil || json.Unmarshal([]byte(list), &all) != nil || len(kept.Exams) != 1 || len(all) != 5 || kept.Exams[0].Stopped != r.Stopped || all[0].Stopped != r.Stopped {
			t.Errorf("%q is shown as %s, and listed as %s", r.Stopped, shown, list)
		}
		if text, _, _ := h.run("eval", "show", r.Exam.ID); !strings.Contains(text, fmt.Sprintf("Not complete: %d of 8 asked; the backend failed", done)) {
			t.Error(text)
		}
		next = []string{"eval", "--resume", r.Exam.ID, "--save", "--json"}
	}
}

// Each model's forms are compared among themselves, with the default prompt alone, and the
// one that passes most is named. A form that has no place in the configuration is not
// advised.
func TestFormsOfTwo(t *testing.T) {
	slow(t)
	t.Parallel()
	exams, suite := wordSuite(t, 12)
	o := newSchool(t, evaltest.Student{Suite: suite})
	handler := o.placed.served()
	var healthy atomic.Bool
	o.placed.serveWith(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var asked asksFor
		if json.Unmarshal(body, &asked) == nil && len(asked.Messages) > 1 {
			system, question := asked.Messages[0].Content, asked.Messages[1].Content
			one, mine := asked.Model == "one", strings.HasPrefix(system, "MINE")
			if !one && !healthy.Load() && strings.Contains(system, `"TOOL_NAME", "parameters"`) { // python_tag, the last one
				http.Error(w, `{"error":"cannot"}`, http.StatusBadRequest)
				return
			}
			o.mu.Lock()
			o.P = 0
			if strings.Contains(system, "<tool_call>\n{") && one != mine || strings.Contains(system, "<invoke") && one && question != "Say word 0." {
				o.P = 1
			}
			o.mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	})
	h := newHome(t, o.placed)
	h.configure("[models.one]\nprovider = \"ollama\"\nmodel = \"other\"\n")
	source, err := prompts.Default().Source(prompts.SystemPrompt)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"words.yaml": exams, "mine.tmpl": "MINE\n" + source} {
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"-m", "ollama/one", "-m", "two", "--suite", "words.yaml", "--form", "all", "--prompt", "mine.tmpl"}, {"--resume", "last"}} {
		out, errs, _ := h.run(append([]string{"eval", "--json"}, args...)...)
		var printed struct {
			Exams []eval.Report
			Forms []struct {
				Model, Better string
				Partial       bool
			}
		}
		if err := json.Unmarshal([]byte(out), &printed); err != nil || len(printed.Forms) != 2 {
			t.Fatalf("%v: %s%s", err, out, errs)
		}
		if n, want := len(printed.Exams), map[bool]int{false: 15, true: 20}[healthy.Load()]; n != want {
			t.Errorf("%d exams: %s", n, errs)
		}
		if one, two := printed.Forms[0], printed.Forms[1]; one.Better != "tool_call" || one.Partial || two.Better != "" || two.Partial == healthy.Load() || strings.Contains(errs, "To use it") {
			t.Errorf("%+v: %s", printed.Forms, errs)
		}
		healthy.Store(true)
	}
}

// An exam without an outcome is compared with none, and what no exam can have in its file
// is damage.
func TestOddExams(t *testing.T) {
	slow(t)
	t.Parallel()
	h := newHome(t, newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1}).placed)
	for range 2 {
		h.run("eval", "-m", "m", "--suite", "smoke", "--budget", "1")
	}
	id := h.lastExam()
	dir := filepath.Join(h.dir, "data/mylm/eval", id)
	kept := h.read("data/mylm/eval/" + id + "/exam.json")
	if err := os.Remove(filepath.Join(dir, "log.jsonl")); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := h.run("eval", "compare", id, "last"); code != "2" || !strings.Contains(errs, "no outcomes yet") || !strings.Contains(errs, "--resume "+id) {
		t.Errorf("exit %s: %s%s", code, out, errs)
	}
	// A setting that this version does not have is no reason to guess.
	if err := os.WriteFile(filepath.Join(dir, "exam.json"), []byte(strings.Replace(kept, `"runs": 1`, `"runs": 1, "args": {"gone": "1"}`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := h.run("eval", "--resume", id); code != "2" || !strings.Contains(errs, "--gone") || !strings.Contains(errs, "Begin a new exam") {
		t.Errorf("exit %s: %s%s", code, out, errs)
	}
	for _, odd := range []string{
		strings.Replace(kept, `"runs": 1`, `"runs": 1000000000000`, 1), strings.Replace(kept, `"runs": 1`, `"runs": -1`, 1), strings.Replace(kept, `"tasks": 12`, `"tasks": -12`, 1),
		strings.Replace(kept, `"runs": 1`, `"runs": 1, "series": {"place": 1, "exams": [{}]}`, 1), strings.Replace(kept, `"runs": 1`, `"runs": 1, "series": {"exams": [{"runs": 1000000000000}]}`, 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, "exam.json"), []byte(odd), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range [][]string{{"show", id}, {"--resume", id}} {
			if out, errs, code := h.run(append([]string{"eval"}, command...)...); odd == kept || code != "1" || !strings.Contains(errs, "rm -r "+dir) {
				t.Errorf("%v: exit %s: %s%s", command, code, out, errs)
			}
		}
	}
}

// The prompt of an exam is for the window that the model had when it began.
func TestResumedWindow(t *testing.T) {
	slow(t)
	t.Parallel()
	o := newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1})
	handler := o.placed.served()
	var small atomic.Bool
	o.placed.serveWith(func(w http.ResponseWriter, r *http.Request) {
		window := 32768
		if small.Load() {
			window = 4096
		}
		switch r.URL.Path {
		case "/api/ps":
			_, _ = io.WriteString(w, `{"models":[]}`)
		case "/api/show":
			_, _ = fmt.Fprintf(w, `{"capabilities":["completion"],"model_info":{"general.architecture":"llama","llama.context_length":%d},"template":"{{ .Prompt }}"}`, window)
		default:
			handler.ServeHTTP(w, r)
		}
	})
	taken := o.requests(t)
	h := newHome(t, o.placed)
	for _, began := range []bool{true, false} {
		small.Store(began)
		h.run("eval", "-m", "m", "--suite", "smoke", "--budget", "1")
		small.Store(!began)
		if out, errs, code := h.run("eval", "--resume", "last"); code != "0" || !strings.Contains(out, "12/12") {
			t.Errorf("exit %s: %s%s", code, out, errs)
		}
		for _, r := range taken() {
			if strings.Contains(r.Messages[0].Content, "# TOOLS") && strings.Contains(r.Messages[0].Content, "# EXAMPLE") == began {
				t.Errorf("began with a small window: %v, and is sent %s", began, r.Messages[0].Content)
				break
			}
		}
	}
}

// The report says how many tasks another version of mylm asked than began the exam.
func TestResumedByAnotherVersion(t *testing.T) {
	slow(t)
	t.Parallel()
	h := newHome(t, newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1}).placed)
	h.run("eval", "-m", "m", "--suite", "smoke", "--budget", "1")
	path := filepath.Join(h.dir, "data/mylm/eval", h.lastExam(), "exam.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	older := regexp.MustCompile(`"version": ".*"`).ReplaceAll(text, []byte(`"version": "0.0.1"`))
	if err := os.WriteFile(path, older, 0o600); err != nil || bytes.Equal(older, text) {
		t.Fatalf("%v: %s", err, older)
	}
	for _, command := range [][]string{{"--resume", "last"}, {"show"}, {"show", "--markdown"}} {
		if out, errs, code := h.run(append([]string{"eval"}, command...)...); code != "0" || !regexp.MustCompile(`(?m)^Asked by another version: \S+ 11$`).MatchString(out) {
			t.Errorf("%v: exit %s: %s%s", command, code, out, errs)
		}
	}
}

// The workspace of a task whose process was killed is removed by the next exam, and that of
// one that lives is not.
func TestKilledWorkspace(t *testing.T) {
	t.Parallel()
	o := newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1})
	task := eval.Smoke().Tasks[slices.IndexFunc(eval.Smoke().Tasks, func(t *eval.Task) bool { return len(t.Files) > 0 })]
	asked, goOn := make(chan struct{}), make(chan struct{})
	ask := sync.OnceFunc(func() { close(asked) })
	t.Cleanup(func() { close(goOn) })
	o.watch(func(body []byte) {
		if bytes.Contains(body, []byte(`"model":"held"`)) && bytes.Contains(body, []byte(task.Question)) {
			ask()
			<-goOn
		}
	})
	h := newHome(t, o.placed)
	tmp := t.TempDir()
	command := func(model string) *exec.Cmd {
		cmd := h.command("eval", "-m", model, "--suite", "smoke")
		cmd.Env = append(cmd.Env, "TMPDIR="+tmp)
		return cmd
	}
	left := func() int {
		all, err := filepath.Glob(filepath.Join(tmp, "mylm-eval-*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	held := command("held")
	if err := held.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if out, err := command("m").CombinedOutput(); err != nil || left() != 1 {
		t.Errorf("%v, %d directories while a process has one: %s", err, left(), out)
	}
	_ = held.Process.Kill()
	_ = held.Wait()
	if out, err := command("m").CombinedOutput(); err != nil || left() != 0 {
		t.Errorf("%v, %d directories of a process that was killed: %s", err, left(), out)
	}
}

// What the flags of the output cannot have together, or a chart that cannot be written,
// is refused before anything is asked. A comparison has the same form in all of JSON.
func TestExamOutput(t *testing.T) {
	t.Parallel()
	o := newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1})
	h := newHome(t, o.placed)
	for _, args := range [][]string{{"--json", "--markdown"}, {"--chart", "-"}, {"--chart", "gone/x.svg"}, {"--chart", "."}} {
		if out, errs, code := h.run(append([]string{"eval", "-m", "m", "--suite", "smoke"}, args...)...); code != "2" || strings.Contains(out, "12/12") || len(o.counts()) > 0 {
			t.Errorf("%v: exit %s: %s%s", args, code, out, errs)
		}
	}
	if err := os.Symlink("real.svg", filepath.Join(h.dir, "two.svg")); err != nil { // to a file that is not there yet
		t.Fatal(err)
	}
	out, errs, code := h.run("eval", "-m", "m", "-m", "m", "--suite", "smoke", "--json", "--chart", "two.svg")
	var all struct{ Comparisons []map[string]any }
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != "0" || len(all.Comparisons) != 1 {
		t.Fatalf("exit %s, %v: %s%s", code, err, out, errs)
	}
	c := all.Comparisons[0]
	a, _ := c["a"].(string)
	b, _ := c["b"].(string)
	out, errs, _ = h.run("eval", "compare", a, b, "--json")
	var one map[string]any
	if err := json.Unmarshal([]byte(out), &one); err != nil || !reflect.DeepEqual(one, c) {
		t.Errorf("%v: eval prints %v, compare %s%s", err, c, out, errs)
	}
	for _, args := range [][]string{{"show", "last", "--json", "--markdown"}, {"show", "last", "--chart", "-"}, {"compare", a, b, "--chart", "-"}} {
		if out, errs, code := h.run(append([]string{"eval"}, args...)...); code != "2" {
			t.Errorf("%v: exit %s: %s%s", args, code, out, errs)
		}
	}
}

// An exam in which nothing was asked has no numbers. A list reports an exam that cannot
// be read, and does not believe a summary whose counts do not fit.
func TestListOfOddExams(t *testing.T) {
	t.Parallel()
	o := newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1})
	h := newHome(t, o.placed)
	h.run("eval", "-m", "m", "--suite", "smoke")
	dir := filepath.Join(h.dir, "data/mylm/eval", h.lastExam())
	path := filepath.Join(dir, "summary.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), `"passed": 12`, `"passed": 9999`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, _ := h.run("eval", "list"); !strings.Contains(out, "12/12 100%") {
		t.Errorf("a forged summary: %s%s", out, errs)
	}
	if err := os.WriteFile(filepath.Join(dir, "exam.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, _ := h.run("eval", "list"); strings.Contains(out, "complete") || !strings.Contains(errs, "exam.json") {
		t.Errorf("an empty exam.json: %s%s", out, errs)
	}
	o.placed.serveWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	out, errs, _ := h.run("eval", "-m", "m", "--suite", "smoke")
	list, _, _ := h.run("eval", "list")
	for _, text := range []string{out, list} {
		if !strings.Contains(strings.ToLower(text), "nothing was asked") || strings.Contains(text, "0%") {
			t.Errorf("nothing was asked: %s%s", text, errs)
		}
	}
}

// Where an exam, or the form that it found, cannot be written, what helps is said.
func TestUnwritableExam(t *testing.T) {
	t.Parallel()
	exams, suite := wordSuite(t, 8)
	o := newSchool(t, evaltest.Student{Suite: suite})
	o.watch(func(body []byte) {
		if o.P = 0; strings.Contains(firstMessage(t, bytes.NewReader(body)), "<tool_call>\n{") {
			o.P = 1
		}
	})
	h := newHome(t, o.placed)
	h.configure("[models.mine]\nprovider = \"ollama\"\nmodel = \"m\"\n")
	if err := os.WriteFile(filepath.Join(h.dir, "words.yaml"), []byte(exams), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(h.dir, "config/mylm/config.toml.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{"eval", "-m", "mine", "--suite", "words.yaml", "--form", "all", "--save"}
	if out, errs, code := h.run(args...); code != "2" || !strings.Contains(out, "tool_call is better") || !strings.Contains(errs, "a directory that you can write to, or have MYLM_CONFIG") {
		t.Errorf("exit %s: %s%s", code, out, errs)
	}
	dir := filepath.Join(h.dir, "data/mylm/eval")
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := h.run(args...); code != "1" || !strings.Contains(errs, "XDG_DATA_HOME") {
		t.Errorf("exit %s: %s", code, errs)
	}
}
