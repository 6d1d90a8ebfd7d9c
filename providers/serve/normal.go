package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mylm/providers"
	"mylm/providers/calling"
)

// list is the models that clients may name. Ollama's tag ":latest" is left out, as its
// own clients do.
func (h *Handler) list(ctx context.Context) ([]providers.ModelInfo, error) {
	if h.opts.Models == nil {
		return nil, nil
	}
	list, err := h.opts.Models(ctx)
	list = slices.Clone(list)
	for i := range list {
		list[i].Name = strings.TrimSuffix(list[i].Name, ":latest")
	}
	return list, err
}

// textTypes are the parts of contents that are text, in the APIs of OpenAI.
var textTypes = []string{"text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal"}

// thoughtTypes are the parts that are thoughts, as clients of several APIs keep them. They are
// left out of the next prompt.
var thoughtTypes = []string{"thinking", "redacted_thinking", "reasoning"}

// content is the text and the pictures of a content that is a string, null or a list of
// parts.
func content(where string, raw json.RawMessage) (text string, images []providers.Image, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil, nil
	}
	if json.Unmarshal(raw, &text) == nil {
		return text, nil, nil
	}
	var parts []struct {
		Type    string   `json:"type"`
		Text    string   `json:"text"`
		Refusal string   `json:"refusal"`
		Image   imageURL `json:"image_url"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", nil, invalid(where, "it is neither a string nor a list of parts")
	}
	texts := make([]string, 0, len(parts))
	for i, p := range parts {
		at := fmt.Sprintf("%s[%d]", where, i)
		switch {
		case slices.Contains(textTypes, p.Type):
			texts = append(texts, p.Text+p.Refusal)
		case slices.Contains(thoughtTypes, p.Type):
		case (p.Type == "image_url" || p.Type == "input_image") && p.Image != "":
			if images, err = addImage(images, at, calling.DataURL, string(p.Image)); err != nil {
				return "", nil, err
			}
		default:
			return "", nil, unsupported(at, "parts of type %q are not supported, only text and pictures in data: URLs", p.Type)
		}
	}
	return strings.Join(texts, "\n"), images, nil
}

// imageURL is where a picture is: in Chat Completions an object says it, in Responses a
// string.
type imageURL string

// UnmarshalJSON reads either. What is neither is no picture.
func (u *imageURL) UnmarshalJSON(b []byte) error {
	var o struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(b, (*string)(u)) != nil && json.Unmarshal(b, &o) == nil {
		*u = imageURL(o.URL)
	}
	return nil
}

// addImage adds a picture of a request, which an error calls where it is.
func addImage(images []providers.Image, where string, decode func(string) ([]byte, error), text string) ([]providers.Image, error) {
	data, err := decode(text)
	var img providers.Image
	if err == nil {
		img, err = providers.NewImage(where, data)
	}
	if err != nil {
		return nil, invalid(where, "%v", err)
	}
	return append(images, img), nil
}

// arguments are those of a call, which are a text in the APIs of OpenAI. Some clients send
// the object itself.
type arguments string

// UnmarshalJSON reads either.
func (a *arguments) UnmarshalJSON(b []byte) error {
	if b[0] == '{' {
		*a = arguments(b)
		return nil
	}
	return json.Unmarshal(b, (*string)(a))
}

// integer is one that programs whose language has one type of numbers write as 50.0.
type integer int

// UnmarshalJSON reads either.
func (n *integer) UnmarshalJSON(b []byte) error {
	err := json.Unmarshal(b, (*int)(n))
	var f float64
	if err != nil && json.Unmarshal(b, &f) == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		*n, err = integer(f), nil
	}
	return err
}

// named refuses a call of the history that names no tool.
func named(where, name string) error {
	if strings.TrimSpace(name) == "" {
		return invalid(where, "it is a call without the name of a tool")
	}
	return nil
}

// onlyShown refuses pictures of who has none to show.
func onlyShown(images []providers.Image, role string) error {
	if len(images) == 0 || role == "user" || role == "tool" {
		return nil
	}
	return unsupported(images[0].Name, "a message of the role %q cannot have pictures", role)
}

// toolChoice reads the tool_choice of OpenAI's APIs.
func toolChoice(raw json.RawMessage, tools []calling.Tool) (calling.Choice, error) {
	var c calling.Choice
	if len(raw) == 0 || string(raw) == "null" {
		return c, nil
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		switch word {
		case "auto":
		case "none":
			c.Mode = calling.None
		case "required", "any":
			c.Mode = calling.Required
		default:
			return c, invalid("tool_choice", "%q is none of auto, none and required", word)
		}
		return c, nil
	}
	type named struct {
		Type     string `json:"type"`
		Name     string `json:"name"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
		Custom struct {
			Name string `json:"name"`
		} `json:"custom"`
	}
	type allowed struct {
		Mode  string  `json:"mode"`
		Tools []named `json:"tools"`
	}
	var o struct {
		named
		allowed
		Allowed allowed `json:"allowed_tools"`
	}
	if json.Unmarshal(raw, &o) != nil {
		return c, invalid("tool_choice", "it is neither a word nor an object")
	}
	only := []named{o.named}
	switch o.Type {
	case "allowed_tools":
		set := o.allowed
		if len(o.Allowed.Tools) > 0 {
			set = o.Allowed
		}
		only = slices.DeleteFunc(set.Tools, func(n named) bool { return !slices.Contains([]string{"function", "custom", ""}, n.Type) }) // run elsewhere
		switch {
		case set.Mode == "required" && len(only) == 0:
			return c, unsupported("tool_choice", "none of the tools that it allows is a function")
		case set.Mode == "required":
			c.Mode = calling.Required
		case len(only) == 0:
			c.Mode = calling.None
		}
	case "function", "custom", "tool", "":
		c.Mode = calling.Required
	default:
		return c, unsupported("tool_choice", "%q is not supported", o.Type)
	}
	for _, n := range only {
		name := n.Name + n.Function.Name + n.Custom.Name
		if !slices.ContainsFunc(tools, func(t calling.Tool) bool { return t.Name == name }) {
			return c, invalid("tool_choice", "it names %q, which is none of the tools", name)
		}
		c.Only = append(c.Only, name)
	}
	return c, nil
}

