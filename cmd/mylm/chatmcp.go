package main

import (
	"context"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/mcp"
)

// resource puts a resource of an MCP server along with a message.
func (t *talk) resource(ctx context.Context, in *input, server, uri string) error {
	var contents []mcp.Content
	err := t.servers.With(ctx, t.config, t.screen, func(hub *mcp.Hub) (err error) {
		contents, err = hub.Resource(ctx, server, uri)
		return err
	})
	if err != nil {
		return failure.Usage("@%s:%s: %w", server, term.Echoed(uri), err)
	}
	for _, c := range contents {
		data := c.Blob
		if data == nil {
			data = []byte(c.Text)
		}
		if err := in.add(server+":"+c.URI, data); err != nil {
			return failure.Usage("@%s:%s: %w", server, term.Echoed(uri), err)
		}
	}
	return nil
}

// serverPrompt sends the message that a prompt of an MCP server writes: /SERVER:PROMPT
// NAME=VALUE... It is nil for other names. No file that the message names is attached:
// it is not the user's.
func (t *talk) serverPrompt(name, args string) func(context.Context) error {
	server, prompt, ok := strings.Cut(name, ":")
	if !ok || prompt == "" || !t.servers.Names(t.config, server) {
		return nil
	}
	return func(ctx context.Context) error {
		values, text := map[string]string{}, ""
		for _, word := range strings.Fields(args) {
			name, value, ok := strings.Cut(word, "=")
			if !ok {
				values, text = nil, args
				break
			}
			values[name] = value
		}
		var message string
		err := t.servers.With(ctx, t.config, t.screen, func(hub *mcp.Hub) (err error) {
			message, err = hub.Prompt(ctx, server, prompt, values, text)
			return err
		})
		if err != nil {
			return failure.Usage("/%s: %w", term.Echoed(name), err)
		}
		t.screen.Dim(term.OneLine(term.Visible(message), 300))
		t.message = input{question: message}
		_, err = t.do(ctx, runRequest{from: t.from, talk: t})
		return err
	}
}
