package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools"
	"mylm/tools/policy"
	"mylm/tools/sandbox"
	"mylm/tools/shell"
)

// Where there can be no sandbox every command is asked about, whatever rule was
// stored, and that is said once. Who turns it off where there is one keeps the
// rules.
func TestWithoutSandbox(t *testing.T) {
	for _, tt := range []struct {
		platform  string
		mode      *string
		line      string
		effect    tools.Effect
		verdict   policy.Verdict
		prefix    bool // one is offered for another command
		sandboxed bool
	}{
		{"linux", nil, "ls -la", tools.Reads, policy.Allow, true, true},
		{"linux", nil, "touch x", tools.Runs, policy.Allow, true, true},
		{"linux", ptr("off"), "ls -la", tools.Reads, policy.Allow, true, false},
		{"linux", ptr("off"), "touch x", tools.Runs, policy.Allow, true, false},
		{"darwin", nil, "ls -la", tools.Runs, policy.Ask, false, false},
		{"darwin", nil, "touch x", tools.Runs, policy.Ask, false, false},
		{"darwin", ptr("off"), "ls -la", tools.Runs, policy.Ask, false, false},
		{"darwin", ptr("off"), "touch x", tools.Runs, policy.Ask, false, false},
		{"windows", nil, "ls -la", tools.Runs, policy.Ask, false, false},
		{"windows", nil, "touch x", tools.Runs, policy.Ask, false, false},
	} {
		t.Run(tt.platform+" "+value(tt.mode)+" "+tt.line, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("XDG_DATA_HOME", filepath.Join(dir, "data"))
			t.Setenv("HOME", filepath.Join(dir, "home"))
			t.Chdir(t.TempDir())
			set := settings{Sandbox: confinement{platform: tt.platform, Mode: tt.mode}}
			project, err := currentProject()
			check(t, err)
			store, err := policyStore()
			check(t, err)
			check(t, store.Add(t.Context(), project, []string{"touch"}))
			g, err := newGuard(set, restrictions{}, nil)
			check(t, err)
			box, err := set.Sandbox.policy(t.Context(), project)
			check(t, err)
			if sandboxed := box.Mode != sandbox.Off; sandboxed != tt.sandboxed {
				t.Errorf("sandboxed: %v", sandboxed)
			}
			told, err := os.Create(filepath.Join(dir, "told"))
			check(t, err)
			defer told.Close()
			b := toolbox{settings: set, memories: newMemories(term.NewScreen(term.Streams{In: told, Out: told, Err: told}, "never")), session: agent.NewSession(), sandbox: box}
			registry, err := b.registry()
			check(t, err)
			decide := func(line string) (tools.Effect, policy.Decision, *tools.Invocation) {
				args, err := json.Marshal(map[string]string{"command": line})
				check(t, err)
				inv, err := registry.Prepare(shell.Name, args)
				check(t, err)
				return inv.Effect, g.decision(g.call(shell.Name, inv.Args, inv.Effect)), inv
			}
			if effect, d, _ := decide(tt.line); effect != tt.effect || d.Verdict != tt.verdict {
				t.Errorf("%v, %s: %s", effect, d.Verdict, d.Why)
			}
			_, d, inv := decide("mkdir y")
			if d.Offer == nil || (d.Offer.Prefix != nil) != tt.prefix {
				t.Errorf("the offer is %+v", d.Offer)
			}
			if tt.sandboxed {
				return
			}
			for range 2 {
				_ = inv.Run(t.Context(), 0)
			}
			text, err := os.ReadFile(told.Name())
			check(t, err)
			if n := strings.Count(string(text), "there is no sandbox, only on Linux"); (n == 1) != (tt.platform != "linux") || n > 1 {
				t.Errorf("told %d times: %s", n, text)
			}
		})
	}
}
