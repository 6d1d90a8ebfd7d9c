//go:build linux

package ollama_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"mylm/providers/internal/ollamatest"
)

// serve goes through a call and its result by each API of mylm serve. The server reads
// only what is new of the second prompt.
func (e *endToEnd) serve(t *testing.T, model string) {
	server := ollamatest.Start(t, slots, "OLLAMA_DEBUG=1")
	server.Create(t, model, ollamatest.Agent(templates[model]))
	p := e.user(t, server.URL)
	cmd := exec.CommandContext(t.Context(), e.bin, "serve", "--addr", "127.0.0.1:0")
	cmd.Dir, cmd.Env = p.dir, p.env
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	line, err := bufio.NewReader(stderr).ReadString('\n')
	base := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line)
	if base == "" {
		t.Fatalf("no address: %q, %v", line, err)
	}
	type object = map[string]any
	post := func(path string, body object) (text string, reply object) {
		t.Helper()
		b, _ := json.Marshal(body)
		resp, err := http.Post(base+path, "application/json", bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		all, err := io.ReadAll(resp.Body)
		if err == nil {
			err = json.Unmarshal(all, &reply)
		}
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%s: %d %v %s", path, resp.StatusCode, err, all)
		}
		return string(all), reply
	}
	schema := object{"type": "object", "properties": object{"command": object{"type": "string"}}, "required": []string{"command"}}
	function := object{"type": "function", "function": object{"name": "execute_command", "parameters": schema}}
	user := object{"role": "user", "content": ollamatest.AskCall}
	const result = "hello-from-tool"
	// Each API's first request under a system prompt, how the second follows from it and its
	// reply, and where a reply has the length of the prompt.
	type turns struct {
		path   string
		first  func(system string) object
		second func(ask, reply object)
		prompt func(reply object) any
	}
	for _, api := range []turns{
		{"/v1/chat/completions", func(system string) object {
			return object{"model": model, "tools": []any{function}, "messages": []any{object{"role": "system", "content": system}, user}}
		}, func(ask, reply object) {
			said := reply["choices"].([]any)[0].(object)["message"].(object)
			call := said["tool_calls"].([]any)[0].(object)
			ask["messages"] = append(ask["messages"].([]any), said, object{"role": "tool", "tool_call_id": call["id"], "content": result})
		}, func(reply object) any { return reply["usage"].(object)["prompt_tokens"] }},
		{"/v1/responses", func(system string) object {
			tool := object{"type": "function", "name": "execute_command", "parameters": schema}
			return object{"model": model, "instructions": system, "tools": []any{tool}, "input": []any{user}}
		}, func(ask, reply object) {
			input := append(ask["input"].([]any), reply["output"].([]any)...)
			call := input[len(input)-1].(object)
			ask["input"] = append(input, object{"type": "function_call_output", "call_id": call["call_id"], "output": result})
		}, func(reply object) any { return reply["usage"].(object)["input_tokens"] }},
		{"/v1/messages", func(system string) object {
			named := object{"name": "execute_command", "input_schema": schema}
			return object{"model": model, "system": system, "max_tokens": 200, "tools": []any{named}, "messages": []any{user}}
		}, func(ask, reply object) {
			content := reply["content"].([]any)
			call := content[len(content)-1].(object)
			back := []any{object{"type": "tool_result", "tool_use_id": call["id"], "content": result}}
			ask["messages"] = []any{user, object{"role": "assistant", "content": content}, object{"role": "user", "content": back}}
		}, func(reply object) any { return reply["usage"].(object)["input_tokens"] }},
		{"/api/chat", func(system string) object {
			return object{"model": model, "stream": false, "tools": []any{function}, "messages": []any{object{"role": "system", "content": system}, user}}
		}, func(ask, reply object) {
			ask["messages"] = append(ask["messages"].([]any), reply["message"], object{"role": "tool", "tool_name": "execute_command", "content": result})
		}, func(reply object) any { return reply["prompt_eval_count"] }},
	} {
		// The server loses a slot now and then (see slots), and with it what it has read: one of
		// three tries has to do. Each has a system prompt of its own, in front.
		for try := 1; ; try++ {
			ask := api.first(fmt.Sprintf("%s asks for the %d. time.", api.path, try))
			_, reply := post(api.path, ask)
			api.second(ask, reply)
			before := len(server.Log())
			text, reply := post(api.path, ask)
			if !strings.Contains(text, ollamatest.Answer) {
				t.Fatalf("%s: %s", api.path, text)
			}
			prompt, _ := api.prompt(reply).(float64)
			// The log comes through a pipe: the first request's line may still arrive, with all of
			// its prompt.
			evaluated, late := int(prompt), false
			for deadline := time.After(patience / 10); 3*evaluated > int(prompt) && !late; time.Sleep(10 * time.Millisecond) {
				for _, found := range read.FindAllStringSubmatch(server.Log()[before:], -1) {
					n, _ := strconv.Atoi(found[1]) // digits
					evaluated = min(evaluated, n)
				}
				select {
				case <-deadline:
					late = true
				default:
				}
			}
			t.Logf("%s: %d of %v tokens of the prompt were evaluated", api.path, evaluated, prompt)
			if prompt > 0 && 3*evaluated <= int(prompt) {
				break
			}
			if try == 3 {
				t.Fatalf("%s: the second prompt does not begin as the first", api.path)
			}
		}
	}
}
