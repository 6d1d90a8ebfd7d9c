package serve_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mylm/providers"
	"mylm/providers/calling"
	"mylm/providers/serve"
)

// zipped is a text as gzip has it.
func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

// Requests come in every form that HTTP has for them, and to base addresses that end in a
// slash too many.
func TestFormsOfRequests(t *testing.T) {
	s := start(t, says("Hello."), serve.Options{MaxBody: 10_000})
	addr := strings.TrimPrefix(s.URL, "http://")
	for _, api := range surfaces {
		b, _ := json.Marshal(api.request(true, "x", nil))
		body := string(b)
		post := "POST " + api.path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
		length := func(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }
		for name, tt := range map[string]struct {
			request string
			status  int
		}{
			"plain":            {post + length(body), 200},
			"chunked":          {post + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n5\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", body[:5], len(body)-5, body[5:]), 200},
			"HTTP/1.0":         {"POST " + api.path + " HTTP/1.0\r\nContent-Type: application/json\r\n" + length(body), 200},
			"expectation":      {post + "Expect: 100-continue\r\n" + length(body), 200},
			"gzip":             {post + "Content-Encoding: gzip\r\n" + length(zipped(body)), 200},
			"gzip, too large":  {post + "Content-Encoding: gzip\r\n" + length(zipped(strings.Repeat(" ", 20_000)+body)), 413},
			"gzip that is not": {post + "Content-Encoding: gzip\r\n" + length(body), 400},
			"another encoding": {post + "Content-Encoding: br\r\n" + length(body), 415},
			"two slashes":      {strings.Replace(post, "POST /", "POST //", 1) + length(body), 200},
			"slash in between": {strings.Replace(post, api.path, strings.Replace(api.path, "/", "//", 2), 1) + length(body), 200},
			"slash at the end": {strings.Replace(post, " HTTP", "/ HTTP", 1) + length(body), 200},
			"query":            {strings.Replace(post, " HTTP", "?beta=true HTTP", 1) + length(body), 200},
		} {
			t.Run(name+"/"+api.name, func(t *testing.T) {
				c, err := net.Dial("tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if _, err := io.WriteString(c, tt.request); err != nil {
					t.Fatal(err)
				}
				in := bufio.NewReader(c)
				resp, err := http.ReadResponse(in, nil)
				if err == nil && resp.StatusCode == http.StatusContinue {
					resp, err = http.ReadResponse(in, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != tt.status || err != nil {
					t.Fatalf("%d %s %v", resp.StatusCode, text, err)
				}
				if tt.status == 200 {
					if got := api.streamed(t, string(text)); got.text != "Hello." {
						t.Errorf("%q", got)
					}
					return
				}
				var v object
				if json.Unmarshal(text, &v) != nil || api.message(v) == "" {
					t.Errorf("%s", text)
				}
			})
		}
	}
	for _, path := range []string{"/v1/models/", "//v1/models", "/v1/models/m", "/v1/models/m:latest"} {
		for _, method := range []string{"GET", "HEAD"} {
			r := get(t, s.URL+path)
			r.Method = method
			if resp, body := do(t, s, r, nil); resp.StatusCode != 200 || resp.Request.URL.Path != path || (method == "GET") != strings.Contains(body, `"id":"m"`) {
				t.Errorf("%s %s: %d %s, at %s", method, path, resp.StatusCode, body, resp.Request.URL)
			}
		}
	}
}

// stuck is a model that begins, and then says nothing until it is cancelled.
type stuck struct {
	begins  string
	started chan struct{}
}

func (m stuck) Generate(ctx context.Context, _ providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		if m.begins == "" || yield(providers.Chunk{Text: m.begins}, nil) {
			close(m.started)
			<-ctx.Done()
			yield(providers.Chunk{}, ctx.Err())
		}
	}
}

// A server that stops ends what it still answers with an error, in the form of each API,
// and nothing looks complete.
func TestStopping(t *testing.T) {
	ends := map[string]string{"openai": "[DONE]", "responses": "response.completed", "anthropic": "message_stop", "ollama": `"done":true`}
	for _, api := range surfaces {
		for _, begins := range []string{"", "I begin and "} {
			for _, stream := range []bool{false, true} {
				m := stuck{begins, make(chan struct{})}
				model := &calling.Model{Model: m}
				s := httptest.NewUnstartedServer(serve.New(serve.Options{Open: func(context.Context, string) (*calling.Model, error) { return model, nil }}))
				base, stop := context.WithCancelCause(t.Context())
				s.Config.BaseContext = func(net.Listener) context.Context { return base }
				s.Start()
				go func() { <-m.started; stop(serve.ErrStopping) }()
				resp, body := post(t, s, api.path, api.request(stream, "x", nil))
				s.Close()
				status := 503
				if stream && begins != "" {
					status = 200
				}
				if resp.StatusCode != status || !strings.Contains(body, "the server is shutting down") || strings.Contains(body, ends[api.name]) {
					t.Errorf("%s, %q, stream %v: %d %s", api.name, begins, stream, resp.StatusCode, body)
				}
			}
		}
	}
}

// A request whose model is still being opened ends so, too.
func TestStoppingWhileOpening(t *testing.T) {
	for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens", "/v1/responses", "/api/chat", "/api/show"} {
		opening := make(chan struct{}, 1)
		s := httptest.NewUnstartedServer(serve.New(serve.Options{Open: func(ctx context.Context, _ string) (*calling.Model, error) {
			opening <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}}))
		base, stop := context.WithCancelCause(t.Context())
		s.Config.BaseContext = func(net.Listener) context.Context { return base }
		s.Start()
		go func() { <-opening; stop(serve.ErrStopping) }()
		body := object{"model": "m", "max_tokens": 10, "input": "x", "messages": []object{{"role": "user", "content": "x"}}}
		if resp, text := post(t, s, path, body); resp.StatusCode != 503 || !strings.Contains(text, "the server is shutting down") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, text)
		}
		s.Close()
	}
}

