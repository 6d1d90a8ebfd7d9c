//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// placed is a server with Ollama's wire format and a model m. The number of replies
// in the conversation selects the next one. "hang" sends one word and then nothing.
type placed struct {
	*httptest.Server
	replies []string

	mu      sync.Mutex
	handler http.Handler
	by      func(system, last string) string // what it replies instead; nil: that
	asked   []int                            // for which reply
	closed  chan struct{}
}

func newPlaced(t *testing.T, replies ...string) *placed {
	p := &placed{replies: replies, closed: make(chan struct{}, 10)}
	const details = `"details":{"format":"gguf","family":"llama","families":["llama"],"parameter_size":"1B","quantization_level":"Q4_0"}`
	const list = `{"models":[{"name":"m:latest","model":"m:latest","size":1,"size_vram":1,"digest":"0","context_length":32768,"expires_at":"2100-01-01T00:00:00Z",` + details + `}]}`
	mux := http.NewServeMux()
	for path, text := range map[string]string{
		"/api/show":    `{"capabilities":["completion"],"model_info":{"general.architecture":"llama","llama.context_length":32768},"template":"{{ .Prompt }}",` + details + `}`,
		"/api/ps":      list,
		"/api/tags":    list,
		"/api/version": `{"version":"0.32.15"}`,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, text)
		})
	}
	mux.HandleFunc("POST /api/chat", p.chat)
	p.handler = mux
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.served().ServeHTTP(w, r) }))
	t.Cleanup(p.Close)
	return p
}

// served is what answers requests.
func (p *placed) served() http.Handler {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.handler
}

// serveWith changes that.
func (p *placed) serveWith(h http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handler = h
}

func (p *placed) chat(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n := 0
	for _, m := range request.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	p.mu.Lock()
	p.asked = append(p.asked, n)
	var text string
	if p.by != nil {
		last := len(request.Messages) - 1
		if strings.HasPrefix(request.Messages[last].Content, "You were interrupted") {
			last -= 2 // behind the question and what came of it
		}
		text = p.by(request.Messages[0].Content, request.Messages[last].Content)
	} else {
		text = p.replies[min(n, len(p.replies)-1)]
	}
	p.mu.Unlock()
	hang := text == "hang"
	w.Header().Set("Content-Type", "application/x-ndjson")
	for _, piece := range strings.SplitAfter(text, "\n") {
		line, _ := json.Marshal(map[string]any{"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": map[string]string{"role": "assistant", "content": piece}, "done": false})
		_, _ = w.Write(append(line, '\n'))
		w.(http.Flusher).Flush()
	}
	if hang {
		<-r.Context().Done()
		p.closed <- struct{}{}
		return
	}
	_, _ = io.WriteString(w, `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":5}`+"\n")
}

// answers sets a function that makes replies from the system prompt and the last
// message.
func (p *placed) answers(by func(system, last string) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.by = by
}

// says changes a reply.
func (p *placed) says(i int, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replies[i] = text
}

// questions are the numbers of the replies that were requested.
func (p *placed) questions() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// home is a directory in which the commands of a test share their sessions.
type home struct {
	t    *testing.T
	dir  string
	host string
}

// newHome is a home whose sessions are replayed at the end of the test.
func newHome(t *testing.T, p *placed) *home {
	h := &home{t, t.TempDir(), p.URL}
	t.Cleanup(h.replays)
	return h
}

func (h *home) command(args ...string) *exec.Cmd {
	cmd := exec.Command("mylm", args...)
	cmd.Dir = h.dir
	cmd.Env = append(os.Environ(), "HOME="+h.dir, "XDG_CONFIG_HOME="+h.dir+"/config", "XDG_DATA_HOME="+h.dir+"/data", "MYLM_SANDBOX=off", "MYLM_UNASKED=readers",
		"OLLAMA_HOST="+h.host, "TERM=xterm", "NO_COLOR=", "CI=", "MYLM_MODEL=m", "MYLM_NO_SAVE=")
	return cmd
}

