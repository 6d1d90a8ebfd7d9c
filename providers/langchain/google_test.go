package langchain_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"mylm/providers"
	"mylm/providers/langchain"
)

// googleAPI is the wire of Gemini's API. Each event has the usage so far;
// the last one gives the reason to finish, and nothing else marks the end.
var googleAPI = fakeAPI{
	provider: "googleai",
	path:     "/v1/models/m:streamGenerateContent",
	kind:     "text/event-stream",
	text:     func(s string) string { return data(googleEvent(googlePart(s, false), "", nil)) },
	thought:  func(s string) string { return data(googleEvent(googlePart(s, true), "", nil)) },
	end: func(stop string, u providers.Usage) []string {
		return []string{data(googleEvent(map[string]any{"text": ""}, stop, &u))}
	},
	error: func(status int, code, message string) string {
		return "data: " + googleError(status, code, message) + "\n\n"
	},
	refuse: googleError,
	whole: func(thought, text, stop string, u providers.Usage) string {
		e := googleEvent(googlePart(thought, true), stop, &u)
		content := e["candidates"].([]any)[0].(map[string]any)["content"].(map[string]any)
		content["parts"] = append(content["parts"].([]any), googlePart(text, false))
		b, _ := json.Marshal(e)
		return string(b)
	},
	stops: map[providers.StopReason]string{providers.StopEnd: "STOP", providers.StopLength: "MAX_TOKENS"},
	key:   "X-Goog-Api-Key",
	read:  readGoogle,
}

func googlePart(text string, thought bool) map[string]any {
	part := map[string]any{"text": text}
	if thought {
		part["thought"] = true
	}
	return part
}

func googleEvent(part map[string]any, stop string, u *providers.Usage) map[string]any {
	candidate := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": []any{part}}}
	e := map[string]any{"candidates": []any{candidate}, "modelVersion": "m", "responseId": "x"}
	if stop != "" {
		candidate["finishReason"] = stop
	}
	if u != nil {
		e["usageMetadata"] = map[string]any{"promptTokenCount": u.Prompt, "candidatesTokenCount": u.Output, "totalTokenCount": u.Prompt + u.Output}
	}
	return e
}

func googleError(status int, code, message string) string {
	b, _ := json.Marshal(map[string]any{"error": map[string]any{"code": status, "message": message, "status": strings.ToUpper(code)}})
	return string(b)
}

func readGoogle(body map[string]any) providers.Request {
	config, _ := body["generationConfig"].(map[string]any)
	if n, ok := config["maxOutputTokens"]; ok {
		delete(config, "maxOutputTokens")
		config["max_tokens"] = n
	}
	r := sampling(config)
	r.Messages = append(r.Messages, sampling(body, "contents", "systemInstruction", "generationConfig").Messages...)
	if s, ok := body["systemInstruction"].(map[string]any); ok {
		r.Messages = append(r.Messages, googleMessage(providers.System, s))
	}
	contents, _ := body["contents"].([]any)
	for _, x := range contents {
		m := x.(map[string]any)
		role := map[any]providers.Role{"user": providers.User, "model": providers.Assistant}[m["role"]]
		r.Messages = append(r.Messages, googleMessage(role, m))
	}
	return r
}

func googleMessage(role providers.Role, content map[string]any) providers.Message {
	m := providers.Message{Role: role}
	for _, p := range content["parts"].([]any) {
		m.Text += p.(map[string]any)["text"].(string)
	}
	return m
}

func TestGoogleKeyIsInTheHeader(t *testing.T) {
	f := newFake(t, googleAPI, googleAPI.says("yes"))
	if _, _, _, err := generate(t, f.model(t), providers.Request{}); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if got, want := f.urls[0], "/v1/models/m:streamGenerateContent?alt=sse"; got != want {
		t.Errorf("asked at %s, want %s", got, want)
	}
	if got := f.heads[0]; got.Get("X-Goog-Api-Key") != testKey || got.Get("Authorization") != "" {
		t.Errorf("headers %v, want the key in X-Goog-Api-Key only", got)
	}
}

