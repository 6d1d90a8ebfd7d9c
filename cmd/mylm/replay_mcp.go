package main

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/setup"
	"mylm/tools"
	"mylm/tools/mcp"
)

// serverTools are the tools of MCP servers that a record defines, for a plan or for its
// parts, and find_tools, so that a session can be replayed when its servers are gone. Those that were found are
// taken from what is known of the servers now.
func serverTools(ctx context.Context, entries []agent.Entry, parts []plan.Part) (all []*tools.Tool) {
	seen := map[string]bool{}
	entries = slices.Clone(entries)
	for _, p := range parts {
		entries = append(entries, p.Entries...)
	}
	for _, e := range entries {
		run, ok := e.Payload.(agent.RunEntry)
		if !ok || run.Setup == nil {
			continue
		}
		defs := run.Setup.Definitions
		if defs == nil {
			defs = shownDefinitions(run.System)
		}
		for _, d := range defs {
			if seen[d.Name] {
				continue
			}
			seen[d.Name] = true
			t := recordedTool(d.Name)
			t.Description = d.Description
			if d.Schema != nil {
				t.Schema = d.Schema
			}
			if d.Name == mcp.FindName {
				t.Effect, t.Finds = func(json.RawMessage) tools.Effect { return tools.Reads }, found(ctx)
			}
			all = append(all, t)
		}
	}
	return all
}

// shownDefinitions reads the definitions out of a system prompt, for records of earlier
// versions, which hold them nowhere else. Those had one form.
func shownDefinitions(system string) (defs []agent.Definition) {
	tool := regexp.MustCompile(`(?s)<tool><name>([^<]*)</name><description>([^<]*)</description><parameters>([^<]*)</parameters></tool>`)
	unescape := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#xD;", "\r", "&amp;", "&")
	for _, m := range tool.FindAllStringSubmatch(system, -1) {
		d := agent.Definition{Name: m[1], Description: unescape.Replace(m[2]), Schema: &jsonschema.Schema{}}
		ofServer := d.Name == mcp.FindName || strings.Contains(d.Name, "__")
		if ofServer && json.Unmarshal([]byte(unescape.Replace(m[3])), d.Schema) == nil {
			defs = append(defs, d)
		}
	}
	return defs
}

// found looks a tool up in what is known of servers. Of others it makes one that takes
// any arguments.
func found(ctx context.Context) func(name string) *tools.Tool {
	var hub *mcp.Hub
	if loaded, err := loadServers(ctx); err == nil { // a record is replayed under any settings
		hub = setup.InspectHub(loaded)
	}
	return func(name string) *tools.Tool {
		if hub != nil {
			if t := hub.Lookup(name); t != nil {
				return t
			}
		}
		if !strings.Contains(name, "__") {
			return nil
		}
		return recordedTool(name)
	}
}

// recordedTool is a tool of which only the record knows something.
func recordedTool(name string) *tools.Tool {
	return &tools.Tool{
		Name: name, Schema: &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{}},
		Effect: func(json.RawMessage) tools.Effect { return tools.Runs | tools.Network },
		Run: func(context.Context, json.RawMessage) (tools.Result, error) {
			return tools.Result{}, errors.New("a replay runs no tool")
		},
	}
}
