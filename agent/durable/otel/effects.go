package otel

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"mylm/agent"
	"mylm/providers"
	"mylm/tools"
)

// Effects reports on tools, approvals and pauses, and passes on to the model what it
// is asked for. It is the part of Instrument that a worker needs which runs the
// effects of an agent elsewhere: without an observed run the spans belong to the
// context's own.
func (t *Telemetry) Effects(_ *agent.Session, real agent.Effects) agent.Effects {
	return &effects{real, t}
}

type effects struct {
	agent.Effects
	t *Telemetry
}

// requestKey is the agent.ModelRequest that a model answers.
type requestKey struct{}

func (e *effects) Model(ctx context.Context, q agent.ModelRequest) iter.Seq2[providers.Chunk, error] {
	return e.Effects.Model(context.WithValue(ctx, requestKey{}, q), q)
}

func (e *effects) Ask(ctx context.Context, q agent.ApprovalRequest) (agent.Decision, error) {
	began := time.Now()
	d, err := e.Effects.Ask(ctx, q)
	e.t.Queued(ctx, "approval", time.Since(began))
	if err == nil && d.Verdict != agent.Allow && d.Verdict != agent.Rehearse {
		e.t.call(runOf(ctx).parent(ctx), q.Call, q.Name, began, q.Args).end("denied")
	}
	return d, err
}

func (e *effects) Sleep(ctx context.Context, d time.Duration) error {
	began := time.Now()
	err := e.Effects.Sleep(ctx, d)
	e.t.Queued(ctx, "backend", time.Since(began))
	return err
}

func (e *effects) Tool(ctx context.Context, q agent.ToolRequest) (o tools.Outcome) {
	r := runOf(ctx)
	op := e.t.call(r.parent(ctx), q.Call, q.Name, time.Now(), q.Args)
	op.span.SetAttributes(attribute.String("mylm.call.effect", q.Effect.String()))
	r.begins(op)
	failure := "panic"
	defer func() {
		var more []attribute.KeyValue
		if o.ExitCode != nil {
			more = append(more, attribute.Int("mylm.call.exit_code", *o.ExitCode))
		}
		if e.t.opts.Contents {
			more = append(more, semconv.GenAIToolCallResultKey.String(o.Body()))
		}
		op.end(failure, more...)
	}()
	// What the tool does is within its span, not within the turn.
	o = e.Effects.Tool(context.WithValue(op.ctx, runKey{}, (*run)(nil)), q)
	switch failure = ""; {
	case o.Success():
	case ctx.Err() != nil:
		failure = failureOf(ctx, ctx.Err())
	case o.Stack != "":
		failure = "panic"
	case len(o.Refused) > 0:
		failure = "refused"
	default:
		failure = "tool_error"
	}
	return o
}

// call begins the span of a tool call.
func (t *Telemetry) call(ctx context.Context, id, tool string, began time.Time, args json.RawMessage) *operation {
	op := t.begin(ctx, trace.SpanKindInternal, semconv.GenAIOperationNameExecuteTool, tool, began, semconv.GenAIToolName(tool))
	op.span.SetAttributes(semconv.GenAIToolCallID(id), semconv.GenAIToolType("function"))
	if t.opts.Contents {
		op.span.SetAttributes(semconv.GenAIToolCallArgumentsKey.String(string(args)))
	}
	return op
}

// Model reports on the requests to a model. The result is a providers.Informer, and
// has the model's name.
func (t *Telemetry) Model(m providers.Model) providers.Model {
	named, _ := m.(interface{ Name() string })
	o := &model{Model: m, t: t}
	if named != nil {
		o.name = named.Name()
	}
	return o
}

type model struct {
	providers.Model
	t    *Telemetry
	name string // "": unknown
}

// Name is the model's, "" if it has none.
func (m *model) Name() string { return m.name }

// Info is the model's, or errors.ErrUnsupported.
func (m *model) Info(ctx context.Context) (providers.Info, error) {
	if informer, ok := m.Model.(providers.Informer); ok {
		return informer.Info(ctx)
	}
	return providers.Info{}, errors.ErrUnsupported
}

