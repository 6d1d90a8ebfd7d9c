package serve_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"mylm/providers"
	"mylm/providers/serve"
)

// What clients send that is rare, or that another server has made, is understood.
func TestOddRequests(t *testing.T) {
	m := says("Hello.")
	s := start(t, m, serve.Options{})
	function := func(name string) object { return object{"type": "function", "name": name} }
	user := object{"role": "user", "content": "x"}
	called := func(args any) []any {
		return []any{user, object{"role": "assistant", "tool_calls": []any{object{"id": "c1", "type": "function", "function": object{"name": "get_weather", "arguments": args}}}},
			object{"role": "tool", "tool_call_id": "c1", "content": "sunny"}}
	}
	const shown = `<parameters>{"city":"Bern"}</parameters>`
	block := func(role string, blocks ...object) object { return object{"role": role, "content": blocks} }
	for name, tt := range map[string]struct {
		api  int
		more object
		want string // that the model is shown
	}{
		"arguments as an object":           {0, object{"messages": called(object{"city": "Bern"})}, shown},
		"arguments as a string":            {0, object{"messages": called(`{"city": "Bern"}`)}, shown},
		"Ollama, arguments as a string":    {3, object{"messages": called(`{"city": "Bern"}`)}, shown},
		"Ollama, arguments as an object":   {3, object{"messages": called(object{"city": "Bern"})}, shown},
		"Responses, arguments as object":   {1, object{"input": []any{user, object{"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": object{"city": "Bern"}}}}, shown},
		"allowed tools, one hosted":        {1, object{"tool_choice": object{"type": "allowed_tools", "mode": "auto", "tools": []any{function("get_weather"), object{"type": "web_search"}}}}, "get_weather"},
		"a search result":                  {2, object{"messages": []any{block("user", object{"type": "search_result", "source": "https://a.example", "title": "The title", "content": []any{object{"type": "text", "text": "found"}}})}}, "The title\nhttps://a.example\nfound"},
		"a search result of a tool":        {2, object{"messages": []any{user, block("assistant", object{"type": "tool_use", "id": "t", "name": "get_weather", "input": object{}}), block("user", object{"type": "tool_result", "tool_use_id": "t", "content": []any{object{"type": "search_result", "source": "s", "title": "The title", "content": []any{object{"type": "text", "text": "found"}}}}})}}, "The title\ns\nfound"},
		"a text document of a tool":        {2, object{"messages": []any{user, block("assistant", object{"type": "tool_use", "id": "t", "name": "get_weather", "input": object{}}), block("user", object{"type": "tool_result", "tool_use_id": "t", "content": []any{object{"type": "document", "source": object{"type": "text", "media_type": "text/plain", "data": "the text"}}}})}}, "the text"},
		"a document of blocks":             {2, object{"messages": []any{block("user", object{"type": "document", "source": object{"type": "content", "content": []any{object{"type": "text", "text": "the text"}}}})}}, "the text"},
		"tools that another server ran":    {2, object{"messages": []any{user, block("assistant", object{"type": "server_tool_use", "id": "s", "name": "web_search", "input": object{}}, object{"type": "web_search_tool_result", "tool_use_id": "s", "content": []any{}}, object{"type": "text", "text": "It is so."}), user}}, "It is so."},
		"a thought with a signature":       {2, object{"messages": []any{user, block("assistant", object{"type": "thinking", "thinking": "secret", "signature": "s"}, object{"type": "text", "text": "It is so."}), user}}, "It is so."},
		"cache_control and other markings": {2, object{"system": []any{object{"type": "text", "text": "Be brief.", "cache_control": object{"type": "ephemeral", "ttl": "1h"}}}, "metadata": object{"user_id": "u"}, "top_k": 5, "context_management": object{}}, "Be brief."},
		"calls at once, Responses": {1, object{"input": []any{user, object{"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": `{"city":"Bern"}`}, object{"type": "function_call", "call_id": "d", "name": "get_weather", "arguments": `{"city":"Rome"}`},
			object{"type": "function_call_output", "call_id": "d", "output": "rainy"}, object{"type": "function_call_output", "call_id": "c", "output": "sunny"}}},
			shown + "\n</tool_code>\nuser: <observation>\n[get_weather] Success:\nsunny\n</observation>\nassistant: <tool_code>\n<name>get_weather</name>\n<parameters>{\"city\":\"Rome\"}</parameters>\n</tool_code>\nuser: <observation>\n[get_weather] Success:\nrainy"},
		"a function's result without its call":   {0, object{"messages": []any{user, object{"role": "function", "name": "get_weather", "content": "sunny"}}}, "[get_weather] Success:\nsunny"},
		"thoughts among parts, Chat Completions": {0, object{"messages": []any{user, block("assistant", object{"type": "thinking", "thinking": "secret"}, object{"type": "reasoning", "text": "secret"}, object{"type": "text", "text": "It is so."})}}, "assistant: It is so."},
		"an effort of null":                      {1, object{"instructions": "Be brief.", "reasoning": object{"effort": nil}}, "Be brief."},
	} {
		api := surfaces[tt.api]
		resp, body := post(t, s, api.path, api.request(false, "x", tt.more))
		if resp.StatusCode != 200 {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
			continue
		}
		if p := m.prompts[len(m.prompts)-1]; !strings.Contains(p, tt.want) || strings.Contains(p, "secret") {
			t.Errorf("%s: the model is shown\n%s", name, p)
		}
	}
}

