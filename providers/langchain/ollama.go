package langchain

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/ollama"

	"mylm/providers"
)

// langchainOllama is Ollama by langchaingo's client. Package providers/ollama
// does more: it knows the server's window and its models.
var langchainOllama = backend{
	Provider: Provider{
		Name: "langchain-ollama", Title: "Ollama", BaseURL: "http://localhost:11434",
		KeyVars: []string{"OLLAMA_API_KEY"},
		Streams: true, Lists: true,
	},
	open: openOllama,
	wire: wire{
		edit:   editOllama,
		head:   keyOllama,
		reader: func() reader { return ollamaReader{} },
		end:    `{"done":true}` + "\n",
		lines:  true,
		think:  ollamaThink,
	},
	list: lister{path: "/api/tags", authorize: bearer, read: ollamaModels},
}

func openOllama(c Config, client *http.Client) (llms.Model, error) {
	return ollama.New(ollama.WithServerURL(c.BaseURL), ollama.WithModel(c.Model), ollama.WithHTTPClient(client))
}

// keyOllama sends the key, which langchaingo does not.
func keyOllama(req *http.Request, a asked) {
	if a.key != "" {
		req.Header.Set("Authorization", "Bearer "+a.key)
	}
}

// editOllama keeps the server from dropping the beginning of a conversation
// that is too long, and from forgetting in mid-reply: both happen in silence.
func editOllama(f fields, a asked) {
	f.keep("model", "messages", "stream")
	f.set("truncate", false)
	f.set("shift", false)
	options := fields{}
	options.sampling(a, "seed", "num_predict")
	if a.window > 0 {
		options.set("num_ctx", a.window)
	}
	if len(options) > 0 {
		f.set("options", options)
	}
	f.thinking(a, ollamaThink)
}

func ollamaThink(on bool, _ asked) map[string]any { return map[string]any{"think": on} }

// ollamaReader reads the lines of /api/chat.
type ollamaReader struct{}

type ollamaReply struct {
	Error   json.RawMessage `json:"error"`
	Message *struct {
		Content  string `json:"content"`
		Thinking string `json:"thinking"`
	} `json:"message"`
	Done       bool          `json:"done"`
	Reason     string        `json:"done_reason"`
	Load       time.Duration `json:"load_duration"`
	Prompt     int           `json:"prompt_eval_count"`
	PromptTime time.Duration `json:"prompt_eval_duration"`
	Output     int           `json:"eval_count"`
	OutputTime time.Duration `json:"eval_duration"`
}

func (ollamaReader) event(r *reply, data []byte) error {
	var e ollamaReply
	if err := json.Unmarshal(data, &e); err != nil {
		return errGarbled
	}
	r.known = r.known || e.Message != nil || e.Done
	if present(e.Error) {
		c, _ := complain(data)
		r.fault = &c
		return nil
	}
	if e.Message != nil {
		r.think(e.Message.Thinking)
		r.say(e.Message.Content)
	}
	if !e.Done {
		return nil
	}
	r.ended, r.over, r.stop = true, true, e.Reason
	r.usage = providers.Usage{Prompt: e.Prompt, Output: e.Output, Load: e.Load, PromptTime: e.PromptTime, OutputTime: e.OutputTime}
	return nil
}

func (o ollamaReader) whole(r *reply, body []byte) error { return o.event(r, body) }

func ollamaModels(body []byte) ([]providers.ModelInfo, string, error) {
	var list struct {
		Models *[]struct {
			Name     string    `json:"name"`
			Size     int64     `json:"size"`
			Modified time.Time `json:"modified_at"`
		} `json:"models"`
	}
	if err := decode(body, &list); err != nil || list.Models == nil {
		return nil, "", errGarbled
	}
	out := make([]providers.ModelInfo, 0, len(*list.Models))
	for _, m := range *list.Models {
		info := providers.ModelInfo{Name: m.Name, Size: m.Size, Modified: m.Modified}
		info.Chats, info.Embeds = purpose(m.Name)
		out = append(out, info)
	}
	return out, "", nil
}
