package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mylm/agent"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/prompts"
	"mylm/tools"
	"mylm/tools/ask"
	"mylm/tools/files"
	"mylm/tools/files/undo"
	"mylm/tools/mcp"
	"mylm/tools/sandbox"
	"mylm/tools/shell"
	"mylm/tools/web"
)

// toolbox holds what the tools of a run need.
type toolbox struct {
	c        *config.Config
	box      *sandbox.Policy // nil: none of the tools is run
	memory   *Memory
	notify   Notify
	session  *agent.Session
	journal  *undo.Journal // keeps earlier versions of files; nil: none is written
	editor   files.Editor  // has files open; nil: none
	question []*tools.Tool // ask_user, if somebody can be asked
	hub      *mcp.Hub      // nil: there are no MCP servers
}

// registry makes the tools, or those of them that are named.
func (b toolbox) registry(only []string) (*tools.Registry, error) {
	inFiles, err1 := fileTools(b.c.Workspace, b.journal, b.editor)
	execute, err2 := shell.New(shell.Options{Dir: b.c.Workspace, Sandbox: b.box})
	fetch, err3 := web.New(web.Options{AllowHosts: config.AllowHosts.Of(b.c.Settings)})
	remembering, err4 := b.memory.tools(b.session)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	reportSandbox(execute, b.c, b.box, b.notify)
	adviseHosts(fetch)
	all := slices.Concat(inFiles, []*tools.Tool{execute, fetch}, b.question, remembering)
	if b.hub != nil {
		var err error
		if all, err = withServers(b.c, b.hub, all); err != nil {
			return nil, err
		}
	}
	registry, err := tools.NewRegistry(all...)
	if err != nil || only == nil {
		return registry, err
	}
	if len(only) == 1 && only[0] == "none" {
		return tools.NewRegistry()
	}
	return registry.Only(only...)
}

// onlyOf are the named tools of a registry, as far as it has them.
func onlyOf(all *tools.Registry, names []string) (*tools.Registry, error) {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return all.Lookup(n) == nil })
	if len(names) == 0 {
		return tools.NewRegistry()
	}
	return all.Only(names...)
}

// toolsError reports a wrong list of tools, and where it is set.
func toolsError(c *config.Config, names []string, err error) error {
	from := config.Tools.From(c.Settings)
	if from.Kind != config.Flag && from.Kind != config.Variable {
		return failure.Config(fmt.Errorf("tools in the configuration: %w", err)).WithHint("mylm config edit opens it")
	}
	message := err.Error()
	for _, name := range names {
		message = strings.ReplaceAll(message, name, term.Echoed(name))
	}
	return failure.Usage("%s: %s", config.Tools.Place(c.Settings), message)
}

// CheckTools reports names in the settings that no tool has, as a run does.
func CheckTools(c *config.Config) error {
	hub := InspectHub(c)
	if hub != nil {
		defer hub.Close()
	}
	if names, named := config.Tools.Lookup(c.Settings); named && !slices.Equal(names, []string{"none"}) {
		all, err := AllTools(c.Workspace, nil, hub)
		if err == nil {
			_, err = all.Only(names...)
		}
		if err != nil {
			return toolsError(c, names, err)
		}
	}
	return checkDeny(c, hub)
}

// checkDeny refuses deny rules for unknown tools, which would forbid nothing.
func checkDeny(c *config.Config, hub *mcp.Hub) error {
	rules := config.Deny.Of(c.Settings)
	if len(rules) == 0 {
		return nil
	}
	all, err := AllTools(c.Workspace, nil, hub)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		name, _, _ := strings.Cut(rule, "(")
		name = strings.TrimSpace(name)
		if name == "*" || all.Lookup(name) != nil {
			continue
		}
		return failure.Config(fmt.Errorf("policy.deny: the rule %q names no tool", term.Echoed(rule))).
			WithHint(failure.Suggest(name, all.Names()) + "The tools: " + strings.Join(all.Names(), ", "))
	}
	return nil
}

// fileOptions are those of everything that reads a workspace.
func fileOptions(dir string) files.Options { return files.Options{Root: dir, Closed: config.OwnDirs()} }

// Names lists what a directory of a workspace holds, without what is ignored.
func Names(ctx context.Context, workspace, dir string) ([]string, error) {
	return files.Names(ctx, fileOptions(workspace), dir)
}

