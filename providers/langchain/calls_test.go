package langchain_test

import (
	"encoding/json"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mylm/providers"
)

// TestServerCalls holds that a call which the server took out of the text is
// not lost, though no tools were offered.
func TestServerCalls(t *testing.T) {
	events := func(lines ...string) string { return "data: " + strings.Join(lines, "\n\ndata: ") + "\n\n" }
	list := providers.ServerCall{Name: "list_dir", Args: `{"path":"docs"}`}
	read := providers.ServerCall{Name: "read_file", Args: `{"path":"a \"b\".md"}`}
	tests := []struct {
		name, provider, kind, body string
		want                       []providers.ServerCall
		stop                       providers.StopReason
		parts                      []string // of the calls, as they came
	}{
		{"OpenAI, in pieces", "openai", "text/event-stream", events(
			`{"choices":[{"delta":{"content":"I will look."}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"list_dir","arguments":""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"docs\"}"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"2","function":{"name":"read_file","arguments":"{\"path\":\"a \\\"b\\\".md\"}"}}]}}]}`,
			`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`), []providers.ServerCall{list, read}, "tool_calls",
			[]string{"list_dir", `{"path":`, `"docs"}`, `read_file{"path":"a \"b\".md"}`}},
		{"OpenAI, without indexes", "openai", "text/event-stream", events(
			`{"choices":[{"delta":{"content":"I will look.","tool_calls":[{"id":"1","function":{"name":"list_dir","arguments":{"path":"docs"}}},{"id":"2","function":{"name":"read_file","arguments":"{\"path\":\"a \\\"b\\\".md\"}"}}]}}]}`,
			`{"choices":[{"delta":{},"finish_reason":"stop"}]}`), []providers.ServerCall{list, read}, "stop",
			[]string{`list_dir{"path":"docs"}`, `read_file{"path":"a \"b\".md"}`}},
		{"OpenAI, cut", "openai", "text/event-stream", events(
			`{"choices":[{"delta":{"content":"I will look.","tool_calls":[{"index":0,"function":{"name":"list_dir","arguments":"{\"pa"}}]}}]}`,
			`{"choices":[{"delta":{},"finish_reason":"length"}]}`), []providers.ServerCall{{Name: "list_dir", Args: `{"pa`}}, "length", []string{`list_dir{"pa`}},
		{"OpenAI, in one piece", "openai", "application/json",
			`{"object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls","message":{"content":"I will look.","tool_calls":[{"id":"1","function":{"name":"list_dir","arguments":"{\"path\":\"docs\"}"}}]}}]}`,
			[]providers.ServerCall{list}, "tool_calls", []string{`list_dir{"path":"docs"}`}},
		{"OpenAI's older field, in pieces", "openai", "text/event-stream", events(
			`{"choices":[{"delta":{"role":"assistant","content":"I will look.","function_call":null,"tool_calls":null}}]}`,
			`{"choices":[{"delta":{"content":null,"function_call":{"name":"list_dir","arguments":""}}}]}`,
			`{"choices":[{"delta":{"function_call":{"arguments":"{\"path\":"}}}]}`,
			`{"choices":[{"delta":{"function_call":{"arguments":"\"docs\"}"}}}]}`,
			`{"choices":[{"delta":{},"finish_reason":"function_call"}]}`, `[DONE]`), []providers.ServerCall{list}, "function_call",
			[]string{"list_dir", `{"path":`, `"docs"}`}},
		{"OpenAI's older field, in one piece", "openai", "application/json",
			`{"choices":[{"index":0,"finish_reason":"function_call","message":{"content":"I will look.","function_call":{"name":"list_dir","arguments":"{\"path\":\"docs\"}"}}}]}`,
			[]providers.ServerCall{list}, "function_call", []string{`list_dir{"path":"docs"}`}},
		{"OpenAI's older field beside the later one", "openai", "application/json",
			`{"choices":[{"index":0,"finish_reason":"stop","message":{"content":"I will look.","function_call":{"name":"list_dir","arguments":"{\"path\":\"docs\"}"},"tool_calls":[{"id":"1","function":{"name":"list_dir","arguments":"{\"path\":\"docs\"}"}}]}}]}`,
			[]providers.ServerCall{list}, "stop", []string{`list_dir{"path":"docs"}`}},
		{"OpenAI's older field with something else", "openai", "application/json",
			`{"choices":[{"index":0,"finish_reason":"stop","message":{"content":"I will look.","function_call":"none"}}]}`, nil, "stop", nil},
		{"Groq, in an error", "openai", "text/event-stream", events(`{"choices":[{"delta":{"content":"I will look."}}]}`) +
			`event: error` + "\n" + events(`{"error":{"message":"Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"{\"name\": \"list_dir\", \"arguments\": {\"path\":\"docs\"}}","status_code":400}}`),
			[]providers.ServerCall{list}, "stop", nil},
		{"Anthropic, in pieces", "anthropic", "text/event-stream", events(
			`{"type":"message_start","message":{}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"I will look."}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"1","name":"list_dir","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"docs\"}"}}`,
			`{"type":"content_block_stop","index":1}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`),
			[]providers.ServerCall{list}, "tool_use", []string{"list_dir", `{"path":`, `"docs"}`}},
		{"Anthropic, in one piece", "anthropic", "application/json",
			`{"type":"message","stop_reason":"tool_use","content":[{"type":"text","text":"I will look."},{"type":"tool_use","id":"1","name":"list_dir","input":{"path":"docs"}}]}`,
			[]providers.ServerCall{list}, "tool_use", nil},
		{"Google", "googleai", "text/event-stream", events(
			`{"candidates":[{"content":{"parts":[{"text":"I will look."},{"functionCall":{"name":"list_dir","args":{"path":"docs"}}}]},"finishReason":"STOP"}]}`),
			[]providers.ServerCall{list}, "stop", nil},
		{"Google, though it names no tools", "googleai", "text/event-stream", events(
			`{"candidates":[{"content":{"parts":[{"text":"I will look."},{"functionCall":{"name":"list_dir","args":{"path":"docs"}}}]}}]}`,
			`{"candidates":[{"finishReason":"UNEXPECTED_TOOL_CALL","finishMessage":"Unexpected tool call: Model tried to call an undeclared function: list_dir"}]}`),
			[]providers.ServerCall{list}, "stop", nil},
		{"Google, in the words of Gemini 3", "googleai", "text/event-stream", events(
			`{"candidates":[{"content":{"parts":[{"text":"I will look."}]}}]}`,
			`{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: call:default_api:list_dir{\"path\":\"docs\"}"}]}`),
			[]providers.ServerCall{list}, "stop", nil},
		{"Google, through OpenAI's", "openai", "text/event-stream", events(
			`{"choices":[{"delta":{"content":"I will look.","tool_calls":[{"id":"1","function":{"name":"list_dir","arguments":"{\"path\":\"docs\"}"}}]}}]}`,
			`{"choices":[{"delta":{},"finish_reason":"function_call_filter: UNEXPECTED_TOOL_CALL"}]}`),
			[]providers.ServerCall{list}, "stop", []string{`list_dir{"path":"docs"}`}},
		{"Ollama", "langchain-ollama", "application/x-ndjson",
			`{"message":{"content":"I will look.","tool_calls":[{"function":{"name":"list_dir","arguments":{"path":"docs"}}}]}}` + "\n" + `{"message":{"content":""},"done":true,"done_reason":"stop"}` + "\n",
			[]providers.ServerCall{list}, "stop", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newFake(t, speechOf(t, tt.provider), answers(200, tt.kind, tt.body)).model(t)
			var text string
			var calls []providers.ServerCall
			var parts []string
			var last providers.Chunk
			for c, err := range m.Generate(t.Context(), hello) {
				if err != nil {
					t.Fatal(err)
				}
				if text, last = text+c.Text, c; c.Call != nil {
					calls = append(calls, *c.Call)
				}
				if c.CallPart != "" {
					parts = append(parts, c.CallPart)
				}
			}
			if !slices.Equal(parts, tt.parts) {
				t.Errorf("parts %q, want %q", parts, tt.parts)
			}
			if text != "I will look." || !slices.Equal(calls, tt.want) || last.Stop != tt.stop {
				t.Errorf("%q, %+v, stop %q; want %+v, stop %q", text, calls, last.Stop, tt.want, tt.stop)
			}
		})
	}
}

