//go:build unix

package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"mylm/tools"
	"mylm/tools/mcp"
)

// A client that asks for a revision that there is not yet speaks the one that it is
// offered: it is asked for its directories by a request.
func TestClientOfALaterRevision(t *testing.T) {
	t.Parallel()
	var caller mcp.Caller
	where, err := tools.New("where", "Say where.", tools.Reads, func(context.Context, struct{}) (tools.Result, error) { return tools.Result{Text: "here"}, nil })
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(where)
	if err != nil {
		t.Fatal(err)
	}
	offer := mcp.Offer{Name: "x", Version: "1", Listed: registry, Tools: func(_ context.Context, c mcp.Caller) (*tools.Registry, error) {
		caller = c
		return registry, nil
	}}
	in, to := io.Pipe()
	from, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- offer.Serve(t.Context(), in, out)
		out.Close()
	}()
	go fmt.Fprintln(to, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2099-01-01","capabilities":{"roots":{}},"clientInfo":{"name":"later","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"where","arguments":{}}}`)
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		switch {
		case m.Method == "roots/list":
			fmt.Fprintf(to, `{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file:///src/shop"}]}}`+"\n", m.ID)
		case string(m.ID) == "2":
			if !strings.Contains(lines.Text(), "here") || caller.Root != "/src/shop" {
				t.Errorf("%+v: %s", caller, lines.Text())
			}
			to.Close()
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
