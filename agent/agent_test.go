package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mylm/agent"
	"mylm/prompts"
	"mylm/providers"
	"mylm/tools"
)

// Before a tool has run, what looks like the report of a result was made up. Afterwards the
// model is asked once.
func TestReportedResult(t *testing.T) {
	var b bench
	const report = "Tool result: hello"
	for _, first := range []string{call("echo", `{"text": "hello"}`), report} {
		m := newModel(first, report, report)
		_, r := collect(t, newAgent(t, agent.Options{Model: m, Tools: b.registry(t), MaxMalformed: 2}).Run(t.Context(), nil, "what does it say?"))
		if want := first != report; (r.StopReason == agent.StopComplete) != want {
			t.Errorf("%q, then a report: %q, %s", first, r.Response, r.StopReason)
		}
		if len(m.requests) != 3 && first != report || len(m.requests) != 2 && first == report {
			t.Errorf("%q, then a report: %d requests", first, len(m.requests))
		}
	}
}

func TestAnswerWithOneCall(t *testing.T) {
	var b bench
	m := newModel("I look.\n"+call("echo", `{"text": "hello"}`)+"\n<observation>fake</observation> I see fake.", "It says hello.\n")
	events, r := collect(t, newAgent(t, agent.Options{Model: m, Tools: b.registry(t)}).Run(t.Context(), nil, "what does it say?"))

	wantEnd(t, r, agent.Success, agent.StopComplete, 2)
	if r.Response != "It says hello." {
		t.Errorf("response %q", r.Response)
	}
	if got := names(r.Calls); got != `echo{"text":"hello"}` || !r.Calls[0].Success {
		t.Errorf("calls %s", got)
	}
	if got, want := types(events), "turn_start text_delta tool_call tool_output turn_end turn_start text_delta turn_end agent_end"; got != want {
		t.Errorf("events\n got %s\nwant %s", got, want)
	}
	for i, ev := range events {
		if ev.Seq != i+1 || ev.Run != r.Run || ev.Time.IsZero() {
			t.Errorf("event %d: %+v", i, ev)
		}
	}
	if m.left == "" {
		t.Error("the model was not stopped at its call")
	}
	if got, want := m.last(), "<observation>\n[echo] Success:\nhello\n</observation>"; got != want {
		t.Errorf("observation %q, want %q", got, want)
	}
	for _, msg := range m.requests[1].Messages {
		if strings.Contains(msg.Text, "fake") {
			t.Errorf("the invented observation is in history: %q", msg.Text)
		}
	}
	if got, want := m.requests[1].Messages[2].Text, "I look.\n"+call("echo", `{"text":"hello"}`); got != want {
		t.Errorf("the call in history is %q, want %q", got, want)
	}
}

func TestOneCallOfSeveralRuns(t *testing.T) {
	var b bench
	m := newModel(say{text: call("echo", `{"text":"1"}`) + "\n" + call("echo", `{"text":"2"}`), whole: true}, "done")
	ask(t, agent.Options{Model: m, Tools: b.registry(t)}, "go")
	if b.String() != "echo:1" {
		t.Errorf("ran %q", b.String())
	}
	if !strings.Contains(m.last(), "Only the first tool call was run") {
		t.Errorf("the model is not told that only the first call ran: %q", m.last())
	}
}

func TestMaxTurns(t *testing.T) {
	var b bench
	says := []any{}
	for i := range 20 {
		says = append(says, fmt.Sprintf("Step %d.\n%s\n<observation>it goes on", i+1, call("echo", fmt.Sprintf(`{"text":"%d"}`, i))))
	}
	for _, limit := range []int{0, 3} {
		r := ask(t, agent.Options{Model: newModel(says...), Tools: b.registry(t), MaxTurns: limit}, "go")
		want := limit
		if limit == 0 {
			want = 10
		}
		wantEnd(t, r, agent.Partial, agent.StopMaxTurns, want)
		if len(r.Calls) != want || r.Response != fmt.Sprintf("Step %d.", want) {
			t.Errorf("%d calls, response %q", len(r.Calls), r.Response)
		}
		if r.Usage.Prompt != 0 || !r.UsagePartial || r.Usage.Output < want {
			t.Errorf("usage of stopped replies: %+v, partial %v", r.Usage, r.UsagePartial)
		}
	}
}

