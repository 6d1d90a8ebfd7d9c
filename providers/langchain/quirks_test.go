package langchain_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mylm/providers"
)

// quirk is a stream as some server writes it.
type quirk struct {
	name   string
	stream string
	kind   string // Content-Type; "" is that of the wire
	text   string
	think  string
	last   providers.Chunk
	fault  providers.Kind
}

const stopped = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"

var ended = providers.Chunk{Stop: providers.StopEnd}

var openAIQuirks = []quirk{
	{name: "finish_reason without [DONE]", stream: say("yes") + stopped, text: "yes", last: ended},
	{name: "[DONE] without finish_reason", stream: say("yes") + "data: [DONE]\n\n", text: "yes", last: ended},
	{name: "no space, no empty lines, CRLF", stream: `data:{"choices":[{"delta":{"content":"yes"}}]}` + "\r\n" + `data:{"choices":[{"delta":{},"finish_reason":"length"}]}` + "\r\ndata:[DONE]\r\n",
		text: "yes", last: providers.Chunk{Stop: providers.StopLength}},
	{name: "no Content-Type", kind: "application/octet-stream", stream: "\n" + say("yes") + stopped, text: "yes", last: ended},
	{name: "comments, marks and other fields", stream: ": hi\n\nid: 1\nretry: 5\n" + say("yes") + "data: [PING]\n\n" + stopped, text: "yes", last: ended},
	{name: "data in several lines", stream: "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"yes\"}}]}\n\n" + stopped, text: "yes", last: ended},
	{name: "last event without its empty line", stream: say("yes") + strings.TrimRight(stopped, "\n"), text: "yes", last: ended},
	{name: "last event in several lines, without its empty line", stream: say("yes") + "data: {\"choices\":\ndata: [{\"finish_reason\":\"stop\"}]}", text: "yes", last: ended},
	{name: "reasoning by its other name", stream: `data: {"choices":[{"delta":{"content":"","reasoning":"hm"}}]}` + "\n\n" + say("yes") + stopped, text: "yes", think: "hm", last: ended},
	{name: "reasoning by both names", stream: `data: {"choices":[{"delta":{"reasoning_content":"hm","reasoning":"hm"}}]}` + "\n\n" + stopped, think: "hm", last: ended},
	{name: "content in parts", stream: `data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"yes"}]}}]}` + "\n\n" + stopped,
		text: "yes", think: "hm", last: ended},
	{name: "nulls", stream: `data: {"error":null,"choices":[{"index":0,"delta":{"role":null,"content":null,"tool_calls":null},"finish_reason":null}],"usage":null}` + "\n\n" + say("yes") + stopped, text: "yes", last: ended},
	{name: "refusal in words", stream: `data: {"choices":[{"delta":{"refusal":"I cannot."}}]}` + "\n\n" + stopped, text: "I cannot.", last: ended},
	{name: "another choice", stream: say("yes") + `data: {"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"length"}]}` + "\n\n" + stopped, text: "yes", last: ended},
	{name: "a call and no text", stream: `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"ls","arguments":"{}"}}]}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n", last: providers.Chunk{Stop: "tool_calls"}},
	{name: "a filter cuts", stream: say("ye") + `data: {"choices":[{"delta":{},"finish_reason":"content_filter"}]}` + "\n\n", text: "ye", last: providers.Chunk{Stop: "content_filter"}},
	{name: "cached tokens", stream: say("yes") + stopped + `data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}` + "\n\n",
		text: "yes", last: providers.Chunk{Stop: providers.StopEnd, Usage: providers.Usage{Prompt: 10, Output: 2, Evaluated: 6}}},
	{name: "llama.cpp's timings", stream: say("yes") + `data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2},"timings":{"prompt_n":3,"prompt_ms":1.5,"predicted_ms":20}}` + "\n\n",
		text: "yes", last: providers.Chunk{Stop: providers.StopEnd, Usage: providers.Usage{Prompt: 10, Output: 2, Evaluated: 3, PromptTime: 1500 * time.Microsecond, OutputTime: 20 * time.Millisecond}}},
	{name: "usage of another shape", stream: say("yes") + stopped + `data: {"choices":[],"usage":{"prompt_tokens":"many"}}` + "\n\n", text: "yes", last: ended},
	{name: "damaged data", stream: say("one ") + "data: oops two\n\n" + say("three") + stopped, text: "one ", fault: providers.Interrupted},
	{name: "a damaged field", stream: say("one ") + `dat: {"choices":[{"delta":{"content":"two "}}]}` + "\n\n" + say("three") + stopped, text: "one ", fault: providers.Interrupted},
	{name: "an error that is none", stream: `data: {"error":"","choices":[{"delta":{"content":"y"}}]}` + "\n\n" + `data: {"error":{},"choices":[{"delta":{"content":"es"}}]}` + "\n\n" + stopped, text: "yes", last: ended},
	{name: "the end cut in half", stream: say("yes") + stopped + "data: [DO", text: "yes", last: ended},
	{name: "a byte order mark", stream: "\ufeff" + say("yes") + stopped, text: "yes", last: ended},
	{name: "all of it once more in a message", stream: say("y") + say("es") + `data: {"choices":[{"delta":{},"message":{"content":"yes"},"finish_reason":"stop"}]}` + "\n\n", text: "yes", last: ended},
	{name: "a message for a delta", stream: `data: {"choices":[{"message":{"content":"yes"},"finish_reason":"stop"}]}` + "\n\n", text: "yes", last: ended},
	{name: "content of no known shape", stream: say("y") + `data: {"choices":[{"delta":{"content":{"words":"lost"}}}]}` + "\n\n" + stopped, text: "y", fault: providers.Interrupted},
	{name: "content in parts of no known shape", stream: say("y") + `data: {"choices":[{"delta":{"content":[true]}}]}` + "\n\n" + stopped, text: "y", fault: providers.Interrupted},
	{name: "content in parts in parts", stream: say("y") + `data: {"choices":[{"delta":{"content":[[[[[[["lost"]]]]]]]}}]}` + "\n\n" + stopped, text: "y", fault: providers.Interrupted},
	{name: "an error in the form of FastAPI", stream: say("ye") + "data: {\"detail\":\"the worker died\"}\n\ndata: [DONE]\n\n", text: "ye", fault: providers.ServerFault},
	{name: "a bare error without its event", stream: say("ye") + "data: {\"message\":\"slow\",\"code\":429}\n\ndata: [DONE]\n\n", text: "ye", fault: providers.RateLimited},
	{name: "an object that says nothing", stream: say("ye") + "data: {\"error\":null,\"detail\":\"\"}\n\n" + say("s") + stopped, text: "yes", last: ended},
	{name: "a bare error under its event", stream: say("ye") + "event: error\ndata: {\"message\":\"slow\",\"code\":429}\n\n", text: "ye", fault: providers.RateLimited},
	{name: "an error in words under its event", stream: say("ye") + "event: error\ndata: lost\n\n" + stopped, text: "ye", fault: providers.ServerFault},
	{name: "an event of another name behind an error's", stream: "event: error\n\nevent: chunk\n" + say("yes") + stopped, text: "yes", last: ended},
	{name: "error in the field error", stream: say("ye") + `error: {"code":500,"message":"lost","type":"server_error"}` + "\n\n", text: "ye", fault: providers.ServerFault},
	{name: "error in a bare line", stream: say("ye") + `{"error":{"code":500,"message":"lost"}}` + "\n\n", text: "ye", fault: providers.ServerFault},
	{name: "error beside a choice", stream: say("ye") + `data: {"error":{"code":429,"message":"slow"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}` + "\n\ndata: [DONE]\n\n", text: "ye", fault: providers.RateLimited},
	{name: "error for a reason", stream: say("ye") + `data: {"choices":[{"delta":{},"finish_reason":"error"}]}` + "\n\ndata: [DONE]\n\n", text: "ye", fault: providers.ServerFault},
	{name: "error, then [DONE]", stream: say("ye") + `data: {"object":"error","message":"lost","code":400}` + "\n\ndata: [DONE]\n\n", text: "ye", fault: providers.BadRequest},
}

func say(s string) string { return openAIDelta("content", s) }

const claudeEnd = `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"

var claudeEnded = providers.Chunk{Stop: providers.StopEnd, Usage: providers.Usage{Output: 2}}

func claude(s string) string { return anthropicAPI.text(s) }

var anthropicQuirks = []quirk{
	{name: "counts that are none", stream: `data: {"type":"message_start","message":{"usage":{"input_tokens":"x","output_tokens":1.0}}}` + "\n\n" + claude("yes") + claudeEnd, text: "yes", last: claudeEnded},
	{name: "other events and blocks", stream: `data: {"type":"novelty","x":1}` + "\n\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"x"}}` + "\n\n" +
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"x"}}` + "\n\n" + claude("yes") + claudeEnd, text: "yes", last: claudeEnded},
	{name: "an index below zero", stream: `data: {"type":"content_block_delta","index":-1,"delta":{"type":"text_delta","text":"yes"}}` + "\n\n" + claudeEnd, text: "yes", last: claudeEnded},
	{name: "text in the block's start", stream: `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"y"}}` + "\n\n" + claude("es") + claudeEnd, text: "yes", last: claudeEnded},
	{name: "text between thoughts", stream: anthropicAPI.thought("a") + claude("y") + anthropicAPI.thought("b") + claude("es") + claudeEnd, text: "yes", think: "ab", last: claudeEnded},
	{name: "cached tokens", stream: `data: {"type":"message_start","message":{"usage":{"input_tokens":3,"cache_creation_input_tokens":2,"cache_read_input_tokens":5,"output_tokens":1}}}` + "\n\n" + claude("yes") + claudeEnd,
		text: "yes", last: providers.Chunk{Stop: providers.StopEnd, Usage: providers.Usage{Prompt: 10, Output: 2, Evaluated: 5}}},
	{name: "the window is full", stream: claude("and") + `data: {"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n",
		text: "and", last: providers.Chunk{Stop: providers.StopLength}},
	{name: "a tag of thought in the text", stream: claude("<thinking>a</thinking>b") + claudeEnd, text: "<thinking>a</thinking>b", last: claudeEnded},
}

