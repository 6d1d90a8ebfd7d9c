package langchain_test

import (
	"encoding/json"

	"mylm/providers"
)

// openAIAPI is the wire of OpenAI's chat completions.
var openAIAPI = fakeAPI{
	provider: "openai",
	path:     "/v1/chat/completions",
	kind:     "text/event-stream",
	begin:    []string{": a comment\n\n", openAIDelta("role", "assistant")},
	text:     func(s string) string { return openAIDelta("content", s) },
	thought:  func(s string) string { return openAIDelta("reasoning_content", s) },
	end: func(stop string, u providers.Usage) []string {
		return []string{
			data(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": stop}}}),
			data(map[string]any{"choices": []any{}, "usage": openAIUsage(u)}),
			"data: [DONE]\n\n",
		}
	},
	error: func(status int, code, message string) string {
		return "data: " + openAIError(status, code, message) + "\n\n"
	},
	refuse: openAIError,
	whole: func(thought, text, stop string, u providers.Usage) string {
		b, _ := json.Marshal(map[string]any{"object": "chat.completion", "usage": openAIUsage(u), "choices": []any{map[string]any{
			"index": 0, "finish_reason": stop, "message": map[string]any{"role": "assistant", "content": text, "reasoning_content": thought},
		}}})
		return string(b)
	},
	key:  "Authorization",
	read: readOpenAI,
}

func openAIDelta(field, text string) string {
	return data(map[string]any{"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": []any{
		map[string]any{"index": 0, "delta": map[string]string{field: text}, "finish_reason": nil, "logprobs": nil},
	}, "usage": nil})
}

func openAIUsage(u providers.Usage) map[string]any {
	return map[string]any{"prompt_tokens": u.Prompt, "completion_tokens": u.Output, "total_tokens": u.Prompt + u.Output}
}

func openAIError(_ int, code, message string) string {
	b, _ := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": code, "param": nil, "code": code}})
	return string(b)
}

func readOpenAI(body map[string]any) providers.Request {
	r := sampling(body, "model", "messages", "stream", "stream_options")
	messages, _ := body["messages"].([]any)
	for _, x := range messages {
		m := x.(map[string]any)
		text, _ := m["content"].(string)
		r.Messages = append(r.Messages, providers.Message{Role: providers.Role(m["role"].(string)), Text: text})
	}
	return r
}
