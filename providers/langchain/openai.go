package langchain

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

// openAIReader reads the replies of OpenAI's chat completions, in all the
// shades that servers give them.
type openAIReader struct {
	calls []openAICall // whose arguments are coming
}

// openAIReply is an event of a stream, or a reply in one piece.
type openAIReply struct {
	Object  string          `json:"object"`
	Error   json.RawMessage `json:"error"`
	Errors  []any           `json:"errors"` // Cloudflare's and IBM's
	Choices json.RawMessage `json:"choices"`
	Usage   json.RawMessage `json:"usage"` // read apart: a number of an odd type must not lose a reply
	Timings json.RawMessage `json:"timings"`
	Choice  *openAIChoice   `json:"-"` // the first with the index 0; nil: none
}

type openAIChoice struct {
	Index        int           `json:"index"`
	Delta        openAIMessage `json:"delta"`
	Message      openAIMessage `json:"message"`
	FinishReason string        `json:"finish_reason"`
}

// decode reads one of the choices: one is asked for, and a list of empty ones
// would take 200 times the memory of its text.
func (e *openAIReply) decode(data []byte) error {
	if err := wire.Decode(data, e); err != nil || !wire.Present(e.Choices) {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(e.Choices))
	if start, err := d.Token(); err != nil || start != json.Delim('[') {
		return wire.ErrGarbled
	}
	for e.Choice == nil && d.More() {
		var c openAIChoice
		if err := d.Decode(&c); err != nil {
			return err
		}
		if c.Index == 0 {
			e.Choice = &c
		}
	}
	return nil
}

// openAIMessage is the content of a message. Content is a string, or with
// Mistral's reasoning models a list of parts; reasoning has two names.
type openAIMessage struct {
	Content          json.RawMessage `json:"content"`
	ReasoningContent string          `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	Refusal          string          `json:"refusal"`
	Calls            []openAICall    `json:"tool_calls"`
	Function         json.RawMessage `json:"function_call"` // what tool_calls replaced
}

type openAIUsage struct {
	Prompt  int `json:"prompt_tokens"`
	Output  int `json:"completion_tokens"`
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CacheHit int `json:"prompt_cache_hit_tokens"` // DeepSeek
}

// openAITimings are llama.cpp's.
type openAITimings struct {
	PromptN     int     `json:"prompt_n"`
	PromptMS    float64 `json:"prompt_ms"`
	PredictedMS float64 `json:"predicted_ms"`
}

var openAIFormat = wire.Format{Reader: func() wire.Reader { return &openAIReader{} }}

func (o *openAIReader) Event(r *wire.Reply, data []byte) error {
	if string(data) == "[DONE]" {
		o.pass(r)
		r.Ended, r.Over = true, true
		return nil
	}
	if wire.IsMark(data) { // servers send others of their own
		return nil
	}
	var e openAIReply
	if err := e.decode(data); err != nil {
		return wire.ErrGarbled
	}
	return o.read(&e, r, data)
}

func (o *openAIReader) Whole(r *wire.Reply, body []byte) error {
	var e openAIReply
	if err := e.decode(body); err != nil {
		if c, ok := wire.ReadError(body); ok { // Google wraps errors in a list
			r.Fault = &c
			return nil
		}
		return wire.ErrGarbled
	}
	err := o.read(&e, r, body)
	o.pass(r)
	r.Ended = r.Ended || e.Choice != nil
	return err
}

// openAICall is a call, or a piece of one.
type openAICall struct {
	Index    int            `json:"index"`
	ID       string         `json:"id"`
	Function openAIFunction `json:"function"`

	args []byte // all pieces so far
}

type openAIFunction struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"arguments"`
}

// collect takes a piece of a call. Some servers send no index; an id then begins
// another call.
func (o *openAIReader) collect(r *wire.Reply, piece openAICall) {
	var text string
	if json.Unmarshal(piece.Function.Args, &text) != nil {
		text = string(piece.Function.Args)
	}
	r.CallPart(piece.Function.Name + text)
	for i := range o.calls {
		if c := &o.calls[i]; c.Index == piece.Index && (piece.ID == "" || piece.ID == c.ID) {
			c.Function.Name, c.args = cmp.Or(c.Function.Name, piece.Function.Name), append(c.args, text...)
			return
		}
	}
	piece.args = []byte(text)
	o.calls = append(o.calls, piece)
}