func TestRepeatedCall(t *testing.T) {
	var b bench
	m := newModel(call("echo", `{"text":"x"}`), call("echo", `{ "text" : "x" }`), "never")
	r := ask(t, agent.Options{Model: m, Tools: b.registry(t)}, "go")
	wantEnd(t, r, agent.Partial, agent.StopRepeatedCall, 2)
	if b.String() != "echo:x" {
		t.Errorf("the repeated call ran: %q", b.String())
	}
	if len(r.Calls) != 2 || !r.Calls[1].Skipped {
		t.Errorf("the repeated call is not in the log: %+v", r.Calls)
	}

	t.Run("another call resets the count", func(t *testing.T) {
		var b bench
		m := newModel(call("echo", `{"text":"x"}`), call("echo", `{"text":"y"}`), call("echo", `{"text":"x"}`), "done")
		wantEnd(t, ask(t, agent.Options{Model: m, Tools: b.registry(t)}, "go"), agent.Success, agent.StopComplete, 4)
	})
	t.Run("the limit can be set", func(t *testing.T) {
		var b bench
		m := newModel(call("echo", `{"text":"x"}`))
		wantEnd(t, ask(t, agent.Options{Model: m, Tools: b.registry(t), MaxRepeatedCalls: 4}, "go"), agent.Partial, agent.StopRepeatedCall, 4)
		if b.String() != "echo:x echo:x echo:x" {
			t.Errorf("ran %q", b.String())
		}
	})
}

func TestConsecutiveErrors(t *testing.T) {
	var b bench
	fail := func(i int) string { return call("fail", fmt.Sprintf(`{"text":"%d"}`, i)) }
	m := newModel(fail(1), call("nope", `{}`), call("echo", `{"wrong":1}`), "never")
	r := ask(t, agent.Options{Model: m, Tools: b.registry(t)}, "go")
	wantEnd(t, r, agent.Partial, agent.StopConsecutiveErrors, 3)

	m = newModel(fail(1), fail(2), call("echo", `{"text":"ok"}`), fail(3), fail(4), "done")
	wantEnd(t, ask(t, agent.Options{Model: m, Tools: b.registry(t)}, "go"), agent.Success, agent.StopComplete, 6)
}

func TestToolFailuresAreObservations(t *testing.T) {
	for _, tt := range []struct{ name, call, want string }{
		{"error with output", call("fail", `{"text":"x"}`), "[fail] Error: it broke: x\nsome output"},
		{"panic", call("crash", `{}`), "[crash] Error: the tool crashed: boom"},
		{"unknown tool", call("ecko", `{}`), `[ecko] Error: unknown tool "ecko": did you mean echo?`},
		{"missing argument", call("echo", `{}`), "[echo] Error: "},
		{"wrong type", call("echo", `{"text":[1,2]}`), "string"},
		{"unknown argument", call("echo", `{"text":"x","loud":true}`), "loud"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bench
			m := newModel(tt.call, "done")
			wantEnd(t, ask(t, agent.Options{Model: m, Tools: b.registry(t)}, "go"), agent.Success, agent.StopComplete, 2)
			if !strings.Contains(m.last(), tt.want) {
				t.Errorf("the model was told %q, want %q in it", m.last(), tt.want)
			}
		})
	}
}

func TestToolTimeout(t *testing.T) {
	var b bench
	m := newModel(call("wait", `{}`), "done")
	ask(t, agent.Options{Model: m, Tools: b.registry(t), ToolTimeout: time.Millisecond}, "go")
	if !strings.Contains(m.last(), "[wait] Error: timed out after 1ms") {
		t.Errorf("the model was told %q", m.last())
	}
}

