package serve

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"mylm/providers"
	"mylm/providers/calling"
)

// messagesRequest is one of Anthropic's Messages.
type messagesRequest struct {
	Model     string          `json:"model"`
	MaxTokens *integer        `json:"max_tokens"`
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
		Format *answerFormat `json:"format"`
	} `json:"output_config"`
	OutputFormat *answerFormat `json:"output_format"`

	Thread    json.RawMessage `json:"thread"`
	Container json.RawMessage `json:"container"`
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
	Title     string          `json:"title"`
	Source    source          `json:"source"`
}

// source is where the content of a block comes from. Of a search result it is a text.
type source struct {
	Type    string          `json:"type"`
	Data    string          `json:"data"`
	Content json.RawMessage `json:"content"`
	name    string
}

// UnmarshalJSON reads either.
func (s *source) UnmarshalJSON(b []byte) error {
	type plain source
	if b[0] == '"' {
		return json.Unmarshal(b, &s.name)
	}
	return json.Unmarshal(b, (*plain)(s))
}

// plain is the text and the pictures of a block that holds nothing else.
func (b *contentBlock) plain(where string) (text string, images []providers.Image, err error) {
	switch {
	case b.Type == "text":
		return b.Text, nil, nil
	case b.Type == "image":
		images, err = b.image(nil, where)
		return "", images, err
	case b.Type == "document" && b.Source.Type == "text":
		return b.Source.Data, nil, nil
	case b.Type == "document" && b.Source.Type == "content":
		return blockText(where+".source.content", b.Source.Content, b.Type)
	case b.Type == "search_result":
		text, images, err = blockText(where+".content", b.Content, b.Type)
		return strings.Join([]string{b.Title, b.Source.name, text}, "\n"), images, err
	}
	return "", nil, unsupported(where, "blocks of type %q are not supported here, only text and pictures", b.Type)
}

// ranElsewhere reports whether a block is a call that Anthropic's servers ran, or its
// result: it says nothing to another model.
func (b *contentBlock) ranElsewhere() bool {
	return b.Type == "server_tool_use" || b.Type == "mcp_tool_use" || strings.HasSuffix(b.Type, "_tool_result")
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
		q.MaxTokens = int(*in.MaxTokens)
	}
	q.Temperature, q.Stop = in.Temperature, slices.DeleteFunc(slices.Clone(in.StopSequences), func(s string) bool { return s == "" })
	if in.Thinking.Type == "disabled" {
		q.Think = providers.ThinkOff
	}
	system, images, err := blockText("system", in.System, "")
	if err == nil {
		err = onlyShown(images, "system")
	}
	if err != nil {
		return nil, err
	}
	if system = unbilled(system); system != "" {
		q.Messages = append(q.Messages, calling.Message{Role: providers.System, Text: system})
	}
	before := len(q.Messages)
	for i, m := range in.Messages {
		if err := q.addBlocks(fmt.Sprintf("messages.%d", i), m.Role, m.Content); err != nil {
			return nil, err
		}
	}
	if len(q.Messages) == before {
		return nil, invalid("messages", "none of them has content")
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
		if q.Choice.Mode = calling.Required; len(q.Tools) == 0 && len(in.Tools) > 0 {
			return nil, onlyHosted(slices.Collect(maps.Values(hosted)))
		}
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
	if q.Format, err = in.OutputConfig.Format.read("output_config.format"); err == nil && in.OutputFormat != nil {
		if in.OutputConfig.Format != nil {
			return nil, invalid("output_format", "there is an output_config.format, too")
		}
		q.Format, err = in.OutputFormat.read("output_format")
	}
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
		case slices.Contains(thoughtTypes, b.Type), b.ranElsewhere(): // left out of the next prompt
		case b.Type == "tool_use" && role == "assistant":
			if err := named(at, b.Name); err != nil {
				return err
			}
			m.Calls = append(m.Calls, calling.Call{ID: b.ID, Name: b.Name, Args: b.Input})
		case b.Type == "tool_result":
			text, images, err := blockText(at+".content", b.Content, "")
			if err != nil {
				return err
			}
			q.Messages = append(q.Messages, calling.Message{Role: calling.Result, CallID: b.ToolUseID, Text: text, Images: images, Failed: b.IsError, Where: at})
		default:
			text, images, err := b.plain(at)
			if err == nil {
				err = onlyShown(images, role)
			}
			if err != nil {
				return err
			}
			if b.Type != "image" {
				texts = append(texts, text)
			}
			m.Images = append(m.Images, images...)
		}
	}
	m.Text = strings.Join(texts, "\n")
	if m.Text != "" || len(m.Calls)+len(m.Images) > 0 {
		q.Messages = append(q.Messages, m)
	}
	return nil
}

// billing begins a block of the system prompt that changes with every request and says
// nothing to a model. With it no cache would ever find the prompt again.
const billing = "x-anthropic-billing-header:"

// unbilled is a text of a system prompt without such a line at its beginning.
func unbilled(text string) string {
	if !strings.HasPrefix(strings.TrimSpace(text), billing) {
		return text
	}
	_, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return rest
}

// blockText is the text and the pictures of a content that holds nothing else. within is
// the type of the block that it is the content of, if that may not hold blocks that hold
// others: each level would decode the rest again.
func blockText(where string, raw json.RawMessage, within string) (text string, images []providers.Image, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil, nil
	}
	if json.Unmarshal(raw, &text) == nil {
		return text, nil, nil
	}
	var blocks []contentBlock
	if json.Unmarshal(raw, &blocks) != nil {
		return "", nil, invalid(where, "it is neither a string nor a list of blocks")
	}
	var texts []string
	for i, b := range blocks {
		at := fmt.Sprintf("%s.%d", where, i)
		if within != "" && b.Type != "text" && b.Type != "image" {
			return "", nil, unsupported(at, "blocks of type %q are not supported in one of type %q, only text and pictures", b.Type, within)
		}
		if b.Type == "tool_reference" { // of a search for tools
			continue
		}
		text, shown, err := b.plain(at)
		if err != nil {
			return "", nil, err
		}
		if b.Type != "image" {
			texts = append(texts, text)
		}
		images = append(images, shown...)
	}
	return strings.Join(texts, "\n"), images, nil
}

// image adds the picture of a block.
func (b *contentBlock) image(images []providers.Image, where string) ([]providers.Image, error) {
	if b.Source.Type != "base64" {
		return nil, unsupported(where, "pictures of the type %q are not supported, only base64", b.Source.Type)
	}
	return addImage(images, where, calling.Base64, b.Source.Data)
}
