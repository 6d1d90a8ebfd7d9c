//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// serving starts mylm serve and returns its address, and what ends it: the exit code.
func serving(t testing.TB, env []string, args ...string) (base string, stop func() int) {
	t.Helper()
	return servingTo(t, io.Discard, env, args...)
}

// servingTo is the same with what the server prints, which is whole when it has stopped.
func servingTo(t testing.TB, log io.Writer, env []string, args ...string) (base string, stop func() int) {
	t.Helper()
	c := command(t, nil, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	c.Env = append(append(c.Env, "MYLM_MODEL="), env...)
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	r := bufio.NewReader(stderr)
	for base == "" {
		line, err := r.ReadString('\n')
		if m := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line); m != "" && strings.HasPrefix(line, "mylm serves ") {
			base = m
		} else if err != nil {
			t.Fatal("no address", err)
		}
	}
	printed := make(chan struct{})
	go func() { defer close(printed); _, _ = io.Copy(log, r) }()
	return base, func() int {
		_ = c.Process.Signal(os.Signal(syscall.SIGTERM))
		<-printed
		_ = c.Wait()
		return c.ProcessState.ExitCode()
	}
}

// A server whose models cannot answer says so at its start, not only when it is asked.
func TestServeWithoutOllama(t *testing.T) {
	for _, args := range [][]string{nil, {"-m", "qwen3:8b"}} {
		var log strings.Builder
		read, write := io.Pipe()
		late := time.AfterFunc(patience, func() { write.Close() })
		_, stop := servingTo(t, write, []string{"OLLAMA_HOST=127.0.0.1:1"}, args...)
		for lines := bufio.NewScanner(read); !strings.Contains(log.String(), "ollama serve") && lines.Scan(); {
			log.WriteString(lines.Text() + "\n")
		}
		go func() { _, _ = io.Copy(io.Discard, read) }()
		stop()
		if late.Stop(); !strings.Contains(log.String(), "no Ollama server answers at http://127.0.0.1:1") {
			t.Errorf("%v: %s", args, log.String())
		}
	}
}

