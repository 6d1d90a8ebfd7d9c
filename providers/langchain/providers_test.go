package langchain_test

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mylm/providers"
	"mylm/providers/langchain"
)

func nan() float64 { return math.NaN() }

func TestProviders(t *testing.T) {
	var names []string
	for _, p := range langchain.Providers() {
		names = append(names, p.Name)
		if got, ok := langchain.Lookup(p.Name); !ok || got.Title != p.Title || p.Title == "" {
			t.Errorf("Lookup(%q) = %+v, %v", p.Name, got, ok)
		}
		if p.NeedsKey && len(p.KeyVars) == 0 {
			t.Errorf("%s needs a key, but nobody can know from where", p.Name)
		}
		if p.Missing != "" {
			continue
		}
		c := langchain.Config{Model: "m", BaseURL: p.BaseURL, Settings: map[string]string{}}
		if len(p.KeyVars) > 0 {
			c.Key = testKey
		}
		for _, s := range p.Settings {
			if s.Required {
				c.Settings[s.Name] = "x"
			}
		}
		open(t, p.Name, c)
	}
	if !slices.IsSorted(names) {
		t.Errorf("not sorted: %q", names)
	}
	for _, want := range []string{"openai", "openrouter", "groq", "deepseek", "mistral", "gemini-openai", "llamacpp", "vllm", "lmstudio", "localai", "anthropic",
		"llamafile", "langchain-ollama", "huggingface", "cloudflare", "maritaca", "ernie", "watsonx", "local"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing among %q", want, names)
		}
	}
	if _, ok := langchain.Lookup("nobody"); ok {
		t.Error("Lookup knows nobody")
	}
}

// TestOpenRefuses is for every configuration that must not reach a constructor
// of langchaingo's.
func TestOpenRefuses(t *testing.T) {
	key := testKey
	tests := []struct {
		name, provider string
		c              langchain.Config
		kind           providers.Kind
		says, hints    string
	}{
		{"unknown provider", "nobody", langchain.Config{}, providers.BadRequest, `"nobody"`, "anthropic, "},
		{"no key", "openai", langchain.Config{}, providers.Auth, "OpenAI needs a key", "OPENAI_API_KEY"},
		{"no key, from elsewhere", "openai", langchain.Config{KeyFrom: "MY_KEY"}, providers.Auth, "needs a key", "MY_KEY"},
		{"key with a line break", "openai", langchain.Config{Key: key + "\n"}, providers.BadRequest, "line break", "again"},
		{"key with a space", "openai", langchain.Config{Key: "Bearer " + key}, providers.BadRequest, "space", "again"},
		{"no scheme", "openai", langchain.Config{Key: key, BaseURL: "localhost:8080/v1"}, providers.BadRequest, "localhost", "http://localhost:8080/v1"},
		{"no host", "openai", langchain.Config{Key: key, BaseURL: "http:///v1"}, providers.BadRequest, "HTTP", "http://"},
		{"other scheme", "anthropic", langchain.Config{Key: key, BaseURL: "ftp://x/v1"}, providers.BadRequest, "ftp", "http://"},
		{"no URL", "openai", langchain.Config{Key: key, BaseURL: "http://[::1"}, providers.BadRequest, "none", "http://"},
		{"control character", "openai", langchain.Config{Key: key, BaseURL: "http://x/\x7f"}, providers.BadRequest, "none", "http://"},
		{"password", "openai", langchain.Config{Key: key, BaseURL: "http://me:" + key + "@x/v1"}, providers.BadRequest, "password", "header"},
		{"query", "openai", langchain.Config{Key: key, BaseURL: "http://x/v1?token=" + key}, providers.BadRequest, "query", "Leave out"},
		{"one function", "openai", langchain.Config{Key: key, BaseURL: "http://x/v1/chat/completions/"}, providers.BadRequest, "one function", "http://x/v1"},
		{"header's name", "openai", langchain.Config{Key: key, Headers: map[string]string{"a b": "c"}}, providers.BadRequest, `"a b"`, ""},
		{"header's value", "openai", langchain.Config{Key: key, Headers: map[string]string{"A": "b\r\nC: d"}}, providers.BadRequest, `"A"`, ""},
		{"window", "openai", langchain.Config{Key: key, Window: -1}, providers.BadRequest, "-1", ""},
		{"setting", "openai", langchain.Config{Key: key, Settings: map[string]string{"region": "x"}}, providers.BadRequest, `"region"`, "organization"},
		{"setting's value", "openai", langchain.Config{Key: key, Settings: map[string]string{"organization": "x\n"}}, providers.BadRequest, "organization", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := langchain.Open(tt.provider, tt.c)
			checkError(t, err, providers.Error{Kind: tt.kind, Permanent: true}, tt.says, tt.hints)
		})
	}
}

