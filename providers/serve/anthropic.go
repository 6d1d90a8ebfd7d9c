package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"mylm/providers"
	"mylm/providers/calling"
)

// messagesRequest is one of Anthropic's Messages.
type messagesRequest struct {
	Model     string          `json:"model"`
	MaxTokens *int            `json:"max_tokens"`
	System    json.RawMessage `json:"system"`
	Messages  []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	ToolChoice struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tool_choice"`
	Temperature   *float64 `json:"temperature"`
	StopSequences []string `json:"stop_sequences"`
	Stream        bool     `json:"stream"`
	Thinking      struct {
		Type string `json:"type"`
	} `json:"thinking"`
	OutputConfig struct {
		Format outputFormat `json:"format"`
	} `json:"output_config"`
	OutputFormat outputFormat `json:"output_format"`

	Thread    json.RawMessage `json:"thread"`
	Container json.RawMessage `json:"container"`
}

type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

type contentBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Source    struct {
		Type string `json:"type"`
		Data string `json:"data"`
	} `json:"source"`
}

func (h *Handler) messages(x *exchange) {
	var in messagesRequest
	if err := x.read(&in); err != nil {
		x.fail(h.asAPI(err, ""))
		return
	}
	q, err := in.normalise()
	if err == nil && in.MaxTokens == nil {
		err = invalid("max_tokens", "field required")
	}
	if err != nil {
		x.fail(h.asAPI(err, in.Model))
		return
	}
	x.run(q, &messagesWriter{x: x, id: newID("msg_"), model: in.Model})
}

func (h *Handler) countTokens(x *exchange) {
	var in messagesRequest
	if err := x.read(&in); err != nil {
		x.fail(h.asAPI(err, ""))
		return
	}
	x.record.Model = in.Model
	q, err := in.normalise()
	var n int
	if err == nil {
		var model *calling.Model
		if model, err = h.opts.Open(x.r.Context(), in.Model); err == nil {
			n, err = model.Tokens(q.Request)
		}
	}
	if err != nil {
		x.fail(h.asAPI(err, in.Model))
		return
	}
	x.json(http.StatusOK, map[string]int{"input_tokens": n})
}

// withServer refuses state that would be kept at the server, in the form that Anthropic's
// own clients fall back from.
func (in *messagesRequest) withServer() error {
	for name, raw := range map[string]json.RawMessage{"thread": in.Thread, "container": in.Container} {
		if len(raw) > 0 && string(raw) != "null" {
			e := refuse(http.StatusBadRequest, name+"_unsupported_request", "%s: not supported, send the whole conversation", name)
			e.details = map[string]any{"error_code": e.code, "unsupported": []string{name}}
			return e
		}
	}
	return nil
}

