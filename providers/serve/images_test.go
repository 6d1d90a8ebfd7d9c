package serve_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	"image/png"
	"iter"
	"strings"
	"testing"

	"mylm/providers"
	"mylm/providers/serve"
)

// eye is a model that may see.
type eye struct {
	sees bool
	saw  []providers.Message
}

func (e *eye) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	if !e.sees && r.HasImages() {
		return func(yield func(providers.Chunk, error) bool) {
			yield(providers.Chunk{}, providers.CannotSee("eye", "it cannot see pictures"))
		}
	}
	e.saw = r.Messages
	return cutter{text: "A cat."}.Generate(ctx, r)
}

func (e *eye) Info(context.Context) (providers.Info, error) {
	if e.sees {
		return providers.Info{Sees: providers.Able}, nil
	}
	return providers.Info{Sees: providers.Unable}, nil
}

// Pictures in questions and in results reach a model that sees, and one that does not is
// an error that names them, as is a picture that would have to be fetched or is none.
func TestPictures(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	text := base64.StdEncoding.EncodeToString(b.Bytes())
	type part = object
	for _, tt := range []struct {
		name, path string
		body       func(picture string) object
		where      string
	}{
		{"openai", "/v1/chat/completions", func(p string) object {
			return object{"messages": []any{object{"role": "user", "content": []any{part{"type": "text", "text": "What?"}, part{"type": "image_url", "image_url": object{"url": p, "detail": "low"}}}}}}
		}, "messages[0].content[1]"},
		{"openai result", "/v1/chat/completions", func(p string) object {
			return object{"messages": []any{
				object{"role": "user", "content": "What?"}, object{"role": "assistant", "tool_calls": []any{object{"id": "1", "type": "function", "function": object{"name": "look", "arguments": "{}"}}}},
				object{"role": "tool", "tool_call_id": "1", "content": []any{part{"type": "image_url", "image_url": object{"url": p}}}}}}
		}, "messages[2].content[0]"},
		{"responses", "/v1/responses", func(p string) object {
			return object{"input": []any{object{"role": "user", "content": []any{part{"type": "input_text", "text": "What?"}, part{"type": "input_image", "image_url": p}}}}}
		}, "input[0].content[1]"},
		{"responses result", "/v1/responses", func(p string) object {
			return object{"input": []any{object{"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"},
				object{"type": "function_call_output", "call_id": "1", "output": []any{part{"type": "input_image", "image_url": p}}}}}
		}, "input[1].output[0]"},
		{"anthropic", "/v1/messages", func(p string) object {
			return object{"max_tokens": 100, "messages": []any{object{"role": "user", "content": []any{part{"type": "image", "source": source(p)}, part{"type": "text", "text": "What?"}}}}}
		}, "messages.0.content.0"},
		{"anthropic result", "/v1/messages", func(p string) object {
			return object{"max_tokens": 100, "messages": []any{object{"role": "assistant", "content": []any{part{"type": "tool_use", "id": "1", "name": "look", "input": object{}}}},
				object{"role": "user", "content": []any{part{"type": "tool_result", "tool_use_id": "1", "content": []any{part{"type": "image", "source": source(p)}}}}}}}
		}, "messages.1.content.0.content.0"},
		{"ollama", "/api/chat", func(p string) object {
			return object{"stream": false, "messages": []any{object{"role": "user", "content": "What?", "images": []any{strings.TrimPrefix(p, "data:image/png;base64,")}}}}
		}, "messages[0].images[0]"},
		{"generate", "/api/generate", func(p string) object {
			return object{"stream": false, "prompt": "What?", "images": []any{strings.TrimPrefix(p, "data:image/png;base64,")}}
		}, "images[0]"},
	} {
		ask := func(e *eye, picture string) (int, string) {
			body := tt.body(picture)
			body["model"] = "m"
			resp, text := post(t, start(t, e, serve.Options{}), tt.path, body)
			return resp.StatusCode, text
		}
		sees := &eye{sees: true}
		if code, reply := ask(sees, "data:image/png;base64,"+text); code != 200 || !strings.Contains(reply, "A cat.") {
			t.Errorf("%s: %d %s", tt.name, code, reply)
		} else if last := sees.saw[len(sees.saw)-1]; len(last.Images) != 1 || last.Images[0].Type != providers.ImagePNG || !bytes.Equal(last.Images[0].Data, b.Bytes()) {
			t.Errorf("%s: the model was shown %+v", tt.name, sees.saw)
		}
		for _, no := range []struct {
			sees    bool
			picture string
		}{{false, "data:image/png;base64," + text}, {true, "http://127.0.0.1/x.png"}, {true, "file:///etc/passwd"}, {true, "data:image/png;base64,%%%"}, {true, "data:image/png;base64,AAAA"}, {true, "data:image/png;base64," + text[:20]}} {
			if code, reply := ask(&eye{sees: no.sees}, no.picture); code != 400 || !strings.Contains(reply, tt.where) {
				t.Errorf("%s, %.30s: %d %s", tt.name, no.picture, code, reply)
			}
		}
	}
	if _, body := post(t, start(t, &eye{sees: true}, serve.Options{}), "/api/show", object{"model": "m"}); !strings.Contains(body, `"capabilities":["completion","tools","vision"]`) {
		t.Error(body)
	}
}

func source(p string) object {
	if data, ok := strings.CutPrefix(p, "data:image/png;base64,"); ok {
		return object{"type": "base64", "media_type": "image/png", "data": data}
	}
	return object{"type": "url", "url": p}
}
