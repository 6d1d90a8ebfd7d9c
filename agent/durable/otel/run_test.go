package otel_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"

	"mylm/agent"
	"mylm/agent/durable/otel"
	"mylm/agent/plan"
	"mylm/providers"
	"mylm/providers/scripted"
	"mylm/tools"
)

func TestSpansNest(t *testing.T) {
	k := newKit(t, otel.Options{Agent: "clerk", Provider: "ollama"})
	header := http.Header{}
	r := registry(t, map[string]func(context.Context, string) (tools.Result, error){
		"fetch": func(ctx context.Context, _ string) (tools.Result, error) {
			propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
			return tools.Result{Text: "a page"}, nil
		},
	})
	seed, warm := 7, 0.5
	m := named{scripted.New(
		scripted.Reply{Text: "Let me see. " + call("fetch", `{"text": 7}`)}, // which becomes a text
		scripted.Reply{Text: "Here it is.", Usage: providers.Usage{Prompt: 40, Output: 4, Evaluated: 10}},
	)}
	s := agent.NewSession()
	result, err := agent.Collect(newAgent(t, k.Instrument(agent.Options{Model: m, Tools: r, Seed: &seed, Temperature: &warm, MaxTokens: 100})).Run(t.Context(), s, "go"))
	if err != nil {
		t.Fatal(err)
	}
	want := "invoke_agent clerk\n  turn\n    chat m\n    execute_tool fetch\n  turn\n    chat m\n"
	if got := k.tree(); got != want {
		t.Fatalf("spans\n%s\nwant\n%s", got, want)
	}
	run, tool, chat := k.span(t, "invoke_agent clerk"), k.span(t, "execute_tool fetch"), k.spans.GetSpans()[3]
	wantAttrs(t, run, "gen_ai.operation.name=invoke_agent", "gen_ai.agent.name=clerk", "gen_ai.provider.name=ollama", "gen_ai.conversation.id="+s.ID,
		"mylm.run.id="+result.Run, "mylm.stop_reason=complete", "mylm.run.turns=2", "gen_ai.usage.input_tokens=40")
	wantAttrs(t, chat, "gen_ai.operation.name=chat", "gen_ai.request.model=m", "gen_ai.conversation.id="+s.ID, "gen_ai.request.seed=7", "gen_ai.request.temperature=0.5",
		"gen_ai.request.max_tokens=100", "gen_ai.request.stream=true", "mylm.request.attempt=1", `gen_ai.response.finish_reasons=["stop"]`,
		"gen_ai.usage.input_tokens=40", "gen_ai.usage.output_tokens=4", "gen_ai.usage.cache_read.input_tokens=30")
	wantAttrs(t, tool, "gen_ai.operation.name=execute_tool", "gen_ai.tool.name=fetch", "gen_ai.tool.type=function", "mylm.call.effect=reads")
	if value(tool.Attributes, "gen_ai.tool.call.id") == "" || value(chat.Attributes, "gen_ai.response.time_to_first_chunk") == "" {
		t.Errorf("no id of the call, or no time to the first chunk: %v, %v", tool.Attributes, chat.Attributes)
	}
	if got := header.Get("traceparent"); !strings.Contains(got, tool.SpanContext.TraceID().String()+"-"+tool.SpanContext.SpanID().String()) {
		t.Errorf("what the tool asks elsewhere belongs to %q, want the span %s", got, tool.SpanContext.SpanID())
	}
	metrics := k.metrics(t)
	for name, want := range map[string]string{
		"gen_ai.client.token.usage chat ollama m input":  "1 40",
		"gen_ai.client.token.usage chat ollama m output": "1 4",
		"mylm.run.turns invoke_agent complete":           "1 2",
		"mylm.reply.repairs coerced":                     "1",
	} {
		if metrics[name] != want {
			t.Errorf("%s is %q, want %q; there is %v", name, metrics[name], want, slices.Sorted(maps.Keys(metrics)))
		}
	}
	for _, name := range []string{
		"gen_ai.client.operation.duration chat ollama m", "gen_ai.client.operation.duration execute_tool ollama fetch", "gen_ai.client.operation.duration invoke_agent ollama",
		"gen_ai.client.operation.time_to_first_chunk chat ollama m", "mylm.queue.duration approval",
	} {
		if metrics[name] == "" {
			t.Errorf("there is no %s in %v", name, slices.Sorted(maps.Keys(metrics)))
		}
	}
	var logged []string
	for _, r := range k.logs {
		logged = append(logged, r.EventName())
		if r.TraceID() != run.SpanContext.TraceID() {
			t.Errorf("%s belongs to another trace", r.EventName())
		}
	}
	if got := strings.Join(logged, " "); got != "mylm.tool_call mylm.tool_output mylm.agent_end" {
		t.Errorf("logged %s", got)
	}
}

