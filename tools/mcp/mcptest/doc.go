// Package mcptest has a service for tests: an MCP server that wants an OAuth login,
// with the authorization server beside it, on the loopback interface.
package mcptest
