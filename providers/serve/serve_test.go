package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"mylm/protocol"
	"mylm/providers"
	"mylm/providers/calling"
	"mylm/providers/serve"
)

// fake is a model whose reply depends on the last message. It may be used by several
// goroutines at once.
type fake struct {
	reply   func(last string, attempt int) (text string, stop providers.StopReason, err error)
	started chan struct{}

	once     sync.Once
	mu       sync.Mutex
	attempts map[string]int
	running  int
	prompts  []string
}

func (f *fake) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		var all strings.Builder
		for _, m := range r.Messages {
			fmt.Fprintf(&all, "%s: %s\n", m.Role, m.Text)
		}
		last := r.Messages[len(r.Messages)-1].Text
		f.mu.Lock()
		if f.attempts == nil {
			f.attempts = map[string]int{}
		}
		attempt := len(f.prompts)
		f.prompts = append(f.prompts, all.String())
		f.running++
		f.mu.Unlock()
		defer func() {
			f.mu.Lock()
			f.running--
			f.mu.Unlock()
		}()
		text, stop, err := f.reply(last, attempt)
		if text == "hang" {
			f.once.Do(func() { close(f.started) })
			<-ctx.Done()
			yield(providers.Chunk{}, ctx.Err())
			return
		}
		for len(text) > 0 {
			n := min(len(text), 5)
			if !yield(providers.Chunk{Text: text[:n]}, nil) {
				return
			}
			text = text[n:]
		}
		if err == errPanic {
			panic("secret")
		}
		if err != nil {
			yield(providers.Chunk{}, err)
			return
		}
		yield(providers.Chunk{Stop: stop, Usage: providers.Usage{Prompt: 20, Output: 7, Evaluated: 5}}, nil)
	}
}

// count is how often it was asked.
func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.prompts)
}

// errPanic makes the model panic.
var errPanic = errors.New("panic")

// says is a model that says one thing.
func says(text string) *fake {
	return &fake{reply: func(string, int) (string, providers.StopReason, error) { return text, providers.StopEnd, nil }}
}

// fails is a model that begins with a text, and fails.
func fails(text string, err error) *fake {
	return &fake{reply: func(string, int) (string, providers.StopReason, error) { return text, "", err }}
}

func start(t *testing.T, m providers.Model, o serve.Options) *httptest.Server {
	t.Helper()
	model := &calling.Model{Model: m}
	o.Open = func(_ context.Context, name string) (*calling.Model, error) {
		if name == "none" {
			return nil, &providers.Error{Kind: providers.ModelMissing, Message: "there is no such model"}
		}
		return model, nil
	}
	o.Models = func(context.Context) ([]providers.ModelInfo, error) {
		return []providers.ModelInfo{{Name: "m:latest"}}, nil
	}
	s := httptest.NewServer(serve.New(o))
	t.Cleanup(s.Close)
	return s
}

// post sends a request, with headers in pairs, and returns the status and the body.
func post(t *testing.T, s *httptest.Server, path string, body any, headers ...string) (*http.Response, string) {
	t.Helper()
	text, ok := body.(string)
	if !ok {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	return do(t, s, r, headers)
}

func do(t *testing.T, s *httptest.Server, r *http.Request, headers []string) (*http.Response, string) {
	t.Helper()
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := io.Copy(&b, resp.Body); err != nil {
		return resp, b.String() + "\n" + err.Error()
	}
	return resp, b.String()
}

type object = map[string]any

// surface is one API, as a client of it makes requests and puts replies together.
type surface struct {
	name, path string
	request    func(stream bool, question string, more object) object
	whole      func(body object) reply
	streamed   func(t *testing.T, body string) reply
	message    func(body object) string // of an error
}

// reply is what a client gets from any of them.
type reply struct{ text, thought, calls, stop string }

var parameters = object{"type": "object", "properties": object{"city": object{"type": "string"}}, "required": []string{"city"}}

func str(v any, path ...any) string {
	for _, p := range path {
		switch k := p.(type) {
		case string:
			m, _ := v.(object)
			v = m[k]
		case int:
			l, _ := v.([]any)
			if k >= len(l) {
				return ""
			}
			v = l[k]
		}
	}
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		b, _ := json.Marshal(v)
		return string(b)
	}
}

func list(v any, key string) []any {
	m, _ := v.(object)
	l, _ := m[key].([]any)
	return l
}

