package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mylm/tools"
)

// ReadName is the name of the tool that reads resources.
const ReadName = "read_resource"

// maxListed bounds a list of resources or prompts.
const maxListed = 200

// abilities are what a server has besides tools.
type abilities struct {
	Resources bool `json:"resources,omitempty"`
	Prompts   bool `json:"prompts,omitempty"`
}

func abilitiesOf(session *mcp.ClientSession) (a abilities) {
	if r := session.InitializeResult(); r != nil && r.Capabilities != nil {
		a.Resources, a.Prompts = r.Capabilities.Resources != nil, r.Capabilities.Prompts != nil
	}
	return a
}

// withResources are the names of the servers that are known to have resources.
func (h *Hub) withResources() (names []string) {
	for _, s := range h.servers {
		s.mu.Lock()
		s.load()
		if s.able.Resources {
			names = append(names, s.Name)
		}
		s.mu.Unlock()
	}
	return names
}

type readInput struct {
	Server string `json:"server" jsonschema:"the server"`
	URI    string `json:"uri,omitempty" jsonschema:"the resource; without it, the resources are listed"`
}

// Read makes read_resource, nil if no server is known to have resources. A call may do
// what the settings say of a tool of that name.
func (h *Hub) Read() (*tools.Tool, error) {
	names := h.withResources()
	if len(names) == 0 {
		return nil, nil
	}
	t, err := tools.New(ReadName, "Read a resource of a server, or list those that there are. Servers: "+cutBytes(strings.Join(names, ", "), 300)+".", tools.Runs|tools.Network,
		func(ctx context.Context, in readInput) (tools.Result, error) {
			if in.URI == "" {
				text, err := h.resources(ctx, in.Server)
				return bounded(text), err
			}
			contents, err := h.Resource(ctx, in.Server, in.URI)
			if err != nil {
				return tools.Result{}, err
			}
			var parts []string
			var images [][]byte
			for _, c := range contents {
				if c.Blob != nil {
					images = append(images, c.Blob)
				}
				parts = append(parts, resourceText(&mcp.ResourceContents{URI: c.URI, MIMEType: c.Type, Text: c.Text, Blob: c.Blob}))
			}
			result := bounded(strings.Join(parts, "\n"))
			result.Images = images
			return result, nil
		})
	if err != nil {
		return nil, err
	}
	t.External = true // it names the servers
	for _, s := range h.servers {
		t.Timeout = max(t.Timeout, s.callTime())
	}
	t.Effect = func(args json.RawMessage) tools.Effect {
		var in readInput
		if json.Unmarshal(args, &in) == nil {
			if s := h.server(in.Server); s != nil {
				return s.effect(ReadName)
			}
		}
		return tools.Runs | tools.Network
	}
	return t, nil
}

// Content is a part of a resource. Text or Blob is set.
type Content struct {
	URI, Type string
	Text      string
	Blob      []byte
}

// use connects to a server for one request.
func (h *Hub) use(ctx context.Context, name string, f func(context.Context, *mcp.ClientSession) error) error {
	s := h.server(name)
	if s == nil {
		return fmt.Errorf("there is no MCP server %q; there are: %s", plainLine(name), strings.Join(h.Names(), ", "))
	}
	l, err := s.connect(ctx)
	if err != nil {
		return err
	}
	timedOut := fmt.Errorf("the MCP server %s did not answer within %v", s.Name, s.timeout())
	ctx, _, stop := l.asks.watch(ctx, s.timeout(), timedOut)
	defer stop()
	switch err := f(ctx, l.session); {
	case err == nil:
		s.served()
		return nil
	case context.Cause(ctx) == timedOut:
		return timedOut
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return s.failedCall(l, err)
	}
}

// Resource reads a resource of a server. What it holds are the words of a stranger.
func (h *Hub) Resource(ctx context.Context, server, uri string) (all []Content, err error) {
	err = h.use(ctx, server, func(ctx context.Context, session *mcp.ClientSession) error {
		r, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return err
		}
		for _, c := range r.Contents {
			if c != nil {
				all = append(all, Content{plainLine(c.URI), plainLine(c.MIMEType), plain(c.Text), c.Blob})
			}
		}
		return nil
	})
	return all, err
}