// TestAddresses is for what becomes of an address.
func TestAddresses(t *testing.T) {
	for _, tt := range []struct{ provider, path, want string }{
		{"openai", "", "/v1/chat/completions"},
		{"openai", "/", "/v1/chat/completions"},
		{"groq", "", "/openai/v1/chat/completions"},
		{"openai", "/api/", "/api/chat/completions"},
		{"anthropic", "", "/v1/messages"},
	} {
		f := newFake(t, openAIAPI, nil)
		m := open(t, tt.provider, langchain.Config{Model: "m", BaseURL: f.URL + tt.path, Key: testKey})
		f.fakeAPI.path = "none of them"
		generate(t, m, providers.Request{})
		if len(f.urls) != 1 || f.urls[0] != tt.want {
			t.Errorf("%s at %q asks %q, want %q", tt.provider, tt.path, f.urls, tt.want)
		}
	}
}

func TestInfoAsks(t *testing.T) {
	asked := 0
	f := newFake(t, openAIAPI, nil)
	f.list = func(w http.ResponseWriter, r *http.Request) {
		asked++
		answers(200, "application/json", `{"data":[{"id":"a","context_length":1},{"id":"m","context_length":4096}]}`)(w, r)
	}
	tests := []struct {
		provider, model string
		window          int
		want, asked     int
	}{
		{"openrouter", "m", 0, 4096, 1},
		{"openrouter", "m", 2048, 2048, 0},
		{"openrouter", "unknown", 0, 0, 1},
		{"openai", "m", 0, 0, 0},
	}
	for _, tt := range tests {
		asked = 0
		m := open(t, tt.provider, langchain.Config{Model: tt.model, BaseURL: f.URL, Key: testKey, Window: tt.window})
		for range 2 {
			info, err := m.Info(t.Context())
			if err != nil || info.Window != tt.want || !info.Chats {
				t.Errorf("%s %s: %+v, %v, want a window of %d", tt.provider, tt.model, info, err, tt.want)
			}
		}
		if asked != tt.asked {
			t.Errorf("%s %s: asked %d times, want %d", tt.provider, tt.model, asked, tt.asked)
		}
	}
	f.list = answers(401, "application/json", `{"error":"no"}`)
	_, err := open(t, "openrouter", langchain.Config{Model: "m", BaseURL: f.URL, Key: testKey}).Info(t.Context())
	checkError(t, err, providers.Error{Kind: providers.Auth, Status: 401}, "no", "OPENROUTER_API_KEY")
}

func TestInfo(t *testing.T) {
	m := open(t, "llamacpp", langchain.Config{Window: 8192})
	info, err := m.Info(t.Context())
	if err != nil || info != (providers.Info{Window: 8192, Chats: true}) {
		t.Errorf("%+v, %v", info, err)
	}
	if m.Name() != "default" {
		t.Errorf("name %q", m.Name())
	}
}

