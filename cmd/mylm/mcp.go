package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/mcp"

	"github.com/urfave/cli/v2"
)

func mcpCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Description: `A server is a program, or a service on the network, whose tools the model can call as
SERVER__TOOL. It starts when one of them is first called.`,
		UsageText: `mylm mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
mylm mcp test files
mylm ask "what did files find?"`,
		Subcommands: []*cli.Command{
			mcpServeCommand(s),
			{
				Name: "add", Usage: "add a server to the configuration", ArgsUsage: "NAME [--] COMMAND [ARGUMENT...] | NAME [--url] URL",
				UsageText: `mylm mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
mylm mcp add tracker --url https://mcp.example.com/mcp --key-env TRACKER_KEY`,
				Description: "A value can name a variable, which is read when the server starts: --env 'TOKEN=${TOKEN}'.\nFlags for mylm come before the name of the server, or before --.",
				Flags:       addServerFlags(),
				Action:      func(c *cli.Context) error { return addServer(c, s) },
			},
			{
				Name: "list", Usage: "list the servers, of the user and of this project",
				Flags:  []cli.Flag{jsonFlag()},
				Action: func(c *cli.Context) error { return listServers(c, s) },
			},
			{
				Name: "show", Usage: "show a server, and what is known of its tools", ArgsUsage: "NAME",
				UsageText: `mylm mcp show files`,
				Flags:     []cli.Flag{jsonFlag()},
				Action:    func(c *cli.Context) error { return showServer(c, s) },
			},
			{
				Name: "test", Usage: "connect to servers and list their tools", ArgsUsage: "[NAME...]",
				UsageText: `mylm mcp test
mylm mcp test files --agree`,
				Description: "With --agree the definitions that a server has now are those that you agree to.",
				Flags:       []cli.Flag{&cli.BoolFlag{Name: "agree", Usage: "agree to the definitions as they are now"}, jsonFlag()},
				Action:      func(c *cli.Context) error { return testServers(c, s) },
			},
			{
				Name: "login", Usage: "log in to a server that wants it, in a browser", ArgsUsage: "NAME",
				UsageText:   `mylm mcp login tracker`,
				Description: "The login is kept on this machine and renewed by itself. mylm mcp logout NAME forgets it.",
				Flags:       []cli.Flag{&cli.BoolFlag{Name: "no-browser", Usage: "print the address to open, and open nothing"}},
				Action:      func(c *cli.Context) error { return loginServer(c, s) },
			},
			{
				Name: "logout", Usage: "forget the login to a server", ArgsUsage: "NAME",
				UsageText: `mylm mcp logout tracker`,
				Action:    func(c *cli.Context) error { return logoutServer(c, s) },
			},
			{
				Name: "trust", Usage: "look at servers that this project names, and agree to them", ArgsUsage: "[NAME...]",
				UsageText: `mylm mcp trust`,
				Action:    func(c *cli.Context) error { return trustServers(c, s) },
			},
			{
				Name: "remove", Usage: "remove a server from the configuration", ArgsUsage: "NAME",
				UsageText: `mylm mcp remove files`,
				Action:    func(c *cli.Context) error { return removeServer(c, s) },
			},
			{
				Name: "import", Usage: "add the servers of another client", ArgsUsage: "FILE",
				UsageText:   `mylm mcp import ~/.cursor/mcp.json`,
				Description: "FILE is JSON with mcpServers, as Claude, Cursor, Windsurf and others keep it, or with servers,\nas VS Code does. Servers that there are already stay as they are.",
				Flags:       []cli.Flag{&cli.BoolFlag{Name: "replace", Usage: "replace servers of the same name"}},
				Action:      func(c *cli.Context) error { return importServers(c, s) },
			},
		},
	}
}

// loadServers are the settings, with the servers of the project.
func loadServers(ctx context.Context) (*config.Config, error) {
	loaded, err := config.Load(ctx, config.Source{})
	if err == nil {
		err = loaded.ApplyProject(ctx)
	}
	return loaded, err
}

// serverRow is a server as the commands print it.
type serverRow struct {
	Name  string     `json:"name"`
	State string     `json:"state"`
	From  string     `json:"from"`
	Tools int        `json:"tools"`
	Place config.MCP `json:"server"`
}

