package otel

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"mylm/agent"
	"mylm/providers"
)

// operation is a span whose duration is measured, too.
type operation struct {
	t      *Telemetry
	ctx    context.Context // with the span
	span   trace.Span
	began  time.Time
	labels []attribute.KeyValue // of the span and of the metric; the first is the name
	once   sync.Once
}

// begin begins an operation on a target, which may be "".
func (t *Telemetry) begin(ctx context.Context, kind trace.SpanKind, name attribute.KeyValue, target string, began time.Time, labels ...attribute.KeyValue) *operation {
	labels = append([]attribute.KeyValue{name}, labels...)
	if t.opts.Provider != "" {
		labels = append(labels, semconv.GenAIProviderNameKey.String(t.opts.Provider))
	}
	title := name.Value.AsString()
	if target != "" {
		title += " " + target
	}
	o := &operation{t: t, began: began, labels: labels}
	o.ctx, o.span = t.tracer.Start(ctx, title, trace.WithSpanKind(kind), trace.WithTimestamp(began), trace.WithAttributes(labels...))
	return o
}

// end ends the operation, the first time that it is called. The failure is its
// error.type; "" is none.
func (o *operation) end(failure string, more ...attribute.KeyValue) {
	o.once.Do(func() {
		labels := o.labels
		if failure != "" {
			labels = append(slices.Clip(labels), fail(o.span, failure))
		}
		o.span.SetAttributes(more...)
		o.span.End()
		o.t.duration.Record(o.ctx, time.Since(o.began).Seconds(), metric.WithAttributes(labels...))
	})
}

// fail marks a span as failed.
func fail(span trace.Span, failure string) attribute.KeyValue {
	kind := semconv.ErrorTypeKey.String(failure)
	span.SetStatus(codes.Error, failure)
	span.SetAttributes(kind)
	return kind
}

// failureOf is the error.type of an operation that ended with err; "" if it did not
// fail.
func failureOf(ctx context.Context, err error) string {
	var limit *agent.LimitError
	kind := providers.KindOf(err)
	switch cause := context.Cause(ctx); {
	case cause == agent.ErrCallComplete, err == nil && cause == nil:
		return ""
	case errors.As(cause, &limit), errors.As(err, &limit):
		return string(limit.Reason)
	case cause != nil:
		return "cancelled"
	case kind != "":
		return string(kind)
	}
	return semconv.ErrorTypeOther.Value.AsString()
}
