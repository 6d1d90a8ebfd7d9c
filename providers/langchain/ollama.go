package langchain

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
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
		lines:  true,
		think:  ollamaThink,
	},
	list: lister{path: "/api/tags", authorize: bearer, read: ollamaModels},
}

func openOllama(c Config, client *http.Client) (llms.Model, error) {
	llm, err := ollama.New(ollama.WithServerURL(c.BaseURL), ollama.WithModel(c.Model), ollama.WithHTTPClient(client))
	if err != nil {
		return nil, err
	}
	return thoughtful{llm}, nil
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
	Message struct {
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

func (ollamaReader) event(r *reply, data []byte) ([]byte, error) {
	var e ollamaReply
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, errGarbled
	}
	if len(e.Error) > 0 {
		c, _ := complain(data)
		r.fault = &c
		return nil, nil
	}
	r.passed += len(e.Message.Content)
	out := ollamaPieces(nil, thoughtMark, e.Message.Thinking)
	out = ollamaPieces(out, textMark, e.Message.Content)
	if !e.Done {
		return out, nil
	}
	r.ended, r.over, r.stop = true, true, e.Reason
	r.usage = providers.Usage{Prompt: e.Prompt, Output: e.Output, Load: e.Load, PromptTime: e.PromptTime, OutputTime: e.OutputTime}
	return append(out, `{"done":true}`+"\n"...), nil
}

func (o ollamaReader) whole(r *reply, body []byte) ([]byte, error) { return o.event(r, body) }

func ollamaPieces(out []byte, mark, s string) []byte {
	for _, piece := range split(s) {
		b, err := json.Marshal(map[string]any{"message": map[string]string{"content": mark + piece}})
		if err != nil { // nothing here fails to be written
			return out
		}
		out = append(append(out, b...), '\n')
	}
	return out
}

// Marks tell langchaingo's text from thought, which it does not know: each
// piece begins with one.
const (
	textMark    = "x"
	thoughtMark = "t"
)

// thoughtful takes the marks off again.
type thoughtful struct{ llms.Model }

func (t thoughtful) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, set := range options {
		set(&o)
	}
	unmark := func(ctx context.Context, piece []byte) error {
		switch {
		case len(piece) == 0:
			return nil
		case string(piece[:1]) == thoughtMark:
			return o.StreamingReasoningFunc(ctx, piece[1:], nil)
		}
		return o.StreamingFunc(ctx, piece[1:])
	}
	_, err := t.Model.GenerateContent(ctx, messages, append(slices.Clip(options), llms.WithStreamingFunc(unmark))...)
	return &llms.ContentResponse{}, err // all of it has come in pieces
}

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
