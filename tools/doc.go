// Package tools is what a model can do: a Tool has a name, a description, a
// JSON Schema for its arguments, the effects a call would have, and a function.
//
// # Smallest use
//
//	type in struct {
//		City string `json:"city" jsonschema:"name of the city"`
//	}
//	weather, err := tools.New("weather", "Tell the weather in a city.", tools.Network,
//		func(ctx context.Context, in in) (tools.Result, error) {
//			return tools.Result{Text: "rain in " + in.City, Origin: tools.Web}, nil
//		})
//	registry, err := tools.NewRegistry(weather)
//
// # Words
//
// An Effect is what a call may do to the world: Reads, Writes, Runs, Network,
// Leaves (the workspace). It may depend on the arguments. A Result is what goes
// back to the model, with its Origin: the source of the text. Fit makes
// arguments conform to a schema if that loses nothing, and otherwise reports
// every error with its path.
//
// A call goes through three steps: Registry.Prepare looks the tool up and fits
// the arguments, the caller decides whether it may run, Invocation.Run runs it.
// A tool that panics or fails makes a failed Outcome, never a failed program.
//
// A text that is too long gets a Gap, which Abridge widens: shortening it again
// leaves a single mark that counts everything omitted.
//
// # Limits
//
// Fit supports the part of JSON Schema that tools use: type, enum, const,
// items, properties, required, additionalProperties, minimum, maximum (and the
// exclusive ones), minLength, maxLength, minItems, maxItems, pattern, anyOf,
// oneOf, allOf, and $ref to a place in the same schema. Other keywords are not enforced.
package tools
