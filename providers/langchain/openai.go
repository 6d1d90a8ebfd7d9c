package langchain

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

// openAIReader reads the replies of OpenAI's chat completions, in all the
// shades that servers give them.
type openAIReader struct {
	index string       // of the choice that is read; "": none has come
	calls []openAICall // whose arguments are coming
}

// openAIReply is an event of a stream, or a reply in one piece.
type openAIReply struct {
	Object  wire.Word       `json:"object"`
	Error   json.RawMessage `json:"error"`
	Errors  json.RawMessage `json:"errors"` // Cloudflare's and IBM's
	Choices json.RawMessage `json:"choices"`
	Usage   json.RawMessage `json:"usage"` // read apart: a number of an odd type must not lose a reply
	Timings json.RawMessage `json:"timings"`
	Choice  *openAIChoice   `json:"-"` // the one that is read; nil: none
}

type openAIChoice struct {
	Index        wire.Word       `json:"index"`
	Delta        openAIMessages  `json:"delta"`
	Message      openAIMessages  `json:"message"`
	Text         json.RawMessage `json:"text"` // of the older completions
	Error        json.RawMessage `json:"error"`
	FinishReason wire.EndReason  `json:"finish_reason"`
	Native       wire.EndReason  `json:"native_finish_reason"` // OpenRouter: that of the server behind
}

// failed reports whether the reason to end is a fault of the server: of OpenRouter, Z.ai
// and DeepSeek.
func (c *openAIChoice) failed() bool {
	switch c.FinishReason {
	case "error", "network_error", "insufficient_system_resource":
		return true
	}
	return false
}

// refusedCall reports whether Google refused a call, for it was sent no tools or cannot
// read it.
func (c *openAIChoice) refusedCall() bool {
	reason := strings.ToLower(string(c.FinishReason))
	return strings.HasPrefix(reason, "function_call_filter") || reason == "malformed_function_call" || reason == "unexpected_tool_call"
}

// decode reads one of the choices: one is asked for, and a list of empty ones
// would take 200 times the memory of its text.
func (o *openAIReader) decode(data []byte, e *openAIReply) error {
	if err := wire.Decode(data, e); err != nil || !wire.Present(e.Choices) {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(e.Choices))
	if e.Choices[0] != '{' {
		if start, err := d.Token(); err != nil || start != json.Delim('[') {
			return wire.ErrGarbled
		}
	}
	var other *openAIChoice
	for e.Choice == nil && d.More() {
		var c openAIChoice
		if err := d.Decode(&c); err != nil {
			return err
		}
		switch c.Index = cmp.Or(c.Index, "0"); {
		case string(c.Index) == cmp.Or(o.index, "0"):
			e.Choice = &c
		case other == nil:
			other = &c
		}
	}
	if e.Choice == nil && o.index == "" {
		e.Choice = other
	}
	if e.Choice != nil {
		o.index = string(e.Choice.Index)
	}
	return nil
}

// fail notes that the reason to end is a fault.
func (c *openAIChoice) fail(r *wire.Reply) {
	reason := cmp.Or(c.Native, c.FinishReason)
	r.Fault = &wire.ServerError{Text: fmt.Sprintf("the reply ended with %q", reason.Words()), Names: " "}
}

// openAIMessage is the content of a message. Reasoning has two names.
type openAIMessage struct {
	Content          json.RawMessage  `json:"content"`
	ReasoningContent json.RawMessage  `json:"reasoning_content"`
	Reasoning        json.RawMessage  `json:"reasoning"`
	Refusal          json.RawMessage  `json:"refusal"`
	Calls            wire.ServerCalls `json:"tool_calls"`
	Function         wire.ServerCalls `json:"function_call"` // what tool_calls replaced
}

// openAIMessages is one message, in some servers a list of them or a bare text.
type openAIMessages []openAIMessage

// UnmarshalJSON implements json.Unmarshaler.
func (m *openAIMessages) UnmarshalJSON(data []byte) error {
	*m = nil
	switch {
	case !wire.Present(data):
		return nil
	case data[0] == '"':
		*m = openAIMessages{{Content: bytes.Clone(data)}}
		return nil
	case data[0] == '[':
		return json.Unmarshal(data, (*[]openAIMessage)(m))
	}
	var one openAIMessage
	err := json.Unmarshal(data, &one)
	*m = openAIMessages{one}
	return err
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
	if len(data) < 16 && strings.EqualFold(strings.Trim(string(data), `"[]`), "done") {
		r.Ended, r.Over = true, true
		return o.pass(r)
	}
	if wire.IsMark(data) { // servers send others of their own
		return nil
	}
	var e openAIReply
	if err := o.decode(data, &e); err != nil {
		return wire.ErrGarbled
	}
	return o.read(&e, r, data)
}

func (o *openAIReader) Whole(r *wire.Reply, body []byte) error {
	var e openAIReply
	if err := o.decode(body, &e); err != nil {
		if c, ok := wire.ReadError(body); ok { // Google wraps errors in a list
			r.Fault = &c
			return nil
		}
		return wire.ErrGarbled
	}
	err := cmp.Or(o.read(&e, r, body), o.pass(r))
	r.Ended = r.Ended || e.Choice != nil && len(e.Choice.Delta) == 0
	return err
}