// pass hands on the calls that are complete.
func (o *openAIReader) pass(r *wire.Reply) {
	for _, c := range o.calls {
		r.CallText(c.Function.Name, string(c.args))
	}
	o.calls = nil
}

// read notes the contents of e.
func (o *openAIReader) read(e *openAIReply, r *wire.Reply, data []byte) error {
	r.Known = r.Known || e.Choice != nil || strings.HasPrefix(e.Object, "chat.completion") || wire.Present(e.Usage)
	if e.failed() {
		r.Fail(data)
		return nil
	}
	if !wire.Present(e.Choices) && !wire.Present(e.Usage) && !wire.Present(e.Timings) {
		if c, ok := wire.ReadError(data); ok {
			r.Fault = &c // in a form that is not OpenAI's, as FastAPI's {"detail": …}
			return nil
		}
	}
	e.count(&r.Usage)
	if e.Choice == nil {
		return nil
	}
	messages := []openAIMessage{e.Choice.Delta, e.Choice.Message}
	if r.Spoken() || len(o.calls) > 0 { // some servers end a stream with all of it once more
		messages = messages[:1]
	}
	for _, m := range messages {
		for _, c := range m.Calls {
			o.collect(r, c)
		}
		var f openAIFunction
		if len(m.Calls) == 0 && json.Unmarshal(m.Function, &f) == nil && wire.Present(m.Function) {
			o.collect(r, openAICall{Function: f})
		}
		text, thought, err := m.read()
		if err != nil {
			return err
		}
		r.Thought(thought)
		r.Text(text)
		if r.Spoken() {
			break
		}
	}
	if e.Choice.FinishReason != "" {
		o.pass(r)
		r.Ended, r.Settled, r.Stop = true, true, e.Choice.FinishReason
	}
	return nil
}

func (e *openAIReply) failed() bool {
	if e.Object == "error" || len(e.Errors) > 0 || wire.Present(e.Error) {
		return true
	}
	return e.Choice != nil && e.Choice.FinishReason == "error" // OpenRouter
}

// read separates text from thought. A content of another shape would be lost, and
// is an error.
func (m openAIMessage) read() (text, thought string, err error) {
	thought = m.ReasoningContent
	if thought == "" && len(m.Reasoning) > 0 {
		thought = textOf(m.Reasoning)
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	switch {
	case !wire.Present(m.Content):
	case m.Content[0] != '[':
		err = json.Unmarshal(m.Content, &text)
	default:
		err = json.Unmarshal(m.Content, &parts)
	}
	if err != nil {
		return "", "", wire.ErrOddContent
	}
	for _, p := range parts {
		text += p.Text
		thought += textOf(p.Thinking)
	}
	return text + m.Refusal, thought, nil
}

// textOf reads a string, or a list of parts that have a text.
func textOf(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) == nil {
		for _, p := range parts {
			s += p.Text
		}
	}
	return s
}

// count notes the usage, which may come in several events.
func (e *openAIReply) count(u *providers.Usage) {
	var n openAIUsage
	if json.Unmarshal(e.Usage, &n) == nil && n.Prompt+n.Output > 0 {
		u.Prompt, u.Output = n.Prompt, n.Output
		if cached := cmp.Or(n.Details.Cached, n.CacheHit); cached > 0 {
			u.Evaluated = max(0, u.Prompt-cached)
		}
	}
	var t openAITimings
	if json.Unmarshal(e.Timings, &t) == nil && t.PromptN > 0 {
		u.Evaluated = t.PromptN
		u.PromptTime = time.Duration(t.PromptMS * float64(time.Millisecond))
		u.OutputTime = time.Duration(t.PredictedMS * float64(time.Millisecond))
	}
}
