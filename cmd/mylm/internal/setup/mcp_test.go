package setup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mylm/tools/mcp"
)

// What a server's command names can be read in the sandbox: the directory of a program,
// and of one that lies in the home directory nothing else.
func TestPlaces(t *testing.T) {
	home := t.TempDir()
	alone, within := filepath.Join(home, "server.mjs"), filepath.Join(home, "tools", "server.mjs")
	if err := os.Mkdir(filepath.Dir(within), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{alone, within} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{alone: alone, within: filepath.Dir(within)} {
		all := places(mcp.Server{Command: []string{"no-such-program", path}}, home)
		if !slices.Contains(all, want) || slices.Contains(all, home) {
			t.Errorf("%s: got %q, want %s", path, all, want)
		}
	}
}
