package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/mcp"

	"github.com/urfave/cli/v2"
)

func addServerFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "url", Usage: "`URL` of a server on the network, instead of a command"},
		&cli.StringSliceFlag{Name: "header", Usage: "send the header `NAME=VALUE` to --url (repeatable)"},
		&cli.StringFlag{Name: "key-env", Usage: "send the key that is in `VARIABLE` to --url"},
		&cli.StringSliceFlag{Name: "env", Usage: "run the command with the variable `NAME=VALUE` (repeatable)"},
		&cli.StringFlag{Name: "cwd", Usage: "run the command in `DIRECTORY`", DefaultText: "the workspace"},
		cmdline.OneOf(&cli.StringFlag{Name: "sandbox", Usage: "what the command can write to: `MODE` read-only (nothing), workspace, net (workspace and the network) or off (no sandbox)", DefaultText: "as for commands of the model"}, config.MCPSandboxes...),
		cmdline.OneOf(&cli.StringFlag{Name: "transport", Usage: "transport of --url: `FORM` http (streamable) or sse", DefaultText: "http"}, "http", "sse"),
		&cli.BoolFlag{Name: "replace", Usage: "replace a server of the same name"},
		&cli.BoolFlag{Name: "no-test", Usage: "do not connect to the server now"},
	}
}

// addServer writes a server to the configuration, and looks at its tools.
func addServer(c *cli.Context, s *term.Screen) error {
	args := c.Args().Slice()
	if len(args) == 0 {
		return failure.Usage("mylm mcp add needs a name").WithHint("mylm mcp add NAME -- COMMAND [ARGUMENT...], or mylm mcp add NAME URL")
	}
	m := config.MCP{Name: args[0], Command: args[1:], URL: c.String("url"), KeyEnv: c.String("key-env"), Cwd: c.String("cwd"), Sandbox: c.String("sandbox"), Transport: c.String("transport")}
	if len(m.Command) == 1 && m.URL == "" && (strings.HasPrefix(args[1], "http://") || strings.HasPrefix(args[1], "https://")) {
		m.URL, m.Command = args[1], nil
	}
	var err error
	if m.Env, err = pairs("--env", c.StringSlice("env")); err != nil {
		return err
	}
	if m.Headers, err = pairs("--header", c.StringSlice("header")); err != nil {
		return err
	}
	loaded, err := loadServers(c.Context)
	if err != nil {
		return err
	}
	if err := keepServer(loaded, m, c.Bool("replace")); err != nil {
		return err
	}
	s.Dim("added " + m.Name)
	if c.Bool("no-test") {
		return nil
	}
	hub, err := setup.NewHub(loaded, map[string]config.MCP{m.Name: m}, nil, nil)
	if err != nil {
		return err
	}
	defer hub.Close()
	done := s.Busy("connecting")
	lists, failed := hub.List(c.Context)
	done()
	if c.Context.Err() != nil {
		return c.Context.Err()
	}
	if failed != nil {
		failed = fmt.Errorf("%s was added, but %w", m.Name, failed)
		if login := (*mcp.LoginError)(nil); errors.As(failed, &login) {
			s.Say("mylm: " + term.OneLine(failed.Error(), 500)) // which is what comes next, and no failure
			return nil
		}
		f := failure.Of(unreachableServer(failed, m.URL != ""))
		return f.WithHint("It stays in the configuration: mylm mcp remove " + m.Name + " removes it.\n" + f.Hint)
	}
	for _, l := range lists {
		printListed(s, l, true)
	}
	return nil
}

// keepServer checks a server and writes it.
func keepServer(c *config.Config, m config.MCP, replace bool) error {
	if err := m.Check(); err != nil {
		return failure.Usage("%s: %v", m.Name, err)
	}
	unset := m // what is read from the environment may be missing now
	for _, held := range []*map[string]string{&unset.Env, &unset.Headers} {
		*held = nil
	}
	unset.KeyEnv, unset.SecretEnv = "", ""
	if _, err := setup.Server(c, unset); err != nil && len(unset.References()) == 0 {
		return failure.Usage("%v", err)
	}
	return config.AddMCP(m, replace)
}

// pairs reads NAME=VALUE.
func pairs(flag string, texts []string) (map[string]string, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	for _, text := range texts {
		name, v, ok := strings.Cut(text, "=")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, failure.Usage("%s %q: it must be NAME=VALUE", flag, term.Echoed(name))
		}
		out[strings.TrimSpace(name)] = v
	}
	return out, nil
}

// removeServer removes a server, and what was agreed to with it.
func removeServer(c *cli.Context, s *term.Screen) error {
	_, m, err := serverOf(c)
	if err != nil {
		return err
	}
	if m.From != "" {
		return failure.Usage("the MCP server %s is one of this project's, in %s", m.Name, m.From).WithHint("Remove it there, or disable it: [mcp." + m.Name + "] with disabled = true in your configuration.")
	}
	if err := config.RemoveMCP(m.Name); err != nil {
		return err
	}
	// By the name: its variables may not be set any more.
	if err := setup.Pins().Forget(m.Name); err != nil {
		return err
	}
	if _, err := setup.Logins().Forget(c.Context, m.Name); err != nil {
		return err
	}
	s.Dim("removed " + m.Name)
	return nil
}

// importServers adds the servers of another client.
func importServers(c *cli.Context, s *term.Screen) error {
	path := c.Args().First()
	if path == "" {
		return failure.Usage("mylm mcp import needs a file").WithHint("Claude's is ~/.claude.json, Cursor's ~/.cursor/mcp.json; a project's .mcp.json needs no import")
	}
	text, err := readNamed(c.Context, "", path, s)
	if err != nil {
		return err
	}
	found, err := config.ReadMCP([]byte(text))
	if err != nil {
		return failure.Usage("%s: %v", term.Echoed(path), err)
	}
	loaded, err := loadServers(c.Context)
	if err != nil {
		return err
	}
	var failed []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		m := found[name]
		if _, known := loaded.MCP[name]; known && !c.Bool("replace") {
			s.Dim("kept " + name + ", which there is already")
			continue
		}
		if err := keepServer(loaded, m, c.Bool("replace")); err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", term.Visible(name), err))
			continue
		}
		s.Dim("added " + name)
	}
	if len(failed) > 0 {
		return failure.Usage("not added: %s", strings.Join(failed, "; "))
	}
	return nil
}

// trustServers shows servers of the project and asks about them.
func trustServers(c *cli.Context, s *term.Screen) error {
	loaded, err := loadServers(c.Context)
	if err != nil {
		return err
	}
	names := c.Args().Slice()
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(loaded.ProjectMCP))
	}
	if len(names) == 0 {
		return failure.Usage("this project names no MCP servers").WithHint("A project names them in " + config.MCPFile + " or in [mcp.NAME] of " + config.ProjectFile + ".")
	}
	p := &term.Prompter{Screen: s}
	for _, name := range names {
		m, ok := loaded.ProjectMCP[name]
		if !ok {
			return failure.Usage("this project names no MCP server %q", term.Echoed(name)).WithHint(failure.Suggest(name, slices.Sorted(maps.Keys(loaded.ProjectMCP))))
		}
		agreed, err := setup.Trust(c.Context, loaded, m, p)
		if err != nil {
			return err
		}
		if agreed {
			s.Dim(name + " may be used here from now on")
		} else {
			s.Dim(name + " is not used")
		}
	}
	return nil
}
