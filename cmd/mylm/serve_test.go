//go:build unix

package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// serving starts mylm serve and returns its address, and what ends it: the exit code.
func serving(t testing.TB, env []string, args ...string) (base string, stop func() int) {
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
	go func() { _, _ = io.Copy(io.Discard, r) }()
	return base, func() int {
		_ = c.Process.Signal(os.Signal(syscall.SIGTERM))
		_ = c.Wait()
		return c.ProcessState.ExitCode()
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

// Only what the configuration and Ollama have can be asked by name: no file is read, and no
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
	if code, text := ask("GET", "/v1/models", ""); code != 200 || !strings.Contains(text, `"id":"one"`) {
		t.Errorf("%d %s", code, text)
	}
	for _, name := range []string{"openai/gpt-4o", "scripted//etc/passwd", "demo", "missing"} {
		if code, text := ask("POST", "/v1/chat/completions", `{"model":"`+name+`","messages":[{"role":"user","content":"x"}]}`); code != 404 || !strings.Contains(text, name) {
			t.Errorf("%s: %d %s", name, code, text)
		}
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
