// Package plan breaks a goal down into tasks and has an agent do them: those
// that wait for nothing first, side by side where that is safe.
//
// # Smallest use
//
//	p, err := plan.New(plan.Options{Agent: agent.Options{Model: model, Tools: registry}})
//	state, err := plan.Collect(p.Run(ctx, nil, "find out which test is slow, and why", nil))
//	fmt.Println(state.Output)
//
// # Words
//
// A Task is one step: what to do, and the ids of the tasks whose results it
// needs. The tasks are a Graph, which is always valid: whatever is wrong with
// what a model wrote is mended, and said as a Flaw. An iteration is one task
// taken up. In it the model may reason (which of the tasks that are ready comes
// first), the task acts (a run of the agent with nothing but that task in view),
// and the model observes (was it done, what was learned, has the plan to
// change). After every third iteration the model reflects on the plan as a
// whole. Each can be switched off, but for the acting.
//
// A task that fails is tried again with the error in view, then in a simpler
// form, then without the tool that failed, then with what a person says to it,
// and is given up in the end: it is blocked, with all that wait for it.
//
// A plan is a success when every task is completed, and not before. A State is
// all there is to know about one, and events tell it as it happens: those of a
// task are those of its run, with Event.Task set.
//
// With a Recorder the plan, its progress, the sessions of its tasks and all that
// the model was asked about it stand in one session: Load and Resume go on with
// it, and Parts takes it apart, for a replay.
//
// A Workflow is a plan that is written down: a Markdown file with steps.
//
// # Limits
//
// Replies of the model for the whole plan are bounded, and so is its time if
// that is set. A Planner may be used for any number of plans at once.
package plan
