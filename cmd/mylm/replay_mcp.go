package main

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"mylm/agent"
	"mylm/cmd/mylm/internal/setup"
	"mylm/tools"
	"mylm/tools/mcp"
)

// shownTool is a tool as the system prompt of a record shows it.
var shownTool = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)<tool><name>([^<]*)</name><description>([^<]*)</description><parameters>([^<]*)</parameters></tool>`)
})

// serverTools are the tools of MCP servers that a record shows, and find_tools, so that
// a session can be replayed when its servers are gone. Those that were found are
// taken from what is known of the servers now.
func serverTools(ctx context.Context, entries []agent.Entry) (all []*tools.Tool) {
	seen := map[string]bool{}
	for _, e := range entries {
		run, ok := e.Payload.(agent.RunEntry)
		if !ok {
			continue
		}
		for _, m := range shownTool().FindAllStringSubmatch(run.System, -1) {
			name := m[1]
			if seen[name] || name != mcp.FindName && !strings.Contains(name, "__") {
				continue
			}
			seen[name] = true
			t := recordedTool(name)
			t.Description = unescapeXML.Replace(m[2])
			t.Schema = &jsonschema.Schema{}
			if json.Unmarshal([]byte(unescapeXML.Replace(m[3])), t.Schema) != nil {
				continue
			}
			if name == mcp.FindName {
				t.Effect, t.Finds = func(json.RawMessage) tools.Effect { return tools.Reads }, found(ctx)
			}
			all = append(all, t)
		}
	}
	return all
}

var unescapeXML = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#xD;", "\r", "&amp;", "&")

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
