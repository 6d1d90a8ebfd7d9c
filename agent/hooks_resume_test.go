package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/tools"
)

// judges are hooks and an approver that decide anew each time they are asked.
type judges struct{ before, approve, after int }

func (j *judges) into(o agent.Options, word string) agent.Options {
	o.Approve = func(_ context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
		j.approve++
		if strings.Contains(string(r.Args), "forbidden") {
			return agent.Decision{Verdict: agent.Forbid, Reason: word + ": a rule says no"}, nil
		}
		return agent.Decision{Verdict: agent.Allow}, nil
	}
	o.Hooks.BeforeToolCall = func(_ context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
		j.before++
		switch text := string(r.Args); {
		case strings.Contains(text, "denied"):
			return agent.Decision{Reason: word + ": a hook says no"}, nil
		case strings.Contains(text, "changed"):
			return agent.Decision{Verdict: agent.Allow, Args: json.RawMessage(fmt.Sprintf(`{"text":"%s %d"}`, word, j.before))}, nil
		}
		return agent.Decision{Verdict: agent.Allow}, nil
	}
	o.Hooks.AfterToolCall = func(_ context.Context, _ agent.ToolRequest, out tools.Outcome) (tools.Outcome, error) {
		j.after++
		out.Text += "!"
		return out, nil
	}
	return o
}

// What hooks and an approver decided before a process died holds when its run
// is resumed: no approval is asked for again, and no result is rewritten twice.
func TestDecisionsOutliveACrash(t *testing.T) {
	replies := []string{
		call("write", `{"text":"changed"}`), call("write", `{"text":"forbidden"}`), call("echo", `{"text":"two"}`),
		call("write", `{"text":"denied"}`), call("write", `{"text":"last"}`), "All is done.",
	}
	const calls, running = 5, 3
	var whole recorder
	var b bench
	var first judges
	r := ask(t, first.into(agent.Options{Model: &byPlace{replies: replies}, Tools: b.registry(t), Recorder: &whole}, "first"), "go")
	wantEnd(t, r, agent.Success, agent.StopComplete, 6)
	if want := (judges{calls, calls - 1, running}); first != want {
		t.Fatalf("asked %+v, want %+v", first, want)
	}
	entries := through(t, whole.entries)
	for n := 3; n < len(entries); n++ {
		t.Run(fmt.Sprintf("%d %s", n, entries[n-1].Kind()), func(t *testing.T) {
			decided, done, end := map[string]bool{}, 0, agent.StopComplete
			for _, e := range entries[:n] {
				if id := e.CallID(); id != "" {
					decided[id] = true
				}
				switch p, ok := e.Payload.(agent.ResultEntry); {
				case p.Denied:
					end = agent.StopDenied // until a call that changes something succeeds
				case ok:
					done++
				}
			}
			if last, ok := entries[n-1].Payload.(agent.CallEntry); !ok || last.Name != "write" {
				end = agent.StopComplete // the last call, whose outcome is known
			}
			s, err := agent.LoadSession("s", entries[:n])
			if err != nil {
				t.Fatal(err)
			}
			var b bench
			var rest judges
			events, again := collect(t, newAgent(t, rest.into(agent.Options{Model: &byPlace{replies: replies}, Tools: b.registry(t)}, "again")).Resume(t.Context(), s))
			if again.StopReason != end || again.Response != "All is done." {
				t.Errorf("ended with %s, %q, %v", again.StopReason, again.Response, again.Err)
			}
			if rest.before != calls-len(decided) || rest.after != running-done {
				t.Errorf("of %d calls %d were decided about and %d had run; asked %+v", calls, len(decided), done, rest)
			}
			for _, ev := range events {
				if p, ok := ev.Payload.(agent.ToolOutput); ok && strings.Contains(p.Output, "!!") {
					t.Errorf("told %q", p.Output)
				}
			}
			for i, e := range s.Entries()[:n] {
				was, _ := entries[i].Payload.(agent.ResultEntry)
				is, _ := e.Payload.(agent.ResultEntry)
				if is.Error != was.Error || string(is.Args) != string(was.Args) {
					t.Errorf("entry %d is now %+v", i, e)
				}
			}
		})
	}
}

// A dry run stays one for the call that it was in when it died, and a call that
// was made stays made, whatever the flag says afterwards.
func TestDryRunOutlivesACrash(t *testing.T) {
	replies := []string{call("write", `{"text":"one"}`), "Done."}
	rehearse := func(context.Context, agent.ApprovalRequest) (agent.Decision, error) {
		return agent.Decision{Verdict: agent.Rehearse, Args: json.RawMessage(`{"text":"two"}`)}, nil
	}
	for name, o := range map[string]agent.Options{"approver": {Approve: rehearse}, "hook": {Hooks: agent.Hooks{BeforeToolCall: rehearse}, Approve: agent.AllowAll}} {
		t.Run(name, func(t *testing.T) {
			var b bench
			m := newModel(call("write", `{"text":"one"}`), "Done.")
			o.Model, o.Tools = m, b.registry(t)
			r := ask(t, o, "go")
			if r.StopReason != agent.StopComplete || !r.Calls[0].DryRun || b.String() != "" || !strings.Contains(m.last(), `would have done:`+"\n"+`{"text":"two"}`) {
				t.Errorf("%+v, ran %q, told %q", r.Calls, b.String(), m.last())
			}
		})
	}
	for _, dry := range []bool{true, false} {
		var whole recorder
		var b bench
		ask(t, agent.Options{Model: &byPlace{replies: replies}, Tools: b.registry(t), Approve: agent.AllowAll, DryRun: dry, Recorder: &whole}, "go")
		entries := through(t, whole.entries)
		for n := 4; n < len(entries); n++ {
			t.Run(fmt.Sprintf("dry %v, %d %s", dry, n, entries[n-1].Kind()), func(t *testing.T) {
				s, err := agent.LoadSession("s", entries[:n])
				if err != nil {
					t.Fatal(err)
				}
				var b bench
				_, r := collect(t, newAgent(t, agent.Options{Model: &byPlace{replies: replies}, Tools: b.registry(t), Approve: agent.AllowAll, DryRun: !dry}).Resume(t.Context(), s))
				if r.StopReason != agent.StopComplete || len(r.Calls) != 1 || r.Calls[0].DryRun != dry || b.String() != "" {
					t.Errorf("ended with %s, %v; calls %+v, ran %q", r.StopReason, r.Err, r.Calls, b.String())
				}
			})
		}
	}
}
