package agent_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/prompts"
	"mylm/providers"
)

func TestParseEvaluation(t *testing.T) {
	yes := agent.Evaluation{Completed: true, Confidence: 0.9}
	no := agent.Evaluation{Issues: []string{"the check's reply could not be read"}}
	for _, tt := range []struct {
		name, text string
		want       agent.Evaluation
	}{
		{"raw", ` {"completed": true, "confidence": 0.9, "issues": [], "suggestion": ""} `, yes},
		{"fenced", "Here:\n```json\n{\"completed\": true, \"confidence\": 0.9}\n```\nThat is it.", yes},
		{"first object", `I think {so}: {"completed": true, "confidence": 0.9} and {"completed": false}`, yes},
		{"clamped", `{"completed": true, "confidence": 95}`, agent.Evaluation{Completed: true, Confidence: 1}},
		{"negative", `{"completed": true, "confidence": -1}`, agent.Evaluation{Completed: true}},
		{"issues", `{"completed": false, "confidence": 0.4, "issues": ["a", 7, "b"], "suggestion": "c"}`,
			agent.Evaluation{Confidence: 0.4, Issues: []string{"a", "b"}, Suggestion: "c"}},
		{"one issue", `{"completed": false, "issues": "a"}`, agent.Evaluation{Issues: []string{"a"}}},
		{"words", `Yes, it is completed.`, no},
		{"nothing", ``, no},
		{"a list", `[true]`, no},
		{"cut", `{"completed": true, "confidence": 0.9`, no},
		{"braces", strings.Repeat("{", 1<<20), no},
		{"not a boolean", `{"completed": "perhaps", "confidence": "high"}`, agent.Evaluation{}},
	} {
		if got := agent.ParseEvaluation(tt.text); !reflect.DeepEqual(got, tt.want) && !(len(got.Issues)+len(tt.want.Issues) == 0 && got.Completed == tt.want.Completed && got.Confidence == tt.want.Confidence) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
	if !yes.Passed() || (agent.Evaluation{Completed: true, Confidence: 0.79}).Passed() || (agent.Evaluation{Confidence: 1}).Passed() {
		t.Error("an answer passes when it is completed with a confidence of at least 0.8")
	}
}

const (
	passes = `{"completed": true, "confidence": 0.95, "issues": [], "suggestion": ""}`
	short  = `{"completed": false, "confidence": 0.7, "issues": ["the <tool_code> is missing"], "suggestion": "look again"}`
)

// TestSelfEvalFits has a check that has to fit a small window, too.
func TestSelfEvalFits(t *testing.T) {
	for _, size := range []int{3072, 4096, 6000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			m := &window{size: size, count: words}
			next := reading(24)
			m.evaluate = func(r providers.Request) {
				check := strings.HasPrefix(r.Messages[0].Text, "You check")
				m.reply = func(n int) say {
					switch {
					case check:
						return say{text: passes}
					case n >= 24:
						return say{text: strings.Repeat("The pages say much. ", 2000)}
					}
					return next(n)
				}
			}
			r := ask(t, agent.Options{Model: m, Tools: pages(t, 3_000, "log"), MaxTurns: 30, SelfEval: agent.EvalBasic, SummarizeAfterTurns: agent.Off}, strings.Repeat("Read. ", size/12))
			wantEnd(t, r, agent.Success, agent.StopComplete, 25)
		})
	}
}