func TestCountersArePerRun(t *testing.T) {
	var b bench
	a := newAgent(t, agent.Options{Model: newModel(call("echo", `{"text":"x"}`), "one", call("echo", `{"text":"x"}`), "two"), Tools: b.registry(t)})
	s := agent.NewSession()
	for _, want := range []string{"one", "two"} {
		r, err := agent.Collect(a.Run(t.Context(), s, "go"))
		if err != nil || r.Response != want || r.Turns != 2 || len(r.Calls) != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

func TestConcurrentRuns(t *testing.T) {
	var b bench
	registry := b.registry(t)
	a := newAgent(t, agent.Options{Model: echoModel{}, Tools: registry})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			want := fmt.Sprintf("number %d", i)
			r, err := a.Ask(t.Context(), want)
			if err != nil || r.Response != want {
				t.Errorf("asked %q, got %q, %v", want, r.Response, err)
			}
		})
	}
	wg.Wait()
}

func TestSessionIsUsedByOneRunAtATime(t *testing.T) {
	var b bench
	a := newAgent(t, agent.Options{Model: newModel("one", "two"), Tools: b.registry(t)})
	s := agent.NewSession()
	for range a.Run(t.Context(), s, "a") {
		if _, err := agent.Collect(a.Run(t.Context(), s, "b")); !errors.Is(err, agent.ErrSessionBusy) {
			t.Fatalf("a second run on the session: %v", err)
		}
	}
	if r, err := agent.Collect(a.Run(t.Context(), s, "c")); err != nil || r.Response != "two" {
		t.Errorf("after the first: %q, %v", r.Response, err)
	}
}

func TestHistory(t *testing.T) {
	m := newModel("third answer")
	s := agent.NewSession(
		providers.Message{Role: providers.User, Text: "first"},
		providers.Message{Role: providers.Assistant, Text: "second"},
	)
	_, r := collect(t, newAgent(t, agent.Options{Model: m}).Run(t.Context(), s, "third"))
	var got []string
	for _, msg := range m.requests[0].Messages {
		got = append(got, string(msg.Role)+":"+msg.Text[:min(6, len(msg.Text))])
	}
	if want := "system:You ar user:first assistant:second user:third"; strings.Join(got, " ") != want {
		t.Errorf("sent %v, want %s", got, want)
	}
	if len(r.Messages) != 4 || r.Messages[3].Text != "third answer" {
		t.Errorf("messages in the result: %+v", r.Messages)
	}
}

func TestAllowedTools(t *testing.T) {
	var b bench
	sub, err := b.registry(t).Only("echo")
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(call("write", `{"text":"x"}`), "done")
	ask(t, agent.Options{Model: m, Tools: sub}, "go")
	system := m.requests[0].Messages[0].Text
	if !strings.Contains(system, "<name>echo</name>") || strings.Contains(system, "<name>write") {
		t.Errorf("the prompt shows other tools than those allowed:\n%s", system)
	}
	if b.String() != "" || !strings.Contains(m.last(), "unknown tool") {
		t.Errorf("ran %q; told %q", b.String(), m.last())
	}
}

func TestSystemPrompt(t *testing.T) {
	var b bench
	m := newModel("x")
	ask(t, agent.Options{
		Model: m, Tools: b.registry(t), Identity: "You are Ada.",
		Sections:    []prompts.Section{{Title: "NOTES", Text: "Mind the gap."}},
		Environment: &prompts.Environment{OS: "linux", Shell: "sh", Directory: "/w"},
	}, "go")
	system := m.requests[0].Messages[0]
	for _, want := range []string{"You are Ada.", "# TOOLS", "<tool><name>echo</name><description>Say it again.</description><parameters>{", "# NOTES\nMind the gap.", "Date: " + time.Now().Format("2006-")} {
		if !strings.Contains(system.Text, want) {
			t.Errorf("%q is not in\n%s", want, system.Text)
		}
	}
	if system.Role != providers.System {
		t.Errorf("role %s", system.Role)
	}
}

func TestPromptIsData(t *testing.T) {
	m := newModel("x")
	ask(t, agent.Options{Model: m}, "explain <tool_code> and </observation>")
	if got := m.last(); got != `explain <\tool_code> and <\/observation>` {
		t.Errorf("sent %q", got)
	}
}

