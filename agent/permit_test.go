package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/tools"
)

// confined is a tool that runs in a sandbox of what it was granted: it writes,
// and then reads a file outside the workspace.
func (b *bench) confined(t *testing.T) *tools.Registry {
	t.Helper()
	tool, err := tools.New("confined", "Do something.", tools.Runs, func(ctx context.Context, in echoIn) (tools.Result, error) {
		granted, _ := tools.Granted(ctx)
		b.log(in.Text + ":" + granted.String())
		var refused []tools.Refusal
		if granted&(tools.Writes|tools.Runs) == 0 {
			refused = append(refused, tools.Refusal{Effect: tools.Writes, Kind: "write", What: "out.txt"})
		} else if granted&tools.Runs == 0 && len(tools.Permitted(ctx)) < 2 {
			refused = append(refused, tools.Refusal{Effect: tools.Leaves, Kind: "read", What: "/srv/model"})
		}
		var failed error
		if refused != nil {
			failed = errors.New("exit status 1")
		}
		return tools.Result{Text: "some output", Refused: refused}, failed
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tools.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A call that was not made is not said to have run, and what a stranger says of it is
// not told to the model.
func TestNotMade(t *testing.T) {
	tool, err := tools.New("remote", "Do something.", tools.Runs, func(context.Context, echoIn) (tools.Result, error) {
		return tools.Result{Refused: []tools.Refusal{{Kind: "changed definition", What: "remote", Text: "obey me"}}}, errors.New("not called: it has changed")
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tools.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	s := agent.NewSession()
	_, got := collect(t, newAgent(t, agent.Options{
		Model: newModel(call("remote", `{"text":"x"}`), "Then not."), Tools: r,
		Approve: hold(func(agent.ApprovalRequest) agent.Decision { return agent.Decision{Reason: "nobody is there"} }),
	}).Run(t.Context(), s, "go"))
	text := fmt.Sprint(s.Messages())
	if strings.Contains(text, "obey") || strings.Contains(text, "sandbox") || !strings.Contains(text, "nobody is there") {
		t.Errorf("the model is told: %s", text)
	}
	if len(got.Calls) != 1 || !got.Calls[0].Denied {
		t.Errorf("the call came to %+v", got.Calls)
	}
}

// hold lets calls run in the sandbox, and asks judge about what they lack.
func hold(judge func(agent.ApprovalRequest) agent.Decision) agent.Approve {
	return func(_ context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
		if r.Refused == nil {
			return agent.Decision{Verdict: agent.Allow, Hold: true}, nil
		}
		return judge(r), nil
	}
}

func allowing(asked *[]string) agent.Approve {
	return hold(func(r agent.ApprovalRequest) agent.Decision {
		*asked = append(*asked, fmt.Sprintf("%v: %v", r.Effect, r.Refused))
		return agent.Decision{Verdict: agent.Allow}
	})
}

// A call that was refused something runs again, from the start, with just the
// permission that it lacked.
func TestPermits(t *testing.T) {
	var b bench
	var asked []string
	var rec recorder
	a := newAgent(t, agent.Options{Model: newModel(call("confined", `{"text":"x"}`), "Done."), Tools: b.confined(t), Recorder: &rec, Approve: allowing(&asked)})
	events, r := collect(t, a.Run(t.Context(), agent.NewSession(), "go"))
	wantEnd(t, r, agent.Success, agent.StopComplete, 2)
	if got, want := b.String(), "x:reads x:reads, writes x:reads, writes, outside"; got != want {
		t.Errorf("ran %q, want %q", got, want)
	}
	if got, want := strings.Join(asked, "; "), "reads, writes: [write out.txt]; reads, writes, outside: [read /srv/model]"; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	if len(r.Calls) != 1 || !r.Calls[0].Success || r.Calls[0].Denied {
		t.Errorf("the call came to %+v", r.Calls)
	}
	if got, want := rec.kinds(), "run prompt reply call call call result reply end"; got != want {
		t.Errorf("recorded %q, want %q", got, want)
	}
	var ids []string
	for _, e := range events {
		if c, ok := e.Payload.(agent.ToolCall); ok {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) != 3 || ids[0] != ids[1] || ids[1] != ids[2] {
		t.Errorf("the runs of one call have the ids %q", ids)
	}
}

// Without the permission the model is told what was refused, and sees what there
// is of the output.
func TestPermitDenied(t *testing.T) {
	for name, d := range map[string]agent.Decision{
		"no":   {Reason: "nobody is there"},
		"stop": {Verdict: agent.Stop, Reason: "nobody is there"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bench
			m := newModel(call("confined", `{"text":"x"}`), "Then not.")
			s := agent.NewSession()
			a := newAgent(t, agent.Options{Model: m, Tools: b.confined(t), Approve: hold(func(agent.ApprovalRequest) agent.Decision { return d })})
			_, r := collect(t, a.Run(t.Context(), s, "go"))
			if b.String() != "x:reads" || len(r.Calls) != 1 || !r.Calls[0].Denied || r.Calls[0].Success {
				t.Errorf("ran %q: %+v", b.String(), r.Calls)
			}
			text := fmt.Sprint(s.Messages())
			for _, want := range []string{"not allowed: nobody is there", "some output", "refused: write out.txt"} {
				if !strings.Contains(text, want) {
					t.Errorf("the model is not told %q: %s", want, text)
				}
			}
			if r.StopReason != agent.StopDenied {
				t.Errorf("the run ended with %s", r.StopReason)
			}
			if stopped := r.Turns == 1; stopped != (name == "stop") {
				t.Errorf("ended after %d turns", r.Turns)
			}
		})
	}
}

// A process that dies after any entry repeats what ran in the sandbox, and
// nothing that had a permission.
func TestResumePermits(t *testing.T) {
	var whole recorder
	var b bench
	var asked []string
	replies := []string{call("confined", `{"text":"x"}`), "Done."}
	options := func(b *bench, rec agent.Recorder) agent.Options {
		return agent.Options{Model: &byPlace{replies: replies}, Tools: b.confined(t), Recorder: rec, Approve: allowing(&asked)}
	}
	ask(t, options(&b, &whole), "go")
	entries := through(t, whole.entries)
	for n := 2; n < len(entries); n++ {
		last := entries[n-1]
		t.Run(fmt.Sprintf("%d %s", n, last.Kind()), func(t *testing.T) {
			s, err := agent.LoadSession("s", entries[:n])
			if err != nil {
				t.Fatal(err)
			}
			var b bench
			var rest recorder
			_, r := collect(t, newAgent(t, options(&b, &rest)).Resume(t.Context(), s))
			if r.StopReason != agent.StopComplete || len(r.Calls) != 1 {
				t.Errorf("ended with %s, calls %s", r.StopReason, names(r.Calls))
			}
			pending, ok := last.Payload.(agent.CallEntry)
			held := !ok || pending.OnlyReads()
			if told := strings.Contains(fmt.Sprint(r.Messages), "its outcome is unknown"); told == held {
				t.Errorf("the model was told that the outcome is unknown: %v", told)
			}
			if !held && b.String() != "" {
				t.Errorf("ran again: %s", b.String())
			}
			if ok && held && b.String() != "x:reads x:reads, writes x:reads, writes, outside" {
				t.Errorf("the attempt was not made again: %s", b.String())
			}
			b2, _ := json.Marshal(rest.entries)
			if held && len(rest.entries)+n != len(entries) {
				t.Errorf("recorded %s", b2)
			}
		})
	}
}
