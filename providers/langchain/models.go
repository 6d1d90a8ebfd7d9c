package langchain

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

// modelList is a page of the list of models of any provider: the fields of all
// of them have names of their own.
type modelList struct {
	Data      *[]listedModel `json:"data"`      // OpenAI's wire, Anthropic
	Models    *[]listedModel `json:"models"`    // Cohere, Google, Ollama
	Result    *[]listedModel `json:"result"`    // Cloudflare
	Resources *[]listedModel `json:"resources"` // IBM

	CohereNext string `json:"next_page_token"`
	GoogleNext string `json:"nextPageToken"`
	More       bool   `json:"has_more"` // Anthropic
	Last       string `json:"last_id"`
	Info       struct {
		Page  int `json:"page"`
		Per   int `json:"per_page"`
		Count int `json:"count"`
		Total int `json:"total_count"`
	} `json:"result_info"` // Cloudflare
}

type listedModel struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	ModelID string `json:"model_id"` // IBM

	Created   float64 `json:"created"`
	CreatedAt string  `json:"created_at"`  // Anthropic
	Modified  string  `json:"modified_at"` // Ollama
	Size      int64   `json:"size"`        // Ollama

	ContextLength float64 `json:"context_length"`     // OpenRouter, Cohere
	ContextWindow int     `json:"context_window"`     // Groq
	MaxContext    int     `json:"max_context_length"` // Mistral
	MaxModelLen   int     `json:"max_model_len"`      // vLLM
	MaxInput      int     `json:"max_input_tokens"`   // Anthropic
	InputLimit    int     `json:"inputTokenLimit"`    // Google
	Limits        struct {
		Sequence int `json:"max_sequence_length"`
	} `json:"model_limits"` // IBM
	Meta struct {
		Window  int   `json:"n_ctx"`
		Trained int   `json:"n_ctx_train"`
		Size    int64 `json:"size"`
	} `json:"meta"` // llama.cpp
	Properties []struct {
		ID    string `json:"property_id"`
		Value any    `json:"value"`
	} `json:"properties"` // Cloudflare

	Capabilities struct {
		Chat *bool `json:"completion_chat"`
	} `json:"capabilities"` // Mistral
	Methods   []string `json:"supportedGenerationMethods"` // Google
	Endpoints []string `json:"endpoints"`                  // Cohere
}

// readList reads a page; next names the page that follows, "" at the end. A
// field of an odd type is no reason to lose the list.
func readList(body []byte) (models []providers.ModelInfo, next string, ok bool) {
	var l modelList
	var odd *json.UnmarshalTypeError
	if err := wire.Decode(body, &l); err != nil && !errors.As(err, &odd) {
		return nil, "", false
	}
	list := cmp.Or(l.Data, l.Models, l.Result, l.Resources)
	if list == nil {
		return nil, "", false
	}
	models = make([]providers.ModelInfo, 0, len(*list))
	for _, m := range *list {
		if l.Result != nil {
			m.ID = "" // Cloudflare's does not name the model
		}
		models = append(models, m.info())
	}
	next = cmp.Or(l.CohereNext, l.GoogleNext)
	if l.More {
		next = l.Last
	}
	if i := l.Info; i.Count > 0 && i.Page*i.Per < i.Total {
		next = strconv.Itoa(i.Page + 1)
	}
	return models, next, true
}

func (m listedModel) info() providers.ModelInfo {
	info := providers.ModelInfo{Name: strings.TrimPrefix(cmp.Or(m.ID, m.Name, m.ModelID), "models/"),
		Size: cmp.Or(m.Size, m.Meta.Size)}
	info.Modified, _ = time.Parse(time.RFC3339, cmp.Or(m.CreatedAt, m.Modified)) // unknown where it has another form
	if m.Created > 0 {
		info.Modified = time.Unix(int64(m.Created), 0).UTC()
	}
	info.Window = cmp.Or(m.MaxModelLen, m.Meta.Window)
	info.Trained = cmp.Or(int(m.ContextLength), m.ContextWindow, m.MaxContext, m.Meta.Trained, m.MaxModelLen,
		m.MaxInput, m.InputLimit, m.Limits.Sequence)
	for _, p := range m.Properties {
		if s, ok := p.Value.(string); ok && p.ID == "context_window" {
			info.Trained, _ = strconv.Atoi(s) // unknown where it is no number
		}
	}
	switch {
	case m.Capabilities.Chat != nil:
		_, info.Embeds = purpose(info.Name)
		info.Chats = *m.Capabilities.Chat
	case m.Methods != nil:
		info.Chats, info.Embeds = slices.Contains(m.Methods, "generateContent"), slices.Contains(m.Methods,
			"embedContent")
	case m.Endpoints != nil:
		info.Chats, info.Embeds = slices.Contains(m.Endpoints, "chat"), slices.Contains(m.Endpoints, "embed")
	default:
		info.Chats, info.Embeds = purpose(info.Name)
	}
	return info
}

// purpose guesses from a name what a model is for, if the list does not state it.
func purpose(name string) (chats, embeds bool) {
	name = strings.ToLower(name)
	if strings.Contains(name, "embed") {
		return false, true
	}
	for _, other := range []string{"whisper", "tts", "dall-e", "image", "moderation", "transcribe", "realtime",
		"rerank", "sora", "davinci-002", "babbage-002"} {
		if strings.Contains(name, other) {
			return false, false
		}
	}
	return true, false
}