// run runs a command to its end.
func (h *home) run(args ...string) (out, errs, code string) {
	h.t.Helper()
	cmd := h.command(args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	code = exitWithin(h.t, cmd)
	return o.String(), e.String(), code
}

func (h *home) read(name string) string {
	b, _ := os.ReadFile(filepath.Join(h.dir, name)) // what is not there is empty
	return string(b)
}

// session is the id of the only session.
func (h *home) session() string {
	h.t.Helper()
	out, errs, _ := h.run("sessions", "list", "--json", "--global")
	var all []struct{ ID string }
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 1 {
		h.t.Fatalf("%v: %s%s", err, out, errs)
	}
	return all[0].ID
}

func shellCall(command string) string {
	args, _ := json.Marshal(map[string]string{"command": command})
	return "<tool_code>\n<name>execute_command</name>\n<parameters>" + string(args) + "</parameters>\n</tool_code>"
}

// A run killed at any moment is resumed to the same answer, and nothing that
// has an effect happens twice.
func TestKilled(t *testing.T) {
	t.Parallel()
	kills := 5
	if os.Getenv("MYLM_SLOW") != "" {
		kills = 50
	}
	var replies []string
	for i := range 5 {
		replies = append(replies, fmt.Sprintf("Step %d.\n", i)+shellCall(fmt.Sprintf("echo %d >> log; sleep 0.02", i)))
	}
	replies = append(replies, "All steps\nare done.")
	p := newPlaced(t, replies...)
	first := newHome(t, p)
	start := time.Now()
	out, errs, code := first.run("ask", "--yes", "go")
	whole := time.Since(start)
	if out != "All steps\nare done.\n" || code != "0" || first.read("log") != "0\n1\n2\n3\n4\n" {
		t.Fatalf("exit %s, %q, %s, log %q", code, out, errs, first.read("log"))
	}
	source := rand.New(rand.NewPCG(1, uint64(kills)))
	told := 0
	for i := range kills {
		h := newHome(t, p)
		args := []string{"ask", "--yes", "go"}
		for range 1 + i%3 { // some are killed again when they go on
			cmd := h.command(args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			after := time.AfterFunc(time.Duration(source.Int64N(int64(whole))), func() { _ = cmd.Process.Kill() })
			_ = cmd.Wait()
			after.Stop()
			if list, _, _ := h.run("sessions", "list"); list != "" {
				args = []string{"resume", "--yes"}
			}
		}
		out, errs, code := h.run(args...)
		if code == "2" && strings.Contains(errs, "was answered") { // it was killed behind its end
			out, _, code = h.run("resume", "last", "go on")
		}
		if out != "All steps\nare done.\n" || code != "0" {
			t.Fatalf("kill %d: exit %s, %q, %s", i, code, out, errs)
		}
		log := h.read("log")
		for n := range 5 {
			if c := strings.Count(log, fmt.Sprintf("%d\n", n)); c > 1 {
				t.Errorf("kill %d: step %d ran %d times: %q", i, n, c, log)
			}
		}
		shown, _, _ := h.run("sessions", "show")
		unknown := strings.Count(shown, "its outcome is unknown")
		told += unknown
		if missing := 5 - strings.Count(log, "\n"); missing > unknown {
			t.Errorf("kill %d: %d steps are missing, and the model knows of %d: %q", i, missing, unknown, log)
		}
		if out, errs, code := h.run("replay"); code != "0" {
			t.Errorf("kill %d: replay exits %s: %s%s", i, code, out, errs)
		}
	}
	t.Logf("%d kills over %v; %d calls of unknown outcome", kills, whole, told)
}

// The first signal ends the model call at once, and the session can be resumed.
func TestInterruptedModel(t *testing.T) {
	t.Parallel()
	for advice, workspace := range map[string][]string{"": nil, " --workspace 'my project'": {"--workspace", "my project"}} {
		t.Run("resume"+advice, func(t *testing.T) {
			p := newPlaced(t, "I look.\n"+`<tool_code><name>list_dir</name><parameters>{}</parameters></tool_code>`, "hang")
			h := newHome(t, p)
			if err := os.Mkdir(filepath.Join(h.dir, "my project"), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := h.command(append([]string{"ask", "-o", "ndjson", "go"}, workspace...)...)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool { return len(p.questions()) == 2 })
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			select {
			case <-p.closed:
			case <-time.After(patience):
				t.Error("the server does not see the end of the call")
			}
			rest, _ := io.ReadAll(out)
			if code := exitWithin(t, cmd); code != "130" || !strings.Contains(string(rest), `"stop_reason":"interrupted"`) || !strings.Contains(string(rest), `{"type":"failure"`) {
				t.Errorf("exit %s, %s", code, rest)
			}
			if !strings.Contains(string(rest), `"hint":"To go on: mylm resume `+h.session()+advice+`"`) {
				t.Errorf("no advice in %s", rest)
			}
			if list, _, _ := h.run("sessions", "list", "--global"); !strings.Contains(list, "  interrupted  ") {
				t.Errorf("listed %q", list)
			}
			p.says(1, "Done.")
			if out, errs, code := h.run(append([]string{"resume", h.session()}, workspace...)...); out != "Done.\n" || code != "0" {
				t.Errorf("exit %s, %q, %s", code, out, errs)
			}
			// The reply that was interrupted is in the session if any of it had come.
			if asked := p.questions(); len(asked) != 3 || asked[1] != 1 || asked[2] < 1 {
				t.Errorf("asked for the replies %v", p.questions())
			}
		})
	}
}

// The first signal ends the tool and everything that it started; the second one
// ends mylm at once.
func TestInterruptedTool(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command string
		signals []os.Signal // different ones: two of a kind that wait are one to the system
	}{
		"one":                       {`echo $$ > pid; sleep 1000 & echo $! >> pid; wait`, []os.Signal{syscall.SIGINT}},
		"two, and it does not heed": {`trap "" TERM INT; echo $$ > pid; while :; do sleep 1; done`, []os.Signal{syscall.SIGINT, syscall.SIGTERM}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, newPlaced(t, shellCall(test.command), "Done."))
			cmd := h.command("ask", "--yes", "go")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool {
				return strings.Contains(h.read("pid"), "\n") && (len(test.signals) == 2 || strings.Count(h.read("pid"), "\n") == 2)
			})
			t.Cleanup(func() { // where the test fails
				for _, line := range strings.Fields(h.read("pid")) {
					var pid int
					if _, err := fmt.Sscan(line, &pid); err == nil && pid > 1 {
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				}
			})
			for _, s := range test.signals {
				if err := cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Fatal(err)
				}
			}
			if code := exitWithin(t, cmd); code != "130" {
				t.Errorf("exit %s", code)
			}
			if len(test.signals) > 1 {
				return
			}
			for _, line := range strings.Fields(h.read("pid")) {
				var pid int
				_, _ = fmt.Sscan(line, &pid)
				eventually(t, func() bool { return syscall.Kill(pid, 0) != nil })
			}
			shown, _, _ := h.run("sessions", "show")
			if !strings.Contains(shown, "Result of execute_command (failed)") || !strings.Contains(shown, "End: interrupted") {
				t.Errorf("recorded %s", shown)
			}
			if out, errs, code := h.run("resume"); out != "Done.\n" || code != "0" {
				t.Errorf("exit %s, %q, %s", code, out, errs)
			}
		})
	}
}

