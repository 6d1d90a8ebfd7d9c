package langchain_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"mylm/providers"
	"mylm/providers/langchain"
)

// cohereAPI is OpenAI's wire as Cohere writes it: the cost comes with the
// last piece, and an error is a message with an id.
var cohereAPI = cohereTalk()

func cohereTalk() fakeAPI {
	s := openAIAPI
	s.provider, s.path = "cohere", "/v1/compatibility/v1/chat/completions"
	s.end = func(stop string, u providers.Usage) []string {
		return []string{
			data(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": stop}}, "usage": openAIUsage(u)}),
			"data: [DONE]\n\n",
		}
	}
	s.refuse = func(_ int, code, message string) string {
		if code == "content_filter" { // there are no codes
			message = "the message violates the content policy"
		}
		b, _ := json.Marshal(map[string]any{"id": "x", "message": message})
		return string(b)
	}
	s.read = func(body map[string]any) providers.Request {
		if _, ok := body["stream_options"]; ok {
			body["unknown"] = true // shows as an unexpected message
		}
		return readOpenAI(body)
	}
	return s
}

func TestCohereModels(t *testing.T) {
	f := newFake(t, cohereAPI, nil)
	f.list = func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/v1/v1/models" || r.Header.Get("Authorization") != "Bearer "+testKey:
			http.NotFound(w, r)
		case r.URL.Query().Get("page_token") == "":
			io.WriteString(w, `{"models":[{"name":"embed-v4.0","endpoints":["embed"],"context_length":128000}],"next_page_token":"a b"}`)
		case r.URL.Query().Get("page_token") == "a b":
			io.WriteString(w, `{"models":[{"name":"command-a-03-2025","endpoints":["chat","generate"],"context_length":288000}]}`)
		}
	}
	got, err := f.model(t).Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []providers.ModelInfo{
		{Name: "command-a-03-2025", Info: providers.Info{Trained: 288000, Chats: true}},
		{Name: "embed-v4.0", Info: providers.Info{Trained: 128000, Embeds: true}},
	}
	wantModels(t, got, want)
	m := open(t, "cohere", langchain.Config{Model: "command-a-03-2025", BaseURL: f.URL + "/v1", Key: testKey})
	if info, err := m.Info(t.Context()); err != nil || info.Window != 288000 {
		t.Errorf("%+v, %v, want the window of the list", info, err)
	}
}

// TestCohereAddress proves that an address may already end in the path.
func TestCohereAddress(t *testing.T) {
	f := newFake(t, cohereAPI, cohereAPI.says("yes"))
	base := strings.TrimSuffix(f.URL+cohereAPI.path, "/chat/completions")
	m := open(t, "cohere", langchain.Config{Model: "m", Key: testKey, BaseURL: base})
	if text, _, _, err := generate(t, m, providers.Request{}); text != "yes" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestCohereRefusals(t *testing.T) {
	tests := []struct {
		status  int
		message string
		kind    providers.Kind
		hint    string
	}{
		{401, "invalid api token", providers.Auth, "COHERE_API_KEY"},
		{404, "model 'm' not found, make sure the correct model ID was used and that you have access to the model.", providers.ModelMissing, "param:model"},
		{429, "You are using a Trial key, which is limited to 20 API calls / minute.", providers.RateLimited, "Wait"},
		{400, "too many tokens: total number of tokens in the prompt cannot exceed 128000", providers.Overflow, "less text"},
		{498, "blocked output", providers.Filtered, "other words"},
		{422, "temperature must be between 0 and 1", providers.BadRequest, "param:temperature"},
		{503, "service unavailable", providers.ServerFault, "in a moment"},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind), func(t *testing.T) {
			f := newFake(t, cohereAPI, cohereAPI.refuses(tt.status, "", tt.message))
			_, _, _, err := generate(t, f.model(t), providers.Request{})
			wantError(t, err, tt.kind, tt.hint)
		})
	}
}