// serverRows are all servers that the settings and the project name.
func serverRows(ctx context.Context, c *config.Config) ([]serverRow, *mcp.Hub, error) {
	agreed, err := setup.Agreed(ctx, c, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	var rows []serverRow
	working := map[string]config.MCP{}
	add := func(m config.MCP) {
		row := serverRow{Name: m.Name, State: "ready", From: cmp.Or(m.From, "configuration"), Place: m.Masked()}
		switch _, ok := agreed[m.Name]; {
		case m.Disabled:
			row.State = "disabled"
		case !ok:
			row.State = "not agreed"
		default:
			if _, err := setup.Server(c, m); err != nil {
				row.State = err.Error()
			} else {
				working[m.Name] = m
			}
		}
		rows = append(rows, row)
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		add(c.MCP[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.ProjectMCP)) {
		if _, taken := c.MCP[name]; !taken {
			add(c.ProjectMCP[name])
		}
	}
	hub, err := setup.NewHub(c, working, nil, nil)
	if err != nil || hub == nil {
		return rows, nil, err
	}
	unknown := hub.Unknown()
	for i := range rows {
		prefix := rows[i].Name + "__"
		for _, k := range hub.Known() {
			if strings.HasPrefix(k.Name, prefix) {
				rows[i].Tools++
			}
		}
		if rows[i].State == "ready" && slices.Contains(unknown, rows[i].Name) {
			rows[i].State = "not started yet"
		}
	}
	return rows, hub, nil
}

func listServers(c *cli.Context, s *term.Screen) error {
	loaded, err := loadServers(c.Context)
	if err != nil {
		return err
	}
	rows, hub, err := serverRows(c.Context, loaded)
	if err != nil {
		return err
	}
	if hub != nil {
		defer hub.Close()
	}
	if c.Bool("json") {
		return term.PrintJSON(s.Out, append([]serverRow{}, rows...))
	}
	if len(rows) == 0 {
		s.Dim("There are no MCP servers. mylm mcp add NAME -- COMMAND adds one.")
		return nil
	}
	w := s.Columns("NAME\tTOOLS\tSTATE\tFROM\tCOMMAND OR URL")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", term.Visible(r.Name), r.Tools, term.OneLine(term.Visible(r.State), 60), r.From,
			term.OneLine(term.Visible(cmp.Or(r.Place.URL, strings.Join(r.Place.Command, " "))), 100))
	}
	return w.Flush()
}

// serverOf is the server that the first argument names, with the configuration.
func serverOf(c *cli.Context) (loaded *config.Config, m config.MCP, err error) {
	if loaded, err = loadServers(c.Context); err != nil {
		return nil, m, err
	}
	name := c.Args().First()
	if name == "" {
		return nil, m, failure.Usage("%s needs the name of a server", c.Command.HelpName).WithHint("mylm mcp list lists them")
	}
	if m, ok := loaded.MCP[name]; ok {
		return loaded, m, nil
	}
	if m, ok := loaded.ProjectMCP[name]; ok {
		return loaded, m, nil
	}
	names := append(slices.Collect(maps.Keys(loaded.MCP)), slices.Collect(maps.Keys(loaded.ProjectMCP))...)
	return nil, m, failure.Usage("there is no MCP server %q", term.Echoed(name)).WithHint(failure.Suggest(name, sorted(names)) + "mylm mcp list lists them")
}

func showServer(c *cli.Context, s *term.Screen) error {
	loaded, m, err := serverOf(c)
	if err != nil {
		return err
	}
	hub, err := setup.NewHub(loaded, map[string]config.MCP{m.Name: m}, nil, nil)
	var known []mcp.Known
	if err == nil && hub != nil {
		defer hub.Close()
		known = hub.Known()
	}
	if c.Bool("json") {
		names := []string{}
		for _, k := range known {
			names = append(names, k.Name)
		}
		return term.PrintJSON(s.Out, map[string]any{"name": m.Name, "from": cmp.Or(m.From, "configuration"), "server": m.Masked(), "tools": names})
	}
	s.Answer(term.Visible(setup.MCPText(loaded, m)))
	for _, k := range known {
		t := hub.Lookup(k.Name)
		if t == nil {
			continue
		}
		s.Answer(fmt.Sprintf("\n%s (%s)\n  %s\n", k.Name, t.Effect(nil), term.OneLine(term.Visible(t.Description), 300)))
	}
	if len(known) == 0 && err == nil {
		s.Answer("\nNothing is known of its tools yet: mylm mcp test " + m.Name + "\n")
	}
	return err
}

