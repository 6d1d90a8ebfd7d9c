package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"mylm/providers"
)

// Format is how a family of servers writes replies.
type Format struct {
	// Reader makes a reader of one reply. Nil: the client library reads it.
	Reader func() Reader

	// Lines means that a stream has one JSON value per line, not server-sent events.
	Lines bool
}

// Reader reads a reply as it arrives and notes in r what it means. An error
// means that the reply makes no sense.
type Reader interface {
	// Event takes one event of a stream: the data of a server-sent event, or a
	// line of JSON.
	Event(r *Reply, data []byte) error

	// Whole takes a reply that came in one piece.
	Whole(r *Reply, body []byte) error
}

// Count is a number of what a reply cost. One of another form is 0: it must not lose
// the reply.
type Count int64

// UnmarshalJSON implements json.Unmarshaler.
func (n *Count) UnmarshalJSON(data []byte) error {
	if f, err := strconv.ParseFloat(string(data), 64); err == nil && math.Abs(f) < 1<<53 {
		*n = Count(f)
	}
	return nil
}

// Reply is what was read of a reply so far.
type Reply struct {
	Known   bool   // something came that a model's API sends
	Ended   bool   // the sign that the reply is whole has come
	Settled bool   // only the usage may follow: a connection that ends now does no harm
	Over    bool   // nothing follows
	Stop    string // why it ended, as the server calls it
	Usage   providers.Usage
	Fault   *ServerError // an error in the place of the rest

	pieces []providers.Chunk // not yet passed on
	spoken bool              // there was text, thought or a call

	texts, thoughts Joiner
}

// Spoken reports whether any text, thought or call came.
func (r *Reply) Spoken() bool { return r.spoken }

// Text adds to the text.
func (r *Reply) Text(s string) {
	if s != "" {
		r.pieces, r.spoken = append(r.pieces, providers.Chunk{Text: s}), true
	}
}

// Thought adds to the thoughts.
func (r *Reply) Thought(s string) {
	if s != "" {
		r.pieces, r.spoken = append(r.pieces, providers.Chunk{Thought: s}), true
	}
}

// Call adds a call that the server parsed. args is a JSON value, or a string
// that holds one.
func (r *Reply) Call(name string, args json.RawMessage) {
	var text string
	if json.Unmarshal(args, &text) != nil {
		text = string(args)
	}
	r.CallText(name, text)
}

// CallText is Call with the text of a JSON value.
func (r *Reply) CallText(name, args string) {
	if name != "" {
		call := &providers.ServerCall{Name: name, Args: args}
		r.pieces, r.spoken = append(r.pieces, providers.Chunk{Call: call}), true
	}
}

// CallPart passes on that a piece of a call has come, whose whole follows.
func (r *Reply) CallPart(s string) {
	if s != "" {
		r.pieces = append(r.pieces, providers.Chunk{CallPart: s})
	}
}

// Fail notes the error in data, in mid-reply, which ends the reply. One that is neither
// text nor an object nor a list says nothing.
func (r *Reply) Fail(data []byte) {
	c, ok := ReadError(data)
	if !ok {
		c.Text = "the reply ended with an error"
	}
	r.Fault = &c
}

// takeFrom reads the reply in an error: Groq's about a call that nobody asked for has it, a call
// as JSON or as the model wrote it. In words it is Groq's own. Nothing else of an error is a
// reply, since errors repeat prompts, files and pages.
func (r *Reply) takeFrom(body []byte) bool {
	var e struct {
		Error struct {
			Code   string `json:"code"`
			Failed string `json:"failed_generation"`
		} `json:"error"`
	}
	if Decode(body, &e) != nil || e.Error.Code != "tool_use_failed" {
		return false
	}
	var call struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	switch written := strings.TrimSpace(e.Error.Failed); {
	case json.Unmarshal([]byte(written), &call) == nil && call.Name != "" &&
		bytes.HasPrefix(bytes.TrimPrefix(call.Arguments, []byte(`"`)), []byte("{")):
		r.Call(call.Name, call.Arguments)
	case (strings.HasPrefix(written, "<") || strings.Contains(written, "<function=")) && !r.spoken:
		r.Text(written)
	default:
		return false
	}
	r.Ended, r.Over, r.Stop = true, true, "stop"
	return true
}

// understood reports whether the body comes from a model's API.
func (r *Reply) understood() bool { return r.Known || r.spoken || r.Ended || r.Fault != nil }

// Present reports whether a field has a value: some servers write out empty
// ones, and "error": "" beside a reply.
func Present(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`, "{}", "[]":
		return false
	}
	return true
}

// beforeJSON is what may come before a JSON value without a meaning: white
// space and a byte order mark.
const beforeJSON = " \t\r\n\ufeff"

// Decode reads JSON after anything that may precede it.
func Decode(body []byte, v any) error { return json.Unmarshal(bytes.TrimLeft(body, beforeJSON), v) }

// firstOf splits several JSON values in one event. rest is nil if it is one, or none.
func firstOf(data []byte) (first, rest []byte) {
	d := json.NewDecoder(bytes.NewReader(data))
	var v json.RawMessage
	if d.Decode(&v) != nil {
		return nil, nil
	}
	rest = bytes.Trim(data[d.InputOffset():], beforeJSON)
	rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte("data:")), beforeJSON)
	if len(rest) == 0 {
		return nil, nil
	}
	return v, rest
}
