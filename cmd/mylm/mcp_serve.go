package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers/serve"
	"mylm/tools"
	"mylm/tools/mcp"
	"mylm/tools/policy"

	"github.com/urfave/cli/v2"
)

func mcpServeCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "serve", Usage: "let other programs search and add to mylm's memory, as an MCP server",
		Description: "It speaks over stdin and stdout, and ends with its input: programs start it themselves.\nNotes that they store name them as their source.",
		UsageText:   "mylm mcp serve\nmylm mcp serve --http 127.0.0.1:11436\nclaude mcp add mylm -- mylm mcp serve",
		Flags: append(config.Flags(config.Workspace, config.Save, config.Embedder),
			&cli.BoolFlag{Name: "ask", Usage: "also offer a tool that answers questions with the configured model; calls that need approval are denied"},
			&cli.StringFlag{Name: "http", Usage: "listen on `ADDRESS`, such as 127.0.0.1:11436, instead of stdin; any but the loopback interface needs a key"},
			&cli.StringFlag{Name: "key-env", Usage: "require the key that is in the variable `NAME`"}),
		Action: func(c *cli.Context) error { return serveMemory(c, s) },
	}
}

// serveMemory serves the tools of the memory.
func serveMemory(c *cli.Context, s *term.Screen) error {
	loaded, err := config.Load(c.Context, config.Source{Flags: c.Command.Flags})
	if err == nil {
		err = loaded.ApplyProject(c.Context)
	}
	if err != nil {
		return err
	}
	memory := setup.NewMemory(loaded, s)
	defer memory.Close()
	offered := func(project, client string) (*tools.Registry, error) {
		r, err := memory.Offered(project, client)
		if err != nil || !c.Bool("ask") {
			return r, err
		}
		mode := policy.ConfirmSensitive
		if config.Confirm.Of(loaded.Settings) == string(policy.ConfirmAll) {
			mode = policy.ConfirmAll
		}
		flags := []string{"--confirm", string(mode)}
		if memory.NoSave != "" {
			flags = append(flags, "--no-save")
		}
		ask, err := askTool(loaded.Workspace, flags)
		if err != nil {
			return nil, err
		}
		return tools.NewRegistry(append(r.Tools(), ask)...)
	}
	offer := mcp.Offer{
		Name: "mylm", Version: version(),
		Instructions: "What was said and done before, on this machine, is kept in a memory. Search it first where a question may rest on it; remember what lasts.",
		Tools: func(_ context.Context, by mcp.Caller) (*tools.Registry, error) {
			project := loaded.Project
			if by.Root != "" {
				project = config.ProjectOf(by.Root)
			}
			return offered(project, cmp.Or(by.Client, "mcp"))
		},
	}
	if offer.Listed, err = offered(loaded.Project, ""); err != nil {
		return err
	}
	addr := c.String("http")
	if addr == "" {
		if term.IsTerminal(s.In) {
			s.Say("mylm: waiting for a program that speaks MCP on stdin, which usually starts this command itself: claude mcp add mylm -- mylm mcp serve\n" +
				"  Ctrl-D or Ctrl-C ends it.")
		}
		return offer.Serve(c.Context, s.In, s.Out)
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return failure.Usage("--http %s: %v", term.Echoed(addr), err).WithHint("It is a host and a port, such as 127.0.0.1:11436.")
	}
	key := ""
	if name := c.String("key-env"); name != "" {
		if key = os.Getenv(name); key == "" {
			return unsetKey(name)
		}
	}
	if c.Bool("ask") && key == "" {
		return failure.Usage("--ask over HTTP needs a key: other users of this machine could ask").WithHint("Put a key into a variable and name it with --key-env.")
	}
	if !isLoopback(host) && key == "" {
		return failure.Usage("%s can be reached from other machines, and there is no key", term.Echoed(addr)).
			WithHint("Put a key into a variable and name it with --key-env.")
	}
	listener, err := (&net.ListenConfig{}).Listen(c.Context, "tcp", addr)
	if err != nil {
		return cannotListen("mylm mcp serve --http", addr, err)
	}
	s.Say(fmt.Sprintf("mylm's memory is served on http://%s (Ctrl-C stops it)", listener.Addr()))
	return (&serve.Server{Handler: guarded(offer.Handler(), key)}).Serve(c.Context, listener)
}

// guarded lets in who has the key, if there is one, and no pages of a browser: a name
// that somebody else had resolved to this machine is refused.
func guarded(h http.Handler, key string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		_, page := r.Header["Origin"]
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		want, got := sha256.Sum256([]byte(key)), sha256.Sum256([]byte(token))
		switch {
		case page, key == "" && !isLoopback(host):
			http.Error(w, "Forbidden", http.StatusForbidden)
		case key != "" && subtle.ConstantTimeCompare(want[:], got[:]) != 1:
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
		default:
			r.Body = http.MaxBytesReader(w, r.Body, 4<<20)
			h.ServeHTTP(w, r)
		}
	})
}