var googleQuirks = []quirk{
	{name: "counts that are none", stream: `data: {"candidates":[{"content":{"parts":[{"text":"yes"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":"x","candidatesTokenCount":2.0}}` + "\n\n",
		text: "yes", last: providers.Chunk{Stop: providers.StopEnd, Usage: providers.Usage{Output: 2}}},
	{name: "no error", stream: `data: {"error":null,"candidates":[{"content":{"parts":[{"text":"yes"}]},"finishReason":"STOP"}]}` + "\n\n", text: "yes", last: ended},
}

var ollamaQuirks = []quirk{
	{name: "no error", stream: `{"error":null,"message":{"content":"yes"},"done":true,"done_reason":"stop"}` + "\n", text: "yes", last: ended},
	{name: "counts that are none", stream: `{"message":{"content":"yes"},"done":true,"done_reason":"stop","eval_count":"many","prompt_eval_count":null,"load_duration":1e99}` + "\n", text: "yes", last: ended},
	{name: "damaged line", stream: `{"message":{"content":"one "}}` + "\noops\n" + `{"done":true}` + "\n", text: "one ", fault: providers.Interrupted},
}

func TestQuirks(t *testing.T) {
	for _, s := range []struct {
		fakeAPI
		quirks []quirk
	}{{openAIAPI, openAIQuirks}, {anthropicAPI, anthropicQuirks}, {googleAPI, googleQuirks}, {ollamaAPI, ollamaQuirks}} {
		for _, tt := range s.quirks {
			t.Run(s.provider+"/"+tt.name, func(t *testing.T) {
				kind := tt.kind
				if kind == "" {
					kind = s.kind
				}
				f := newFake(t, s.fakeAPI, answers(http.StatusOK, kind, tt.stream))
				text, thought, last, err := generate(t, f.model(t), providers.Request{})
				if text != tt.text || thought != tt.think {
					t.Errorf("text %q, thought %q; want %q, %q", text, thought, tt.text, tt.think)
				}
				if providers.KindOf(err) != tt.fault {
					t.Errorf("error %v, want kind %q", err, tt.fault)
				}
				if err == nil && last != tt.last {
					t.Errorf("ended with %+v, want %+v", last, tt.last)
				}
			})
		}
	}
}

