//go:build linux

package ollama_test

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"mylm/providers/internal/ollamatest"
)

// What is set arrives, and nothing else is sent.
func (e *endToEnd) flags(t *testing.T, model string) {
	p, r := e.watched(t)
	tests := []struct {
		model string
		args  []string
		more  map[string]any // fields beside model, truncate and shift
	}{
		// The tiny model's cache allows all that it was trained for.
		{model, nil, map[string]any{"options": map[string]any{"num_ctx": 32768.0}}},
		{model, []string{"--num-ctx", "8192"}, map[string]any{"options": map[string]any{"num_ctx": 8192.0}}},
		{
			model,
			[]string{"--num-ctx=8192", "--temperature", "0", "--seed", "7", "--max-tokens", "200", "--keep-alive", "10m", "--think", "off"},
			map[string]any{
				"options":    map[string]any{"num_ctx": 8192.0, "temperature": 0.0, "seed": 7.0, "num_predict": 200.0},
				"keep_alive": "10m0s", "think": false,
			},
		},
		// It takes a byte for a token.
		{"thinker-" + model, []string{"--num-ctx", "8192", "--keep-alive=-1", "--think", "on"}, map[string]any{
			"options": map[string]any{"num_ctx": 8192.0}, "keep_alive": -1.0, "think": true,
		}},
	}
	for i, tt := range tests {
		if o := p.ask(t, tt.model, append(tt.args, "hello")...); o.code != 0 {
			t.Errorf("%q: %+v", tt.args, o)
		}
		tt.more["model"], tt.more["truncate"], tt.more["shift"] = tt.model, false, false
		all := r.requests(t)
		if len(all) != i+1 || !reflect.DeepEqual(all[i].fields, tt.more) {
			t.Errorf("%q: sent %v, want %v", tt.args, all[i].fields, tt.more)
		}
	}
}

// Text that is too long is refused with its size, or cut where one sees it.
func (e *endToEnd) longInput(t *testing.T, model string) {
	p, r := e.watched(t)
	p.stdin = strings.Repeat("The assistant reads the file and reports the result.\n", 1200)
	args := []string{"--num-ctx", "8192", "what is this?"}
	o := p.ask(t, model, args...)
	o.want(t, 7, "", "mylm: the input is too long for "+model+": 64 kB is about", "of its 8192", "--clip")
	r.wantRequests(t, 0)
	if got := p.ask(t, model, append(args, "--json")...).report(t); got.Error.Code != "context_full" {
		t.Errorf("report %+v", got)
	}
	p.ask(t, model, append(args, "--clip")...).want(t, 0, ollamatest.Greeting+"\n", "mylm: stdin is too long: ", "were cut out of its middle")
	asked := r.wantRequests(t, 1)[0].messages[1].Content
	if !strings.HasPrefix(asked, "what is this?\n\n--- stdin ---\nThe assistant") || !strings.Contains(asked, "omitted here ...]\n") {
		t.Errorf("sent %.200q", asked)
	}
}

func (e *endToEnd) misspelt(t *testing.T) {
	o := e.user(t, e.server.URL).ask(t, "natife", "hello")
	o.want(t, 3, "", "mylm: Ollama: model \"natife\" not found", "Did you mean native?", "ollama pull natife")
}

// Nobody can choose without a terminal. After a model was named once there is no question.
func (e *endToEnd) severalModels(t *testing.T) {
	p := e.user(t, e.server.URL)
	o := p.run(t, "ask", "hello")
	o.want(t, 3, "", "several models are installed", "mylm ask -m ", "MYLM_MODEL", "native", "modelfile", "thinker-native", "thinker-modelfile")
	if strings.Contains(o.stderr, "embed") {
		t.Errorf("the choice holds a model that does not converse:\n%s", o.stderr)
	}
	p.ask(t, "native", "hello").want(t, 0, ollamatest.Greeting+"\n")
	p.run(t, "ask", "hello").want(t, 0, ollamatest.Greeting+"\n")

	o = p.run(t, "models")
	for _, line := range []string{"native:latest .* chat\n", "thinker-modelfile:latest .* chat, thinking\n", "embed:latest .* embedding\n"} {
		if !matches(line, o.stdout) {
			t.Errorf("mylm models lacks %q:\n%s", line, o.stdout)
		}
	}
	if o.code != 0 || o.stderr != "" {
		t.Errorf("mylm models: %+v", o)
	}
}

// firstRun goes from no model to one to a choice.
func (e *endToEnd) firstRun(t *testing.T) {
	s := ollamatest.Start(t)
	p := e.user(t, s.URL)
	p.run(t, "ask", "hello").want(t, 3, "", "no model to talk to", "ollama pull ", "mylm ask -m demo")
	p.run(t, "models").want(t, 3, "", "mylm: no models at "+s.URL, "ollama pull ")
	p.ask(t, "x", "hello").want(t, 3, "", "mylm: Ollama: model \"x\" not found", "ollama pull x", "No model is installed yet.")

	s.Create(t, "embed", ollamatest.Embedder())
	p.run(t, "ask", "hello").want(t, 3, "", "no model to talk to", "ollama pull ")

	s.Create(t, "native", ollamatest.Agent(true))
	o := p.run(t, "ask", "hello")
	o.want(t, 0, ollamatest.Greeting+"\n", "using native:latest, the only model installed\n")
	e.user(t, s.URL).run(t, "ask", "--quiet", "hello").want(t, 0, ollamatest.Greeting+"\n")
}