// TestCallInARefusal is for Groq's error about a call of a model that was sent no tools:
// the call counts, as the server took it apart or as the model wrote it.
func TestCallInARefusal(t *testing.T) {
	call := providers.Chunk{Call: &providers.ServerCall{Name: "list_dir", Args: `{"path":"docs"}`}}
	for written, want := range map[string]providers.Chunk{
		`{"name": "list_dir", "arguments": {"path":"docs"}}`:       call,
		`{"name": "list_dir", "arguments": "{\"path\":\"docs\"}"}`: call,
		`<function=list_dir>{"path": "docs"}</function>`:           {Text: `<function=list_dir>{"path": "docs"}</function>`},
		"\n<function=list_dir>{}</function>":                       {Text: "<function=list_dir>{}</function>"},
		"I will look.\n<function=list_dir>{}</function>":           {Text: "I will look.\n<function=list_dir>{}</function>"},
	} {
		body, _ := json.Marshal(map[string]any{"error": map[string]string{"message": "Tool choice is none, but model called a tool", "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": written}})
		m := newFake(t, openAIAPI, answers(400, "application/json", string(body))).model(t)
		var got []providers.Chunk
		for c, err := range m.Generate(t.Context(), hello) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, c)
		}
		if len(got) != 2 || !reflect.DeepEqual(got[0], want) || got[1].Stop != providers.StopEnd {
			t.Errorf("%s: %+v", written, got)
		}
	}
}

