// Package setup builds from the settings what a run needs: model, tools,
// permissions, memory, recorder and the options of the agent. Every command
// that asks a model something goes through [New]; none reads a setting of a run
// itself.
//
//	run, err := setup.New(ctx, setup.Request{Config: c, Session: agent.NewSession(), Person: p, Notify: screen})
//	defer run.Close()
//	err = run.OpenModel(ctx)
//	a, err := agent.New(run.Options)
//
// The package prints nothing: what the user should know goes to Notify, and
// questions to the Person. The workspace is a value: nothing depends on the
// directory that the process is in.
package setup