// A closed stdout ends the run, and the session is complete.
func TestReaderLeaves(t *testing.T) {
	t.Parallel()
	p := newPlaced(t, shellCall("echo x >> log; sleep 0.2"), shellCall("echo y >> log; sleep 0.2"), "Done.")
	h := newHome(t, p)
	cmd := h.command("ask", "-o", "ndjson", "--yes", "go")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	out.Close()
	if code := exitWithin(t, cmd); code == "0" {
		t.Errorf("exit %s", code)
	}
	if list, _, _ := h.run("sessions", "list"); !strings.Contains(list, "  interrupted  ") {
		t.Errorf("listed %q", list)
	}
	if out, errs, code := h.run("resume", "--yes"); out != "Done.\n" || code != "0" || strings.Count(h.read("log"), "x") > 1 {
		t.Errorf("exit %s, %q, %s, log %q", code, out, errs, h.read("log"))
	}
}

// Two processes cannot resume one session at the same time.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlaced(t, "Hello.", "hang")
	h := newHome(t, p)
	if _, errs, code := h.run("ask", "go"); code != "0" {
		t.Fatalf("exit %s, %s", code, errs)
	}
	id := h.session()
	cmd := h.command("resume", id[:6], "and now?")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return len(p.questions()) == 2 })
	for _, args := range [][]string{{"resume", id, "me too"}, {"ask", "--continue", "me too"}, {"sessions", "rm", id}} {
		out, errs, code := h.run(args...)
		if code != "2" || out != "" || !strings.Contains(errs, "in use by another process") {
			t.Errorf("%v: exit %s, %q, %q", args, code, out, errs)
		}
	}
	if list, _, _ := h.run("sessions", "list"); !strings.Contains(list, "  running  ") {
		t.Errorf("listed %q", list)
	}
	if shown, errs, code := h.run("sessions", "show", id); code != "0" || !strings.Contains(shown, "and now?") {
		t.Errorf("exit %s, %s%s", code, shown, errs)
	}
	_ = cmd.Process.Signal(syscall.SIGINT)
	if code := exitWithin(t, cmd); code != "130" {
		t.Errorf("exit %s", code)
	}
	p.says(1, "Yes.")
	if out, errs, code := h.run("resume", id, "me too"); code != "0" || out != "Yes.\n" {
		t.Errorf("exit %s, %q, %s", code, out, errs)
	}
}

