//go:build linux

package ollama_test

import (
	"strings"
	"testing"

	"mylm/providers/internal/ollamatest"
	"mylm/providers/internal/scriptmodel"
)

// parsedCalls are calls of list_dir in the form of a family of models, by the
// name of the parser that Ollama has for the family. Its parser ministral ends
// every call of a tool that was not sent with an error.
var parsedCalls = map[string]struct {
	call   string
	thinks bool // a reply begins in the middle of a thought
}{
	"qwen3":       {call: "<tool_call>\n{\"name\": \"list_dir\", \"arguments\": {\"path\": \".\"}}\n</tool_call>"},
	"qwen3-coder": {call: "<tool_call>\n<function=list_dir>\n<parameter=path>\n.\n</parameter>\n</function>\n</tool_call>"},
	"qwen3.5":     {call: "<tool_call>\n<function=list_dir>\n<parameter=path>\n.\n</parameter>\n</function>\n</tool_call>", thinks: true},
	"glm-4.7":     {call: "<tool_call>list_dir<arg_key>path</arg_key><arg_value>.</arg_value></tool_call>", thinks: true},
	"lfm2":        {call: "<|tool_call_start|>[list_dir(path=\".\")]<|tool_call_end|>"},
	"olmo3":       {call: "<function_calls>list_dir(path=\".\")</function_calls>"},
	"gemma4":      {call: "<|tool_call>call:list_dir{path:<|\"|>.<|\"|>}<tool_call|>"},
}

// A call that the server's own parser takes out of the text runs, and so does
// one that it leaves there.
func TestParsedCalls(t *testing.T) {
	s := ollamatest.Start(t, slots)
	e := &endToEnd{server: s, bin: buildCommand(t)}
	for parser, tt := range parsedCalls {
		t.Run(parser, func(t *testing.T) {
			thought := ""
			if tt.thinks {
				thought = "</think>\n"
			}
			for _, before := range []string{"", "I will look.\n"} {
				s.CreateParsed(t, "parsed", &scriptmodel.Model{
					Scripts: []scriptmodel.Script{{When: []scriptmodel.Cond{scriptmodel.LastContains("[list_dir] Success")}, Say: thought + "There are none."}},
					Default: thought + before + tt.call,
				}, parser)
				o := e.user(t, s.URL).ask(t, "parsed", "-o", "ndjson", "list the files")
				if o.code != 0 || strings.Count(o.stdout, `"type":"tool_call"`) != 1 || !strings.Contains(o.stdout, `"There are none."`) {
					t.Errorf("%q: exit code %d, stdout:\n%s\nstderr:\n%s", before+tt.call, o.code, o.stdout, o.stderr)
				}
			}
		})
	}
}
