// Example asks the demo model, and exports what happened by OTLP over HTTP to
// OTEL_EXPORTER_OTLP_ENDPOINT, or else to http://localhost:4318.
//
//	go run ./example "list the files in ."
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"mylm/agent"
	"mylm/agent/durable/otel"
	"mylm/agent/durable/otel/otlp"
	"mylm/providers/demo"
	"mylm/tools"
	"mylm/tools/files"
)

func main() {
	if err := run(context.Background(), strings.Join(os.Args[1:], " ")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, question string) (err error) {
	options, stop, err := otlp.Start(ctx, "mylm-example")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop(ctx)) }()
	options.Agent, options.Provider = "example", "demo"
	telemetry, err := otel.New(options)
	if err != nil {
		return err
	}
	list, err := files.ListDir(files.Options{})
	if err != nil {
		return err
	}
	registry, err := tools.NewRegistry(list)
	if err != nil {
		return err
	}
	a, err := agent.New(telemetry.Instrument(agent.Options{Model: demo.New(), Tools: registry}))
	if err != nil {
		return err
	}
	result, err := a.Ask(ctx, question)
	fmt.Println(result.Response)
	return err
}