func (e *endToEnd) noServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := l.Addr().String()
	l.Close()
	p := e.user(t, host)
	hints := []string{"mylm: no Ollama server answers at http://" + host, "ollama serve", "OLLAMA_HOST", "mylm ask -m demo"}
	p.run(t, "ask", "hello").want(t, 3, "", hints...)
	p.ask(t, "native", "hello").want(t, 3, "", hints...)
	p.run(t, "models").want(t, 3, "", hints...)
	if got := p.run(t, "ask", "--json", "hello").report(t); got.Error.Code != "unreachable" || got.Status != "failed" {
		t.Errorf("report %+v", got)
	}
}

// Every form of OLLAMA_HOST reaches the server that it names.
func (e *endToEnd) hosts(t *testing.T) {
	f := newFake(t, lines(piece("fine"), lastLine))
	port := f.Listener.Addr().(*net.TCPAddr).Port
	prefixed := httptest.NewServer(http.StripPrefix("/behind/it", f))
	defer prefixed.Close()
	guarded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, _ := r.BasicAuth(); name != "me" || password != "s@cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		f.ServeHTTP(w, r)
	}))
	defer guarded.Close()
	behind := strings.TrimPrefix(guarded.URL, "http://")
	hosts := []string{
		fmt.Sprintf("127.0.0.1:%d", port),
		fmt.Sprintf("http://127.0.0.1:%d", port),
		fmt.Sprintf("http://127.0.0.1:%d/", port),
		fmt.Sprintf(" \"http://127.0.0.1:%d\" ", port),
		fmt.Sprintf("localhost:%d", port),
		fmt.Sprintf(":%d", port),
		fmt.Sprintf("0.0.0.0:%d", port),
		fmt.Sprintf("http://0.0.0.0:%d", port),
		prefixed.URL + "/behind/it",
		strings.TrimPrefix(prefixed.URL, "http://") + "/behind/it/",
		"http://me:s%40cret@" + behind,
		"me:s%40cret@" + behind,
	}
	if l, err := net.Listen("tcp", "[::1]:0"); err == nil {
		six := &httptest.Server{Listener: l, Config: &http.Server{Handler: f}}
		six.Start()
		defer six.Close()
		port := l.Addr().(*net.TCPAddr).Port
		hosts = append(hosts, fmt.Sprintf("[::1]:%d", port), fmt.Sprintf("http://[::1]:%d", port), fmt.Sprintf("[::]:%d", port))
	}
	for _, host := range hosts {
		e.user(t, host).run(t, "ask", "hello").want(t, 0, "fine\n")
		o := e.user(t, host).run(t, "models")
		if o.code != 0 || !strings.Contains(o.stdout, "m:latest") {
			t.Errorf("OLLAMA_HOST=%s mylm models: %+v", host, o)
		}
		if t.Failed() {
			t.Fatalf("with OLLAMA_HOST=%s", host)
		}
	}

	o := e.user(t, "http://me:wrong-password@"+behind).ask(t, "m", "hello")
	o.want(t, 2, "", "https://user:password@host")
	if strings.Contains(o.stderr, "wrong-password") {
		t.Errorf("the password is shown:\n%s", o.stderr)
	}
	e.user(t, prefixed.URL).ask(t, "m", "hello").want(t, 3, "", "is not Ollama", "OLLAMA_HOST")
	e.user(t, f.URL+"/v1").ask(t, "m", "hello").want(t, 3, "", "Leave /v1 out of the address")
	for _, bad := range []string{"http://[bad", "ftp://box", "box:port"} {
		e.user(t, bad).ask(t, "m", "hello").want(t, 2, "", "OLLAMA_HOST")
	}
}

// TLS works where its certificate is trusted; each other mixture says what is
// wrong.
func (e *endToEnd) https(t *testing.T) {
	f := newFake(t, lines(piece("fine"), lastLine))
	secure := httptest.NewUnstartedServer(f)
	secure.Config.ErrorLog = quiet()
	secure.StartTLS()
	defer secure.Close()
	trusted := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(trusted, block, 0o600); err != nil {
		t.Fatal(err)
	}
	p := e.user(t, secure.URL)
	p.ask(t, "m", "hello").want(t, 3, "", "mylm: no secure connection to "+secure.URL, "certificate")
	p.env = append(p.env, "SSL_CERT_FILE="+trusted)
	p.ask(t, "m", "hello").want(t, 0, "fine\n")

	plain := strings.Replace(secure.URL, "https", "http", 1)
	e.user(t, plain).ask(t, "m", "hello").want(t, 3, "", "wants HTTPS", "Try the address "+secure.URL)
	asTLS := strings.Replace(f.URL, "http", "https", 1)
	e.user(t, asTLS).ask(t, "m", "hello").want(t, 3, "", "no secure connection", "Try the address "+f.URL)
}
