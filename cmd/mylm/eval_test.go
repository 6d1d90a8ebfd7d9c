//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mylm/agent/eval"
	"mylm/agent/eval/evaltest"
	"mylm/providers"
	"mylm/tools"
)

// school is a server with Ollama's wire format whose model m is a Student.
type school struct {
	*placed
	evaltest.Student

	mu    sync.Mutex
	asked map[string]int // by task, seed and reply
}

func newSchool(t *testing.T, s evaltest.Student) *school {
	o := &school{placed: newPlaced(t), Student: s, asked: map[string]int{}}
	others := o.placed.Config.Handler
	o.placed.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/chat" {
			others.ServeHTTP(w, r)
			return
		}
		var request struct {
			Messages []struct{ Role, Content string }
			Options  struct{ Seed int }
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var messages []providers.Message
		for _, m := range request.Messages {
			messages = append(messages, providers.Message{Role: providers.Role(m.Role), Text: m.Content})
		}
		o.mu.Lock()
		if task, step := o.Place(messages); task != nil {
			o.asked[fmt.Sprint(task.ID, " ", request.Options.Seed, " ", step)]++
		}
		reply := o.Reply(messages, request.Options.Seed)
		o.mu.Unlock()
		line, _ := json.Marshal(map[string]any{"model": "m", "created_at": "2026-01-01T00:00:00Z", "done": true, "done_reason": "stop", "prompt_eval_count": 40, "eval_count": 8,
			"eval_duration": 1000000, "message": map[string]string{"role": "assistant", "content": reply}})
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = w.Write(append(line, '\n'))
	})
	return o
}

// counts are how often each reply was asked for.
func (o *school) counts() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := map[string]int{}
	for k, n := range o.asked {
		all[k] = n
	}
	return all
}

// examReports reads what mylm eval --json prints, without what differs by its nature.
func examReports(t *testing.T, out string) []eval.Report {
	t.Helper()
	var printed struct{ Exams []eval.Report }
	if err := json.Unmarshal([]byte(out), &printed); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for i := range printed.Exams {
		r := &printed.Exams[i]
		r.Exam.ID, r.Exam.Started = "", time.Time{}
		r.Total.Seconds = 0
		for k := range r.Categories {
			r.Categories[k].Seconds = 0
		}
		for k := range r.Outcomes {
			o := &r.Outcomes[k]
			o.Seconds, o.Session, o.Recorded = 0, "", time.Time{}
		}
	}
	return printed.Exams
}

// An exam killed at any moment goes on to the same report, and no reply that is kept
// is asked for again.
func TestKilledExam(t *testing.T) {
	t.Parallel()
	kills := 3
	if os.Getenv("MYLM_SLOW") != "" {
		kills = 30
	}
	const seed = 5
	first := newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 0.7})
	args := []string{"eval", "-m", "m", "--suite", "smoke", "--runs", "2", "--workers", "2", "--seed", fmt.Sprint(seed), "--json"}
	start := time.Now()
	out, errs, code := newHome(t, first.placed).run(args...)
	whole := time.Since(start)
	if code != "0" {
		t.Fatalf("exit %s: %s", code, errs)
	}
	want, _ := json.Marshal(examReports(t, out))
	source := rand.New(rand.NewPCG(2, uint64(kills)))
	for i := range kills {
		o := newSchool(t, first.Student)
		h := newHome(t, o.placed)
		kept := map[string]int{} // how often it was asked for by the time it was kept
		next := args
		for range 1 + i%3 {
			cmd := h.command(next...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			after := time.AfterFunc(time.Duration(source.Int64N(int64(whole))), func() { _ = cmd.Process.Kill() })
			_ = cmd.Wait()
			after.Stop()
			asked := o.counts()
			logs, _ := filepath.Glob(filepath.Join(h.dir, "data", "mylm", "eval", "*", "log.jsonl"))
			for _, path := range logs {
				for key := range keptReplies(t, path, seed) {
					if _, ok := kept[key]; !ok {
						kept[key] = asked[key]
					}
				}
			}
			if list, _, _ := h.run("eval", "list"); list != "" {
				next = []string{"eval", "--resume", "last", "--workers", "2", "--json"}
			}
		}
		out, errs, code := h.run(next...)
		if code != "0" {
			t.Fatalf("kill %d: exit %s: %s", i, code, errs)
		}
		if got, _ := json.Marshal(examReports(t, out)); !bytes.Equal(got, want) {
			t.Errorf("kill %d: the report is another:\n%s\nwant\n%s", i, got, want)
		}
		asked := o.counts()
		for key, n := range kept {
			if asked[key] != n {
				t.Errorf("kill %d: %s was kept, and is asked for again", i, key)
			}
		}
	}
}