// events are those of a stream of server-sent events.
func events(t *testing.T, body string) (all []object) {
	t.Helper()
	for _, part := range strings.Split(strings.TrimSpace(body), "\n\n") {
		name, data, _ := strings.Cut(part, "data: ")
		if data == "[DONE]" {
			continue
		}
		var v object
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			t.Fatalf("%v in %q", err, part)
		}
		if name != "" && name != "event: "+str(v, "type")+"\n" {
			t.Errorf("the event %q has the type %s", name, str(v, "type"))
		}
		all = append(all, v)
	}
	return all
}

func withTool(o object, tool object, more object) object {
	if _, offered := more["tools"]; !offered {
		o["tools"] = []any{tool}
	}
	for k, v := range more {
		o[k] = v
	}
	return o
}

var surfaces = []surface{
	{
		"openai", "/v1/chat/completions",
		func(stream bool, question string, more object) object {
			return withTool(object{"model": "m", "stream": stream, "messages": []any{object{"role": "user", "content": question}}},
				object{"type": "function", "function": object{"name": "get_weather", "parameters": parameters}}, more)
		},
		func(body object) (r reply) {
			c := body["choices"].([]any)[0]
			r = reply{str(c, "message", "content"), str(c, "message", "reasoning_content"), "", str(c, "finish_reason")}
			for _, call := range list(c.(object)["message"], "tool_calls") {
				r.calls += str(call, "function", "name") + str(call, "function", "arguments")
			}
			return r
		},
		func(t *testing.T, body string) (r reply) {
			if !strings.HasSuffix(body, "data: [DONE]\n\n") {
				t.Errorf("the stream ends in %.50q", body[max(0, len(body)-50):])
			}
			for i, e := range events(t, body) {
				c := e["choices"].([]any)[0]
				if role := str(c, "delta", "role"); (role == "assistant") != (i == 0) {
					t.Errorf("role %q in chunk %d", role, i)
				}
				r.text += str(c, "delta", "content")
				r.thought += str(c, "delta", "reasoning_content")
				r.stop += str(c, "finish_reason")
				for _, call := range list(c.(object)["delta"], "tool_calls") {
					if str(call, "index") != "0" {
						t.Errorf("index %s", str(call, "index"))
					}
					r.calls += str(call, "function", "name") + str(call, "function", "arguments")
				}
			}
			return r
		},
		func(body object) string { return str(body, "error", "message") },
	},
	{
		"responses", "/v1/responses",
		func(stream bool, question string, more object) object {
			return withTool(object{"model": "m", "stream": stream, "input": question}, object{"type": "function", "name": "get_weather", "parameters": parameters}, more)
		},
		wholeResponse,
		func(t *testing.T, body string) reply {
			all, text, args := events(t, body), "", ""
			for i, e := range all {
				if str(e, "sequence_number") != fmt.Sprint(i) {
					t.Errorf("event %d has the number %s", i, str(e, "sequence_number"))
				}
				switch e["type"] {
				case "response.output_text.delta":
					text += str(e, "delta")
				case "response.function_call_arguments.delta":
					args += str(e, "delta")
				}
			}
			r := wholeResponse(all[len(all)-1]["response"].(object))
			if text != r.text || !strings.HasSuffix(r.calls, args) {
				t.Errorf("the deltas are %q and %q, the items %v", text, args, r)
			}
			return r
		},
		func(body object) string { return str(body, "error", "message") },
	},
	{
		"anthropic", "/v1/messages",
		func(stream bool, question string, more object) object {
			return withTool(object{"model": "m", "max_tokens": 1000, "stream": stream, "messages": []any{object{"role": "user", "content": question}}},
				object{"name": "get_weather", "input_schema": parameters}, more)
		},
		func(body object) (r reply) {
			r.stop = str(body, "stop_reason")
			for _, b := range list(body, "content") {
				r.text, r.thought = r.text+str(b, "text"), r.thought+str(b, "thinking")
				if name := str(b, "name"); name != "" {
					r.calls += name + str(b, "input")
				}
			}
			return r
		},
		func(t *testing.T, body string) (r reply) {
			open := -1
			for _, e := range events(t, body) {
				switch index := str(e, "index"); e["type"] {
				case "content_block_start":
					open++
					if index != fmt.Sprint(open) {
						t.Errorf("block %s after %d", index, open-1)
					}
					r.calls += str(e, "content_block", "name")
				case "content_block_delta":
					r.text += str(e, "delta", "text")
					r.thought += str(e, "delta", "thinking")
					r.calls += str(e, "delta", "partial_json")
				case "message_delta":
					r.stop = str(e, "delta", "stop_reason")
				}
			}
			return r
		},
		func(body object) string { return str(body, "error", "message") },
	},
	{
		"ollama", "/api/chat",
		func(stream bool, question string, more object) object {
			return withTool(object{"model": "m", "stream": stream, "messages": []any{object{"role": "user", "content": question}}},
				object{"type": "function", "function": object{"name": "get_weather", "parameters": parameters}}, more)
		},
		wholeOllama,
		func(t *testing.T, body string) (r reply) {
			for line := range strings.Lines(body) {
				var v object
				if err := json.Unmarshal([]byte(line), &v); err != nil {
					t.Fatal(err)
				}
				one := wholeOllama(v)
				r = reply{r.text + one.text, r.thought + one.thought, r.calls + one.calls, r.stop + one.stop}
			}
			return r
		},
		func(body object) string { return str(body, "error") },
	},
}

