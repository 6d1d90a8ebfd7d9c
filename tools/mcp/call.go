package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mylm/tools"
)

// Changed is the kind of the tools.Refusal of a call whose tool has another
// definition than the one that the user agreed to. Its Text holds the definition.
const Changed = "changed definition"

// callable is a tool of the server without what its definition says.
func (s *server) callable(tool string) *tools.Tool {
	return &tools.Tool{
		Name:     callName(s.Name, tool),
		External: true,
		Timeout:  s.callTime(),
		Effect:   func(json.RawMessage) tools.Effect { return s.effect(tool) },
	}
}

// anything is the schema of a tool that is not known yet.
func anything() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{}}
}

// unknownTool is the tool of a name of which nothing is known yet.
func (s *server) unknownTool(name string) *tools.Tool {
	t := s.callable("")
	t.Name, t.Schema = name, anything()
	t.Description = "A tool of the MCP server " + s.Name + "."
	t.Effect = func(json.RawMessage) tools.Effect {
		// Its own name at the server is not known. An effect that the settings lower
		// is found by it once it is.
		return tools.Runs | tools.Network
	}
	t.Run = s.run(name, false)
	return t
}

// run calls a tool by the name that the server has for it, or, where nothing was
// known of it, by the one that the model has.
func (s *server) run(name string, known bool) func(context.Context, json.RawMessage) (tools.Result, error) {
	return func(ctx context.Context, args json.RawMessage) (tools.Result, error) {
		l, live, err := s.ready(ctx)
		if err != nil {
			return tools.Result{}, err
		}
		i := slices.IndexFunc(live, func(d Definition) bool {
			return d.Name == name || !known && callName(s.Name, d.Name) == name
		})
		if i < 0 {
			return tools.Result{}, s.noTool(name, live)
		}
		now := live[i]
		if refusal, ok := s.changed(now); ok {
			if !slices.Contains(tools.Permitted(ctx), refusal) {
				return tools.Result{Refused: []tools.Refusal{refusal}}, fmt.Errorf("not called: the server has changed the definition of %s, and the user has not agreed to the new one", callName(s.Name, now.Name))
			}
			if err := s.agree(now); err != nil {
				return tools.Result{}, err
			}
		}
		schema, err := now.schema()
		if err != nil {
			return tools.Result{}, err
		}
		args, _, wrong := tools.Fit(schema, args)
		if wrong != nil {
			wrong.Tool = callName(s.Name, now.Name)
			return tools.Result{}, fmt.Errorf("%w\nIts parameters: %s", wrong, now.Schema)
		}
		return s.call(ctx, l, now, args)
	}
}

// ready connects and lists the tools, again if the connection has ended meanwhile:
// the end of a server is noticed a moment later.
func (s *server) ready(ctx context.Context) (l *link, live []Definition, err error) {
	for range 2 {
		if l, err = s.connect(ctx); err != nil {
			return nil, nil, err
		}
		if live, err = s.definitions(ctx, l, true); err == nil {
			return l, live, nil
		}
		if !errors.Is(err, mcp.ErrConnectionClosed) {
			break
		}
		select {
		case <-l.gone:
			s.drop(l)
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	return nil, nil, fmt.Errorf("MCP server %s: %w", s.Name, inWords(err))
}

// changed is the refusal of a call whose definition is not the one that was agreed to.
func (s *server) changed(now Definition) (r tools.Refusal, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.agreed {
		if a.Name == now.Name && a.hash() != now.hash() {
			return tools.Refusal{Kind: Changed, What: callName(s.Name, now.Name), Text: fmt.Sprintf("%s Its parameters: %s", strings.Join(strings.Fields(now.Description), " "), now.Schema)}, true
		}
	}
	return r, false
}

// noTool is the error of a name that the server does not have.
func (s *server) noTool(name string, live []Definition) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.problems {
		if p.Tool == name || callName(s.Name, p.Tool) == name {
			return fmt.Errorf("%s cannot be called: %s", name, p.Reason)
		}
	}
	var names []string
	for _, d := range live {
		names = append(names, callName(s.Name, d.Name))
	}
	if near := tools.Nearest(name, names); len(near) > 0 {
		return fmt.Errorf("the MCP server %s has no tool %s; did you mean %s?", s.Name, plainLine(name), strings.Join(near, " or "))
	}
	return fmt.Errorf("the MCP server %s has no tool %s; %s finds those that there are", s.Name, plainLine(name), FindName)
}

// maxRetries bounds how often a call is made again for a server that asks for no more
// than that.
const maxRetries = 3

// call makes a call of a tool.
func (s *server) call(ctx context.Context, l *link, tool Definition, args json.RawMessage) (tools.Result, error) {
	timedOut := fmt.Errorf("the MCP server %s did not answer within %v", s.Name, s.timeout())
	ctx, token, stop := l.asks.watch(ctx, s.timeout(), timedOut)
	defer stop()
	params := &mcp.CallToolParams{Name: tool.Name, Arguments: args}
	params.SetProgressToken(token)
	r, err := l.session.CallTool(ctx, params)
	for i := 0; i < maxRetries && err == nil && r.NeedsInput() && r.RequestState != ""; i++ { // it wants no input but another try
		if err = sleep(ctx, firstPause<<i); err == nil {
			params.RequestState = r.RequestState
			r, err = l.session.CallTool(ctx, params)
		}
	}
	switch {
	case err != nil && context.Cause(ctx) == timedOut:
		return tools.Result{}, timedOut
	case err != nil && ctx.Err() != nil:
		return tools.Result{}, ctx.Err()
	case err != nil:
		return tools.Result{}, s.failedCall(l, err)
	}
	s.served()
	result, err := resultOf(r, tool.output)
	if err != nil {
		return tools.Result{}, fmt.Errorf("MCP server %s: %w", s.Name, err)
	}
	if r.IsError {
		text := result.Text
		result.Text = ""
		if strings.TrimSpace(text) == "" {
			text = "the tool failed without saying why"
		}
		return result, errors.New(text)
	}
	return result, nil
}

// failedCall describes why a call got no answer.
func (s *server) failedCall(l *link, err error) error {
	if l.flooded.Load() {
		s.drop(l) // which is ending: the next call needs another
		err = errFlood
	}
	if readable(err) != err {
		return fmt.Errorf("MCP server %s: %w", s.Name, readable(err))
	}
	select {
	case <-l.gone:
		return fmt.Errorf("MCP server %s: the connection ended in the middle of the call, whose outcome is unknown: %w", s.Name, inWords(err))
	default:
		return fmt.Errorf("MCP server %s: %w", s.Name, inWords(err))
	}
}
