package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"mylm/providers"
	"mylm/providers/calling"
)

// chatRequest is one of OpenAI's Chat Completions.
type chatRequest struct {
	Model      string          `json:"model"`
	Messages   []chatMessage   `json:"messages"`
	Tools      []chatTool      `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	Functions  []chatFunction  `json:"functions"` // before there were tools
	Function   json.RawMessage `json:"function_call"`

	MaxTokens           *integer        `json:"max_tokens"`
	MaxCompletionTokens *integer        `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature"`
	Seed                *integer        `json:"seed"`
	Stop                json.RawMessage `json:"stop"`
	N                   *integer        `json:"n"`
	Logprobs            bool            `json:"logprobs"`
	TopLogprobs         int             `json:"top_logprobs"`
	Modalities          []string        `json:"modalities"`
	ReasoningEffort     string          `json:"reasoning_effort"`
	ResponseFormat      *answerFormat   `json:"response_format"`

	Stream        bool `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Refusal    string          `json:"refusal"`
	Name       string          `json:"name"`
	ToolCalls  []chatCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
	Function   *chatInvocation `json:"function_call"`
}

type chatCall struct {
	Index    *int           `json:"index,omitempty"`
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function chatInvocation `json:"function"`
	Custom   *struct {
		Name  string `json:"name"`
		Input string `json:"input"`
	} `json:"custom,omitempty"`
}

type chatInvocation struct {
	Name      string    `json:"name"`
	Arguments arguments `json:"arguments"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
	Custom   *struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Format      json.RawMessage `json:"format"`
	} `json:"custom"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

func (h *Handler) chat(x *exchange) {
	var in chatRequest
	if err := x.read(&in); err != nil {
		x.fail(x.asAPI(err, ""))
		return
	}
	q, custom, err := in.normalise()
	if err != nil {
		x.fail(x.asAPI(err, in.Model))
		return
	}
	x.run(q, &chatWriter{
		x: x, id: newID("chatcmpl-"), created: time.Now().Unix(), model: in.Model, usage: in.StreamOptions.IncludeUsage,
		custom: custom, legacy: len(in.Functions) > 0,
	})
}

// normalise reads a request. custom are the tools whose input is free text.
func (in *chatRequest) normalise() (q *request, custom map[string]bool, err error) {
	for name, n := range map[string]*integer{"max_tokens": in.MaxTokens, "max_completion_tokens": in.MaxCompletionTokens, "n": in.N} {
		if n != nil && *n < 1 {
			return nil, nil, invalid(name, "it must be at least 1")
		}
	}
	limit, chosen := in.MaxCompletionTokens, in.ToolChoice
	if limit == nil {
		limit = in.MaxTokens
	}
	if given(in.Function, nil) != nil {
		chosen = in.Function
	}
	switch {
	case in.Model == "":
		return nil, nil, invalid("model", "it is missing")
	case len(in.Messages) == 0:
		return nil, nil, invalid("messages", "there are none")
	case in.N != nil && *in.N > 1:
		return nil, nil, unsupported("n", "more than one choice is not supported")
	case in.Logprobs:
		return nil, nil, unsupported("logprobs", "they are not supported")
	case in.TopLogprobs > 0:
		return nil, nil, unsupported("top_logprobs", "they are not supported")
	case in.MaxTokens != nil && *in.MaxTokens != *limit:
		return nil, nil, invalid("max_tokens", "max_completion_tokens is another number")
	case len(in.Functions) > 0 && len(in.Tools) > 0:
		return nil, nil, invalid("functions", "there are tools, too")
	case given(in.Function, nil) != nil && given(in.ToolChoice, nil) != nil:
		return nil, nil, invalid("function_call", "there is a tool_choice, too")
	}
	for _, m := range in.Modalities {
		if m != "text" {
			return nil, nil, unsupported("modalities", "%q is not supported, only text", m)
		}
	}
	q = &request{model: in.Model, stream: in.Stream}
	q.Temperature, q.Seed, q.Think = in.Temperature, (*int)(in.Seed), thinking(in.ReasoningEffort)
	if limit != nil {
		q.MaxTokens = int(*limit)
	}
	for i, m := range in.Messages {
		message, err := m.normalise(fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, nil, err
		}
		q.Messages = append(q.Messages, message)
	}
	for i, t := range in.Tools {
		switch {
		case t.Type == "custom" && t.Custom != nil:
			if custom == nil {
				custom = map[string]bool{}
			}
			custom[t.Custom.Name] = true
			q.Tools = append(q.Tools, freeTool(t.Custom.Name, t.Custom.Description, t.Custom.Format))
		case t.Type == "function" || t.Type == "":
			q.Tools = append(q.Tools, calling.Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
		default:
			return nil, nil, unsupported(fmt.Sprintf("tools[%d]", i), "tools of type %q are not supported, only functions", t.Type)
		}
	}
	for _, f := range in.Functions {
		q.Tools = append(q.Tools, calling.Tool{Name: f.Name, Description: f.Description, Schema: f.Parameters})
	}
	if q.Choice, err = toolChoice(chosen, q.Tools); err != nil {
		return nil, nil, err
	}
	if q.Stop, err = stopSequences("stop", in.Stop); err != nil {
		return nil, nil, err
	}
	q.Format, err = in.ResponseFormat.read("response_format")
	return q, custom, err
}

func (m *chatMessage) normalise(where string) (calling.Message, error) {
	text, images, err := content(where+".content", m.Content)
	if err == nil {
		err = onlyShown(images, m.Role)
	}
	if err != nil {
		return calling.Message{}, err
	}
	if text == "" {
		text = m.Refusal
	}
	out := calling.Message{Text: text, Images: images}
	switch m.Role {
	case "system", "developer":
		out.Role = providers.System
	case "user":
		out.Role = providers.User
	case "assistant":
		out.Role = providers.Assistant
		for i, c := range m.ToolCalls {
			call := calling.Call{ID: c.ID, Name: c.Function.Name, Args: json.RawMessage(c.Function.Arguments)}
			if c.Custom != nil {
				call.Name, call.Args = c.Custom.Name, encode(freeInput{c.Custom.Input})
			}
			if err := named(fmt.Sprintf("%s.tool_calls[%d]", where, i), call.Name); err != nil {
				return out, err
			}
			out.Calls = append(out.Calls, call)
		}
		if m.Function != nil && *m.Function != (chatInvocation{}) { // some clients write none as {}
			if err := named(where+".function_call", m.Function.Name); err != nil {
				return out, err
			}
			out.Calls = append(out.Calls, calling.Call{ID: m.Function.Name, Name: m.Function.Name, Args: json.RawMessage(m.Function.Arguments)})
		}
	case "tool":
		out.Role, out.CallID = calling.Result, m.ToolCallID
	case "function":
		out.Role, out.CallID, out.Tool = calling.Result, m.Name, m.Name
	default:
		return out, invalid(where+".role", "unknown role %q", m.Role)
	}
	return out, nil
}

// fingerprint is what OpenAI calls the configuration of its servers; some clients want one.
const fingerprint = "fp_mylm"

// chatWriter writes a reply of Chat Completions.
type chatWriter struct {
	x       *exchange
	id      string
	created int64
	model   string
	usage   bool
	custom  map[string]bool
	legacy  bool // the client knows functions, not tools
	head    []byte
	calls   int
}

func (w *chatWriter) kind() string { return "text/event-stream; charset=utf-8" }

func (w *chatWriter) begin() {
	w.head = encode(map[string]any{"id": w.id, "object": "chat.completion.chunk", "created": w.created, "model": w.model, "system_fingerprint": fingerprint})
	w.head = append([]byte("data: "), w.head[:len(w.head)-1]...)
	w.delta([]byte(`{"role":"assistant","content":""}`), "null")
}

func (w *chatWriter) beat() { w.delta([]byte("{}"), "null") }

// delta writes a chunk. It is what is written for every token.
func (w *chatWriter) delta(delta []byte, finish string) {
	line := append(w.head[:len(w.head):len(w.head)], `,"choices":[{"index":0,"delta":`...)
	line = append(line, delta...)
	line = append(line, `,"logprobs":null,"finish_reason":`...)
	line = append(line, finish...)
	line = append(line, "}]"...)
	if w.usage {
		line = append(line, `,"usage":null`...)
	}
	_, _ = w.x.w.Write(append(line, "}\n\n"...))
}

func (w *chatWriter) event(e calling.Event) {
	switch {
	case e.Text != "":
		w.delta(encode(struct {
			Content string `json:"content"`
		}{e.Text}), "null")
	case e.Thought != "":
		w.delta(encode(struct {
			Reasoning string `json:"reasoning_content"`
		}{e.Thought}), "null")
	case e.Call != nil && w.legacy:
		w.delta(encode(map[string]any{"function_call": chatInvocation{e.Call.Name, arguments(e.Call.Args)}}), "null")
	case e.Call != nil && w.custom[e.Call.Name]:
		call := w.call(e.Call)
		call["index"] = w.calls
		w.delta(encode(map[string]any{"tool_calls": []any{call}}), "null")
		w.calls++
	case e.Call != nil:
		for i, piece := range pieces(string(e.Call.Args), lineBytes) {
			function := map[string]any{"arguments": piece}
			call := map[string]any{"index": w.calls, "function": function}
			if i == 0 {
				call["id"], call["type"], function["name"] = e.Call.ID, "function", e.Call.Name
			}
			w.delta(encode(map[string]any{"tool_calls": []any{call}}), "null")
		}
		w.calls++
	}
}

func (w *chatWriter) call(c *calling.Call) map[string]any {
	if w.custom[c.Name] {
		return map[string]any{"id": c.ID, "type": "custom", "custom": map[string]any{"name": c.Name, "input": freeText(c.Args)}}
	}
	return map[string]any{"id": c.ID, "type": "function", "function": chatInvocation{c.Name, arguments(c.Args)}}
}

func (w *chatWriter) finish(s providers.StopReason) string {
	switch {
	case s == calling.StopCall && w.legacy:
		return "function_call"
	case s == calling.StopCall, s == providers.StopLength:
		return string(s)
	case strings.Contains(string(s), "filter") || strings.Contains(string(s), "safety"):
		return "content_filter"
	}
	return "stop"
}

func (w *chatWriter) end(e calling.End) {
	w.delta([]byte("{}"), string(encode(w.finish(e.Stop))))
	if w.usage {
		line := append(w.head[:len(w.head):len(w.head)], `,"choices":[],"usage":`...)
		_, _ = w.x.w.Write(append(append(line, encode(chatUsage(e))...), "}\n\n"...))
	}
	_, _ = w.x.w.Write([]byte("data: [DONE]\n\n"))
}

func (w *chatWriter) fail(e *apiError) {
	_, _ = w.x.w.Write(append(append([]byte("data: "), encode(e.openAI())...), "\n\n"...))
}

func chatUsage(e calling.End) map[string]any {
	u := map[string]any{
		"prompt_tokens": e.Usage.Prompt, "completion_tokens": e.Usage.Output, "total_tokens": e.Usage.Prompt + e.Usage.Output,
		"prompt_tokens_details": map[string]any{"cached_tokens": cached(e.Usage)}, "completion_tokens_details": map[string]any{"reasoning_tokens": 0},
	}
	if e.Estimated {
		u["estimated"] = true
	}
	return u
}

func (w *chatWriter) whole(blocks []block, e calling.End) any {
	text, thought := texts(blocks)
	message := map[string]any{"role": "assistant", "content": text, "refusal": nil}
	if thought != "" {
		message["reasoning_content"] = thought
	}
	var calls []any
	for _, b := range blocks {
		switch {
		case b.call == nil:
		case w.legacy:
			message["function_call"] = chatInvocation{b.call.Name, arguments(b.call.Args)}
		default:
			calls = append(calls, w.call(b.call))
		}
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	if text == "" && e.Stop == calling.StopCall {
		message["content"] = nil
	}
	return map[string]any{
		"id": w.id, "object": "chat.completion", "created": w.created, "model": w.model, "system_fingerprint": fingerprint,
		"choices": []any{map[string]any{"index": 0, "message": message, "logprobs": nil, "finish_reason": w.finish(e.Stop)}},
		"usage":   chatUsage(e),
	}
}

// models lists the models, in the forms of OpenAI and Anthropic at once.
func (h *Handler) models(x *exchange) {
	list, err := h.list(x.r.Context())
	if err != nil {
		x.fail(x.asAPI(err, ""))
		return
	}
	data := make([]any, 0, len(list))
	for _, m := range list {
		data = append(data, modelEntry(m))
	}
	out := map[string]any{"object": "list", "data": data, "models": []any{}, "has_more": false, "first_id": nil, "last_id": nil}
	if n := len(list); n > 0 {
		out["first_id"], out["last_id"] = list[0].Name, list[n-1].Name
	}
	x.json(http.StatusOK, out)
}