func wholeOllama(v object) (r reply) {
	r = reply{str(v, "message", "content"), str(v, "message", "thinking"), "", str(v, "done_reason")}
	for _, call := range list(v["message"], "tool_calls") {
		r.calls += str(call, "function", "name") + str(call, "function", "arguments")
	}
	return r
}

func wholeResponse(body object) (r reply) {
	r.stop = str(body, "status")
	for _, o := range list(body, "output") {
		switch str(o, "type") {
		case "message":
			r.text += str(o, "content", 0, "text")
		case "reasoning":
			r.thought += str(o, "summary", 0, "text")
		case "function_call":
			r.calls += str(o, "name") + str(o, "arguments")
		}
	}
	return r
}

// Each surface gives what the model says in its own form, streamed as whole.
func TestSurfaces(t *testing.T) {
	call := protocol.EncodeCall("get_weather", json.RawMessage(`{"city":"Zürich <b> \"HB\""}`))
	broken := strings.Replace(call, `"city"`, `city so, "x"`, 1)
	for _, tt := range []struct {
		name  string
		model func() *fake
		want  reply
		stops [4]string // of the surfaces
	}{
		{"an answer", func() *fake { return says("<think>hm</think>\nHello, a < b & ünïcödé 漢字.") }, reply{"Hello, a < b & ünïcödé 漢字.", "hm", "", ""}, [4]string{"stop", "completed", "end_turn", "stop"}},
		{"a call", func() *fake { return says("I look.\n" + call) }, reply{"I look.", "", `get_weather{"city":"Zürich <b> \"HB\""}`, ""}, [4]string{"tool_calls", "completed", "tool_use", "stop"}},
		{"a call alone", func() *fake { return says(call) }, reply{"", "", `get_weather{"city":"Zürich <b> \"HB\""}`, ""}, [4]string{"tool_calls", "completed", "tool_use", "stop"}},
		{"a corrected call", func() *fake {
			return &fake{reply: func(_ string, n int) (string, providers.StopReason, error) {
				return []string{"I look.\n" + broken, "Sorry.\n" + call}[n], providers.StopEnd, nil
			}}
		}, reply{"I look.", "", `get_weather{"city":"Zürich <b> \"HB\""}`, ""}, [4]string{"tool_calls", "completed", "tool_use", "stop"}},
		{"length", func() *fake {
			return &fake{reply: func(string, int) (string, providers.StopReason, error) { return "and so", providers.StopLength, nil }}
		}, reply{"and so", "", "", ""}, [4]string{"length", "incomplete", "max_tokens", "length"}},
	} {
		for i, s := range surfaces {
			t.Run(tt.name+"/"+s.name, func(t *testing.T) {
				want := tt.want
				want.stop = tt.stops[i]
				server := start(t, tt.model(), serve.Options{})
				resp, body := post(t, server, s.path, s.request(false, "hello", nil))
				var v object
				if err := json.Unmarshal([]byte(body), &v); err != nil || resp.StatusCode != 200 {
					t.Fatal(resp.StatusCode, err, body)
				}
				if got := s.whole(v); normal(got) != normal(want) {
					t.Errorf("whole %q, want %q", got, want)
				}
				server = start(t, tt.model(), serve.Options{})
				resp, body = post(t, server, s.path, s.request(true, "hello", nil))
				if got := s.streamed(t, body); resp.StatusCode != 200 || normal(got) != normal(want) {
					t.Errorf("streamed %d %q, want %q\n%s", resp.StatusCode, got, want, body)
				}
			})
		}
	}
}

