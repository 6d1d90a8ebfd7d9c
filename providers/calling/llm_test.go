package calling_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/llms"

	"mylm/providers/calling"
)

func TestLLM(t *testing.T) {
	f := &fake{replies: []string{"I look.\n" + called("get_weather", `{"city":"Bern"}`), "It is sunny."}, chunk: 3}
	model := calling.LLM(f)
	offered := llms.WithTools([]llms.Tool{{Type: "function", Function: &llms.FunctionDefinition{Name: "get_weather", Parameters: map[string]any{
		"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"},
	}}}})
	messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, "Be brief."), llms.TextParts(llms.ChatMessageTypeHuman, "How is the weather?")}
	var streamed strings.Builder
	stream := llms.WithStreamingFunc(func(_ context.Context, chunk []byte) error { streamed.Write(chunk); return nil })
	r, err := model.GenerateContent(t.Context(), messages, offered, stream)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Choices[0]
	if len(c.ToolCalls) != 1 || c.ToolCalls[0].FunctionCall.Arguments != `{"city":"Bern"}` || c.FuncCall == nil || c.StopReason != "tool_calls" || c.Content != "I look." || streamed.String() != c.Content {
		t.Fatalf("%+v", c)
	}
	call := c.ToolCalls[0]
	messages = append(messages,
		llms.MessageContent{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{llms.TextPart(c.Content), call}},
		llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{ToolCallID: call.ID, Name: "get_weather", Content: "21 degrees"}}})
	if r, err = model.GenerateContent(t.Context(), messages, offered); err != nil || r.Choices[0].Content != "It is sunny." || r.Choices[0].GenerationInfo["TotalTokens"] == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if last := f.requests[1].Messages; !strings.Contains(last[len(last)-1].Text, "[get_weather] Success:\n21 degrees") {
		t.Errorf("%v", last)
	}
	answer := &messages[len(messages)-1]
	answer.Role, answer.Parts = llms.ChatMessageTypeFunction, []llms.ContentPart{llms.ToolCallResponse{Name: "get_weather", Content: "22 degrees"}} // as in OpenAI's older API
	if _, err = model.GenerateContent(t.Context(), messages, offered); err != nil {
		t.Fatal(err)
	}
	if last := f.requests[2].Messages; !strings.Contains(last[len(last)-1].Text, "[get_weather] Success:\n22 degrees") {
		t.Errorf("%v", last)
	}
	if _, err := model.GenerateContent(t.Context(), []llms.MessageContent{{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{llms.ImageURLPart("http://x")}}}); err == nil {
		t.Error("a picture is accepted")
	}
	if text, err := llms.GenerateFromSinglePrompt(t.Context(), model, "hello"); err != nil || text != "It is sunny." {
		t.Errorf("%q, %v", text, err)
	}
}
