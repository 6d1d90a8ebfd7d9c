// Package temporal runs agents as workflows of Temporal: a run survives the process
// that works on it, and any worker of its task queue takes it over. The loop is that of
// package agent; what it does in the real world are activities. Calls of tools that are
// short, start no program and use no network are local ones.
//
// # Smallest use
//
//	runs, err := temporal.New(agent.Options{Model: model, Tools: registry}, store)
//	w := worker.New(client, "agents", worker.Options{})
//	runs.Register(w)
//	err = w.Run(worker.InterruptCh())
//
// and, from any process:
//
//	started, err := client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: "agents"},
//		temporal.WorkflowName, temporal.Input{Session: id, Prompt: "What is in this directory?"})
//
// A workflow is run again from its history, and has to ask for the same things. So what the
// loop depends on (the system prompt, the definitions of the tools, limits, templates) is
// in the history of a run since it began, and what a tool says about each call: a worker
// whose options are others goes on with it as it was. Models and tools are those of the
// worker that calls them. All workers of a queue have the same version.
//
// # Terms
//
// The input names a session, which the run begins or continues, and the output its
// entries; the answer is read from the Store. What the activities return (a reply, a
// result) is in the history once, and the entry that is made of it once more: nothing that
// grows with the conversation is. Give every client the ExternalStorage that Storage makes,
// which keeps long payloads outside the history.
//
// A run is as long as it likes: when a history is long, the run goes on in a new execution
// of the workflow, where it was, under the same ids of workflow and run.
//
// A call that does more than read has one attempt. If its end is unknown, since its
// worker was lost, the model is told so. It waits for the update UpdateDecide, unless the
// input allows it; the query QueryWaiting returns what it is.
//
// Tools may be called by other workers than models, which then need no access to the
// workspace: see Runs.ToolQueue.
//
// # Limits
//
// Hooks are not supported, and neither are MaxTime, DryRun and approval by a
// function: New refuses them. Replies are not shown as they come.
package temporal
