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
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mylm/agent/eval"
	"mylm/agent/eval/evaltest"
	"mylm/providers"
	"mylm/tools"

	"github.com/creack/pty"
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
	others := o.placed.served()
	o.placed.serveWith(func(w http.ResponseWriter, r *http.Request) {
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
		r.Exam.ID, r.Exam.Address, r.Exam.Started = "", "", time.Time{}
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

// On a terminal a bar shows how far an exam is, how many tasks are passed, and the time
// that is left.
func TestEvalProgress(t *testing.T) {
	t.Parallel()
	o := newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1})
	hold := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(goOn)
	n := 0
	o.watch(func([]byte) {
		if n++; n == 2 { // the second task
			<-hold
		}
	})
	c := converse(t, newHome(t, o.placed).command("eval", "-m", "m", "--suite", "smoke"), "", &pty.Winsize{Rows: 24, Cols: 100})
	c.expect("#.")
	c.expect("] 1/12, 1 passed, ")
	c.expect(" left")
	goOn()
	c.expect("12/12 100%")
	if code := c.exit(); code != "0" {
		t.Errorf("exit %s: %s", code, c.text())
	}
}

// The line that shows how far an exam is, and the rows of its table, fit on a narrow
// terminal.
func TestNarrowExam(t *testing.T) {
	t.Parallel()
	for columns, row := range map[uint16]string{40: "one_is_enough  1/1 100%    21-100%\r\n", 80: "one_is_enough  1/1 100%    21-100%  1 of 1   "} {
		o := newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1})
		hold := make(chan struct{})
		goOn := sync.OnceFunc(func() { close(hold) })
		t.Cleanup(goOn)
		n := 0
		o.watch(func([]byte) {
			if n++; n == 2 { // the second task
				<-hold
			}
		})
		h := newHome(t, o.placed)
		h.configure("[models.a-model-with-a-long-name]\nprovider = \"ollama\"\nmodel = \"m\"\n")
		c := converse(t, h.command("eval", "-m", "a-model-with-a-long-name", "--suite", "smoke"), "", &pty.Winsize{Rows: 24, Cols: columns})
		c.expect(" 1/12, 1 passed, ")
		c.expect(" left")
		goOn()
		c.expect(row)
		if code := c.exit(); code != "0" {
			t.Errorf("exit %s: %s", code, c.text())
		}
	}
}

