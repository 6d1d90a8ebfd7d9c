package langchain_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mylm/providers"
	"mylm/providers/langchain"
)

// hostAPIs are the wires of providers that speak OpenAI's, in their own
// words where something fails.
var hostAPIs = []fakeAPI{
	host("mistral", func(s *fakeAPI) {
		s.shown = false // the one that gets no stream_options
		s.read = func(body map[string]any) providers.Request {
			if seed, ok := body["random_seed"]; ok {
				body = maps.Clone(body)
				delete(body, "random_seed")
				body["seed"] = seed
			}
			return readOpenAI(body)
		}
	}),
	host("groq", func(*fakeAPI) {}),
	host("deepseek", func(*fakeAPI) {}),
	host("openrouter", func(*fakeAPI) {}),
	host("gemini-openai", func(*fakeAPI) {}),
	host("llamacpp", func(*fakeAPI) {}),
	host("vllm", func(*fakeAPI) {}),
	host("lmstudio", func(*fakeAPI) {}),
	host("localai", func(*fakeAPI) {}),
	host("llamafile", func(*fakeAPI) {}),
	host("huggingface", func(*fakeAPI) {}),
	host("cloudflare", func(s *fakeAPI) {
		s.config.Settings = map[string]string{"account": "acc"}
		s.refuse = func(status int, _, message string) string {
			return fmt.Sprintf(`{"result":null,"success":false,"errors":[{"code":%d,"message":%q}],"messages":[]}`, 5000+status, "AiError: "+message)
		}
		s.cannot = []string{string(providers.Filtered)}
	}),
	host("maritaca", func(s *fakeAPI) {
		s.noSeed = true
		s.refuse = func(_ int, _, message string) string { return fmt.Sprintf(`{"detail":%q}`, message) }
		s.cannot = []string{string(providers.Filtered), "model missing", "model does not exist"} // the hint is another: there is no list
	}),
	host("ernie", func(s *fakeAPI) {
		s.stops = map[providers.StopReason]string{providers.StopEnd: "normal"}
		s.read = func(body map[string]any) providers.Request {
			r := readOpenAI(body)
			var apart []providers.Message
			for _, m := range r.Messages {
				for _, text := range strings.Split(m.Text, "\n\n") {
					apart = append(apart, providers.Message{Role: m.Role, Text: text})
				}
			}
			r.Messages = apart
			return r
		}
	}),
}

func host(provider string, change func(*fakeAPI)) fakeAPI {
	s := openAIAPI
	s.provider, s.shown = provider, true
	change(&s)
	return s
}

// conversation is what the recorded requests below carry.
var conversation = []providers.Message{
	{Role: providers.System, Text: "s"},
	{Role: providers.User, Text: "q"},
	{Role: providers.Assistant, Text: "call"},
	{Role: providers.User, Text: "observation"},
	{Role: providers.User, Text: "more"},
}

// TestHostBodies holds what goes out, to the byte: with nothing set, and with
// everything.
func TestHostBodies(t *testing.T) {
	const messages = `"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},{"role":"assistant","content":"call"},{"role":"user","content":"observation"},{"role":"user","content":"more"}]`
	const turns = `"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},{"role":"assistant","content":"call"},{"role":"user","content":"observation\n\nmore"}]`
	const usage = `,"stream_options":{"include_usage":true}`
	const bare = `{"model":"m","stream":true,` + messages
	const all = `,"temperature":0,"max_tokens":7`
	tests := []struct{ provider, bare, full string }{
		{"llamafile", bare + usage + `}`, bare + usage + all + `,"seed":0}`},
		{"huggingface", bare + usage + `}`, bare + usage + all + `,"seed":0}`},
		{"cloudflare", bare + usage + `}`, bare + usage + all + `,"seed":0}`},
		{"maritaca", bare + `}`, bare + all + `}`},
		{"ernie", `{"model":"m","stream":true,` + turns + usage + `}`, `{"model":"m","stream":true,` + turns + usage + all + `,"seed":0}`},
		{"langchain-ollama", `{"model":"m","stream":true,"truncate":false,"shift":false,` + messages + `}`,
			`{"model":"m","stream":true,"truncate":false,"shift":false,"think":true,"options":{"temperature":0,"seed":0,"num_predict":7},` + messages + `}`},
		{"watsonx", `{"model_id":"m","project_id":"p",` + messages + `}`, `{"model_id":"m","project_id":"p",` + messages + all + `,"seed":0}`},
	}
	for _, tt := range tests {
		t.Run(tt.provider, func(t *testing.T) {
			s := speechOf(t, tt.provider)
			f := newFake(t, s, s.says("yes"))
			m := f.model(t)
			zero, none := 0.0, 0
			full := providers.Request{Messages: conversation, Temperature: &zero, Seed: &none, MaxTokens: 7}
			if s.noSeed {
				full.Seed = nil
			}
			if tt.provider == "langchain-ollama" {
				full.Think = providers.ThinkOn
			}
			for i, r := range []providers.Request{{Messages: conversation}, full} {
				if _, _, _, err := generate(t, m, r); err != nil {
					t.Fatal(err)
				}
				wantJSON(t, f.sent()[i], []string{tt.bare, tt.full}[i])
			}
			for i, h := range f.heads {
				if !strings.Contains(h.Get("Authorization"), "Bearer "+testKey) || strings.Contains(f.urls[i], testKey) {
					t.Errorf("the key is in %q of the header and the address %s, want it in the header alone", h.Get("Authorization"), f.urls[i])
				}
			}
		})
	}
}

