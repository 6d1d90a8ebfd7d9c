package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ollama/ollama/api"

	"mylm/providers"
	"mylm/providers/ollama"
)

func TestModels(t *testing.T) {
	changed := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := []providers.ModelInfo{
		{Name: "chat:latest", Size: 7, Modified: changed, Info: providers.Info{Window: 16384, Trained: 131072, Loaded: true, Chats: true, Thinks: true}},
		{Name: "embed:latest", Size: 3, Info: providers.Info{Trained: 512, Embeds: true}},
	}
	const (
		told = `{"models":[{"name":"chat:latest","size":7,"modified_at":"2026-01-02T03:04:05Z","capabilities":["completion","thinking"],"details":{"context_length":131072}},
			{"name":"embed:latest","size":3,"capabilities":["embedding"],"details":{"context_length":512}}]}`
		untold = `{"models":[{"name":"chat:latest","size":7,"modified_at":"2026-01-02T03:04:05Z"},{"name":"embed:latest","size":3}]}`
	)
	for name, list := range map[string]string{"told by the list": told, "asked one by one": untold} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, nil)
			f.tags = says(list)
			f.ps = says(`{"models":[{"name":"chat:latest","context_length":16384}]}`)
			f.show = nil
			f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/show" {
					f.ServeHTTP(w, r)
					return
				}
				body, _ := io.ReadAll(r.Body)
				reply := `{"capabilities":["completion","thinking"],"model_info":{"general.architecture":"a","a.context_length":131072}}`
				if strings.Contains(string(body), "embed") {
					reply = `{"capabilities":["embedding"],"model_info":{"general.architecture":"b","b.context_length":512}}`
				}
				io.WriteString(w, reply)
			})
			got, err := client(t, f.URL).Models(t.Context())
			for i := range got {
				if asked := list == untold; asked != (got[i].Sees == providers.Unable) {
					t.Errorf("%s sees: %q", got[i].Name, got[i].Sees)
				}
				got[i].Sees = ""
			}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("Models = %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
}

// The list of a server need not tell which models think.
func TestModelsAsksWhoThinks(t *testing.T) {
	for n, thinks := range map[int]bool{1: true, 20: true, 21: false} {
		f := newFake(t, nil)
		f.show = says(`{"capabilities":["completion","thinking"],"model_info":{}}`)
		entry := `{"name":"m","capabilities":["completion"],"details":{"context_length":512}}`
		f.tags = says(`{"models":[` + strings.Repeat(entry+",", n) + `{"name":"e","capabilities":["embedding"]}]}`)
		got, err := client(t, f.URL).Models(t.Context())
		if err != nil || len(got) != n+1 {
			t.Fatalf("%d models: %+v, %v", n, got, err)
		}
		for _, m := range got[:n] {
			if m.Thinks != thinks || !m.Chats || m.Trained != 512 {
				t.Errorf("%d models: %+v, want thinks %v", n, m, thinks)
			}
		}
		if got[n].Thinks || f.count("/api/show") != map[bool]int{true: n}[thinks] {
			t.Errorf("%d models: %d were shown", n, f.count("/api/show"))
		}
	}
	f := newFake(t, nil)
	f.tags = says(`{"models":[{"name":"m","capabilities":["completion"]}]}`)
	f.show = refuses(500, `{"error":"damaged"}`)
	if got, err := client(t, f.URL).Models(t.Context()); err != nil || len(got) != 1 || !got[0].Chats {
		t.Errorf("a model that cannot be shown: %+v, %v", got, err)
	}
}

func TestModelsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := newFake(t, nil)
	f.tags = says(`{"models":[` + strings.Repeat(`{"name":"m","capabilities":["completion"]},`, 9) + `{"name":"m"}]}`)
	f.show = func(_ http.ResponseWriter, r *http.Request) { cancel(); f.hang(r) }
	if got, err := client(t, f.URL).Models(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Models = %+v, %v", got, err)
	}
}

func TestInfo(t *testing.T) {
	f := newFake(t, nil)
	f.show = says(`{"capabilities":["completion","thinking"],"model_info":{"general.architecture":"llama","llama.context_length":32768}}`)
	m := f.model(t, ollama.ModelOptions{})
	want := providers.Info{Window: 8192, Trained: 32768, Loaded: true, Chats: true, Thinks: true, Sees: providers.Unable}
	for range 2 {
		if got, err := m.Info(t.Context()); err != nil || got != want {
			t.Errorf("Info = %+v, %v, want %+v", got, err, want)
		}
	}
	if n := f.count("/api/show"); n != 1 {
		t.Errorf("the model was shown %d times, want once", n)
	}
	f.ps = says(`{"models":[]}`)
	want.Loaded = false
	if got, err := m.Info(t.Context()); err != nil || got != want {
		t.Errorf("after it was unloaded: Info = %+v, %v, want %+v", got, err, want)
	}
	f.show = refuses(404, `{"error":"model 'm' not found"}`)
	if _, err := f.model(t, ollama.ModelOptions{}).Info(t.Context()); providers.KindOf(err) != providers.ModelMissing {
		t.Errorf("Info of a model that is not there: %v", err)
	}
}

