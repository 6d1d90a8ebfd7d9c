package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/providers"
	"mylm/tools"
)

func TestHookBeforeToolCall(t *testing.T) {
	var approved []string
	approve := func(_ context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
		approved = append(approved, r.Name+string(r.Args))
		return agent.Decision{Verdict: agent.Allow}, nil
	}
	for _, tt := range []struct {
		name               string
		decision           agent.Decision
		err                error
		ran, approved, say string
		stop               agent.StopReason
	}{
		{"lets it go on", agent.Decision{Verdict: agent.Allow}, nil, "write:a", `write{"text":"a"}`, "written", agent.StopComplete},
		{"rewrites it", agent.Decision{Verdict: agent.Allow, Args: json.RawMessage(`{"text":7}`)}, nil,
			"write:7", `write{"text": "7"}`, `ran with different arguments: {"text": "7"}`, agent.StopComplete},
		{"denies it", agent.Decision{Reason: "not on Sundays"}, nil, "", "", "[write] Error: not allowed: not on Sundays", agent.StopDenied},
		{"stops the run", agent.Decision{Verdict: agent.Stop}, nil, "", "", "", agent.StopDenied},
		{"fails", agent.Decision{}, errors.New("no disk"), "", "", "", agent.StopInternal},
		{"rewrites it to nonsense", agent.Decision{Verdict: agent.Allow, Args: json.RawMessage(`{"txt":1}`)}, nil, "", "", "", agent.StopInternal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bench
			approved = nil
			m := newModel(call("write", `{"text":"a"}`), "done")
			var seen agent.ApprovalRequest
			r, err := newAgent(t, agent.Options{Model: m, Tools: b.registry(t), Approve: approve, Hooks: agent.Hooks{
				BeforeToolCall: func(_ context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
					seen = r
					return tt.decision, tt.err
				},
			}}).Ask(t.Context(), "go")
			if (err != nil) != (tt.stop == agent.StopInternal) || r.StopReason != tt.stop {
				t.Fatalf("ended %s, %v", r.StopReason, err)
			}
			if err != nil && !strings.Contains(err.Error(), "BeforeToolCall") {
				t.Errorf("the error does not name the hook: %v", err)
			}
			if seen.Name != "write" || seen.Effect != tools.Writes {
				t.Errorf("the hook was asked about %+v", seen)
			}
			if b.String() != tt.ran || strings.Join(approved, " ") != tt.approved {
				t.Errorf("ran %q, approved %q", b.String(), approved)
			}
			if tt.say != "" && !strings.Contains(m.last(), tt.say) {
				t.Errorf("the model was told %q", m.last())
			}
		})
	}
}

func TestHookAfterToolCall(t *testing.T) {
	var b bench
	m := newModel(call("echo", `{"text":"the password is tulip"}`), "done")
	s := agent.NewSession()
	hooks := agent.Hooks{AfterToolCall: func(_ context.Context, c agent.ToolRequest, o tools.Outcome) (tools.Outcome, error) {
		o.Text = c.Name + ": " + strings.ReplaceAll(o.Text, "tulip", "***")
		return o, nil
	}}
	r, err := agent.Collect(newAgent(t, agent.Options{Model: m, Tools: b.registry(t), Hooks: hooks}).Run(t.Context(), s, "go"))
	if err != nil || r.StopReason != agent.StopComplete {
		t.Fatal(r.StopReason, err)
	}
	if !strings.Contains(m.last(), "echo: the password is ***") {
		t.Errorf("the model was told %q", m.last())
	}
	for _, e := range s.Entries() {
		if p, ok := e.Payload.(agent.ResultEntry); ok && strings.Contains(p.Text, "tulip") {
			t.Errorf("the record holds %q", p.Text)
		}
	}

	t.Run("a failure withholds the result", func(t *testing.T) {
		m := newModel(call("echo", `{"text":"tulip"}`), "done")
		s := agent.NewSession()
		hooks := agent.Hooks{AfterToolCall: func(context.Context, agent.ToolRequest, tools.Outcome) (tools.Outcome, error) {
			return tools.Outcome{}, errors.New("out of order")
		}}
		r, err := agent.Collect(newAgent(t, agent.Options{Model: m, Tools: b.registry(t), Hooks: hooks}).Run(t.Context(), s, "go"))
		if r.StopReason != agent.StopInternal || err == nil || !strings.Contains(err.Error(), "AfterToolCall: out of order") || m.asked() != 1 {
			t.Errorf("%s, %v after %d requests", r.StopReason, err, m.asked())
		}
		var results []agent.ResultEntry
		for _, e := range s.Entries() {
			if p, ok := e.Payload.(agent.ResultEntry); ok {
				results = append(results, p)
			}
		}
		if len(results) != 1 || results[0].Success || results[0].Text != "" || len(r.Calls) != 1 {
			t.Errorf("the call is recorded as %+v", r.Calls)
		}
	})
}