// Whatever ends or fails, its span is ended and says why.
func TestSpansEnd(t *testing.T) {
	failed := func(kind providers.Kind, permanent bool) scripted.Reply {
		return scripted.Reply{Err: &providers.Error{Kind: kind, Permanent: permanent, Usage: providers.Usage{Prompt: 5}}}
	}
	allowed := func(verdict agent.Verdict) agent.Approve {
		return func(context.Context, agent.ApprovalRequest) (agent.Decision, error) {
			time.Sleep(3 * time.Second)
			return agent.Decision{Verdict: verdict}, nil
		}
	}
	tool := func(name string) scripted.Reply { return scripted.Reply{Text: call(name, `{"text": "x"}`)} }
	hang, done := scripted.Reply{Hang: true}, scripted.Reply{Text: "done"}
	const complete = "  turn\n    chat m\n"
	for name, tt := range map[string]struct {
		replies []scripted.Reply
		options agent.Options
		cancel  bool   // after a minute
		leave   string // how the consumer does at the first event, or at the first text; "": it stays
		spans   string
		metrics map[string]string
	}{
		"a passing fault": {replies: []scripted.Reply{failed(providers.ServerFault, false), done}, options: agent.Options{RetryWait: time.Nanosecond},
			spans: "invoke_agent\n  turn\n    chat m !server_fault\n    chat m\n", metrics: map[string]string{"mylm.queue.duration backend": "1 "}},
		"a lasting fault": {replies: []scripted.Reply{failed(providers.Auth, true)},
			spans: "invoke_agent !auth\n  turn !model\n    chat m !auth\n", metrics: map[string]string{"mylm.run.turns invoke_agent model_error": "1 1", "gen_ai.client.token.usage chat m input": "1 5"}},
		"a reply that breaks off": {replies: []scripted.Reply{{Text: "So", Cut: true}}, options: agent.Options{Tries: 1},
			spans: "invoke_agent !interrupted\n  turn !model\n    chat m !interrupted\n"},
		"an unreadable reply": {replies: []scripted.Reply{{Text: "<tool_code>\n<name>echo</name>\n<parameters>{\"text\": </parameters>\n</tool_code>"}, done},
			spans: "invoke_agent\n  turn !bad_json\n    chat m\n" + complete, metrics: map[string]string{"mylm.reply.faults bad_json": "1"}},
		"a tool that fails": {replies: []scripted.Reply{tool("fail"), done}, spans: "invoke_agent\n  turn\n    chat m\n    execute_tool fail !tool_error\n" + complete,
			metrics: map[string]string{"mylm.call.refusals invalid": ""}},
		"a tool that panics": {replies: []scripted.Reply{tool("crash"), done}, spans: "invoke_agent\n  turn !tool\n    chat m\n    execute_tool crash !panic\n" + complete},
		"a call that is blocked": {replies: []scripted.Reply{tool("blocked"), done}, spans: "invoke_agent\n  turn\n    chat m\n    execute_tool blocked !tool_error\n" + complete,
			metrics: map[string]string{"mylm.call.refusals sandbox": "1"}},
		"a call that runs again with a permission": {replies: []scripted.Reply{tool("lacks"), done}, options: agent.Options{Approve: agent.AllowAll},
			spans: "invoke_agent\n  turn\n    chat m\n    execute_tool lacks !refused\n    execute_tool lacks !refused\n" + complete},
		"a call that runs again without": {replies: []scripted.Reply{tool("lacks"), done},
			spans: "invoke_agent !denied\n  turn\n    chat m\n    execute_tool lacks !refused\n    execute_tool lacks !denied\n" + complete, metrics: map[string]string{"mylm.call.refusals denied": "1", "mylm.call.refusals sandbox": "1"}},
		"a denial": {replies: []scripted.Reply{tool("echo"), done}, options: agent.Options{Approve: allowed(agent.Deny)},
			spans: "invoke_agent !denied\n  turn\n    chat m\n    execute_tool echo !denied\n" + complete, metrics: map[string]string{"mylm.call.refusals denied": "1", "mylm.queue.duration approval": "1 3"}},
		"a repeated call": {replies: []scripted.Reply{tool("echo"), tool("echo")}, options: agent.Options{NoLastWord: true},
			spans: "invoke_agent !repeated_call\n  turn\n    chat m\n    execute_tool echo\n" + complete, metrics: map[string]string{"mylm.call.refusals skipped": "1"}},
		"a tool that does not exist": {replies: []scripted.Reply{tool("fly"), done}, spans: "invoke_agent\n" + complete + complete, metrics: map[string]string{"mylm.call.refusals invalid": "1"}},
		"a limit": {replies: []scripted.Reply{tool("echo"), done}, options: agent.Options{MaxTurns: 1},
			spans: "invoke_agent !max_turns\n  turn\n    chat m\n    execute_tool echo\n  chat m\n"},
		"a silent model":       {replies: []scripted.Reply{hang}, options: agent.Options{Tries: 1}, spans: "invoke_agent !timeout\n  turn\n    chat m !timeout\n"},
		"too little time":      {replies: []scripted.Reply{hang}, options: agent.Options{MaxTime: time.Second}, spans: "invoke_agent !timeout\n  turn\n    chat m !timeout\n"},
		"cancelled at a model": {replies: []scripted.Reply{hang}, cancel: true, spans: "invoke_agent !interrupted\n  turn\n    chat m !cancelled\n"},
		"cancelled at a tool":  {replies: []scripted.Reply{tool("wait")}, cancel: true, options: agent.Options{ToolTimeout: time.Hour}, spans: "invoke_agent !interrupted\n  turn\n    chat m\n    execute_tool wait !cancelled\n"},
		"a tool out of time":   {replies: []scripted.Reply{tool("wait"), done}, spans: "invoke_agent\n  turn\n    chat m\n    execute_tool wait !tool_error\n" + complete},
		"a tool that goes on":  {replies: []scripted.Reply{tool("stuck"), done}, spans: "invoke_agent\n  turn\n    chat m\n    execute_tool stuck !unknown\n" + complete},
		"nobody listens":       {replies: []scripted.Reply{done}, leave: "breaks", spans: "invoke_agent !interrupted\n  turn\n    chat m !cancelled\n"},
		"nobody reads on":      {replies: []scripted.Reply{{Text: "Well, well", Chunk: 4}}, leave: "text", spans: "invoke_agent !interrupted\n  turn\n    chat m !cancelled\n"},
		"the consumer panics":  {replies: []scripted.Reply{done}, leave: "panics", spans: "invoke_agent !interrupted\n  turn\n"},
		"a backend behind calls": {replies: []scripted.Reply{{Text: call("echo", `{"text": "x"}`), Hang: true}, done},
			spans: "invoke_agent\n  turn\n    chat m\n    execute_tool echo\n" + complete},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t, otel.Options{})
				o := tt.options
				o.Model, o.Tools = named{scripted.New(tt.replies...)}, registry(t, nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.cancel {
					time.AfterFunc(time.Minute, cancel)
				}
				func() {
					defer func() { _ = recover() }()
					for ev := range newAgent(t, k.Instrument(o)).Run(ctx, nil, "go") {
						_, text := ev.Payload.(agent.TextDelta)
						switch {
						case tt.leave == "breaks", tt.leave == "text" && text:
							return
						case tt.leave == "panics":
							panic(tt.leave)
						}
					}
				}()
				time.Sleep(2 * time.Hour) // by then the tool has stopped that did not
				if got := k.tree(); got != tt.spans {
					t.Errorf("spans\n%s\nwant\n%s", got, tt.spans)
				}
				metrics := k.metrics(t)
				for name, want := range tt.metrics {
					if got, ok := metrics[name]; !strings.HasPrefix(got, want) || ok && want == "" {
						t.Errorf("%s is %q, want %q; there is %v", name, metrics[name], want, metrics)
					}
				}
				stopped := ""
				if name == "a backend behind calls" {
					stopped = "true"
				}
				if chats := k.spans.GetSpans(); len(chats) > 0 && chats[0].Name == "chat m" {
					wantAttrs(t, chats[0], "mylm.reply.stopped="+stopped)
				}
				if name == "a denial" {
					if s := k.span(t, "execute_tool echo"); s.EndTime.Sub(s.StartTime) != 3*time.Second {
						t.Errorf("the denied call took %v", s.EndTime.Sub(s.StartTime))
					}
				}
			})
		})
	}
}

