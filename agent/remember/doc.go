// Package remember joins runs of the agent to the long-term memory: it gives a
// run the tools that search it, and keeps what a run leaves.
//
// # Smallest use
//
//	m := remember.New(store, project)
//	tools, err := m.Tools(session)            // for agent.Options.Tools
//	_, err = m.Keep(ctx, remember.Run{Session: session, Result: result})
//
// # Terms
//
// A run leaves documents: the question, one short document for each tool call
// that ran, and the answer. A run without a call and without an answer leaves
// none. Results of the memory's own tools are not kept: they would be remembered
// again and again.
//
// # Limits
//
// Texts are bounded, and secrets are removed by the store when it adds them.
package remember
