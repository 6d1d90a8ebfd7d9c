package setup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mylm/cmd/mylm/internal/config"
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
		mode      string
		line      string
		verdict   policy.Verdict
		hold      bool
		prefix    bool // one is offered for another command
		sandboxed bool
	}{
		{"linux", "", "for f in *; do python3 $f; done", policy.Allow, true, true, true},
		{"linux", "", "touch x", policy.Allow, false, true, true},
		{"linux", "off", "ls -la", policy.Ask, false, true, false},
		{"linux", "off", "touch x", policy.Allow, false, true, false},
		{"darwin", "", "ls -la", policy.Ask, false, false, false},
		{"darwin", "", "touch x", policy.Ask, false, false, false},
		{"darwin", "off", "ls -la", policy.Ask, false, false, false},
		{"darwin", "off", "touch x", policy.Ask, false, false, false},
		{"windows", "", "ls -la", policy.Ask, false, false, false},
		{"windows", "", "touch x", policy.Ask, false, false, false},
	} {
		t.Run(tt.platform+" "+tt.mode+" "+tt.line, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("XDG_DATA_HOME", filepath.Join(dir, "data"))
			t.Setenv("HOME", filepath.Join(dir, "home"))
			c := &config.Config{Workspace: t.TempDir(), Platform: tt.platform}
			c.Project = config.ProjectOf(c.Workspace)
			if tt.mode != "" {
				c.Settings = config.Settings{config.SandboxMode.In(config.Layer{}, tt.mode)}
			}
			store, err := PolicyStore()
			check(t, err)
			check(t, store.Add(t.Context(), c.Project, []string{"touch"}))
			box := SandboxPolicy(c)
			if err := box.Check(); err != nil {
				t.Skip("no sandbox here: ", err)
			}
			g, err := NewGuard(c, box, "", nil)
			check(t, err)
			if sandboxed := box.Mode != sandbox.Off; sandboxed != tt.sandboxed {
				t.Errorf("sandboxed: %v", sandboxed)
			}
			told, err := os.Create(filepath.Join(dir, "told"))
			check(t, err)
			defer told.Close()
			screen := term.NewScreen(term.Streams{In: told, Out: told, Err: told})
			registry, err := toolbox{c: c, box: box, memory: NewMemory(c, screen), notify: screen}.registry(nil)
			check(t, err)
			decide := func(line string) (policy.Decision, *tools.Invocation) {
				args, err := json.Marshal(map[string]string{"command": line})
				check(t, err)
				inv, err := registry.Prepare(shell.Name, args)
				check(t, err)
				return g.Decision(g.Call(shell.Name, inv.Args, inv.Effect)), inv
			}
			if d, _ := decide(tt.line); d.Verdict != tt.verdict || d.Hold != tt.hold {
				t.Errorf("%s, held %v: %s", d.Verdict, d.Hold, d.Why)
			}
			d, inv := decide("mkdir y")
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

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