func TestSpansOfPlan(t *testing.T) {
	k := newKit(t, otel.Options{Agent: "clerk"})
	o := plan.Options{NoReason: true, NoObserve: true, NoReflect: true, NoRecover: true}
	o.Agent = k.Instrument(agent.Options{Model: named{scripted.Say(call("echo", `{"text": "x"}`), "looked", "counted")}, Tools: registry(t, nil)})
	o.Agent.MaxMalformed, o.Agent.NoLastWord = 1, true
	p, err := plan.New(o)
	if err != nil {
		t.Fatal(err)
	}
	state, err := plan.Collect(p.Run(t.Context(), nil, "count", []plan.Task{{ID: "a", Description: "look"}, {ID: "b", Description: "count", Dependencies: []string{"a"}}, {ID: "c", Description: "tell", Dependencies: []string{"b"}}}))
	if err == nil {
		t.Fatalf("%+v", state)
	}
	want := "invoke_workflow clerk !bad_request\n" +
		"  task\n    invoke_agent clerk\n      turn\n        chat m\n        execute_tool echo\n      turn\n        chat m\n" +
		"  task\n    invoke_agent clerk\n      turn\n        chat m\n" +
		"  task !pending\n    invoke_agent clerk !bad_request\n      turn !model\n        chat m !bad_request\n"
	if got := k.tree(); got != want {
		t.Errorf("spans\n%s\nwant\n%s", got, want)
	}
}

