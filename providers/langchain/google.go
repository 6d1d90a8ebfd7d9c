package langchain

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

// googleBackend speaks Gemini's own API. langchaingo's model for OpenAI carries
// it: the request is rewritten on its way out, and the reply is read here.
// langchaingo's backend for Google uses a client library
// that Google has deprecated, and would double the size of the program.
func googleBackend() backend {
	return backend{
		Provider: Provider{
			Name: "googleai", Title: "Google", BaseURL: "https://generativelanguage.googleapis.com/v1beta", NeedsKey: true,
			KeyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, BaseVars: []string{"GOOGLE_GEMINI_BASE_URL"},
			Streams: true, Lists: true,
		},
		open: openOpenAI,
		api: api{
			head:   headGoogle,
			body:   editGoogle,
			format: wire.Format{Reader: func() wire.Reader { return &googleReader{} }},
			think:  thinkGoogle,
		},
		list: lister{
			path: "/models?pageSize=1000", next: "pageToken",
			windows:   true,
			authorize: func(h http.Header, c Config) { h.Set(googleKey, c.Key) },
		},
		noEmpty: true,
		images:  ownImages, refusedImages: []string{providers.ImageGIF},
	}
}

const googleKey = "X-Goog-Api-Key"

// headGoogle turns to Gemini's address, and moves the key to its own header.
func headGoogle(req *http.Request, a asked) {
	kind, name, ok := strings.Cut(a.model, "/") // tunedModels/x
	if !ok {
		kind, name = "models", a.model
	}
	to, err := url.Parse(a.base + "/" + url.PathEscape(kind) + "/" + url.PathEscape(name) +
		":streamGenerateContent?alt=sse")
	if err != nil { // the base was checked, and the rest is escaped
		return
	}
	req.URL = to
	if key, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer "); ok {
		req.Header.Del("Authorization")
		req.Header.Set(googleKey, key)
	}
}

// editGoogle writes the request from what was asked.
func editGoogle(f fields, a asked) {
	f.keep()
	conversation := slices.DeleteFunc(oneSystem(a.Messages), func(m providers.Message) bool { return m.Text == "" && len(m.Images) == 0 })
	contents := make([]any, 0, len(conversation))
	for _, m := range conversation {
		var parts []any
		for _, img := range m.Images {
			parts = append(parts, map[string]any{"inlineData": map[string]any{"mimeType": img.Type, "data": img.Data}})
		}
		if m.Text != "" {
			parts = append(parts, map[string]string{"text": m.Text})
		}
		switch m.Role {
		case providers.System:
			f["systemInstruction"] = map[string]any{"parts": parts}
		case providers.Assistant:
			contents = append(contents, map[string]any{"role": "model", "parts": parts})
		default:
			contents = append(contents, map[string]any{"role": "user", "parts": parts})
		}
	}
	f["contents"] = contents
	config := fields{}
	config.sampling(a, "seed", "maxOutputTokens")
	config.thinking(a, thinkGoogle)
	if len(config) > 0 {
		f["generationConfig"] = config
	}
}

// thinkGoogle leaves it to the model how much it thinks: that is what a budget
// of -1 means.
func thinkGoogle(on bool, _ asked) map[string]any {
	if !on {
		return map[string]any{"thinkingConfig": map[string]any{"thinkingBudget": 0}}
	}
	return map[string]any{"thinkingConfig": map[string]any{"thinkingBudget": -1, "includeThoughts": true}}
}

// googleReader reads the replies of Gemini's API.
type googleReader struct{ called bool }

// googleReply is an event of a stream, or a reply in one piece.
type googleReply struct {
	Error      json.RawMessage `json:"error"`
	Candidates []struct {
		Index   int `json:"index"`
		Content struct {
			Parts []struct {
				Text    json.RawMessage `json:"text"`
				Thought wire.Flag       `json:"thought"`
				Call    struct {
					Name string          `json:"name"`
					Args json.RawMessage `json:"args"`
				} `json:"functionCall"`
			} `json:"parts"`
		} `json:"content"`
		FinishReason wire.EndReason `json:"finishReason"`
		Message      string         `json:"finishMessage"`
	} `json:"candidates"`
	Feedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage struct {
		Prompt   wire.Count `json:"promptTokenCount"`
		Output   wire.Count `json:"candidatesTokenCount"`
		Thoughts wire.Count `json:"thoughtsTokenCount"`
		Cached   wire.Count `json:"cachedContentTokenCount"`
	} `json:"usageMetadata"`
}