// What the operator can do about a backend that fails is told to the operator, once.
func TestServeAdvises(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	base, stop := servingTo(t, &log, []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=http://127.0.0.1:1/v1"}, "-m", "openai/gpt-4o")
	for range 2 {
		resp, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"x","messages":[{"role":"user","content":"x"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 502 || strings.Contains(string(text), "OPENAI_BASE_URL") {
			t.Errorf("%d %s", resp.StatusCode, text)
		}
	}
	stop()
	if n := strings.Count(log.String(), "mylm: a request of x failed: "); n != 1 {
		t.Errorf("%d times: %s", n, log.String())
	}
}

// An address that is taken is told once, with what to do.
func TestServeAddressInUse(t *testing.T) {
	t.Parallel()
	base, stop := serving(t, nil, "-m", "demo")
	defer stop()
	addr := strings.TrimPrefix(base, "http://")
	for _, args := range [][]string{{"serve", "-m", "demo", "--addr"}, {"mcp", "serve", "--http"}} {
		out, err := command(t, nil, append(args, addr)...).CombinedOutput()
		if text := string(out); exitCode(err) != "1" || strings.Count(text, addr) != 1 || !strings.Contains(text, "listens there already") || !strings.Contains(text, args[len(args)-1]+" 127.0.0.1:0") {
			t.Errorf("%v: %v: %s", args, err, text)
		}
	}
}

// A call of the demo model comes out of each API; the server ends by itself when it is told.
func TestServe(t *testing.T) {
	base, stop := serving(t, nil, "-m", "demo")
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"any","messages":[{"role":"user","content":"what files are here?"}],"tools":[{"type":"function","function":{"name":"list_dir","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}]}`,
		"/v1/responses":        `{"model":"any","input":"what files are here?","tools":[{"type":"function","name":"list_dir","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}]}`,
		"/v1/messages":         `{"model":"any","max_tokens":100,"messages":[{"role":"user","content":"what files are here?"}],"tools":[{"name":"list_dir","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}]}`,
		"/api/chat":            `{"model":"any","stream":false,"messages":[{"role":"user","content":"what files are here?"}],"tools":[{"type":"function","function":{"name":"list_dir","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}]}`,
	} {
		resp, err := http.Post(base+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || !strings.Contains(string(text), `"name":"list_dir"`) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, text)
		}
	}
	if code := stop(); code != 0 {
		t.Errorf("it ends with %d", code)
	}
}

// Only what the configuration and Ollama have, and the demo, can be asked by name: no file is read, and no
// service is asked, at the word of another program.
func TestServedModels(t *testing.T) {
	ollama := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if known := map[string]string{
			"/api/tags": `{"models":[{"name":"one:latest","model":"one:latest"}]}`, "/api/ps": `{"models":[]}`, "/api/version": `{"version":"0.32.15"}`,
			"/api/show": `{"capabilities":["completion"],"model_info":{}}`,
		}[r.URL.Path]; known != "" {
			_, _ = io.WriteString(w, known)
			return
		}
		w.WriteHeader(404)
		_, _ = io.WriteString(w, `{"error":"model 'x' not found"}`)
	}))
	defer ollama.Close()
	base, stop := serving(t, []string{"OPENAI_API_KEY=sk-test", "KEY=k"}, "--host", ollama.URL, "--key-env", "KEY")
	ask := func(method, path, body string) (int, string) {
		r, _ := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer k")
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	if code, text := ask("GET", "/v1/models", ""); code != 200 || !strings.Contains(text, `"id":"one"`) || !strings.Contains(text, `"id":"demo"`) {
		t.Errorf("%d %s", code, text)
	}
	for _, name := range []string{"openai/gpt-4o", "scripted//etc/passwd", "missing"} {
		if code, text := ask("POST", "/v1/chat/completions", `{"model":"`+name+`","messages":[{"role":"user","content":"x"}]}`); code != 404 || !strings.Contains(text, name) {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	if code, text := ask("POST", "/v1/chat/completions", `{"model":"demo","messages":[{"role":"user","content":"what is 2 + 3?"}]}`); code != 200 || !strings.Contains(text, "2 + 3 = 5") {
		t.Errorf("demo: %d %s", code, text)
	}
	resp, err := http.Get(base + "/v1/models")
	if err != nil || resp.StatusCode != 401 {
		t.Errorf("without the key: %v %v", resp, err)
	}
	if err == nil {
		resp.Body.Close()
	}
	stop()
}

// Opening a model may take its server's answer: the requests of other models do not wait
// for it.
func TestServedModelsOpenApart(t *testing.T) {
	t.Parallel()
	free, asked := make(chan struct{}), make(chan struct{}, 100)
	backend := newPlaced(t, "Hello.")
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "slow") {
			asked <- struct{}{}
			<-free
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		backend.Config.Handler.ServeHTTP(w, r)
	}))
	defer slow.Close()
	base, stop := serving(t, nil, "--host", slow.URL, "--form", "auto")
	defer stop()
	defer close(free)
	ask := func(model string) (string, error) {
		resp, err := http.Post(base+"/api/chat", "application/json", strings.NewReader(`{"model":"`+model+`","stream":false,"messages":[{"role":"user","content":"x"}]}`))
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return string(text), err
	}
	go func() { _, _ = ask("slow") }()
	<-asked
	if text, err := ask("quick"); err != nil || !strings.Contains(text, "Hello.") {
		t.Errorf("%s %v", text, err)
	}
}

// The form of calls that a model was trained for is found once its backend answers, also
// if it did not at first.
func TestServedFormLater(t *testing.T) {
	t.Parallel()
	o := newPlaced(t, "Hello.")
	var mu sync.Mutex
	down, system := true, ""
	o.watch(func(body []byte) {
		mu.Lock()
		defer mu.Unlock()
		system = firstMessage(t, bytes.NewReader(body))
	})
	o.shows(func() string {
		mu.Lock()
		defer mu.Unlock()
		if down {
			return ""
		}
		return "<tool_call>\n{\"name\": <function-name>}"
	})
	base, stop := serving(t, nil, "--host", o.URL, "--form", "auto", "-m", "m")
	defer stop()
	for _, now := range []bool{true, false} {
		mu.Lock()
		down = now
		mu.Unlock()
		resp, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"any","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		mu.Lock()
		if resp.StatusCode != 200 || strings.Contains(system, "fences:\n<tool_call>\n{") == now {
			t.Errorf("without an answer about the model %v: %d, %s", now, resp.StatusCode, system)
		}
		mu.Unlock()
	}
}

// Where the configuration has models, any other name is one of Ollama's: unknown as long as
// there is no Ollama, and merely out of reach once it has answered.
func TestServedOllamaGone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte("[models.far]\nprovider = \"openai\"\nmodel = \"x\"\nkey = \"k\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := newPlaced(t, "Hello.")
	base, stop := serving(t, []string{"MYLM_CONFIG=" + file}, "--host", o.URL)
	defer stop()
	status := func() int {
		resp, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"x"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	if code := status(); code != 200 {
		t.Fatal(code)
	}
	o.Close()
	if code := status(); code != 502 {
		t.Errorf("without the server that has answered: %d", code)
	}
}

// Who runs the server is told once what keeps a model from answering that only Ollama could have.
func TestServedOllamaMissing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte("[models.far]\nprovider = \"openai\"\nmodel = \"x\"\nkey = \"k\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	base, stop := servingTo(t, &log, []string{"MYLM_CONFIG=" + file, "OLLAMA_HOST=127.0.0.1:1"})
	for range 2 {
		resp, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"x"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 404 || strings.Contains(string(text), "ollama serve") {
			t.Errorf("%d %s", resp.StatusCode, text)
		}
	}
	if stop(); strings.Count(log.String(), `"m" is not in the configuration`) != 1 || strings.Count(log.String(), "ollama serve") != 1 {
		t.Error(log.String())
	}
}

// A server that is told to stop ends what it still answers after a while with an error.
func TestServedStop(t *testing.T) {
	t.Parallel()
	base, stop := serving(t, nil, "--host", newFaulty(t, ever, stays(says("Half an ans"))).URL)
	resp, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(strings.Replace(servedBodies["/v1/chat/completions"], "STREAM", "true", 1)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	code := make(chan int)
	go func() { code <- stop() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(text), "Half") || !strings.Contains(string(text), `"code":"server_stopping"`) || strings.Contains(string(text), "[DONE]") {
		t.Errorf("%s %v", text, err)
	}
	if n := <-code; n != 0 {
		t.Errorf("it ends with %d", n)
	}
}

// The key of a backend is in no reply and no line of the log, even if the backend repeats
// it; what was asked is in the log if that is wanted, and not otherwise.
func TestServedLog(t *testing.T) {
	t.Parallel()
	const key = "sk-proj-Zk3vT9qLw2Xy7Rb5Nd8Hf4Jm6Pc1Sg0A"
	var sent atomic.Bool
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Store(r.Header.Get("Authorization") == "Bearer "+key)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"message":"the request with the key `+key+` is bad"}}`)
	}))
	defer backend.Close()
	file := filepath.Join(t.TempDir(), "config.toml")
	config := fmt.Sprintf("[models.m]\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = %q\nkey = %q\n", backend.URL+"/v1", key)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for flag, contents := range map[string]bool{"--log-requests": false, "--log-contents": true} {
		var log strings.Builder
		base, stop := servingTo(t, &log, []string{"MYLM_CONFIG=" + file}, "--host", "http://127.0.0.1:1", flag)
		for path, body := range servedBodies {
			resp, err := http.Post(base+path, "application/json", strings.NewReader(strings.NewReplacer("STREAM", "true", `"q"`, `"the secret question"`).Replace(body)))
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != 400 || strings.Contains(string(text), key) || !strings.Contains(string(text), "is bad") {
				t.Errorf("%s: %d %s", path, resp.StatusCode, text)
			}
		}
		resp, err := http.Get(base + "/%1b%5d0;x%07%0afake%20line")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		stop()
		if !regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d POST`).MatchString(log.String()) {
			t.Errorf("%s: no line begins with date and time: %s", flag, log.String())
		}
		if printed := log.String(); strings.Contains(printed, "\nfake") || strings.Contains(printed, key) || strings.Count(printed, "POST /") != len(servedBodies) || strings.Contains(printed, "the secret question") != contents || !sent.Load() {
			t.Errorf("%s, the key was sent %v: %s", flag, sent.Load(), printed)
		}
	}
}

