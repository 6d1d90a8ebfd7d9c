package otel

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/providers"
)

// run is a run or a plan while it lasts.
type run struct {
	t       *Telemetry
	op      *operation
	session attribute.KeyValue // its id
	task    string             // of the plan that it belongs to; "": none

	mu     sync.Mutex // a tool, and the runs of a plan's tasks, have goroutines of their own
	turn   trace.Span // nil: between turns
	called string     // the last call that was begun
	tool   *operation // the last one that ran here; nil: none did
	tasks  map[string]trace.Span
}

// runKey is the *run that a context belongs to.
type runKey struct{}

func runOf(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// Observe reports on a run or a plan. It is agent.Hooks.Observe.
func (t *Telemetry) Observe(ctx context.Context, of agent.Observed) (context.Context, func(agent.Event)) {
	if outer := runOf(ctx); of.Task != "" && outer != nil {
		ctx = outer.within(ctx, of.Task)
	}
	r := &run{t: t, session: semconv.GenAIConversationID(of.Session.ID), task: of.Task, tasks: map[string]trace.Span{}}
	name := semconv.GenAIOperationNameInvokeAgent
	if of.Plan {
		name = semconv.GenAIOperationNameInvokeWorkflow
	}
	r.op = t.begin(ctx, trace.SpanKindInternal, name, t.opts.Agent, time.Now())
	r.op.span.SetAttributes(r.session)
	if t.opts.Agent != "" {
		r.op.span.SetAttributes(semconv.GenAIAgentName(t.opts.Agent))
	}
	return context.WithValue(r.op.ctx, runKey{}, r), r.event
}

// within is a context within the span of a task.
func (r *run) within(ctx context.Context, task string) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	if span := r.tasks[task]; span != nil {
		return trace.ContextWithSpan(ctx, span)
	}
	return ctx
}

// parent is a context within the span of the turn, if there is one.
func (r *run) parent(ctx context.Context) context.Context {
	if r == nil {
		return ctx
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turn == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, r.turn)
}

// begins notes that a tool runs.
func (r *run) begins(op *operation) {
	if r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.tool = op
	}
}

// event reports an event.
func (r *run) event(ev agent.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	severity, failed := log.SeverityInfo, log.SeverityWarn
	attrs := []attribute.KeyValue{attribute.String("mylm.run.id", ev.Run), attribute.Int("mylm.event.seq", ev.Seq)}
	if ev.Turn > 0 {
		attrs = append(attrs, attribute.Int("mylm.turn", ev.Turn))
	}
	if task := ev.Task + r.task; task != "" {
		attrs = append(attrs, attribute.String("mylm.task.id", task))
	}
	ctx := r.op.ctx
	if r.turn != nil {
		ctx = trace.ContextWithSpan(ctx, r.turn)
	}
	switch p := ev.Payload.(type) {
	case agent.TurnStart:
		_, r.turn = r.t.tracer.Start(r.op.ctx, "turn", trace.WithAttributes(attribute.Int("mylm.turn", ev.Turn)))
		return
	case agent.TurnEnd:
		r.endTurn()
		return
	case agent.ToolCall:
		r.called = p.ID
		for _, code := range p.Repairs {
			r.count(r.t.repairs, "mylm.repair", code, 1)
		}
		attrs = append(attrs, semconv.GenAIToolName(p.Name), semconv.GenAIToolCallID(p.ID))
	case agent.ToolOutput:
		r.output(p)
		attrs = append(attrs, semconv.GenAIToolCallID(p.ID), attribute.Bool("mylm.call.success", p.Success))
		if !p.Success {
			severity = failed
		}
	case agent.Error:
		failure := p.Source
		if p.Source == "format" {
			failure = p.Reason
			r.count(r.t.faults, "mylm.fault", p.Reason, 1)
		}
		if severity = failed; r.turn != nil {
			fail(r.turn, failure)
		}
		attrs = append(attrs, semconv.ErrorTypeKey.String(failure))
	case agent.Retry:
		severity, attrs = failed, append(attrs, attribute.Int("mylm.request.attempt", p.Attempt))
	case agent.Notice:
		attrs = append(attrs, attribute.String("mylm.notice", p.Code))
	case plan.TaskStart:
		_, r.tasks[p.ID] = r.t.tracer.Start(r.op.ctx, "task", trace.WithAttributes(attribute.String("mylm.task.id", p.ID)))
	case plan.TaskEnd:
		attrs = append(attrs, attribute.String("mylm.task.status", string(p.Status)))
		if p.Status != plan.Completed {
			severity = failed
		}
		r.endTask(p.ID, p.Status)
	case agent.FinalResponse:
		if p.Result.Status == agent.Failed {
			severity = log.SeverityError
		}
		attrs = append(attrs, attribute.String("mylm.stop_reason", string(p.Result.StopReason)))
		r.end(p.Result, ev.Run)
	case agent.TextDelta, agent.AnswerStart, agent.Thought, agent.Waiting, agent.ToolProgress, agent.Retract: // of a reply that is not over
		return
	}
	r.log(ctx, ev, severity, append(attrs, r.session))
}

// count adds to a counter under one label.
func (r *run) count(c metric.Int64Counter, label, value string, n int) {
	if n > 0 {
		c.Add(r.op.ctx, int64(n), metric.WithAttributes(attribute.String(label, value)))
	}
}

// output reports what came of a call.
func (r *run) output(p agent.ToolOutput) {
	if r.called == p.ID && r.tool != nil {
		r.tool.end("unknown") // if it still runs
	}
	refused := func(reason string, n int) { r.count(r.t.refusals, "mylm.refusal", reason, n) }
	switch {
	case p.Denied:
		refused("denied", 1)
	case p.Skipped:
		refused("skipped", 1)
	case !p.Success && r.called != p.ID:
		refused("invalid", 1)
	}
	refused("sandbox", len(p.Refused)+len(p.Blocked))
}

func (r *run) endTurn() {
	if r.turn != nil {
		r.turn.End()
		r.turn = nil
	}
}

func (r *run) endTask(id string, status plan.Status) {
	span := r.tasks[id]
	if span == nil { // it was never started
		return
	}
	if status != plan.Completed {
		fail(span, string(status))
	}
	span.End()
	delete(r.tasks, id)
}

// end ends the run and all within it.
func (r *run) end(result agent.Result, id string) {
	r.endTurn()
	for task := range r.tasks {
		r.endTask(task, plan.Pending)
	}
	failure := ""
	if result.Status != agent.Success {
		failure = string(result.StopReason)
		if kind := providers.KindOf(result.Err); kind != "" {
			failure = string(kind)
		}
	}
	stop := attribute.String("mylm.stop_reason", string(result.StopReason))
	r.t.turns.Record(r.op.ctx, float64(result.Turns), metric.WithAttributes(r.op.labels[0], stop))
	r.op.end(failure, append(usage(result.Usage), stop, attribute.String("mylm.run.id", id), attribute.Int("mylm.run.turns", result.Turns))...)
}

// log reports an event as a record.
func (r *run) log(ctx context.Context, ev agent.Event, severity log.Severity, attrs []attribute.KeyValue) {
	var record log.Record
	record.SetEventName("mylm." + ev.Payload.Type())
	record.SetTimestamp(ev.Time)
	record.SetSeverity(severity)
	record.AddAttributes(attrs...)
	if r.t.opts.Contents {
		if text, err := json.Marshal(ev); err == nil {
			record.SetBody(attribute.StringValue(string(text)))
		}
	}
	r.t.logger.Emit(ctx, record)
}
