package serve

import (
	"net/http"

	"mylm/providers"
	"mylm/providers/calling"
)

func (h *Handler) messages(x *exchange) {
	var in messagesRequest
	if err := x.read(&in); err != nil {
		x.fail(x.asAPI(err, ""))
		return
	}
	q, err := in.normalise()
	if err == nil && in.MaxTokens == nil {
		err = invalid("max_tokens", "field required")
	}
	if err != nil {
		x.fail(x.asAPI(err, in.Model))
		return
	}
	x.run(q, &messagesWriter{x: x, id: newID("msg_"), model: in.Model})
}

func (h *Handler) countTokens(x *exchange) {
	var in messagesRequest
	if err := x.read(&in); err != nil {
		x.fail(x.asAPI(err, ""))
		return
	}
	q, err := in.normalise()
	x.count(in.Model, q, err, map[string]any{})
}

// count answers with the tokens of a prompt, unless its request cannot be read.
func (x *exchange) count(name string, q *request, err error, answer map[string]any) {
	x.record.Model = name
	var model *calling.Model
	if err == nil {
		model, err = x.h.opts.Open(x.r.Context(), name)
	}
	if err == nil {
		answer["input_tokens"], err = model.Tokens(q.Request)
	}
	if err != nil {
		x.fail(x.asAPI(err, name))
		return
	}
	x.json(http.StatusOK, answer)
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

// begin estimates the prompt: many clients look at its tokens here, and not at the end.
func (w *messagesWriter) begin() {
	usage := messagesUsage(calling.End{Usage: providers.Usage{Prompt: w.x.promptTokens()}, Estimated: true})
	w.send("message_start", map[string]any{"message": w.message([]any{}, nil, nil, usage)})
}

func (w *messagesWriter) beat() { w.send("ping", map[string]any{}) }

func (w *messagesWriter) message(content []any, stop, sequence any, usage map[string]any) map[string]any {
	for _, key := range []string{"cache_creation", "inference_geo", "service_tier", "speed"} { // of Anthropic's servers
		usage[key] = nil
	}
	return map[string]any{
		"id": w.id, "type": "message", "role": "assistant", "model": w.model, "content": content,
		"stop_reason": stop, "stop_sequence": sequence, "stop_details": nil, "container": nil, "diagnostics": nil, "usage": usage,
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

// direct says that the model itself made a call, and no program of its own.
var direct = map[string]string{"type": "direct"}

// signature stands where Anthropic signs thoughts. They are not read again.
const signature = "mylm"

func (w *messagesWriter) delta(delta map[string]any) {
	w.send("content_block_delta", map[string]any{"index": w.index, "delta": delta})
}

func (w *messagesWriter) event(e calling.Event) {
	switch {
	case e.Text != "":
		w.openBlock("text", map[string]any{"text": "", "citations": nil})
		w.delta(map[string]any{"type": "text_delta", "text": e.Text})
	case e.Thought != "":
		w.openBlock("thinking", map[string]any{"thinking": "", "signature": ""})
		w.delta(map[string]any{"type": "thinking_delta", "thinking": e.Thought})
	case e.Call != nil:
		w.openBlock("tool_use", map[string]any{"id": e.Call.ID, "name": e.Call.Name, "input": map[string]any{}, "caller": direct})
		for _, piece := range pieces(string(e.Call.Args), pieceBytes) {
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
		"cache_read_input_tokens": hit, "cache_creation_input_tokens": 0, "output_tokens_details": nil, "server_tool_use": nil,
	}
	if e.Estimated {
		u["estimated"] = true
	}
	return u
}

func (w *messagesWriter) end(e calling.End) {
	w.closeBlock()
	stop, sequence := messagesStop(e)
	w.send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": stop, "stop_sequence": sequence, "stop_details": nil, "container": nil}, "usage": messagesUsage(e),
	})
	w.send("message_stop", map[string]any{})
}

func (w *messagesWriter) fail(e *apiError) { w.send("error", e.anthropic(newID("req_"))) }

func (w *messagesWriter) whole(blocks []block, e calling.End) any {
	content := []any{}
	for _, b := range blocks {
		switch {
		case b.call != nil:
			content = append(content, map[string]any{"type": "tool_use", "id": b.call.ID, "name": b.call.Name, "input": b.call.Args, "caller": direct})
		case b.thought != "":
			content = append(content, map[string]any{"type": "thinking", "thinking": b.thought, "signature": signature})
		default:
			content = append(content, map[string]any{"type": "text", "text": b.text, "citations": nil})
		}
	}
	stop, sequence := messagesStop(e)
	return w.message(content, stop, sequence, messagesUsage(e))
}