func TestSelfEval(t *testing.T) {
	look := call("echo", `{"text":"42"}`)
	for _, tt := range []struct {
		name     string
		mode     agent.SelfEval
		says     []any
		status   agent.Status
		stop     agent.StopReason
		turns    int
		response string
	}{
		{"off", "off", []any{look, "42"}, agent.Success, agent.StopComplete, 2, "42"},
		{"passes", agent.EvalBasic, []any{look, "42", passes}, agent.Success, agent.StopComplete, 2, "42"},
		{"does not pass", agent.EvalBasic, []any{look, "42", short}, agent.Partial, agent.StopNotVerified, 2, "42"},
		{"cannot be read", agent.EvalBasic, []any{look, "42", "It is fine."}, agent.Partial, agent.StopNotVerified, 2, "42"},
		{"fails", agent.EvalBasic, []any{look, "42", say{err: &providers.Error{Kind: providers.BadRequest, Message: "no"}}}, agent.Partial, agent.StopNotVerified, 2, "42"},
		{"second try", agent.EvalFull, []any{look, "41", short, "42", passes}, agent.Success, agent.StopComplete, 3, "42"},
		{"two retries and no more", agent.EvalFull, []any{look, "39", short, "40", short, "41", short, "42"}, agent.Partial, agent.StopNotVerified, 4, "41"},
		{"only after success", agent.EvalFull, []any{look, look, "So far 42.", "never"}, agent.Partial, agent.StopRepeatedCall, 2, "So far 42."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bench
			m := newModel(tt.says...)
			events, r := collect(t, newAgent(t, agent.Options{Model: m, Tools: b.registry(t), SelfEval: tt.mode}).Run(t.Context(), nil, "what is it?"))
			wantEnd(t, r, tt.status, tt.stop, tt.turns)
			if r.Response != tt.response {
				t.Errorf("response %q", r.Response)
			}
			shown := ""
			for _, ev := range events {
				if d, ok := ev.Payload.(agent.TextDelta); ok {
					shown += d.Text
				}
			}
			if strings.Contains(shown, "confidence") {
				t.Errorf("the judgement is shown: %q", shown)
			}
			if (r.Evaluation != nil) != (tt.mode != "off" && tt.stop != agent.StopRepeatedCall) {
				t.Errorf("evaluation %+v", r.Evaluation)
			}
			if r.Evaluation == nil {
				return
			}
			judged := m.requests[2].Messages
			if want, _ := prompts.Default().Text(prompts.Judge); len(judged) != 2 || judged[0].Text != want {
				t.Fatalf("the judge is sent %q", judged)
			}
			for _, want := range []string{"# REQUEST\nwhat is it?", `- echo {"text":"42"}: succeeded`, "# ANSWER\n" + tt.says[1].(string)} {
				if !strings.Contains(judged[1].Text, want) {
					t.Errorf("the judge is sent %q, want %q in it", judged[1].Text, want)
				}
			}
			if tt.mode == agent.EvalFull {
				if told := m.requests[3].Messages; !strings.Contains(told[len(told)-1].Text, `- the <\tool_code> is missing`) {
					t.Errorf("the model is told %q", told[len(told)-1].Text)
				}
			}
		})
	}
}

// TestSelfEvalJoinsTheAnswer judges all parts of an answer that the length limit
// cut, and only the last answer of a run.
func TestSelfEvalJoinsTheAnswer(t *testing.T) {
	m := newModel(say{text: "Part one, ", stop: providers.StopLength}, "part two.", short, "Whole.", passes)
	r := ask(t, agent.Options{Model: m, SelfEval: agent.EvalFull}, "tell")
	wantEnd(t, r, agent.Success, agent.StopComplete, 3)
	if !strings.Contains(m.requests[2].Messages[1].Text, "Part one, part two.") || !strings.HasSuffix(m.requests[4].Messages[1].Text, "# ANSWER\nWhole.") || r.Response != "Whole." {
		t.Errorf("judged %q and %q, response %q", m.requests[2].Messages[1].Text, m.requests[4].Messages[1].Text, r.Response)
	}
}

func TestSelfEvalIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := newModel("42", say{text: "{", hang: true})
	var r agent.Result
	for ev := range newAgent(t, agent.Options{Model: m, SelfEval: agent.EvalBasic}).Run(ctx, nil, "go") {
		switch p := ev.Payload.(type) {
		case agent.Notice:
			if p.Code == agent.NoticeChecking {
				cancel()
			}
		case agent.FinalResponse:
			r = p.Result
		}
	}
	wantEnd(t, r, agent.Partial, agent.StopInterrupted, 1)
}
