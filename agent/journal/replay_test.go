package journal_test

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/providers"
	"mylm/tools"
)

// sessions are conversations that end in every way, as they were recorded.
func sessions(t *testing.T) map[string][]agent.Entry {
	t.Helper()
	all := map[string][]agent.Entry{}
	record := func(name string, m byPlace, change func(*agent.Options), more ...string) {
		var h hands
		s := agent.NewSession()
		a := newAgent(t, &h, m, nil, change)
		for _, q := range append([]string{"go"}, more...) {
			_, _ = agent.Collect(a.Run(t.Context(), s, q)) // some fail
		}
		all[name] = s.Entries()
	}
	record("complete", conversation, nil)
	record("two questions", append(conversation[:7:7], "Again."), nil, "and now?")
	record("max turns", conversation, func(o *agent.Options) { o.MaxTurns = 2 })
	record("repeated", byPlace{call("look", `{"text":"a"}`)}, nil)
	record("errors", byPlace{call("fail", `{"text":"a"}`), call("fail", `{"text":"b"}`), call("fail", `{"text":"c"}`)}, nil)
	record("malformed", byPlace{"<tool_code>\nno"}, nil)
	record("down", byPlace{call("look", `{"text":"a"}`), "down"}, nil)
	record("denied", byPlace{call("write", `{"text":"a"}`), "Then not."}, func(o *agent.Options) { o.Approve = agent.AllowReads })
	record("stopped", byPlace{call("write", `{"text":"a"}`), "Then not."}, func(o *agent.Options) {
		o.Approve = func(context.Context, agent.ApprovalRequest) (agent.Decision, error) {
			return agent.Decision{Verdict: agent.Stop, Reason: "enough"}, nil
		}
	})
	record("other arguments", byPlace{call("write", `{"text":"a"}`), "Done."}, func(o *agent.Options) {
		o.Approve = func(context.Context, agent.ApprovalRequest) (agent.Decision, error) {
			return agent.Decision{Verdict: agent.Allow, Args: []byte(`{"text":"b"}`)}, nil
		}
	})
	record("forbidden", byPlace{call("write", `{"text":"a"}`), "Then not."}, func(o *agent.Options) {
		o.Approve = func(context.Context, agent.ApprovalRequest) (agent.Decision, error) {
			return agent.Decision{Verdict: agent.Forbid, Reason: "Command not allowed: never"}, nil
		}
	})
	for name, verdict := range map[string]agent.Verdict{"permitted": agent.Allow, "not permitted": agent.Deny, "not permitted and stopped": agent.Stop} {
		record(name, byPlace{call("confined", `{"text":"a"}`), "Done."}, func(o *agent.Options) {
			o.Approve = func(_ context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
				if r.Refused == nil {
					return agent.Decision{Verdict: agent.Allow, Hold: true}, nil
				}
				return agent.Decision{Verdict: verdict, Reason: "because"}, nil
			}
		})
	}
	record("hooks", byPlace{call("write", `{"text":"a"}`), call("look", `{"text":"b"}`), "Done."}, func(o *agent.Options) { o.Hooks = changing })
	record("out of time", byPlace{call("wait", `{"text":"a"}`)}, func(o *agent.Options) { o.MaxTime, o.MaxTurns = time.Millisecond, 1 })
	record("dry run", byPlace{call("write", `{"text":"a"}`), call("look", `{"text":"b"}`), "Done."}, func(o *agent.Options) { o.DryRun = true })
	for n := 2; n < len(all["complete"]); n++ {
		all["died after "+string(rune('a'+n))] = all["complete"][:n]
	}
	// One that was resumed after it ended early.
	var h hands
	s, err := agent.LoadSession("s", all["max turns"])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Collect(newAgent(t, &h, conversation, nil, nil).Resume(t.Context(), s)); err != nil {
		t.Fatal(err)
	}
	all["resumed"] = s.Entries()
	// One whose process died in a call that writes.
	for n, e := range all["complete"] {
		if c, ok := e.Payload.(agent.CallEntry); ok && c.Name == "write" {
			if s, err = agent.LoadSession("s", all["complete"][:n+1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := agent.Collect(newAgent(t, &h, conversation, nil, nil).Resume(t.Context(), s)); err != nil {
		t.Fatal(err)
	}
	all["resumed in a call"] = s.Entries()
	// One that was allowed fewer turns when it was resumed.
	for n, e := range all["complete"] {
		if e.Kind() == agent.EntryReply && e.Turn == 1 {
			if s, err = agent.LoadSession("s", all["complete"][:n+1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	fewer := newAgent(t, &h, conversation, nil, func(o *agent.Options) { o.MaxTurns = 2 })
	if r, err := agent.Collect(fewer.Resume(t.Context(), s)); err != nil || r.StopReason != agent.StopMaxTurns {
		t.Fatalf("%+v, %v", r, err)
	}
	all["fewer turns"] = s.Entries()
	// One that was a dry run until its process died, and none afterwards.
	for n, e := range all["dry run"] {
		if p, ok := e.Payload.(agent.ResultEntry); ok && p.Name == "write" {
			if s, err = agent.LoadSession("s", all["dry run"][:n+1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := agent.Collect(newAgent(t, &h, byPlace{"", call("write", `{"text":"b"}`), "Done."}, nil, nil).Resume(t.Context(), s)); err != nil {
		t.Fatal(err)
	}
	all["dry no more"] = s.Entries()
	return all
}

// change edits the payload of an entry.
func change[P agent.EntryPayload](e *agent.Entry, f func(*P)) {
	p := e.Payload.(P)
	f(&p)
	e.Payload = p
}

// changing are hooks that change all they can.
var changing = agent.Hooks{
	BeforeToolCall: func(_ context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
		if r.Name == "look" {
			return agent.Decision{Reason: "look away"}, nil
		}
		return agent.Decision{Verdict: agent.Allow, Args: []byte(`{"text":"hooked"}`)}, nil
	},
	AfterToolCall: func(_ context.Context, _ agent.ToolRequest, o tools.Outcome) (tools.Outcome, error) {
		o.Text = "hooked: " + o.Text
		return o, nil
	},
	TransformContext: func(context.Context, []providers.Message) ([]providers.Message, error) {
		return []providers.Message{{Role: providers.User, Text: "hooked"}}, nil
	},
}

func TestReplay(t *testing.T) {
	for name, entries := range sessions(t) {
		var h hands
		done, err := agent.Replay(t.Context(), entries, agent.Options{Tools: h.registry(t), Hooks: changing})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, d := range done.Differences {
			t.Errorf("%s: turn %d: %s was %q, is %q", name, d.Turn, d.What, d.Was, d.Is)
		}
		if len(h.writes) > 0 || done.Runs == 0 {
			t.Errorf("%s: %+v, wrote %v", name, done, h.writes)
		}
	}
}

// An engine that does something else is noticed, and where.
func TestReplayDiffers(t *testing.T) {
	entries := sessions(t)["complete"]
	for name, test := range map[string]struct {
		change func([]agent.Entry)
		what   string
		turn   int
		why    string
	}{
		"an answer for a call": {func(e []agent.Entry) { change(&e[2], func(p *agent.ReplyEntry) { p.Raw = "Nothing to do." }) }, "text of the reply", 1, "the reply is text"},
		"other arguments": {func(e []agent.Entry) {
			change(&e[2], func(p *agent.ReplyEntry) { p.Raw = call("look", `{"text":"z"}`) })
		}, "text of the reply", 1, "the reply is a call of look"},
		"another thought": {func(e []agent.Entry) { change(&e[2], func(p *agent.ReplyEntry) { p.SeparateThought = "other" }) }, "thought", 1, ""},
		"what the model hears": {func(e []agent.Entry) {
			for i := range e {
				if e[i].Kind() == agent.EntryUser {
					e[i].Payload = agent.UserEntry{Text: "Your reply cannot be read."}
				}
			}
		}, "text of the user", 3, "the reply cannot be read"},
		"another end":  {func(e []agent.Entry) { e[len(e)-1].Payload = agent.EndEntry{StopReason: agent.StopMaxTurns} }, "end", 7, "the reply is text"},
		"more happens": {func(e []agent.Entry) { change(&e[len(e)-2], func(p *agent.ReplyEntry) { p.Raw = "<think>" }) }, "text of the reply", 7, "cannot be read"},
		"fewer turns": {func(e []agent.Entry) {
			change(&e[0], func(p *agent.RunEntry) { p.Setup = &agent.Setup{MaxConsecutiveErrors: 1, Tools: p.Setup.Tools} })
		}, "what happens", 5, "a call of nothing"},
		"a missing tool": {nil, "text of the reply", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var h hands
			tools := h.registry(t)
			changed := append([]agent.Entry{}, entries...)
			if test.change != nil {
				test.change(changed)
			} else {
				var err error
				if tools, err = tools.Only("write", "fail"); err != nil {
					t.Fatal(err)
				}
			}
			done, err := agent.Replay(t.Context(), changed, agent.Options{Tools: tools})
			n := 1
			if test.change == nil { // the model is not shown the tool, too
				n = 2
			}
			if err != nil || len(done.Differences) != n {
				t.Fatalf("%+v, %v", done, err)
			}
			if d := done.Differences[n-1]; d.What != test.what || d.Turn != test.turn || d.Was == d.Is || !strings.Contains(d.Why, test.why) {
				t.Errorf("difference %+v", d)
			}
		})
	}
}

func TestReplayEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var h hands
	if _, err := agent.Replay(ctx, sessions(t)["complete"], agent.Options{Tools: h.registry(t)}); err == nil {
		t.Error("it went on")
	}
}

func TestExport(t *testing.T) {
	store := newStore(t)
	id := talk(t, store, "the heron is secret")
	header, entries, err := store.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	kept := read(t, store.Path(id))
	clean := func(s string) string {
		return strings.NewReplacer("heron", "[bird]", "one", `"1"`, "/src", "[place]").Replace(s)
	}
	cleanHeader, cleanEntries := journal.Clean(header, entries, clean)
	var out bytes.Buffer
	plain := strings.Replace(regexp.MustCompile(`,"sum":"[0-9a-f]{8}"`).ReplaceAllString(kept, ""), `"version":2`, `"version":1`, 1)
	if err := journal.WriteJSONL(&out, header, entries); err != nil || out.String() != plain || plain == kept {
		t.Errorf("a copy differs: %v", err)
	}
	out.Reset()
	if err := journal.WriteJSONL(&out, cleanHeader, cleanEntries); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"heron", "/src", `"one`} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%s is in\n%s", secret, out.String())
		}
	}
	path := filepath.Join(t.TempDir(), "report.jsonl")
	write(t, path, out.String())
	if _, again, err := journal.LoadFile(t.Context(), path); err != nil || len(again) != len(entries) {
		t.Errorf("what was exported cannot be read: %v", err)
	}
	if entries[1].Payload.(agent.PromptEntry).Text != "the heron is secret" {
		t.Error("cleaning changed the original")
	}

	out.Reset()
	if err := journal.WriteMarkdown(&out, header, entries); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"## Question\n\nthe heron is secret", "## Thought, turn 1", "## Call of write (writes)", "## Result of fail (failed)", "\nAll done.\n", "## End: complete"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in\n%s", part, out.String())
		}
	}
	out.Reset()
	if err := journal.WriteJSON(&out, header, entries); err != nil || !strings.Contains(out.String(), `"entries": [`) {
		t.Errorf("%v: %s", err, out.String())
	}
}
