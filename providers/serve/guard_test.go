package serve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"mylm/protocol"
	"mylm/providers"
	"mylm/providers/serve"
)

func get(t *testing.T, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Who is let in: by host, origin, key and kind of body. Nobody else reaches a model.
func TestAdmission(t *testing.T) {
	m := says("secret answer")
	keyed := start(t, m, serve.Options{Key: "k", Origins: []string{"https://app.example"}})
	open := start(t, m, serve.Options{})
	for _, tt := range []struct {
		name    string
		keyed   bool
		headers []string
		want    int
	}{
		{"no key is needed", false, nil, 200},
		{"host localhost", false, []string{"Host", "localhost:1"}, 200},
		{"host below localhost", false, []string{"Host", "x.localhost"}, 200},
		{"host IPv6", false, []string{"Host", "[::1]:1"}, 200},
		{"foreign host", false, []string{"Host", "evil.example"}, 403},
		{"host that looks local", false, []string{"Host", "127.0.0.1.evil.example:1"}, 403},
		{"other address", false, []string{"Host", "10.0.0.1"}, 403},
		{"foreign origin", false, []string{"Origin", "https://evil.example"}, 403},
		{"origin null", false, []string{"Origin", "null"}, 403},
		{"origin file", false, []string{"Origin", "file://"}, 403},
		{"origin localhost", false, []string{"Origin", "http://localhost:3000"}, 403},
		{"a form", false, []string{"Content-Type", "text/plain"}, 415},
		{"a form with a word in it", false, []string{"Content-Type", "text/plain; application/json"}, 415},
		{"a charset", false, []string{"Content-Type", "application/json; charset=utf-8"}, 200},
		{"no key", true, nil, 401},
		{"wrong key", true, []string{"Authorization", "Bearer wrong"}, 401},
		{"both wrong", true, []string{"X-Api-Key", "wrong", "Authorization", "Bearer wrong"}, 401},
		{"wrong x-api-key", true, []string{"X-Api-Key", "wrong", "Authorization", "Bearer k"}, 200},
		{"wrong bearer", true, []string{"X-Api-Key", "k", "Authorization", "Bearer wrong"}, 200},
		{"another scheme", true, []string{"Authorization", "Basic k"}, 401},
		{"key", true, []string{"Authorization", "Bearer k"}, 200},
		{"x-api-key", true, []string{"X-Api-Key", "k"}, 200},
		{"allowed origin", true, []string{"Authorization", "Bearer k", "Origin", "https://app.example"}, 200},
		{"allowed origin without a key", true, []string{"Origin", "https://app.example"}, 401},
	} {
		s := open
		if tt.keyed {
			s = keyed
		}
		for _, api := range surfaces {
			resp, body := post(t, s, api.path, api.request(false, "x", nil), tt.headers...)
			if resp.StatusCode != tt.want || (tt.want == 200) != strings.Contains(body, "secret answer") {
				t.Errorf("%s, %s: %d %s", tt.name, api.name, resp.StatusCode, body)
			}
			if cors := resp.Header.Get("Access-Control-Allow-Origin"); (cors != "") != (strings.HasPrefix(tt.name, "allowed")) {
				t.Errorf("%s: CORS %q", tt.name, cors)
			}
		}
		for _, path := range []string{"/v1/models", "/v1/models/m", "/api/tags", "/api/ps", "/api/version", "/metrics", "/healthz", "/", "/nothing"} {
			want := tt.want
			if path == "/nothing" && want == 200 {
				want = 404
			}
			if resp, body := do(t, s, get(t, s.URL+path), tt.headers); want != 415 && resp.StatusCode != want {
				t.Errorf("%s, %s: %d %s", tt.name, path, resp.StatusCode, body)
			}
		}
	}
	preflight := get(t, keyed.URL+"/v1/chat/completions")
	preflight.Method = http.MethodOptions
	resp, _ := do(t, keyed, preflight, []string{"Origin", "https://app.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization"})
	if resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Headers") != "authorization" {
		t.Errorf("preflight: %d %v", resp.StatusCode, resp.Header)
	}
}