// Runs at once do not mix, neither do the tasks of a plan side by side.
func TestRunsDoNotMix(t *testing.T) {
	k := newKit(t, otel.Options{})
	m := named{scripted.Say(call("echo", `{"text": "x"}`))}
	m.Loop, m.Discard = true, true
	o := k.Instrument(agent.Options{Model: m, Tools: registry(t, nil), MaxTurns: 3, MaxRepeatedCalls: 10, NoLastWord: true})
	const runs = 40
	var all sync.WaitGroup
	for range runs {
		all.Go(func() { _, _ = newAgent(t, o).Ask(t.Context(), "go") })
	}
	all.Go(func() {
		p, err := plan.New(plan.Options{Agent: o, Workers: 4, NoReason: true, NoObserve: true, NoReflect: true, NoRecover: true})
		if err != nil {
			t.Error(err)
			return
		}
		var tasks []plan.Task
		for i := range 4 {
			tasks = append(tasks, plan.Task{ID: fmt.Sprint("t", i), Description: "go"})
		}
		_, _ = plan.Collect(p.Run(t.Context(), nil, "go", tasks))
	})
	all.Wait()
	turns := strings.Repeat("  turn\n    chat m\n    execute_tool echo\n", 3)
	run := "invoke_agent !max_turns\n" + turns
	task := "  task !failed\n    " + strings.ReplaceAll(strings.TrimSuffix(run, "\n"), "\n", "\n    ") + "\n"
	got := k.tree()
	if n := strings.Count(got, run); n != runs {
		t.Errorf("%d runs of %d are whole:\n%s", n, runs, got)
	}
	if !strings.Contains(got, "invoke_workflow !incomplete\n"+strings.Repeat(task, 4)) {
		t.Errorf("the plan is not whole:\n%s", got)
	}
	sessions := map[string]string{}
	for _, s := range k.spans.GetSpans() {
		if id := value(s.Attributes, "gen_ai.conversation.id"); id != "" && s.Name == "chat m" {
			trace := s.SpanContext.TraceID().String()
			if other := sessions[id]; other != "" && other != trace {
				t.Errorf("the session %s is in two traces", id)
			}
			sessions[id] = trace
		}
	}
	if len(sessions) != runs+4 {
		t.Errorf("%d sessions", len(sessions))
	}
}

