// Command mcp-driver is what the official conformance suite of MCP tests: a client
// that does with the package tools/mcp what the scenario in MCP_CONFORMANCE_SCENARIO
// wants, at the server whose URL is its last argument. scripts/mcp-clients runs it.
//
// It follows the redirects of a login by itself, as a browser would.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"mylm/tools"
	"mylm/tools/mcp"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mcp-driver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) < 2 {
		return errors.New("usage: mcp-driver URL")
	}
	s := mcp.Server{Name: "suite", URL: os.Args[len(os.Args)-1], Timeout: 30 * time.Second}
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	if strings.HasPrefix(scenario, "auth/") {
		var given struct {
			Client string `json:"client_id"`
			Secret string `json:"client_secret"`
		}
		if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
			if err := json.Unmarshal([]byte(text), &given); err != nil {
				return err
			}
		}
		s.Login = &mcp.Login{Client: given.Client, Secret: given.Secret, Ask: visit}
		if scenario == "auth/basic-cimd" {
			s.Login.Client = "https://conformance-test.local/client-metadata.json" // what the scenario expects
		}
	}
	if strings.HasPrefix(scenario, "elicitation-") {
		s.Elicit = func(context.Context, string, string, json.RawMessage) (map[string]any, bool, error) {
			return map[string]any{}, true, nil // the defaults are to be filled in
		}
	}
	hub, err := mcp.NewHub(mcp.Options{Servers: []mcp.Server{s}, Notify: func(text string) { fmt.Fprintln(os.Stderr, text) }})
	if err != nil {
		return err
	}
	defer hub.Close()
	lists, err := hub.List(ctx)
	if err != nil {
		return err
	}
	find, err := hub.Find()
	if err != nil {
		return err
	}
	registry, err := tools.NewRegistry(find)
	if err != nil {
		return err
	}
	for _, t := range lists[0].Tools {
		args := "{}"
		if t.Name == "add_numbers" {
			args = `{"a": 5, "b": 3}`
		}
		inv, err := registry.Prepare(t.Call, json.RawMessage(args))
		if err != nil {
			return err
		}
		if o := inv.Run(ctx, time.Minute); !o.Success() {
			return fmt.Errorf("%s: %s", t.Call, o.Body())
		}
	}
	return nil
}

// visit opens a page and whatever it redirects to.
func visit(ctx context.Context, address string, _ chan<- string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