// told is a model that begins, and goes on when it is told to.
type told struct {
	begins string
	goOn   chan struct{}
}

func (m told) Generate(ctx context.Context, _ providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		if !yield(providers.Chunk{Text: m.begins}, nil) {
			return
		}
		select {
		case <-m.goOn:
			yield(providers.Chunk{Stop: providers.StopEnd}, nil)
		case <-ctx.Done():
			yield(providers.Chunk{}, ctx.Err())
		}
	}
}

// Text reaches the client while the model still writes. An answer that has to fit a format,
// or a reply that has to be a call, does not, nor does a call.
func TestTextStreamsAtOnce(t *testing.T) {
	format := []object{{"response_format": object{"type": "json_object"}}, {"text": object{"format": object{"type": "json_object"}}}, {"output_config": object{"format": object{"type": "json_schema", "schema": object{"type": "object"}}}}, {"format": "json"}}
	required := []object{{"tool_choice": "required"}, {"tool_choice": "required"}, {"tool_choice": object{"type": "any"}}, nil}
	for i, api := range surfaces {
		for _, tt := range []struct {
			begins string
			more   object
			held   bool
		}{
			{"Hello marker and", nil, false},
			{"Hello marker and", object{"tools": []any{}}, false},
			{`{"a": "marker", `, format[i], true},
			{"Hello marker and", required[i], true},
			{"<tool_code>\n<name>get_weather</name>\n<parameters>{\"city\": \"marker", nil, true},
		} {
			if tt.held && tt.more == nil && !strings.HasPrefix(tt.begins, "<") {
				continue // Ollama's API has no such choice
			}
			m := told{tt.begins, make(chan struct{})}
			s := start(t, m, serve.Options{Heartbeat: time.Millisecond})
			b, _ := json.Marshal(api.request(true, "x", tt.more))
			resp, err := s.Client().Post(s.URL+api.path, "application/json", bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			var all strings.Builder
			buf := make([]byte, 1000)
			for !strings.Contains(all.String(), "marker") && all.Len() < 4_000 { // many heartbeats
				n, err := resp.Body.Read(buf)
				if err != nil {
					t.Fatalf("%s: %v after %s", api.name, err, all.String())
				}
				all.Write(buf[:n])
			}
			if held := !strings.Contains(all.String(), "marker"); held != tt.held {
				t.Errorf("%s %v, %q: held %v", api.name, tt.more, tt.begins, held)
			}
			close(m.goOn)
			resp.Body.Close()
		}
	}
}
