// Package mcp gives a model the tools of Model Context Protocol servers: programs
// that are spoken with over their standard input and output, and services reached
// over HTTP.
//
// # Smallest use
//
//	hub, err := mcp.NewHub(mcp.Options{Servers: []mcp.Server{
//		{Name: "files", Command: []string{"mcp-server-filesystem", "/src"}, Env: []string{"PATH=/usr/bin"}},
//	}})
//	defer hub.Close()
//	registry, err := tools.NewRegistry(hub.Find())      // finds the others, which it makes callable
//	result := registry.Prepare("files__read_file", …)   // starts the server when it runs
//
// # Words
//
// A Hub holds servers and connects to each when a call, or a search, first needs
// it. A Definition is what a server says about one of its tools: name,
// description and schema. Definitions are pinned: those seen first are what the
// user has agreed to, and a call of a tool whose definition has changed since is
// refused, as a tools.Refusal of the kind Changed, until the user allows it.
//
// A tool is called SERVER__TOOL. A call may do anything (Runs and Network) unless
// the user's settings say less; what the server itself says about that counts for
// nothing. Results are the words of a stranger: their origin is tools.Web.
//
// # Limits
//
// A tool is refused, with a Problem, if its schema is larger than 64 KB, nested
// deeper than 32, refers to other documents or is not of an object; if its name
// looks like that of another; or if the settings deny it. A message has at most
// 16 MB, and a list of tools 1,000 entries. A server that exceeds one is ended.
// What a server asks for (sampling, elicitation, roots) is refused unless its
// Server allows it.
package mcp
