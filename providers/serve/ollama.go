package serve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"mylm/providers"
	"mylm/providers/calling"
)

// ollamaVersion is the version of Ollama whose API is spoken. Clients refuse old ones.
const ollamaVersion = "0.32.15"

// ollamaRequest is one of Ollama's, a conversation or a text to go on with.
type ollamaRequest struct {
	Model    string          `json:"model"`
	Messages []ollamaMessage `json:"messages"`
	Tools    []chatTool      `json:"tools"`
	Choice   json.RawMessage `json:"tool_choice"` // which Ollama itself leaves out of account
	Stream   *bool           `json:"stream"`
	Format   json.RawMessage `json:"format"`
	Think    json.RawMessage `json:"think"`
	Keep     json.RawMessage `json:"keep_alive"`
	Logprobs bool            `json:"logprobs"`
	TopProbs int             `json:"top_logprobs"`
	Options  struct {
		Temperature *float64        `json:"temperature"`
		Seed        *integer        `json:"seed"`
		NumPredict  integer         `json:"num_predict"`
		Stop        json.RawMessage `json:"stop"`
	} `json:"options"`

	Prompt   string   `json:"prompt"`
	System   string   `json:"system"`
	Suffix   string   `json:"suffix"`
	Template string   `json:"template"`
	Raw      bool     `json:"raw"`
	Images   []string `json:"images"`
	Context  []int    `json:"context"`
}

