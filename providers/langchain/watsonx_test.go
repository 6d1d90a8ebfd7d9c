package langchain_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"mylm/providers"
	"mylm/providers/langchain"
)

// watsonxAPI is the wire of IBM's text/chat_stream.
var watsonxAPI = fakeAPI{
	provider: "watsonx",
	path:     "/v1/text/chat_stream",
	kind:     "text/event-stream",
	begin:    []string{watsonxEvent(openAIDelta("role", "assistant"))},
	text:     func(s string) string { return watsonxEvent(openAIDelta("content", s)) },
	thought:  func(s string) string { return watsonxEvent(openAIDelta("reasoning_content", s)) },
	end: func(stop string, u providers.Usage) []string { // the usage is the end: no [DONE]
		return []string{
			watsonxEvent(data(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": ""}, "finish_reason": stop}}})),
			watsonxEvent(data(map[string]any{"choices": []any{}, "usage": openAIUsage(u)})),
		}
	},
	error: func(status int, code, message string) string {
		return "id: 9\nevent: error\ndata: " + watsonxError(status, code, message) + "\n\n"
	},
	refuse: watsonxError,
	key:    "Authorization",
	read: func(body map[string]any) providers.Request {
		r := sampling(body, "model_id", "project_id", "messages")
		r.Messages = append(r.Messages, readOpenAI(map[string]any{"messages": body["messages"]}).Messages...)
		return r
	},
	tune: func(t *testing.T, c *langchain.Config) {
		s := httptest.NewServer(trades(new(atomic.Int32), 3600))
		t.Cleanup(s.Close)
		c.Settings = map[string]string{"project": "p", "auth_url": s.URL}
	},
}

func watsonxEvent(data string) string { return "id: 1\nevent: message\n" + data }

func watsonxError(status int, code, message string) string {
	b, _ := json.Marshal(map[string]any{"errors": []any{map[string]string{"code": code, "message": message}}, "trace": "x", "status_code": status})
	return string(b)
}

// trades gives tokens for the test's key, and counts them.
func trades(n *atomic.Int32, life int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("grant_type") != "urn:ibm:params:oauth:grant-type:apikey" || r.PostFormValue("apikey") != testKey || strings.Contains(r.URL.String(), testKey) {
			answers(400, "application/json", `{"errorCode":"BXNIM0415E","errorMessage":"Provided API key could not be found."}`)(w, r)
			return
		}
		fmt.Fprintf(w, `{"access_token":"%s-%d","expires_in":%d,"token_type":"Bearer"}`, testKey, n.Add(1), life)
	}
}

// TestWatsonxTokens checks when a key is exchanged for a token.
func TestWatsonxTokens(t *testing.T) {
	tests := []struct {
		name   string
		life   int // seconds
		status int // of the first answer
		want   []string
	}{
		{"one for many calls", 3600, 200, []string{"-1", "-1"}},
		{"a fresh one at its end", 0, 200, []string{"-1", "-2"}},
		{"a fresh one if it is refused", 3600, 401, []string{"-1", "-2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var n atomic.Int32
			iam := httptest.NewServer(trades(&n, tt.life))
			t.Cleanup(iam.Close)
			s, calls := watsonxAPI, 0
			f := newFake(t, s, func(w http.ResponseWriter, r *http.Request) {
				if calls++; calls == 1 && tt.status != 200 {
					s.refuses(tt.status, "authentication_token_expired", "Failed to authenticate the request due to an expired token")(w, r)
					return
				}
				s.says("yes")(w, r)
			})
			m := open(t, "watsonx", langchain.Config{Model: "m", BaseURL: f.URL, Key: testKey, Settings: map[string]string{"project": "p", "auth_url": iam.URL}})
			f.fakeAPI.path = "/ml/v1/text/chat_stream"
			for i := range tt.want {
				_, _, _, err := generate(t, m, providers.Request{})
				if failed := i == 0 && tt.status != 200; failed != (err != nil) {
					t.Fatalf("call %d: %v", i, err)
				}
				if got := f.heads[i].Get("Authorization"); got != "Bearer "+testKey+tt.want[i] {
					t.Errorf("call %d went with %q, want the token %s", i, got, tt.want[i])
				}
			}
			if !strings.HasSuffix(f.urls[0], "?version=2024-10-08") {
				t.Errorf("asked at %s, want a version", f.urls[0])
			}
		})
	}
}

// TestWatsonxNoToken checks the errors if no token comes.
func TestWatsonxNoToken(t *testing.T) {
	const key = "wrong-key"
	tests := []struct {
		name   string
		answer http.HandlerFunc
		kind   providers.Kind
		says   string
	}{
		{"wrong key", trades(new(atomic.Int32), 1), providers.Auth, "could not be found"},
		{"rate", answers(429, "application/json", `{}`), providers.RateLimited, "429"},
		{"server", answers(503, "text/html", "<html>"), providers.ServerFault, "503"},
		{"no token", answers(200, "application/json", `{}`), providers.Unreachable, "is not a token"},
		{"no JSON", answers(200, "text/html", `<html>`), providers.Unreachable, "is not a service for tokens"},
		{"echo", answers(400, "application/json", `{"errorMessage":"no `+key+`"}`), providers.Auth, "[the key]"},
		{"abort", func(http.ResponseWriter, *http.Request) { abort() }, providers.Interrupted, "no token"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			iam := httptest.NewServer(tt.answer)
			t.Cleanup(iam.Close)
			f := newFake(t, watsonxAPI, watsonxAPI.says("yes"))
			m := open(t, "watsonx", langchain.Config{Model: "m", BaseURL: f.URL, Key: key, Settings: map[string]string{"project": "p", "auth_url": iam.URL}})
			_, _, _, err := generate(t, m, providers.Request{})
			e, ok := err.(*providers.Error)
			if !ok || e.Kind != tt.kind || !strings.Contains(e.Message, tt.says) || strings.Contains(e.Message, key) || e.Hint == "" {
				t.Errorf("%v: %+v, want kind %s, %q and a hint", err, e, tt.kind, tt.says)
			}
			if len(f.sent()) != 0 {
				t.Error("a request went out without a token")
			}
		})
	}
}

