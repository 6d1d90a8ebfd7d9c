package calling

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"mylm/providers"
)

// LLM is a model as one of langchaingo, for which llms.WithTools works whatever the
// backend can do: its agents get function calling from any model. A temperature, seed or
// limit of zero is not sent. It may be used by several goroutines at once.
func LLM(m providers.Model) llms.Model { return &llm{&Model{Model: m}} }

type llm struct{ model *Model }

// Call answers one prompt.
func (l *llm) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, l, prompt, options...)
}

// GenerateContent answers a conversation.
func (l *llm) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, set := range options {
		set(&o)
	}
	q, err := llmRequest(messages, &o)
	if err != nil {
		return nil, err
	}
	choice := &llms.ContentChoice{}
	var text, thought strings.Builder
	for e, err := range l.model.Generate(ctx, q) {
		if err != nil {
			return nil, err
		}
		text.WriteString(e.Text)
		thought.WriteString(e.Thought)
		if e.Call != nil {
			call := llms.ToolCall{ID: e.Call.ID, Type: "function", FunctionCall: &llms.FunctionCall{Name: e.Call.Name, Arguments: string(e.Call.Args)}}
			choice.ToolCalls = append(choice.ToolCalls, call)
			choice.FuncCall = call.FunctionCall
		}
		if e.Text != "" && o.StreamingFunc != nil {
			err = o.StreamingFunc(ctx, []byte(e.Text))
		}
		if e.Text+e.Thought != "" && o.StreamingReasoningFunc != nil && err == nil {
			err = o.StreamingReasoningFunc(ctx, []byte(e.Thought), []byte(e.Text))
		}
		if err != nil {
			return nil, err
		}
		if e.End != nil {
			u := e.End.Usage
			choice.StopReason = string(e.End.Stop)
			choice.GenerationInfo = map[string]any{"PromptTokens": u.Prompt, "CompletionTokens": u.Output, "TotalTokens": u.Prompt + u.Output}
		}
	}
	choice.Content, choice.ReasoningContent = text.String(), thought.String()
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}, nil
}

func llmRequest(messages []llms.MessageContent, o *llms.CallOptions) (q Request, err error) {
	q.MaxTokens, q.Stop = o.MaxTokens, o.StopWords
	if o.Temperature != 0 {
		q.Temperature = &o.Temperature
	}
	if o.Seed != 0 {
		q.Seed = &o.Seed
	}
	for i, m := range messages {
		if err := q.addLLM(fmt.Sprintf("messages[%d]", i), m); err != nil {
			return q, err
		}
	}
	functions := o.Functions
	for i, t := range o.Tools {
		if t.Function == nil {
			return q, bad(fmt.Sprintf("tools[%d]", i), "it is no function")
		}
		functions = append(functions, *t.Function)
	}
	for i, f := range functions {
		tool := Tool{Name: f.Name, Description: f.Description}
		if f.Parameters != nil {
			if tool.Schema, err = json.Marshal(f.Parameters); err != nil {
				return q, bad(fmt.Sprintf("tools[%d]", i), "its parameters are not JSON: %v", err)
			}
		}
		q.Tools = append(q.Tools, tool)
	}
	switch c := o.ToolChoice.(type) {
	case nil:
		if o.FunctionCallBehavior == llms.FunctionCallBehaviorNone {
			q.Choice.Mode = None
		}
	case string:
		switch c {
		case "", "auto":
		case "none":
			q.Choice.Mode = None
		case "required", "any":
			q.Choice.Mode = Required
		default:
			q.Choice = Choice{Mode: Required, Only: []string{c}}
		}
	case llms.ToolChoice:
		q.Choice = named(&c)
	case *llms.ToolChoice:
		q.Choice = named(c)
	default:
		return q, bad("tool_choice", "%T is not supported", c)
	}
	if o.JSONMode || o.ResponseMIMEType == "application/json" {
		q.Format, err = NewFormat(json.RawMessage(`{"type":"object"}`))
	}
	return q, err
}

func named(c *llms.ToolChoice) Choice {
	if c == nil || c.Function == nil {
		return Choice{}
	}
	return Choice{Mode: Required, Only: []string{c.Function.Name}}
}

func (q *Request) addLLM(where string, m llms.MessageContent) error {
	out := Message{Role: providers.User}
	switch m.Role {
	case llms.ChatMessageTypeSystem:
		out.Role = providers.System
	case llms.ChatMessageTypeAI:
		out.Role = providers.Assistant
	}
	for _, part := range m.Parts {
		var err error
		switch p := part.(type) {
		case llms.TextContent:
			out.Text += p.Text
		case llms.BinaryContent:
			err = out.addImage(where, p.Data)
		case llms.ImageURLContent:
			var data []byte
			if data, err = DataURL(p.URL); err == nil {
				err = out.addImage(where, data)
			}
		case llms.ToolCall:
			if p.FunctionCall == nil {
				return bad(where, "it has a call of no function")
			}
			out.Calls = append(out.Calls, Call{ID: p.ID, Name: p.FunctionCall.Name, Args: json.RawMessage(p.FunctionCall.Arguments)})
		case llms.ToolCallResponse:
			q.Messages = append(q.Messages, Message{Role: Result, CallID: q.called(p), Text: p.Content})
		default:
			return bad(where, "%T is not supported, only text, pictures and calls", p)
		}
		if err != nil {
			return bad(where, "%v", err)
		}
	}
	if out.Text != "" || len(out.Calls)+len(out.Images) > 0 {
		q.Messages = append(q.Messages, out)
	}
	return nil
}

// called is the id of the call that a response answers: one without an id answers the last
// call of its tool.
func (q *Request) called(r llms.ToolCallResponse) string {
	for i := len(q.Messages) - 1; i >= 0 && r.ToolCallID == ""; i-- {
		for _, c := range q.Messages[i].Calls {
			if c.Name == r.Name {
				return c.ID
			}
		}
	}
	return r.ToolCallID
}

func (m *Message) addImage(where string, data []byte) error {
	img, err := providers.NewImage(where, data)
	if err == nil {
		m.Images = append(m.Images, img)
	}
	return err
}
