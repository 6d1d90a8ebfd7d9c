//go:build linux

package ollama_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"mylm/providers/internal/ollamatest"
)

// registry is Ollama's, as far as a server sees that has it for its proxy: every
// name in it is one model. Files come from another host, as they do there.
type registry struct {
	dir string // of a server that has the model
	cut int64  // the first request for a large file gets only so much of it, and waits

	mu     sync.Mutex
	ranges []string // of the requests for large files
}

func (g *registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what, digest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/library/"), "/blobs/")
	switch {
	case digest == "" && strings.Contains(what, "/manifests/"):
		http.ServeFile(w, r, filepath.Join(g.dir, "manifests/registry.ollama.ai/library/native/latest"))
		return
	case r.Host != "files.test" && r.Method == http.MethodGet:
		http.Redirect(w, r, "https://files.test"+r.URL.Path, http.StatusTemporaryRedirect)
		return
	}
	path := filepath.Join(g.dir, "blobs", strings.Replace(digest, ":", "-", 1))
	info, err := os.Stat(path)
	if err != nil || r.Method == http.MethodHead || info.Size() < 2*g.cut {
		http.ServeFile(w, r, path)
		return
	}
	g.mu.Lock()
	g.ranges = append(g.ranges, r.Header.Get("Range"))
	first := len(g.ranges) == 1
	g.mu.Unlock()
	if !first {
		http.ServeFile(w, r, path)
		return
	}
	http.ServeFile(&briefly{w, r, g.cut}, r, path)
}

// briefly writes the beginning of a file, and then waits until the reader has gone.
type briefly struct {
	http.ResponseWriter
	r    *http.Request
	left int64
}

func (b *briefly) Write(p []byte) (int, error) {
	if b.left <= 0 {
		b.ResponseWriter.(http.Flusher).Flush()
		<-b.r.Context().Done()
		return 0, b.r.Context().Err()
	}
	n, err := b.ResponseWriter.Write(p[:min(int64(len(p)), b.left)])
	if b.left -= int64(n); err == nil && n < len(p) {
		_, err = b.Write(nil)
	}
	return n, err
}

// proxied starts a server whose library is g.
func proxied(t *testing.T, g *registry) *ollamatest.Server {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"registry.ollama.ai", "files.test"}}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	trusted := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewUnstartedServer(g)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	secure.Config.ErrorLog = quiet()
	secure.StartTLS()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer in.Close()
		out, err := net.Dial("tcp", secure.Listener.Addr().String())
		if err != nil {
			return
		}
		defer out.Close()
		_, _ = io.WriteString(in, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(out, in)
			out.(*net.TCPConn).CloseWrite()
		}()
		_, _ = io.Copy(in, out)
	}))
	t.Cleanup(func() {
		secure.CloseClientConnections()
		secure.Close()
		proxy.Close()
	})
	return ollamatest.Start(t, "HTTPS_PROXY="+proxy.URL, "SSL_CERT_FILE="+trusted)
}

// seated is a run on a terminal.
type seated struct {
	tty  *os.File
	cmd  *exec.Cmd
	text output
	done chan struct{} // all that it printed was read
}

// sits runs mylm on a terminal.
func (p *person) sits(t *testing.T, args ...string) *seated {
	t.Helper()
	s := &seated{cmd: exec.Command(p.bin, args...), done: make(chan struct{})}
	s.cmd.Dir, s.cmd.Env = p.dir, p.env
	tty, err := pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 40, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	s.tty = tty
	go func() {
		defer close(s.done)
		_, _ = io.Copy(&s.text, tty) // ends with an error when the other side closes
	}()
	t.Cleanup(func() {
		s.cmd.Process.Kill()
		<-s.done
		tty.Close()
	})
	return s
}

// answers waits for a text, and types.
func (s *seated) answers(t *testing.T, text, typed string) {
	t.Helper()
	select {
	case <-s.text.prints(text):
	case <-time.After(patience):
		t.Fatalf("no %q in %q", text, s.text.String())
	}
	if _, err := s.tty.WriteString(typed); err != nil {
		t.Fatal(err)
	}
}

// ends waits for the end.
func (s *seated) ends(t *testing.T, code int, says ...string) {
	t.Helper()
	<-s.done
	_ = s.cmd.Wait()
	for _, want := range says {
		if !strings.Contains(s.text.String(), want) {
			t.Errorf("no %q", want)
		}
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code || t.Failed() {
		t.Errorf("exit %d, want %d: %q", got, code, s.text.String())
	}
}

// pull downloads a model through a server's own code, is interrupted, and goes on
// where that was.
func (e *endToEnd) pull(t *testing.T) {
	g := &registry{dir: t.TempDir(), cut: 200_000}
	ollamatest.Start(t, "OLLAMA_MODELS="+g.dir).Create(t, "native", ollamatest.Agent(true))
	s := proxied(t, g)
	p := e.user(t, s.URL)

	run := p.sits(t, "ask", "hello")
	run.answers(t, "Enter for none: ", "1\r")
	run.answers(t, "200 kB of ", "\x03")
	run.ends(t, 130, "Ollama keeps what it has of qwen3:1.7b", "mylm: interrupted")
	if got := p.run(t, "models"); got.code != 3 {
		t.Errorf("half a model is listed: %+v", got)
	}

	run = p.sits(t, "ask", "hello")
	run.answers(t, "Enter for none: ", "1\r")
	run.ends(t, 0, "using qwen3:1.7b", ollamatest.Greeting)
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.ranges) != 2 || !strings.HasPrefix(g.ranges[1], "bytes=200000-") {
		t.Errorf("ranges %q, want the second to begin where the first ended", g.ranges)
	}
}

// pullFails shows what a server says that has no network.
func (e *endToEnd) pullFails(t *testing.T) {
	s := ollamatest.Start(t, "HTTPS_PROXY=http://127.0.0.1:1")
	run := e.user(t, s.URL).sits(t, "ask", "hello")
	run.answers(t, "Enter for none: ", "nosuch/model\r")
	run.ends(t, 3, "mylm: Ollama: pull model manifest: Get", "connection refused", "Check the network of the machine that Ollama runs on")
	if strings.Contains(run.text.String(), "Ollama keeps") {
		t.Errorf("nothing was downloaded: %q", run.text.String())
	}
}
