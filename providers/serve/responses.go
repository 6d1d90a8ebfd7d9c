package serve

import (
	"encoding/json"
	"strings"
	"sync"
	"time"

	"mylm/providers"
	"mylm/providers/calling"
)

func (h *Handler) responses(x *exchange) {
	var in responsesRequest
	if err := x.read(&in); err != nil {
		x.fail(x.asAPI(err, ""))
		return
	}
	q, tools, err := in.normalise(h.items.get)
	if err != nil {
		x.fail(x.asAPI(err, in.Model))
		return
	}
	x.run(q, &responsesWriter{x: x, in: &in, tools: tools, id: newID("resp_"), created: time.Now().Unix(), streams: q.stream, output: []any{}})
}

func (h *Handler) countInput(x *exchange) {
	var in responsesRequest
	if err := x.read(&in); err != nil {
		x.fail(x.asAPI(err, ""))
		return
	}
	q, _, err := in.normalise(h.items.get)
	x.count(in.Model, q, err, map[string]any{"object": "response.input_tokens"})
}

// responsesWriter writes a reply of Responses. A whole reply is the last event of a
// stream that nobody sees.
type responsesWriter struct {
	x       *exchange
	in      *responsesRequest
	tools   map[string]wireTool
	id      string
	created int64
	streams bool

	sequence int
	output   []any  // items that are complete
	open     string // the type of the item that is open
	item     string // its id
	text     strings.Builder
}

func (w *responsesWriter) kind() string { return "text/event-stream; charset=utf-8" }

func (w *responsesWriter) send(name string, v map[string]any) {
	if !w.streams {
		return
	}
	v["type"], v["sequence_number"] = name, w.sequence
	w.sequence++
	_, _ = w.x.w.Write([]byte("event: " + name + "\ndata: " + string(encode(v)) + "\n\n"))
}

// object is the response as it is now.
func (w *responsesWriter) object(status string) map[string]any {
	tools, choice, metadata := given(w.in.Tools, []any{}), given(w.in.ToolChoice, "auto"), given(w.in.Metadata, map[string]any{})
	text := map[string]any{"format": given(w.in.Text["format"], map[string]any{"type": "text"})}
	if verbosity := w.in.Text["verbosity"]; verbosity != nil {
		text["verbosity"] = verbosity
	}
	reasoning := map[string]any{"effort": w.in.Reasoning["effort"], "summary": w.in.Reasoning["summary"]}
	instructions := any(nil)
	if w.in.Instructions != "" {
		instructions = w.in.Instructions
	}
	return map[string]any{
		"id": w.id, "object": "response", "created_at": w.created, "status": status, "background": false, "error": nil, "incomplete_details": nil,
		"instructions": instructions, "max_output_tokens": w.in.MaxOutput, "model": w.in.Model, "output": w.output,
		"parallel_tool_calls": w.in.Parallel == nil || *w.in.Parallel, "previous_response_id": nil, "access_programs": nil,
		"temperature": w.in.Temperature, "top_p": w.in.TopP, "tool_choice": choice, "tools": tools, "metadata": metadata,
		"reasoning": reasoning, "text": text, "truncation": "disabled",
	}
}

// given is what a request says, or else what holds then.
func given(raw json.RawMessage, other any) any {
	if len(raw) == 0 || string(raw) == "null" {
		return other
	}
	return raw
}

func (w *responsesWriter) begin() {
	w.send("response.created", map[string]any{"response": w.object("in_progress")})
	w.send("response.in_progress", map[string]any{"response": w.object("in_progress")})
}

// beat sends an event: the idle timer of some clients does not count comments.
func (w *responsesWriter) beat() {
	w.send("response.in_progress", map[string]any{"response": w.object("in_progress")})
}

func (w *responsesWriter) event(e calling.Event) {
	switch {
	case e.Text != "":
		w.openItem("message")
		w.text.WriteString(e.Text)
		w.send("response.output_text.delta", w.at("content_index", map[string]any{"delta": e.Text, "logprobs": []any{}}))
	case e.Thought != "":
		w.openItem("reasoning")
		w.text.WriteString(e.Thought)
		w.send("response.reasoning_summary_text.delta", w.at("summary_index", map[string]any{"delta": e.Thought}))
	case e.Call != nil:
		w.call(e.Call)
	}
}

// at adds to an event which item and part it is about.
func (w *responsesWriter) at(index string, v map[string]any) map[string]any {
	v["item_id"], v["output_index"] = w.item, len(w.output)
	if index != "" {
		v[index] = 0
	}
	return v
}

func (w *responsesWriter) added(it map[string]any) {
	w.send("response.output_item.added", map[string]any{"output_index": len(w.output), "item": it})
}

func (w *responsesWriter) done(it map[string]any) {
	w.send("response.output_item.done", map[string]any{"output_index": len(w.output), "item": it})
	w.output = append(w.output, it)
}

