package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"mylm/cmd/mylm/internal/config"

	"mylm/tools"
	"mylm/tools/sandbox"
)

// SandboxPolicy is the policy for commands in the workspace.
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

// tellAbout makes the tool say what its sandbox cannot do here, to the person
// too, when it is first used.
func tellAbout(t *tools.Tool, c *config.Config, p *sandbox.Policy, n Notify) {
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
			if err = p.Check(); err != nil {
				n.Say(fmt.Sprintf("mylm: commands are refused, because the sandbox cannot be enforced: %v\n"+
					"  mylm ask --workspace DIR works in another directory; mylm ask --sandbox off runs commands without a sandbox.", err))
			}
			for _, gap := range p.Gaps() {
				n.Say("mylm: " + gap)
			}
		})
		if err != nil {
			return tools.Result{}, fmt.Errorf("the command was not run, because its sandbox cannot be enforced: %w. Only the user can change that, with mylm ask --workspace DIR or --sandbox off", err)
		}
		if granted, ok := tools.Granted(ctx); ok && granted.OnlyReads() {
			tellUnasked(n)
		}
		result, err := run(ctx, args)
		if err != nil && result.Refused == nil {
			if hint := missed(result.Text, p); hint != "" {
				result.Text += "\n" + hint
			}
		}
		return result, err
	}
}

// tellUnasked says what it means that a command runs unasked, the first time that
// one does.
func tellUnasked(n Notify) {
	if first("unasked_told", "The user was told that commands run unasked in the sandbox.\n") {
		n.Say("mylm: commands run without a question in a sandbox where they can read this workspace and write nothing; code of the project runs there, too.\n" +
			"  What a command is refused there you are asked about. --unasked never, or unasked = \"never\" in [policy], asks about each.")
	}
}

// What programs print about what the sandbox refuses.
const (
	noSocket    = `(?i)socket: operation not permitted|(listen|connect) EPERM`     // Go and the C library, and Node
	noPython    = `(?s)socket.*PermissionError: \[Errno 1\]`                       // Python, below the line of the call
	noSemaphore = `(?s)SemLock.*(PermissionError: \[Errno 13\]|FileNotFoundError)` // Python's multiprocessing, which misses /dev/shm
)

// missed says what a command lacked in the sandbox, and who can give it, if its
// output tells. A model would look for the fault in the program.
func missed(output string, p *sandbox.Policy) string {
	says := func(pattern string) bool { return regexp.MustCompile(pattern).MatchString(output) }
	switch {
	case p.Mode == sandbox.Off:
	case says(noSemaphore):
		return "(the sandbox has no semaphores that processes share; only the user can run it without one, with mylm ask --sandbox off)"
	case !p.AllowNet && (says(noSocket) || says(noPython)):
		return "(the sandbox has no network, not even localhost; only the user can open it, with mylm ask --allow-net)"
	}
	return ""
}
