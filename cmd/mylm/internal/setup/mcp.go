package setup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/protocol"
	"mylm/tools"
	"mylm/tools/mcp"
	"mylm/tools/sandbox"
)

// Servers holds the MCP servers of one run, or of all runs of a conversation. Its
// zero value holds those that the settings name.
type Servers struct {
	// Further are servers beside those of the settings, which somebody has agreed to
	// who may: an editor's. They come before others of the same name.
	Further map[string]config.MCP

	hub *mcp.Hub
}

// Close ends them.
func (s *Servers) Close() {
	if s != nil && s.hub != nil {
		s.hub.Close()
		s.hub = nil
	}
}

// With calls f with the servers of the conversation, or, before its first run, with
// servers that end with the call.
func (s *Servers) With(ctx context.Context, c *config.Config, n Notify, f func(*mcp.Hub) error) error {
	if s.hub != nil {
		return f(s.hub)
	}
	named, err := Agreed(ctx, c, n, nil)
	if err != nil {
		return err
	}
	maps.Copy(named, s.Further)
	hub, err := NewHub(c, named, n, nil)
	if err != nil {
		return err
	}
	if hub == nil {
		return failure.Usage("there is no MCP server")
	}
	defer hub.Close()
	return f(hub)
}

// Names reports whether the settings, or an editor, name a server.
func (s *Servers) Names(c *config.Config, name string) bool {
	_, own := c.MCP[name]
	_, project := c.ProjectMCP[name]
	_, further := s.Further[name]
	return own || project || further
}

// Of how many tools, or of which part of the window, the model is shown all
// definitions. Beyond it small models lose their way, and the prompt its room.
const (
	maxShownTools = 16
	maxShownShare = 15   // percent of the window
	leastWindow   = 8192 // tokens; assumed where nothing says how large the window is
)

// withServers adds the tools of MCP servers to a list of tools: all of those that are
// known, if they are few, or else those that the settings name; and find_tools.
func withServers(c *config.Config, hub *mcp.Hub, list []*tools.Tool) ([]*tools.Tool, error) {
	find, err := hub.Find()
	if err != nil {
		return nil, err
	}
	known, tokens := hub.Known(), 0
	for _, k := range known {
		tokens += k.Tokens
	}
	list = append(list, find)
	read, err := hub.Read()
	if err != nil {
		return nil, err
	}
	if read != nil {
		list = append(list, read)
	}
	all := len(known) <= maxShownTools && tokens*100 <= maxShownShare*window(c)
	always := config.AlwaysTools.Of(c.Settings)
	for _, k := range known {
		if !all && !slices.Contains(always, k.Name) {
			continue
		}
		if t := hub.Lookup(k.Name); t != nil {
			list = append(list, t)
		}
	}
	return list, nil
}

// window is the size of the model's window as far as the settings tell it. The
// backend is not asked: what is shown must not depend on whether it answers.
func window(c *config.Config) int {
	s := c.Settings
	if n := cmp.Or(config.MaxContextTokens.Of(s), config.NumCtx.Of(s)); n > 0 {
		return n
	}
	if e, ok := config.EntryFor(c.Models, config.ModelName.Of(s)); ok && e.Context != nil {
		return *e.Context
	}
	return leastWindow
}

// NewHub makes the hub of the servers that the settings name: the user's, and those
// of the project that were agreed to. It is nil if there are none.
func NewHub(c *config.Config, named map[string]config.MCP, n Notify, change func(*mcp.Server, config.MCP)) (*mcp.Hub, error) {
	o := mcp.Options{Pins: Pins(), Clean: protocol.Neutralise}
	if n != nil {
		o.Notify = func(text string) { n.Say("mylm: " + term.OneLine(text, 500)) }
	}
	for _, name := range sortedNames(named) {
		m := named[name]
		if m.Disabled {
			continue
		}
		s, err := Server(c, m)
		if err != nil {
			return nil, failure.Config(err).WithHint("mylm mcp show " + name + " shows it; mylm config edit changes it.")
		}
		if change != nil {
			change(&s, m)
		}
		o.Servers = append(o.Servers, s)
	}
	if len(o.Servers) == 0 {
		return nil, nil
	}
	hub, err := mcp.NewHub(o)
	if err != nil {
		return nil, failure.Config(err)
	}
	return hub, nil
}

