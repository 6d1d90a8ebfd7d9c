package langchain

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

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
