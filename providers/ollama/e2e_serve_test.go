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
	"strings"
	"testing"

	"mylm/providers/internal/ollamatest"
)

// serve goes through a call and its result by each API of mylm serve.
func (e *endToEnd) serve(t *testing.T, model string) {
	p := e.user(t, e.server.URL)
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

	_, r := post("/v1/chat/completions", object{"model": model, "tools": []any{function}, "messages": []any{user}})
	said := r["choices"].([]any)[0].(object)["message"].(object)
	call := said["tool_calls"].([]any)[0].(object)
	final["openai"], r = post("/v1/chat/completions", object{"model": model, "tools": []any{function}, "messages": []any{user, said, object{"role": "tool", "tool_call_id": call["id"], "content": result}}})
	if r["usage"].(object)["prompt_tokens"].(float64) == 0 {
		t.Error("no usage")
	}

	tool := object{"type": "function", "name": "execute_command", "parameters": schema}
	_, r = post("/v1/responses", object{"model": model, "tools": []any{tool}, "input": []any{user}})
	input := append([]any{user}, r["output"].([]any)...)
	call = input[len(input)-1].(object)
	input = append(input, object{"type": "function_call_output", "call_id": call["call_id"], "output": result})
	final["responses"], _ = post("/v1/responses", object{"model": model, "tools": []any{tool}, "input": input})

	named := object{"name": "execute_command", "input_schema": schema}
	_, r = post("/v1/messages", object{"model": model, "max_tokens": 200, "tools": []any{named}, "messages": []any{user}})
	content := r["content"].([]any)
	call = content[len(content)-1].(object)
	back := []any{object{"type": "tool_result", "tool_use_id": call["id"], "content": result}}
	final["anthropic"], _ = post("/v1/messages", object{"model": model, "max_tokens": 200, "tools": []any{named}, "messages": []any{
		user, object{"role": "assistant", "content": content}, object{"role": "user", "content": back}}})

	_, r = post("/api/chat", object{"model": model, "stream": false, "tools": []any{function}, "messages": []any{user}})
	final["ollama"], _ = post("/api/chat", object{"model": model, "stream": false, "tools": []any{function}, "messages": []any{user, r["message"], object{"role": "tool", "tool_name": "execute_command", "content": result}}})

	for api, text := range final {
		if !strings.Contains(text, ollamatest.Answer) {
			t.Errorf("%s: %s", api, text)
		}
	}
}
