package langchain_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mylm/providers"
)

// TestOddForms is for replies in which a field has another form than its API
// says, or an event another frame, as servers and gateways write them. None of
// it is lost, and none of it is asked for again.
func TestOddForms(t *testing.T) {
	t.Parallel()
	openAI := func(events ...string) string { return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n" }
	choice := func(fields string) string { return `{"choices":[{"index":0,` + fields + `}]}` }
	const end = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	yes := choice(`"delta":{"content":"yes"}`)
	const done = `{"message":{"content":""},"done":true,"done_reason":"stop"}` + "\n"
	message := func(fields string) string {
		return `{"message":{"role":"assistant",` + fields + `},"done":false}` + "\n"
	}
	list := []providers.ServerCall{{Name: "ls", Args: `{"a":1}`}}
	two := append(slices.Clone(list), providers.ServerCall{Name: "cat", Args: `{}`})
	piece := func(fields string) string { return choice(`"delta":{"tool_calls":[{` + fields + `}]}`) }
	for _, tt := range []struct {
		name, provider, kind, body string
		text, thought              string // text is "yes" if both are empty, and there is no call
		calls                      []providers.ServerCall
		stop                       providers.StopReason // StopEnd if it is empty
	}{
		// Text.
		{name: "a pair in two halves", body: openAI(choice(`"delta":{"content":"a\ud83d"}`), choice(`"delta":{"content":"\ude00b"}`), end), text: "a😀b"},
		{name: "a pair, a thought in it", body: openAI(choice(`"delta":{"content":"a\ud83d","reasoning":"\ud83d"}`), choice(`"delta":{"content":"\ude00b","reasoning":"\ude03"}`), end), text: "a😀b", thought: "😃"},
		{name: "an escaped backslash is no half", body: openAI(choice(`"delta":{"content":"\\ud83d"}`), choice(`"delta":{"content":"\\ude00"}`), end), text: `\ud83d\ude00`},
		{name: "half a pair, and text", body: openAI(choice(`"delta":{"content":"a\ud83d"}`), choice(`"delta":{"content":"b"}`), end), text: "a\ufffdb"},
		{name: "a character in two events", body: openAI(choice("\"delta\":{\"content\":\"a\xf0\x9f\"}"), choice("\"delta\":{\"content\":\"\x98\x80b\"}"), end), text: "a😀b"},
		{name: "a pair in the arguments", body: openAI(piece(`"index":0,"function":{"name":"ls","arguments":"{\"a\":\"\ud83d"}`), piece(`"index":0,"function":{"arguments":"\ude00\"}"}`), end), calls: []providers.ServerCall{{Name: "ls", Args: `{"a":"😀"}`}}},
		{name: "a pair in two halves", provider: "anthropic", body: openAI(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83d"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ude00b"}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`), text: "a😀b"},
		{name: "a pair in two halves", provider: "googleai", body: openAI(`{"candidates":[{"content":{"parts":[{"text":"a\ud83d"}]}}]}`, `{"candidates":[{"content":{"parts":[{"text":"\ude00b"}]},"finishReason":"STOP"}]}`), text: "a😀b"},
		{name: "a pair in two halves", provider: "langchain-ollama", body: message(`"content":"a\ud83d"`) + message(`"content":"\ude00b"`) + done, text: "a😀b"},
		{name: "one part", body: openAI(choice(`"delta":{"content":{"type":"text","text":"yes"}}`), end)},
		{name: "bare strings as parts", body: openAI(choice(`"delta":{"content":["y","es"]}`), end)},
		{name: "a part with a value", body: openAI(choice(`"delta":{"content":[{"type":"text","text":{"value":"yes","annotations":[]}}]}`), end)},
		{name: "a part without text", body: openAI(choice(`"delta":{"content":[{"type":"reference","reference_ids":[1]},{"type":"text","text":"yes"}]}`), end)},
		{name: "a number", body: openAI(choice(`"delta":{"content":42}`), end), text: "42"},
		{name: "a list of deltas", body: openAI(choice(`"delta":[]`), choice(`"delta":[{"content":"yes"}]`), end)},
		{name: "a text for a delta", body: openAI(choice(`"delta":"yes"`), end)},
		{name: "no delta", body: openAI(choice(`"delta":null`), yes, end)},
		{name: "the text of older completions", body: openAI(choice(`"text":"yes","finish_reason":null`), choice(`"text":"","finish_reason":"stop"`))},
		{name: "one choice for a list", body: openAI(`{"choices":{"index":0,"delta":{"content":"yes"}}}`, `{"choices":{"delta":{},"finish_reason":"stop"}}`)},
		{name: "an index in quotes", body: openAI(`{"choices":[{"index":"0","delta":{"content":"yes"}}]}`, end)},
		{name: "an index of one", body: openAI(`{"choices":[{"index":1,"delta":{"content":"yes"}}]}`, `{"choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}`)},
		{name: "thought as an object", body: openAI(choice(`"delta":{"content":"yes","reasoning_content":{"text":"hm"}}`), end), text: "yes", thought: "hm"},
		{name: "thought that is false", body: openAI(choice(`"delta":{"content":"yes","reasoning_content":false,"refusal":false}`), end)},
		{name: "thought that is a number", body: openAI(choice(`"delta":{"content":"yes","reasoning":0}`), end)},
		{name: "other fields of other types", body: openAI(`{"object":1,"errors":{},"choices":[{"delta":{"content":"yes"}}]}`, end)},
		{name: "a list of parts", provider: "langchain-ollama", body: message(`"content":[{"type":"text","text":"yes"}]`) + done},
		{name: "thought of other types", provider: "langchain-ollama", body: message(`"content":"y","thinking":false`) + message(`"content":"es","thinking":{}`) + done},
		{name: "thought that is a number", provider: "langchain-ollama", body: message(`"content":"yes","thinking":0`) + done},
		{name: "no message", provider: "langchain-ollama", body: `{"model":"m","message":null,"done":false}` + "\n" + message(`"content":"yes"`) + done},

		// Ends.
		{name: "a number for a reason", body: openAI(choice(`"delta":{"content":"y"},"finish_reason":0`), choice(`"delta":{"content":"es"},"finish_reason":0`), choice(`"delta":{},"finish_reason":1`))},
		{name: "an object for a reason", body: openAI(yes, choice(`"delta":{},"finish_reason":{"type":"stop"}`))},
		{name: "null in quotes", body: openAI(choice(`"delta":{"content":"y"},"finish_reason":"null"`), choice(`"delta":{"content":"es"},"finish_reason":"null"`), choice(`"delta":{},"finish_reason":"length"`)), text: "yes", stop: providers.StopLength},
		{name: "another word", body: openAI(yes, "DONE")},
		{name: "a word in small letters", body: openAI(yes, "[done]")},
		{name: "a word in quotes", body: openAI(yes, `"[DONE]"`)},
		{name: "nothing behind the reason", provider: "anthropic", body: openAI(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"yes"}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`)},
		{name: "garbage behind the reason", body: openAI(yes, end, "oops")},
		{name: "an error behind the reason", body: openAI(yes, end, `{"error":{"message":"no usage"}}`)},
		{name: "a number for a reason", provider: "langchain-ollama", body: message(`"content":"yes"`) + `{"done":true,"done_reason":0}`},
		{name: "an end in quotes", provider: "langchain-ollama", body: message(`"content":"yes"`) + `{"done":"true"}`},

		// Frames.
		{name: "data twice", body: "data: data: " + yes + "\n\ndata: data: " + end + "\n\ndata: data: [DONE]\n\n"},
		{name: "two values in an event", body: openAI(choice(`"delta":{"content":"y"}`)+choice(`"delta":{"content":"es"}`), end)},
		{name: "two events in a line", body: openAI(choice(`"delta":{"content":"y"}`) + " data: " + choice(`"delta":{"content":"es"}`) + "data: " + end)},
		{name: "an event that is noise", body: "event: ping\ndata: ping\n\n" + openAI(yes) + "event: keepalive\ndata: 12:00\n\n" + openAI(end)},
		{name: "lines of JSON", kind: "application/x-ndjson", body: choice(`"delta":{"content":"y"}`) + "\n" + choice(`"delta":{"content":"es"}`) + "\n" + end + "\n"},
		{name: "lines of JSON, said to be one", kind: "application/json", body: choice(`"delta":{"content":"y"}`) + choice(`"delta":{"content":"es"}`) + "\n\n" + end + "\n[DONE]"},
		{name: "JSON over several lines", provider: "langchain-ollama", body: "{\n \"message\": {\n  \"content\": \"yes\"\n },\n \"done\": false\n}\n{\n \"done\": true\n}\n"},

		// Calls.
		{name: "an object for no calls", body: openAI(choice(`"delta":{"content":"y","tool_calls":{}}`), choice(`"delta":{"content":"es","tool_calls":""}`), end)},
		{name: "one call for a list", body: openAI(choice(`"delta":{"tool_calls":{"id":"1","function":{"name":"ls","arguments":"{\"a\":1}"}}}`), end), calls: list},
		{name: "a call without function", body: openAI(piece(`"name":"ls","arguments":{"a":1}`), end), calls: list},
		{name: "other types", body: openAI(piece(`"index":"0","id":7,"function":{"name":"ls","arguments":"{\"a\":1}"}`), end), calls: list},
		{name: "nulls in the pieces", body: openAI(piece(`"index":null,"id":"1","function":{"name":"ls","arguments":null}`), piece(`"index":null,"id":null,"function":{"name":null,"arguments":"{\"a\":1}"}`), end), calls: list},
		{name: "null beside the parameters", body: openAI(piece(`"index":0,"id":"1","function":{"name":"ls","arguments":null,"parameters":{"a":1}}`), end), calls: list},
		{name: "two calls in pieces without an index", body: openAI(piece(`"id":"1","function":{"name":"ls","arguments":""}`), piece(`"function":{"arguments":"{\"a\":1}"}`), piece(`"id":"2","function":{"name":"cat","arguments":""}`), piece(`"function":{"arguments":"{}"}`), end), calls: two},
		{name: "two calls with neither index nor id", body: openAI(choice(`"delta":{"tool_calls":[{"function":{"name":"ls","arguments":"{\"a\":1}"}},{"function":{"name":"cat","arguments":"{}"}}]}`), end), calls: two},
		{name: "the name in each piece, with neither index nor id", body: openAI(piece(`"function":{"name":"ls","arguments":"{\"a\""}`), piece(`"function":{"name":"ls","arguments":":[\"}\\\"]\""}`), piece(`"function":{"name":"ls","arguments":",{}]}"}`), piece(`"function":{"name":"cat","arguments":"{"}`), piece(`"function":{"name":"cat","arguments":"}"}`), end),
			calls: []providers.ServerCall{{Name: "ls", Args: `{"a":["}\"]",{}]}`}, {Name: "cat", Args: "{}"}}},
		{name: "all of it in each piece, with neither index nor id", body: openAI(piece(`"function":{"name":"ls","arguments":"{"}`), piece(`"function":{"name":"ls","arguments":"{\"a\":1}"}`), piece(`"function":{"name":"cat","arguments":"{}"}`), end), calls: two},
		{name: "an id for each piece", body: openAI(piece(`"index":0,"id":"1","function":{"name":"ls","arguments":""}`), piece(`"index":0,"id":"2","function":{"name":"","arguments":"{\"a\":1}"}`), end), calls: list},
		{name: "the name in each piece", body: openAI(piece(`"index":0,"id":"1","function":{"name":"ls","arguments":"{\"a\""}`), piece(`"index":0,"id":"1","function":{"name":"ls","arguments":":1}"}`), end), calls: list},
		{name: "the name in pieces", body: openAI(piece(`"index":0,"function":{"name":"l","arguments":""}`), piece(`"index":0,"function":{"name":"s","arguments":"{\"a\":1}"}`), end), calls: list},
		{name: "all of it in each piece", body: openAI(piece(`"index":0,"id":"1","function":{"name":"ls","arguments":"{\"a\""}`), piece(`"index":0,"id":"1","function":{"name":"ls","arguments":"{\"a\":1}"}`), piece(`"index":0,"id":"1","function":{"name":"ls","arguments":"{\"a\":1}"}`), end), calls: list},
		{name: "an object for no calls", provider: "langchain-ollama", body: message(`"content":"y","tool_calls":{}`) + message(`"content":"es","tool_calls":""`) + done},
		{name: "one call for a list", provider: "langchain-ollama", body: message(`"content":"","tool_calls":{"function":{"name":"ls","arguments":{"a":1}}}`) + done, calls: list},
		{name: "a call without function", provider: "langchain-ollama", body: message(`"content":"","tool_calls":[{"name":"ls","parameters":{"a":1}}]`) + done, calls: list},
		{name: "null beside the parameters", provider: "langchain-ollama", body: message(`"content":"","tool_calls":[{"function":{"name":"ls","arguments":null,"parameters":{"a":1}}}]`) + done, calls: list},
		{name: "a name for a function", provider: "langchain-ollama", body: message(`"content":"","tool_calls":[{"function":"ls"}]`) + done, calls: []providers.ServerCall{{Name: "ls"}}},
		{name: "a call of Python that Google quotes", provider: "googleai", body: openAI(`{"candidates":[{"content":{"parts":[{"text":"yes"}]}}]}`, `{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(default_api.ls(a=1))"}]}`), text: "yes\n<tool_code>print(default_api.ls(a=1))</tool_code>"},
		{name: "the beginning of one", provider: "googleai", body: openAI(`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: default_api.ls(a=[\"x"}]}`), text: "\n<tool_code>default_api.ls(a=[\"x</tool_code>"},
		{name: "one that a gateway has from Google", kind: "application/json", body: `{"choices":[{"index":0,"finish_reason":"malformed_function_call","message":{"role":"assistant","refusal":"Malformed function call: print(default_api.ls(a=1))"}}]}`, text: "\n<tool_code>print(default_api.ls(a=1))</tool_code>"},
	} {
		if tt.provider == "" {
			tt.provider = "openai"
		}
		if tt.text+tt.thought == "" && tt.calls == nil {
			tt.text = "yes"
		}
		if tt.stop == "" {
			tt.stop = providers.StopEnd
		}
		t.Run(tt.provider+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			s := speechOf(t, tt.provider)
			if tt.kind == "" {
				tt.kind = s.kind
			}
			m := newFake(t, s, answers(http.StatusOK, tt.kind, tt.body)).model(t)
			var text, thought string
			var calls []providers.ServerCall
			var last providers.Chunk
			for c, err := range m.Generate(t.Context(), hello) {
				if err != nil {
					t.Fatal(err)
				}
				if text, thought, last = text+c.Text, thought+c.Thought, c; c.Call != nil {
					calls = append(calls, *c.Call)
				}
			}
			if text != tt.text || thought != tt.thought || !slices.Equal(calls, tt.calls) || last.Stop != tt.stop {
				t.Errorf("text %q, thought %q, calls %+v, stop %q", text, thought, calls, last.Stop)
			}
		})
	}
}

// TestOddFaults is for what must not be taken for a whole reply.
func TestOddFaults(t *testing.T) {
	t.Parallel()
	const half = `{"choices":[{"index":0,"delta":{"content":"half"}}]}`
	for name, tt := range map[string]struct {
		provider, kind, body string
		fault                providers.Kind
		says                 string
	}{
		"an error in the choice":          {"openai", "", "data: " + `{"choices":[{"delta":{"content":"half"},"error":{"message":"worker died","code":502},"finish_reason":null}]}` + "\n\ndata: [DONE]\n\n", providers.ServerFault, "worker died"},
		"errors in words":                 {"openai", "", `data: {"errors":"worker died"}` + "\n\ndata: [DONE]\n\n", providers.ServerFault, "worker died"},
		"an error of MiniMax":             {"openai", "application/json", `{"base_resp":{"status_code":1004,"status_msg":"login fail"}}`, providers.ServerFault, "login fail"},
		"DeepSeek is busy":                {"openai", "", `data: {"choices":[{"delta":{"content":"half"}}]}` + "\n\n" + `data: {"choices":[{"delta":{},"finish_reason":"insufficient_system_resource"}]}` + "\n\n", providers.ServerFault, "insufficient_system_resource"},
		"Google, through OpenAI's":        {"openai", "", `data: {"choices":[{"delta":{},"finish_reason":"function_call_filter: MALFORMED_FUNCTION_CALL"}]}` + "\n\n", providers.ServerFault, "MALFORMED_FUNCTION_CALL"},
		"Google, through OpenRouter":      {"openai", "", `data: {"choices":[{"delta":{"content":""},"finish_reason":"error","native_finish_reason":"MALFORMED_FUNCTION_CALL"}]}` + "\n\n", providers.ServerFault, "MALFORMED_FUNCTION_CALL"},
		"Google, a call it cannot read":   {"googleai", "", `data: {"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: Function call is empty - no input to parse."}]}` + "\n\n", providers.ServerFault, "no input to parse"},
		"Google, a call it does not show": {"googleai", "", `data: {"candidates":[{"content":{"parts":[{"text":"I look."}]},"finishReason":"UNEXPECTED_TOOL_CALL"}]}` + "\n\n", providers.ServerFault, "UNEXPECTED_TOOL_CALL"},
		"Google, a call without a name":   {"googleai", "", `data: {"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: call:default_api:{}"}]}` + "\n\n", providers.ServerFault, "default_api"},
		"Google, in capitals":             {"openai", "application/json", `{"choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"MALFORMED_FUNCTION_CALL"}]}`, providers.ServerFault, "MALFORMED_FUNCTION_CALL"},
		"Google, through a gateway":       {"openai", "", `data: {"choices":[{"delta":{},"finish_reason":"malformed_function_call"}]}` + "\n\n", providers.ServerFault, "malformed_function_call"},
		"two values in an event, cut":     {"openai", "", "data: " + half + half[:20] + "\n\n", providers.Interrupted, ""},
		"lines of JSON, cut":              {"openai", "application/x-ndjson", half + "\n", providers.Interrupted, "without a sign"},
		"lines of JSON, cut in one":       {"openai", "application/x-ndjson", half + "\n" + half[:20], providers.Interrupted, ""},
		"lines of JSON, garbled":          {"openai", "application/x-ndjson", half + "\noops\n" + half, providers.Interrupted, "not valid JSON"},
		"a call that nobody can read":     {"openai", "", `data: {"choices":[{"delta":{"content":"I look.","tool_calls":[42]}}]}` + "\n\ndata: [DONE]\n\n", providers.Interrupted, "unknown form"},
		"a call without a name":           {"openai", "", `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":"stop"}]}` + "\n\n", providers.Interrupted, "sent a tool call in an unknown form"},
		"a call without a name, there":    {"langchain-ollama", "", `{"message":{"content":"I look.","tool_calls":[{"id":"1"}]},"done":false}` + "\n" + `{"done":true}` + "\n", providers.Interrupted, "sent a tool call in an unknown form"},
		"JSON over several lines, cut":    {"langchain-ollama", "", "{\n \"message\": {\n  \"content\": \"half\"\n },\n \"done\": false\n}\n{\n \"me", providers.Interrupted, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := speechOf(t, tt.provider)
			if tt.kind == "" {
				tt.kind = s.kind
			}
			f := newFake(t, s, answers(http.StatusOK, tt.kind, tt.body))
			_, _, _, err := generate(t, f.model(t), providers.Request{})
			if providers.KindOf(err) != tt.fault || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want kind %q and %q", err, tt.fault, tt.says)
			}
		})
	}
}

// TestManyValuesInAnEvent is for gateways that join what came meanwhile in one event: all of it
// is read.
func TestManyValuesInAnEvent(t *testing.T) {
	t.Parallel()
	const n = 20_000
	piece := `{"choices":[{"index":0,"delta":{"content":"a"}}]} `
	for name, body := range map[string]string{"pieces": piece, "empty ones between": "{} " + piece, "behind data:": "data: " + piece} {
		f := newFake(t, openAIAPI, answers(http.StatusOK, "text/event-stream", "data: "+strings.Repeat(body, n)+"\n\ndata: [DONE]\n\n"))
		if text, _, _, err := generate(t, f.model(t), providers.Request{}); len(text) != n || err != nil {
			t.Errorf("%s: %d of %d pieces, %v", name, len(text), n, err)
		}
	}
}

// TestUsageBesideAFault holds that what comes behind the finish reason counts the usage, whatever
// else it says.
func TestUsageBesideAFault(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{`"choices":[{"index":0,"delta":{},"finish_reason":"error"}]`, `"error":{"message":"worker died"}`} {
		f := newFake(t, openAIAPI, answers(http.StatusOK, "text/event-stream",
			`data: {"choices":[{"index":0,"delta":{"content":"yes"},"finish_reason":"stop"}]}`+"\n\n"+
				`data: {`+fault+`,"usage":{"prompt_tokens":7,"completion_tokens":3}}`+"\n\n"))
		text, _, last, err := generate(t, f.model(t), providers.Request{})
		if text != "yes" || err != nil || last.Usage.Prompt != 7 || last.Usage.Output != 3 {
			t.Errorf("%s: %q, %+v, %v", fault, text, last.Usage, err)
		}
	}
}

// TestUsageOfAFailure holds that an error has what the reply cost that it ended, as far as the
// server said it before.
func TestUsageOfAFailure(t *testing.T) {
	t.Parallel()
	const counted = `"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":2}`
	for name, tt := range map[string]struct{ provider, body string }{
		"Anthropic, cut": {"anthropic", `data: {"type":"message_start","message":{"usage":{"input_tokens":7,"output_tokens":1}}}` + "\n\n" +
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half"}}` + "\n\n"},
		"Google, cut":      {"googleai", `data: {"candidates":[{"content":{"parts":[{"text":"half"}]}}],` + counted + "}\n\n"},
		"Google, refused":  {"googleai", `data: {"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}],` + counted + "}\n\n"},
		"OpenAI, filtered": {"openai", `data: {"choices":[{"delta":{},"finish_reason":"content_filter"}],"usage":{"prompt_tokens":7}}` + "\n\n" + "data: [DONE]\n\n"},
	} {
		f := newFake(t, speechOf(t, tt.provider), answers(http.StatusOK, "text/event-stream", tt.body))
		_, _, _, err := generate(t, f.model(t), providers.Request{})
		var e *providers.Error
		if !errors.As(err, &e) || e.Usage.Prompt != 7 {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestOverflowWords is for the words in which servers say that a prompt is too
// long, and its size and the window's among them. 0 is none.
func TestOverflowWords(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]struct{ prompt, window int }{
		"This model's maximum prompt length is 131072 but the request contains 140000 tokens.":                                             {140000, 131072},
		"The input (9000 tokens) is longer than the model's context length (8192 tokens).":                                                 {9000, 8192},
		"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`": {5000, 4096},
		"Input length 131393 exceeds the maximum allowed input length of 131040 tokens.":                                                   {131393, 131040},
		"Input length (265330) exceeds model's maximum context length (262144).":                                                           {265330, 262144},
		"Prompt too long: 5152 tokens exceeds max_seq_len 2048 (leave room for output tokens)":                                             {5152, 2048},
		"Context size has been exceeded.":                                                          {},
		"prompt too long; exceeded max context length by 2048 tokens":                              {},
		"The number of tokens to keep from the initial prompt is greater than the context length.": {},
	} {
		for _, status := range []int{400, 500} {
			body, _ := json.Marshal(map[string]any{"error": map[string]string{"message": words}})
			f := newFake(t, openAIAPI, answers(status, "application/json", string(body)))
			_, _, _, err := generate(t, f.model(t), providers.Request{})
			var e *providers.Error
			if !errors.As(err, &e) || e.Kind != providers.Overflow || e.PromptTokens != want.prompt || e.Window != want.window {
				t.Errorf("%d, %q: %+v", status, words, e)
			}
		}
	}
}
