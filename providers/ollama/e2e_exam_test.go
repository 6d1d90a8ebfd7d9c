//go:build linux

package ollama_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mylm/agent/eval"
	"mylm/providers/calling"
	"mylm/providers/internal/ollamatest"
	s "mylm/providers/internal/scriptmodel"
)

// formMarks are what a system prompt has only if it shows calls in a form.
var formMarks = map[calling.Form]string{
	calling.ToolCode: "fences:\n<tool_code>", calling.ToolCall: "fences:\n<tool_call>\n{", calling.Function: "<function=TOOL_NAME>",
	calling.Invoke: "<invoke name=\"TOOL_NAME\">", calling.PythonTag: "fences:\n{",
}

// learned is a model that has learned the right script of every task by heart, in one
// form of calls: it finds the task by its question and the reply that is due by the calls
// that it is shown as its own. Shown another form, it is lost.
func learned(suite *eval.Suite, form calling.Form, corpus string) *s.Model {
	m := &s.Model{Corpus: corpus, Default: "I am lost."}
	for _, task := range suite.Tasks {
		question, _, _ := strings.Cut(task.Question, "<") // tags are neutralized in a prompt
		asked := s.AnyContains(strings.TrimSpace(question))
		for i := len(task.Right) - 1; i >= 0; i-- {
			step := task.Right[i]
			when := []s.Cond{asked, s.SystemContains(formMarks[form])}
			if i > 0 {
				when = append(when, s.Replied(form.Call(task.Right[i-1].Call, task.Right[i-1].Args)))
			}
			say := step.Text
			if step.Call != "" {
				say = form.Call(step.Call, step.Args)
			}
			m.Scripts = append(m.Scripts, s.Script{When: when, Say: say})
		}
	}
	return m
}

// The whole built-in exam through the command against a real server, in every form of
// calls, and once over the wire of a backend of langchaingo. The server's own log of
// requests shows what the model was sent.
func TestEndToEndExam(t *testing.T) {
	if os.Getenv("MYLM_SLOW") == "" {
		t.Skip("MYLM_SLOW is not set")
	}
	suite := eval.Core()
	server := ollamatest.Start(t, examSlots, "OLLAMA_DEBUG_LOG_REQUESTS=1", "TMPDIR="+t.TempDir())
	e := &endToEnd{server: server, bin: buildCommand(t)}
	p := e.user(t, server.URL)
	text, err := os.ReadFile("../../agent/eval/suites/core.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.configure(t, wiredEntry(server.URL))
	logged := regexp.MustCompile(`logged to (\S+_body\.json)`)
	for _, form := range calling.Forms() {
		prompt := p.run(t, "ask", "-m", "demo", "--form", string(form), "--show-prompt", "hi").stdout
		server.Create(t, "pupil", learned(suite, form, string(text)+prompt))
		models := []string{"pupil"}
		if form == calling.ToolCall {
			models = append(models, "wired")
		}
		for _, model := range models {
			began, before := time.Now(), len(server.Log())
			report := exam(t, p, "eval", "-m", model, "--form", string(form), "--workers", "2", "--json")
			total := report.Total
			if total.Passed != len(suite.Tasks) || total.Of != len(suite.Tasks) || report.Exam.Form != string(form) {
				t.Errorf("%s, %s: %d of %d passed", model, form, total.Passed, total.Of)
				for _, o := range report.Failures() {
					t.Logf("%s: %s: %s", o.Task, o.Cause, o.Detail)
				}
			}
			requests := logged.FindAllStringSubmatch(server.Log()[before:], -1)
			if len(requests) != total.Turns {
				t.Errorf("%s, %s: the server has logged %d requests of %d turns", model, form, len(requests), total.Turns)
			}
			for _, r := range requests {
				checkPrompt(t, suite, form, r[1])
			}
			t.Logf("%s, %s: %d of %d passed, %d requests in the server's log, %d tokens in, %v", model, form, total.Passed, total.Of, len(requests), total.PromptTokens, time.Since(began).Round(time.Second))
		}
	}
}

// wiredEntry is the configuration's entry of the model wired: pupil, over OpenAI's wire.
func wiredEntry(url string) string {
	return "[models.wired]\nprovider = \"localai\"\nmodel = \"pupil\"\nbase_url = \"" + url + "/v1\"\n"
}

// configure writes a person's configuration.
func (p *person) configure(t *testing.T, text string) {
	t.Helper()
	dir := filepath.Join(filepath.Dir(p.dir), "config", "mylm")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// exam runs mylm eval and reads the report.
func exam(t *testing.T, p *person, args ...string) eval.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.bin, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	var out struct{ Exams []eval.Report }
	if parsed := json.Unmarshal(text, &out); err != nil || parsed != nil || len(out.Exams) != 1 {
		t.Fatalf("mylm %v: %v, %v: %s%s", args, err, parsed, text, stderr.String())
	}
	return out.Exams[0]
}

// checkPrompt reads a request from the server's log: it shows its tools and its calls
// in one form. Only a call whose arguments the form cannot hold has another.
func checkPrompt(t *testing.T, suite *eval.Suite, form calling.Form, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	var request struct {
		Messages []struct{ Role, Content string }
		Tools    any
	}
	if err == nil {
		err = json.Unmarshal(text, &request)
	}
	if err != nil || len(request.Messages) < 2 || request.Messages[0].Role != "system" || request.Tools != nil {
		t.Fatalf("%s: %v: %s", path, err, text)
	}
	system := request.Messages[0].Content
	definition := "{\"type\": \"function\", \"function\": {\"name\": "
	if form == calling.ToolCode {
		definition = "<tool_definitions>\n<tool><name>"
	}
	for _, f := range calling.Forms() {
		if strings.Contains(system, formMarks[f]) != (f == form) || !strings.Contains(system, definition) {
			t.Errorf("%s is in another form than %s:\n%s", path, form, system)
		}
	}
	for _, m := range request.Messages {
		if m.Role == "assistant" && form != calling.ToolCode && strings.Contains(m.Content, "<tool_code>") && !anyStep(suite, func(s eval.Step) bool { return m.Content == form.Call(s.Call, s.Args) }) {
			t.Errorf("%s shows the model, in the form %s,\n%s", path, form, m.Content)
		}
	}
}

// anyStep reports whether a reply of the right scripts holds.
func anyStep(suite *eval.Suite, holds func(eval.Step) bool) bool {
	return slices.ContainsFunc(suite.Tasks, func(t *eval.Task) bool { return slices.ContainsFunc(t.Right, holds) })
}
