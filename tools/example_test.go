package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"mylm/tools"
)

func Example() {
	type args struct {
		City string `json:"city" jsonschema:"name of the city"`
		Days int    `json:"days,omitempty" jsonschema:"how many days ahead"`
	}
	weather, err := tools.New("weather", "Tell the weather in a city.", tools.Network,
		func(_ context.Context, in args) (tools.Result, error) {
			return tools.Result{Text: fmt.Sprintf("rain in %s for %d days", in.City, in.Days), Origin: tools.Web}, nil
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	registry, err := tools.NewRegistry(weather)
	if err != nil {
		fmt.Println(err)
		return
	}

	call, err := registry.Prepare("weather", json.RawMessage(`{"city":"Quito","days":"3"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(call.Effect)
	fmt.Println(call.Run(context.Background(), 30*time.Second).Body())

	_, err = registry.Prepare("weather", json.RawMessage(`{"days":"a few"}`))
	fmt.Println(err)
	// Output:
	// network
	// rain in Quito for 3 days
	// invalid arguments: city: missing, want string; days: got "a few", want integer
	// Usage: weather(city: string, days?: integer)
}

func ExampleFit() {
	schema := &jsonschema.Schema{
		Type:       "object",
		Properties: map[string]*jsonschema.Schema{"limit": {Type: "integer"}},
	}
	args, repairs, err := tools.Fit(schema, json.RawMessage(`{"limit": "5"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(args))
	fmt.Println(repairs[0].Path, repairs[0].Code, repairs[0].From, repairs[0].To)
	// Output:
	// {"limit": 5}
	// limit coerced "5" 5
}