// InspectHub is the hub of all servers that are named here, for inspection: what is
// not well described, or lacks a variable, is left out. It may be nil.
func InspectHub(c *config.Config) *mcp.Hub {
	o := mcp.Options{Pins: Pins(), Clean: protocol.Neutralise}
	for _, named := range []map[string]config.MCP{c.MCP, c.ProjectMCP} {
		for _, name := range sortedNames(named) {
			s, err := Server(c, named[name])
			taken := slices.ContainsFunc(o.Servers, func(t mcp.Server) bool { return t.Name == name })
			if err == nil && !taken && !named[name].Disabled {
				o.Servers = append(o.Servers, s)
			}
		}
	}
	if len(o.Servers) == 0 {
		return nil
	}
	hub, err := mcp.NewHub(o)
	if err != nil {
		return nil
	}
	return hub
}

func sortedNames(named map[string]config.MCP) (names []string) {
	for name := range named {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Pins is where agreed definitions are kept.
func Pins() mcp.Pins {
	dir, err := config.DataDir()
	if err != nil {
		return mcp.Pins{}
	}
	return mcp.Pins{Dir: filepath.Join(dir, "mcp")}
}

// Logins is where logins to servers are kept.
func Logins() mcp.Logins {
	dir, err := config.DataDir()
	if err != nil {
		return mcp.Logins{}
	}
	return mcp.Logins{Dir: filepath.Join(dir, "mcp-logins")}
}

// Server is the server that a table describes, for a workspace.
func Server(c *config.Config, m config.MCP) (s mcp.Server, err error) {
	whole, err := m.Expanded()
	if err != nil {
		return s, err
	}
	s = mcp.Server{
		Name: m.Name, Command: whole.Command, Dir: whole.Dir(c.Workspace), URL: whole.URL, Headers: whole.Headers, SSE: m.Transport == "sse",
		Tools: m.Tools, Timeout: m.CallTimeout(), Start: m.StartTimeout(),
		Effect: func(tool string) tools.Effect {
			if e, ok := m.Effect(tool); ok {
				return e
			}
			return tools.Runs | tools.Network
		},
	}
	if _, keyed := whole.Headers["Authorization"]; s.URL != "" && !keyed {
		s.Login = &mcp.Login{Store: Logins(), Client: m.ClientID, Scopes: m.Scopes, Port: m.RedirectPort, Hint: "mylm mcp login " + m.Name}
		if m.SecretEnv != "" {
			s.Login.Secret = os.Getenv(m.SecretEnv)
		}
	}
	if len(whole.Command) > 0 {
		s.Env = environ(whole.Env)
		s.Sandbox = serverSandbox(c, m, s)
	}
	if err := s.Check(); err != nil {
		return s, fmt.Errorf("%s: %w", m.Where(), err)
	}
	return s, nil
}

// baseVariables are those of ours that a server gets: where programs and the home
// are, and how text is shown. None of them holds a key.
var baseVariables = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "TMPDIR",
	"SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA", "HOMEDRIVE", "HOMEPATH", "TEMP", "TMP", "PROGRAMFILES"}

func environ(own map[string]string) (env []string) {
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		upper := strings.ToUpper(name)
		if _, set := own[name]; !set && (slices.Contains(baseVariables, upper) || strings.HasPrefix(upper, "LC_")) {
			env = append(env, kv)
		}
	}
	for name, v := range own {
		env = append(env, name+"="+v)
	}
	slices.Sort(env)
	return env
}