// testServers connects to servers, and reports what they offer.
func testServers(c *cli.Context, s *term.Screen) error {
	loaded, err := loadServers(c.Context)
	if err != nil {
		return err
	}
	agreed, err := setup.Agreed(c.Context, loaded, s, nil)
	if err != nil {
		return err
	}
	if c.Args().Len() > 0 {
		some := map[string]config.MCP{}
		for _, name := range c.Args().Slice() {
			m, ok := agreed[name]
			switch {
			case ok:
				m.Disabled = false
				some[name] = m
			case loaded.ProjectMCP[name].Name != "":
				return failure.Usage("you have not agreed to the MCP server %s of this project", name).WithHint("mylm mcp trust " + name)
			default:
				return failure.Usage("there is no MCP server %q", term.Echoed(name)).WithHint(failure.Suggest(name, slices.Sorted(maps.Keys(agreed))) + "mylm mcp list lists them")
			}
		}
		agreed = some
	}
	hub, err := setup.NewHub(loaded, agreed, nil, nil)
	if err != nil {
		return err
	}
	if hub == nil {
		return failure.Usage("there is no MCP server to test").WithHint("mylm mcp add NAME -- COMMAND adds one")
	}
	defer hub.Close()
	done := s.Busy("connecting")
	lists, failed := hub.List(c.Context)
	done()
	if c.Context.Err() != nil {
		return c.Context.Err()
	}
	if c.Bool("agree") {
		for _, l := range lists {
			if l.Tools != nil || l.Title != "" {
				if err := hub.Agree(c.Context, l.Server); err != nil {
					return err
				}
			}
		}
	}
	if c.Bool("json") {
		if err := term.PrintJSON(s.Out, lists); err != nil {
			return err
		}
	} else {
		for _, l := range lists {
			printListed(s, l, c.Bool("agree"))
		}
	}
	if failed != nil {
		remote := true
		for _, l := range lists {
			remote = remote && (l.Title != "" || l.Tools != nil || agreed[l.Server].URL != "")
		}
		return unreachableServer(failed, remote)
	}
	return nil
}

// unreachableServer is the failure of servers that cannot be reached; all of them have
// addresses if remote is set.
func unreachableServer(err error, remote bool) error {
	f := &failure.Error{Code: failure.ExitUnreachable, Name: "unreachable", Err: err}
	if login := (*mcp.LoginError)(nil); errors.As(err, &login) {
		return f // it says what to do
	}
	if remote {
		return f.WithHint("mylm mcp show NAME shows its address and what is sent to it. A server on this machine must be running.")
	}
	return f.WithHint("mylm mcp show NAME shows how it is started. In the sandbox a program that fetches itself, as npx does, needs sandbox = \"net\".")
}

func printListed(s *term.Screen, l mcp.Listed, agreed bool) {
	if l.Title == "" && l.Tools == nil {
		return // its error follows
	}
	s.Answer(fmt.Sprintf("%s: %s, protocol %s, %s\n", l.Server, term.Visible(l.Title), term.Visible(l.Version), term.Plural(len(l.Tools), "tool")))
	for _, t := range l.Tools {
		mark := ""
		if t.Changed && !agreed {
			mark = "  (changed since you agreed to it; --agree agrees to what follows)"
		}
		s.Answer(fmt.Sprintf("  %s%s\n", t.Call, mark))
		if t.Description != "" {
			s.Answer("      " + term.OneLine(term.Visible(t.Description), 200) + "\n")
		}
	}
	for _, p := range l.Problems {
		s.Answer("  not offered: " + term.OneLine(term.Visible(p.String()), 300) + "\n")
	}
}