// normal is a reply with its arguments in one spelling.
func normal(r reply) reply {
	if name, args, ok := strings.Cut(r.calls, "{"); ok {
		var v any
		if json.Unmarshal([]byte("{"+args), &v) == nil {
			b, _ := json.Marshal(v)
			r.calls = name + string(b)
		}
	}
	return r
}

// A backend's failure is an error in each API's form, with the status that its clients
// act on, and never the end of a reply.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		err    error
		status int
		has    string
	}{
		{&providers.Error{Kind: providers.RateLimited, Message: "slow down", RetryAfter: 1500 * time.Millisecond}, 429, "slow down"},
		{&providers.Error{Kind: providers.Overflow, Message: "too long", PromptTokens: 9000, Window: 4096}, 400, ""},
		{&providers.Error{Kind: providers.Auth, Message: "the key sk-secret is wrong"}, 502, "key"},
		{&providers.Error{Kind: providers.ModelMissing, Message: "no such model"}, 404, "m"},
		{&providers.Error{Kind: providers.Unreachable, Message: "refused"}, 502, "refused"},
		{&providers.Error{Kind: providers.ServerFault, Message: "died"}, 502, "died"},
		{&providers.Error{Kind: providers.ServerFault, Message: "loading", Busy: true}, 503, "loading"},
		{&providers.Error{Kind: providers.Interrupted, Message: "broke off"}, 502, "broke off"},
		{&providers.Error{Kind: providers.Stalled, Message: "silent"}, 504, "silent"},
		{&providers.Error{Kind: providers.OutOfMemory, Message: "too small"}, 503, "too small"},
		{&providers.Error{Kind: providers.BadRequest, Message: "bad"}, 400, "bad"},
	} {
		for _, s := range surfaces {
			t.Run(string(providers.KindOf(tt.err))+"/"+s.name, func(t *testing.T) {
				for _, stream := range []bool{false, true} {
					resp, body := post(t, start(t, fails("", tt.err), serve.Options{}), s.path, s.request(stream, "hello", nil))
					overflow := providers.KindOf(tt.err) == providers.Overflow
					if overflow && stream && s.name == "responses" {
						all := events(t, body)
						if last := all[len(all)-1]; last["type"] != "response.failed" || str(last, "response", "error", "code") != "context_length_exceeded" {
							t.Errorf("%s", body)
						}
						continue
					}
					var v object
					if err := json.Unmarshal([]byte(body), &v); err != nil || resp.StatusCode != tt.status {
						t.Fatalf("%d, %v: %s", resp.StatusCode, err, body)
					}
					if message := s.message(v); !strings.Contains(message, tt.has) || strings.Contains(body, "sk-secret") {
						t.Errorf("%s", body)
					}
					switch {
					case overflow && s.name == "anthropic":
						if !strings.HasPrefix(s.message(v), "prompt is too long") {
							t.Errorf("%s", body)
						}
					case overflow && s.name != "ollama" && str(v, "error", "code") != "context_length_exceeded":
						t.Errorf("%s", body)
					case tt.status == 429 && resp.Header.Get("Retry-After") != "2":
						t.Errorf("Retry-After %q", resp.Header.Get("Retry-After"))
					}
					if final := resp.Header.Get("X-Should-Retry") == "false"; final != (tt.status == 400 || tt.status == 404 || strings.Contains("too small key", tt.has) && tt.has != "m") {
						t.Errorf("%d: final %v", tt.status, final)
					}
				}
				// In the middle of a reply.
				_, body := post(t, start(t, fails("I begin", tt.err), serve.Options{}), s.path, s.request(true, "hello", nil))
				if strings.Contains(body, `"finish_reason":"`) || strings.Contains(body, "message_stop") || strings.Contains(body, "response.completed") || strings.Contains(body, `"done":true`) {
					t.Errorf("it ends like a reply:\n%s", body)
				}
				if !strings.Contains(body, `"error"`) || strings.Contains(body, "sk-secret") {
					t.Errorf("there is no error in the stream:\n%s", body)
				}
			})
		}
	}
}

// What a model cannot be brought to is an error that clients do not retry.
func TestUnusable(t *testing.T) {
	for _, s := range surfaces {
		resp, body := post(t, start(t, says("<tool_code>\n<name>get_weather</name>\n<parameters>{city so}</parameters>\n</tool_code>"), serve.Options{}), s.path, s.request(true, "x", nil))
		if resp.StatusCode != 422 || resp.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: %d %s", s.name, resp.StatusCode, body)
		}
	}
}
