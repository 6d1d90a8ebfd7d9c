package serve_test

import (
	"io"
	"net/http"
	"testing"

	"mylm/providers"
	"mylm/providers/calling"
	"mylm/providers/langchain"
	"mylm/providers/ollama"
)

// upstream is the server of a backend that answers every question with the same bytes, in
// pieces of sizes.
type upstream struct {
	status int
	kind   string
	body   string
	sizes  []byte
}

// RoundTrip answers.
func (u upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	status := u.status
	switch r.URL.Path { // what Ollama says of itself
	case "/api/show":
		status, u.body = http.StatusOK, `{"capabilities":["completion"],"model_info":{}}`
	case "/api/version", "/api/ps":
		status, u.body = http.StatusOK, `{"version":"0.32.15","models":[]}`
	}
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: -1,
		Header: http.Header{"Content-Type": {u.kind}}, Body: io.NopCloser(&inPieces{upstream: u}),
	}, nil
}

// inPieces reads the body of a reply.
type inPieces struct {
	upstream
	reads int
}

// Read gives the next piece.
func (p *inPieces) Read(b []byte) (int, error) {
	if p.body == "" {
		return 0, io.EOF
	}
	n := len(p.body)
	if len(p.sizes) > 0 {
		n = min(n, 1+int(p.sizes[p.reads%len(p.sizes)]))
	}
	p.reads++
	n = copy(b, p.body[:n])
	p.body = p.body[n:]
	return n, nil
}

// wires are those of backends: how a model is opened that speaks one, and replies that have
// an answer, a call, and a limit, or break off.
var wires = []struct {
	kind  string
	open  func(t *testing.T, u upstream) providers.Model
	seeds []string
}{
	{"application/x-ndjson", func(t *testing.T, u upstream) providers.Model {
		client, err := ollama.New(ollama.Options{HTTP: &http.Client{Transport: u}})
		if err != nil {
			t.Fatal(err)
		}
		return client.Model("m", ollama.ModelOptions{})
	}, []string{
		`{"model":"m","message":{"role":"assistant","content":"Hello"},"done":false}` + "\n" + `{"model":"m","message":{"role":"assistant","content":" there","thinking":"hm"},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":4}` + "\n",
		`{"message":{"content":"","tool_calls":[{"function":{"name":"get_weather","arguments":{"city":"Bern"}}}]},"done":false}` + "\n" + `{"done":true,"done_reason":"length"}`,
		`{"message":{"content":"<tool_code><name>get_weather</name><parameters>{\"city\":\"B\"}</parameters></tool_code>"}}` + "\n" + `{"error":"llama runner has terminated"}`,
		`{"message":{"content":"half`,
	}},
	{"text/event-stream", opened("openai"), []string{
		`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]}` + "\n\n" + `data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm","content":" there"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}` + "\n\ndata: [DONE]\n\n",
		`: comment` + "\r\n" + `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"get_weather","arguments":"{\"city\":"}}]}}]}` + "\r\n\r\n" + `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Bern\"}"}}]},"finish_reason":"tool_calls"}]}` + "\n\n",
		`{"choices":[{"message":{"role":"assistant","content":"Hello"},"finish_reason":"length"}]}`,
		`data: {"error":{"message":"boom","type":"server_error"}}` + "\n\n",
	}},
	{"text/event-stream", opened("anthropic"), []string{
		"event: message_start\ndata: " + `{"type":"message_start","message":{"role":"assistant","content":[],"usage":{"input_tokens":3}}}` + "\n\nevent: content_block_start\ndata: " + `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` +
			"\n\nevent: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}` + "\n\nevent: content_block_stop\ndata: " + `{"type":"content_block_stop","index":0}` +
			"\n\nevent: message_delta\ndata: " + `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}` + "\n\nevent: message_stop\ndata: " + `{"type":"message_stop"}` + "\n\n",
		"event: error\ndata: " + `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n",
	}},
	{"text/event-stream", opened("googleai"), []string{
		`data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Hello"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4}}` + "\r\n\r\n",
		`data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"get_weather","args":{"city":"Bern"}}}]},"finishReason":"MAX_TOKENS"}]}` + "\n\n",
	}},
}

func opened(provider string) func(*testing.T, upstream) providers.Model {
	return func(t *testing.T, u upstream) providers.Model {
		m, err := langchain.Open(provider, langchain.Config{Model: "m", BaseURL: "http://127.0.0.1:1/v1", Key: "k", Transport: u})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

// Whatever bytes the server of a backend sends, in whatever pieces, and with whatever
// status: what is streamed is what a whole reply has, and what is no reply is an error in
// the form of each surface.
func FuzzUpstream(f *testing.F) {
	for i, w := range wires {
		for j, body := range w.seeds {
			f.Add([]byte(body), []byte{7, 0, 30}, uint8(j), uint8(i))
			f.Add([]byte(body[:len(body)*2/3]), []byte{2}, uint8(64+j), uint8(i))
		}
		f.Add([]byte(`{"error":{"message":"slow down"}}`), []byte{1}, uint8(i), uint8(i+3*len(wires)))
		f.Add([]byte(w.seeds[0]), []byte{1}, uint8(i), uint8(i+6*len(wires))) // a redirect that holds a reply
		f.Add([]byte("\x00\xff\n\n<html>"), []byte{1}, uint8(i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, body, sizes []byte, which, wire uint8) {
		if len(body) > 2*calling.MaxRepetition { // it may be stopped for repeating itself, which depends on the pieces
			return
		}
		w := wires[int(wire)%len(wires)]
		statuses := []int{200, 200, 400, 429, 500, 204, 301, 599}
		u := upstream{status: statuses[int(wire)/len(wires)%len(statuses)], kind: w.kind, body: string(body)}
		sameInPieces(t, which, sizes, func(sizes []byte) providers.Model {
			u.sizes = sizes
			return w.open(t, u)
		})
	})
}