// serverSandbox is what a server may do: what commands may, unless its table says
// otherwise. Its home is its own, kept for what it downloads and stores. What takes time
// to find out is left until it starts.
func serverSandbox(c *config.Config, m config.MCP, s mcp.Server) func() *sandbox.Policy {
	p := sandbox.Profile{
		Mode: c.Sandbox(), AllowNet: config.AllowNet.Of(c.Settings), Reads: slices.Concat(config.SandboxReads.Of(c.Settings), m.Reads),
		Workspace: c.Workspace, Project: c.Project, Closed: config.OwnDirs(), Getenv: os.Getenv,
	}
	switch m.Sandbox {
	case "read-only", "workspace", "off":
		p.Mode = sandbox.Mode(m.Sandbox)
	case "net":
		p.Mode, p.AllowNet = sandbox.Workspace, true
	}
	if runtime.GOOS != "linux" {
		p.Mode = sandbox.Off
	}
	return func() *sandbox.Policy {
		p := p
		p.Home, _ = os.UserHomeDir() // without one nothing needs to be closed
		p.Reads = slices.Concat(p.Reads, places(s, p.Home))
		policy := p.Policy()
		policy.Writes = slices.Clone(m.Writes)
		for i, dir := range policy.Writes {
			if rest, ok := strings.CutPrefix(dir, "~/"); ok {
				policy.Writes[i] = filepath.Join(p.Home, rest)
			}
		}
		if cache, err := os.UserCacheDir(); err == nil && p.Mode != sandbox.Off {
			policy.Private = filepath.Join(cache, "mylm", "mcp", m.Name)
		}
		return policy
	}
}

// places are what a server's command names, and the directory that it runs in: it
// could not start if it could not read them.
func places(s mcp.Server, home string) (all []string) {
	words := slices.Clone(s.Command)
	if program, err := exec.LookPath(words[0]); err == nil {
		words[0] = program
	}
	for _, word := range append(words, s.Dir) {
		info, err := os.Stat(word)
		if !filepath.IsAbs(word) || err != nil {
			continue
		}
		for _, named := range []string{word, sandbox.Real(word)} {
			place := named
			if before, _, ok := strings.Cut(place, "/node_modules/"); ok {
				place = before + "/node_modules" // the packages that a program needs lie beside it
			} else if !info.IsDir() {
				place = filepath.Dir(place)
			}
			if sandbox.CheckOpen(place, home) != nil { // a program beside what is private is opened without its neighbours
				place = named
			}
			if sandbox.CheckOpen(place, home) == nil && !slices.Contains(all, place) {
				all = append(all, place)
			}
		}
	}
	return all
}

// servers makes the hub of a run, or returns that of the conversation.
func (s *Setup) servers(ctx context.Context) (*mcp.Hub, error) {
	if s.Servers == nil {
		s.Servers, s.ownServers = &Servers{}, true
	}
	if s.Servers.hub != nil {
		return s.Servers.hub, nil
	}
	named, err := Agreed(ctx, s.Config, s.Notify, s.asker())
	if err != nil {
		return nil, err
	}
	maps.Copy(named, s.Servers.Further)
	s.Servers.hub, err = NewHub(s.Config, named, s.Notify, s.permissions)
	return s.Servers.hub, err
}

// asker is who is asked about servers of the project; nil: nobody.
func (s *Setup) asker() *term.Prompter {
	if !s.Asks || s.Person == nil || s.Person.Absent() != "" {
		return nil
	}
	return &s.Person.Prompter
}

// permissions sets what a server may ask for, as far as its table allows it.
func (s *Setup) permissions(server *mcp.Server, m config.MCP) {
	if m.Roots {
		server.Roots = []string{s.Config.Workspace}
	}
	if m.Elicitation {
		server.Elicit = s.elicit
	}
	if m.Sampling {
		server.Sample = s.sample
	}
}
