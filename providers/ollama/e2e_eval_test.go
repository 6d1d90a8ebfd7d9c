//go:build linux

package ollama_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mylm/providers/internal/ollamatest"
	s "mylm/providers/internal/scriptmodel"
)

// examFile has tasks that the computed model below does well, and one that it does
// badly.
const examFile = `
suite: computed
tools:
  get_stock:
    description: How many pieces of an article there are.
    args: {article: {type: string}}
    rules: [{when: {article: A-1}, say: there are 73 pieces}, {error: no article}]
tasks:
  - {id: stock, category: call, question: "Count the article alpha.", tools: [get_stock], check: {answer: {all: ["73"]}},
     right: [{call: get_stock, args: {article: A-1}}, "73"], wrong: [["12"], ["none"]]}
  - {id: plain, category: none, question: "Say the word heron.", tools: [get_stock], check: {answer: {all: [heron]}},
     right: [heron], wrong: [[tern], [owl]]}
  - {id: lost, category: none, question: "What is nobody prepared for?", tools: [get_stock], check: {answer: {all: [this]}},
     right: [this], wrong: [[that], [those]]}
`

// The exam through the command against a real server, in every form of calls, over
// Ollama's own wire and over that of langchaingo: the model writes the form that it is
// shown, and what the server is sent has no other.
func TestEndToEndEval(t *testing.T) {
	server := ollamatest.Start(t, examSlots)
	e := &endToEnd{server: server, bin: buildCommand(t)}
	m := &s.Model{Default: "I am lost."}
	for form, mark := range formMarks {
		m.Scripts = append(m.Scripts, s.Script{When: []s.Cond{s.LastContains("article alpha"), s.SystemContains(mark)}, Say: form.Call("get_stock", []byte(`{"article":"A-1"}`))})
	}
	m.Scripts = append(m.Scripts, s.Script{When: []s.Cond{s.LastContains("73 pieces")}, Say: "There are 73."}, s.Script{When: []s.Cond{s.LastContains("word heron")}, Say: "heron"})
	server.Create(t, "pupil", m)
	for _, model := range []string{"pupil", "wired"} {
		p, r := e.watched(t)
		if err := os.WriteFile(filepath.Join(p.dir, "exam.yaml"), []byte(examFile), 0o600); err != nil {
			t.Fatal(err)
		}
		p.configure(t, wiredEntry(r.URL))
		o := p.run(t, "eval", "-m", model, "--suite", "exam.yaml", "--form", "all", "--json")
		var out struct {
			Exams []struct {
				Exam  struct{ Form string }
				Total struct {
					Passed, Of         int
					FirstCallsReadable int            `json:"first_calls_readable"`
					Causes             map[string]int `json:"causes"`
					PromptTokens       int            `json:"prompt_tokens"`
				}
			}
		}
		if err := json.Unmarshal([]byte(o.stdout), &out); err != nil || o.code != 0 || len(out.Exams) != 5 {
			t.Fatalf("%s: exit %d, %v: %s%s", model, o.code, err, o.stdout, o.stderr)
		}
		for _, x := range out.Exams {
			if x.Total.Passed != 2 || x.Total.Of != 3 || x.Total.FirstCallsReadable != 1 || x.Total.Causes["wrong_answer"] != 1 {
				t.Errorf("%s, %s: %+v", model, x.Exam.Form, x.Total)
			}
			t.Logf("%s, %s: %+v", model, x.Exam.Form, x.Total)
		}
		seen := 0
		r.mu.Lock()
		for _, c := range r.chats {
			var request struct {
				Messages []struct{ Role, Content string }
			}
			if json.Unmarshal(c.request, &request) != nil {
				continue
			}
			forms := 0
			for form, mark := range formMarks {
				if !strings.Contains(request.Messages[0].Content, mark) {
					continue
				}
				forms++
				for _, m := range request.Messages {
					if m.Role == "assistant" && m.Content != form.Call("get_stock", []byte(`{"article":"A-1"}`)) {
						t.Errorf("%s, %s: the model is shown its call as %q", model, form, m.Content)
					}
				}
			}
			if forms != 1 {
				t.Errorf("%s: a prompt has %d forms", model, forms)
			}
			seen++
		}
		r.mu.Unlock()
		if model == "pupil" && seen != 20 {
			t.Errorf("%d requests to the server, want 4 an exam", seen)
		}
	}
}
