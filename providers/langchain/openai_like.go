package langchain

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"

	"mylm/providers/internal/wire"
)

// openAILike returns the providers that speak OpenAI's chat completions.
// langchaingo has packages of their own for the last group, but there only the
// first message arrives or the reason for the end is missing.
func openAILike() []backend {
	return []backend{
		speaksOpenAI(dialect{think: effort(true), schema: true}, Provider{
			Name: "openai", Title: "OpenAI", BaseURL: "https://api.openai.com/v1", NeedsKey: true,
			KeyVars: []string{"OPENAI_API_KEY"}, BaseVars: []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"},
			Settings: []Setting{{Name: "organization", Vars: []string{"OPENAI_ORG_ID", "OPENAI_ORGANIZATION"},
				Help: "the organization that pays"}},
		}),
		speaksOpenAI(dialect{think: openRouterThink, windows: true}, Provider{
			Name: "openrouter", Title: "OpenRouter", BaseURL: "https://openrouter.ai/api/v1", NeedsKey: true,
			KeyVars: []string{"OPENROUTER_API_KEY"},
		}),
		speaksOpenAI(dialect{windows: true}, Provider{
			Name: "groq", Title: "Groq", BaseURL: "https://api.groq.com/openai/v1", NeedsKey: true,
			KeyVars: []string{"GROQ_API_KEY"}, BaseVars: []string{"GROQ_BASE_URL"},
		}),
		speaksOpenAI(dialect{think: deepSeekThink, blind: true}, Provider{
			Name: "deepseek", Title: "DeepSeek", BaseURL: "https://api.deepseek.com/v1", NeedsKey: true,
			KeyVars: []string{"DEEPSEEK_API_KEY"},
		}),
		speaksOpenAI(dialect{seed: "random_seed", plain: true, windows: true}, Provider{
			Name: "mistral", Title: "Mistral", BaseURL: "https://api.mistral.ai/v1", NeedsKey: true,
			KeyVars: []string{"MISTRAL_API_KEY"},
		}),
		speaksOpenAI(dialect{think: effort(false)}, Provider{
			Name: "gemini-openai", Title: "Gemini", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", NeedsKey: true,
			KeyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		}),
		speaksOpenAI(dialect{think: templateThink, anyModel: true, windows: true, schema: true}, Provider{
			Name: "llamacpp", Title: "llama.cpp", BaseURL: "http://localhost:8080/v1", KeyVars: []string{"LLAMA_API_KEY"},
		}),
		speaksOpenAI(dialect{think: templateThink, windows: true, schema: true}, Provider{
			Name: "vllm", Title: "vLLM", BaseURL: "http://localhost:8000/v1", KeyVars: []string{"VLLM_API_KEY"},
		}),
		speaksOpenAI(dialect{}, Provider{
			Name: "lmstudio", Title: "LM Studio", BaseURL: "http://localhost:1234/v1",
		}),
		speaksOpenAI(dialect{}, Provider{
			Name: "localai", Title: "LocalAI", BaseURL: "http://localhost:8080/v1", KeyVars: []string{"LOCALAI_API_KEY"},
		}),

		speaksOpenAI(dialect{anyModel: true}, Provider{
			Name: "llamafile", Title: "llamafile", BaseURL: "http://localhost:8080/v1", KeyVars: []string{"LLAMA_API_KEY"},
		}),
		speaksOpenAI(dialect{}, Provider{
			Name: "huggingface", Title: "Hugging Face", BaseURL: "https://router.huggingface.co/v1", NeedsKey: true,
			KeyVars: []string{"HF_TOKEN", "HUGGINGFACEHUB_API_TOKEN"},
		}),
		speaksOpenAI(dialect{path: "/v1", list: &lister{path: "/models/search?task=Text+Generation&per_page=100",
			next: "page", windows: true, authorize: bearer}}, Provider{
			Name: "cloudflare", Title: "Cloudflare", BaseURL: "https://api.cloudflare.com/client/v4/accounts/{account}/ai", NeedsKey: true,
			KeyVars: []string{"CLOUDFLARE_API_TOKEN", "CLOUDFLARE_API_KEY"},
			Settings: []Setting{{Name: "account", Vars: []string{"CLOUDFLARE_ACCOUNT_ID"}, Required: true,
				Help: "the account's ID, 32 characters that the dashboard shows"}},
		}),
		// Maritaca documents neither a seed nor stream_options, and no list of models.
		speaksOpenAI(dialect{plain: true, noSeed: true, blind: true, list: &lister{}}, Provider{
			Name: "maritaca", Title: "Maritaca", BaseURL: "https://chat.maritaca.ai/api", NeedsKey: true,
			KeyVars: []string{"MARITACA_API_KEY", "MARITACA_KEY"},
		}),
		speaksOpenAI(dialect{turns: true, blind: true}, Provider{
			Name: "ernie", Title: "Baidu Qianfan", BaseURL: "https://qianfan.baidubce.com/v2", NeedsKey: true,
			KeyVars: []string{"QIANFAN_API_KEY"},
		}),
		// Whether Cohere takes stream_options has changed over time.
		speaksOpenAI(dialect{plain: true, path: "/compatibility/v1",
			list: &lister{path: "/v1/models?page_size=1000", next: "page_token", windows: true, authorize: bearer}},
			Provider{
				Name: "cohere", Title: "Cohere", BaseURL: "https://api.cohere.com", NeedsKey: true,
				KeyVars: []string{"COHERE_API_KEY", "CO_API_KEY"}, BaseVars: []string{"COHERE_BASE_URL", "CO_API_URL"},
			}),
	}
}

