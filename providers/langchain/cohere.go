package langchain

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

// coherePath is where Cohere answers in OpenAI's form. langchaingo's own
// backend for Cohere reads the first message only, streams nothing and asks
// /v1/generate, which Cohere has deprecated.
const coherePath = "/compatibility/v1"

var cohereBackend = cohere()

func cohere() backend {
	// Whether stream_options is taken has changed over time.
	b := speaksOpenAI(dialect{plain: true}, Provider{
		Name: "cohere", Title: "Cohere", BaseURL: "https://api.cohere.com", NeedsKey: true,
		KeyVars: []string{"COHERE_API_KEY", "CO_API_KEY"}, BaseVars: []string{"COHERE_BASE_URL", "CO_API_URL"},
	})
	b.open = func(c Config, client *http.Client) (llms.Model, error) {
		c.BaseURL += coherePath
		return openOpenAI(c, client)
	}
	b.list = lister{path: cohereModelsPath, windows: true, authorize: bearer, read: cohereModels}
	b.check = func(c Config) error {
		if short, ok := strings.CutSuffix(c.BaseURL, coherePath); ok {
			return badConfig("the address of Cohere names one part of it", "Leave out its end: "+short)
		}
		return nil
	}
	return b
}

const cohereModelsPath = "/v1/models?page_size=1000"

func cohereModels(body []byte) ([]providers.ModelInfo, string, error) {
	var list struct {
		Models *[]struct {
			Name      string   `json:"name"`
			Endpoints []string `json:"endpoints"`
			Window    float64  `json:"context_length"`
		} `json:"models"`
		Next string `json:"next_page_token"`
	}
	if err := wire.Decode(body, &list); err != nil || list.Models == nil {
		return nil, "", wire.ErrGarbled
	}
	out := make([]providers.ModelInfo, 0, len(*list.Models))
	for _, m := range *list.Models {
		out = append(out, providers.ModelInfo{Name: m.Name, Info: providers.Info{
			Trained: int(m.Window), Chats: slices.Contains(m.Endpoints, "chat"), Embeds: slices.Contains(m.Endpoints, "embed"),
		}})
	}
	next := ""
	if list.Next != "" {
		next = cohereModelsPath + "&page_token=" + url.QueryEscape(list.Next)
	}
	return out, next, nil
}