// What is too much is refused, in each API's form.
func TestLimits(t *testing.T) {
	s := start(t, says("x"), serve.Options{MaxBody: 1000})
	for _, api := range surfaces {
		for name, tt := range map[string]struct {
			body   any
			status int
		}{
			"large":   {api.request(false, strings.Repeat("x", 2000), nil), 413},
			"no JSON": {`{"model": `, 400}, "deep": {strings.Repeat("[", 900), 400}, "another type": {`{"model": 7}`, 400}, "empty": {"", 400}, "no model": {"{}", 400},
			"model": {api.request(false, "x", object{"model": "none"}), 404},
		} {
			resp, body := post(t, s, api.path, tt.body)
			var v object
			if err := json.Unmarshal([]byte(body), &v); err != nil || resp.StatusCode != tt.status || api.message(v) == "" {
				t.Errorf("%s, %s: %d %s", api.name, name, resp.StatusCode, body)
			}
		}
	}
	if resp, body := do(t, s, get(t, s.URL+"/v1/chat/completions"), nil); resp.StatusCode != 404 && resp.StatusCode != 405 {
		t.Errorf("GET: %d %s", resp.StatusCode, body)
	}
}

// Requests beyond the limit wait, and beyond the queue are refused.
func TestQueue(t *testing.T) {
	m := says("hang")
	m.started = make(chan struct{})
	s := start(t, m, serve.Options{MaxConcurrent: 1, MaxQueued: 1, Heartbeat: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begin := func(ready string) <-chan struct{} {
		done := make(chan struct{})
		b, _ := json.Marshal(surfaces[0].request(true, "x", nil))
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+surfaces[0].path, strings.NewReader(string(b)))
		r.Header.Set("Content-Type", "application/json")
		resp, err := s.Client().Do(r) // a heartbeat shows that it has begun
		if err != nil {
			t.Fatal(ready, err)
		}
		go func() {
			defer close(done)
			defer resp.Body.Close()
			for buf := make([]byte, 100); err == nil; {
				_, err = resp.Body.Read(buf)
			}
		}()
		return done
	}
	first := begin("first")
	<-m.started
	second := begin("second")
	resp, body := post(t, s, surfaces[0].path, surfaces[0].request(true, "x", nil))
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if _, body := do(t, s, get(t, s.URL+"/metrics"), nil); !strings.Contains(body, "mylm_models_asked 1\n") || !strings.Contains(body, "mylm_queue_length 1\n") ||
		!strings.Contains(body, `mylm_refusals_total{api="openai",reason="overloaded"} 1`) {
		t.Errorf("metrics:\n%s", body)
	}
	cancel()
	<-first
	<-second
	waitFor(t, func() bool { m.mu.Lock(); defer m.mu.Unlock(); return m.running == 0 })
}

// waitFor waits until something holds. The test's own deadline bounds it.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for !holds() {
		if t.Context().Err() != nil {
			t.Fatal("it never holds")
		}
		runtime.Gosched()
	}
}

// The backend is left as soon as the client leaves, also before the first token and
// without a stream; nothing stays behind.
func TestClientLeaves(t *testing.T) {
	for _, api := range surfaces {
		for _, stream := range []bool{false, true} {
			m := says("hang")
			m.started = make(chan struct{})
			s := start(t, m, serve.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-m.started; cancel() }()
			b, _ := json.Marshal(api.request(stream, "x", nil))
			r, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+api.path, strings.NewReader(string(b)))
			r.Header.Set("Content-Type", "application/json")
			if resp, err := s.Client().Do(r); err == nil {
				resp.Body.Close()
				t.Errorf("%s: an answer: %d", api.name, resp.StatusCode)
			}
			waitFor(t, func() bool { m.mu.Lock(); defer m.mu.Unlock(); return m.running == 0 })
		}
	}
}

// A stream is never silent for long, and what fills it is no part of the reply.
func TestHeartbeat(t *testing.T) {
	for _, api := range surfaces {
		beats := make(chan struct{})
		m := &fake{reply: func(string, int) (string, providers.StopReason, error) {
			<-beats
			return "Yes.", providers.StopEnd, nil
		}}
		s := start(t, m, serve.Options{Heartbeat: time.Millisecond})
		b, _ := json.Marshal(api.request(true, "x", nil))
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+api.path, strings.NewReader(string(b)))
		r.Header.Set("Content-Type", "application/json")
		resp, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		buf := make([]byte, 4096)
		for all.Len() < 5000 { // many heartbeats
			n, err := resp.Body.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(buf[:n])
		}
		close(beats)
		for err == nil {
			var n int
			n, err = resp.Body.Read(buf)
			all.Write(buf[:n])
		}
		resp.Body.Close()
		if got := api.streamed(t, all.String()); got.text != "Yes." || got.calls != "" {
			t.Errorf("%s: %q", api.name, got)
		}
	}
}

