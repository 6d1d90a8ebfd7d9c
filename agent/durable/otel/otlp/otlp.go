// Package otlp exports what the package otel reports: traces, metrics and logs, by
// OTLP over HTTP. It brings OpenTelemetry's SDK, so it is for programs.
//
//	options, stop, err := otlp.Start(ctx, "my-service")
//	defer stop(context.WithoutCancel(ctx))
//	telemetry, err := otel.New(options)
//
// Where to, how often and under which names is in the variables of the specification,
// which the SDK reads: OTEL_EXPORTER_OTLP_ENDPOINT (http://localhost:4318),
// OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES,
// OTEL_TRACES_SAMPLER, OTEL_METRIC_EXPORT_INTERVAL and others. A receiver that does
// not answer costs what it was to be sent, and no run.
package otlp

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"mylm/agent/durable/otel"
)

// Start begins to export as a service, and returns options with the three providers.
// The function sends what is left, until its context is done, and ends the export.
func Start(ctx context.Context, service string) (otel.Options, func(context.Context) error, error) {
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(semconv.ServiceName(service)), resource.WithFromEnv())
	spans, e1 := otlptracehttp.New(ctx)
	metrics, e2 := otlpmetrichttp.New(ctx)
	records, e3 := otlploghttp.New(ctx)
	if err := errors.Join(err, e1, e2, e3); err != nil {
		return otel.Options{}, nil, err
	}
	tracers := trace.NewTracerProvider(trace.WithBatcher(spans), trace.WithResource(about))
	meters := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(metrics)), metric.WithResource(about))
	loggers := log.NewLoggerProvider(log.WithProcessor(log.NewBatchProcessor(records)), log.WithResource(about))
	stop := func(ctx context.Context) error {
		return errors.Join(tracers.Shutdown(ctx), meters.Shutdown(ctx), loggers.Shutdown(ctx))
	}
	return otel.Options{Tracers: tracers, Meters: meters, Loggers: loggers}, stop, nil
}
