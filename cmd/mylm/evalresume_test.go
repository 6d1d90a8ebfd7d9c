//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mylm/agent/eval"
	"mylm/agent/eval/evaltest"
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