func (g *googleReader) Event(r *wire.Reply, data []byte) error {
	var e googleReply
	if err := json.Unmarshal(data, &e); err != nil {
		return wire.ErrGarbled
	}
	return g.read(&e, r, data)
}

// Whole reads one reply, or a stream that came as a list of events.
func (g *googleReader) Whole(r *wire.Reply, body []byte) error {
	var events []json.RawMessage
	if wire.Decode(body, &events) != nil {
		events = []json.RawMessage{body}
	}
	for _, data := range events {
		var e googleReply
		if err := wire.Decode(data, &e); err != nil {
			return wire.ErrGarbled
		}
		if err := g.read(&e, r, data); err != nil {
			return err
		}
	}
	return nil
}

// read notes the contents of e. More than one event may have a finish reason.
func (g *googleReader) read(e *googleReply, r *wire.Reply, data []byte) error {
	r.Known = r.Known || len(e.Candidates) > 0 || e.Usage.Prompt > 0
	e.count(&r.Usage)
	if wire.Present(e.Error) {
		r.Fail(data)
		return nil
	}
	if reason := e.Feedback.BlockReason; reason != "" {
		r.Fault = &wire.ServerError{Text: fmt.Sprintf("the prompt was blocked (%s)", reason), Names: " content_filter "}
		return nil
	}
	for _, c := range e.Candidates {
		if c.Index != 0 {
			continue
		}
		for _, p := range c.Content.Parts {
			if p.Thought {
				r.Thinking(p.Text)
				continue
			}
			if err := r.Content(p.Text); err != nil {
				return err
			}
			r.Call(p.Call.Name, p.Call.Args)
			g.called = g.called || p.Call.Name != ""
		}
		switch c.FinishReason {
		case "":
		case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL": // no tools were sent to it
			if g.called || quotedCall(r, c.Message) {
				r.Ended, r.Stop = true, "STOP"
				continue
			}
			words := fmt.Sprintf("the reply ended with %q: %s", c.FinishReason.Words(), c.Message)
			r.Fault = &wire.ServerError{Text: strings.TrimSuffix(words, ": "), Names: " "}
			return nil
		default:
			r.Ended, r.Stop = true, c.FinishReason.Words()
		}
	}
	return nil
}

// quotedCall adds the call in a message of Gemini's about one that it could not
// read: print(default_api.NAME(…)) and the like of Gemini 2, which may be cut, or
// call:default_api:NAME{…} of Gemini 3.
func quotedCall(r *wire.Reply, message string) bool {
	call, ok := strings.CutPrefix(message, "Malformed function call: ")
	if !ok {
		return false
	}
	if named, ok := strings.CutPrefix(call, "call:"); ok {
		name, args, object := strings.Cut(strings.TrimPrefix(named, "default_api:"), "{")
		if name = strings.TrimSpace(name); !object || name == "" {
			return false
		}
		r.CallText(name, "{"+args)
		return true
	}
	if strings.HasPrefix(call, "print(") || strings.HasPrefix(call, "default_api.") {
		r.Text("\n<tool_code>" + call + "</tool_code>") // the decoder reads Python in a block
		return true
	}
	return false
}

// count notes the usage so far, which each event repeats.
func (e *googleReply) count(u *providers.Usage) {
	if e.Usage.Prompt == 0 && e.Usage.Output == 0 {
		return
	}
	u.Prompt, u.Output = int(e.Usage.Prompt), int(e.Usage.Output+e.Usage.Thoughts)
	if e.Usage.Cached > 0 {
		u.Evaluated = max(0, u.Prompt-int(e.Usage.Cached))
	}
}
