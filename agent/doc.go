// Package agent is the loop between a model and its tools: a question goes in,
// the model's text is parsed as it streams, one tool at a time runs, its result
// goes back to the model, and an answer comes out.
//
// # Smallest use
//
//	a, err := agent.New(agent.Options{Model: model, Tools: registry, Approve: agent.AllowAll})
//	result, err := a.Ask(ctx, "What is in this directory?")
//	fmt.Println(result.Response)
//
// To watch it, range over the events:
//
//	for ev, err := range a.Run(ctx, session, prompt) {
//		switch p := ev.Payload.(type) {
//		case agent.TextDelta:
//			fmt.Print(p.Text)
//		case agent.FinalResponse:
//			result = p.Result
//		}
//	}
//
// # Terms
//
// A run answers one prompt. A turn is one reply of the model and the tool call
// in it. A Session is the append-only record of one or more runs; the model
// sees a view of it. A run ends with a StopReason, and a Result that holds
// everything up to that point, however it ended.
//
// An Entry is one step of the record, with a typed payload. A Recorder stores
// entries as they are made; the package agent/journal has one that writes files.
// LoadSession makes a session of stored entries, and Resume continues it, also
// if the process died in the middle of a run: nothing that was finished is done
// again. Replay runs a session again without a model, and reports what today's
// engine does differently.
//
// A State is what a run needs between two turns, and Effects is everything it
// does that is not a function of its record: the model and its context window,
// the tools, the person who approves, the clock, new names. Both can be
// recorded, which makes a run repeatable.
//
// # Long runs
//
// The view of the record fits the model's window: long results of tools are
// shown in part, older exchanges as a summary, and finally the oldest are
// omitted. A compaction is an entry of the record, and the earlier entries
// stay. Until the next one a prompt is only appended to, so that a backend can
// reuse its cache. A run that goes in circles or reaches a limit ends with a
// LimitError, which has the option and its value; one that does not fit ends
// with a providers.Error of the kind Overflow.
//
// Hooks may refuse or rewrite calls, rewrite results, change what is sent, and
// observe runs.
//
// # What it never does
//
// It never prompts and never prints: approval is a function passed in, and
// without one only calls that read are allowed. It never runs an incomplete call,
// and never retries a tool.
//
// # Limits
//
// An Agent may be used for any number of runs at once, a Session for one run
// at a time. Tokens are estimated until the backend has counted some. A call
// whose arguments fill the window by themselves is not cut: the run ends with
// StopContextFull.
package agent
