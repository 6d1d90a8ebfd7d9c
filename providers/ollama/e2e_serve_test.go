//go:build linux

package ollama_test

import (
	"bufio"
	"bytes"
	"encoding/json"
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
	final := map[string]string{}
	// again asks with the result. Each API has a system prompt of its own, in front, so that
	// nothing but the API's own first request can have left the prompt in the cache.
	again := func(path string, body object, usage func(object) any) {
		t.Helper()
		before := len(server.Log())
		text, reply := post(path, body)
		final[path] = text
		prompt, _ := usage(reply).(float64)
		// The log comes through a pipe: the first request's line may still arrive, with all of
		// its prompt.
		evaluated := int(prompt)
		for deadline := time.After(patience); 3*evaluated > int(prompt) || prompt == 0; time.Sleep(10 * time.Millisecond) {
			for _, found := range read.FindAllStringSubmatch(server.Log()[before:], -1) {
				n, err := strconv.Atoi(found[1])
				if err != nil {
					t.Fatal(err)
				}
				evaluated = min(evaluated, n)
			}
			select {
			case <-deadline:
				t.Fatalf("%s: %d of %v tokens of the prompt were evaluated", path, evaluated, prompt)
			default:
			}
		}
		t.Logf("%s: %d of %v tokens of the prompt were evaluated", path, evaluated, prompt)
	}

	chat := []any{object{"role": "system", "content": "Chat Completions ask."}, user}
	_, r := post("/v1/chat/completions", object{"model": model, "tools": []any{function}, "messages": chat})
	said := r["choices"].([]any)[0].(object)["message"].(object)
	call := said["tool_calls"].([]any)[0].(object)
	chat = append(chat, said, object{"role": "tool", "tool_call_id": call["id"], "content": result})
	again("/v1/chat/completions", object{"model": model, "tools": []any{function}, "messages": chat}, func(r object) any { return r["usage"].(object)["prompt_tokens"] })

	tool := object{"type": "function", "name": "execute_command", "parameters": schema}
	ask := object{"model": model, "instructions": "Responses ask.", "tools": []any{tool}, "input": []any{user}}
	_, r = post("/v1/responses", ask)
	input := append([]any{user}, r["output"].([]any)...)
	call = input[len(input)-1].(object)
	ask["input"] = append(input, object{"type": "function_call_output", "call_id": call["call_id"], "output": result})
	again("/v1/responses", ask, func(r object) any { return r["usage"].(object)["input_tokens"] })

	named := object{"name": "execute_command", "input_schema": schema}
	ask = object{"model": model, "system": "Messages ask.", "max_tokens": 200, "tools": []any{named}, "messages": []any{user}}
	_, r = post("/v1/messages", ask)
	content := r["content"].([]any)
	call = content[len(content)-1].(object)
	back := []any{object{"type": "tool_result", "tool_use_id": call["id"], "content": result}}
	ask["messages"] = []any{user, object{"role": "assistant", "content": content}, object{"role": "user", "content": back}}
	again("/v1/messages", ask, func(r object) any { return r["usage"].(object)["input_tokens"] })

	chat = []any{object{"role": "system", "content": "The API of Ollama asks."}, user}
	_, r = post("/api/chat", object{"model": model, "stream": false, "tools": []any{function}, "messages": chat})
	chat = append(chat, r["message"], object{"role": "tool", "tool_name": "execute_command", "content": result})
	again("/api/chat", object{"model": model, "stream": false, "tools": []any{function}, "messages": chat}, func(r object) any { return r["prompt_eval_count"] })

	for api, text := range final {
		if !strings.Contains(text, ollamatest.Answer) {
			t.Errorf("%s: %s", api, text)
		}
	}
}