// Programs of Ollama's API may leave out the call that a result belongs to, as the adapter of
// LlamaIndex does: Ollama takes that.
func TestOllamaResultWithoutCall(t *testing.T) {
	for _, tt := range []struct {
		result object
		shown  string
	}{
		{object{"role": "tool", "content": "sunny"}, "[tool] Success:\nsunny"},
		{object{"role": "tool", "content": "sunny", "tool_name": "get_weather", "tool_call_id": "gone"}, "[get_weather] Success:\nsunny"},
	} {
		m := says("It is sunny.")
		s := start(t, m, serve.Options{})
		resp, body := post(t, s, "/api/chat", surfaces[3].request(false, "hello", object{"messages": []any{
			object{"role": "user", "content": "weather?"}, object{"role": "assistant", "content": "I look."}, tt.result}}))
		if resp.StatusCode != 200 || !strings.Contains(body, "It is sunny.") {
			t.Errorf("%d %s", resp.StatusCode, body)
		} else if got := m.prompts[0]; !strings.Contains(got, tt.shown) {
			t.Errorf("the model is shown %q", got)
		}
	}
}

// Ollama's clients divide tokens by time: where the backend says nothing of it, it is measured, of
// a whole reply and of a stream.
func TestOllamaTimes(t *testing.T) {
	s := start(t, steady{tokens: 20, pause: 20 * time.Millisecond}, serve.Options{})
	for _, stream := range []bool{false, true} {
		resp, body := post(t, s, "/api/chat", surfaces[3].request(stream, "hello", nil))
		lines := strings.Split(strings.TrimSpace(body), "\n")
		var end struct {
			Took int64 `json:"eval_duration"`
		}
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil || resp.StatusCode != 200 || time.Duration(end.Took) < 20*time.Millisecond {
			t.Errorf("%d %v: %s", resp.StatusCode, err, lines[len(lines)-1])
		}
	}
}

// Ollama's clients load and unload a model with a request that asks nothing.
func TestOllamaLoads(t *testing.T) {
	s := start(t, says("Hello."), serve.Options{})
	for keep, want := range map[any]string{0: "unload", "0": "unload", "0s": "unload", nil: "load", 300: "load", "5m": "load", "soon": "load"} {
		for _, path := range []string{"/api/chat", "/api/generate"} {
			resp, body := post(t, s, path, object{"model": "m", "keep_alive": keep})
			if resp.StatusCode != 200 || !strings.Contains(body, `"done_reason":"`+want+`"`) {
				t.Errorf("%s, keep_alive %v: %d %s", path, keep, resp.StatusCode, body)
			}
		}
	}
}

// Clients send tools whose references lead nowhere, since they leave out definitions.
func TestReferences(t *testing.T) {
	s := start(t, says("Hello."), serve.Options{})
	for _, ref := range []string{"#", "#/$defs/a%20b", "#/properties/x", "#/properties/list/anyOf/0", "#/$defs/none", "#anchor", "https://a.example/schema"} {
		schema := object{"type": "object", "properties": object{"x": object{"type": "string"}, "$ref": object{"type": "string"}, "y": object{"$ref": ref}, "list": object{"anyOf": []any{object{"type": "integer"}}}},
			"$defs": object{"a b": object{"type": "string"}}, "default": object{"$ref": "#/none"}}
		resp, body := post(t, s, surfaces[0].path, surfaces[0].request(false, "x", object{"tools": []any{object{"type": "function", "function": object{"name": "f", "parameters": schema}}}}))
		if resp.StatusCode != 200 {
			t.Errorf("%s: %d %s", ref, resp.StatusCode, body)
		}
	}
}