// An effect that another process runs for a run belongs to the context's span.
func TestEffectsAlone(t *testing.T) {
	k := newKit(t, otel.Options{})
	a := agent.Options{Model: k.Model(named{scripted.Say(call("echo", `{"text": "x"}`), "done")}), Tools: registry(t, nil), Effects: k.Effects}
	if r, err := newAgent(t, a).Ask(t.Context(), "go"); err != nil || r.Response != "done" {
		t.Fatalf("%+v, %v", r, err)
	}
	if got, want := k.tree(), "chat m\nexecute_tool echo\nchat m\n"; got != want {
		t.Errorf("spans\n%s\nwant\n%s", got, want)
	}
	k.spans.Reset()
	func() {
		defer func() { _ = recover() }()
		k.Effects(nil, broken{}).Tool(t.Context(), agent.ToolRequest{Name: "echo"})
	}()
	if got, want := k.tree(), "execute_tool echo !panic\n"; got != want {
		t.Errorf("spans\n%s\nwant\n%s", got, want)
	}
	k.Queued(t.Context(), "models", 2*time.Second)
	if got := k.metrics(t)["mylm.queue.duration models"]; got != "1 2" {
		t.Errorf("the queue is %q", got)
	}
}

type broken struct{ agent.Effects }

func (broken) Tool(context.Context, agent.ToolRequest) tools.Outcome { panic("broken") }

// What a tool does with a model or an agent is within its span.
func TestSpansWithinATool(t *testing.T) {
	k := newKit(t, otel.Options{})
	inner := agent.Options{Model: named{scripted.Say("done", "done")}}
	r := registry(t, map[string]func(context.Context, string) (tools.Result, error){
		"ask": func(ctx context.Context, _ string) (tools.Result, error) {
			for range k.Model(inner.Model).Generate(ctx, providers.Request{}) {
			}
			a, err := agent.New(k.Instrument(inner))
			if err != nil {
				return tools.Result{}, err
			}
			result, err := a.Ask(ctx, "go")
			return tools.Result{Text: result.Response}, err
		},
	})
	o := agent.Options{Model: named{scripted.Say(call("ask", `{"text": "x"}`), "done")}, Tools: r}
	if _, err := newAgent(t, k.Instrument(o)).Ask(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	want := "invoke_agent\n  turn\n    chat m\n    execute_tool ask\n      chat m\n      invoke_agent\n        turn\n          chat m\n  turn\n    chat m\n"
	if got := k.tree(); got != want {
		t.Errorf("spans\n%s\nwant\n%s", got, want)
	}
}

// Nothing that a person, a model, a tool or a backend wrote is reported unasked.
func TestNothingSaidIsReported(t *testing.T) {
	const secret = "tulip"
	for _, contents := range []bool{false, true} {
		k := newKit(t, otel.Options{Contents: contents})
		m := named{scripted.New(
			scripted.Reply{Text: secret + " " + call("echo", `{"text": "`+secret+`"}`)},
			scripted.Reply{Text: call("fail", `{"text": "`+secret+`"}`)},
			scripted.Reply{Text: call(secret, `{"text": "x"}`)},
			scripted.Reply{Text: call("crash", `{"text": "`+secret+`"}`)},
			scripted.Reply{Text: "<tool_code>" + secret + "</tool_code>"},
			scripted.Reply{Thought: secret, Err: &providers.Error{Kind: providers.BadRequest, Message: secret, Permanent: true}},
		)}
		o := agent.Options{Model: m, Tools: registry(t, nil), MaxConsecutiveErrors: 20, System: secret}
		_, err := newAgent(t, k.Instrument(o)).Ask(t.Context(), secret)
		if providers.KindOf(err) != providers.BadRequest {
			t.Fatal(err)
		}
		found := map[string]bool{}
		note := func(where string, attrs ...attribute.KeyValue) {
			for _, kv := range attrs {
				if strings.Contains(kv.Value.String(), secret) {
					found[where+" "+string(kv.Key)] = true
				}
			}
		}
		for _, s := range k.spans.GetSpans() {
			note("span", append(s.Attributes, attribute.String("name", s.Name), attribute.String("status", s.Status.Description), attribute.String("events", fmt.Sprint(s.Events)))...)
		}
		for _, r := range k.logs {
			note("log", attribute.String("body", r.Body().String()), attribute.String("name", r.EventName()))
			r.WalkAttributes(func(kv attribute.KeyValue) bool { note("log", kv); return true })
		}
		for name := range k.metrics(t) {
			note("metric", attribute.String("attributes", name))
		}
		want := []string{"log body", "span gen_ai.input.messages", "span gen_ai.output.messages", "span gen_ai.tool.call.arguments", "span gen_ai.tool.call.result"}
		if !contents {
			want = nil
		}
		if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
			t.Errorf("contents %v: found in %q, want %q", contents, got, want)
		}
	}
}
