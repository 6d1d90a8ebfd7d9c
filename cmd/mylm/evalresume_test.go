//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"flag"
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
	"testing"

	"mylm/agent"
	"mylm/agent/eval"
	"mylm/agent/eval/evaltest"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/setup"

	"github.com/urfave/cli/v2"
)

// asksFor collects what a school is sent: the model, its settings, and the system prompt.
type asksFor struct {
	Model    string
	Options  map[string]any
	Messages []struct{ Content string }
}

func (o *school) requests(t *testing.T) (taken func() []asksFor) {
	var all []asksFor
	o.watch(func(body []byte) {
		var r asksFor
		if err := json.Unmarshal(body, &r); err != nil {
			t.Error(err)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		all = append(all, r)
	})
	return func() []asksFor {
		o.mu.Lock()
		defer o.mu.Unlock()
		these := all
		all = nil
		return these
	}
}

// A series of exams is resumed as it was begun, each exam with the settings of its own
// model, also those that were not begun, whatever the configuration has become.
func TestResumedSeries(t *testing.T) {
	t.Parallel()
	o := newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1})
	taken := o.requests(t)
	h := newHome(t, o.placed)
	const entries = "[models.a]\nprovider = \"ollama\"\nmodel = \"m1\"\ntemperature = %v\nseed = 1\n[models.b]\nprovider = \"ollama\"\nmodel = \"m2\"\ntemperature = %v\n"
	h.configure(fmt.Sprintf(entries, 0.1, 0.2))
	if out, errs, code := h.run("eval", "-m", "a", "-m", "b", "--suite", "smoke", "--budget", "1"); code != "5" {
		t.Fatalf("exit %s: %s%s", code, out, errs)
	}
	h.configure(fmt.Sprintf(entries, 0.8, 0.9))
	// Exams that have nothing to do with it are no obstacle, however damaged.
	other := filepath.Join(h.dir, "data/mylm/eval/20300101-000000-zzzz")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "exam.json"), []byte("[}"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := h.run("eval", "--resume", "last")
	if code != "0" || strings.Count(out, "12/12 100%") != 2 {
		t.Fatalf("exit %s: %s%s", code, out, errs)
	}
	seen := map[string]int{}
	for _, r := range taken() {
		seen[fmt.Sprint(r.Model, " ", r.Options["temperature"], " ", r.Options["seed"])]++
	}
	if len(seen) != 2 || seen["m1 0.1 1"] == 0 || seen["m2 0.2 <nil>"] == 0 {
		t.Errorf("the models were asked with %v", seen)
	}
	// One of the series that cannot be read is named with what to do.
	logs, _ := filepath.Glob(filepath.Join(h.dir, "data/mylm/eval/*/log.jsonl"))
	if len(logs) != 2 {
		t.Fatal(logs)
	}
	if err := os.WriteFile(logs[0], []byte("[}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := h.run("eval", "--resume", filepath.Base(filepath.Dir(logs[1]))); code != "1" || !strings.Contains(errs, "rm -r "+filepath.Dir(logs[0])) {
		t.Errorf("exit %s: %s", code, errs)
	}
}

// The forms are compared with the one that was set when the series began.
func TestResumedForms(t *testing.T) {
	t.Parallel()
	o := newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1})
	h := newHome(t, o.placed)
	if out, errs, code := h.run("eval", "-m", "m", "--suite", "smoke", "--form", "all", "--budget", "1"); code != "5" {
		t.Fatalf("exit %s: %s%s", code, out, errs)
	}
	h.configure("form = \"function\"\n")
	out, errs, code := h.run("eval", "--resume", "last")
	if code != "0" || !strings.Contains(out, "no form is better than tool_code by more than chance") || strings.Count(out, "m, function  100%") != 1 {
		t.Errorf("exit %s: %s%s", code, out, errs)
	}
}

// Each setting that reaches the agent is kept with an exam, apart from those that the
// exam decides.
func TestExamKeepsSettings(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	options := func(flags ...cli.Flag) agent.Options {
		c, err := config.Load(t.Context(), flags, nil)
		if err != nil { // no such profile, no such directory
			return agent.Options{}
		}
		return setup.AgentOptions(c.Settings)
	}
	unset := options()
	kept := map[string]bool{"max-turns": true, "max-time": true, "form": true, "dry-run": true}
	for _, f := range config.Flags(append(examSettings(), waitSettings()...)...) {
		kept[f.Names()[0]] = true
	}
	reach := 0
	for _, f := range config.Fork(askFlags()) {
		set, name := flag.NewFlagSet("", flag.ContinueOnError), f.Names()[0]
		if err := f.Apply(set); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"1000", "7", "7s", "on", "basic", "invoke", "true"} {
			if set.Set(name, text) == nil {
				break
			}
		}
		made := options(f)
		if reflect.DeepEqual(made, unset) || reflect.DeepEqual(made, agent.Options{}) {
			continue
		}
		if reach++; !kept[name] {
			t.Errorf("--%s reaches the agent, and an exam does not keep it", name)
		}
	}
	if reach < 20 {
		t.Errorf("only %d settings reach the agent", reach)
	}
}