// Search results and documents hold text and pictures only. Blocks that hold further ones
// would be read once for each level.
func TestNestedBlocks(t *testing.T) {
	s := start(t, says("Hello."), serve.Options{})
	search := func(inner object) object {
		return object{"type": "search_result", "source": "s", "title": "t", "content": []any{inner}}
	}
	document := func(inner object) object {
		return object{"type": "document", "source": object{"type": "content", "content": []any{inner}}}
	}
	result := func(inner object) object {
		return object{"type": "tool_result", "tool_use_id": "t", "content": []any{inner}}
	}
	text := object{"type": "text", "text": "x"}
	deep := text
	for range 160 {
		deep = search(deep)
	}
	for name, tt := range map[string]struct {
		block object
		at    string
		kind  string
	}{
		"many search results":           {deep, "messages.0.content.0.content.0", "search_result"},
		"a document in a search result": {search(document(text)), "messages.0.content.0.content.0", "document"},
		"a search result in a document": {document(search(text)), "messages.0.content.0.source.content.0", "search_result"},
		"in a result of a tool":         {result(document(document(text))), "messages.0.content.0.content.0.source.content.0", "document"},
		"a reference to a tool":         {search(object{"type": "tool_reference", "tool_name": "f"}), "messages.0.content.0.content.0", "tool_reference"},
	} {
		resp, body := post(t, s, "/v1/messages", object{"model": "m", "max_tokens": 9, "messages": []any{object{"role": "user", "content": []any{tt.block}}}})
		var v object
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
		if m := str(v, "error", "message"); resp.StatusCode != 400 || !strings.HasPrefix(m, tt.at+": ") || !strings.Contains(m, `"`+tt.kind+`"`) {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
}

// What is not supported is named, whatever the API.
func TestOddRefusals(t *testing.T) {
	s := start(t, says("Hello."), serve.Options{})
	for _, tt := range []struct {
		api  int
		more object
		want string
	}{
		{0, object{"max_tokens": -1}, `"param":"max_tokens"`}, {0, object{"max_completion_tokens": -5}, `"param":"max_completion_tokens"`},
		{1, object{"max_output_tokens": -1}, `"param":"max_output_tokens"`}, {1, object{"top_logprobs": 3}, `"param":"top_logprobs"`},
		{1, object{"include": []string{"message.output_text.logprobs"}}, `"param":"include"`}, {1, object{"reasoning": object{"effort": 5}}, `"param":"reasoning.effort"`},
		{2, object{"messages": []any{object{"role": "user", "content": []any{object{"type": "document", "source": object{"type": "base64", "media_type": "application/pdf", "data": "AA"}}}}}}, "messages.0.content.0"},
		{3, object{"logprobs": true}, "logprobs"}, {3, object{"top_logprobs": 2}, "top_logprobs"}, {0, object{"top_logprobs": 2}, `"param":"top_logprobs"`},
		{0, object{"max_tokens": 0}, `"param":"max_tokens"`}, {0, object{"max_completion_tokens": 0}, `"param":"max_completion_tokens"`}, {0, object{"n": 0}, `"param":"n"`},
		{0, object{"max_tokens": 5, "max_completion_tokens": 9}, `"param":"max_tokens"`},
		{0, object{"tool_choice": "auto", "function_call": "none"}, `"param":"function_call"`}, {0, object{"functions": []any{object{"name": "f"}}}, `"param":"functions"`},
		{0, object{"response_format": object{"json_schema": object{}}}, `"param":"response_format"`}, {1, object{"text": object{"format": object{"schema": object{}}}}, `"param":"text.format"`},
		{0, object{"response_format": object{"type": "json_schema", "json_schema": object{"schema": nil}}}, "response_format: it has no schema"},
		{0, object{"format": "json"}, `"param":"format"`}, {1, object{"response_format": object{"type": "json_object"}}, `"param":"response_format"`},
		{2, object{"response_format": object{"type": "json_object"}}, "response_format: "}, {3, object{"response_format": object{"type": "json_object"}}, "response_format: "},
		{3, object{"format": "json", "response_format": object{"type": "text"}}, "response_format: "},
		{2, object{"output_format": object{"type": "json_schema", "schema": object{}}, "output_config": object{"format": object{"type": "json_schema", "schema": object{}}}}, "output_format: "},
		{1, object{"tools": []any{object{"type": "web_search"}, object{"type": "namespace", "name": "n", "tools": []any{object{"type": "shell"}}}, object{"type": "web_search"}}, "tool_choice": "required"}, `tools of type \"shell\", \"web_search\" are not supported`},
		{1, object{"tools": []any{object{"type": "namespace", "name": "n", "tools": []any{}}}, "tool_choice": "required"}, `tools of type \"namespace\" are not supported`},
		{0, object{"tools": []any{object{"type": "function", "function": object{"name": "f", "parameters": true}}}}, `the schema of f is not a JSON object`}, {3, object{"tools": []any{object{"type": "function", "function": object{"name": "f", "parameters": true}}}}, `the schema of f is not a JSON object`},
		{2, object{"tools": []any{object{"type": "web_search_20250305", "name": "web_search"}, object{"type": "bash_20250124", "name": "bash"}}, "tool_choice": object{"type": "any"}}, `tools of type \"bash_20250124\", \"web_search_20250305\" are not supported`},
		{3, object{"options": object{"stop": 5}}, "options.stop: "}, {3, object{"think": 5}, "think: "},
		{0, object{"tools": []any{object{"type": "function", "function": object{"name": "a\nb"}}}}, `"param":"tools[0]"`}, {0, object{"tools": []any{object{"type": "function", "function": object{"name": "a<b>"}}}}, `"param":"tools[0]"`}, {0, object{"tools": []any{object{"type": "function", "function": object{"name": "  "}}}}, `it has no name`},
		{1, object{"input": []any{object{"type": "reasoning", "summary": []any{}}}}, `"param":"input"`}, {1, object{"input": []any{object{"type": "function_call_output", "call_id": "z", "output": "x"}}, "instructions": "y"}, `"param":"input[0]"`},
		{2, object{"messages": []any{object{"role": "user", "content": []any{object{"type": "text", "text": "x"}, object{"type": "tool_result", "tool_use_id": "z"}}}}}, "messages.0.content.1: "},
		{2, object{"system": "y", "messages": []any{object{"role": "user", "content": ""}}}, "messages: none of them has content"},
	} {
		api := surfaces[tt.api]
		if resp, body := post(t, s, api.path, api.request(false, "x", tt.more)); resp.StatusCode != 400 || !strings.Contains(body, tt.want) {
			t.Errorf("%s %v: %d %s", api.name, tt.more, resp.StatusCode, body)
		}
	}
	for _, api := range surfaces {
		b, _ := json.Marshal(api.request(false, "x", nil))
		for _, twice := range []string{`"model":"other"`, `"Model":"other"`, `"m\u006fdel":"m"`} {
			if resp, body := post(t, s, api.path, "{"+twice+","+string(b[1:])); resp.StatusCode != 400 || !strings.Contains(body, "model: it is given twice") {
				t.Errorf("%s %s: %d %s", api.name, twice, resp.StatusCode, body)
			}
		}
		if resp, body := post(t, s, api.path, api.request(false, "x", object{"response_format": nil, "format": nil, "output_format": nil, "metadata": object{"model": "a", "x": []any{object{"model": 1}}}})); resp.StatusCode != 200 {
			t.Errorf("%s: %d %s", api.name, resp.StatusCode, body)
		}
	}
	if resp, body := post(t, s, "/api/show", object{}); resp.StatusCode != 400 || !strings.Contains(body, "model: ") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	for _, path := range []string{"/v1/models/none", "/v1/files"} { // of APIs that share their paths
		for version, want := range map[string]string{"": `{"error":{"code":`, "2023-06-01": `"type":"error"}`} {
			if resp, body := do(t, s, get(t, s.URL+path), []string{"Anthropic-Version", version}); resp.StatusCode != 404 || !strings.Contains(body, want) {
				t.Errorf("%s: %d %s", path, resp.StatusCode, body)
			}
		}
	}
	for method, want := range map[string]string{"GET /v1/chat/completions": "POST", "PUT /v1/messages": "POST", "GET /api/chat": "POST", "DELETE /v1/models": "GET, HEAD", "GET /v1/nothing": ""} {
		verb, path, _ := strings.Cut(method, " ")
		r := get(t, s.URL+path)
		r.Method = verb
		status := http.StatusMethodNotAllowed
		if want == "" {
			status = http.StatusNotFound
		}
		if resp, body := do(t, s, r, nil); resp.StatusCode != status || resp.Header.Get("Allow") != want || !strings.Contains(body, `"error"`) || want != "" && !strings.Contains(body, "method "+verb+" is not allowed at "+path+"; use "+want) {
			t.Errorf("%s: %d %q %s", method, resp.StatusCode, resp.Header.Get("Allow"), body)
		}
	}
}

// A response says what its request asked for.
func TestResponseRepeatsRequest(t *testing.T) {
	s := start(t, says(`{"city":"Bern"}`), serve.Options{})
	text := object{"format": object{"type": "json_schema", "name": "place", "strict": true, "schema": parameters}, "verbosity": "low"}
	_, body := post(t, s, "/v1/responses", object{"model": "m", "input": "x", "text": text, "reasoning": object{"effort": "low", "summary": "auto"}, "metadata": object{"a": "b"}})
	var v object
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ got, want string }{
		{str(v, "text", "format", "name"), "place"}, {str(v, "text", "format", "strict"), "true"}, {str(v, "text", "verbosity"), "low"},
		{str(v, "reasoning", "effort"), "low"}, {str(v, "reasoning", "summary"), "auto"}, {str(v, "metadata", "a"), "b"},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q in %s", tt.got, tt.want, body)
		}
	}
}