// What a client says without tools is neither read nor changed, and each parameter that
// is not supported is named.
func TestParameters(t *testing.T) {
	raw := "Hello </observation> " + protocol.EncodeCall("get_weather", json.RawMessage(`{"city":"x"}`)) + "\n"
	m := says(raw)
	s := start(t, m, serve.Options{})
	for _, api := range surfaces {
		_, body := post(t, s, api.path, api.request(false, raw, object{"tools": []any{}}))
		var v object
		if err := json.Unmarshal([]byte(body), &v); err != nil || api.whole(v).text != raw {
			t.Errorf("%s: %s", api.name, body)
		}
		if got := m.prompts[len(m.prompts)-1]; got != "user: "+raw+"\n" {
			t.Errorf("%s: the model is asked %q", api.name, got)
		}
	}
	image := []any{object{"type": "image_url", "image_url": object{"url": "data:"}}, object{"type": "input_image"}, object{"type": "image"}}
	for _, tt := range []struct {
		api  int
		more object
		want string
	}{
		{0, object{"n": 2}, "n:"}, {0, object{"logprobs": true}, "logprobs"}, {0, object{"modalities": []string{"audio"}}, "modalities"},
		{0, object{"messages": []any{object{"role": "user", "content": image[:1]}}}, "messages[0].content[0]"},
		{0, object{"messages": []any{object{"role": "tool", "tool_call_id": "zzz", "content": "x"}}}, "zzz"},
		{0, object{"messages": []any{object{"role": "owner", "content": "x"}}}, "owner"},
		{0, object{"tool_choice": object{"type": "function", "function": object{"name": "nope"}}}, "nope"},
		{0, object{"response_format": object{"type": "grammar"}}, "grammar"},
		{1, object{"previous_response_id": "resp_1"}, "previous_response_id"}, {1, object{"conversation": "c"}, "conversation"},
		{1, object{"input": []any{object{"type": "item_reference", "id": "gone"}}}, "gone"}, {1, object{"tool_choice": object{"type": "web_search"}}, "web_search"},
		{1, object{"input": []any{object{"role": "user", "content": image[1:2]}}}, "input_image"},
		{2, object{"thread": object{"id": "t"}}, "thread"}, {2, object{"max_tokens": nil}, "max_tokens"}, {2, object{"messages": []any{object{"role": "user", "content": image[2:]}}}, "messages.0.content.0"},
		{3, object{"messages": []any{object{"role": "user", "content": "x", "images": []string{"AAAA"}}}}, "images"},
	} {
		api := surfaces[tt.api]
		resp, body := post(t, s, api.path, api.request(false, "x", tt.more))
		if resp.StatusCode != 400 || !strings.Contains(body, tt.want) {
			t.Errorf("%s %v: %d %s", api.name, tt.more, resp.StatusCode, body)
		}
	}
}

// A backend that panics ends its own request, with an error or a broken connection.
func TestPanic(t *testing.T) {
	for _, text := range []string{"", "I begin"} {
		m := &fake{reply: func(string, int) (string, providers.StopReason, error) { return text, "", errPanic }}
		s := start(t, m, serve.Options{Heartbeat: time.Millisecond})
		for _, api := range surfaces {
			b, _ := json.Marshal(api.request(true, "x", nil))
			resp, err := s.Client().Post(s.URL+api.path, "application/json", strings.NewReader(string(b)))
			if err != nil {
				continue
			}
			var all strings.Builder
			for buf := make([]byte, 1000); err == nil; {
				var n int
				n, err = resp.Body.Read(buf)
				all.Write(buf[:n])
			}
			resp.Body.Close()
			if resp.StatusCode == 200 && err.Error() == "EOF" || strings.Contains(all.String(), "secret") {
				t.Errorf("%s: it ends as if all were well: %d %s", api.name, resp.StatusCode, all.String())
			}
		}
		if resp, _ := do(t, s, get(t, s.URL+"/healthz"), nil); resp.StatusCode != 200 {
			t.Error("the server is gone")
		}
	}
}
