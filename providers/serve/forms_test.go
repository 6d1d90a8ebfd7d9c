package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mylm/protocol"
	"mylm/providers/calling"
	"mylm/providers/serve"
)

// A line of a system prompt that differs with every request is not shown to the model.
func TestBillingIsDropped(t *testing.T) {
	m := says("Hello")
	s := start(t, m, serve.Options{})
	for i := range 4 {
		line := fmt.Sprintf("x-anthropic-billing-header: cc_version=%d", i)
		var system any = []any{object{"type": "text", "text": line}, object{"type": "text", "text": "Be brief."}}
		if i > 1 {
			system = line + "\nBe brief."
		}
		post(t, s, "/v1/messages", object{"model": "m", "max_tokens": 100, "system": system, "messages": []any{object{"role": "user", "content": "x-anthropic-billing-header: what?"}}})
	}
	for _, p := range m.prompts {
		if p != "system: Be brief.\nuser: x-anthropic-billing-header: what?\n" {
			t.Errorf("the model is shown %q", p)
		}
	}
}

// Ollama's generate continues a text, and its show says what a model can do.
func TestGenerateAndShow(t *testing.T) {
	m := says("<think>hm</think>Hello 漢字")
	s := start(t, m, serve.Options{})
	ask := func(more object) (int, string) {
		body := object{"model": "m", "prompt": "Say hello.", "system": "Be brief."}
		for k, v := range more {
			body[k] = v
		}
		resp, text := post(t, s, "/api/generate", body)
		return resp.StatusCode, text
	}
	_, text := ask(object{"stream": false})
	var whole object
	if err := json.Unmarshal([]byte(text), &whole); err != nil || str(whole, "response") != "Hello 漢字" || str(whole, "thinking") != "hm" || str(whole, "done_reason") != "stop" || whole["message"] != nil {
		t.Errorf("%v %s", err, text)
	}
	if p := m.prompts[0]; p != "system: Be brief.\nuser: Say hello.\n" {
		t.Errorf("the model is shown %q", p)
	}
	_, text = ask(nil)
	said, last := "", object{}
	for line := range strings.Lines(text) {
		last = object{}
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatal(err, line)
		}
		said += str(last, "response")
	}
	if said != "Hello 漢字" || last["done"] != true || str(last, "eval_count") != "7" {
		t.Errorf("streamed %q, %v", said, last)
	}
	for _, no := range []object{{"suffix": "x"}, {"raw": true}, {"context": []int{1}}, {"template": "x"}} {
		if code, text := ask(no); code != 400 {
			t.Errorf("%v: %d %s", no, code, text)
		}
	}
	_, _ = ask(surfaces[3].request(false, "more", nil)) // messages and tools are those of chat
	if p := m.prompts[len(m.prompts)-1]; p != m.prompts[0] {
		t.Errorf("with what belongs to chat the model is shown %q", p)
	}
	if _, text := post(t, s, "/api/show", object{"name": "m"}); !strings.Contains(text, `"capabilities":["completion","tools"]`) {
		t.Error(text)
	}
	if resp, text := post(t, s, "/api/show", object{"model": "none"}); resp.StatusCode != 404 || !strings.Contains(text, "none") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}

// The model knows the tool of a namespace by one name, and the client by two; a tool whose
// input is free text has one argument for the model.
func TestNamespacesAndCustomTools(t *testing.T) {
	function := object{"type": "function", "name": "get_weather", "parameters": parameters}
	tools := []any{object{"type": "namespace", "name": "mcp", "tools": []any{function}}, object{"type": "custom", "name": "patch"}, object{"type": "web_search"}, function}
	for _, tt := range []struct{ name, args, want string }{
		{"mcp__get_weather", `{"city":"Bern"}`, `function_call get_weather mcp {"city":"Bern"} `},
		{"get_weather", `{"city":"Bern"}`, `function_call get_weather  {"city":"Bern"} `},
		{"patch", `{"input":"*** Begin\n<b>"}`, "custom_tool_call patch   *** Begin\n<b>"},
	} {
		m := &fake{}
		m.reply = says(protocol.EncodeCall(tt.name, json.RawMessage(tt.args))).reply
		s := start(t, m, serve.Options{})
		_, text := post(t, s, "/v1/responses", object{"model": "m", "input": "x", "tools": tools})
		var v object
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err, text)
		}
		it := list(v, "output")[0].(object)
		if got := fmt.Sprintf("%s %s %s %s %s", str(it, "type"), str(it, "name"), str(it, "namespace"), str(it, "arguments"), str(it, "input")); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
		kind := "function_call_output"
		if it["type"] == "custom_tool_call" {
			kind = "custom_tool_call_output"
		}
		post(t, s, "/v1/responses", object{"model": "m", "tools": tools, "input": []any{object{"role": "user", "content": "x"}, it, object{"type": kind, "call_id": it["call_id"], "output": "done"}}})
		if p := m.prompts[len(m.prompts)-1]; !strings.Contains(p, protocol.EncodeCall(tt.name, json.RawMessage(tt.args))) || !strings.Contains(p, "["+tt.name+"] Success:\ndone") {
			t.Errorf("%s: the model is shown %s", tt.name, p)
		}
	}
}

// Of the items of replies the last are kept.
func TestItemsAreBounded(t *testing.T) {
	m := &calling.Model{Model: cutter{"Hello", nil}}
	h := serve.New(serve.Options{Open: func(context.Context, string) (*calling.Model, error) { return m, nil }})
	var ids []string
	for range 4097 {
		var v object
		if err := json.Unmarshal(ask(h, "/v1/responses", `{"model":"m","input":"x"}`).Body.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, str(list(v, "output")[0], "id"))
	}
	for i, status := range map[int]int{0: 400, 100: 200, 4096: 200} {
		for _, kind := range []string{`"type":"item_reference",`, `"type":null,`, ""} {
			w := ask(h, "/v1/responses", fmt.Sprintf(`{"model":"m","input":[{"role":"user","content":"x"},{%s"id":%q}]}`, kind, ids[i]))
			if w.Code != status || status == 400 && !strings.Contains(w.Body.String(), "item_not_found") {
				t.Errorf("item %d: %d %s", i, w.Code, w.Body)
			}
		}
	}
}