// OpenAI's specification allows no null for these fields; they are left out.
func TestNoNulls(t *testing.T) {
	s := start(t, says("Hello."), serve.Options{})
	for _, api := range surfaces[:2] {
		for _, stream := range []bool{false, true} {
			_, body := post(t, s, api.path, api.request(stream, "x", nil))
			if strings.Contains(body, `"system_fingerprint":null`) || strings.Contains(body, `"usage":null`) {
				t.Errorf("%s: %s", api.name, body)
			}
		}
	}
}

// The error of a response that failed has one of the API's own codes.
func TestFailedResponse(t *testing.T) {
	for want, err := range map[string]*providers.Error{
		"server_error":            {Kind: providers.Interrupted},
		"rate_limit_exceeded":     {Kind: providers.RateLimited},
		"invalid_prompt":          {Kind: providers.BadRequest},
		"context_length_exceeded": {Kind: providers.Overflow},
	} {
		api := surfaces[1]
		_, body := post(t, start(t, fails("I begin", err), serve.Options{}), api.path, api.request(true, "x", nil))
		all := events(t, body)
		if failed := all[len(all)-1]; failed["type"] != "response.failed" || str(failed, "response", "error", "code") != want {
			t.Errorf("want %s: %v", want, failed)
		}
	}
}

// Many clients of Messages take the tokens of a prompt from the first event, and those of OpenAI
// count them beforehand.
func TestPromptTokens(t *testing.T) {
	s := start(t, says("Hello."), serve.Options{})
	_, body := post(t, s, "/v1/messages", surfaces[2].request(true, strings.Repeat("word ", 100), nil))
	usage := events(t, body)[0]["message"].(map[string]any)["usage"].(map[string]any)
	if n, _ := usage["input_tokens"].(float64); n < 100 || usage["estimated"] != true {
		t.Errorf("the first event reports %v", usage)
	}
	_, body = post(t, s, "/v1/responses/input_tokens", surfaces[1].request(false, strings.Repeat("word ", 100), nil))
	var counted struct {
		Object string
		Tokens int `json:"input_tokens"`
	}
	if err := json.Unmarshal([]byte(body), &counted); err != nil || counted.Object != "response.input_tokens" || counted.Tokens < 100 {
		t.Errorf("%v: %s", err, body)
	}
	if resp, body := post(t, s, "/v1/responses/input_tokens", object{"model": "m"}); resp.StatusCode != 400 {
		t.Errorf("%d: %s", resp.StatusCode, body)
	}
}
