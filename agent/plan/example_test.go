package plan_test

import (
	"context"
	"fmt"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/providers/demo"
)

// The demo model stands in for a language model.
func Example() {
	p, err := plan.New(plan.Options{Agent: agent.Options{Model: demo.New()}})
	if err != nil {
		panic(err)
	}
	for ev, err := range p.Run(context.Background(), nil, "what is 2 + 3, then what is 5 * 5", nil) {
		if err != nil {
			panic(err)
		}
		switch e := ev.Payload.(type) {
		case plan.Planned:
			fmt.Println(len(e.Tasks), "tasks")
		case plan.TaskEnd:
			fmt.Println(e.ID, e.Status)
		case plan.End:
			fmt.Println(e.State.Output)
		}
	}
	// Output:
	// 2 tasks
	// t1 completed
	// t2 completed
	// ## what is 2 + 3
	//
	// 2 + 3 = 5
	//
	// ## what is 5 * 5
	//
	// 5 * 5 = 25
}