// keptReplies are the replies that a log holds, named as the school names them.
func keptReplies(t *testing.T, path string, seed int) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	steps, kept := map[string]int{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		var in struct {
			Reply *struct {
				Task string
				Run  int
			}
		}
		if !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &in) != nil || in.Reply == nil {
			continue
		}
		name := fmt.Sprint(in.Reply.Task, " ", seed+in.Reply.Run-1, " ")
		kept[name+fmt.Sprint(steps[name])] = true
		steps[name]++
	}
	return kept
}

// Two exams through the command: the table, the files, the comparison, and the replay
// of what was not passed.
func TestEvalCommand(t *testing.T) {
	t.Parallel()
	o := newSchool(t, evaltest.Student{Suite: eval.Core(), P: 1})
	h := newHome(t, o.placed)
	out, errs, code := h.run("eval", "-m", "m", "--seed", "1", "--workers", "4", "--chart", "chart.svg")
	if code != "0" || !strings.Contains(out, "92/92 100%") || strings.Contains(out, "Not passed") {
		t.Fatalf("exit %s: %s%s", code, out, errs)
	}
	if err := xml.Unmarshal([]byte(h.read("chart.svg")), new(struct{ XMLName xml.Name })); err != nil {
		t.Errorf("the chart: %v", err)
	}
	o.mu.Lock()
	o.P = 0.5
	o.mu.Unlock()
	out, errs, code = h.run("eval", "-m", "m", "--seed", "1", "--workers", "4")
	if code != "0" || !strings.Contains(out, "Not passed: ") {
		t.Fatalf("exit %s: %s%s", code, out, errs)
	}
	for _, text := range []string{"CATEGORY", "TOK/S", "wrong_arguments", "injected"} {
		if !strings.Contains(out, text) {
			t.Errorf("the table lacks %q:\n%s", text, out)
		}
	}
	replays := 0
	for line := range strings.Lines(out) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "mylm replay "); ok && replays < 8 {
			replays++
			if out, errs, code := h.run("replay", path); code != "0" {
				t.Errorf("mylm replay %s: exit %s: %s%s", path, code, out, errs)
			}
		}
	}
	if replays == 0 {
		t.Error("nothing can be replayed")
	}
	list, _, _ := h.run("eval", "list")
	var ids []string
	for line := range strings.Lines(list) {
		if strings.Contains(line, "core") {
			ids = append(ids, strings.Fields(line)[0])
		}
	}
	if len(ids) != 2 {
		t.Fatalf("the list: %s", list)
	}
	if out, _, code := h.run("eval", "compare", ids[0], ids[1]); code != "0" || !strings.Contains(out, "B is better by more than chance") || !strings.Contains(out, "92 tasks in common") {
		t.Errorf("compare: exit %s: %s", code, out)
	}
	if out, _, code := h.run("eval", "show", ids[1], "--markdown"); code != "0" || !strings.Contains(out, "| all | 92 of 92 | 100% |") {
		t.Errorf("show: exit %s: %s", code, out)
	}
	if out, _, code := h.run("models"); code != "0" || !strings.Contains(out, "SCORE") || !strings.Contains(out, "of 92") {
		t.Errorf("models: exit %s: %s", code, out)
	}
}

// What ends an exam early is reported with what was reached, and how to go on.
func TestEvalStops(t *testing.T) {
	t.Parallel()
	o := newSchool(t, evaltest.Student{Suite: eval.Core(), P: 1})
	h := newHome(t, o.placed)
	out, errs, code := h.run("eval", "-m", "m", "--budget", "500")
	if code != "5" || !strings.Contains(out, "Not complete: ") || !strings.Contains(errs, "mylm eval --resume ") {
		t.Errorf("budget: exit %s: %s%s", code, out, errs)
	}
	if out, errs, code = h.run("eval", "--resume", "last", "--workers", "4"); code != "0" || !strings.Contains(out, "92/92") {
		t.Errorf("resume: exit %s: %s%s", code, out, errs)
	}
	n := 0
	handler := o.placed.Config.Handler
	var mu sync.Mutex
	o.placed.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/api/chat" {
			if n++; n > 20 {
				_, _ = io.Copy(io.Discard, r.Body)
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, `{"error":"model \"m\" not found, try pulling it first"}`)
				return
			}
		}
		handler.ServeHTTP(w, r)
	})
	if out, errs, code = h.run("eval", "-m", "m"); code != "3" || !strings.Contains(out, "Not complete: ") || !strings.Contains(errs, "the exam stopped") {
		t.Errorf("a model that is gone: exit %s: %s%s", code, out, errs)
	}
}

