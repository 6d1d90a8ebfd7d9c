package langchain_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"mylm/providers"
	"mylm/providers/langchain"
)

var talk = []providers.Message{
	{Role: providers.System, Text: "Be brief."},
	{Role: providers.User, Text: "List the files."},
	{Role: providers.Assistant, Text: "<tool_code><name>ls</name></tool_code>"},
	{Role: providers.User, Text: "<observation>[ls] Success:\na & b</observation>"},
}

// TestBodies holds whole bodies against what goes out: nothing that was not
// asked for, everything that was.
func TestBodies(t *testing.T) {
	zero, warm, seed := 0.0, 0.7, 0
	bare := providers.Request{Messages: talk}
	full := providers.Request{Messages: talk, Temperature: &warm, MaxTokens: 77}
	withSeed := providers.Request{Messages: talk, Temperature: &zero, Seed: &seed}
	on, off := bare, bare
	schema := bare
	schema.Format = []byte(`{"type":"object"}`)
	on.Think, off.Think = providers.ThinkOn, providers.ThinkOff
	openAI := `"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"List the files."},{"role":"assistant","content":"<tool_code><name>ls</name></tool_code>"},{"role":"user","content":"<observation>[ls] Success:\na & b</observation>"}],"model":"m","stream":true`
	usage := openAI + `,"stream_options":{"include_usage":true}`
	claude := `"system":"Be brief.","messages":[{"role":"user","content":[{"type":"text","text":"List the files."}]},{"role":"assistant","content":[{"type":"text","text":"<tool_code><name>ls</name></tool_code>"}]},{"role":"user","content":[{"type":"text","text":"<observation>[ls] Success:\na & b</observation>"}]}],"model":"m","stream":true`
	gemini := `"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"List the files."}]},{"role":"model","parts":[{"text":"<tool_code><name>ls</name></tool_code>"}]},{"role":"user","parts":[{"text":"<observation>[ls] Success:\na & b</observation>"}]}]`
	tests := []struct {
		name, provider string
		request        providers.Request
		want           string
	}{
		{"bare", "openai", bare, usage},
		{"limits", "openai", full, usage + `,"temperature":0.7,"max_tokens":77`},
		{"schema", "openai", schema, usage + `,"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"}}}`},
		{"schema", "groq", schema, usage},
		{"zeros", "openai", withSeed, usage + `,"temperature":0,"seed":0`},
		{"think", "openai", on, usage + `,"reasoning_effort":"medium"`},
		{"do not think", "openai", off, usage},
		{"think", "openrouter", on, usage + `,"reasoning":{"enabled":true}`},
		{"do not think", "openrouter", off, usage + `,"reasoning":{"effort":"none"}`},
		{"think", "deepseek", on, usage + `,"thinking":{"type":"enabled"}`},
		{"do not think", "deepseek", off, usage + `,"thinking":{"type":"disabled"}`},
		{"think", "llamacpp", on, usage + `,"chat_template_kwargs":{"enable_thinking":true}`},
		{"do not think", "vllm", off, usage + `,"chat_template_kwargs":{"enable_thinking":false}`},
		{"do not think", "gemini-openai", off, usage + `,"reasoning_effort":"none"`},
		{"bare", "groq", bare, usage},
		{"do not think", "groq", off, usage},
		{"bare", "lmstudio", bare, usage},
		{"bare", "localai", bare, usage},
		{"zeros", "mistral", withSeed, openAI + `,"temperature":0,"random_seed":0`},
		{"bare", "cohere", bare, openAI},
		{"zeros", "cohere", withSeed, openAI + `,"temperature":0,"seed":0`},
		{"limits", "cohere", full, openAI + `,"temperature":0.7,"max_tokens":77`},
		{"bare", "googleai", bare, gemini},
		{"zeros", "googleai", withSeed, gemini + `,"generationConfig":{"temperature":0,"seed":0}`},
		{"limits", "googleai", full, gemini + `,"generationConfig":{"temperature":0.7,"maxOutputTokens":77}`},
		{"think", "googleai", on, gemini + `,"generationConfig":{"thinkingConfig":{"thinkingBudget":-1,"includeThoughts":true}}`},
		{"do not think", "googleai", off, gemini + `,"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}`},
		{"bare", "anthropic", bare, claude + `,"max_tokens":32000`},
		{"limits", "anthropic", full, claude + `,"max_tokens":77,"temperature":0.7`},
		{"think", "anthropic", on, claude + `,"max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":16000}`},
		{"do not think", "anthropic", off, claude + `,"max_tokens":32000`},
	}
	for _, tt := range tests {
		t.Run(tt.provider+"/"+tt.name, func(t *testing.T) {
			s := openAIAPI
			for _, other := range fakeAPIs {
				if other.provider == tt.provider {
					s = other
				}
			}
			f := newFake(t, s, s.says("yes"))
			m := open(t, tt.provider, langchain.Config{Model: "m", BaseURL: f.URL + "/v1", Key: testKey})
			if _, _, _, err := generate(t, m, tt.request); err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := json.Unmarshal([]byte("{"+tt.want+"}"), &want); err != nil {
				t.Fatal(err)
			}
			if got := f.sent(); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
				b, _ := json.Marshal(got)
				t.Errorf("went out %s\nwant {%s}", b, tt.want)
			}
		})
	}
}