// The settings for a program are those of docs/serve.md, and say whether the model's
// window has room for what the program sends.
func TestServeFor(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "serve.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clients {
		text := strings.NewReplacer("{BASE}", "http://"+defaultServeAddress, "{MODEL}", "qwen3:8b", "{KEY}", "mylm").Replace(c.settings)
		if !strings.Contains(string(doc), text) {
			t.Errorf("docs/serve.md does not have these settings for %s:\n%s", c.name, text)
		}
	}
	for window, small := range map[int]bool{8192: true, 65536: false} {
		backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, map[string]string{
				"/api/tags": `{"models":[{"name":"m:latest","model":"m:latest"}]}`, "/api/ps": fmt.Sprintf(`{"models":[{"name":"m:latest","model":"m:latest","context_length":%d}]}`, window),
				"/api/version": `{"version":"0.32.15"}`, "/api/show": fmt.Sprintf(`{"capabilities":["completion"],"model_info":{"general.architecture":"x","x.context_length":%d}}`, window),
			}[r.URL.Path])
		}))
		defer backend.Close()
		c := command(t, nil, "serve", "--for", "claude", "--host", backend.URL, "--num-ctx", fmt.Sprint(window))
		c.Env = append(c.Env, "MYLM_MODEL=")
		out, err := c.CombinedOutput()
		if says := fmt.Sprintf("the window of m:latest holds %d", window); err != nil || strings.Contains(string(out), says) != small || !strings.Contains(string(out), "ANTHROPIC_MODEL=m\n") {
			t.Errorf("a window of %d: %v\n%s", window, err, out)
		}
	}
}
