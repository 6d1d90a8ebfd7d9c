// Package acp has an editor drive an agent: it speaks the Agent Client Protocol,
// version 1, as the agent (https://agentclientprotocol.com).
//
//	err := acp.Serve(ctx, os.Stdin, os.Stdout, acp.Options{Name: "mylm", Version: "1.0", Host: host})
//
// The protocol is JSON-RPC 2.0, one message a line. The editor opens sessions, each
// in a directory, and sends prompts; the agent reports what it does in updates, and
// asks for permission.
//
// # Words
//
// A [Host] opens the conversations that are the sessions of the protocol: what a
// session is, where it is kept and how a prompt is answered is the host's. A
// [Conversation] answers one prompt at a time; several of them work side by side. A
// [Turn] is the answering of one prompt: it takes the events of the run, and
// turns them into updates. Each call that was shown reaches a final status,
// however the run ends.
//
// # Limits
//
// Text that was sent cannot be taken back: a note says that it was withdrawn. A
// turn that was cancelled is answered within two seconds, also if a tool does not
// stop; the next prompt of the session then waits for it.
//
// Sound in prompts is refused. There is nothing to authenticate.
package acp
