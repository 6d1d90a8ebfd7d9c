package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"mylm/cmd/mylm/internal/term"
	"mylm/protocol"
	"mylm/providers"
	"mylm/tools/ask"
	"mylm/tools/mcp"
)

// Bounds of what a server may have the model do.
const (
	sampleTokens = 2048
	sampleBytes  = 32 << 10 // of its prompt
	sampleTime   = 5 * time.Minute
)

const elicitFields = 20 // of one question of a server, each of which is put to the user by itself

// elicit asks the user for each field that a server wants.
func (s *Setup) elicit(ctx context.Context, server, message string, schema json.RawMessage) (map[string]any, bool, error) {
	if s.Person == nil || s.Person.Absent() != "" {
		return nil, false, nil
	}
	var of jsonschema.Schema
	if err := json.Unmarshal(schema, &of); err != nil {
		return nil, false, err
	}
	if len(of.Properties) > elicitFields {
		return nil, false, nil
	}
	var names []string
	for name := range of.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	values := map[string]any{}
	for _, name := range names {
		p := of.Properties[name]
		if p == nil {
			continue
		}
		text := term.OneLine(message, 500) + "\n\n" + name
		if about := strings.TrimSpace(p.Title + " " + p.Description); about != "" {
			text += ": " + term.OneLine(about, 200)
		}
		q := ask.Question{Text: text, Who: "The MCP server " + server}
		for _, o := range p.Enum {
			q.Options = append(q.Options, fmt.Sprint(o))
		}
		if p.Type == "boolean" {
			q.Options = []string{"true", "false"}
		}
		answer, err := s.Person.Answer(ctx, q)
		if errors.Is(err, ask.ErrNoAnswer) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		answer = ask.Chosen(strings.TrimSpace(answer), q.Options)
		if answer == "" {
			if slices.Contains(of.Required, name) {
				return nil, false, nil
			}
			continue
		}
		v, ok := typed(p.Type, answer)
		if !ok {
			return nil, false, nil
		}
		values[name] = v
	}
	return values, true, nil
}

// typed is an answer as a value of a type.
func typed(kind, answer string) (any, bool) {
	switch kind {
	case "integer":
		n, err := strconv.Atoi(answer)
		return n, err == nil
	case "number":
		n, err := strconv.ParseFloat(answer, 64)
		return n, err == nil
	case "boolean":
		b, err := strconv.ParseBool(answer)
		return b, err == nil
	case "array":
		return strings.Split(answer, ","), true
	}
	return answer, true
}

// sample lets the model answer a prompt of a server, if the user agrees to it.
func (s *Setup) sample(ctx context.Context, server string, p mcp.Prompt) (string, error) {
	request := providers.Request{MaxTokens: min(max(p.MaxTokens, 1), sampleTokens)}
	size := len(p.System)
	if p.System != "" {
		request.Messages = append(request.Messages, providers.Message{Role: providers.System, Text: protocol.Neutralise(p.System)})
	}
	shown := p.System
	for _, m := range p.Messages {
		size += len(m.Text)
		shown += "\n" + m.Role + ": " + m.Text
		role := providers.User
		if m.Role == "assistant" {
			role = providers.Assistant
		}
		request.Messages = append(request.Messages, providers.Message{Role: role, Text: protocol.Neutralise(m.Text)})
	}
	switch {
	case size > sampleBytes:
		return "", fmt.Errorf("refused: the prompt has %d bytes; at most %d are put to the model", size, sampleBytes)
	case s.Model == nil || s.Person == nil || s.Person.Absent() != "":
		return "", errors.New("refused: nobody can be asked whether the model may answer")
	}
	q := ask.Question{Text: "May the model answer this?\n\n" + strings.TrimSpace(shown), Options: []string{"let it answer", "refuse"}, Who: "The MCP server " + server}
	answer, err := s.Person.Answer(ctx, q)
	if err != nil {
		return "", err
	}
	if ask.Chosen(strings.TrimSpace(answer), q.Options) != q.Options[0] {
		return "", errors.New("refused by the user")
	}
	ctx, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	var b strings.Builder
	for chunk, err := range s.Model.Generate(ctx, request) {
		if err != nil {
			return "", err
		}
		b.WriteString(chunk.Text)
	}
	return b.String(), nil
}
