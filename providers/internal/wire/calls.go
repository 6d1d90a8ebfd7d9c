package wire

import (
	"encoding/json"
	"errors"
	"strings"
)

// ErrOddCall is what a Reader returns for a call that the server took out of the
// text and wrote in an unknown form.
var ErrOddCall = errors.New("a tool call in an unknown form")

// ServerCalls is a field tool_calls: a list of calls, or of pieces of them. Some
// servers write one call in the place of a list of one, and an empty object or string in
// the place of none.
type ServerCalls []CallPiece

// CallPiece is a call, or a piece of one.
type CallPiece struct {
	Index string // "": none
	ID    string
	Name  string
	Args  json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *ServerCalls) UnmarshalJSON(data []byte) error {
	if *c = nil; !Present(data) {
		return nil
	}
	var list []json.RawMessage
	switch data[0] {
	case '{':
		list = []json.RawMessage{data}
	case '[':
		_ = json.Unmarshal(data, &list)
	default:
		switch word(data) {
		case "none", "auto", "null", "[]", "{}":
			return nil
		}
		return ErrOddCall
	}
	for _, each := range list {
		var outer struct {
			Index, ID Word
			Function  json.RawMessage
			callFields
		}
		if !Present(each) {
			continue
		}
		if json.Unmarshal(each, &outer) != nil {
			return ErrOddCall
		}
		fields := outer.callFields
		switch f := outer.Function; {
		case !Present(f):
		case f[0] == '"':
			fields.Name = word(f)
		case json.Unmarshal(f, &fields) != nil:
			return ErrOddCall
		}
		p := CallPiece{Index: string(outer.Index), ID: string(outer.ID), Name: string(fields.Name), Args: fields.Arguments}
		for _, other := range []json.RawMessage{fields.Parameters, fields.Input} {
			if other != nil && (p.Args == nil || string(p.Args) == "null") {
				p.Args = other
			}
		}
		if p.Name == "" && p.Index == "" && p.ID == "" && p.Args == nil {
			return ErrOddCall
		}
		*c = append(*c, p)
	}
	return nil
}

type callFields struct {
	Name                         Word
	Arguments, Parameters, Input json.RawMessage
}

// Word is a string that is written in any form: a number is its digits, and what
// has no words is "".
type Word string

// UnmarshalJSON implements json.Unmarshaler.
func (w *Word) UnmarshalJSON(data []byte) error {
	*w = word(data)
	return nil
}

func word(raw []byte) Word {
	var s string
	switch {
	case json.Unmarshal(raw, &s) == nil:
		return Word(s)
	case len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'):
		return Word(raw)
	}
	return ""
}

// EndReason is why a reply ended, in the words of the server.
type EndReason string

// Unnamed is a reason without words: the reply has ended, which is all that is known.
const Unnamed EndReason = "?"

// UnmarshalJSON implements json.Unmarshaler. Some servers write "null" until the
// reply ends.
func (r *EndReason) UnmarshalJSON(data []byte) error {
	*r = Unnamed
	switch w := word(data); {
	case !Present(data) || w == "0" || strings.EqualFold(string(w), "null") || strings.EqualFold(string(w), "none"):
		*r = ""
	case data[0] == '"':
		*r = EndReason(w)
	}
	return nil
}

// Words is the reason, "" if it has no words.
func (r EndReason) Words() string {
	if r == Unnamed {
		return ""
	}
	return string(r)
}

// Flag is a boolean. Some servers write it as a string or a number.
type Flag bool

// UnmarshalJSON implements json.Unmarshaler.
func (f *Flag) UnmarshalJSON(data []byte) error {
	w := strings.Trim(string(data), `"`)
	*f = Flag(strings.EqualFold(w, "true") || w == "1")
	return nil
}