// Questions that are asked at the same time, each by a process, are all answered,
// kept and remembered.
func TestAsksAtOnce(t *testing.T) {
	t.Parallel()
	asks := 20
	if os.Getenv("MYLM_SLOW") != "" {
		asks = 300
	}
	h := newHome(t, newPlaced(t, "Noted."))
	var wg sync.WaitGroup
	for i := range asks {
		wg.Go(func() {
			if out, errs, code := h.run("ask", fmt.Sprintf("remember the number %d", 1000+i)); code != "0" || out != "Noted.\n" || strings.Contains(errs, "not ") {
				t.Errorf("exit %s, %q, %s", code, out, errs)
			}
		})
	}
	wg.Wait()
	sessions, _, _ := h.run("sessions", "list", "--limit", "0")
	memory, _, _ := h.run("memory", "list", "--limit", "0")
	for i := range asks {
		question := fmt.Sprintf("remember the number %d", 1000+i)
		if strings.Count(sessions, question) != 1 || strings.Count(memory, question) != 1 {
			t.Errorf("%q is in the list of sessions %d times, in the memory %d times", question, strings.Count(sessions, question), strings.Count(memory, question))
		}
	}
}

// A session that today's engine reads differently cannot be continued without a
// question; the hint names the command.
func TestResumeDiverged(t *testing.T) {
	t.Parallel()
	p := newPlaced(t, `<tool_code><name>list_dir</name><parameters>{}</parameters></tool_code>`, "Done.")
	h := &home{t, t.TempDir(), p.URL} // its replay differs
	if _, errs, code := h.run("ask", "go"); code != "0" {
		t.Fatal(errs)
	}
	id := h.session()
	path := filepath.Join("data", "mylm", "sessions", id+".jsonl")
	text := h.read(path)
	text = text[:strings.Index(text, `{"session":"`+id+`","seq":5`)] // behind the call
	text = strings.Replace(text, `"name":"list_dir","args"`, `"name":"read_file","args"`, 1)
	text = strings.Replace(sum.ReplaceAllString(text, ""), `"version":2`, `"version":1`, 1) // which has no checksums
	if err := os.WriteFile(filepath.Join(h.dir, path), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, code := h.run("resume", id)
	if code != "1" || !strings.Contains(errs, "a question of your own\n  To ask it: mylm resume "+id+` "..."`) || strings.Contains(errs, "fixed") {
		t.Errorf("exit %s, %s", code, errs)
	}
	if out, errs, code := h.run("resume", id, "and now?"); out != "Done.\n" || code != "0" {
		t.Errorf("exit %s, %q, %s", code, out, errs)
	}
}
