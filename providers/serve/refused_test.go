package serve_test

import (
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"

	"mylm/providers"
	"mylm/providers/serve"
)

// A null in a list is no message, tool, call or part: it is refused by its place.
func TestNullsInLists(t *testing.T) {
	s := start(t, says("Hello."), serve.Options{})
	null := []any{nil}
	user := object{"role": "user", "content": "x"}
	for _, tt := range []struct {
		api  int
		more object
		at   string
	}{
		{0, object{"messages": null}, "messages[0]"}, {0, object{"messages": []any{user, nil}}, "messages[1]"}, {0, object{"tools": null}, "tools[0]"},
		{0, object{"messages": []any{user, object{"role": "assistant", "tool_calls": null}}}, "messages[1].tool_calls[0]"},
		{0, object{"messages": []any{object{"role": "user", "content": []any{object{"type": "text", "text": "x"}, nil}}}}, "messages[0].content[1]"},
		{0, object{"tools": []any{}, "functions": null}, "functions[0]"}, {0, object{"stop": []any{"a", nil}}, "stop[1]"}, {0, object{"modalities": null}, "modalities[0]"},
		{0, object{"tool_choice": object{"type": "allowed_tools", "allowed_tools": object{"mode": "auto", "tools": null}}}, "tool_choice.allowed_tools.tools[0]"},
		{1, object{"input": null}, "input[0]"}, {1, object{"tools": null}, "tools[0]"}, {1, object{"tools": []any{object{"type": "namespace", "name": "n", "tools": null}}}, "tools[0].tools[0]"},
		{1, object{"input": []any{object{"role": "user", "content": null}}}, "input[0].content[0]"}, {1, object{"include": null}, "include[0]"},
		{1, object{"input": []any{object{"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": "{}"}, object{"type": "function_call_output", "call_id": "c", "output": null}}}, "input[1].output[0]"},
		{1, object{"input": []any{user, object{"type": "additional_tools", "tools": null}}}, "input[1].tools[0]"},
		{2, object{"messages": null}, "messages.0"}, {2, object{"tools": null}, "tools.0"}, {2, object{"system": null}, "system.0"}, {2, object{"stop_sequences": null}, "stop_sequences.0"},
		{2, object{"messages": []any{object{"role": "user", "content": null}}}, "messages.0.content.0"},
		{2, object{"messages": []any{object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": "t", "content": null}}}}}, "messages.0.content.0.content.0"},
		{2, object{"messages": []any{object{"role": "user", "content": []any{object{"type": "document", "source": object{"type": "content", "content": null}}}}}}, "messages.0.content.0.source.content.0"},
		{3, object{"messages": null}, "messages[0]"}, {3, object{"tools": null}, "tools[0]"}, {3, object{"messages": []any{user, object{"role": "assistant", "tool_calls": null}}}, "messages[1].tool_calls[0]"},
		{3, object{"messages": []any{object{"role": "user", "content": "x", "images": null}}}, "messages[0].images[0]"}, {3, object{"options": object{"stop": null}}, "options.stop[0]"},
	} {
		api := surfaces[tt.api]
		if resp, body := post(t, s, api.path, api.request(false, "x", tt.more)); resp.StatusCode != 400 || !strings.Contains(body, tt.at+": it is null") {
			t.Errorf("%s: %v: %d %s", api.name, tt.more, resp.StatusCode, body)
		}
	}
	if resp, body := post(t, s, "/v1/chat/completions", `{"model":"m","Messages":[{"role":"user","content":"x"},
		null]}`); resp.StatusCode != 400 || !strings.Contains(body, "messages[1]: it is null") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// A null may be a value of a client's own: in a schema, in arguments, in metadata.
func TestNullsOfClients(t *testing.T) {
	s := start(t, says("Hello."), serve.Options{})
	schema := object{"type": "object", "properties": object{"x": object{"enum": []any{nil, "a"}}, "content": object{"enum": []any{nil}}}}
	args := object{"x": []any{nil, 1}, "content": []any{nil}}
	user := object{"role": "user", "content": "[null, null]"}
	for i, more := range []object{
		{"tools": []any{object{"type": "function", "function": object{"name": "get_weather", "parameters": schema}}}, "tool_choice": nil, "stop": nil, "metadata": object{"messages": []any{nil}},
			"messages": []any{user, object{"role": "assistant", "content": nil, "tool_calls": []any{object{"id": "c", "type": "function", "function": object{"name": "get_weather", "arguments": args}}}}, object{"role": "tool", "tool_call_id": "c", "content": nil}}},
		{"tools": []any{object{"type": "function", "name": "get_weather", "parameters": schema}}, "include": nil,
			"input": []any{user, object{"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": args}, object{"type": "function_call_output", "call_id": "c", "output": "x"}}},
		{"tools": []any{object{"name": "get_weather", "input_schema": schema}}, "messages": []any{user, object{"role": "assistant", "content": []any{object{"type": "tool_use", "id": "c", "name": "get_weather", "input": args}}},
			object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": "c", "content": nil}}}}},
		{"tools": []any{object{"type": "function", "function": object{"name": "get_weather", "parameters": schema}}}, "images": nil,
			"messages": []any{user, object{"role": "assistant", "content": "", "tool_calls": []any{object{"function": object{"name": "get_weather", "arguments": args}}}}, object{"role": "tool", "content": "x"}}},
	} {
		api := surfaces[i]
		if resp, body := post(t, s, api.path, api.request(false, "x", more)); resp.StatusCode != 200 {
			t.Errorf("%s: %d %s", api.name, resp.StatusCode, body)
		}
	}
}

// Where the backend is, and who asks it, is not for its clients. The log has it.
func TestAddressesStayHere(t *testing.T) {
	dial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8443}, Err: errors.New("connection refused")}
	for _, tt := range []struct {
		err  *providers.Error
		says string
	}{
		{&providers.Error{Kind: providers.Unreachable, Message: "no Ollama server answers at http://bob:pw@secret.example:11434: connection refused"}, "no Ollama server answers at [its address]: connection refused"},
		{&providers.Error{Kind: providers.Unreachable, Message: dial.Error(), Err: dial}, "dial tcp [its address]: connection refused"},
		{&providers.Error{Kind: providers.Unreachable, Message: `the name "secret.example" does not resolve`, Err: &net.DNSError{Err: "no such host", Name: "secret.example", Server: "10.1.2.3:53"}}, `the name \"[its address]\" does not resolve`},
		{&providers.Error{Kind: providers.Interrupted, Message: "secret.example:8443 closed the connection without a reply: EOF"}, "[its address] closed the connection"},
		{&providers.Error{Kind: providers.Interrupted, Message: "secret closed the connection", Err: &url.Error{Op: "Post", URL: "https://secret:99/v1", Err: errors.New("EOF")}}, "[its address] closed the connection"},
		{&providers.Error{Kind: providers.ServerFault, Message: "upstream [fd00::1]:8000, 10.1.2.3 and wss://secret/x?key=y failed"}, "upstream [its address], [its address] and [its address] failed"},
		{&providers.Error{Kind: providers.BadRequest, Message: "https://secret.example/v1/chat refuses top_k"}, "[its address] refuses top_k"},
		{&providers.Error{Kind: providers.ServerFault, Message: "the model qwen2.5:14b of 1.5 GB (llama3.2:latest) died at 12:30:59, code 1:77, ggml-cuda.cu:85"}, "the model qwen2.5:14b of 1.5 GB (llama3.2:latest) died at 12:30:59, code 1:77, ggml-cuda.cu:85"},
		{&providers.Error{Kind: providers.Unreachable, Message: "no models at m", Err: &net.DNSError{Name: "m"}}, "no models at [its address]"},
		{&providers.Error{Kind: providers.ModelMissing, Message: `model "m" is not at localhost:11434`}, `model \"m\" is not at [its address]`},
	} {
		for _, api := range surfaces {
			var logged serve.Record
			s := start(t, fails("", tt.err), serve.Options{Log: func(r serve.Record) { logged = r }})
			for _, stream := range []bool{false, true} {
				_, body := post(t, s, api.path, api.request(stream, "x", nil))
				if !strings.Contains(body, tt.says) || strings.Contains(body, "secret") || strings.Contains(body, "10.1.2.3") || strings.Contains(body, "pw@") {
					t.Errorf("%s: %s", api.name, body)
				}
				if logged.Error != tt.err.Message {
					t.Errorf("%s: the log has %q", api.name, logged.Error)
				}
			}
			s = start(t, fails("I begin", tt.err), serve.Options{Log: func(r serve.Record) { logged = r }})
			if _, body := post(t, s, api.path, api.request(true, "x", nil)); !strings.Contains(body, tt.says) || strings.Contains(body, "secret") {
				t.Errorf("%s, in a stream: %s", api.name, body)
			}
		}
	}
	var logged serve.Record
	s := start(t, fails("", &providers.Error{Kind: providers.Auth, Message: "https://secret.example refuses the key sk-secret"}), serve.Options{Log: func(r serve.Record) { logged = r }})
	if _, body := post(t, s, surfaces[0].path, surfaces[0].request(false, "x", nil)); strings.Contains(body+logged.Error, "secret") {
		t.Errorf("%s, and the log has %s", body, logged.Error)
	}
}
