// Package otel reports what agents do to OpenTelemetry: traces, metrics, and logs.
// It uses OpenTelemetry's API only; the program that exports brings the SDK, for
// instance by the package otlp below this one.
//
// # Smallest use
//
//	telemetry, err := otel.New(otel.Options{Tracers: tracers, Meters: meters, Loggers: loggers})
//	a, err := agent.New(telemetry.Instrument(agent.Options{Model: model, Tools: registry}))
//	result, err := a.Ask(ctx, "What is in this directory?")
//
// The options of a plan's tasks are instrumented in the same way: plan.Options.Agent.
// The folder example has a whole program.
//
// # Terms
//
// Names follow OpenTelemetry's semantic conventions for generative AI, of version
// 1.41: the last in which they were part of the general conventions. What these do
// not cover begins with mylm.
//
//	invoke_workflow            a plan
//	  task                     one of its tasks
//	    invoke_agent AGENT     a run, of a task or alone
//	      turn                 one reply of the model and the tool call in it
//	        chat MODEL         one request to the model; several if it is retried
//	        execute_tool TOOL  one call that ran, or that was not allowed
//
// The context of a request and of a call holds its span, so that a client of HTTP
// that propagates it, given to a backend or used by a tool, continues the trace.
//
// A span whose operation failed has the status Error and an error.type: the
// agent.StopReason of a run, the providers.Kind of a request, and for a call denied,
// refused (by a sandbox), panic, unknown (the tool did not stop) or tool_error. What
// the caller cancels is cancelled, and what takes too long timeout.
//
// # What it never does
//
// Prompts, replies, arguments, results and messages of errors are left out of
// everything that is reported, unless Options.Contents asks for them. Ids of
// sessions, runs, calls and tasks are reported, and names of tools that exist.
package otel
