package langchain_test

import (
	"encoding/json"

	"mylm/providers"
)

// anthropicAPI is the wire of Anthropic's messages. Its thought and text are
// blocks, distinguished here by a number each; the reader goes by their content.
var anthropicAPI = fakeAPI{
	provider: "anthropic",
	path:     "/v1/messages",
	kind:     "text/event-stream",
	begin: []string{
		event("message_start", map[string]any{"message": map[string]any{"id": "x", "type": "message", "role": "assistant", "content": []any{}, "usage": map[string]int{"output_tokens": 1}}}),
		event("ping", map[string]any{}),
	},
	text: func(s string) string {
		return event("content_block_delta", map[string]any{"index": 1, "delta": map[string]string{"type": "text_delta", "text": s}})
	},
	thought: func(s string) string {
		return event("content_block_delta", map[string]any{"index": 0, "delta": map[string]string{"type": "thinking_delta", "thinking": s}})
	},
	end: func(stop string, u providers.Usage) []string {
		return []string{
			event("content_block_stop", map[string]any{"index": 1}),
			event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": anthropicUsage(u)}),
			event("message_stop", map[string]any{}),
		}
	},
	error: func(status int, code, message string) string {
		return "event: error\ndata: " + anthropicError(status, code, message) + "\n\n"
	},
	refuse: anthropicError,
	whole: func(thought, text, stop string, u providers.Usage) string {
		b, _ := json.Marshal(map[string]any{"type": "message", "role": "assistant", "stop_reason": stop, "usage": anthropicUsage(u), "content": []any{
			map[string]string{"type": "thinking", "thinking": thought, "signature": "x"},
			map[string]string{"type": "text", "text": text},
		}})
		return string(b)
	},
	stops:  map[providers.StopReason]string{providers.StopEnd: "end_turn", providers.StopLength: "max_tokens"},
	key:    "X-Api-Key",
	noSeed: true,
	read:   readAnthropic,
}

func event(kind string, v map[string]any) string {
	v["type"] = kind
	return "event: " + kind + "\n" + data(v)
}

func anthropicUsage(u providers.Usage) map[string]int {
	return map[string]int{"input_tokens": u.Prompt, "output_tokens": u.Output}
}

func anthropicError(_ int, code, message string) string {
	b, _ := json.Marshal(map[string]any{"type": "error", "error": map[string]string{"type": code, "message": message}})
	return string(b)
}

// anthropicDefault is the limit that goes out where none is asked for.
const anthropicDefault = 32000

func readAnthropic(body map[string]any) providers.Request {
	r := sampling(body, "model", "messages", "system", "stream")
	if r.MaxTokens == anthropicDefault {
		r.MaxTokens = 0
	}
	if s, ok := body["system"].(string); ok {
		r.Messages = append(r.Messages, providers.Message{Role: providers.System, Text: s})
	}
	messages, _ := body["messages"].([]any)
	for _, x := range messages {
		m := x.(map[string]any)
		for _, part := range m["content"].([]any) {
			r.Messages = append(r.Messages, providers.Message{Role: providers.Role(m["role"].(string)), Text: part.(map[string]any)["text"].(string)})
		}
	}
	return r
}
