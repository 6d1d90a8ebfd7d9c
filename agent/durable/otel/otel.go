package otel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	nolog "go.opentelemetry.io/otel/log/noop"
	"go.opentelemetry.io/otel/metric"
	nometric "go.opentelemetry.io/otel/metric/noop"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
	notrace "go.opentelemetry.io/otel/trace/noop"

	"mylm/agent"
)

// Options of a Telemetry. The zero value reports nothing.
type Options struct {
	Tracers trace.TracerProvider // nil: no traces
	Meters  metric.MeterProvider // nil: no metrics
	Loggers log.LoggerProvider   // nil: no logs

	Agent    string // the agent's name, gen_ai.agent.name; "": none
	Provider string // the backend's, gen_ai.provider.name, such as ollama or openai; "": left out

	// Contents reports prompts, replies, arguments, results and messages of errors,
	// too. All of them may be confidential.
	Contents bool
}

// Telemetry reports what agents do. It may be used by any number of agents and
// runs at once.
type Telemetry struct {
	opts   Options
	tracer trace.Tracer
	logger log.Logger

	tokens, duration, first, turns, queue metric.Float64Histogram
	refusals, repairs, faults             metric.Int64Counter
}

// scope names this package to OpenTelemetry.
const scope = "mylm/agent/durable/otel"

// Bounds of the histograms; the first two are those of the conventions.
var (
	tokenBounds  = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	secondBounds = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	turnBounds   = []float64{1, 2, 3, 5, 8, 13, 21, 34, 55, 100}
)

// New makes a Telemetry. The error is that of a provider which refuses an
// instrument.
func New(o Options) (*Telemetry, error) {
	if o.Tracers == nil {
		o.Tracers = notrace.NewTracerProvider()
	}
	if o.Meters == nil {
		o.Meters = nometric.NewMeterProvider()
	}
	if o.Loggers == nil {
		o.Loggers = nolog.NewLoggerProvider()
	}
	m := o.Meters.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL))
	var failed []error
	histogram := func(name, unit, about string, bounds []float64) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(about), metric.WithExplicitBucketBoundaries(bounds...))
		failed = append(failed, err)
		return h
	}
	counter := func(name, unit, about string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(about))
		failed = append(failed, err)
		return c
	}
	t := &Telemetry{
		opts:   o,
		tracer: o.Tracers.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)),
		logger: o.Loggers.Logger(scope, log.WithSchemaURL(semconv.SchemaURL)),

		tokens:   histogram("gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.", tokenBounds),
		duration: histogram("gen_ai.client.operation.duration", "s", "GenAI operation duration.", secondBounds),
		first:    histogram("gen_ai.client.operation.time_to_first_chunk", "s", "Time to receive the first chunk.", secondBounds),
		turns:    histogram("mylm.run.turns", "{turn}", "Turns of a run, by its end.", turnBounds),
		queue:    histogram("mylm.queue.duration", "s", "What a run waited for before it went on, by queue.", secondBounds),
		refusals: counter("mylm.call.refusals", "{refusal}", "What calls were refused, by reason."),
		repairs:  counter("mylm.reply.repairs", "{repair}", "Repairs that made calls readable, by code."),
		faults:   counter("mylm.reply.faults", "{reply}", "Replies that could not be read, by reason."),
	}
	return t, errors.Join(failed...)
}

// Instrument returns options whose agents are reported on: their model, their
// effects and their hook Observe are wrapped.
func (t *Telemetry) Instrument(o agent.Options) agent.Options {
	if o.Model != nil {
		o.Model = t.Model(o.Model)
	}
	inner := o.Effects
	o.Effects = func(s *agent.Session, real agent.Effects) agent.Effects {
		if real = t.Effects(s, real); inner != nil {
			return inner(s, real)
		}
		return real
	}
	hook := o.Hooks.Observe
	o.Hooks.Observe = func(ctx context.Context, of agent.Observed) (context.Context, func(agent.Event)) {
		ctx, report := t.Observe(ctx, of)
		if hook == nil {
			return ctx, report
		}
		ctx, next := hook(ctx, of)
		return ctx, func(ev agent.Event) {
			report(ev)
			if next != nil {
				next(ev)
			}
		}
	}
	return o
}

// Queued reports that a run waited in a queue before it went on. The agents' own
// queues are approval, for a decision, and backend, before another try; a queue of
// tasks for workers is its caller's.
func (t *Telemetry) Queued(ctx context.Context, queue string, waited time.Duration) {
	t.queue.Record(ctx, waited.Seconds(), metric.WithAttributes(attribute.String("mylm.queue", queue)))
}
