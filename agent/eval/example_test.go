package eval_test

import (
	"context"
	"fmt"

	"mylm/agent"
	"mylm/agent/eval"
	"mylm/providers/scripted"
)

// A suite of one task with a simulated tool, asked of a model that does it right.
func Example() {
	suite, err := eval.Parse([]byte(`
suite: shop
tools:
  cancel_order:
    description: Cancels an order.
    args: {order: {type: integer}}
    rules: [{set: "cancelled {order}", value: true}]
tasks:
  - id: cancel
    category: one call
    question: Cancel order 7.
    tools: [cancel_order]
    check: {state: {cancelled 7: true}}
    right: [{call: cancel_order, args: {order: 7}}, It is cancelled.]
    wrong: [[It is cancelled.], [{call: cancel_order, args: {order: 8}}, It is cancelled.]]
`))
	if err != nil {
		panic(err)
	}
	model := scripted.New(
		scripted.Reply{Text: "<tool_code><name>cancel_order</name><parameters>{\"order\": 7}</parameters></tool_code>"},
		scripted.Reply{Text: "Order 7 is cancelled."},
	)
	report, err := eval.Run(context.Background(), eval.Options{Suite: suite, Agent: agent.Options{Model: model}})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d of %d passed in %d turns\n", report.Total.Passed, report.Total.Of, report.Total.Turns)
	// Output:
	// 1 of 1 passed in 2 turns
}
