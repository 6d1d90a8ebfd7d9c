package serve

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mylm/providers"
	"mylm/providers/calling"
)

// responsesRequest is one of OpenAI's Responses.
type responsesRequest struct {
	Model        string          `json:"model"`
	Input        json.RawMessage `json:"input"`
	Instructions string          `json:"instructions"`
	Tools        json.RawMessage `json:"tools"`
	ToolChoice   json.RawMessage `json:"tool_choice"`
	Parallel     *bool           `json:"parallel_tool_calls"`
	MaxOutput    *integer        `json:"max_output_tokens"`
	Temperature  *float64        `json:"temperature"`
	TopP         *float64        `json:"top_p"`
	Metadata     json.RawMessage `json:"metadata"`
	Stream       bool            `json:"stream"`
	Include      []string        `json:"include"`
	TopLogprobs  int             `json:"top_logprobs"`

	Reasoning map[string]json.RawMessage `json:"reasoning"`
	Text      map[string]json.RawMessage `json:"text"`

	Previous     json.RawMessage `json:"previous_response_id"`
	Conversation json.RawMessage `json:"conversation"`
	Prompt       json.RawMessage `json:"prompt"`
	Background   bool            `json:"background"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Tools       []responsesTool `json:"tools"` // of a namespace
	Format      json.RawMessage `json:"format"`
}

// item is one of the input's.
type item struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Arguments arguments       `json:"arguments"`
	Input     string          `json:"input"`
	Output    json.RawMessage `json:"output"`
	Tools     []responsesTool `json:"tools"`
}

// wireTool is how a client knows a tool.
type wireTool struct {
	name, namespace string
	custom          bool // its input is free text
}

// fullName is the name under which the model is shown a tool.
func fullName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "__" + name
}

// reading turns a request into the common form.
type reading struct {
	q     *request
	tools map[string]wireTool
	find  func(id string) (item, bool)
	late  bool // the tools of the request have been read, and its input may replace them
}

func (in *responsesRequest) normalise(find func(id string) (item, bool)) (*request, map[string]wireTool, error) {
	for name, raw := range map[string]json.RawMessage{"previous_response_id": in.Previous, "conversation": in.Conversation, "prompt": in.Prompt} {
		if len(raw) > 0 && string(raw) != "null" {
			return nil, nil, unsupported(name, "it is not supported, as nothing is stored: send the whole input")
		}
	}
	switch {
	case in.Model == "":
		return nil, nil, invalid("model", "it is missing")
	case in.Background:
		return nil, nil, unsupported("background", "it is not supported")
	case in.TopLogprobs > 0:
		return nil, nil, unsupported("top_logprobs", "they are not supported")
	case slices.Contains(in.Include, "message.output_text.logprobs"):
		return nil, nil, unsupported("include", "%q is not supported", "message.output_text.logprobs")
	case in.MaxOutput != nil && *in.MaxOutput < 1:
		return nil, nil, invalid("max_output_tokens", "it must be at least 1")
	}
	var effort string
	if raw := in.Reasoning["effort"]; len(raw) > 0 && json.Unmarshal(raw, &effort) != nil { // null is none
		return nil, nil, invalid("reasoning.effort", "it is not a string")
	}
	r := &reading{q: &request{model: in.Model, stream: in.Stream}, tools: map[string]wireTool{}, find: find}
	r.q.Temperature, r.q.Think = in.Temperature, thinking(effort)
	if in.MaxOutput != nil {
		r.q.MaxTokens = int(*in.MaxOutput)
	}
	if in.Instructions != "" {
		r.q.Messages = append(r.q.Messages, calling.Message{Role: providers.System, Text: in.Instructions})
	}
	var tools []responsesTool
	if len(in.Tools) > 0 && json.Unmarshal(in.Tools, &tools) != nil {
		return nil, nil, invalid("tools", "it is not a list of tools")
	}
	if err := r.addTools("tools", tools, "", map[string]bool{}); err != nil {
		return nil, nil, err
	}
	r.late = true
	if err := r.addInput(in.Input); err != nil {
		return nil, nil, err
	}
	var err error
	if r.q.Choice, err = toolChoice(in.ToolChoice, r.q.Tools); err != nil {
		return nil, nil, err
	}
	if r.q.Choice.Mode == calling.Required && len(r.q.Tools) == 0 && len(tools) > 0 {
		return nil, nil, onlyHosted(types(tools))
	}
	var f *answerFormat
	if len(in.Text["format"]) > 0 && json.Unmarshal(in.Text["format"], &f) != nil {
		return nil, nil, invalid("text.format", "it is not an object with a type")
	}
	r.q.Format, err = f.read("text.format")
	return r.q, r.tools, err
}

// types are those of tools, of which none is a function; of a namespace, those in it.
func types(list []responsesTool) (all []string) {
	for _, t := range list {
		if in := types(t.Tools); len(in) > 0 {
			all = append(all, in...)
		} else {
			all = append(all, t.Type)
		}
	}
	return all
}

// addTools adds those that a client can run. All others are run by OpenAI's own servers,
// or only its models know them. Two of one name are an error, but an item of the input may
// replace a tool: own are the names that its list has, those in its namespaces included.
func (r *reading) addTools(where string, list []responsesTool, namespace string, own map[string]bool) error {
	for i, t := range list {
		at := fmt.Sprintf("%s[%d]", where, i)
		name := fullName(namespace, t.Name)
		tool := calling.Tool{Name: name, Description: t.Description, Schema: t.Parameters}
		switch t.Type {
		case "namespace":
			if err := r.addTools(at+".tools", t.Tools, t.Name, own); err != nil {
				return err
			}
			continue
		case "function":
		case "custom":
			tool = freeTool(name, t.Description, t.Format)
		default:
			continue
		}
		known, twice := r.tools[name]
		switch {
		case !twice:
			r.q.Tools = append(r.q.Tools, tool)
		case !r.late || own[name] || known.namespace != namespace:
			return invalid(at, "two tools are called %q", t.Name)
		default:
			r.q.Tools[slices.IndexFunc(r.q.Tools, func(o calling.Tool) bool { return o.Name == name })] = tool
		}
		r.tools[name], own[name] = wireTool{name: t.Name, namespace: namespace, custom: t.Type == "custom"}, true
	}
	return nil
}

func (r *reading) addInput(raw json.RawMessage) error {
	var text string
	var items []item
	switch {
	case json.Unmarshal(raw, &text) == nil && text != "":
		r.q.Messages = append(r.q.Messages, calling.Message{Role: providers.User, Text: text})
		return nil
	case json.Unmarshal(raw, &items) != nil || len(items) == 0:
		return invalid("input", "it is neither a text nor a list of items")
	}
	before := len(r.q.Messages)
	for i, it := range items {
		where := fmt.Sprintf("input[%d]", i)
		if it.Type == "item_reference" || it.Type == "" && it.Role == "" && it.ID != "" {
			known, ok := r.find(it.ID)
			if !ok {
				e := invalid(where, "no item %q is kept: send the item itself, with store false", it.ID)
				e.code = "item_not_found"
				return e
			}
			it = known
		}
		if err := r.addItem(where, it); err != nil {
			return err
		}
	}
	if len(r.q.Messages) == before {
		return invalid("input", "none of its items says anything to a model")
	}
	return nil
}

func (r *reading) addItem(where string, it item) error {
	switch it.Type {
	case "", "message":
		text, images, err := content(where+".content", it.Content)
		if err == nil {
			err = onlyShown(images, it.Role)
		}
		if err != nil {
			return err
		}
		switch it.Role {
		case "assistant":
			m := r.assistant(false)
			m.Text = strings.TrimLeft(m.Text+"\n"+text, "\n")
		case "developer", "system":
			r.q.Messages = append(r.q.Messages, calling.Message{Role: providers.System, Text: text})
		case "user":
			r.q.Messages = append(r.q.Messages, calling.Message{Role: providers.User, Text: text, Images: images})
		default:
			return invalid(where+".role", "unknown role %q", it.Role)
		}
	case "function_call", "custom_tool_call":
		if err := named(where, it.Name); err != nil {
			return err
		}
		m, args := r.assistant(true), json.RawMessage(it.Arguments)
		if it.Type == "custom_tool_call" {
			args = encode(freeInput{it.Input})
		}
		m.Calls = append(m.Calls, calling.Call{ID: it.CallID, Name: fullName(it.Namespace, it.Name), Args: args})
	case "function_call_output", "custom_tool_call_output":
		text, images, err := content(where+".output", it.Output)
		if err != nil {
			return err
		}
		r.q.Messages = append(r.q.Messages, calling.Message{Role: calling.Result, CallID: it.CallID, Text: text, Images: images, Where: where})
	case "additional_tools":
		return r.addTools(where+".tools", it.Tools, "", map[string]bool{})
	} // thoughts are left out of the next prompt, and items of hosted tools say nothing to another model
	return nil
}

// assistant is the message that an item of the model's belongs to: text and the calls
// behind it are one message.
func (r *reading) assistant(call bool) *calling.Message {
	if n := len(r.q.Messages); n == 0 || r.q.Messages[n-1].Role != providers.Assistant || !call && len(r.q.Messages[n-1].Calls) > 0 {
		r.q.Messages = append(r.q.Messages, calling.Message{Role: providers.Assistant})
	}
	return &r.q.Messages[len(r.q.Messages)-1]
}
