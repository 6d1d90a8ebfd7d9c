// Package plan breaks a goal down into tasks and has an agent do them: tasks
// without open dependencies first, in parallel where that is safe.
//
// # Smallest use
//
//	p, err := plan.New(plan.Options{Agent: agent.Options{Model: model, Tools: registry}})
//	state, err := plan.Collect(p.Run(ctx, nil, "find out which test is slow, and why", nil))
//	fmt.Println(state.Output)
//
// # Terms
//
// A Task is one step: what to do, and the ids of the tasks whose results it
// needs. The tasks are a Graph, which is always valid: errors in what a model
// wrote are repaired, and reported as a Flaw. An iteration is the work on one
// task. In it the model may reason (which of the ready tasks comes first), the
// task acts (a run of the agent that sees only that task), and the model
// observes (whether it was done, what was learned, whether the plan must
// change). After every third iteration the model reflects on the plan as a
// whole. All steps but acting can be disabled.
//
// A task that fails is retried with the error in its prompt, then in a simpler
// form, then without the tool that failed, then with the advice of a person.
// After that it is blocked, with all tasks that depend on it.
//
// A plan succeeds when every task is completed. A State is the whole plan;
// events report it as it happens. The events of a task are those of its run,
// with Event.Task set.
//
// With a Recorder the plan, its progress, the sessions of its tasks and all
// questions to the model about it are in one session: Load and Resume continue
// it, Parts takes it apart, and Replay replays it.
//
// A Workflow is a plan in a Markdown file with steps.
//
// # Limits
//
// The number of model replies in a plan is limited, and so is its time if that
// is set. A Planner may be used for any number of plans at once.
package plan