// What ends an exam early is reported with what was reached, and how to go on.
func TestEvalStops(t *testing.T) {
	slow(t)
	t.Parallel()
	o := newSchool(t, evaltest.Student{Suite: eval.Core(), P: 1})
	h := newHome(t, o.placed)
	out, errs, code := h.run("eval", "-m", "m", "--budget", "500")
	if code != "5" || !strings.Contains(out, "Not complete: ") || !strings.Contains(errs, "mylm eval --resume ") {
		t.Errorf("budget: exit %s: %s%s", code, out, errs)
	}
	for _, given := range []string{"--runs=2", "--temperature=0.9", "--seed=7", "--profile=x"} {
		if out, errs, code = h.run("eval", "--resume", "last", given); code != "2" || !strings.Contains(errs, "as it began") {
			t.Errorf("resume with %s: exit %s: %s%s", given, code, out, errs)
		}
	}
	if out, errs, code = h.run("eval", "--resume", "last", "--workers", "4", "--first-token-timeout", "20m"); code != "0" || !strings.Contains(out, "92/92") {
		t.Errorf("resume: exit %s: %s%s", code, out, errs)
	}
	n, served := 0, o.placed.served()
	for _, began := range [][]string{{"--temperature", "0.5"}, nil} {
		if _, errs, code = h.run(append([]string{"eval", "-m", "m", "--suite", "smoke", "--budget", "500"}, began...)...); code != "5" {
			t.Fatalf("exit %s: %s", code, errs)
		}
		o.watch(func(body []byte) {
			if bytes.Contains(body, []byte(`"temperature":0.5`)) != (began != nil) || bytes.Contains(body, []byte("0.9")) {
				t.Errorf("the exam that began with %q goes on with another temperature: %s", began, body)
			}
			n++
		})
		cmd := h.command("eval", "--resume", "last")
		cmd.Env = append(cmd.Env, "MYLM_TEMPERATURE=0.9")
		if text, err := cmd.CombinedOutput(); err != nil || n == 0 {
			t.Errorf("resume where a variable is set: %v, %d requests: %s", err, n, text)
		}
		n = 0
		o.placed.serveWith(served.ServeHTTP)
	}
	handler := o.placed.served()
	var mu sync.Mutex
	o.placed.serveWith(func(w http.ResponseWriter, r *http.Request) {
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

// What cannot be asked leaves no exam behind, and a file's words no control characters
// on the terminal.
func TestEvalRefused(t *testing.T) {
	t.Parallel()
	h := newHome(t, newSchool(t, evaltest.Student{Suite: eval.Core()}).placed)
	suite := "suite: \"shop\\e[31m\"\ntasks:\n  - {id: t, category: c, question: Say it., tools: [%s], check: {answer: {all: [x]}}, right: [x], wrong: [[y], [z]]}\n"
	for tools, ok := range map[string]bool{"": true, "\"b\\e[31m\"": false} {
		if err := os.WriteFile(filepath.Join(h.dir, "own.yaml"), fmt.Appendf(nil, suite, tools), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, code := h.run("eval", "check", "own.yaml")
		if (code == "0") != ok || strings.Contains(out+errs, "\x1b") {
			t.Errorf("check: exit %s: %q %q", code, out, errs)
		}
		if ok {
			continue
		}
		if out, errs, code = h.run("eval", "-m", "m", "--suite", "own.yaml"); code == "0" || strings.Contains(out+errs, "\x1b") {
			t.Errorf("exit %s: %q %q", code, out, errs)
		}
		if out, errs, _ = h.run("eval", "list"); out != "" || !strings.Contains(errs, "no exam is kept") {
			t.Errorf("the list: %q %q", out, errs)
		}
	}
}

// All forms are examined with one model, through the server's wire: each prompt, and
// what the model sees of its own calls, is in the form of its exam.
func TestEvalForms(t *testing.T) {
	slow(t)
	t.Parallel()
	o := newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1})
	var mu sync.Mutex
	var bodies []string
	o.watch(func(body []byte) {
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, string(body))
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
	h.configure("[models.mine]\nprovider = \"ollama\"\nmodel = \"m\"\nform = \"invoke\"\n")
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

// A window that only the server reports makes the prompt compact, as one that is set
// does.
func TestSmallWindowOfServer(t *testing.T) {
	t.Parallel()
	const tool = "\n- read_file("
	o := newPlaced(t, "Hello.")
	var mu sync.Mutex
	trained, system := 2048, ""
	see := func(body []byte) { system = firstMessage(t, bytes.NewReader(body)) }
	o.watch(see)
	handler := o.served()
	o.serveWith(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch r.URL.Path {
		case "/api/ps":
			_, _ = io.WriteString(w, `{"models":[]}`)
		case "/api/show":
			_, _ = fmt.Fprintf(w, `{"capabilities":["completion"],"model_info":{"general.architecture":"llama","llama.context_length":%d},"template":"{{ .Prompt }}"}`, trained)
		case "/v1/models":
			_, _ = fmt.Fprintf(w, `{"data":[{"id":"m","meta":{"n_ctx":%d,"n_ctx_train":131072}}]}`, trained)
		case "/v1/chat/completions":
			body, _ := io.ReadAll(r.Body)
			see(body)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		default:
			handler.ServeHTTP(w, r)
		}
	})
	h := newHome(t, o)
	h.configure("[models.box]\nprovider = \"llamacpp\"\nmodel = \"m\"\nbase_url = \"" + o.URL + "/v1\"\n")
	for _, model := range []string{"m", "box"} {
		for window, small := range map[int]bool{4096: true, 8191: true, 8192: false, 32768: false} {
			mu.Lock()
			trained, system = window, ""
			mu.Unlock()
			_, errs, code := h.run("ask", "-m", model, "--no-save", "hello")
			mu.Lock()
			if code != "0" || strings.Contains(system, tool) != small || strings.Contains(system, "# EXAMPLE") == small {
				t.Errorf("%s with a window of %d: exit %s, %s\n%s", model, window, code, errs, system)
			}
			mu.Unlock()
		}
	}
}

// shows answers /api/show with a model of a template; "": it fails.
func (p *placed) shows(template func() string) {
	handler := p.served()
	p.serveWith(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/show" {
			handler.ServeHTTP(w, r)
			return
		}
		now := template()
		if now == "" {
			http.Error(w, `{"error":"not yet"}`, http.StatusInternalServerError)
			return
		}
		text, _ := json.Marshal(map[string]any{"capabilities": []string{"completion"}, "model_info": map[string]any{"general.architecture": "llama", "llama.context_length": 32768}, "template": now})
		_, _ = w.Write(text)
	})
}

// watch hands the body of each question to a function before it is answered.
func (p *placed) watch(see func(body []byte)) {
	handler := p.served()
	p.serveWith(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/chat" {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			see(body)
		}
		handler.ServeHTTP(w, r)
	})
}