func TestLengthIsContinued(t *testing.T) {
	m := newModel(say{text: "One, two,", stop: providers.StopLength}, say{text: " three, fo", stop: providers.StopLength}, "ur.")
	r := ask(t, agent.Options{Model: m}, "count")
	wantEnd(t, r, agent.Success, agent.StopComplete, 3)
	if r.Response != "One, two, three, four." {
		t.Errorf("response %q", r.Response)
	}
	if !strings.Contains(m.last(), "Go on exactly where it stopped") {
		t.Errorf("the model was told %q", m.last())
	}

	t.Run("at the limit of turns", func(t *testing.T) {
		m := newModel(say{text: "One, ", stop: providers.StopLength}, say{text: "two,", stop: providers.StopLength})
		r := ask(t, agent.Options{Model: m, MaxTurns: 2}, "count")
		wantEnd(t, r, agent.Partial, agent.StopMaxTurns, 2)
		if r.Response != "One, two," {
			t.Errorf("response %q", r.Response)
		}
		var e *agent.LimitError
		if !errors.As(r.Err, &e) || !strings.Contains(e.Message, "the length limit cut the last 2 replies") || e.Limit != "MaxTokens" || e.Value != 0 {
			t.Errorf("err = %v", r.Err)
		}
		r = ask(t, agent.Options{Model: newModel(say{text: "One, ", stop: providers.StopLength}), MaxTurns: 1, MaxTokens: 5}, "count")
		if !errors.As(r.Err, &e) || !strings.Contains(e.Message, "cut the last reply,") || e.Limit != "MaxTokens" || e.Value == 0 {
			t.Errorf("err = %v", r.Err)
		}
	})
	t.Run("a call that cannot be read ends it", func(t *testing.T) {
		m := newModel(say{text: "One, two,", stop: providers.StopLength}, "\n"+call("echo", `{"text": oops}`), "Done.")
		if r := ask(t, agent.Options{Model: m, Tools: new(bench).registry(t)}, "count"); r.Response != "Done." {
			t.Errorf("response %q", r.Response)
		}
	})
	t.Run("inside a call", func(t *testing.T) {
		var b bench
		cut := strings.TrimSuffix(call("echo", `{"text":"x"}`), "</tool_code>")
		m := newModel(say{text: cut, stop: providers.StopLength}, "done")
		wantEnd(t, ask(t, agent.Options{Model: m, Tools: b.registry(t)}, "go"), agent.Success, agent.StopComplete, 2)
		if b.String() != "" || !strings.Contains(m.last(), "cut off") {
			t.Errorf("ran %q, told %q", b.String(), m.last())
		}
	})
}

func TestFinishOther(t *testing.T) {
	for _, text := range []string{"Well, ", ""} {
		r := ask(t, agent.Options{Model: newModel(say{text: text, stop: "content_filter"})}, "go")
		wantEnd(t, r, agent.Partial, agent.StopFinishOther, 1)
		if r.Err == nil || !strings.Contains(r.Err.Error(), "content_filter") {
			t.Errorf("error %v", r.Err)
		}
	}
}

func TestFinalAnswerIsUnwrapped(t *testing.T) {
	r := ask(t, agent.Options{Model: newModel("I know it.\n<final_answer>\n42\n</final_answer>\n")}, "go")
	if r.Response != "42" {
		t.Errorf("response %q", r.Response)
	}
}