func TestGoogleModelNames(t *testing.T) {
	for name, want := range map[string]string{
		"gemini-2.5-flash":        "/v1/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
		"models/gemini-2.5-flash": "/v1/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
		"tunedModels/mine":        "/v1/tunedModels/mine:streamGenerateContent?alt=sse",
		"a?b#c/../d":              "/v1/a%3Fb%23c/..%2Fd:streamGenerateContent?alt=sse",
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, googleAPI, googleAPI.says("yes"))
			m := open(t, "googleai", langchain.Config{Model: name, BaseURL: f.URL + "/v1", Key: testKey})
			generate(t, m, providers.Request{}) // the server knows one name only
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.urls[0] != want {
				t.Errorf("asked at %s, want %s", f.urls[0], want)
			}
		})
	}
}

func TestGoogleSystem(t *testing.T) {
	f := newFake(t, googleAPI, googleAPI.says("yes"))
	_, _, _, err := generate(t, f.model(t), providers.Request{Messages: []providers.Message{
		{Role: providers.System, Text: "a"}, {Role: providers.User, Text: "b"}, {Role: providers.System, Text: "c"}, {Role: providers.Assistant, Text: "d"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := readGoogle(f.sent()[0]).Messages
	want := []providers.Message{{Role: providers.System, Text: "a\n\nc"}, {Role: providers.User, Text: "b"}, {Role: providers.Assistant, Text: "d"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("sent %+v, want %+v: one system instruction, and the last word the model's", got, want)
	}
}

func TestGoogleReplies(t *testing.T) {
	tests := []struct {
		name, body    string
		text          string
		stop          providers.StopReason
		usage         providers.Usage
		kind          providers.Kind
		hint          string
		permanent     bool
		status, retry int // retry in seconds
	}{
		{
			name: "what a thinking model costs",
			body: `data: {"candidates":[{"content":{"parts":[{"text":"yes"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":2,"thoughtsTokenCount":5}}`,
			text: "yes", stop: providers.StopEnd, usage: providers.Usage{Prompt: 10, Evaluated: 6, Output: 7},
		},
		{
			name: "a reason to finish in each event",
			body: `data: {"candidates":[{"content":{"parts":[{"text":"on"}]},"finishReason":"STOP"}]}` + "\r\n\r\n" + `data: {"candidates":[{"content":{"parts":[{"text":"e"}]},"finishReason":"MAX_TOKENS"}]}`,
			text: "one", stop: providers.StopLength,
		},
		{
			name: "a list in the place of a stream",
			body: `[{"candidates":[{"content":{"parts":[{"text":"on"}]}}]},` + "\n" + `{"candidates":[{"content":{"parts":[{"text":"e"}]},"finishReason":"STOP"}]}]`,
			text: "one", stop: providers.StopEnd,
		},
		{
			name: "a second candidate",
			body: `data: {"candidates":[{"content":{"parts":[{"text":"yes"}]},"finishReason":"STOP"},{"index":1,"content":{"parts":[{"text":"no"}]},"finishReason":"STOP"}]}`,
			text: "yes", stop: providers.StopEnd,
		},
		{name: "a blocked prompt", body: `data: {"promptFeedback":{"blockReason":"OTHER"}}`, kind: providers.Filtered, hint: "other words", permanent: true},
		{name: "a blocked reply", body: `data: {"candidates":[{"finishReason":"PROHIBITED_CONTENT"}]}`, kind: providers.Filtered, hint: "other words", permanent: true},
		{
			name: "an error over several lines in mid-stream",
			body: `data: {"candidates":[{"content":{"parts":[{"text":"on"}]}}]}` + "\n\n{\n  \"error\": {\n    \"code\": 503,\n    \"message\": \"The model is overloaded.\",\n    \"status\": \"UNAVAILABLE\"\n  }\n}\n",
			text: "on", kind: providers.ServerFault, hint: "in a moment", status: 503,
		},
		{
			name: "an error in a list in mid-stream", body: `[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`,
			kind: providers.ServerFault, hint: "in a moment", status: 503,
		},
		{
			name:   "a quota that comes back",
			status: 429, body: `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"36s"}]}}`,
			kind: providers.RateLimited, hint: "quota", retry: 36,
		},
		{
			name: "no valid key", status: 400,
			body: `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`,
			kind: providers.Auth, hint: "GEMINI_API_KEY",
		},
		{
			name: "no such model", status: 404,
			body: `{"error":{"code":404,"message":"models/m is not found for API version v1beta, or is not supported for generateContent.","status":"NOT_FOUND"}}`,
			kind: providers.ModelMissing, hint: "param:model",
		},
		{
			name: "too long", status: 400,
			body: `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`,
			kind: providers.Overflow, hint: "less text",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status := 200
			if strings.HasPrefix(tt.body, `{"error`) {
				status = tt.status
			}
			kind := "text/event-stream"
			if tt.body[0] != 'd' {
				kind = "application/json"
			}
			f := newFake(t, googleAPI, answers(status, kind, tt.body))
			text, _, last, err := generate(t, f.model(t), providers.Request{})
			if text != tt.text {
				t.Errorf("text %q, want %q", text, tt.text)
			}
			if tt.kind == "" {
				if err != nil || last.Stop != tt.stop || last.Usage != tt.usage {
					t.Errorf("ended with %q, %+v and %v, want %q and %+v", last.Stop, last.Usage, err, tt.stop, tt.usage)
				}
				return
			}
			wantError(t, err, tt.kind, tt.hint)
			var e *providers.Error
			if errors.As(err, &e) && (e.Permanent != tt.permanent || int(e.RetryAfter.Seconds()) != tt.retry) {
				t.Errorf("permanent %v, again after %v; want %v, %d s", e.Permanent, e.RetryAfter, tt.permanent, tt.retry)
			}
		})
	}
}

func TestGoogleModels(t *testing.T) {
	f := newFake(t, googleAPI, nil)
	f.list = func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/v1/models" || r.Header.Get("X-Goog-Api-Key") != testKey || r.URL.Query().Has("key"):
			http.NotFound(w, r)
		case r.URL.Query().Get("pageToken") == "":
			io.WriteString(w, `{"models":[{"name":"models/gemini-2.5-pro","inputTokenLimit":1048576,"supportedGenerationMethods":["generateContent","countTokens"]}],"nextPageToken":"a="}`)
		case r.URL.Query().Get("pageToken") == "a=":
			io.WriteString(w, `{"models":[{"name":"models/gemini-embedding-001","inputTokenLimit":2048,"supportedGenerationMethods":["embedContent"]}]}`)
		}
	}
	got, err := f.model(t).Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantModels(t, got, []providers.ModelInfo{
		{Name: "gemini-2.5-pro", Info: providers.Info{Trained: 1048576, Chats: true}},
		{Name: "gemini-embedding-001", Info: providers.Info{Trained: 2048, Embeds: true}},
	})
	m := open(t, "googleai", langchain.Config{Model: "gemini-2.5-pro", BaseURL: f.URL + "/v1", Key: testKey})
	if info, err := m.Info(t.Context()); err != nil || info.Window != 1048576 {
		t.Errorf("%+v, %v, want the window of the list", info, err)
	}
}

// wantModels compares lists of models.
func wantModels(t *testing.T, got, want []providers.ModelInfo) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("listed %+v, want %+v", got, want)
	}
}

// wantError checks an error's kind and hint.
func wantError(t *testing.T, err error, kind providers.Kind, hint string) {
	t.Helper()
	var e *providers.Error
	switch {
	case !errors.As(err, &e):
		t.Fatalf("error %v (%T), want a *providers.Error", err, err)
	case e.Kind != kind || !advises(e, hint):
		t.Errorf("error %q of kind %q with the hint %q, want kind %q and %q", e.Message, e.Kind, e.Hint, kind, hint)
	}
}