// firstMessage is the first message of a request: the system prompt.
func firstMessage(t *testing.T, body io.Reader) string {
	var request struct {
		Messages []struct{ Content string }
	}
	if err := json.NewDecoder(body).Decode(&request); err != nil || len(request.Messages) == 0 {
		t.Errorf("a request without messages: %v", err)
		return ""
	}
	return request.Messages[0].Content
}

// configure writes the configuration file.
func (h *home) configure(text string) {
	h.t.Helper()
	dir := filepath.Join(h.dir, "config", "mylm")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// The form that is better beyond chance is set in the configuration, if that is asked
// for, and holds from then on.
func TestEvalSave(t *testing.T) {
	slow(t)
	t.Parallel()
	const good = "<tool_call>\n{"
	exams, suite := wordSuite(t, 8)
	o := newSchool(t, evaltest.Student{Suite: suite})
	var system string
	o.watch(func(body []byte) {
		o.mu.Lock()
		defer o.mu.Unlock()
		system, o.P = firstMessage(t, bytes.NewReader(body)), 0
		if strings.Contains(system, good) {
			o.P = 1
		}
	})
	h := newHome(t, o.placed)
	const before = "# Mine.\n\n[models.mine]   # the only one\nmodel = \"m\"\nprovider = \"ollama\"\n\n# The end.\n"
	h.configure(before)
	if err := os.WriteFile(filepath.Join(h.dir, "words.yaml"), []byte(exams), 0o600); err != nil {
		t.Fatal(err)
	}
	config := func() string { return h.read("config/mylm/config.toml") }
	exam := func(args ...string) (out, errs, code string) {
		return h.run(append([]string{"eval", "--suite", "words.yaml", "--form", "all"}, args...)...)
	}
	out, errs, code := exam("-m", "mine")
	if code != "0" || !strings.Contains(out, "mine: tool_call is better than tool_code by more than chance") || !strings.Contains(errs, "--save") || config() != before {
		t.Errorf("without --save: exit %s: %s%s\n%s", code, out, errs, config())
	}
	out, errs, code = exam("-m", "mine", "--save", "--json")
	var printed struct {
		Forms []struct{ Model, Base, Better, Saved string }
	}
	if err := json.Unmarshal([]byte(out), &printed); err != nil || code != "0" || len(printed.Forms) != 1 || printed.Forms[0].Better != "tool_call" || printed.Forms[0].Saved == "" {
		t.Errorf("exit %s, %v: %s%s", code, err, out, errs)
	}
	if want := strings.Replace(before, "\"ollama\"\n", "\"ollama\"\nform = \"tool_call\"\n", 1); config() != want || !strings.Contains(errs, `saved: form = "tool_call" in [models.mine] of `) {
		t.Errorf("%s\nthe file is\n%s", errs, config())
	}
	if out, _, _ := h.run("models"); !strings.Contains(out, "8 of 8 words, tool_call") {
		t.Errorf("the score is not that of the form that is set: %s", out)
	}
	h.run("ask", "-m", "mine", "hello")
	o.mu.Lock()
	if !strings.Contains(system, good) {
		t.Errorf("what is saved does not hold:\n%s", system)
	}
	o.mu.Unlock()
	// Now it is the form that the others are compared with, and none is better.
	out, errs, code = exam("-m", "mine", "--save")
	if code != "0" || !strings.Contains(out, "mine: no form is better than tool_call by more than chance") || !strings.Contains(errs, "nothing is saved") {
		t.Errorf("exit %s: %s%s", code, out, errs)
	}
	// A model without an entry gets one.
	out, errs, code = exam("-m", "m", "--save")
	if code != "0" || !strings.HasSuffix(config(), "# The end.\n\n[models.m]\nprovider = \"ollama\"\nmodel = \"m\"\nform = \"tool_call\"\n") {
		t.Errorf("exit %s: %s%s\n%s", code, out, errs, config())
	}
	// What could not be saved is found before anything is asked.
	for _, args := range [][]string{{"eval", "-m", "some/one", "--form", "all", "--save"}, {"eval", "-m", "m", "--save"}, {"eval", "-m", "demo", "--form", "all", "--save"}} {
		if out, errs, code := h.run(args...); code != "2" || out != "" {
			t.Errorf("%v: exit %s: %s%s", args, code, out, errs)
		}
	}
	if out, _, code := h.run("eval", "-m", "m", "-m", "demo", "--form", "all", "--save", "--json"); code != "2" || !strings.Contains(out, `"partial": true`) {
		t.Errorf("of forms that were not examined JSON says, exit %s: %s", code, out)
	}
	// Exams that did not come to their end save nothing. They go on together, and nothing
	// is asked twice.
	h.configure(before)
	was := config()
	asked := func() (n int) {
		for _, times := range o.counts() {
			n += times
		}
		return n
	}
	already := asked()
	if out, errs, code := exam("-m", "m", "--budget", "50", "--save"); code != "5" || !strings.Contains(out, "m: the forms are not compared") || config() != was {
		t.Errorf("exit %s: %s%s\n%s", code, out, errs, config())
	}
	out, errs, code = h.run("eval", "--resume", "last", "--save")
	if n := asked() - already; code != "0" || !strings.Contains(out, "m: tool_call is better than tool_code by more than chance") || !strings.Contains(errs, "saved: ") || n != 8*5 {
		t.Errorf("exit %s after %d questions: %s%s", code, n, out, errs)
	}
}

// With form = auto a session has the form that the model's template shows when it
// begins, and keeps it whatever the template becomes.
func TestFormAuto(t *testing.T) {
	slow(t)
	t.Parallel()
	o := newPlaced(t, "Hello.")
	var mu sync.Mutex
	var template, system string
	o.watch(func(body []byte) {
		mu.Lock()
		defer mu.Unlock()
		system = firstMessage(t, bytes.NewReader(body))
	})
	o.shows(func() string {
		mu.Lock()
		defer mu.Unlock()
		return template
	})
	h := newHome(t, o)
	h.configure("form = \"auto\"\n")
	for _, tt := range []struct{ template, mark string }{
		{"<tool_call>\n{\"name\": <function-name>}", "fences:\n<tool_call>\n{"},
		{"<tool_call>\n<function=f>\n<parameter=p>", "<function=TOOL_NAME>"},
		{`{"name": function name, "parameters": dictionary of argument name and its value}`, "fences:\n{"},
		{"<invoke name=", "<invoke name=\"TOOL_NAME\">"},
		{"{{ .Prompt }}", "fences:\n<tool_code>"},
	} {
		for _, step := range []struct {
			template string
			command  []string
		}{{tt.template, []string{"ask", "hello"}}, {"<invoke name=", []string{"resume", "last", "again"}}, {"<|python_tag|>", []string{"resume", "last", "and again"}}} {
			mu.Lock()
			template, system = step.template, ""
			mu.Unlock()
			_, errs, code := h.run(step.command...)
			mu.Lock()
			if code != "0" || !strings.Contains(system, tt.mark) {
				t.Errorf("%q, then %q, %v: exit %s: %s\n%s", tt.template, step.template, step.command, code, errs, system)
			}
			mu.Unlock()
		}
	}
}

// A changed template is examined beside the default one, and compared. It sees the
// tools one by one, in every notation, and can show them as it likes.
func TestEvalPrompt(t *testing.T) {
	slow(t)
	t.Parallel()
	o := newSchool(t, evaltest.Student{Suite: eval.Smoke()})
	var own []string
	o.watch(func(body []byte) {
		system := firstMessage(t, bytes.NewReader(body))
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.P = 0; strings.HasPrefix(system, "OWN") {
			o.P = 1
			own = append(own, system)
		}
	})
	h := newHome(t, o.placed)
	template := filepath.Join(h.dir, "own.tmpl")
	if err := os.WriteFile(template, []byte(`OWN {{.Form}}, compact: {{.Compact}}
{{- range $i, $t := .Tools}}
{{$i}}|{{$t.Name}}|{{$t.Description}}|{{$t.Parameters}}|{{$t.JSON}}|{{$t.Signature}}|
{{- end}}
{{- with .Example}}
{{.Question}}|{{.Call}}|{{.Observation}}|{{.Answer}}
{{- end}}
{{.Call}}|{{.End}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := h.run("eval", "--suite", "smoke", "--prompt", "own.tmpl") // MYLM_MODEL is m
	if code != "0" || !strings.Contains(out, "B is better by more than chance") || strings.Count(out, "12/12 100%") != 1 || strings.Count(out, "0/12 0%") != 1 || !strings.Contains(out, "own.tmpl") {
		t.Errorf("exit %s: %s%s", code, out, errs)
	}
	exams, err := filepath.Glob(filepath.Join(h.dir, "data/mylm/eval/*/exam.json"))
	if err != nil || len(exams) != 2 {
		t.Fatal(exams, err)
	}
	for _, path := range exams {
		if text, err := os.ReadFile(path); err != nil || strings.Count(string(text), `"model": "m"`) != 3 {
			t.Errorf("%v: the exam, or one of its series, is bound to no model: %s", err, text)
		}
	}
	row := regexp.MustCompile(`(?m)^(\d+)\|(\w+)\|[^|]+\|\{.*\}\|\{"type": "function", "function": \{"name": "(\w+)".*\}\}\|(\w+)\(.*\): .*\|$`)
	rows := 0
	o.mu.Lock()
	for _, system := range own {
		for i, m := range row.FindAllStringSubmatch(system, -1) {
			if rows++; m[1] != fmt.Sprint(i) || m[2] != m[3] || m[2] != m[4] {
				t.Errorf("the tools are shown as\n%s", system)
			}
		}
		if !strings.HasPrefix(system, "OWN tool_code, compact: false\n") || !strings.HasSuffix(system, "</tool_code>|</tool_code>") {
			t.Errorf("the prompt is\n%s", system)
		}
	}
	o.mu.Unlock()
	if rows == 0 {
		t.Errorf("no tool is shown in %d prompts", len(own))
	}
	for text, want := range map[string]string{"{{range .Toolz}}{{end}}": "Toolz", "": "is empty"} {
		if err := os.WriteFile(template, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		before := len(o.counts())
		if out, errs, code := h.run("eval", "-m", "m", "--suite", "smoke", "--prompt", "own.tmpl"); code != "2" || out != "" || !strings.Contains(errs, want) || len(o.counts()) != before {
			t.Errorf("%q: exit %s: %s%s", text, code, out, errs)
		}
	}
	// An exam does not go on with another prompt than it began with.
	write := func(text string) {
		if err := os.WriteFile(template, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("OWN {{.Identity}}")
	h.run("eval", "-m", "m", "--suite", "smoke", "--prompt", "own.tmpl", "--budget", "1200")
	write("OTHER {{.Identity}}")
	if out, errs, code := h.run("eval", "--resume", "last"); code != "2" || out != "" || !strings.Contains(errs, "have changed since") {
		t.Errorf("exit %s: %s%s", code, out, errs)
	}
	write("OWN {{.Identity}}")
	if out, errs, code := h.run("eval", "--resume", "last"); code != "0" || !strings.Contains(out, "12/12 100%") {
		t.Errorf("exit %s: %s%s", code, out, errs)
	}
	if _, errs, code := h.run("eval", "-m", "m", "--suite", "smoke", "--prompt", "gone.tmpl"); code != "2" || !strings.Contains(errs, "gone.tmpl") {
		t.Errorf("exit %s: %s", code, errs)
	}
}

// A model has a score only after an exam that came to its end, with the prompt that
// every run has.
func TestScores(t *testing.T) {
	t.Parallel()
	h := newHome(t, newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1}).placed)
	h.configure("[models.mine]\nprovider = \"ollama\"\nmodel = \"m\"\n")
	if err := os.WriteFile(filepath.Join(h.dir, "own.tmpl"), []byte("{{.Identity}} {{.Tools}} {{.Call}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		command []string
		scores  map[string]string // of m and mine
	}{
		{nil, map[string]string{}},
		{[]string{"-m", "m", "--budget", "100"}, map[string]string{}},
		{[]string{"-m", "m", "--prompt", "own.tmpl"}, map[string]string{"m:latest": "12 of 12 smoke"}},
		{[]string{"-m", "mine", "--form", "invoke"}, map[string]string{"m:latest": "12 of 12 smoke", "mine": "12 of 12 smoke, invoke"}},
	} {
		if step.command != nil {
			h.run(append([]string{"eval", "--suite", "smoke"}, step.command...)...)
		}
		out, errs, code := h.run("models")
		if code != "0" || strings.Contains(out, "SCORE") != (len(step.scores) > 0) {
			t.Errorf("after %v: exit %s: %s%s", step.command, code, out, errs)
		}
		for line := range strings.Lines(out) {
			name, _, _ := strings.Cut(line, " ")
			if want, row := step.scores[name], name != "NAME" && name != "\n"; row && (strings.Contains(line, "12 of 12") != (want != "") || !strings.HasSuffix(strings.TrimRight(line, " \n"), want)) {
				t.Errorf("after %v, want %q: %s", step.command, want, line)
			}
		}
		out, _, _ = h.run("models", "--json")
		var all []struct {
			Name  string
			Score *struct{ Exam string }
		}
		if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 2 {
			t.Fatalf("%v: %s", err, out)
		}
		for _, m := range all {
			if (m.Score != nil) != (step.scores[m.Name] != "") {
				t.Errorf("after %v: %s", step.command, out)
			}
			if m.Score == nil {
				continue
			}
			if shown, _, _ := h.run("eval", "show", m.Score.Exam); strings.Contains(shown, "own.tmpl") {
				t.Errorf("the score is that of another prompt: %s", shown)
			}
		}
	}
}

// No document has a score of a model: nobody has measured one here.
func TestNoScoresInDocuments(t *testing.T) {
	t.Parallel()
	model := regexp.MustCompile(`(?i)\b(qwen|llama ?[0-9]|llama[0-9]|gemma|mistral|phi-?[0-9]|granite|hermes|gpt-[0-9o]|claude|deepseek|smollm|command-r)`)
	rate := regexp.MustCompile(`\b\d+(\.\d+)? ?%|\b\d+ of \d+\b|\b\d+/\d+ \d+%`)
	if line := "| qwen3:8b | 41 of 92 |"; !model.MatchString(line) || !rate.MatchString(line) {
		t.Error("the expressions find nothing")
	}
	all, err := filepath.Glob("../../docs/*.md")
	more, err2 := filepath.Glob("../../docs/decisions/*.md")
	if err != nil || err2 != nil || len(all) < 10 {
		t.Fatalf("%v, %v: %v", err, err2, all)
	}
	for _, name := range slices.Concat(all, more, []string{"../../README.md", "../../CHANGELOG.md"}) {
		if filepath.Base(name) == "benchmarks.md" { // of programs, measured
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			if model.MatchString(line) && rate.MatchString(line) {
				t.Errorf("%s:%d names a model and a rate: %s", name, n, line)
			}
		}
	}
}

// In JSON there is one object on stdout, whatever happens: what was reached, and the
// error.
func TestEvalJSON(t *testing.T) {
	t.Parallel()
	h := newHome(t, newSchool(t, evaltest.Student{Suite: eval.Smoke(), P: 1}).placed)
	for _, tt := range []struct {
		args        []string
		code, fault string
		exams       int
	}{
		{[]string{"-m", "m", "--suite", "smoke"}, "0", "", 1},
		{[]string{"-m", "m", "--suite", "smoke", "--budget", "100"}, "5", "budget", 1},
		{[]string{"-m", "m", "--suite", "gone.yaml"}, "2", "usage", 0},
		{[]string{"-m", "m", "--budget", "x"}, "2", "usage", 0},
		{[]string{"--resume", "gone"}, "2", "usage", 0},
		{[]string{"nonsense"}, "2", "usage", 0},
	} {
		out, errs, code := h.run(append([]string{"eval", "--json"}, tt.args...)...)
		var printed struct {
			Exams, Comparisons []any
			Error              *struct{ Code string }
		}
		if err := json.Unmarshal([]byte(out), &printed); err != nil || code != tt.code || printed.Exams == nil || len(printed.Exams) != tt.exams || printed.Comparisons == nil ||
			(printed.Error != nil) != (tt.fault != "") || tt.fault != "" && (printed.Error.Code != tt.fault || errs == "") {
			t.Errorf("%v: exit %s, %v: %s%s", tt.args, code, err, out, errs)
		}
	}
}

// An exam of which something cannot be read is reported with what to do about it.
func TestEvalDamaged(t *testing.T) {
	t.Parallel()
	h := newHome(t, newSchool(t, evaltest.Student{Suite: eval.Smoke()}).placed)
	h.run("eval", "-m", "m", "--suite", "smoke", "--budget", "1")
	for _, name := range []string{"suite.yaml", "log.jsonl", "exam.json"} {
		found, err := filepath.Glob(filepath.Join(h.dir, "data", "mylm", "eval", "*", name))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		if err := os.WriteFile(found[0], []byte("[}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range [][]string{{"--resume", "last"}, {"show"}} {
			_, errs, code := h.run(append([]string{"eval"}, command...)...)
			if code != "1" || !strings.Contains(errs, name) || !strings.Contains(errs, "rm -r "+filepath.Dir(found[0])) {
				t.Errorf("%s, %v: exit %s: %s", name, command, code, errs)
			}
		}
	}
	dirs, _ := filepath.Glob(filepath.Join(h.dir, "data", "mylm", "eval", "*"))
	if err := os.Remove(filepath.Join(dirs[0], "summary.json")); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := h.run("eval", "show", filepath.Base(dirs[0])[:12]); code != "1" || !strings.Contains(errs, "rm -r "+dirs[0]) {
		t.Errorf("without a summary: exit %s: %s", code, errs)
	}
}

// What a file of a user's own says reaches the terminal without control characters, and
// an error names what was given.
func TestEvalOwnFiles(t *testing.T) {
	t.Parallel()
	h := newHome(t, newSchool(t, evaltest.Student{Suite: eval.Core()}).placed)
	suite := "suite: \"shop\\e[31m\"\ntasks:\n  - {id: t, category: \"c\\e[31m\", question: Say it., check: {answer: {all: [x]}}, right: [x], wrong: [[y], [z]]}\n"
	for name, text := range map[string]string{"own.yaml": suite, "bad.yaml": "suite: 7 8: 9\n"} {
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"-m", "m", "--suite", "own.yaml", "--markdown"}, {"-m", "m", "--suite", "own.yaml"}, {"show", "--markdown"}} {
		if out, errs, code := h.run(append([]string{"eval"}, args...)...); code != "0" || strings.Contains(out+errs, "\x1b") {
			t.Errorf("%v: exit %s: %q %q", args, code, out, errs)
		}
	}
	for _, tt := range []struct {
		args    []string
		has, no string
	}{
		{[]string{"check", "bad.yaml"}, "bad.yaml", "--suite"},
		{[]string{"-m", "m", "--suite", "bad.yaml"}, "bad.yaml: yaml", "---"},
		{[]string{"-m", "m", "--prompt", "none.tmpl"}, "--prompt: ", "---"},
		{[]string{"show", "2"}, "Type more", "---"},
		{[]string{"show", "--chart", "none/x.svg"}, "Name a file in a directory that is there", "---"},
	} {
		_, errs, code := h.run(append([]string{"eval"}, tt.args...)...)
		if code != "2" || !strings.Contains(errs, tt.has) || strings.Contains(errs, tt.no) {
			t.Errorf("%v: exit %s: %s", tt.args, code, errs)
		}
	}
}
