package langchain_test

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mylm/providers"
	"mylm/providers/langchain"
)

// picky is the answer of a server that refuses what a template or a schema of
// its API does not take, and otherwise says "yes".
func picky(s fakeAPI, f **fake, refuses func(body map[string]any) string, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		sent := (*f).sent()
		if body := refuses(sent[len(sent)-1]); body != "" {
			answers(status, "application/json", body)(w, r)
			return
		}
		s.says("yes")(w, r)
	}
}

var instructed = []providers.Message{
	{Role: providers.System, Text: "be brief"}, {Role: providers.User, Text: "one"}, {Role: providers.User, Text: "two"},
	{Role: providers.Assistant, Text: "three"}, {Role: providers.User, Text: "four"},
}

// TestRefusedSystem asks servers whose models take no system message, in the
// words that they have for it, over every wire.
func TestRefusedSystem(t *testing.T) {
	for _, s := range fakeAPIs {
		for _, words := range []string{
			"System role not supported", // Gemma's template, behind vLLM and others
			"Error rendering prompt with jinja template: \"Only user and assistant roles are supported!\"",                                     // Mistral's, behind LM Studio
			"Unsupported value: 'messages[0].role' does not support 'system' with this model.",                                                 // OpenAI
			"Developer instruction is not enabled for models/m",                                                                                // Google
			"This model doesn't support system messages. Try again without a system message or use a model that does.",                         // Bedrock
			"\n------------\nWhile executing CallExpression at line 2, column 9 in source:\nError: Jinja Exception: System role not supported", // llama.cpp
		} {
			t.Run(s.provider, func(t *testing.T) {
				status := 400
				if strings.Contains(words, "Jinja Exception") {
					status = 500
				}
				var f *fake
				f = newFake(t, s, picky(s, &f, func(body map[string]any) string {
					if slices.ContainsFunc(s.read(body).Messages, func(m providers.Message) bool { return m.Role == providers.System }) {
						return s.refuse(status, "invalid_request_error", words)
					}
					return ""
				}, status))
				m := f.model(t)
				var notices []string
				for range 2 {
					text, _, last, err := generate(t, m, providers.Request{Messages: slices.Clone(instructed),
						Notice: func(text string) { notices = append(notices, text) }})
					if text != "yes" || last.Stop != providers.StopEnd || err != nil {
						t.Fatalf("%q, %+v, %v", text, last, err)
					}
				}
				sent := f.sent()
				if len(sent) != 3 {
					t.Fatalf("%d requests, want one that is refused and two that are not", len(sent))
				}
				raw, _ := json.Marshal(sent[1])
				if first := s.read(sent[1]).Messages[0]; first.Role != providers.User || !strings.Contains(string(raw), `"be brief\n\none`) {
					t.Errorf("the conversation begins with %+v: %s", first, raw)
				}
				if !reflect.DeepEqual(sent[1], sent[2]) {
					t.Errorf("the second request differs:\n%v\n%v", sent[1], sent[2])
				}
				if len(notices) != 1 || !strings.Contains(notices[0], "no system message") {
					t.Errorf("notices: %q", notices)
				}
			})
		}
	}
}