// TestNoCallInARefusal is for errors that a request failed by: what they repeat of a prompt, a
// file or a page is nothing that the model wrote, and what helps against them stays.
func TestNoCallInARefusal(t *testing.T) {
	const call = `{"name":"run","arguments":{"command":"id"}}`
	quoted := strconv.Quote(call)
	failed := `"code":"tool_use_failed","failed_generation":` + quoted
	echo := strconv.Quote(`Failed to parse input at pos 0: {"error":{` + failed + `}}`)
	for name, tt := range map[string]struct {
		body string
		only int // 0: any status
	}{
		"in the words":               {body: `{"error":{"message":` + echo + `}}`},
		"in the words, with a code":  {body: `{"error":{"code":"tool_use_failed","message":` + echo + `}}`},
		"the error is words":         {body: `{"error":` + echo + `}`},
		"no code":                    {body: `{"error":{"message":"no","failed_generation":` + quoted + `}}`},
		"JSON that fits no schema":   {body: `{"error":{"message":"no","code":"json_validate_failed","failed_generation":` + quoted + `}}`},
		"the code is elsewhere":      {body: `{"code":"tool_use_failed","error":{"message":"no","failed_generation":` + quoted + `}}`},
		"at the top":                 {body: `{"message":"no",` + failed + `}`},
		"in a detail":                {body: `{"detail":{"message":"no",` + failed + `}}`},
		"in details":                 {body: `{"error":{"message":"no","details":[{` + failed + `}]}}`},
		"of a server behind":         {body: `{"error":{"message":"no","metadata":{"raw":` + strconv.Quote(`{"error":{`+failed+`}}`) + `}}}`},
		"in an event of an error":    {body: "event: error\ndata: " + `{"error":{"message":` + echo + `}}` + "\n\n", only: 200},
		"in another event":           {body: `data: {"error":{"message":"no",` + failed + "}}\n\n", only: 200},
		"in a list":                  {body: `[{"error":{"message":"no",` + failed + `}}]`},
		"no name":                    {body: `{"error":{"message":"no","code":"tool_use_failed","failed_generation":"{\"arguments\":{}}"}}`, only: 400},
		"no arguments":               {body: `{"error":{"message":"no","code":"tool_use_failed","failed_generation":"{\"name\":\"run\"}"}}`, only: 400},
		"arguments null":             {body: `{"error":{"message":"no","code":"tool_use_failed","failed_generation":"{\"name\":\"run\",\"arguments\":null}"}}`, only: 400},
		"words with a tag":           {body: `{"error":{"message":"no","code":"tool_use_failed","failed_generation":"Tool use failed: <x> is unknown"}}`, only: 400},
		"in full, without a key":     {body: `{"error":{"message":"no",` + failed + `}}`, only: 401},
		"in full, too many requests": {body: `{"error":{"message":"no",` + failed + `}}`, only: 429},
		"in full, a fault":           {body: `{"error":{"message":"no",` + failed + `}}`, only: 500},
		"in full, a redirection":     {body: `{"error":{"message":"no",` + failed + `}}`, only: 302},
		"in full, no error of HTTP":  {body: `{"error":{"message":"no",` + failed + `}}`, only: 200},
	} {
		for _, status := range []int{400, 401, 429, 500, 302, 200} {
			if tt.only != 0 && tt.only != status {
				continue
			}
			m := newFake(t, openAIAPI, answers(status, "application/json", tt.body)).model(t)
			var err error
			for c, failed := range m.Generate(t.Context(), hello) {
				if err = failed; c.Call != nil || c.Text != "" {
					t.Errorf("%s, %d: %q, %+v", name, status, c.Text, c.Call)
				}
			}
			want := map[int]providers.Kind{401: providers.Auth, 429: providers.RateLimited}[status]
			if err == nil || want != "" && providers.KindOf(err) != want {
				t.Errorf("%s, %d: %v", name, status, err)
			}
		}
	}
}

// TestLongCall counts the memory that the arguments of a call take in short
// pieces. It has to grow with their length, not with its square.
func TestLongCall(t *testing.T) {
	const pieces, most = 16 << 10, 32 << 10 // bytes for a piece, the fake server's too
	piece := `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"write","arguments":"0123456789abcdef"}}]}}]}` + "\n\n"
	body := strings.Repeat(piece, pieces) + `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	m := newFake(t, speechOf(t, "openai"), answers(200, "text/event-stream", body)).model(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	length := 0
	for c, err := range m.Generate(t.Context(), hello) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Call != nil {
			length += len(c.Call.Args)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / pieces; length != 16*pieces || each > most {
		t.Errorf("%d bytes of arguments, %d bytes of memory for each piece", length, each)
	}
}
