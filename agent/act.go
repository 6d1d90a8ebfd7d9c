package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"mylm/prompts"
	"mylm/protocol"
	"mylm/tools"
)

// act runs the call of a reply, if it may, and records what came of it.
func (r *run) act(ctx context.Context, reply *reply) {
	s := &r.state
	s.Malformed = 0
	call := reply.call
	id := r.effects.NewID()
	result := Entry{Kind: EntryResult, Call: id, Name: call.Name, Args: call.Args}
	if r.repeated(call) {
		result.Skipped, result.Text = true, "not run: the same call was just made"
		if r.finish(ctx, result) {
			r.emit(ToolOutput{ID: id, Name: call.Name, Args: call.Args, Error: result.Text, Skipped: true})
			r.stop(StopRepeatedCall, nil)
		}
		return
	}
	outcome, denied, err := r.attempt(ctx, id, call)
	if err != nil {
		r.fail(ctx, err)
		return
	}
	result.Success, result.Denied, result.Origin, result.Text = outcome.Success(), denied, outcome.Origin, outcome.Body()
	if reply.dropped {
		result.Note, err = r.agent.opts.Prompts.Text(prompts.OnlyFirst)
		if err != nil {
			r.fail(ctx, err)
			return
		}
	}
	if !r.finish(ctx, result) {
		return
	}
	r.emit(ToolOutput{
		ID: id, Name: call.Name, Args: call.Args, Success: outcome.Success(), Output: outcome.Text, Error: outcome.Error, Denied: denied,
		ExitCode: outcome.ExitCode, Truncated: outcome.Truncated, Origin: outcome.Origin, Duration: outcome.Duration,
	})
	r.count(outcome, denied)
}

// finish records a result, even if the context is done by then: the call was
// made.
func (r *run) finish(ctx context.Context, result Entry) bool {
	if err := r.record(context.WithoutCancel(ctx), result); err != nil {
		r.fail(ctx, err)
		return false
	}
	return true
}

// attempt looks the call up, has it approved and runs it. What stands in its
// way becomes a failed outcome that the model is told; an error is the engine's.
func (r *run) attempt(ctx context.Context, id string, call *protocol.ToolCall) (o tools.Outcome, denied bool, err error) {
	inv, bad := r.agent.opts.Tools.Prepare(call.Name, call.Args)
	if bad != nil {
		return tools.Outcome{Error: bad.Error()}, false, nil
	}
	decision, err := r.effects.Ask(ctx, ApprovalRequest{
		Run: r.state.Run, Call: id, Name: call.Name, Args: inv.Args, Effect: inv.Effect, Preview: inv.Preview, Tainted: r.state.Tainted,
	})
	if err != nil {
		return o, false, err
	}
	if decision.Verdict != Allow {
		if inv.Effect.Sensitive() {
			r.state.Denied = true
		}
		if decision.Verdict == Stop {
			r.stop(StopDenied, nil)
		}
		reason := "not allowed"
		if decision.Reason != "" {
			reason += ": " + decision.Reason
		}
		return tools.Outcome{Error: reason}, true, nil
	}
	if decision.Args != nil {
		if inv, bad = r.agent.opts.Tools.Prepare(call.Name, decision.Args); bad != nil {
			return tools.Outcome{Error: bad.Error()}, false, nil
		}
	}
	if err := r.record(ctx, Entry{Kind: EntryCall, Call: id, Name: call.Name, Args: inv.Args, Effect: &inv.Effect}); err != nil {
		return o, false, err
	}
	r.emit(ToolCall{ID: id, Name: call.Name, Args: inv.Args, Effect: inv.Effect, Preview: inv.Preview, Repairs: repairs(call, inv)})
	o = r.runTool(ctx, ToolRequest{Run: r.state.Run, Call: id, Name: call.Name, Args: inv.Args})
	if o.Success() && inv.Effect.Sensitive() {
		r.state.Denied = false
	}
	return o, false, nil
}

func repairs(call *protocol.ToolCall, inv *tools.Invocation) []string {
	var codes []string
	for _, x := range call.Repairs {
		codes = append(codes, x.Code)
	}
	for _, x := range inv.Repairs {
		codes = append(codes, x.Code)
	}
	return codes
}

// runTool runs a tool in a goroutine of its own, since only the loop's may
// yield: it passes the tool's progress on, and lets go of a tool that does not
// heed its context.
func (r *run) runTool(ctx context.Context, request ToolRequest) tools.Outcome {
	progress := make(chan string, 64)
	done := make(chan tools.Outcome, 1)
	toolCtx := tools.WithProgress(ctx, func(text string) {
		select {
		case progress <- text:
		default: // a slow consumer loses live output, never the result
		}
	})
	go func() { done <- r.effects.Tool(toolCtx, request) }()

	cancelled := ctx.Done()
	var grace <-chan time.Time
	for {
		select {
		case text := <-progress:
			r.emit(ToolProgress{ID: request.Call, Text: text})
		case o := <-done:
			return o
		case <-cancelled:
			cancelled = nil
			t := time.NewTimer(r.agent.opts.StopGrace)
			defer t.Stop()
			grace = t.C
		case <-grace:
			return tools.Outcome{Error: "cancelled, but the tool did not stop: its outcome is unknown"}
		}
	}
}

// repeated counts identical calls in a row, and reports whether there are too
// many.
func (r *run) repeated(call *protocol.ToolCall) bool {
	s := &r.state
	key := call.Name + " " + canonical(call.Args)
	if key != s.LastCall {
		s.LastCall, s.Repeats = key, 0
	}
	s.Repeats++
	return s.Repeats >= r.agent.opts.MaxRepeatedCalls
}

// canonical writes arguments with sorted keys and without white space, so that
// two spellings of the same call are equal. Numbers stay as they were written.
func canonical(args json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(args)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return string(args)
	}
	return string(b)
}

// count keeps the breakers up to date and trips them.
func (r *run) count(o tools.Outcome, denied bool) {
	s, limit := &r.state, r.agent.opts.MaxConsecutiveErrors
	switch o.Origin {
	case tools.Outside, tools.Web, tools.Memory:
		s.Tainted = true
	}
	switch {
	case denied:
		if s.Denials++; s.Denials >= limit {
			r.stop(StopDenied, nil)
		}
		return
	case o.Success():
		s.Errors = 0
	default:
		if s.Errors++; s.Errors >= limit {
			r.stop(StopConsecutiveErrors, nil)
		}
	}
	s.Denials = 0
}

// correct tells the model what is wrong with its reply, and ends the run when
// it does not learn.
func (r *run) correct(ctx context.Context, reply *reply) {
	f := reply.fault
	r.emit(Error{Source: "format", Message: f.Error()})
	data := prompts.CorrectionData{Reason: string(f.Reason), Detail: f.Detail, Tool: strings.TrimSpace(protocol.Neutralise(f.Tool))}
	if t := r.agent.opts.Tools.Lookup(f.Tool); t != nil {
		data.Example = tools.Example(t.Schema)
	}
	text, err := r.agent.opts.Prompts.Correction(data)
	if err == nil {
		err = r.record(ctx, Entry{Kind: EntryUser, Text: text})
	}
	if err != nil {
		r.fail(ctx, err)
		return
	}
	if r.state.Malformed++; r.state.Malformed >= r.agent.opts.MaxMalformed {
		r.stop(StopMalformed, f)
	}
}