// openAICall is a call whose pieces are coming.
type openAICall struct {
	wire.CallPiece
	args []byte // all pieces so far
	join wire.Joiner

	open            int  // brackets of args
	quoted, escaped bool // where args end
	whole           bool // the first bracket of args has been closed
}

// add adds a piece of the arguments. How far they are is not looked up in all of them:
// a server may send a token at once.
func (c *openAICall) add(text string) {
	c.args = append(c.args, text...)
	for _, b := range []byte(text) {
		switch {
		case c.escaped:
			c.escaped = false
		case c.quoted && b == '\\':
			c.escaped = true
		case b == '"':
			c.quoted = !c.quoted
		case c.quoted:
		case b == '{', b == '[':
			c.open++
		case b == '}', b == ']':
			c.open--
			c.whole = c.whole || c.open == 0
		}
	}
}

// collect takes a piece of a call. The name and the arguments may come in
// pieces, or from the beginning in each.
func (o *openAIReader) collect(r *wire.Reply, piece wire.CallPiece) {
	c := o.find(piece)
	if c == nil {
		o.calls = append(o.calls, openAICall{CallPiece: wire.CallPiece{Index: piece.Index, ID: piece.ID}})
		c = &o.calls[len(o.calls)-1]
	}
	text := string(piece.Args)
	switch {
	case text == "null":
		text = ""
	case strings.HasPrefix(text, `"`):
		text = c.join.Text(piece.Args)
	}
	switch {
	case piece.Name == c.Name:
		piece.Name = ""
	case strings.HasPrefix(piece.Name, c.Name):
		c.Name = piece.Name
	default:
		c.Name += piece.Name
	}
	if n := len(c.args); n > 0 && len(text) >= n && text[:n] == string(c.args) && json.Valid([]byte(text)) {
		c.args, c.open, c.quoted, c.escaped = nil, 0, false, false
	}
	c.add(text)
	r.CallPart(piece.Name + text)
}

// find is the call that a piece continues; nil: it begins one. Some servers send no
// index, or another id with each piece.
func (o *openAIReader) find(piece wire.CallPiece) *openAICall {
	for i := range slices.Backward(o.calls) {
		c := &o.calls[i]
		switch {
		case piece.Index != "" && piece.Index != c.Index:
		case piece.Name == "", piece.ID == c.ID && piece.Index+piece.ID != "":
			return c
		case piece.ID == "" && (piece.Index != "" || !c.whole):
			return c
		}
	}
	return nil
}

// pass hands on the calls that are complete.
func (o *openAIReader) pass(r *wire.Reply) error {
	for _, c := range o.calls {
		if c.Name == "" {
			return wire.ErrOddCall
		}
		r.CallText(c.Name, string(c.args))
	}
	o.calls = nil
	return nil
}

// read notes the contents of e.
func (o *openAIReader) read(e *openAIReply, r *wire.Reply, data []byte) error {
	r.Known = r.Known || e.Choice != nil || strings.HasPrefix(string(e.Object), "chat.completion") || wire.Present(e.Usage)
	e.count(&r.Usage)
	if e.failed() {
		if e.Choice != nil && wire.Present(e.Choice.Error) {
			data = e.Choice.Error
		}
		r.Fail(data)
		return nil
	}
	if e.Choice != nil && e.Choice.failed() {
		e.Choice.fail(r)
		return nil
	}
	if !wire.Present(e.Choices) && !wire.Present(e.Usage) && !wire.Present(e.Timings) {
		if c, ok := wire.ReadError(data); ok {
			r.Fault = &c // in a form that is not OpenAI's, as FastAPI's {"detail": …}
			return nil
		}
	}
	if e.Choice == nil {
		return nil
	}
	messages := append(e.Choice.Delta, openAIMessage{Content: e.Choice.Text})
	again := r.Spoken() || len(o.calls) > 0 // some servers end a stream with all of it once more
	for i, m := range append(messages, e.Choice.Message...) {
		if i >= len(messages) && (again || r.Spoken()) {
			break
		}
		if len(m.Calls) == 0 {
			m.Calls = m.Function
		}
		for _, c := range m.Calls {
			o.collect(r, c)
		}
		if wire.Present(m.ReasoningContent) {
			m.Reasoning = m.ReasoningContent
		}
		r.Thinking(m.Reasoning)
		if refusal := ""; json.Unmarshal(m.Refusal, &refusal) == nil && quotedCall(r, refusal) {
			r.Ended, m.Refusal = true, nil
		}
		if err := cmp.Or(r.Content(m.Content), r.Content(m.Refusal)); err != nil {
			return err
		}
	}
	switch refused := e.Choice.refusedCall(); {
	case e.Choice.FinishReason == "":
		return nil
	case !refused:
		r.Stop = e.Choice.FinishReason.Words()
	case r.Ended || len(o.calls) > 0: // the call came nevertheless
		r.Stop = "stop"
	default:
		e.Choice.fail(r)
		return nil
	}
	r.Ended = true
	r.Settled = r.Stop != "" // what has no words may not mean that it is over
	return o.pass(r)
}

func (e *openAIReply) failed() bool {
	if e.Object == "error" || wire.Present(e.Errors) || wire.Present(e.Error) {
		return true
	}
	return e.Choice != nil && wire.Present(e.Choice.Error)
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
