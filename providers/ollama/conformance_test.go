package ollama_test

import (
	"fmt"
	"net/http"
	"testing"

	"mylm/providers"
	"mylm/providers/ollama"
	"mylm/providers/providerstest"
)

func TestConformance(t *testing.T) {
	providerstest.Run(t, providerstest.Backend{
		Open:     open,
		Thoughts: true,
		Usage:    true,
		Fails: []providers.Kind{providers.ModelMissing, providers.CannotChat, providers.Auth, providers.RateLimited,
			providers.Overflow, providers.BadRequest, providers.ServerFault, providers.Unreachable, providers.Interrupted},
		Breaks: []providers.Kind{providers.ServerFault, providers.Overflow, providers.Interrupted},
	})
}

// kinds is how a server fails in each way before it replies.
var kinds = map[providers.Kind]http.HandlerFunc{
	providers.ModelMissing: refuses(404, `{"error":"model 'm' not found"}`),
	providers.CannotChat:   refuses(400, `{"error":"\"m\" does not support chat"}`),
	providers.Auth:         refuses(401, `{"error":"unauthorized"}`),
	providers.RateLimited:  refuses(429, `{"error":"slow down"}`),
	providers.Overflow:     refuses(400, `{"error":"the input length exceeds the context length"}`),
	providers.BadRequest:   refuses(400, `{"error":"json: cannot unmarshal"}`),
	providers.ServerFault:  refuses(500, `{"error":"something happened"}`),
	providers.Unreachable:  refuses(404, `<html>nothing here</html>`),
	providers.Interrupted:  abort(func(http.ResponseWriter, *http.Request) {}),
}

// midLines is how it fails when it has begun.
var midLines = map[providers.Kind]http.HandlerFunc{
	providers.ServerFault: lines(`{"error":"an error was encountered while running the model: unexpected EOF"}`),
	providers.Overflow:    lines(`{"error":"{\"error\":{\"code\":400,\"message\":\"too long\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":9,\"n_ctx\":8}}"}`),
	providers.Interrupted: abort(lines()),
}

func open(t *testing.T, r providerstest.Reply) providerstest.Rig {
	var f *fake
	f = newFake(t, func(w http.ResponseWriter, req *http.Request) {
		if r.Fail != "" && len(r.Thought)+len(r.Text) == 0 {
			kinds[r.Fail](w, req)
			return
		}
		say(w, req, r)
		switch {
		case r.Hang:
			f.hang(req)
		case r.Fail != "":
			midLines[r.Fail](w, req)
		case !r.Cut:
			lines(end(r))(w, req)
		}
	})
	return providerstest.Rig{
		Model:    f.model(t, ollama.ModelOptions{}),
		Requests: func() []providers.Request { return translate(f.sent()) },
		Left:     f.leavers,
	}
}

func say(w http.ResponseWriter, req *http.Request, r providerstest.Reply) {
	for _, s := range r.Thought {
		lines(message("thinking", s))(w, req)
	}
	for _, s := range r.Text {
		lines(piece(s))(w, req)
	}
}

func end(r providerstest.Reply) string {
	stop := r.Stop
	if stop == "" {
		stop = providers.StopEnd
	}
	return fmt.Sprintf(`{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":%q,"prompt_eval_count":%d,"eval_count":%d}`,
		stop, r.Usage.Prompt, r.Usage.Output)
}

// translate reads requests back. What has no counterpart in a Request and is
// not always sent makes it one that no test expects.
func translate(sent []map[string]any) (out []providers.Request) {
	for _, m := range sent {
		var r providers.Request
		for _, x := range m["messages"].([]any) {
			x := x.(map[string]any)
			r.Messages = append(r.Messages, providers.Message{Role: providers.Role(x["role"].(string)), Text: x["content"].(string)})
		}
		for name, v := range m["options"].(map[string]any) {
			switch name {
			case "temperature":
				x := v.(float64)
				r.Temperature = &x
			case "seed":
				x := int(v.(float64))
				r.Seed = &x
			case "num_predict":
				r.MaxTokens = int(v.(float64))
			case "num_ctx":
			default:
				r.Messages = append(r.Messages, providers.Message{Role: "unexpected option", Text: name})
			}
		}
		for name := range m {
			switch name {
			case "model", "messages", "options", "truncate", "shift":
			default:
				r.Messages = append(r.Messages, providers.Message{Role: "unexpected field", Text: name})
			}
		}
		out = append(out, r)
	}
	return out
}