func TestModels(t *testing.T) {
	tests := []struct {
		name, provider string
		pages          map[string]string // by query
		want           []providers.ModelInfo
	}{
		{"OpenAI", "openai", map[string]string{"": `{"object":"list","data":[{"id":"gpt-4o","created":1715367049},{"id":"text-embedding-3-small","created":1705948997},{"id":"whisper-1"}]}`},
			[]providers.ModelInfo{
				{Name: "gpt-4o", Modified: time.Unix(1715367049, 0).UTC(), Info: providers.Info{Chats: true}},
				{Name: "text-embedding-3-small", Modified: time.Unix(1705948997, 0).UTC(), Info: providers.Info{Embeds: true}},
				{Name: "whisper-1"},
			}},
		{"llama.cpp", "llamacpp", map[string]string{"": `{"data":[{"id":"m.gguf","meta":{"n_ctx":8192,"n_ctx_train":32768,"size":4683073536}}]}`},
			[]providers.ModelInfo{{Name: "m.gguf", Size: 4683073536, Info: providers.Info{Trained: 32768, Window: 8192, Chats: true}}}},
		{"vLLM", "vllm", map[string]string{"": `{"data":[{"id":"m","max_model_len":4096}]}`},
			[]providers.ModelInfo{{Name: "m", Info: providers.Info{Trained: 4096, Window: 4096, Chats: true}}}},
		{"Mistral", "mistral", map[string]string{"": `{"data":[{"id":"mistral-ocr","max_context_length":16384,"capabilities":{"completion_chat":false}}]}`},
			[]providers.ModelInfo{{Name: "mistral-ocr", Info: providers.Info{Trained: 16384}}}},
		{"Anthropic", "anthropic", map[string]string{
			"limit=1000":              `{"data":[{"type":"model","id":"claude-b","created_at":"2025-02-19T00:00:00Z"}],"has_more":true,"last_id":"b c"}`,
			"limit=1000&after_id=b+c": `{"data":[{"type":"model","id":"claude-a","created_at":"2025-02-18T00:00:00Z"}],"has_more":false,"last_id":"a"}`},
			[]providers.ModelInfo{
				{Name: "claude-a", Modified: time.Date(2025, 2, 18, 0, 0, 0, 0, time.UTC), Info: providers.Info{Chats: true}},
				{Name: "claude-b", Modified: time.Date(2025, 2, 19, 0, 0, 0, 0, time.UTC), Info: providers.Info{Chats: true}},
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, openAIAPI, nil)
			f.list = func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/models" || !strings.Contains(r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"), testKey) {
					t.Errorf("asks %s with %v", r.URL, r.Header)
				}
				answers(200, "application/json", tt.pages[r.URL.RawQuery])(w, r)
			}
			got, err := open(t, tt.provider, langchain.Config{BaseURL: f.URL, Key: testKey}).Models(t.Context())
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%+v, %v\nwant %+v", got, err, tt.want)
			}
		})
	}
}

func TestModelsFail(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   providers.Error
		says   string
	}{
		{"key", answers(401, "application/json", `{"error":{"message":"no"}}`), providers.Error{Kind: providers.Auth, Status: 401}, "no"},
		{"page", answers(200, "text/html", "<html>"), providers.Error{Kind: providers.Unreachable, Status: 200, Permanent: true}, "not a model's API"},
		{"not a list", answers(200, "application/json", `{"ok":true}`), providers.Error{Kind: providers.Unreachable, Status: 200, Permanent: true}, "not a list"},
		{"cut", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			w.Write([]byte("{"))
		},
			providers.Error{Kind: providers.Interrupted}, "broke off"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, openAIAPI, nil)
			f.list = tt.answer
			_, err := open(t, "openai", langchain.Config{BaseURL: f.URL, Key: testKey}).Models(t.Context())
			checkError(t, err, tt.want, tt.says, "")
		})
	}
	_, err := langchain.New(nil, langchain.Options{}).Models(t.Context())
	checkError(t, err, providers.Error{Kind: providers.BadRequest, Permanent: true}, "cannot list", "")
}

// TestOrigins proves that hints speak of what the user wrote, and where.
func TestOrigins(t *testing.T) {
	f := newFake(t, openAIAPI, openAIAPI.refuses(404, "model_not_found", "The model does not exist"))
	c := langchain.Config{Model: "m", Name: "work", BaseURL: f.URL, BaseFrom: "base_url of [models.work]", Key: testKey, KeyFrom: "key of [models.work]"}
	_, _, _, err := generate(t, open(t, "openai", c), providers.Request{})
	checkError(t, err, providers.Error{Kind: providers.ModelMissing, Status: 404}, "", "param:model")
	f.answer = answers(404, "text/html", "<html>")
	_, _, _, err = generate(t, open(t, "openai", c), providers.Request{})
	checkError(t, err, providers.Error{Kind: providers.Unreachable, Status: 404, Permanent: true}, "", "check it in base_url of [models.work].")
}