// An exam goes on with the system prompt that it began with, that of a profile too, and
// exams with two of them can be told apart.
func TestResumedIdentity(t *testing.T) {
	t.Parallel()
	o := newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1})
	taken := o.requests(t)
	h := newHome(t, o.placed)
	h.configure("[profiles.p]\nsystem = \"You are Ada.\"\nself_eval = \"off\"\n")
	digests := map[string]bool{}
	for _, profile := range [][]string{{"--profile", "p"}, nil} {
		h.run(append([]string{"eval", "-m", "m", "--suite", "smoke", "--budget", "1"}, profile...)...)
		cmd := h.command("eval", "--resume", "last", "--json")
		cmd.Env = append(cmd.Env, "MYLM_SELF_EVAL=basic")
		out, err := cmd.Output()
		var printed struct{ Exams []eval.Report }
		if failed := json.Unmarshal(out, &printed); err != nil || failed != nil || len(printed.Exams) != 1 {
			t.Fatalf("%v, %v: %s", err, failed, out)
		}
		digests[printed.Exams[0].Exam.Digest] = true
		for _, r := range taken() {
			if strings.HasPrefix(r.Messages[0].Content, "You are Ada.") != (profile != nil) {
				t.Errorf("%v: the system prompt is %.60q", profile, r.Messages[0].Content)
				break
			}
		}
	}
	if len(digests) != 2 {
		t.Errorf("the digests are %v", digests)
	}
}

// Times for waiting are those that the exam began with; only flags change them.
func TestResumedTimes(t *testing.T) {
	t.Parallel()
	h := newHome(t, newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1}).placed)
	for _, began := range [][]string{nil, {"--step-timeout", "20m"}} {
		for _, tt := range []struct {
			flags []string
			want  string
		}{{nil, "12/12 100%"}, {[]string{"--step-timeout", "1ns"}, "timed_out 11"}} {
			h.run(append([]string{"eval", "-m", "m", "--suite", "smoke", "--budget", "1"}, began...)...)
			cmd := h.command(append([]string{"eval", "--resume", "last"}, tt.flags...)...)
			cmd.Env = append(cmd.Env, "MYLM_STEP_TIMEOUT=1ns")
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), tt.want) {
				t.Errorf("began with %v, resumed with %v: %v: %s", began, tt.flags, err, out)
			}
		}
	}
}

// An exam does not go on with another model than it began with, whatever its name stands
// for now. Only a flag says that the server has moved.
func TestResumedModel(t *testing.T) {
	t.Parallel()
	o := newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1})
	other := newSchool(t, o.Student)
	h := newHome(t, o.placed)
	const entry = "[models.mine]\nprovider = %q\nmodel = %q\n"
	was := fmt.Sprintf(entry, "ollama", "m") + "[profiles.p]\nhost = \"" + strings.Replace(o.URL, "//", "//me:secret@", 1) + "\"\n"
	for _, profile := range [][]string{nil, {"--profile", "p"}} {
		h.configure(was)
		h.run(append([]string{"eval", "-m", "mine", "--suite", "smoke", "--budget", "1"}, profile...)...)
		if text := h.read("data/mylm/eval/" + h.lastExam() + "/exam.json"); !strings.Contains(text, "\"address\": \""+o.URL+"\"") {
			t.Errorf("the exam is of no address, or holds a secret: %s", text)
		}
		for now, want := range map[string][]string{
			fmt.Sprintf(entry, "ollama", "n"):                                        {"ollama/m at " + o.URL, "ollama/n at " + o.URL, "begin a new exam"},
			fmt.Sprintf(entry, "llamacpp", "m"):                                      {"ollama/m at " + o.URL, "llamacpp/m at http://localhost:8080/v1", "begin a new exam"},
			fmt.Sprintf(entry, "ollama", "m") + "base_url = \"" + other.URL + "\"\n": {"ollama/m at " + o.URL, "ollama/m at " + other.URL, "--host " + o.URL},
		} {
			h.configure(now)
			out, errs, code := h.run("eval", "--resume", "last")
			for _, text := range want {
				if code != "2" || out != "" || !strings.Contains(errs, text) {
					t.Errorf("%q: exit %s: %s%s", now, code, out, errs)
				}
			}
		}
		h.configure(fmt.Sprintf(entry, "ollama", "m") + "base_url = \"" + other.URL + "\"\n")
		if out, errs, code := h.run("eval", "--resume", "last", "--host", o.URL); code != "0" || !strings.Contains(out, "12/12") || len(other.counts()) > 0 {
			t.Errorf("exit %s: %s%s", code, out, errs)
		}
	}
}

// lastExam is the id of the exam that began last.
func (h *home) lastExam() string {
	h.t.Helper()
	out, errs, _ := h.run("eval", "list", "--json")
	var all []eval.Summary
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) == 0 {
		h.t.Fatalf("%v: %s%s", err, out, errs)
	}
	return all[0].Exam.ID
}

// Nothing is concluded from the forms, and nothing saved, while the exam of one of them was
// stopped, also if each of its tasks was asked; and the list, the report and JSON say so.
func TestStoppedForms(t *testing.T) {
	t.Parallel()
	exams := "suite: words\ntools: {look: {description: Looks., rules: [{say: nothing}]}}\ntasks:\n"
	for i := range 8 {
		exams += fmt.Sprintf("  - {id: t%d, category: c, question: Say word %d., tools: [look], check: {answer: {all: [w%d]}}, right: [w%d], wrong: [[x], [y]]}\n", i, i, i, i)
	}
	suite, err := eval.Parse([]byte(exams))
	if err != nil {
		t.Fatal(err)
	}
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

// An exam without an outcome is compared with none, and what no exam can have in its file
// is damage.
func TestOddExams(t *testing.T) {
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

// The report says how many tasks another version of mylm asked than began the exam.
func TestResumedByAnotherVersion(t *testing.T) {
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
