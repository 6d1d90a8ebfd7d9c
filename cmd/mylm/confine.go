package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"mylm/cmd/mylm/internal/term"
	"mylm/tools"
	"mylm/tools/sandbox"

	"github.com/urfave/cli/v2"
)

// confinement is what the configuration says about the sandbox. What is absent
// stays nil.
type confinement struct {
	Mode     *string  `toml:"mode"`
	AllowNet *bool    `toml:"allow_net"`
	Reads    []string `toml:"reads"` // besides toolchains; ~ is the home directory
	Env      []string `toml:"env"`   // variables that are passed on although they look like secrets

	platform string // the system it is about; "" is this one
}

// possible reports whether there can be a sandbox. Where there is none every
// command is asked about. Who turns it off keeps the rules: he knows that it is
// gone, and chose so.
func (c confinement) possible() bool { return cmp.Or(c.platform, runtime.GOOS) == "linux" }

// sandboxFlags say how commands are confined.
func sandboxFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "sandbox", Usage: "what commands can write to: read-only (nothing), workspace or off (no sandbox)", DefaultText: string(confinement{}.defaultMode()), EnvVars: []string{"MYLM_SANDBOX"}},
		&cli.BoolFlag{DisableDefaultText: true, Name: "allow-net", Usage: "let commands in the sandbox use the network", EnvVars: []string{"MYLM_ALLOW_NET"}},
	}
}

func (c confinement) defaultMode() sandbox.Mode {
	if c.possible() {
		return sandbox.Workspace
	}
	return sandbox.Off
}

// over lays c over d: what c sets counts, the rest is d's.
func (c confinement) over(d confinement) confinement {
	if c.Mode != nil {
		d.Mode = c.Mode
	}
	if c.AllowNet != nil {
		d.AllowNet = c.AllowNet
	}
	if c.Reads != nil {
		d.Reads = c.Reads
	}
	if c.Env != nil {
		d.Env = c.Env
	}
	return d
}

// check finds values that cannot be meant.
func (c confinement) check() error {
	var err error
	if c.Mode != nil && !slices.Contains(sandbox.Modes(), sandbox.Mode(*c.Mode)) {
		err = fmt.Errorf("the sandbox is %q; it must be read-only, workspace or off", term.Echoed(*c.Mode))
	}
	for _, path := range c.Reads {
		if !filepath.IsAbs(path) && path != "~" && !strings.HasPrefix(path, "~/") {
			err = errors.Join(err, fmt.Errorf("reads holds %q; it must be an absolute path or begin with ~/", term.Echoed(path)))
		}
	}
	return err
}

// tighten applies what a project says of itself, which can only take away.
func (c confinement) tighten(by confinement) confinement {
	if by.Mode != nil {
		now := c.defaultMode()
		if c.Mode != nil {
			now = sandbox.Mode(*c.Mode)
		}
		c.Mode = ptr(string(sandbox.Stricter(now, sandbox.Mode(*by.Mode))))
	}
	if by.AllowNet != nil && !*by.AllowNet {
		c.AllowNet = by.AllowNet
	}
	return c
}

// loosens names what a project's file must not hold.
func (c confinement) loosens() []string {
	var found []string
	if c.Mode != nil && sandbox.Mode(*c.Mode) == sandbox.Off {
		found = append(found, `sandbox.mode = "off"`)
	}
	if value(c.AllowNet) {
		found = append(found, "sandbox.allow_net = true")
	}
	if c.Reads != nil {
		found = append(found, "sandbox.reads")
	}
	if c.Env != nil {
		found = append(found, "sandbox.env")
	}
	return found
}

// policy is the policy for commands in a workspace, with what its project says.
func (c confinement) policy(ctx context.Context, workspace string) (*sandbox.Policy, error) {
	project := projectOf(workspace)
	by, err := term.Wait(ctx, func() (restrictions, error) { return loadRestrictions(project) })
	if err != nil {
		return nil, err
	}
	c = c.tighten(by.Sandbox)
	p := sandbox.Profile{Mode: c.defaultMode(), AllowNet: value(c.AllowNet), Reads: c.Reads, Env: c.Env, Workspace: workspace, Project: project, Getenv: os.Getenv}
	if c.Mode != nil {
		p.Mode = sandbox.Mode(*c.Mode)
	}
	p.Home, _ = os.UserHomeDir() // without one nothing needs to be closed
	if cache, err := os.UserCacheDir(); err == nil {
		p.Cache = filepath.Join(cache, "mylm", "sandbox")
	}
	return p.Policy(), nil
}

// tellAbout makes the tool say what its sandbox cannot do here, to the person
// too, when it is first used.
func tellAbout(t *tools.Tool, c confinement, p *sandbox.Policy, s *term.Screen) {
	if p == nil || p.Mode == sandbox.Off && c.possible() {
		return
	}
	run := t.Run
	var once sync.Once
	var err error
	t.Run = func(ctx context.Context, args json.RawMessage) (tools.Result, error) {
		once.Do(func() {
			if p.Mode == sandbox.Off {
				s.Say("mylm: on this system there is no sandbox, only on Linux: a command can do what you can, and every one is asked about.")
				return
			}
			if err = p.Check(); err != nil {
				s.Say(fmt.Sprintf("mylm: commands are refused, because the sandbox cannot be enforced: %v\n"+
					"  mylm ask --workspace DIR works in another directory; mylm ask --sandbox off runs commands without a sandbox.", err))
			}
			for _, gap := range p.Gaps() {
				s.Say("mylm: " + gap)
			}
		})
		if err != nil {
			return tools.Result{}, fmt.Errorf("the command was not run, because its sandbox cannot be enforced: %w. Only the user can change that, with mylm ask --workspace DIR or --sandbox off", err)
		}
		result, err := run(ctx, args)
		if hint := missed(result.Text, p); hint != "" && err != nil {
			result.Text += "\n" + hint
		}
		return result, err
	}
}

var (
	// noSocket is what programs say of a socket that the sandbox refuses: Go and
	// the C library, and Node.
	noSocket = pattern(`(?i)socket: operation not permitted|(listen|connect) EPERM`)
	// noPython is how Python says so, below the line of the call.
	noPython = pattern(`(?s)socket.*PermissionError: \[Errno 1\]`)
	// noSemaphore is how Python's multiprocessing misses /dev/shm.
	noSemaphore = pattern(`(?s)SemLock.*(PermissionError: \[Errno 13\]|FileNotFoundError)`)
)

// missed says what a command lacked in the sandbox, and who can give it, if its
// output tells. A model would look for the fault in the program.
func missed(output string, p *sandbox.Policy) string {
	switch {
	case p.Mode == sandbox.Off:
	case noSemaphore().MatchString(output):
		return "(the sandbox has no semaphores that processes share; only the user can run it without one, with mylm ask --sandbox off)"
	case !p.AllowNet && (noSocket().MatchString(output) || noPython().MatchString(output)):
		return "(the sandbox has no network, not even localhost; only the user can open it, with mylm ask --allow-net)"
	}
	return ""
}