// fileTools are the tools for the files of a workspace.
func fileTools(dir string, journal *undo.Journal, editor files.Editor) ([]*tools.Tool, error) {
	o := fileOptions(dir)
	o.Journal, o.Editor = journal, editor
	var all []*tools.Tool
	for _, make := range []func(files.Options) (*tools.Tool, error){
		files.ListDir, files.ReadFile, files.FindFiles, files.SearchFiles, files.WriteFile, files.EditFile,
	} {
		t, err := make(o)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// AllTools are the tools of mylm ask, for inspection, for commands in a sandbox
// (nil: in none) and with those of MCP servers (nil: without). None of them is run.
func AllTools(workspace string, box *sandbox.Policy, hub *mcp.Hub) (*tools.Registry, error) {
	question, err := ask.New((&Person{}).Answer)
	if err != nil {
		return nil, err
	}
	return toolbox{c: &config.Config{Workspace: workspace}, box: box, memory: &Memory{config: &config.Config{}, read: true}, session: agent.NewSession(), question: []*tools.Tool{question}, hub: hub}.registry(nil)
}

// SandboxPolicy is the policy for commands in the workspace: what --sandbox, --allow-net and reads
// open.
func SandboxPolicy(c *config.Config) *sandbox.Policy {
	s := c.Settings
	p := sandbox.Profile{
		Mode: c.Sandbox(), AllowNet: config.AllowNet.Of(s), Reads: config.SandboxReads.Of(s), Env: config.SandboxEnv.Of(s),
		Workspace: c.Workspace, Project: c.Project, Getenv: os.Getenv,
	}
	p.Secrets = c.Secrets
	p.Closed = config.OwnDirs()
	p.Home, _ = os.UserHomeDir() // without one nothing needs to be closed
	if cache, err := os.UserCacheDir(); err == nil {
		p.Cache = filepath.Join(cache, "mylm", "sandbox")
	}
	return p.Policy()
}

// Unenforced is why commands are refused: their sandbox cannot be enforced. It is nil if
// it can, or if there is none.
func Unenforced(p *sandbox.Policy) error {
	if p.Mode == sandbox.Off {
		return nil
	}
	if err := p.Check(); err != nil {
		return fmt.Errorf("commands are refused, because the sandbox cannot be enforced: %w", err)
	}
	return nil
}

// reportSandbox makes the tool report, when it is first used, what its sandbox cannot do here, and
// refuse commands where it cannot be enforced.
func reportSandbox(t *tools.Tool, c *config.Config, p *sandbox.Policy, n Notify) {
	if n == nil || p == nil || p.Mode == sandbox.Off && c.SandboxPossible() {
		return
	}
	run := t.Run
	var once sync.Once
	var err error
	t.Run = func(ctx context.Context, args json.RawMessage) (tools.Result, error) {
		once.Do(func() {
			if p.Mode == sandbox.Off {
				n.Say("mylm: on this system there is no sandbox, only on Linux: a command can do what you can.")
				return
			}
			if err = Unenforced(p); err != nil {
				n.Say(fmt.Sprintf("mylm: %v\n  mylm ask --workspace DIR works in another directory; mylm ask --sandbox off runs commands without a sandbox.", err))
			}
			for _, gap := range p.Gaps() {
				n.Say("mylm: " + gap)
			}
		})
		if err != nil {
			return tools.Result{}, fmt.Errorf("the command was not run, because its sandbox cannot be enforced: %w. Only the user can change that, with mylm ask --workspace DIR or --sandbox off", errors.Unwrap(err))
		}
		if granted, ok := tools.Granted(ctx); ok && granted.OnlyReads() {
			explainUnasked(n)
		}
		result, err := run(ctx, args)
		if err != nil && result.Refused == nil {
			if hint := sandboxHint(result.Text, p); hint != "" {
				result.Text += "\n" + hint
			}
		}
		return result, err
	}
}

// adviseHosts names what allows a host that web_fetch refuses.
func adviseHosts(t *tools.Tool) {
	run := t.Run
	t.Run = func(ctx context.Context, args json.RawMessage) (tools.Result, error) {
		result, err := run(ctx, args)
		if errors.Is(err, web.ErrNotPublic) {
			err = fmt.Errorf("%w. Only the user can allow it, with --allow-host HOST", err)
		}
		return result, err
	}
}

// explainUnasked explains what it means that a command runs without a question,
// the first time one does.
func explainUnasked(n Notify) {
	if first, _ := firstTime("unasked_told", "The user was told that commands run unasked in the sandbox.\n"); first {
		n.Say("mylm: commands run without a question in a sandbox where they can read this workspace and write nothing; code of the project runs there, too.\n" +
			"  If the sandbox blocks something, you are asked. With --unasked never, or unasked = \"never\" in [policy], you are asked about every command.")
	}
}

// What programs print about what the sandbox refuses.
const (
	noSocket    = `(?i)socket: operation not permitted|(listen|connect) EPERM`         // Go and the C library, and Node
	noPython    = `(?s)socket.*PermissionError: \[Errno 1\]`                           // Python, below the line of the call
	noIdentity  = `(?m)^(Author identity unknown|\*\*\* Please tell me who you are\.)` // git
	noSemaphore = `(?s)SemLock.*(PermissionError: \[Errno 13\]|FileNotFoundError)`     // Python's multiprocessing, which needs /dev/shm
)

// sandboxHint explains what a command lacked in the sandbox, if its output shows
// that. A model would otherwise look for the fault in the program.
func sandboxHint(output string, p *sandbox.Policy) string {
	says := func(pattern string) bool { return regexp.MustCompile(pattern).MatchString(output) }
	switch {
	case p.Mode == sandbox.Off:
	case says(noSemaphore):
		return "(the sandbox has no semaphores that processes share; only the user can run it without one, with mylm ask --sandbox off)"
	case says(noIdentity):
		return "(the sandbox hides ~/.gitconfig, where git may have the user's name; only the user can give the repository one: git config user.name NAME; git config user.email ADDRESS)"
	case !p.AllowNet && (says(noSocket) || says(noPython)):
		return "(the sandbox has no network, not even localhost; only the user can open it, with mylm ask --allow-net)"
	}
	return ""
}

// UndoStore is where earlier versions of files are kept.
func UndoStore() *undo.Store {
	dir, err := config.DataDir()
	if err != nil {
		return undo.NewStore(undo.Options{}) // which reports it when it is needed
	}
	return undo.NewStore(undo.Options{Dir: filepath.Join(dir, "undo")})
}

// realPath is a directory with links resolved, "" if it is gone.
func realPath(dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "" // the tools say the same
	}
	return real
}

// Prompts are the templates, the user's before the built-in ones.
func Prompts() (*prompts.Set, error) {
	dir, err := config.Dir()
	if err != nil {
		return prompts.Default(), nil
	}
	dir = filepath.Join(dir, "prompts")
	if _, err := os.Stat(dir); config.IsMissing(err) {
		return prompts.Default(), nil
	}
	set, err := prompts.Load(dir)
	if err != nil {
		return nil, failure.Config(err)
	}
	return set, nil
}