func TestMalformed(t *testing.T) {
	bad := "Hm.\n<tool_code><name>echo</name><parameters>{\"text\": oops}</parameters></tool_code>"
	t.Run("corrected", func(t *testing.T) {
		var b bench
		m := newModel(bad, call("echo", `{"text":"x"}`), "done")
		events, r := collect(t, newAgent(t, agent.Options{Model: m, Tools: b.registry(t)}).Run(t.Context(), nil, "go"))
		wantEnd(t, r, agent.Success, agent.StopComplete, 3)
		told := m.requests[1].Messages
		if got := told[len(told)-2].Text; got != bad {
			t.Errorf("the bad reply in history is %q", got)
		}
		if got := told[len(told)-1].Text; !strings.Contains(got, "cannot be read: \"oops\" is not a value") || !strings.Contains(got, "<name>echo</name>\n<parameters>{\"text\":\"...\"}") {
			t.Errorf("the model was told %q", got)
		}
		if !strings.Contains(types(events), "turn_start text_delta error turn_end turn_start") {
			t.Errorf("events %s", types(events))
		}
	})
	t.Run("three in a row", func(t *testing.T) {
		m := newModel(bad, "", say{thought: "hm", text: " "}, "never")
		r := ask(t, agent.Options{Model: m}, "go")
		wantEnd(t, r, agent.Partial, agent.StopMalformed, 3)
		if r.Err == nil || !strings.Contains(r.Err.Error(), "only thought") {
			t.Errorf("error %v", r.Err)
		}
	})
	t.Run("the limit can be set", func(t *testing.T) {
		wantEnd(t, ask(t, agent.Options{Model: newModel(bad), MaxMalformed: 5}, "go"), agent.Partial, agent.StopMalformed, 5)
	})
	t.Run("a good reply resets the count", func(t *testing.T) {
		var b bench
		m := newModel(bad, bad, call("echo", `{"text":"x"}`), bad, bad, "done")
		wantEnd(t, ask(t, agent.Options{Model: m, Tools: b.registry(t)}, "go"), agent.Success, agent.StopComplete, 6)
	})
	t.Run("a huge one is not kept whole", func(t *testing.T) {
		m := newModel(say{text: "<tool_code><name>x</name><parameters>{" + strings.Repeat("é", 50000), whole: true}, "done")
		ask(t, agent.Options{Model: m}, "go")
		if n := len(m.requests[1].Messages[2].Text); n > 3000 {
			t.Errorf("%d bytes of it are in history", n)
		}
	})
}

func TestThought(t *testing.T) {
	m := newModel(say{thought: "Two and ", text: "<think>two.</think>Four."})
	events, r := collect(t, newAgent(t, agent.Options{Model: m}).Run(t.Context(), nil, "go"))
	if r.Response != "Four." {
		t.Errorf("response %q", r.Response)
	}
	var thought string
	for _, ev := range events {
		if p, ok := ev.Payload.(agent.Thought); ok {
			thought += p.Text
		}
	}
	if thought != "Two and two." {
		t.Errorf("thought %q", thought)
	}
}

func TestOrphanThinkRetracts(t *testing.T) {
	m := newModel("Two and two.\n</think>\nFour.")
	events, r := collect(t, newAgent(t, agent.Options{Model: m}).Run(t.Context(), nil, "go"))
	if r.Response != "Four." || !strings.Contains(types(events), "text_delta retract text_delta") {
		t.Errorf("response %q, events %s", r.Response, types(events))
	}
}

