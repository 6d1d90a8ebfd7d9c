package langchain

import (
	"net/http"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/ollama"

	"mylm/providers/internal/wire"
)

// langchainOllama is Ollama by langchaingo's client. Package providers/ollama
// does more: it asks for the server's window and its models.
func langchainOllama() backend {
	return backend{
		Provider: Provider{
			Name: "langchain-ollama", Title: "Ollama", BaseURL: "http://localhost:11434",
			KeyVars: []string{"OLLAMA_API_KEY"},
			Streams: true, Lists: true,
		},
		open: openOllama,
		api: api{
			body:   editOllama,
			head:   keyOllama,
			format: wire.OllamaLines,
			think:  ollamaThink,
		},
		list:   lister{path: "/api/tags", authorize: bearer},
		images: imageData,
	}
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
// that is too long, and from forgetting in mid-reply: both happen silently.
func editOllama(f fields, a asked) {
	f.keep("model", "messages", "stream")
	f["truncate"] = false
	f["shift"] = false
	options := fields{}
	options.sampling(a, "seed", "num_predict")
	if a.window > 0 {
		options["num_ctx"] = a.window
	}
	if len(options) > 0 {
		f["options"] = options
	}
	if a.Format != nil {
		f["format"] = a.Format
	}
	f.thinking(a, ollamaThink)
}

func ollamaThink(on bool, _ asked) map[string]any { return map[string]any{"think": on} }