func textPart(text string) map[string]any {
	return map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

func summaryPart(text string) map[string]any {
	return map[string]any{"type": "summary_text", "text": text}
}

func (w *responsesWriter) openItem(kind string) {
	if w.open == kind {
		return
	}
	w.closeItem("completed")
	w.open = kind
	if kind == "message" {
		w.item = newID("msg_")
		w.added(map[string]any{"id": w.item, "type": "message", "status": "in_progress", "role": "assistant", "content": []any{}})
		w.send("response.content_part.added", w.at("content_index", map[string]any{"part": textPart("")}))
		return
	}
	w.item = newID("rs_")
	w.added(map[string]any{"id": w.item, "type": "reasoning", "summary": []any{}})
	w.send("response.reasoning_summary_part.added", w.at("summary_index", map[string]any{"part": summaryPart("")}))
}

func (w *responsesWriter) closeItem(status string) {
	text := w.text.String()
	w.text.Reset()
	switch w.open {
	case "message":
		w.send("response.output_text.done", w.at("content_index", map[string]any{"text": text, "logprobs": []any{}}))
		w.send("response.content_part.done", w.at("content_index", map[string]any{"part": textPart(text)}))
		w.done(map[string]any{"id": w.item, "type": "message", "status": status, "role": "assistant", "content": []any{textPart(text)}})
	case "reasoning":
		w.send("response.reasoning_summary_text.done", w.at("summary_index", map[string]any{"text": text}))
		w.send("response.reasoning_summary_part.done", w.at("summary_index", map[string]any{"part": summaryPart(text)}))
		w.done(map[string]any{"id": w.item, "type": "reasoning", "summary": []any{summaryPart(text)}})
	}
	w.open = ""
}

func (w *responsesWriter) call(c *calling.Call) {
	w.closeItem("completed")
	tool, known := w.tools[c.Name]
	if !known {
		tool.name = c.Name
	}
	kind, field, prefix, value := "function_call", "arguments", "fc_", string(c.Args)
	event := "response.function_call_arguments"
	if tool.custom {
		kind, field, prefix, value = "custom_tool_call", "input", "ctc_", freeText(c.Args)
		event = "response.custom_tool_call_input"
	}
	w.item = newID(prefix)
	it := func(status, value string) map[string]any {
		v := map[string]any{"id": w.item, "type": kind, "status": status, "call_id": c.ID, "name": tool.name, field: value}
		if tool.custom {
			delete(v, "status")
		}
		if tool.namespace != "" {
			v["namespace"] = tool.namespace
		}
		return v
	}
	w.added(it("in_progress", ""))
	for _, piece := range pieces(value, pieceBytes) {
		w.send(event+".delta", w.at("", map[string]any{"delta": piece}))
	}
	ended := w.at("", map[string]any{field: value})
	if !tool.custom {
		ended["name"] = tool.name
	}
	w.send(event+".done", ended)
	w.done(it("completed", value))
}

// complete is the response at its end.
func (w *responsesWriter) complete(e calling.End) (name string, v map[string]any) {
	status, reason := "completed", ""
	switch {
	case e.Stop == providers.StopLength:
		status, reason = "incomplete", "max_output_tokens"
	case e.Stop != calling.StopCall && !calling.EndsByItself(e.Stop):
		status, reason = "incomplete", "content_filter"
	}
	w.closeItem(status)
	w.x.h.items.put(w.output)
	v = w.object(status)
	if reason != "" {
		v["incomplete_details"] = map[string]any{"reason": reason}
	} else {
		v["completed_at"] = time.Now().Unix()
	}
	usage := map[string]any{
		"input_tokens": e.Usage.Prompt, "input_tokens_details": map[string]any{"cached_tokens": cached(e.Usage), "cache_write_tokens": 0},
		"output_tokens": e.Usage.Output, "output_tokens_details": map[string]any{"reasoning_tokens": 0}, "total_tokens": e.Usage.Prompt + e.Usage.Output,
	}
	if e.Estimated {
		usage["estimated"] = true
	}
	v["usage"] = usage
	return "response." + status, v
}

func (w *responsesWriter) end(e calling.End) {
	name, v := w.complete(e)
	w.send(name, map[string]any{"response": v})
}

func (w *responsesWriter) fail(e *apiError) {
	w.closeItem("incomplete")
	v := w.object("failed")
	v["error"] = map[string]any{"code": e.inResponse(), "message": e.message}
	w.send("response.failed", map[string]any{"response": v})
}

func (w *responsesWriter) whole(blocks []block, e calling.End) any {
	for _, b := range blocks {
		w.event(calling.Event{Text: b.text, Thought: b.thought, Call: b.call})
	}
	_, v := w.complete(e)
	return v
}

// Bounds of what is kept of replies, for clients that refer to items.
const (
	maxItems     = 4096
	maxItemBytes = 64 << 20
)

// itemStore keeps the last items of replies.
type itemStore struct {
	mu    sync.Mutex
	byID  map[string]storedItem
	order []string
	bytes int
}

type storedItem struct {
	item
	size int
}

func (s *itemStore) get(id string) (item, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	it, ok := s.byID[id]
	return it.item, ok
}

func (s *itemStore) put(output []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = map[string]storedItem{}
	}
	for _, o := range output {
		text := encode(o)
		var it item
		if json.Unmarshal(text, &it) != nil || it.ID == "" {
			continue
		}
		s.byID[it.ID] = storedItem{it, len(text)}
		s.order = append(s.order, it.ID)
		s.bytes += len(text)
	}
	for len(s.order) > maxItems || s.bytes > maxItemBytes {
		s.bytes -= s.byID[s.order[0]].size
		delete(s.byID, s.order[0])
		s.order = s.order[1:]
	}
}
