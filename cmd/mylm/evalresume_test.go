//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
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
	slow(t)
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
	slow(t)
	t.Parallel()
	o := newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1})
	h := newHome(t, o.placed)
	cmd := h.command("eval", "--suite", "smoke", "--form", "all", "--budget", "1")
	cmd.Env = append(cmd.Env, "MYLM_MODEL=")
	if out, _ := cmd.CombinedOutput(); bytes.Count(out, []byte("the only model installed")) != 1 || !bytes.Contains(out, []byte("To resume it: ")) {
		t.Fatalf("it stops with %s", out)
	}
	h.configure("form = \"function\"\n")
	out, errs, code := h.run("eval", "--resume", "last")
	if code != "0" || !strings.Contains(out, "no form is better than tool_code by more than chance") || strings.Count(out, "m:latest, function  100%") != 1 {
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
		c, err := config.Load(t.Context(), config.Source{Flags: flags})
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
	for _, f := range askFlags() {
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
	slow(t)
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
	slow(t)
	t.Parallel()
	h := newHome(t, newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1}).placed)
	for _, began := range [][]string{nil, {"--step-timeout", "20m"}} {
		for _, tt := range []struct {
			flags []string
			want  string
		}{{nil, "12/12 100%"}, {[]string{"--step-timeout", "1ns"}, "timed_out "}} {
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
	slow(t)
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
