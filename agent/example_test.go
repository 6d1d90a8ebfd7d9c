package agent_test

import (
	"context"
	"fmt"
	"strings"

	"mylm/agent"
	"mylm/providers/scripted"
	"mylm/tools"
)

func Example() {
	type in struct {
		Text string `json:"text" jsonschema:"what to shout"`
	}
	shout, err := tools.New("shout", "Write text in capitals.", tools.None, func(_ context.Context, in in) (tools.Result, error) {
		return tools.Result{Text: strings.ToUpper(in.Text)}, nil
	})
	if err != nil {
		panic(err)
	}
	registry, err := tools.NewRegistry(shout)
	if err != nil {
		panic(err)
	}
	// A real program takes a model of providers/ollama here.
	model := scripted.Say(
		"<tool_code>\n<name>shout</name>\n<parameters>{\"text\": \"hello\"}</parameters>\n</tool_code>",
		"It is HELLO.",
	)
	a, err := agent.New(agent.Options{Model: model, Tools: registry, Approve: agent.AllowAll})
	if err != nil {
		panic(err)
	}
	result, err := a.Ask(context.Background(), "shout hello")
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Response, result.StopReason, result.Turns)
	// Output: It is HELLO. complete 2
}

func ExampleAgent_Run() {
	a, err := agent.New(agent.Options{Model: scripted.Say("Good morning.")})
	if err != nil {
		panic(err)
	}
	session := agent.NewSession()
	for ev, err := range a.Run(context.Background(), session, "greet me") {
		if err != nil {
			panic(err)
		}
		switch p := ev.Payload.(type) {
		case agent.TextDelta:
			fmt.Println("text:", p.Text)
		case agent.FinalResponse:
			fmt.Println("status:", p.Result.Status)
		}
	}
	// Output:
	// text: Good morning.
	// status: success
}
