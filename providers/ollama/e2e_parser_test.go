//go:build linux

package ollama_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"mylm/providers/internal/ollamatest"
	"mylm/providers/internal/scriptmodel"
)

// Calls of list_dir as several families write them.
const (
	jsonCall  = "<tool_call>\n{\"name\": \"list_dir\", \"arguments\": {\"path\": \".\"}}\n</tool_call>"
	coderCall = "<tool_call>\n<function=list_dir>\n<parameter=path>\n.\n</parameter>\n</function>\n</tool_call>"
	pairsCall = "<tool_call>list_dir\n<arg_key>path</arg_key>\n<arg_value>.</arg_value>\n</tool_call>"
	gemmaCall = "<|tool_call>call:list_dir{path:<|\"|>.<|\"|>}<tool_call|>"
	lfmCall   = "<|tool_call_start|>[list_dir(path=\".\")]<|tool_call_end|>"
)

// thinks begins the reply of a model whose prompt has opened its thought.
const thinks = "</think>\n%s"

// parsedCalls have a call of list_dir in the form of a family of models, by the
// name of the parser that Ollama has for the family: every one of its source.
var parsedCalls = map[string]struct {
	call string
	text string // the form of text, "%s" unless given
	lost bool   // the server ends every call of a tool that it was not sent with an error
}{
	"passthrough":        {call: jsonCall},
	"qwen3":              {call: jsonCall},
	"qwen3-thinking":     {call: jsonCall, text: thinks},
	"qwen3.5":            {call: coderCall, text: thinks},
	"ornith":             {call: coderCall, text: thinks},
	"qwen3-coder":        {call: coderCall},
	"qwen3-vl-instruct":  {call: jsonCall},
	"qwen3-vl-thinking":  {call: jsonCall, text: thinks},
	"ministral":          {call: "[TOOL_CALLS]list_dir[ARGS]{\"path\": \".\"}", lost: true},
	"harmony":            {call: "<|channel|>commentary to=functions.list_dir <|constrain|>json<|message|>{\"path\": \".\"}", text: "<|channel|>final<|message|>%s<|end|><|start|>assistant"},
	"cogito":             {call: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>list_dir\n```json\n{\"path\": \".\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", text: thinks},
	"deepseek3":          {call: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>list_dir<｜tool▁sep｜>{\"path\": \".\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", text: thinks},
	"olmo3":              {call: "<function_calls>list_dir(path=\".\")</function_calls>"},
	"olmo3-think":        {call: "<function_calls>list_dir(path=\".\")</function_calls>", text: thinks},
	"nemotron-3-nano":    {call: coderCall, text: thinks},
	"nemotron-3.5-nano":  {call: coderCall, text: thinks},
	"functiongemma":      {call: "<start_function_call>call:list_dir{path:<escape>.<escape>}<end_function_call>"},
	"glm-4.7":            {call: pairsCall, text: thinks},
	"glm-ocr":            {call: pairsCall, text: thinks},
	"gemma4":             {call: gemmaCall},
	"gemma4-no-thinking": {call: gemmaCall},
	"lfm2":               {call: lfmCall},
	"lfm2-thinking":      {call: lfmCall, text: thinks},
	"laguna":             {call: pairsCall, text: thinks},
	"poolside-v1":        {call: pairsCall, text: thinks},
	"cohere":             {call: "<|END_THINKING|><|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"list_dir\", \"parameters\": {\"path\": \".\"}}]<|END_ACTION|>", text: "<|END_THINKING|><|START_TEXT|>%s<|END_TEXT|>"},
	"glimmer":            {call: " to=list_dir<|message|><atem:function_calls>\n<atem:invoke name=\"list_dir\">\n<atem:parameter name=\"path\">.</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>", text: " to=user<|message|>%s<|eom|><|start|>assistant"},
}

// A call that the server's own parser takes out of the text runs, and so does
// one that it leaves there. One that the server refuses ends the run, with a hint
// that helps.
func TestParsedCalls(t *testing.T) {
	s := ollamatest.Start(t, slots)
	e := &endToEnd{server: s, bin: buildCommand(t)}
	for parser, tt := range parsedCalls {
		t.Run(parser, func(t *testing.T) {
			text := cmp.Or(tt.text, "%s")
			silent := "" // nothing before the call
			if text == thinks {
				silent = fmt.Sprintf(thinks, "")
			}
			create := func(parser string) {
				s.CreateParsed(t, "parsed", &scriptmodel.Model{
					Scripts: []scriptmodel.Script{
						{When: []scriptmodel.Cond{scriptmodel.LastContains("[list_dir] Success")}, Say: fmt.Sprintf(text, "There are none.")},
						{When: []scriptmodel.Cond{scriptmodel.LastContains("say nothing else")}, Say: silent + tt.call},
					},
					Default: fmt.Sprintf(text, "I will look.\n") + tt.call,
				}, parser)
			}
			create(parser)
			for _, question := range []string{"list the files", "list the files, say nothing else"} {
				o := e.user(t, s.URL).ask(t, "parsed", "-o", "ndjson", question)
				if tt.lost {
					if o.code != 1 || strings.Contains(o.stderr, "retry") || !strings.Contains(o.stderr, "with PARSER passthrough") {
						t.Errorf("exit code %d, stderr:\n%s", o.code, o.stderr)
					}
					create("passthrough") // the hint
					o = e.user(t, s.URL).ask(t, "parsed", "-o", "ndjson", question)
				}
				if o.code != 0 || strings.Count(o.stdout, `"type":"tool_call"`) != 1 || !strings.Contains(o.stdout, "There are none.") {
					t.Errorf("%s: exit code %d, stdout:\n%s\nstderr:\n%s", question, o.code, o.stdout, o.stderr)
				}
				if tt.lost {
					break
				}
			}
		})
	}
}