type ollamaMessage struct {
	Role       string       `json:"role"`
	Content    string       `json:"content"`
	Thinking   string       `json:"thinking,omitempty"`
	Images     []string     `json:"images,omitempty"`
	ToolName   string       `json:"tool_name,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
	ToolCalls  []ollamaCall `json:"tool_calls,omitempty"`
}

type ollamaCall struct {
	ID       string         `json:"id,omitempty"`
	Function ollamaFunction `json:"function"`
}

type ollamaFunction struct {
	Index     int             `json:"index"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func (h *Handler) ollamaChat(x *exchange)     { x.ollama(false) }
func (h *Handler) ollamaGenerate(x *exchange) { x.ollama(true) }

func (x *exchange) ollama(generate bool) {
	var in ollamaRequest
	if err := x.read(&in); err != nil {
		x.fail(x.asAPI(err, ""))
		return
	}
	q, err := in.normalise(generate)
	if err != nil {
		x.fail(x.asAPI(err, in.Model))
		return
	}
	w := &ollamaWriter{x: x, model: in.Model, generate: generate, began: time.Now()}
	if len(q.Messages) == 0 || generate && in.Prompt == "" { // asks to load the model, or to unload it, which the backend does when it is needed
		reason := "load"
		for _, unit := range []string{"", "s"} { // a number is seconds
			if d, err := time.ParseDuration(strings.Trim(string(in.Keep), `"`) + unit); err == nil && d == 0 {
				reason = "unload"
			}
		}
		if _, err := x.h.opts.Open(x.r.Context(), in.Model); err != nil {
			x.fail(x.asAPI(err, in.Model))
			return
		}
		x.json(http.StatusOK, w.line(ollamaMessage{Role: "assistant"}, map[string]any{"done": true, "done_reason": reason}))
		return
	}
	x.run(q, w)
}

func (in *ollamaRequest) normalise(generate bool) (*request, error) {
	q := &request{model: in.Model, stream: in.Stream == nil || *in.Stream}
	switch {
	case in.Model == "":
		return nil, invalid("model", "it is missing")
	case in.Logprobs:
		return nil, unsupported("logprobs", "they are not supported")
	case in.TopProbs > 0:
		return nil, unsupported("top_logprobs", "they are not supported")
	case len(in.Think) > 0 && !strings.ContainsRune(`tfn"`, rune(in.Think[0])):
		return nil, invalid("think", "it is neither true, false nor an effort")
	case generate && in.Template != "":
		return nil, unsupported("template", "it is not supported")
	case generate && in.Suffix != "":
		return nil, unsupported("suffix", "it is not supported")
	case generate && in.Raw:
		return nil, unsupported("raw", "it is not supported")
	case generate && len(in.Context) > 0:
		return nil, unsupported("context", "it is not supported: send the conversation to /api/chat")
	}
	q.Temperature, q.Seed, q.MaxTokens = in.Options.Temperature, (*int)(in.Options.Seed), int(max(0, in.Options.NumPredict))
	if string(in.Think) == "false" {
		q.Think = providers.ThinkOff
	}
	if generate {
		in.Messages, in.Tools, in.Choice = nil, nil, nil // of /api/chat
		if in.System != "" {
			q.Messages = append(q.Messages, calling.Message{Role: providers.System, Text: in.System})
		}
		images, err := pictures("images", in.Images)
		if err != nil {
			return nil, err
		}
		q.Messages = append(q.Messages, calling.Message{Role: providers.User, Text: in.Prompt, Images: images})
	}
	var open []calling.Call // without a result yet
	known := map[string]bool{}
	for i, m := range in.Messages {
		out := calling.Message{Role: providers.Role(m.Role), Text: m.Content}
		switch m.Role {
		case "system", "user":
		case "assistant":
			open = open[:0]
			for j, c := range m.ToolCalls {
				if c.ID == "" {
					c.ID = fmt.Sprintf("call_%d_%d", i, j)
				}
				if err := named(fmt.Sprintf("messages[%d].tool_calls[%d]", i, j), c.Function.Name); err != nil {
					return nil, err
				}
				call := calling.Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments}
				out.Calls, open = append(out.Calls, call), append(open, call)
				known[c.ID] = true
			}
		case "tool":
			out.Role = calling.Result
			if out.CallID, open = answered(m, open); !known[out.CallID] { // Ollama takes it all the same, and programs leave out calls
				out.CallID, out.Tool = "", cmp.Or(m.ToolName, "tool")
			}
		default:
			return nil, invalid(fmt.Sprintf("messages[%d].role", i), "unknown role %q", m.Role)
		}
		var err error
		if out.Images, err = pictures(fmt.Sprintf("messages[%d].images", i), m.Images); err == nil {
			err = onlyShown(out.Images, m.Role)
		}
		if err != nil {
			return nil, err
		}
		q.Messages = append(q.Messages, out)
	}
	for _, t := range in.Tools {
		q.Tools = append(q.Tools, calling.Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	var err error
	if q.Choice, err = toolChoice(in.Choice, q.Tools); err != nil {
		return nil, err
	}
	if q.Stop, err = stopSequences("options.stop", in.Options.Stop); err != nil {
		return nil, err
	}
	switch {
	case len(in.Format) == 0, string(in.Format) == "null", string(in.Format) == `""`:
	case string(in.Format) == `"json"`:
		q.Format, err = (&answerFormat{Type: "json_object"}).read("format")
	case in.Format[0] == '{':
		q.Format, err = (&answerFormat{Type: "json_schema", Schema: in.Format}).read("format")
	default:
		err = invalid("format", "it is neither \"json\" nor a JSON Schema")
	}
	return q, err
}

// pictures are those of a message, in base64.
func pictures(where string, list []string) (images []providers.Image, err error) {
	for i, text := range list {
		if images, err = addImage(images, fmt.Sprintf("%s[%d]", where, i), calling.Base64, text); err != nil {
			return nil, err
		}
	}
	return images, nil
}

// answered finds the call that a result belongs to: by its id, by the tool, or in order.
func answered(m ollamaMessage, open []calling.Call) (id string, rest []calling.Call) {
	at := -1
	for i, c := range open {
		if m.ToolCallID != "" && c.ID == m.ToolCallID || m.ToolCallID == "" && m.ToolName != "" && c.Name == m.ToolName {
			at = i
			break
		}
	}
	if at < 0 && m.ToolCallID == "" && len(open) > 0 {
		at = 0
	}
	if at < 0 {
		return m.ToolCallID, open
	}
	return open[at].ID, append(append([]calling.Call(nil), open[:at]...), open[at+1:]...)
}

// ollamaWriter writes a reply of Ollama's API.
type ollamaWriter struct {
	x        *exchange
	model    string
	generate bool
	began    time.Time
	calls    int
}

func (w *ollamaWriter) kind() string { return "application/x-ndjson" }

func (w *ollamaWriter) begin() {}

func (w *ollamaWriter) line(m ollamaMessage, more map[string]any) map[string]any {
	v := map[string]any{"model": w.model, "created_at": time.Now().UTC().Format(time.RFC3339Nano), "done": false}
	if w.generate {
		v["response"] = m.Content
		if m.Thinking != "" {
			v["thinking"] = m.Thinking
		}
	} else {
		v["message"] = m
	}
	for k, value := range more {
		v[k] = value
	}
	return v
}

func (w *ollamaWriter) write(v any) { _, _ = w.x.w.Write(append(encode(v), '\n')) }

func (w *ollamaWriter) beat() { w.write(w.line(ollamaMessage{Role: "assistant"}, nil)) }

func (w *ollamaWriter) event(e calling.Event) {
	m := ollamaMessage{Role: "assistant", Content: e.Text, Thinking: e.Thought}
	if e.Call != nil {
		m.ToolCalls = []ollamaCall{w.call(e.Call)}
	}
	w.write(w.line(m, nil))
}

func (w *ollamaWriter) call(c *calling.Call) ollamaCall {
	w.calls++
	return ollamaCall{ID: c.ID, Function: ollamaFunction{Index: w.calls - 1, Name: c.Name, Arguments: c.Args}}
}

func (w *ollamaWriter) ending(e calling.End) map[string]any {
	reason := "stop"
	if e.Stop == providers.StopLength {
		reason = "length"
	}
	now := time.Now()
	first := w.x.first
	if first.IsZero() {
		first = now
	}
	u := e.Usage
	if u.PromptTime == 0 {
		u.PromptTime = first.Sub(w.began)
	}
	if u.OutputTime == 0 {
		u.OutputTime = now.Sub(first)
	}
	v := map[string]any{
		"done": true, "done_reason": reason, "prompt_eval_count": u.Prompt, "eval_count": u.Output, "total_duration": now.Sub(w.began).Nanoseconds(),
		"load_duration": u.Load.Nanoseconds(), "prompt_eval_duration": max(1, u.PromptTime.Nanoseconds()), "eval_duration": max(1, u.OutputTime.Nanoseconds()),
	}
	if e.Estimated {
		v["estimated"] = true
	}
	return v
}

func (w *ollamaWriter) end(e calling.End) {
	w.write(w.line(ollamaMessage{Role: "assistant"}, w.ending(e)))
}

func (w *ollamaWriter) fail(e *apiError) { w.write(e.ollama()) }

func (w *ollamaWriter) whole(blocks []block, e calling.End) any {
	m := ollamaMessage{Role: "assistant"}
	m.Content, m.Thinking = texts(blocks)
	for _, b := range blocks {
		if b.call != nil {
			m.ToolCalls = append(m.ToolCalls, w.call(b.call))
		}
	}
	return w.line(m, w.ending(e))
}

// details stand for those of a model file.
var details = map[string]any{"parent_model": "", "format": "", "family": "", "families": []string{}, "parameter_size": "", "quantization_level": ""}

func (h *Handler) ollamaTags(x *exchange) {
	list, err := h.list(x.r.Context())
	if err != nil {
		x.fail(x.asAPI(err, ""))
		return
	}
	models := make([]any, 0, len(list))
	for _, m := range list {
		name := tagged(m.Name)
		models = append(models, map[string]any{
			"name": name, "model": name, "modified_at": m.Modified.UTC().Format(time.RFC3339), "size": m.Size,
			"digest": strings.Repeat("0", 64), "details": details,
		})
	}
	x.json(http.StatusOK, map[string]any{"models": models})
}

// tagged is a name as Ollama lists it.
func tagged(name string) string {
	if strings.Contains(name, ":") {
		return name
	}
	return name + ":latest"
}

// ollamaRunning says of no model that it is loaded: the backend knows.
func (h *Handler) ollamaRunning(x *exchange) {
	x.json(http.StatusOK, map[string]any{"models": []any{}})
}

func (h *Handler) ollamaShow(x *exchange) {
	var in struct {
		Model string `json:"model"`
		Name  string `json:"name"`
	}
	if err := x.read(&in); err != nil {
		x.fail(x.asAPI(err, ""))
		return
	}
	if in.Model = cmp.Or(in.Model, in.Name); in.Model == "" {
		x.fail(invalid("model", "it is missing"))
		return
	}
	info, err := h.info(x.r.Context(), in.Model)
	if err != nil {
		x.fail(x.asAPI(err, in.Model))
		return
	}
	can := []string{"completion", "tools"}
	if info.Thinks {
		can = append(can, "thinking")
	}
	if info.Sees == providers.Able {
		can = append(can, "vision")
	}
	about := map[string]any{"general.architecture": "mylm", "general.basename": in.Model}
	if info.Window > 0 {
		about["mylm.context_length"] = info.Window
	}
	x.json(http.StatusOK, map[string]any{
		"license": "", "modelfile": "", "parameters": "", "template": "{{ .Prompt }}", "modified_at": info.Modified.UTC().Format(time.RFC3339),
		"details": details, "model_info": about, "capabilities": can,
	})
}