// The form of calls that a model was trained for shows in its renderer, its template,
// or its family. The templates are short, with the words by which those of Ollama's
// library and of published models tell.
func TestInfoForm(t *testing.T) {
	for name, tt := range map[string]struct {
		show api.ShowResponse
		want string
	}{
		"Qwen 2.5":                  {api.ShowResponse{Template: "{{ if .Tools }}Reply with\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>{{ end }}", Details: family("qwen2")}, "tool_call"},
		"Hermes 3":                  {api.ShowResponse{Template: "<|im_start|>{{ range .ToolCalls }}<tool_call>{\"name\": \"{{ .Function.Name }}\"}</tool_call>{{ end }}", Details: family("llama")}, "tool_call"},
		"Qwen 3, Jinja":             {api.ShowResponse{Template: `{{- '<tool_call>\n{"name": "' + tool_call.name + '"}\n</tool_call>' }}`, Details: family("qwen3")}, "tool_call"},
		"Qwen 3 Coder, template":    {api.ShowResponse{Template: "<tool_call>\n<function=example_function_name>\n<parameter=example_parameter_1>\nvalue\n</parameter>", Details: family("qwen3moe")}, "function"},
		"Qwen 3 Coder, renderer":    {api.ShowResponse{Template: "{{ .Prompt }}", Modelfile: "# made\nFROM x\nTEMPLATE {{ .Prompt }}\nRENDERER qwen3-coder\nPARSER qwen3-coder\n", Details: family("qwen3moe")}, "function"},
		"renderer in its field":     {api.ShowResponse{Template: "{{ .Prompt }}", Renderer: "qwen3.5", Details: family("qwen35")}, "function"},
		"Qwen 3 VL, renderer":       {api.ShowResponse{Template: "{{ .Prompt }}", Modelfile: "FROM x\nRENDERER qwen3-vl-instruct\n", Details: family("qwen3vl")}, "tool_call"},
		"another renderer":          {api.ShowResponse{Template: "{{ .Prompt }}", Modelfile: "FROM x\nRENDERER olmo3\n", Details: family("qwen3")}, ""},
		"Llama 3.1":                 {api.ShowResponse{Template: `Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.`, Details: family("llama")}, "python_tag"},
		"Llama 3.1, Jinja":          {api.ShowResponse{Template: `{{- "<|python_tag|>" + tool_call.name }}`, Details: family("llama")}, "python_tag"},
		"MiniMax M2":                {api.ShowResponse{Template: `<minimax:tool_call>\n<invoke name="tool-name-1">\n<parameter name="param-key-1">`, Details: family("minimax-m2")}, "invoke"},
		"GLM 4.5":                   {api.ShowResponse{Template: "<tool_call>{function-name}\n<arg_key>{arg-key-1}</arg_key>\n<arg_value>", Details: family("glm4moe")}, ""},
		"Mistral":                   {api.ShowResponse{Template: `[TOOL_CALLS] [{{ range .ToolCalls }}{"name": "{{ .Function.Name }}"}{{ end }}]`, Details: family("llama")}, ""},
		"Command R":                 {api.ShowResponse{Template: "Action: ```json\n[{\"tool_name\": \"{{ .Function.Name }}\"}]```", Details: family("command-r")}, ""},
		"Granite 3":                 {api.ShowResponse{Template: "<|tool_call|>[{{ range .ToolCalls }}{{ end }}]", Details: family("granite")}, ""},
		"Gemma 3":                   {api.ShowResponse{Template: "<start_of_turn>user\n{{ .Content }}<end_of_turn>", Details: family("gemma3")}, ""},
		"Qwen without its template": {api.ShowResponse{Template: "{{ .Prompt }}", Details: family("qwen3")}, "tool_call"},
		"Qwen 3.5 without it":       {api.ShowResponse{Template: "{{.Prompt}}", Details: family("qwen35moe")}, "function"},
		"Qwen, only a chat":         {api.ShowResponse{Template: "<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>", Details: family("qwen2")}, "tool_call"},
		"DeepSeek R1 of Qwen":       {api.ShowResponse{Template: "<｜User｜>{{ .Content }}<｜Assistant｜>", Details: family("qwen2")}, ""},
		"Llama without it":          {api.ShowResponse{Template: "{{ .Prompt }}", Details: family("llama")}, ""},
		"nothing":                   {api.ShowResponse{}, ""},
	} {
		f := newFake(t, nil)
		text, err := json.Marshal(tt.show)
		if err != nil {
			t.Fatal(err)
		}
		f.show = says(string(text))
		if got, err := f.model(t, ollama.ModelOptions{}).Info(t.Context()); err != nil || got.Form != tt.want {
			t.Errorf("%s: form %q, %v, want %q", name, got.Form, err, tt.want)
		}
	}
}

func family(name string) api.ModelDetails { return api.ModelDetails{Family: name} }