func TestApproval(t *testing.T) {
	deny := func(_ context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
		if r.Effect.OnlyReads() {
			return agent.Decision{Verdict: agent.Allow}, nil
		}
		return agent.Decision{Reason: "not today"}, nil
	}
	t.Run("denied", func(t *testing.T) {
		var b bench
		m := newModel(call("write", `{"text":"x"}`), "I may not.")
		r := ask(t, agent.Options{Model: m, Tools: b.registry(t), Approve: deny}, "go")
		wantEnd(t, r, agent.Partial, agent.StopDenied, 2)
		if b.String() != "" || !r.Calls[0].Denied || r.Response != "I may not." {
			t.Errorf("ran %q, result %+v", b.String(), r)
		}
		if !strings.Contains(m.last(), "[write] Error: not allowed: not today") {
			t.Errorf("the model was told %q", m.last())
		}
	})
	t.Run("forbidden", func(t *testing.T) {
		var b bench
		forbid := func(context.Context, agent.ApprovalRequest) (agent.Decision, error) {
			return agent.Decision{Verdict: agent.Forbid, Reason: "Command not allowed: a rule says so"}, nil
		}
		m := newModel(call("write", `{"text":"x"}`), "I may not.")
		r := ask(t, agent.Options{Model: m, Tools: b.registry(t), Approve: forbid}, "go")
		wantEnd(t, r, agent.Partial, agent.StopDenied, 2)
		if b.String() != "" || !r.Calls[0].Denied || !strings.Contains(m.last(), "[write] Error: Command not allowed: a rule says so") {
			t.Errorf("ran %q, the model was told %q", b.String(), m.last())
		}
	})
	t.Run("denied, then another is allowed", func(t *testing.T) {
		var b bench
		n := 0
		second := func(ctx context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
			if n++; n == 1 {
				return agent.Decision{}, nil
			}
			return agent.AllowAll(ctx, r)
		}
		m := newModel(call("write", `{"text":"x"}`), call("write", `{"text":"y"}`), "done")
		wantEnd(t, ask(t, agent.Options{Model: m, Tools: b.registry(t), Approve: second}, "go"), agent.Success, agent.StopComplete, 3)
	})
	t.Run("reading is denied, then something else is allowed", func(t *testing.T) {
		for _, tt := range []struct {
			denied, allowed string
			stop            agent.StopReason
		}{{"echo", "echo", agent.StopComplete}, {"echo", "write", agent.StopComplete}, {"write", "echo", agent.StopDenied}} {
			var b bench
			first := func(_ context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
				if strings.Contains(string(r.Args), "first") {
					return agent.Decision{}, nil
				}
				return agent.Decision{Verdict: agent.Allow}, nil
			}
			m := newModel(call(tt.denied, `{"text":"first"}`), call(tt.allowed, `{"text":"second"}`), "done")
			if r := ask(t, agent.Options{Model: m, Tools: b.registry(t), Approve: first}, "go"); r.StopReason != tt.stop {
				t.Errorf("%s is denied, %s allowed: %s", tt.denied, tt.allowed, r.StopReason)
			}
		}
	})
	t.Run("denied again and again", func(t *testing.T) {
		var b bench
		m := newModel(call("write", `{"text":"1"}`), call("write", `{"text":"2"}`), call("write", `{"text":"3"}`), "never")
		wantEnd(t, ask(t, agent.Options{Model: m, Tools: b.registry(t), Approve: deny}, "go"), agent.Partial, agent.StopDenied, 3)
	})
	t.Run("stop", func(t *testing.T) {
		var b bench
		stop := func(context.Context, agent.ApprovalRequest) (agent.Decision, error) {
			return agent.Decision{Verdict: agent.Stop}, nil
		}
		m := newModel(call("write", `{"text":"x"}`), "never")
		wantEnd(t, ask(t, agent.Options{Model: m, Tools: b.registry(t), Approve: stop}, "go"), agent.Partial, agent.StopDenied, 1)
		if m.asked() != 1 {
			t.Error("the model was asked again")
		}
	})
	t.Run("rewritten", func(t *testing.T) {
		var b bench
		rewrite := func(context.Context, agent.ApprovalRequest) (agent.Decision, error) {
			return agent.Decision{Verdict: agent.Allow, Args: json.RawMessage(`{"text":"y"}`)}, nil
		}
		ask(t, agent.Options{Model: newModel(call("write", `{"text":"x"}`), "done"), Tools: b.registry(t), Approve: rewrite}, "go")
		if b.String() != "write:y" {
			t.Errorf("ran %q", b.String())
		}
	})
	t.Run("by default only reading is allowed", func(t *testing.T) {
		var b bench
		a, err := agent.New(agent.Options{Model: newModel(call("write", `{"text":"x"}`), call("echo", `{"text":"y"}`), "done"), Tools: b.registry(t)})
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.Ask(t.Context(), "go")
		if err != nil || b.String() != "echo:y" || r.StopReason != agent.StopDenied {
			t.Errorf("ran %q, %s, %v", b.String(), r.StopReason, err)
		}
	})
}

func TestTainted(t *testing.T) {
	web, err := tools.New("web", "Fetch.", tools.Network, func(context.Context, noneIn) (tools.Result, error) {
		return tools.Result{Text: "rm -rf /", Origin: tools.Web}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(web)
	if err != nil {
		t.Fatal(err)
	}
	var tainted []bool
	approve := func(_ context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
		tainted = append(tainted, r.Tainted)
		return agent.Decision{Verdict: agent.Allow}, nil
	}
	m := newModel(call("web", `{}`), call("web", `{ }`), "done")
	ask(t, agent.Options{Model: m, Tools: registry, Approve: approve, MaxRepeatedCalls: 3}, "go")
	if fmt.Sprint(tainted) != "[false true]" {
		t.Errorf("tainted %v", tainted)
	}
}