// TestLimitNames is for the two names of one limit.
func TestLimitNames(t *testing.T) {
	seen := ""
	next := roundTrip(func(r *http.Request) (*http.Response, error) {
		var b map[string]any
		if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
			return nil, err
		}
		for name := range b {
			if strings.HasPrefix(name, "max_") {
				seen = name
			}
		}
		return nil, errors.New("enough")
	})
	m := open(t, "openai", langchain.Config{Model: "m", Key: testKey, Transport: next})
	if _, _, _, err := generate(t, m, providers.Request{MaxTokens: 5}); err == nil || seen != "max_completion_tokens" {
		t.Errorf("OpenAI itself gets the limit as %q (%v)", seen, err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestAnthropicLimits is for the limit that the API demands.
func TestAnthropicLimits(t *testing.T) {
	tests := []struct {
		model  string
		window int
		want   float64
	}{
		{"claude-3-haiku-20240307", 0, 4096},
		{"claude-3-5-haiku-latest", 0, 8192},
		{"claude-3-7-sonnet-latest", 0, 32000},
		{"claude-sonnet-4-5", 0, 32000},
		{"claude-sonnet-4-5", 16384, 4096},
	}
	for _, tt := range tests {
		f := newFake(t, anthropicAPI, anthropicAPI.says("yes"))
		m := open(t, "anthropic", langchain.Config{Model: tt.model, BaseURL: f.URL, Key: testKey, Window: tt.window})
		if _, _, _, err := generate(t, m, providers.Request{}); err != nil {
			t.Fatal(err)
		}
		if got := f.sent()[0]["max_tokens"]; got != tt.want {
			t.Errorf("%s with a window of %d: max_tokens %v, want %v", tt.model, tt.window, got, tt.want)
		}
	}
}

// TestMessages is for conversations that a wire cannot carry as they are.
func TestMessages(t *testing.T) {
	f := newFake(t, anthropicAPI, anthropicAPI.says("yes"))
	_, _, _, err := generate(t, f.model(t), providers.Request{Messages: []providers.Message{
		{Role: providers.System, Text: "one"}, {Role: providers.System, Text: "two"},
		{Role: providers.User, Text: "a"}, {Role: providers.Assistant, Text: " "}, {Role: providers.System, Text: "three"}, {Role: providers.User, Text: "b"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []providers.Message{{Role: providers.System, Text: "one\n\ntwo\n\nthree"}, {Role: providers.User, Text: "a"}, {Role: providers.User, Text: "b"}}
	if got := readAnthropic(f.sent()[0]).Messages; !reflect.DeepEqual(got, want) {
		t.Errorf("went out %q, want %q", got, want)
	}
}

// TestSecrets proves where the key goes, and that nothing of the environment
// is used behind the caller's back.
func TestSecrets(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_MODEL", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_ORGANIZATION", "ANTHROPIC_API_KEY"} {
		t.Setenv(name, "http://from-the-environment.invalid")
	}
	for _, s := range fakeAPIs {
		t.Run(s.provider, func(t *testing.T) {
			f := newFake(t, s, s.says("yes"))
			if _, _, _, err := generate(t, f.model(t), providers.Request{}); err != nil {
				t.Fatal(err)
			}
			for name, values := range f.heads[0] {
				v := strings.Join(values, " ")
				if strings.Contains(v, testKey) != (name == s.key) {
					t.Errorf("header %s: %q; the key belongs in %s alone", name, v, s.key)
				}
				if strings.Contains(v, "environment") {
					t.Errorf("header %s comes from the environment: %q", name, v)
				}
			}
			if strings.Contains(f.urls[0], testKey) {
				t.Errorf("the key is in the address %s", f.urls[0])
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	tests := []struct {
		name    string
		c       langchain.Config
		headers map[string]string // as they arrive; "" is none
	}{
		{"no key", langchain.Config{}, map[string]string{"Authorization": ""}},
		{"key", langchain.Config{Key: "k"}, map[string]string{"Authorization": "Bearer k"}},
		{"own", langchain.Config{Key: "k", Headers: map[string]string{"authorization": "Basic eDp5", "x-title": "mylm"}}, map[string]string{"Authorization": "Basic eDp5", "X-Title": "mylm"}},
		{"organization", langchain.Config{Key: "k", Settings: map[string]string{"organization": "org"}}, map[string]string{"Openai-Organization": "org"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, openAIAPI, openAIAPI.says("yes"))
			tt.c.Model, tt.c.BaseURL = "m", f.URL
			if _, _, _, err := generate(t, open(t, "openai", tt.c), providers.Request{}); err != nil {
				t.Fatal(err)
			}
			for name, want := range tt.headers {
				if got := f.heads[0].Get(name); got != want {
					t.Errorf("header %s: %q, want %q", name, got, want)
				}
			}
		})
	}
}

// TestRefusedRequests is for errors that are found before anything is sent.
func TestRefusedRequests(t *testing.T) {
	nan, seed := nan(), 1
	tests := []struct {
		name, provider string
		r              providers.Request
		kind           providers.Kind
		says           string
	}{
		{"no messages", "openai", providers.Request{Messages: []providers.Message{}}, providers.BadRequest, "empty"},
		{"no text", "anthropic", providers.Request{Messages: []providers.Message{{Role: providers.User}}}, providers.BadRequest, "no text"},
		{"unknown role", "openai", providers.Request{Messages: []providers.Message{{Role: "tool", Text: "x"}}}, providers.BadRequest, `"tool"`},
		{"temperature", "openai", providers.Request{Temperature: &nan}, providers.BadRequest, "NaN"},
		{"limit", "openai", providers.Request{MaxTokens: -1}, providers.BadRequest, "-1"},
		{"thinking", "openai", providers.Request{Think: "maybe"}, providers.BadRequest, "maybe"},
		{"no switch", "groq", providers.Request{Think: providers.ThinkOn}, providers.BadRequest, "switch"},
		{"no seed", "anthropic", providers.Request{Seed: &seed}, providers.BadRequest, "seed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, openAIAPI, openAIAPI.says("yes"))
			m := open(t, tt.provider, langchain.Config{Model: "m", BaseURL: f.URL, Key: testKey})
			_, _, _, err := generate(t, m, tt.r)
			checkError(t, err, providers.Error{Kind: tt.kind}, tt.says, "")
			if len(f.sent()) != 0 {
				t.Error("it was sent")
			}
		})
	}
	_, _, _, err := generate(t, open(t, "openai", langchain.Config{Key: testKey}), providers.Request{})
	checkError(t, err, providers.Error{Kind: providers.ModelMissing}, "no model is named", "param:model")
}