func (m *model) Generate(ctx context.Context, q providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		var labels []attribute.KeyValue
		if m.name != "" {
			labels = append(labels, semconv.GenAIRequestModel(m.name))
		}
		op := m.t.begin(runOf(ctx).parent(ctx), trace.SpanKindClient, semconv.GenAIOperationNameChat, m.name, time.Now(), labels...)
		m.request(ctx, op.span, q)
		var reply strings.Builder
		var end providers.Chunk // the last one
		begun, failure := false, ""
		defer func() {
			if failure == "" && end.Stop == "" {
				if failure = failureOf(ctx, nil); failure == "" {
					op.span.SetAttributes(attribute.Bool("mylm.reply.stopped", true))
				}
			}
			m.usage(op, end)
			if m.t.opts.Contents {
				op.span.SetAttributes(messages(semconv.GenAIOutputMessagesKey, string(end.Stop), providers.Message{Role: providers.Assistant, Text: reply.String()}))
			}
			op.end(failure)
		}()
		for c, err := range m.Model.Generate(op.ctx, q) {
			end = c
			switch {
			case err != nil:
				failure = failureOf(ctx, err)
				if e := (*providers.Error)(nil); errors.As(err, &e) {
					end.Usage = e.Usage
				}
			case !begun:
				begun = true
				waited := time.Since(op.began).Seconds()
				op.span.SetAttributes(semconv.GenAIResponseTimeToFirstChunk(waited))
				m.t.first.Record(op.ctx, waited, metric.WithAttributes(op.labels...))
			}
			if m.t.opts.Contents {
				reply.WriteString(c.Text)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// request describes what is asked for.
func (m *model) request(ctx context.Context, span trace.Span, q providers.Request) {
	attrs := []attribute.KeyValue{semconv.GenAIRequestStream(true)}
	if r := runOf(ctx); r != nil {
		attrs = append(attrs, r.session)
	}
	if asked, ok := ctx.Value(requestKey{}).(agent.ModelRequest); ok {
		attrs = append(attrs, attribute.Int("mylm.request.attempt", asked.Attempt))
		if asked.Purpose != agent.PurposeTurn {
			attrs = append(attrs, attribute.String("mylm.request.purpose", string(asked.Purpose)))
		}
	}
	if q.Temperature != nil {
		attrs = append(attrs, semconv.GenAIRequestTemperature(*q.Temperature))
	}
	if q.Seed != nil {
		attrs = append(attrs, semconv.GenAIRequestSeed(*q.Seed))
	}
	if q.MaxTokens > 0 {
		attrs = append(attrs, semconv.GenAIRequestMaxTokens(q.MaxTokens))
	}
	if q.Format != nil {
		attrs = append(attrs, semconv.GenAIOutputTypeJSON)
	}
	if m.t.opts.Contents {
		attrs = append(attrs, messages(semconv.GenAIInputMessagesKey, "", q.Messages...))
	}
	span.SetAttributes(attrs...)
}

// usage reports what the last chunk says about the reply, as far as there is one.
func (m *model) usage(op *operation, end providers.Chunk) {
	if end.Stop != "" {
		op.span.SetAttributes(semconv.GenAIResponseFinishReasons(string(end.Stop)))
	}
	for _, n := range []struct {
		kind   attribute.KeyValue
		tokens int
	}{{semconv.GenAITokenTypeInput, end.Usage.Prompt}, {semconv.GenAITokenTypeOutput, end.Usage.Output}} {
		if n.tokens > 0 {
			m.t.tokens.Record(op.ctx, float64(n.tokens), metric.WithAttributes(op.labels...), metric.WithAttributes(n.kind))
		}
	}
	op.span.SetAttributes(usage(end.Usage)...)
}

// usage is what a backend counted.
func usage(u providers.Usage) (attrs []attribute.KeyValue) {
	if u.Prompt > 0 {
		attrs = append(attrs, semconv.GenAIUsageInputTokens(u.Prompt))
	}
	if u.Output > 0 {
		attrs = append(attrs, semconv.GenAIUsageOutputTokens(u.Output))
	}
	if u.Evaluated > 0 {
		attrs = append(attrs, semconv.GenAIUsageCacheReadInputTokens(u.Prompt-u.Evaluated))
	}
	return attrs
}

// messages are messages in the JSON of the conventions.
func messages(key attribute.Key, finish string, all ...providers.Message) attribute.KeyValue {
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	type message struct {
		Role   providers.Role `json:"role"`
		Parts  []part         `json:"parts"`
		Finish string         `json:"finish_reason,omitempty"`
	}
	out := make([]message, len(all))
	for i, m := range all {
		out[i] = message{m.Role, []part{{"text", m.Text}}, finish}
	}
	text, _ := json.Marshal(out) // strings only
	return key.String(string(text))
}