// TestRefusedRows asks servers whose models want the roles to alternate. Some
// templates count a system message.
func TestRefusedRows(t *testing.T) {
	s := openAIAPI
	for name, tt := range map[string]struct {
		status int
		words  string
		first  providers.Role // what the template wants first
		notes  int
	}{
		"Gemma 3, behind llama.cpp": {500, "\n------------\nWhile executing CallExpression at line 19, column 27 in source:\n...% 2 == 0) -%}↵        {{ raise_exception(\"Conversation roles must alternate user...\nError: Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...", providers.System, 1},
		"Mistral, behind vLLM":      {400, "Conversation roles must alternate user/assistant/user/assistant/...", providers.User, 2},
		"Devstral":                  {500, "After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.", providers.System, 1},
		"Perplexity":                {400, "After the (optional) system message(s), user or assistant roles should be alternating.", providers.System, 1},
		"DeepSeek":                  {400, "deepseek-reasoner does not support successive user or assistant messages (messages[1] and messages[2] in your input). You should interleave the user/assistant messages in the message sequence.", providers.System, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var f *fake
			f = newFake(t, s, picky(s, &f, func(body map[string]any) string {
				messages := s.read(body).Messages
				if messages[0].Role != tt.first {
					return s.refuse(tt.status, "x", tt.words)
				}
				for i := 1; i < len(messages); i++ {
					if messages[i].Role == messages[i-1].Role {
						return s.refuse(tt.status, "x", tt.words)
					}
				}
				return ""
			}, tt.status))
			var notices []string
			text, _, _, err := generate(t, f.model(t), providers.Request{Messages: slices.Clone(instructed),
				Notice: func(text string) { notices = append(notices, text) }})
			if text != "yes" || err != nil {
				t.Fatalf("%q, %v", text, err)
			}
			if len(notices) != tt.notes || !strings.Contains(notices[0], "alternate") {
				t.Errorf("notices: %q", notices)
			}
			want := []providers.Message{{Role: providers.System, Text: "be brief"}, {Role: providers.User, Text: "one\n\ntwo"},
				{Role: providers.Assistant, Text: "three"}, {Role: providers.User, Text: "four"}}
			if tt.first == providers.User {
				want = want[1:]
				want[0].Text = "be brief\n\none\n\ntwo"
			}
			if got := s.read(f.sent()[len(f.sent())-1]).Messages; !reflect.DeepEqual(got, want) {
				t.Errorf("went out %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestRefusedFields is for servers that check the fields of a request.
func TestRefusedFields(t *testing.T) {
	s := openAIAPI
	for name, tt := range map[string]struct {
		status int
		field  string
		body   string
	}{
		"Azure":        {400, "stream_options", `{"error":{"message":"Unrecognized request argument supplied: stream_options","type":"invalid_request_error","param":null,"code":null}}`},
		"OpenAI":       {400, "stream_options", `{"error":{"message":"Unknown parameter: 'stream_options'.","type":"invalid_request_error","param":"stream_options","code":"unknown_parameter"}}`},
		"FastAPI":      {422, "stream_options", `{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{"include_usage":true}}]}`},
		"older vLLM":   {400, "stream_options", `{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted'}]","type":"BadRequestError","param":null,"code":400}`},
		"Azure's hub":  {400, "stream_options", `{"detail":"Extra parameters ['stream_options'] are not allowed when extra-parameters is not set or set to be 'error'."}`},
		"fake streams": {400, "stream_options", `{"error":{"message":"The 'stream_options' parameter is only allowed when 'stream' is enabled.","type":"invalid_request_error","param":"stream_options","code":null}}`},
		"reasoning":    {400, "max_tokens", `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			var f *fake
			f = newFake(t, s, picky(s, &f, func(body map[string]any) string {
				if _, ok := body[tt.field]; ok {
					return tt.body
				}
				return ""
			}, tt.status))
			m, notices := f.model(t), 0
			for range 2 {
				text, _, _, err := generate(t, m, providers.Request{MaxTokens: 100, Notice: func(string) { notices++ }})
				if text != "yes" || err != nil {
					t.Fatalf("%q, %v", text, err)
				}
			}
			if sent := f.sent(); len(sent) != 3 || notices != 1 {
				t.Errorf("%d requests, %d notices", len(sent), notices)
			}
			if last := f.sent()[2]; tt.field == "max_tokens" && last["max_completion_tokens"] != 100.0 {
				t.Errorf("the limit is lost: %v", last)
			}
		})
	}
}

// TestRefusedForGood proves that what cannot be left out, or was, is an error.
func TestRefusedForGood(t *testing.T) {
	s := openAIAPI
	for name, tt := range map[string]struct {
		body     string
		requests int
		says     string
	}{
		"system, all the same":    {s.refuse(400, "x", "System role not supported"), 2, "System role"},
		"rows, all the same":      {s.refuse(400, "x", "Conversation roles must alternate user/assistant/..."), 3, "alternate"},
		"usage, all the same":     {s.refuse(400, "x", "Unknown parameter: 'stream_options'"), 2, "stream_options"},
		"a value of another name": {s.refuse(400, "x", "Unknown parameter: 'seed'"), 1, "seed"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, s, answers(400, "application/json", tt.body))
			_, _, _, err := generate(t, f.model(t), providers.Request{Messages: slices.Clone(instructed)})
			checkError(t, err, providers.Error{Kind: providers.BadRequest, Status: 400}, tt.says, "")
			if n := len(f.sent()); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
		})
	}
	// What is said in the middle of a reply is no reason to begin it again.
	f := newFake(t, s, func(w http.ResponseWriter, _ *http.Request) {
		s.stream(w, s.text("half"), s.error(400, "x", "System role not supported"))
	})
	text, _, _, err := generate(t, f.model(t), providers.Request{Messages: slices.Clone(instructed)})
	if text != "half" || err == nil || len(f.sent()) != 1 {
		t.Errorf("%q, %v, %d requests", text, err, len(f.sent()))
	}
}

// TestRefusedInStream is for LM Studio, which begins a stream before it applies
// the template.
func TestRefusedInStream(t *testing.T) {
	f := newFake(t, openAIAPI, nil)
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		b, _ := json.Marshal(f.sent()[len(f.sent())-1]["messages"])
		if strings.Contains(string(b), `"system"`) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "event: error\ndata: {\"error\":{\"message\":\"Error rendering prompt with jinja template: \\\"System role not supported\\\".\"}}\n\n")
			return
		}
		openAIAPI.says("yes")(w, r)
	}
	m := open(t, "lmstudio", langchain.Config{Model: "m", BaseURL: f.URL + "/v1"})
	if text, _, _, err := generate(t, m, providers.Request{Messages: slices.Clone(instructed)}); text != "yes" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}
