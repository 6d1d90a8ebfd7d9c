//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A relative HOME means the directory in which mylm was started.
func TestRelativeHome(t *testing.T) {
	t.Parallel()
	h := newHome(t, newPlaced(t, shellCall("cat note"), "Fine."))
	if err := os.WriteFile(filepath.Join(h.dir, "note"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds what the first has kept
		cmd := h.command("ask", "--continue", "q")
		if _, err := os.Stat(filepath.Join(h.dir, "rel")); err != nil {
			cmd = h.command("ask", "q")
		}
		cmd.Env = append(cmd.Env, "HOME=rel", "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "MYLM_SANDBOX=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if all, err := filepath.Glob(filepath.Join(h.dir, "rel/.local/share/mylm/sessions/*.jsonl")); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}