func TestHookTransformContext(t *testing.T) {
	var b bench
	m := newModel(call("echo", `{"text":"a"}`), "done")
	s := agent.NewSession()
	hooks := agent.Hooks{TransformContext: func(_ context.Context, messages []providers.Message) ([]providers.Message, error) {
		messages[0].Text = "changed in place"
		messages[1].Text += "!"
		return append(messages, providers.Message{Role: providers.User, Text: "It is raining."}), nil
	}}
	r, err := agent.Collect(newAgent(t, agent.Options{Model: m, Tools: b.registry(t), Hooks: hooks}).Run(t.Context(), s, "go"))
	if err != nil || r.StopReason != agent.StopComplete {
		t.Fatal(r.StopReason, err)
	}
	for i, want := range []int{3, 5} {
		sent := m.requests[i].Messages
		if len(sent) != want || sent[0].Text != "changed in place" || sent[1].Text != "go!" || sent[len(sent)-1].Text != "It is raining." {
			t.Errorf("request %d: %q", i, sent)
		}
	}
	for _, msg := range s.Messages() {
		if strings.Contains(msg.Text, "raining") {
			t.Errorf("the session holds %q", msg.Text)
		}
	}
	if s.Entries()[0].Payload.(agent.RunEntry).System == "changed in place" {
		t.Error("the recorded system prompt changed")
	}

	m = newModel("never")
	hooks.TransformContext = func(context.Context, []providers.Message) ([]providers.Message, error) {
		return nil, errors.New("lost")
	}
	r, err = newAgent(t, agent.Options{Model: m, Hooks: hooks}).Ask(t.Context(), "go")
	if r.StopReason != agent.StopInternal || err == nil || !strings.Contains(err.Error(), "TransformContext: lost") || m.asked() != 0 {
		t.Errorf("%s, %v after %d requests", r.StopReason, err, m.asked())
	}
}

func TestDryRun(t *testing.T) {
	var b bench
	fetch, err := tools.New("fetch", "Fetch it.", tools.Network, func(context.Context, echoIn) (tools.Result, error) {
		b.log("fetch")
		return tools.Result{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	fetch.Preview = func(json.RawMessage) string { return "GET http://example.com" }
	registry, err := tools.NewRegistry(append(b.registry(t).Tools(), fetch)...)
	if err != nil {
		t.Fatal(err)
	}
	asked := ""
	m := newModel(call("write", `{"text":"a"}`), call("fetch", `{"text":"b"}`), call("echo", `{"text":"c"}`), "done")
	r := ask(t, agent.Options{Model: m, Tools: registry, DryRun: true, Approve: func(_ context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
		asked += r.Name
		return agent.Decision{Verdict: agent.Allow}, nil
	}}, "go")
	wantEnd(t, r, agent.Success, agent.StopComplete, 4)
	if b.String() != "echo:c" || asked != "echo" {
		t.Errorf("ran %q, asked about %q", b.String(), asked)
	}
	told := m.requests[3].Messages
	for i, want := range map[int]string{3: "[write] Success:\nDry run: nothing was done. This call (writes) would have done:\n{\"text\":\"a\"}", 5: "GET http://example.com", 7: "\nc\n"} {
		if !strings.Contains(told[i].Text, want) {
			t.Errorf("message %d is %q, want %q in it", i, told[i].Text, want)
		}
	}
	if !r.Calls[0].DryRun || !r.Calls[1].DryRun || r.Calls[2].DryRun {
		t.Errorf("calls %+v", r.Calls)
	}
}
