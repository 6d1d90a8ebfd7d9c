package langchain

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

// openAIHosts are providers that langchaingo has packages of their own for,
// but that speak OpenAI's chat completions too. There they get the whole
// conversation and tell why a reply ended, which those packages do not manage.
var openAIHosts = []backend{
	speaksOpenAI(dialect{anyModel: true}, Provider{
		Name: "llamafile", Title: "llamafile", BaseURL: "http://localhost:8080/v1", KeyVars: []string{"LLAMA_API_KEY"},
	}),
	speaksOpenAI(dialect{}, Provider{
		Name: "huggingface", Title: "Hugging Face", BaseURL: "https://router.huggingface.co/v1", NeedsKey: true,
		KeyVars: []string{"HF_TOKEN", "HUGGINGFACEHUB_API_TOKEN"},
	}),
	cloudflare(),
	maritaca(),
	ernie(),
}

// cloudflare makes the backend of Workers AI. Its list of models is no part of
// what speaks OpenAI, and stands beside it.
func cloudflare() backend {
	b := speaksOpenAI(dialect{}, Provider{
		Name: "cloudflare", Title: "Cloudflare", BaseURL: "https://api.cloudflare.com/client/v4/accounts/{account}/ai", NeedsKey: true,
		KeyVars:  []string{"CLOUDFLARE_API_TOKEN", "CLOUDFLARE_API_KEY"},
		Settings: []Setting{{Name: "account", Vars: []string{"CLOUDFLARE_ACCOUNT_ID"}, Required: true, Help: "the account's ID, 32 characters that the dashboard shows"}},
	})
	b.open = func(c Config, client *http.Client) (llms.Model, error) {
		c.BaseURL = strings.TrimSuffix(c.BaseURL, "/v1") + "/v1"
		return openOpenAI(c, client)
	}
	b.list = lister{path: cloudflarePage(1), windows: true, authorize: bearer, read: cloudflareModels}
	return b
}

func cloudflarePage(n int) string {
	return fmt.Sprintf("/models/search?%s&per_page=100&page=%d", url.Values{"task": {"Text Generation"}}.Encode(), n)
}

func cloudflareModels(body []byte) ([]providers.ModelInfo, string, error) {
	var list struct {
		Result *[]struct {
			Name       string `json:"name"`
			Properties []struct {
				ID    string `json:"property_id"`
				Value any    `json:"value"`
			} `json:"properties"`
		} `json:"result"`
		Info struct {
			Page  int `json:"page"`
			Per   int `json:"per_page"`
			Count int `json:"count"`
			Total int `json:"total_count"`
		} `json:"result_info"`
	}
	if err := wire.Decode(body, &list); err != nil || list.Result == nil {
		return nil, "", wire.ErrGarbled
	}
	out := make([]providers.ModelInfo, 0, len(*list.Result))
	for _, m := range *list.Result {
		info := providers.ModelInfo{Name: m.Name, Info: providers.Info{Chats: true}}
		for _, p := range m.Properties {
			if s, ok := p.Value.(string); ok && p.ID == "context_window" {
				info.Trained, _ = strconv.Atoi(s) // unknown where it is no number
			}
		}
		out = append(out, info)
	}
	next := ""
	if i := list.Info; i.Count > 0 && i.Page*i.Per < i.Total {
		next = cloudflarePage(i.Page + 1)
	}
	return out, next, nil
}

// maritaca makes the backend of Maritaca. Its documentation knows neither a
// seed nor stream_options, and no list of models.
func maritaca() backend {
	b := speaksOpenAI(dialect{plain: true}, Provider{
		Name: "maritaca", Title: "Maritaca", BaseURL: "https://chat.maritaca.ai/api", NeedsKey: true,
		KeyVars: []string{"MARITACA_API_KEY", "MARITACA_KEY"},
	})
	b.Lists, b.list, b.api.noSeed = false, lister{}, true
	return b
}

// ernie makes the backend of Baidu's Qianfan, the home of ERNIE. It demands
// that user and assistant take turns, behind at most one system message.
func ernie() backend {
	b := speaksOpenAI(dialect{}, Provider{
		Name: "ernie", Title: "Baidu Qianfan", BaseURL: "https://qianfan.baidubce.com/v2", NeedsKey: true,
		KeyVars: []string{"QIANFAN_API_KEY"},
	})
	edit := b.api.body
	b.api.body = func(f fields, a asked) {
		edit(f, a)
		takeTurns(f)
	}
	b.oneSystem = true
	return b
}

// takeTurns joins neighbouring messages of one role.
func takeTurns(f fields) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var messages, turns []message
	if json.Unmarshal(f["messages"], &messages) != nil {
		return // written by langchaingo, of text alone
	}
	for _, m := range messages {
		if last := len(turns) - 1; last >= 0 && turns[last].Role == m.Role {
			turns[last].Content += "\n\n" + m.Content
			continue
		}
		turns = append(turns, m)
	}
	f.set("messages", turns)
}