// All forms are examined with one model, through the server's wire: each prompt, and
// what the model sees of its own calls, is in the form of its exam.
func TestEvalForms(t *testing.T) {
	t.Parallel()
	o := newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1})
	var mu sync.Mutex
	var bodies []string
	handler := o.placed.Config.Handler
	o.placed.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/chat" {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			mu.Lock()
			bodies = append(bodies, string(body))
			mu.Unlock()
		}
		handler.ServeHTTP(w, r)
	})
	h := newHome(t, o.placed)
	out, errs, code := h.run("eval", "-m", "m", "--suite", "smoke", "--form", "all")
	if code != "0" || strings.Count(out, "12/12 100%") != 5 || strings.Count(out, "the difference may be chance") != 4 {
		t.Fatalf("exit %s: %s%s", code, out, errs)
	}
	seen := map[string]int{}
	for _, body := range bodies {
		var request struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.Unmarshal([]byte(body), &request); err != nil {
			t.Fatal(err)
		}
		own := ""
		for form, mark := range map[string]string{
			"tool_code": "exactly like this, on lines of its own, outside code fences:\n<tool_code>", "tool_call": "fences:\n<tool_call>\n{", "function": "fences:\n<tool_call>\n<function=",
			"invoke": "fences:\n<function_calls>\n<invoke name=", "python_tag": "fences:\n{\"name\": \"TOOL_NAME\", \"parameters\": ",
		} {
			if strings.Contains(request.Messages[0].Content, mark) {
				own = form
			}
		}
		seen[own]++
		for _, m := range request.Messages {
			if m.Role == "assistant" && own != "tool_code" && strings.Contains(m.Content, "<tool_code>") {
				t.Errorf("a session in %s shows the model\n%s", own, m.Content)
			}
		}
	}
	if len(seen) != 5 || seen[""] > 0 {
		t.Errorf("requests by form: %v", seen)
	}
	// The setting of a model's entry holds, and a flag over it.
	if err := os.MkdirAll(filepath.Join(h.dir, "config", "mylm"), 0o700); err != nil {
		t.Fatal(err)
	}
	conf := "[models.mine]\nprovider = \"ollama\"\nmodel = \"m\"\nform = \"invoke\"\n"
	if err := os.WriteFile(filepath.Join(h.dir, "config", "mylm", "config.toml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range [][]string{{"<invoke name=\"TOOL_NAME", "ask", "-m", "mine", "hello"}, {"<function=TOOL_NAME", "ask", "-m", "mine", "--form", "function", "hello"}, {"<name>TOOL_NAME", "ask", "-m", "m", "hello"}} {
		h.run(tt[1:]...)
		mu.Lock()
		var last struct{ Messages []struct{ Content string } }
		err := json.Unmarshal([]byte(bodies[len(bodies)-1]), &last)
		mu.Unlock()
		if err != nil || !strings.Contains(last.Messages[0].Content, tt[0]) {
			t.Errorf("mylm %v sends %+v, %v", tt[1:], last, err)
		}
	}
}

// The definitions of the tools of mylm ask are at most 80% of what they were, and 55%
// in the compact notation, in bytes: a token is about four of them in any vocabulary.
// The example of each call, which hints show, can be run as it is.
func TestPromptSize(t *testing.T) {
	t.Parallel()
	const before = 5207
	h := newHome(t, newPlaced(t))
	block := func(start, end string, args ...string) int {
		out, errs, code := h.run(append([]string{"ask", "-m", "demo", "--show-prompt", "hi"}, args...)...)
		_, rest, ok := strings.Cut(out, start)
		text, _, closed := strings.Cut(rest, end)
		if code != "0" || !ok || !closed {
			t.Fatalf("exit %s: %s%s", code, out, errs)
		}
		return len(start) + len(text)
	}
	if n := block("<tool_definitions>", "</tool_definitions>"); n > before*80/100 {
		t.Errorf("the definitions have %d bytes; they had %d", n, before)
	}
	if n := block("Signatures", "# PROTOCOL", "--num-ctx", "4096"); n > before*55/100 {
		t.Errorf("the compact definitions have %d bytes; the others had %d", n, before)
	}
	registry, err := inspectTools()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range registry.Tools() {
		if _, _, fault := tools.Fit(tool.Schema, []byte(tools.Example(tool.Schema))); fault != nil {
			t.Errorf("%s: the example does not fit: %v", tool.Name, fault)
		}
	}
}