// resources lists the resources of a server, and the patterns of their addresses.
func (h *Hub) resources(ctx context.Context, server string) (string, error) {
	var lines []string
	line := func(address, name, about string) bool {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s: %s", plainLine(address), plainLine(name), plainLine(about))))
		return len(lines) < maxListed
	}
	err := h.use(ctx, server, func(ctx context.Context, session *mcp.ClientSession) error {
		if !abilitiesOf(session).Resources {
			return errors.New("it has no resources")
		}
		for r, err := range session.Resources(ctx, nil) {
			if err != nil {
				return err
			}
			if r != nil && !line(r.URI, r.Name, r.Description) {
				lines = append(lines, "…")
				return nil
			}
		}
		for r, err := range session.ResourceTemplates(ctx, nil) {
			if err != nil {
				break // older servers have none
			}
			if r != nil && !line(r.URITemplate, r.Name, r.Description) {
				break
			}
		}
		return nil
	})
	if len(lines) == 0 {
		lines = []string{"There are no resources."}
	}
	return strings.Join(lines, "\n"), err
}

// Prompt has a server write a message, from arguments by name, or from one text where
// the prompt has one argument. The message is the words of a stranger, which the user
// has asked for.
func (h *Hub) Prompt(ctx context.Context, server, name string, args map[string]string, text string) (message string, err error) {
	err = h.use(ctx, server, func(ctx context.Context, session *mcp.ClientSession) error {
		if !abilitiesOf(session).Prompts {
			return errors.New("it has no prompts")
		}
		var names []string
		var found *mcp.Prompt
		for p, err := range session.Prompts(ctx, nil) {
			if err != nil {
				return err
			}
			if p == nil {
				continue
			}
			if names = append(names, plainLine(p.Name)); p.Name == name {
				found = p
			}
			if found != nil || len(names) == maxListed {
				break
			}
		}
		if found == nil {
			return fmt.Errorf("it has no prompt %s; there are: %s", plainLine(name), cutBytes(strings.Join(names, ", "), 500))
		}
		if args, err = arguments(found, args, text); err != nil {
			return err
		}
		r, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: args})
		if err != nil {
			return err
		}
		message, err = written(r)
		return err
	})
	return message, err
}

// arguments are those of a prompt, checked.
func arguments(p *mcp.Prompt, args map[string]string, text string) (map[string]string, error) {
	if args == nil {
		args = map[string]string{}
	}
	p.Arguments = slices.DeleteFunc(p.Arguments, func(a *mcp.PromptArgument) bool { return a == nil })
	var names, missing []string
	for _, a := range p.Arguments {
		names = append(names, plainLine(a.Name))
	}
	if text != "" {
		if len(p.Arguments) != 1 {
			return nil, fmt.Errorf("the prompt %s takes NAME=VALUE, of: %s", plainLine(p.Name), strings.Join(names, ", "))
		}
		args[p.Arguments[0].Name] = text
	}
	for _, a := range p.Arguments {
		if a.Required && args[a.Name] == "" {
			missing = append(missing, plainLine(a.Name))
		}
	}
	for name := range args {
		if !slices.ContainsFunc(p.Arguments, func(a *mcp.PromptArgument) bool { return a.Name == name }) {
			return nil, fmt.Errorf("the prompt %s has no argument %s; it has: %s", plainLine(p.Name), plainLine(name), strings.Join(names, ", "))
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the prompt %s needs: %s", plainLine(p.Name), strings.Join(missing, ", "))
	}
	return args, nil
}

// written are the messages of a prompt as one text.
func written(r *mcp.GetPromptResult) (string, error) {
	var parts []string
	for _, m := range r.Messages {
		if m == nil {
			continue
		}
		text, _ := contentText(m.Content)
		if m.Role != "user" {
			text = plainLine(string(m.Role)) + ": " + text
		}
		parts = append(parts, plain(text))
	}
	text := strings.Join(parts, "\n\n")
	switch {
	case strings.TrimSpace(text) == "":
		return "", errors.New("the prompt is empty")
	case len(text) > maxResult:
		return "", fmt.Errorf("the prompt has %s; at most %s are taken", size(len(text)), size(maxResult))
	}
	return text, nil
}
