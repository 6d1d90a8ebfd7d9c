package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"mylm/providers/calling"
	"mylm/providers/serve"
)

// serving runs a server until the test is done, or stop is called, which returns what Serve
// does.
func serving(t *testing.T, s *serve.Server) (addr string, stop func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener) }()
	t.Cleanup(cancel)
	return listener.Addr().String(), func() error { cancel(); return <-ended }
}

// dial connects and sends a text.
func dial(t *testing.T, addr, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err == nil {
		_, err = io.WriteString(conn, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute)) // of a server that does not end it
	return conn
}

func handlerOf(text string, o serve.Options) http.Handler {
	model := &calling.Model{Model: says(text)}
	o.Open = func(context.Context, string) (*calling.Model, error) { return model, nil }
	return serve.New(o)
}

// Who does not send all headers in time is cut off, and who sends too many refused.
func TestHeaders(t *testing.T) {
	addr, _ := serving(t, &serve.Server{Handler: handlerOf("x", serve.Options{}), HeaderTime: time.Millisecond})
	for _, text := range []string{"", "GET /health", "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nX-A: "} {
		if answer, err := io.ReadAll(dial(t, addr, text)); err != nil || strings.Contains(string(answer), " 200 ") {
			t.Errorf("%q: %s %v", text, answer, err)
		}
	}
	addr, _ = serving(t, &serve.Server{Handler: handlerOf("x", serve.Options{})})
	answer, _ := bufio.NewReader(dial(t, addr, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: "+strings.Repeat("a", 100<<10)+"\r\n\r\n")).ReadString('\n')
	if !strings.Contains(answer, " 431 ") {
		t.Errorf("large headers: %s", answer)
	}
}

// A client that wants to be told before it sends a body is told, unless it is refused.
func TestExpectContinue(t *testing.T) {
	addr, _ := serving(t, &serve.Server{Handler: handlerOf("secret answer", serve.Options{Key: "k"})})
	body := `{"model":"m","messages":[{"role":"user","content":"x"}]}`
	for _, key := range []string{"k", "wrong"} {
		conn := dial(t, addr, fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", key, len(body)))
		r := bufio.NewReader(conn)
		line, err := r.ReadString('\n')
		if key == "wrong" {
			if err != nil || !strings.Contains(line, " 401 ") {
				t.Errorf("a wrong key: %s %v", line, err)
			}
			continue
		}
		if err != nil || !strings.Contains(line, " 100 ") {
			t.Fatalf("%s %v", line, err)
		}
		_, _ = r.ReadString('\n')
		_, _ = io.WriteString(conn, body)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 || !strings.Contains(string(text), "secret answer") {
			t.Errorf("%d %s %v", resp.StatusCode, text, err)
		}
		resp.Body.Close()
	}
}

// A server that is told to stop lets replies end, and ends the others with an error.
func TestServerStops(t *testing.T) {
	m := stuck{"I begin and ", make(chan struct{})}
	handler := serve.New(serve.Options{Open: func(context.Context, string) (*calling.Model, error) { return &calling.Model{Model: m}, nil }})
	addr, stop := serving(t, &serve.Server{Handler: handler, Grace: time.Millisecond})
	ended := make(chan error, 1)
	go func() { <-m.started; ended <- stop() }()
	body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`
	resp, err := http.Post("http://"+addr+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(text), "server_stopping") || strings.Contains(string(text), "[DONE]") {
		t.Errorf("%s %v", text, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// The key is asked for on every route that there is, and nothing but the key will do.
func TestKeyOnEveryRoute(t *testing.T) {
	const key = "the-right-key"
	code, err := os.ReadFile("serve.go")
	if err != nil {
		t.Fatal(err)
	}
	routes := regexp.MustCompile(`"((?:GET|POST) )?(/[^"]*)":`).FindAllStringSubmatch(string(code), -1)
	if len(routes) < 16 {
		t.Fatalf("only %d routes", len(routes))
	}
	s := start(t, says("x"), serve.Options{Key: key})
	for _, route := range routes {
		method, path := strings.TrimSpace(route[1]), strings.NewReplacer("{$}", "", "{id...}", "m").Replace(route[2])
		if method == "" {
			method = "DELETE"
		}
		for _, wrong := range []string{"", "x", key[1:], key[:len(key)-1], key + "x", strings.ToUpper(key), strings.Repeat("x", len(key))} {
			for _, header := range [][]string{{"X-Api-Key", wrong}, {"Authorization", "Bearer " + wrong}, {"Authorization", "Basic " + key}, nil} {
				r := get(t, s.URL+path)
				r.Method = method
				if resp, body := do(t, s, r, append(header, "Content-Type", "application/json")); resp.StatusCode != 401 {
					t.Errorf("%s %s, %v: %d %s", method, path, header, resp.StatusCode, body)
				}
			}
		}
	}
}
