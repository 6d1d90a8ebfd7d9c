package serve_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mylm/providers"
	"mylm/providers/langchain"
	"mylm/providers/ollama"
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

// A number of the client's own that is too large for a float hides no null.
func TestNullBesideLargeNumber(t *testing.T) {
	s := start(t, says("Hello."), serve.Options{})
	if resp, body := post(t, s, "/v1/chat/completions", `{"model":"m","zz":1e999,"messages":[null]}`); resp.StatusCode != 400 || !strings.Contains(body, "messages[0]: it is null") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// An empty function_call is none.
func TestEmptyFunctionCall(t *testing.T) {
	s := start(t, says("Hello."), serve.Options{})
	user := object{"role": "user", "content": "x"}
	for _, none := range []any{nil, object{}, object{"name": "", "arguments": ""}} {
		more := object{"messages": []any{user, object{"role": "assistant", "content": "y", "tool_calls": []any{}, "function_call": none}, user}}
		if resp, body := post(t, s, "/v1/chat/completions", surfaces[0].request(false, "x", more)); resp.StatusCode != 200 {
			t.Errorf("%v: %d %s", none, resp.StatusCode, body)
		}
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

// Backends know where they are: their errors do not name it.
func TestAddressesOfBackends(t *testing.T) {
	for _, message := range []string{"cannot connect to host secret-box:8000", "no upstream at http://secret-box:8000/v1"} {
		for _, status := range []int{400, 404, 500} {
			u := upstream{status: status, kind: "application/json", body: `{"error":{"message":"` + message + `; see https://docs.example/errors"}}`}
			client, err := ollama.New(ollama.Options{Host: "http://secret-box:8000", HTTP: &http.Client{Transport: u}})
			if err != nil {
				t.Fatal(err)
			}
			other, err := langchain.Open("openai", langchain.Config{Model: "m", BaseURL: "http://secret-box:8000/v1", Key: "k", Transport: u})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range []providers.Model{client.Model("m", ollama.ModelOptions{}), other} {
				_, body := post(t, start(t, m, serve.Options{}), surfaces[0].path, surfaces[0].request(false, "x", nil))
				if strings.Contains(body, "secret") || !strings.Contains(body, "[its address]") || !strings.Contains(body, "https://docs.example/errors") {
					t.Errorf("%d %s", status, body)
				}
			}
		}
	}
}

// Where the backend is, and who asks it, is not for its clients. The log has it. What else looks
// like an address stays: it may be the client's own, or a page to read.
func TestAddressesStayHere(t *testing.T) {
	dial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8443}, Err: errors.New("connection refused")}
	at := func(kind providers.Kind, message string, addresses ...string) *providers.Error {
		return &providers.Error{Kind: kind, Message: message, Addresses: addresses}
	}
	const pages = "learn more at https://platform.example/docs/deprecations, template.jinja:34, server.js:88, 12.2.140.1, https://example.com/cat.png, mistral.nemo:12, notsecret.example.org and www.other.example"
	for _, tt := range []struct {
		err  *providers.Error
		says string
	}{
		{at(providers.Unreachable, "no Ollama server answers at http://bob:p)w@secret.example:11434: connection refused", "http://Secret.example:11434"), "no Ollama server answers at [its address]: connection refused"},
		{&providers.Error{Kind: providers.Unreachable, Message: dial.Error(), Err: dial}, "dial tcp [its address]: connection refused"},
		{&providers.Error{Kind: providers.Interrupted, Message: "read tcp 10.1.2.3:51->10.1.2.3:80: reset", Err: fmt.Errorf("x: %w", &net.OpError{Op: "read", Source: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 51}, Err: dial})}, "read tcp [its address]->[its address]: reset"},
		{&providers.Error{Kind: providers.Unreachable, Message: `the name "secret.example" does not resolve`, Err: &net.DNSError{Err: "no such host", Name: "secret.example", Server: "10.1.2.3:53"}}, `the name \"[its address]\" does not resolve`},
		{&providers.Error{Kind: providers.Unreachable, Message: `the name "secretbox" does not resolve: lookup secretbox on 10.1.2.3:53`, Err: &net.DNSError{Err: "no such host", Name: "secretbox", Server: "10.1.2.3:53"}}, `the name \"[its address]\" does not resolve: lookup [its address] on [its address]`},
		{at(providers.Interrupted, "SECRET.example:8443 closed the connection without a reply: EOF", "https://secret.example:8443/v1"), "[its address] closed the connection"},
		{&providers.Error{Kind: providers.Interrupted, Message: "bob:pw@secret:99 closed the connection, and https://secret/v1/chat, too", Err: &url.Error{Op: "Post", URL: "https://bob:pw@secret:99/v1", Err: errors.New("EOF")}}, "[its address] closed the connection, and [its address], too"},
		{at(providers.ServerFault, "upstream [fd00::1]:8000, fd00::1 and http://[fd00::1]/secret?key=y failed", "http://[fd00::1]:8000/v1"), "upstream [its address], [its address] and [its address] failed"},
		{at(providers.BadRequest, "https://secret.example/v1/chat refuses top_k. See http://secret.example.", "https://secret.example/v1"), "[its address] refuses top_k. See [its address]."},
		{at(providers.ServerFault, "Cannot connect to host secret-box:8000 ssl:default", "http://secret-box:8000"), "Cannot connect to host [its address] ssl:default"},
		{at(providers.ServerFault, "the model qwen2.5:14b of 1.5 GB (llama3.2:latest) died at 12:30:59, code 1:77, ggml-cuda.cu:85", "http://model:80", "http://ggml:80"), "the model qwen2.5:14b of 1.5 GB (llama3.2:latest) died at 12:30:59, code 1:77, ggml-cuda.cu:85"},
		{&providers.Error{Kind: providers.Unreachable, Message: "certificate is valid for *.secret.internal, secret7.lab, 10.9.8.7, not secret.example",
			Err: x509.HostnameError{Host: "secret.example", Certificate: &x509.Certificate{DNSNames: []string{"*.secret.internal", "secret7.lab"}, IPAddresses: []net.IP{net.IPv4(10, 9, 8, 7)}}}}, "certificate is valid for [its address], [its address], [its address], not [its address]"},
		{at(providers.BadRequest, pages, "http://example:80", "https://example.co", "http://secret.example:80", "http://other.example"), pages},
		{at(providers.ModelMissing, `model "m" is not at localhost:11434, says localhost`, "http://localhost:11434"), `model \"m\" is not at [its address], says localhost`},
		{&providers.Error{Kind: providers.ModelMissing, Message: "m cannot be asked: no answer at secret.example:9", Err: at(providers.Unreachable, "", "http://secret.example:9")}, "m cannot be asked: no answer at [its address]"},
	} {
		for _, api := range surfaces {
			var logged serve.Record
			s := start(t, fails("", tt.err), serve.Options{Log: func(r serve.Record) { logged = r }})
			for _, stream := range []bool{false, true} {
				_, body := post(t, s, api.path, api.request(stream, "x", nil))
				if !strings.Contains(body, tt.says) || strings.Contains(strings.ReplaceAll(body, "notsecret", ""), "secret") || strings.Contains(body, "10.1.2.3") || strings.Contains(body, "pw@") {
					t.Errorf("%s: %s", api.name, body)
				}
				if logged.Error != tt.err.Message {
					t.Errorf("%s: the log has %q", api.name, logged.Error)
				}
			}
			s = start(t, fails("I begin", tt.err), serve.Options{Log: func(r serve.Record) { logged = r }})
			if _, body := post(t, s, api.path, api.request(true, "x", nil)); !strings.Contains(body, tt.says) {
				t.Errorf("%s, in a stream: %s", api.name, body)
			}
		}
	}
	blind := at(providers.BadRequest, "http://bob:pw@secret.example:80 cannot see pictures", "http://secret.example:80")
	blind.Param = providers.ParamImages
	_, body := post(t, start(t, fails("", blind), serve.Options{Redact: func(s string) string { return strings.ReplaceAll(s, "pictures", "pixels") }}), surfaces[0].path, surfaces[0].request(false, "x", object{"messages": []any{object{"role": "user", "content": []any{object{"type": "image_url", "image_url": object{"url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}}}}}))
	if !strings.Contains(body, "[its address] cannot see pixels") {
		t.Error(body)
	}
	var logged serve.Record
	s := start(t, fails("", &providers.Error{Kind: providers.Auth, Message: "https://secret.example refuses the key sk-secret"}), serve.Options{Log: func(r serve.Record) { logged = r }})
	if _, body := post(t, s, surfaces[0].path, surfaces[0].request(false, "x", nil)); strings.Contains(body+logged.Error, "secret") {
		t.Errorf("%s, and the log has %s", body, logged.Error)
	}
}