func (in *messagesRequest) normalise() (*request, error) {
	if err := in.withServer(); err != nil {
		return nil, err
	}
	q := &request{model: in.Model, stream: in.Stream}
	switch {
	case in.Model == "":
		return nil, invalid("model", "field required")
	case len(in.Messages) == 0:
		return nil, invalid("messages", "at least one message is required")
	case in.MaxTokens != nil && *in.MaxTokens < 1:
		return nil, invalid("max_tokens", "it must be at least 1")
	case in.MaxTokens != nil:
		q.MaxTokens = *in.MaxTokens
	}
	q.Temperature, q.Stop = in.Temperature, slices.DeleteFunc(slices.Clone(in.StopSequences), func(s string) bool { return s == "" })
	if in.Thinking.Type == "disabled" {
		q.Think = providers.ThinkOff
	}
	system, err := blockText("system", in.System)
	if err != nil {
		return nil, err
	}
	if system != "" {
		q.Messages = append(q.Messages, calling.Message{Role: providers.System, Text: system})
	}
	for i, m := range in.Messages {
		if err := q.addBlocks(fmt.Sprintf("messages.%d", i), m.Role, m.Content); err != nil {
			return nil, err
		}
	}
	hosted := map[string]string{}
	for _, t := range in.Tools {
		if t.Type != "" && t.Type != "custom" { // run by Anthropic's servers, or known to its models only
			hosted[t.Name] = t.Type
			continue
		}
		q.Tools = append(q.Tools, calling.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	switch in.ToolChoice.Type {
	case "", "auto":
	case "none":
		q.Choice.Mode = calling.None
	case "any":
		q.Choice.Mode = calling.Required
	case "tool":
		if kind := hosted[in.ToolChoice.Name]; kind != "" {
			return nil, unsupported("tool_choice", "tools of type %q are not supported", kind)
		}
		name := encode(map[string]string{"type": "tool", "name": in.ToolChoice.Name})
		if q.Choice, err = toolChoice(name, q.Tools); err != nil {
			return nil, err
		}
	default:
		return nil, invalid("tool_choice.type", "%q is none of auto, any, tool and none", in.ToolChoice.Type)
	}
	f := in.OutputConfig.Format
	if f.Type == "" {
		f = in.OutputFormat
	}
	q.Format, err = format("output_config.format", f.Type, f.Schema)
	return q, err
}

// addBlocks adds a message. Results come before what else it says, as they answer the
// message before it.
func (q *request) addBlocks(where, role string, raw json.RawMessage) error {
	var whole string
	blocks := []contentBlock{}
	if json.Unmarshal(raw, &whole) == nil {
		blocks = append(blocks, contentBlock{Type: "text", Text: whole})
	} else if json.Unmarshal(raw, &blocks) != nil {
		return invalid(where+".content", "it is neither a string nor a list of blocks")
	}
	m := calling.Message{Role: providers.Role(role)}
	if role != "user" && role != "assistant" && role != "system" {
		return invalid(where+".role", "%q is neither user nor assistant", role)
	}
	var texts []string
	for i, b := range blocks {
		at := fmt.Sprintf("%s.content.%d", where, i)
		switch {
		case b.Type == "text":
			texts = append(texts, b.Text)
		case b.Type == "thinking", b.Type == "redacted_thinking": // left out of the next prompt
		case b.Type == "tool_use" && role == "assistant":
			m.Calls = append(m.Calls, calling.Call{ID: b.ID, Name: b.Name, Args: b.Input})
		case b.Type == "tool_result":
			text, err := blockText(at, b.Content)
			if err != nil {
				return err
			}
			q.Messages = append(q.Messages, calling.Message{Role: calling.Result, CallID: b.ToolUseID, Text: text, Failed: b.IsError})
		case b.Type == "document" && b.Source.Type == "text":
			texts = append(texts, b.Source.Data)
		default:
			return unsupported(at, "blocks of type %q are not supported, only text and calls of tools", b.Type)
		}
	}
	m.Text = strings.Join(texts, "\n")
	if m.Text != "" || len(m.Calls) > 0 {
		q.Messages = append(q.Messages, m)
	}
	return nil
}

// billing begins a block of the system prompt that changes with every request and says
// nothing to a model. With it no cache would ever find the prompt again.
const billing = "x-anthropic-billing-header:"

// blockText is the text of a content that holds nothing but text.
func blockText(where string, raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var whole string
	if json.Unmarshal(raw, &whole) == nil {
		return whole, nil
	}
	var blocks []contentBlock
	if json.Unmarshal(raw, &blocks) != nil {
		return "", invalid(where, "it is neither a string nor a list of blocks")
	}
	var texts []string
	for i, b := range blocks {
		switch {
		case b.Type == "tool_reference": // of a search for tools
			continue
		case b.Type != "text":
			return "", unsupported(fmt.Sprintf("%s.%d", where, i), "blocks of type %q are not supported here, only text", b.Type)
		case strings.HasPrefix(strings.TrimSpace(b.Text), billing):
			continue
		}
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "\n"), nil
}

// messagesWriter writes a reply of Messages.
type messagesWriter struct {
	x         *exchange
	id, model string
	index     int
	open      string // the type of the block that is open
}

func (w *messagesWriter) kind() string { return "text/event-stream; charset=utf-8" }

func (w *messagesWriter) send(name string, v map[string]any) {
	v["type"] = name
	_, _ = w.x.w.Write([]byte("event: " + name + "\ndata: " + string(encode(v)) + "\n\n"))
}

func (w *messagesWriter) begin() {
	w.send("message_start", map[string]any{"message": w.message([]any{}, nil, nil, messagesUsage(calling.End{}))})
}

func (w *messagesWriter) beat() { w.send("ping", map[string]any{}) }

func (w *messagesWriter) message(content []any, stop, sequence any, usage map[string]any) map[string]any {
	return map[string]any{
		"id": w.id, "type": "message", "role": "assistant", "model": w.model, "content": content,
		"stop_reason": stop, "stop_sequence": sequence, "usage": usage,
	}
}

func (w *messagesWriter) openBlock(kind string, block map[string]any) {
	if w.open == kind && kind != "tool_use" {
		return
	}
	w.closeBlock()
	w.open = kind
	block["type"] = kind
	w.send("content_block_start", map[string]any{"index": w.index, "content_block": block})
}

func (w *messagesWriter) closeBlock() {
	if w.open == "" {
		return
	}
	if w.open == "thinking" {
		w.delta(map[string]any{"type": "signature_delta", "signature": signature})
	}
	w.send("content_block_stop", map[string]any{"index": w.index})
	w.open = ""
	w.index++
}

// signature stands where Anthropic signs thoughts. They are not read again.
const signature = "mylm"

func (w *messagesWriter) delta(delta map[string]any) {
	w.send("content_block_delta", map[string]any{"index": w.index, "delta": delta})
}

func (w *messagesWriter) event(e calling.Event) {
	switch {
	case e.Text != "":
		w.openBlock("text", map[string]any{"text": ""})
		w.delta(map[string]any{"type": "text_delta", "text": e.Text})
	case e.Thought != "":
		w.openBlock("thinking", map[string]any{"thinking": "", "signature": ""})
		w.delta(map[string]any{"type": "thinking_delta", "thinking": e.Thought})
	case e.Call != nil:
		w.openBlock("tool_use", map[string]any{"id": e.Call.ID, "name": e.Call.Name, "input": map[string]any{}})
		for _, piece := range pieces(string(e.Call.Args)) {
			w.delta(map[string]any{"type": "input_json_delta", "partial_json": piece})
		}
	}
}

func messagesStop(e calling.End) (reason string, sequence any) {
	switch {
	case e.Stop == calling.StopCall:
		return "tool_use", nil
	case e.Stop == providers.StopLength:
		return "max_tokens", nil
	case e.Sequence != "":
		return "stop_sequence", e.Sequence
	case e.Stop != providers.StopEnd && !calling.EndsByItself(e.Stop):
		return "refusal", nil
	}
	return "end_turn", nil
}

func messagesUsage(e calling.End) map[string]any {
	hit := cached(e.Usage)
	u := map[string]any{
		"input_tokens": e.Usage.Prompt - hit, "output_tokens": e.Usage.Output,
		"cache_read_input_tokens": hit, "cache_creation_input_tokens": 0,
	}
	if e.Estimated {
		u["estimated"] = true
	}
	return u
}

func (w *messagesWriter) end(e calling.End) {
	w.closeBlock()
	stop, sequence := messagesStop(e)
	w.send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": sequence}, "usage": messagesUsage(e)})
	w.send("message_stop", map[string]any{})
}

func (w *messagesWriter) fail(e *apiError) { w.send("error", e.anthropic(newID("req_"))) }

func (w *messagesWriter) whole(blocks []block, e calling.End) any {
	content := []any{}
	for _, b := range blocks {
		switch {
		case b.call != nil:
			content = append(content, map[string]any{"type": "tool_use", "id": b.call.ID, "name": b.call.Name, "input": b.call.Args})
		case b.thought != "":
			content = append(content, map[string]any{"type": "thinking", "thinking": b.thought, "signature": signature})
		default:
			content = append(content, map[string]any{"type": "text", "text": b.text})
		}
	}
	stop, sequence := messagesStop(e)
	return w.message(content, stop, sequence, messagesUsage(e))
}
