//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mylm/tools"
	"mylm/tools/mcp"
)

// library is a service with a tool, resources and prompts.
func library(t *testing.T) string {
	t.Helper()
	s := sayServer()
	s.AddResource(&sdk.Resource{URI: "memo://one", Name: "one", Description: "the first"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "text/plain", Text: "heron\u200b"}, {URI: r.Params.URI, MIMEType: "image/png", Blob: []byte("png")}}}, nil
	})
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "memo://{name}", Name: "any"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	})
	s.AddPrompt(&sdk.Prompt{Name: "review", Arguments: []*sdk.PromptArgument{{Name: "file", Required: true}, {Name: "style"}}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
			{Role: "user", Content: &sdk.TextContent{Text: "Review " + r.Params.Arguments["file"] + "."}}, {Role: "assistant", Content: &sdk.TextContent{Text: "Gladly."}},
		}}, nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "say", Arguments: []*sdk.PromptArgument{{Name: "what"}}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: r.Params.Arguments["what"]}}}}, nil
	})
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// The model lists and reads resources, once a server is known to have them.
func TestResources(t *testing.T) {
	t.Parallel()
	o := mcp.Options{Pins: mcp.Pins{Dir: t.TempDir()}, Servers: []mcp.Server{{Name: "one", URL: library(t), Timeout: 5 * time.Minute, Effect: func(tool string) tools.Effect {
		if tool == mcp.ReadName {
			return tools.Reads
		}
		return tools.Runs
	}}, fakeServer(t, "two", "good")}}
	first := hub(t, o)
	if read, err := first.Read(); read != nil || err != nil {
		t.Errorf("before anything is known: %v, %v", read, err)
	}
	if _, err := first.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := hub(t, o) // of the next run
	read, err := h.Read()
	if err != nil || read == nil {
		t.Fatal(read, err)
	}
	if !strings.HasSuffix(read.Description, "Servers: one.") {
		t.Errorf("described as %q", read.Description)
	}
	if read.Timeout != 5*time.Minute+30*time.Second {
		t.Errorf("a call may take %v", read.Timeout)
	}
	r, err := tools.NewRegistry(read)
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{"server":"one"}`:                      "memo://one one: the first\nmemo://{name} any:",
		`{"server":"one","uri":"memo://one"}`:   "[resource memo://one]\nheron\n[resource memo://one, image/png, 3 bytes]",
		`{"server":"one","uri":"memo://other"}`: "not found",
		`{"server":"two"}`:                      "it has no resources",
		`{"server":"three"}`:                    "there are: one, two",
	} {
		o := call(t, r, mcp.ReadName, args)
		if !strings.Contains(strings.ToLower(o.Body()), strings.ToLower(want)) {
			t.Errorf("%s: got %q, want %q in it", args, o.Body(), want)
		}
		if o.Success() && o.Origin != tools.Web {
			t.Errorf("%s: whose words? %q", args, o.Origin)
		}
	}
	for server, want := range map[string]tools.Effect{"one": tools.Reads, "two": tools.Runs | tools.Network, "three": tools.Runs | tools.Network} {
		if got := read.Effect([]byte(`{"server":"` + server + `"}`)); got != want {
			t.Errorf("%s: %v, want %v", server, got, want)
		}
	}
}

// A prompt takes its arguments, and says what is wrong with them.
func TestPrompts(t *testing.T) {
	t.Parallel()
	h := hub(t, mcp.Options{Servers: []mcp.Server{{Name: "one", URL: library(t)}, fakeServer(t, "two", "good")}})
	for _, c := range []struct {
		server, name string
		args         map[string]string
		text, want   string
	}{
		{"one", "review", map[string]string{"file": "a.go"}, "", "Review a.go.\n\nassistant: Gladly."},
		{"one", "say", nil, "two words", "two words"},
		{"one", "review", nil, "a.go", "takes NAME=VALUE, of: file, style"},
		{"one", "review", nil, "", "needs: file"},
		{"one", "review", map[string]string{"files": "x", "file": "y"}, "", "no argument files; it has: file, style"},
		{"one", "say", nil, "", "the prompt is empty"},
		{"one", "other", nil, "", "no prompt other; there are: review, say"},
		{"two", "say", nil, "", "it has no prompts"},
		{"three", "say", nil, "", "no MCP server"},
	} {
		got, err := h.Prompt(t.Context(), c.server, c.name, c.args, c.text)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s:%s %v %q: got %q, want %q in it", c.server, c.name, c.args, c.text, got, c.want)
		}
	}
}

// What is null in a list of a server is passed over.
func TestNulls(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"initialize":               `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"nulls","version":"1"}}`,
		"tools/list":               `{"tools":[null]}`,
		"resources/list":           `{"resources":[null,{"uri":"memo://one","name":"one"}]}`,
		"resources/templates/list": `{"resourceTemplates":[null,{"uriTemplate":"memo://{name}","name":"any"}]}`,
		"resources/read":           `{"contents":[null,{"uri":"memo://one","text":"heron"}]}`,
		"prompts/list":             `{"prompts":[null,{"name":"say","arguments":[null,{"name":"what","required":true},null]}]}`,
		"prompts/get":              `{"messages":[null,{"role":"user","content":{"type":"text","text":"Review it."}}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		answer := `"error":{"code":-32601,"message":"no such method"}`
		if text, ok := answers[in.Method]; ok {
			answer = `"result":` + text
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, in.ID, answer)
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	o := mcp.Options{Pins: mcp.Pins{Dir: t.TempDir()}, Servers: []mcp.Server{{Name: "one", URL: server.URL}}}
	if _, err := hub(t, o).List(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := hub(t, o)
	read, err := h.Read()
	if err != nil || read == nil {
		t.Fatal(read, err)
	}
	r, err := tools.NewRegistry(read)
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{`{"server":"one"}`: "memo://one one:\nmemo://{name} any:", `{"server":"one","uri":"memo://one"}`: "heron"} {
		if body := call(t, r, mcp.ReadName, args).Body(); !strings.Contains(body, want) {
			t.Errorf("%s: got %q, want %q in it", args, body, want)
		}
	}
	for text, want := range map[string]string{"x": "Review it.", "": "needs: what"} {
		got, err := h.Prompt(t.Context(), "one", "say", nil, text)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q in it", text, got, want)
		}
	}
}
