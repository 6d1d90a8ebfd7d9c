package ollamatest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	binaryEnv  = "OLLAMA_TEST_BIN"
	requireEnv = "OLLAMA_TEST_REQUIRED"
)

// Server is a running `ollama serve`, or llama.cpp's server.
type Server struct {
	URL string

	cmd  *exec.Cmd
	log  string        // a file: what is kept in memory would count as the test's
	done chan struct{} // closed when the process is gone
}

// Start runs a server on a free port, with no models and a home of its own,
// until the test ends. env adds to its environment or overrides it
// ("OLLAMA_NUM_PARALLEL=1"). Without a program to run, the test is skipped.
func Start(t testing.TB, env ...string) *Server {
	t.Helper()
	bin, dir := binary(t), tempDir(t)
	address := freePort(t)
	cmd := exec.Command(bin, "serve")
	cmd.Env = append(withoutOllama(os.Environ()),
		"HOME="+dir, // serve makes itself a key pair there
		"OLLAMA_HOST="+address,
		"OLLAMA_MODELS="+filepath.Join(dir, "models"),
		"OLLAMA_NO_CLOUD=1",
		"OLLAMA_KEEP_ALIVE=10m",
		"OLLAMA_CONTEXT_LENGTH=8192",
	)
	cmd.Env = append(cmd.Env, env...)
	return launch(t, cmd, address, "/api/version")
}

// binary is the ollama program to test with.
func binary(t testing.TB) string {
	t.Helper()
	bin := os.Getenv(binaryEnv)
	switch {
	case bin != "" && supported:
	case os.Getenv(requireEnv) != "":
		t.Fatalf("%s is set, but there is no Ollama to test against: set %s=$(scripts/get-ollama DIR)", requireEnv,
			binaryEnv)
	default:
		t.Skipf("no Ollama to test against: set %s=$(scripts/get-ollama DIR)", binaryEnv)
	}
	return bin
}

// tempDir is not t.TempDir: a runner may outlive its parent by a moment, and
// files that appear late fail TempDir's clean-up.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ollamatest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// launch runs a server until the test ends, and returns when it answers at the
// path.
func launch(t testing.TB, cmd *exec.Cmd, address, path string) *Server {
	t.Helper()
	s := &Server{URL: "http://" + address, cmd: cmd, log: filepath.Join(tempDir(t), "log"), done: make(chan struct{})}
	log, err := os.Create(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // the server has its own
	s.cmd.Stdout, s.cmd.Stderr = log, log
	ownGroup(s.cmd)
	if err := s.cmd.Start(); err != nil {
		t.Fatalf("%v (from %s)", err, binaryEnv)
	}
	go func() {
		s.cmd.Wait()
		close(s.done)
	}()
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", cmd.Args, s.logTail(8000))
		}
	})
	s.awaitReady(t, path)
	return s
}

// freePort returns an address on which nobody listens.
func freePort(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (s *Server) awaitReady(t testing.TB, path string) {
	t.Helper()
	const patience = 30 * time.Second
	for deadline := time.Now().Add(patience); ; {
		resp, err := http.Get(s.URL + path)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-s.done:
			t.Fatalf("%s ended: %s", s.cmd.Args, s.logTail(2000))
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not ready after %v: %s", s.cmd.Args, patience, s.logTail(2000))
		}
	}
}

// withoutOllama drops the settings of the developer's own Ollama.
func withoutOllama(env []string) []string {
	var out []string
	for _, e := range env {
		if !strings.HasPrefix(e, "OLLAMA_") && !strings.HasPrefix(e, "HOME=") {
			out = append(out, e)
		}
	}
	return out
}

// Kill ends the server and its runners at once.
func (s *Server) Kill() {
	killGroup(s.cmd)
	<-s.done
}

// KillRunners ends the processes that run models, but not the server. It
// returns how many there were.
func (s *Server) KillRunners() (killed int) {
	for _, pid := range s.Runners() {
		if kill(pid) {
			killed++
		}
	}
	return killed
}

// Runners returns the processes that run models: a model that is loaded again has
// another one.
func (s *Server) Runners() []int { return children(s.cmd.Process.Pid) }

// stop ends the server politely, then what is left of its group.
func (s *Server) stop() {
	interrupt(s.cmd)
	select {
	case <-s.done:
	case <-time.After(10 * time.Second):
	}
	s.Kill()
}

// Log returns what the server and its runners have written so far. It holds how
// many tokens were generated if the server runs with OLLAMA_DEBUG=1.
func (s *Server) Log() string {
	b, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (s *Server) logTail(n int) string {
	b := s.Log()
	return b[max(0, len(b)-n):]
}

// Computed is a model that writes itself: a *scriptmodel.Model or Embedder.
type Computed interface {
	WriteGGUF(*os.File) error
	Template() string // "": none
}

// Create loads a model into the server under a name.
//
// It runs on one thread and no GPU: with more, a tiny model's threads spin
// waiting for each other, 480 ms a token against 1 ms on a busy machine.
func (s *Server) Create(t testing.TB, name string, m Computed) {
	t.Helper()
	s.CreateParsed(t, name, m, "")
}

// CreateParsed is Create for a model whose replies go through one of the
// server's own parsers ("qwen3").
func (s *Server) CreateParsed(t testing.TB, name string, m Computed, parser string) {
	t.Helper()
	file, err := os.ReadFile(writeModel(t, m))
	if err != nil {
		t.Fatal(err)
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(file))
	s.post(t, "/api/blobs/"+digest, bytes.NewReader(file))
	body, err := json.Marshal(map[string]any{
		"model":      name,
		"files":      map[string]string{"model.gguf": digest},
		"template":   m.Template(),
		"parser":     parser,
		"parameters": map[string]any{"num_thread": 1, "num_gpu": 0},
		"stream":     false,
	})
	if err != nil {
		t.Fatal(err)
	}
	if reply := s.post(t, "/api/create", bytes.NewReader(body)); !bytes.Contains(reply, []byte(`"success"`)) {
		t.Fatalf("create %s: %s", name, reply)
	}
}

// writeModel writes a model to a file that is removed when the test ends.
func writeModel(t testing.TB, m Computed) (path string) {
	t.Helper()
	f, err := os.Create(filepath.Join(tempDir(t), "model.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := m.WriteGGUF(f); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

func (s *Server) post(t testing.TB, path string, body io.Reader) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode/100 != 2 {
		t.Fatalf("%s: %s: %s", path, resp.Status, reply)
	}
	return reply
}