func TestWatsonxModels(t *testing.T) {
	f := newFake(t, watsonxAPI, nil)
	f.list = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/foundation_model_specs" || r.Header.Get("Authorization") != "" {
			http.NotFound(w, r)
			return
		}
		answers(200, "application/json", `{"total_count":1,"resources":[{"model_id":"m","model_limits":{"max_sequence_length":131072,"max_output_tokens":8192}}]}`)(w, r)
	}
	m := f.model(t)
	list, err := m.Models(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "m" || list[0].Trained != 131072 {
		t.Errorf("%+v, %v", list, err)
	}
	if info, err := m.Info(t.Context()); err != nil || info.Window != 131072 {
		t.Errorf("Info = %+v, %v, want the window of the list", info, err)
	}
	for _, bad := range []string{"x", "ftp://h", "http://u:p@h", "http://%zz", "http://elsewhere.example/x", "http://localhost.example/x"} {
		_, err := langchain.Open("watsonx", langchain.Config{Model: "m", Key: testKey, Settings: map[string]string{"project": "p", "auth_url": bad}})
		if providers.KindOf(err) != providers.BadRequest {
			t.Errorf("auth_url %q: %v, want it refused", bad, err)
		}
	}
}

// TestWatsonxEmptyKey proves that no empty key is traded, and that an echo of
// nothing is not marked as one.
func TestWatsonxEmptyKey(t *testing.T) {
	iam := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("an empty key is traded") }))
	defer iam.Close()
	f := newFake(t, watsonxAPI, watsonxAPI.says("yes"))
	m := open(t, "watsonx", langchain.Config{Model: "m", BaseURL: f.URL, KeyFrom: "key of [models.ibm]", Settings: map[string]string{"project": "p", "auth_url": iam.URL}})
	_, _, _, err := generate(t, m, providers.Request{})
	checkError(t, err, providers.Error{Kind: providers.Auth, Permanent: true}, "needs a key", "key of [models.ibm]")
}