// TestErnieTurns holds that what Qianfan refuses is not sent: a system message
// behind the first, and two messages of one role in a row.
func TestErnieTurns(t *testing.T) {
	s := speechOf(t, "ernie")
	f := newFake(t, s, s.says("yes"))
	r := providers.Request{Messages: append(slices.Clone(conversation), providers.Message{Role: providers.System, Text: "late"})}
	if _, _, _, err := generate(t, f.model(t), r); err != nil {
		t.Fatal(err)
	}
	wantJSON(t, f.sent()[0], `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"s\n\nlate"},
		{"role":"user","content":"q"},{"role":"assistant","content":"call"},{"role":"user","content":"observation\n\nmore"}]}`)
}

func speechOf(t *testing.T, provider string) fakeAPI {
	t.Helper()
	for _, s := range fakeAPIs {
		if s.provider == provider {
			return s
		}
	}
	t.Fatalf("no fake API of %s", provider)
	return fakeAPI{}
}

func wantJSON(t *testing.T, got map[string]any, want string) {
	t.Helper()
	var w map[string]any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	g, _ := json.Marshal(got)
	if s, _ := json.Marshal(w); string(g) != string(s) {
		t.Errorf("sent %s\nwant %s", g, s)
	}
}

// TestCloudflareAddress holds that the account is part of the address, and that
// the list of models is found beside the rest, page by page.
func TestCloudflareAddress(t *testing.T) {
	s := speechOf(t, "cloudflare")
	s.path = "/client/v4/accounts/acc%2F1/ai/v1/chat/completions"
	f := newFake(t, s, s.says("yes"))
	f.fakeAPI.path = "/client/v4/accounts/acc/1/ai/v1/chat/completions" // as net/http unescapes it
	var lists []string
	f.list = func(w http.ResponseWriter, r *http.Request) {
		lists = append(lists, r.URL.String()+" "+r.Header.Get("Authorization"))
		page := cmp.Or(r.URL.Query().Get("page"), "1")
		fmt.Fprintf(w, `{"result":[{"name":"@cf/m%s","task":{"name":"Text Generation"},"properties":[{"property_id":"context_window","value":"8192"},{"property_id":"price","value":[{}]}]}],
			"success":true,"errors":[],"result_info":{"page":%[1]s,"per_page":1,"count":1,"total_count":2}}`, page)
	}
	m := open(t, "cloudflare", langchain.Config{Model: "@cf/m1", BaseURL: f.URL, Key: testKey, Settings: map[string]string{"account": "acc/1"}})
	if text, _, _, err := generate(t, m, providers.Request{}); text != "yes" || err != nil {
		t.Fatalf("%q, %v", text, err)
	}
	if f.urls[0] != s.path {
		t.Errorf("asked at %s, want %s", f.urls[0], s.path)
	}
	list, err := m.Models(t.Context())
	if err != nil || len(list) != 2 || list[1].Name != "@cf/m2" || list[1].Trained != 8192 {
		t.Errorf("listed %+v, %v", list, err)
	}
	if info, err := m.Info(t.Context()); err != nil || info.Window != 8192 {
		t.Errorf("Info = %+v, %v, want the window of the list", info, err)
	}
	want := "/client/v4/accounts/acc%2F1/ai/models/search?task=Text+Generation&per_page=100&page=2 Bearer " + testKey
	if len(lists) < 2 || lists[1] != want {
		t.Errorf("asked for the list at %q, want the second at %q", lists, want)
	}
}