// dialect is what differs between providers that speak OpenAI's wire.
type dialect struct {
	path     string                                // of the chat completions, behind the address
	seed     string                                // the name of the seed; "" is seed
	noSeed   bool                                  // takes none
	plain    bool                                  // stream_options is refused as unknown; usage comes anyway
	windows  bool                                  // GET /models has the windows
	list     *lister                               // in the place of GET /models; empty: there is none
	anyModel bool                                  // the server has one model, whatever it is called
	schema   bool                                  // replies can be constrained by response_format
	blind    bool                                  // takes no pictures
	turns    bool                                  // user and assistant take turns, after at most one system message
	think    func(on bool, a asked) map[string]any // nil: no switch
}

// speaksOpenAI makes a backend of a provider.
func speaksOpenAI(d dialect, p Provider) backend {
	b := backend{
		Provider:  p,
		open:      openOpenAI,
		path:      d.path,
		embeds:    true,
		anyModel:  d.anyModel,
		oneSystem: d.turns,
		images:    imageURLs,
		list:      lister{path: "/models", windows: d.windows, authorize: bearer},
		api:       api{body: d.edit, format: openAIFormat, think: d.think, noSeed: d.noSeed},
	}
	if d.list != nil {
		b.list = *d.list
	}
	if d.blind {
		b.images = noImages
	}
	b.Streams, b.Lists = true, b.list.path != ""
	return b
}

func openOpenAI(c Config, client *http.Client) (llms.Model, error) {
	key := c.Key
	if key == "" {
		key = "none" // langchaingo insists; the header does not go out
	}
	// All that langchaingo would look up in the environment is given here.
	return openai.New(openai.WithToken(key), openai.WithBaseURL(c.BaseURL), openai.WithModel(c.Model),
		openai.WithEmbeddingModel(c.Model),
		openai.WithOrganization(c.Settings["organization"]), openai.WithAPIType(openai.APITypeOpenAI), openai.WithHTTPClient(client))
}

func (d dialect) edit(f fields, a asked) {
	f.keep("model", "messages", "stream", "stream_options")
	if d.plain || a.without&wire.RefusesUsage != 0 {
		f.keep("model", "messages", "stream")
	}
	seed := "seed"
	if d.seed != "" {
		seed = d.seed
	}
	f.sampling(a, seed, limitName(a))
	f.thinking(a, d.think)
	if d.schema && a.Format != nil {
		f["response_format"] = map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "answer", "schema": a.Format}}
	}
	if d.turns {
		takeTurns(f)
	}
}

// takeTurns joins neighboring messages of one role.
func takeTurns(f fields) {
	var turns []map[string]any
	messages, _ := f["messages"].([]any)
	for _, each := range messages {
		m, _ := each.(map[string]any) // written by langchaingo, of text alone
		if last := len(turns) - 1; last >= 0 && turns[last]["role"] == m["role"] {
			turns[last]["content"] = fmt.Sprintf("%v\n\n%v", turns[last]["content"], m["content"])
			continue
		}
		turns = append(turns, m)
	}
	f["messages"] = turns
}

// limitName is what the limit of a reply is called: OpenAI's reasoning models
// take the later name only, other servers support the earlier one.
func limitName(a asked) string {
	u, err := url.Parse(a.base)
	if a.without&wire.RefusesLimit != 0 || err == nil && (u.Hostname() == "openai.com" || strings.HasSuffix(u.Hostname(), ".openai.com")) {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

// effort is OpenAI's way. With onlyOn, off is omitted, since not all models
// support it.
func effort(onlyOn bool) func(bool, asked) map[string]any {
	return func(on bool, _ asked) map[string]any {
		switch {
		case on:
			return map[string]any{"reasoning_effort": "medium"}
		case onlyOn:
			return nil
		}
		return map[string]any{"reasoning_effort": "none"}
	}
}

func openRouterThink(on bool, _ asked) map[string]any {
	if on {
		return map[string]any{"reasoning": map[string]any{"enabled": true}}
	}
	return map[string]any{"reasoning": map[string]any{"effort": "none"}}
}

func deepSeekThink(on bool, _ asked) map[string]any {
	if on {
		return map[string]any{"thinking": map[string]string{"type": "enabled"}}
	}
	return map[string]any{"thinking": map[string]string{"type": "disabled"}}
}

// templateThink is a variable that the chat templates of open models share.
func templateThink(on bool, _ asked) map[string]any {
	return map[string]any{"chat_template_kwargs": map[string]bool{"enable_thinking": on}}
}