// TestLineEnds is for the three ends of lines that server-sent events may have: a
// bare CR ends a line at once, and a line feed that comes later belongs to it.
func TestLineEnds(t *testing.T) {
	s := openAIAPI
	for name, end := range map[string]string{"LF": "\n", "CRLF": "\r\n", "CR": "\r"} {
		t.Run(name, func(t *testing.T) {
			events := strings.Join(append(append(slices.Clone(s.begin), "event: x\nid: 1\ndata: \n\n", s.text("a\rb"), s.text("c")), s.end("stop", providers.Usage{Prompt: 3})...), "")
			heard := make(chan bool)
			f := newFake(t, s, func(w http.ResponseWriter, r *http.Request) {
				for _, piece := range strings.SplitAfter(strings.ReplaceAll(events, "\n", end), end[:1]) {
					s.stream(w, piece)
					if strings.Contains(piece, `"c"`) && end == "\r" { // the end of this line is here, and nothing else
						select {
						case <-heard:
						case <-r.Context().Done():
						}
					}
				}
			})
			text := ""
			var last providers.Chunk
			for c, err := range f.model(t).Generate(t.Context(), hello) {
				if err != nil {
					t.Fatal(err)
				}
				if text, last = text+c.Text, c; c.Text == "c" && end == "\r" {
					close(heard)
				}
			}
			if text != "a\rbc" || last.Stop != providers.StopEnd || last.Usage.Prompt != 3 {
				t.Errorf("%q, %+v", text, last)
			}
		})
	}
}