// TestHostWords holds that what these providers say in words of their own is
// understood.
func TestHostWords(t *testing.T) {
	tests := []struct {
		provider  string
		status    int
		body      string
		kind      providers.Kind
		permanent bool
		hint      string
	}{
		{"cloudflare", 400, `{"errors":[{"message":"AiError: No such model @cf/x or task","code":5007}],"success":false}`, providers.ModelMissing, false, "param:model"},
		{"cloudflare", 429, `{"errors":[{"message":"you have used up your daily free allocation of 10,000 neurons","code":3036}]}`, providers.RateLimited, true, "billing"},
		{"cloudflare", 429, `{"errors":[{"message":"No more data centers to forward the request to","code":3040}]}`, providers.RateLimited, false, "Wait"},
		{"cloudflare", 401, `{"success":false,"errors":[{"code":10000,"message":"Authentication error"}]}`, providers.Auth, false, "CLOUDFLARE_API_TOKEN"},
		{"huggingface", 400, `{"error":{"message":"The requested model 'x' is not supported by any provider you have enabled.","type":"invalid_request_error","param":"model","code":"model_not_supported"}}`, providers.ModelMissing, false, "param:model"},
		{"huggingface", 401, `{"error":"Invalid username or password."}`, providers.Auth, false, "HF_TOKEN"},
		{"huggingface", 402, `{"error":"You have exceeded your monthly included credits for Inference Providers."}`, providers.RateLimited, true, "billing"},
		{"maritaca", 401, `{"detail":"Invalid API key"}`, providers.Auth, false, "MARITACA_API_KEY"},
		{"maritaca", 404, `{"detail":"Model m not found"}`, providers.ModelMissing, false, "documentation of Maritaca"},
		{"ernie", 401, `{"error":{"code":"invalid_iam_token","message":"IAM Certification failed","type":"invalid_request_error"},"id":"as-x"}`, providers.Auth, false, "QIANFAN_API_KEY"},
		{"ernie", 400, `{"error":{"code":"invalid_model","message":"The model does not exist or you do not have access to it.","type":"invalid_request_error"}}`, providers.ModelMissing, false, "param:model"},
		{"langchain-ollama", 404, `{"error":"model 'm' not found"}`, providers.ModelMissing, false, "param:model"},
		{"langchain-ollama", 400, `{"error":"the input length exceeds the context length"}`, providers.Overflow, false, ""},
		{"langchain-ollama", 400, `{"error":"\"m\" does not support chat"}`, providers.CannotChat, false, ""},
		{"langchain-ollama", 400, `{"error":"\"m\" does not support thinking"}`, providers.BadRequest, false, "param:think"},
		{"watsonx", 404, `{"errors":[{"code":"model_not_supported","message":"Model 'm' is not supported for this environment."}],"trace":"x","status_code":404}`, providers.ModelMissing, false, "param:model"},
		{"watsonx", 400, `{"errors":[{"code":"invalid_input_argument","message":"Invalid input argument for Model 'm': the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model"}],"status_code":400}`, providers.Overflow, false, ""},
		{"watsonx", 403, `{"errors":[{"code":"token_quota_reached","message":"Token quota reached"}],"status_code":403}`, providers.RateLimited, true, "billing"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.provider, tt.status, tt.kind), func(t *testing.T) {
			s := speechOf(t, tt.provider)
			m := newFake(t, s, answers(tt.status, "application/json", tt.body)).model(t)
			_, _, _, err := generate(t, m, providers.Request{})
			e, ok := err.(*providers.Error)
			if !ok || e.Kind != tt.kind || !advises(e, tt.hint) || tt.permanent && e.Temporary() {
				t.Fatalf("%v: %+v, want kind %s and a hint with %q", err, e, tt.kind, tt.hint)
			}
			if tt.provider == "watsonx" && tt.kind == providers.Overflow && (e.PromptTokens != 9000 || e.Window != 8192) {
				t.Errorf("%d tokens in a window of %d, want 9000 in 8192", e.PromptTokens, e.Window)
			}
		})
	}
}