// onlyHosted is the error for a call that is required where an API's own servers run all
// tools.
func onlyHosted(types []string) error {
	slices.Sort(types)
	types = slices.Compact(types)
	for i, t := range types {
		types[i] = strconv.Quote(t)
	}
	return unsupported("tool_choice", "tools of type %s are not supported", strings.Join(types, ", "))
}

func stopSequences(where string, raw json.RawMessage) (stop []string, err error) {
	var one string
	switch {
	case len(raw) == 0 || string(raw) == "null":
	case json.Unmarshal(raw, &one) == nil:
		stop = []string{one}
	case json.Unmarshal(raw, &stop) != nil:
		return nil, invalid(where, "it is neither a string nor a list of strings")
	}
	return slices.DeleteFunc(stop, func(s string) bool { return s == "" }), nil
}

// answerFormat is what an answer has to be. Its schema is at either place.
type answerFormat struct {
	Type       string          `json:"type"`
	Schema     json.RawMessage `json:"schema"`
	JSONSchema struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

// read returns the JSON Schema that an answer has to fit; nil: any text.
func (a *answerFormat) read(where string) (*calling.Format, error) {
	if a == nil {
		return nil, nil
	}
	schema, _ := given(a.Schema, given(a.JSONSchema.Schema, nil)).(json.RawMessage)
	switch a.Type {
	case "text":
		return nil, nil
	case "":
		return nil, invalid(where, "it has no type")
	case "json_object":
		schema = json.RawMessage(`{"type":"object"}`)
	case "json_schema":
		if len(schema) == 0 {
			return nil, invalid(where, "it has no schema")
		}
	default:
		return nil, unsupported(where, "type %q is not supported", a.Type)
	}
	f, err := calling.ForeignFormat(schema)
	if err != nil {
		return nil, invalid(where, "%v", err)
	}
	return f, nil
}

// thinking is what an effort of reasoning says. Any but none leaves it to the model.
func thinking(effort string) providers.Thinking {
	if effort == "none" {
		return providers.ThinkOff
	}
	return providers.ThinkAuto
}

// freeInput is the arguments of a tool whose input is free text.
type freeInput struct {
	Input string `json:"input"`
}

// freeTool is such a tool, as the model is shown it.
func freeTool(name, description string, format json.RawMessage) calling.Tool {
	var grammar struct {
		Type       string `json:"type"`
		Syntax     string `json:"syntax"`
		Definition string `json:"definition"`
		Grammar    *struct {
			Syntax     string `json:"syntax"`
			Definition string `json:"definition"`
		} `json:"grammar"`
	}
	_ = json.Unmarshal(format, &grammar)
	if g := grammar.Grammar; g != nil {
		grammar.Syntax, grammar.Definition = g.Syntax, g.Definition
	}
	if grammar.Definition != "" {
		description = fmt.Sprintf("%s\nThe input follows this %s grammar:\n%s", description, grammar.Syntax, grammar.Definition)
	}
	return calling.Tool{
		Name: name, Description: strings.TrimSpace(description),
		Schema: json.RawMessage(`{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`),
	}
}

func freeText(args json.RawMessage) string {
	var in freeInput
	_ = json.Unmarshal(args, &in) // it was fitted
	return in.Input
}

// cached is how many tokens of the prompt the backend had read before.
func cached(u providers.Usage) int {
	if u.Evaluated == 0 || u.Evaluated > u.Prompt {
		return 0
	}
	return u.Prompt - u.Evaluated
}

// pieceBytes is how much of a call's arguments is sent at once: as the models of the APIs
// send them, so that clients that show them have something to show. Chat Completions sends whole
// calls, as Ollama and Mistral do: clients of the latter want the name in each chunk. Only more
// than lineBytes, which are twice as many in a string, might be too much for a reader of lines.
const (
	pieceBytes = 256
	lineBytes  = 24 << 10
)

// pieces cuts a text in pieces of about size bytes, never inside a character.
func pieces(s string, size int) (all []string) {
	for len(s) > size {
		n := size
		for n < len(s) && s[n]&0xC0 == 0x80 {
			n++
		}
		all, s = append(all, s[:n]), s[n:]
	}
	return append(all, s)
}

// infoPatience is how long a backend may take to tell about a model.
const infoPatience = 3 * time.Second

// info is what is known of a model that a client names.
func (h *Handler) info(ctx context.Context, name string) (providers.ModelInfo, error) {
	model, err := h.opts.Open(ctx, name)
	if err != nil {
		return providers.ModelInfo{}, err
	}
	list, _ := h.list(ctx) // what cannot be listed may still be asked
	out := providers.ModelInfo{Name: name}
	for _, m := range list {
		if m.Name == strings.TrimSuffix(name, ":latest") {
			out = m
		}
	}
	if informer, ok := model.Model.(providers.Informer); ok {
		ctx, cancel := context.WithTimeout(ctx, infoPatience)
		defer cancel()
		switch info, err := informer.Info(ctx); {
		case err == nil:
			out.Info = info
		case providers.KindOf(err) == providers.ModelMissing:
			return out, err
		}
	}
	return out, nil
}
