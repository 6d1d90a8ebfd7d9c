//go:build unix

package shell_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mylm/tools"
	"mylm/tools/shell"
)

// call prepares a call with these arguments.
func call(t *testing.T, o shell.Options, args map[string]any) (*tools.Invocation, error) {
	t.Helper()
	tool, err := shell.New(o)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return registry.Prepare(shell.Name, text)
}

func TestCwd(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o755),
		os.WriteFile(filepath.Join(dir, "file"), nil, 0o600),
		os.Symlink("sub", filepath.Join(dir, "inner")),
		os.Symlink(outside, filepath.Join(dir, "outer")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for cwd, want := range map[string]string{
		"":                           "",
		".":                          "",
		"sub":                        "/sub",
		"sub/deep/..":                "/sub",
		"inner":                      "/sub",
		filepath.Join(dir, "sub"):    "/sub",
		"..":                         "cannot be used",
		"sub/../..":                  "cannot be used",
		outside:                      "cannot be used",
		"outer":                      "cannot be used",
		"/":                          "cannot be used",
		"none":                       "does not exist",
		"file":                       "is not a directory",
		filepath.Join(dir, "../x/y"): "cannot be used",
	} {
		inv, err := call(t, shell.Options{Dir: dir}, map[string]any{"command": "pwd -P", "cwd": cwd})
		if err != nil {
			t.Fatal(err)
		}
		out := inv.Run(t.Context(), patience)
		if strings.HasPrefix(want, "/") || want == "" {
			if out.Text != dir+want {
				t.Errorf("cwd %q: %q, error %q, want %s", cwd, out.Text, out.Error, dir+want)
			}
		} else if !strings.Contains(out.Error, want) || out.ExitCode != nil {
			t.Errorf("cwd %q: %q, error %q, want an error %q", cwd, out.Text, out.Error, want)
		}
		if cwd != "" && !strings.Contains(inv.Preview, cwd) {
			t.Errorf("the preview of a call in %q is %q", cwd, inv.Preview)
		}
	}
}

func TestTimeouts(t *testing.T) {
	inv, err := call(t, shell.Options{Timeout: time.Millisecond}, map[string]any{"command": "sleep 0.1; echo done", "timeout_s": 9})
	if err != nil {
		t.Fatal(err)
	}
	if out := inv.Run(t.Context(), time.Millisecond); out.Text != "done" {
		t.Errorf("with timeout_s 9: %+v", out)
	}
	inv, err = call(t, shell.Options{}, map[string]any{"command": "sleep 60", "timeout_s": "1"})
	if err != nil {
		t.Fatal(err)
	}
	if out := inv.Run(t.Context(), 0); !strings.HasPrefix(out.Error, "timed out after 1s") {
		t.Errorf("with timeout_s 1: %+v", out)
	}
	inv, err = call(t, shell.Options{Timeout: 50 * time.Millisecond}, map[string]any{"command": "sleep 60", "timeout_s": 600})
	if err != nil {
		t.Fatal(err)
	}
	inv.Effect = tools.Reads
	if out := inv.Run(t.Context(), 0); !strings.HasPrefix(out.Error, "timed out after 50ms, the limit for a command that runs without a question") {
		t.Errorf("of what nobody was asked about: %+v", out)
	}
	for _, bad := range []any{0, -1, 601, 1.5, "long"} {
		if _, err := call(t, shell.Options{}, map[string]any{"command": "true", "timeout_s": bad}); err == nil {
			t.Errorf("timeout_s %v is accepted", bad)
		}
	}
}

// Commands get no keys, with or without a sandbox.
func TestNoSecrets(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "aws_secret_access", "GH_TOKEN", "PGPASSWORD", "Db_Passwd"} {
		t.Setenv(name, "hunter2")
	}
	t.Setenv("HARMLESS", "stays")
	out := run(t, shell.Options{}, "env")
	if strings.Contains(out.Text, "hunter2") || !strings.Contains(out.Text, "HARMLESS=stays") {
		t.Errorf("the environment is\n%s", out.Text)
	}
}

// Flags stay flags behind an operand, as they were judged.
func TestPosixlyCorrectIsUnset(t *testing.T) {
	t.Setenv("POSIXLY_CORRECT", "1")
	if out := run(t, shell.Options{}, `echo "it is ${POSIXLY_CORRECT-unset}"`); out.Text != "it is unset" {
		t.Errorf("%+v", out)
	}
}

// Git's commands that read do not write what they found out into its index.
func TestGitStatusWritesNothing(t *testing.T) {
	needs(t, "git")
	o := shell.Options{Dir: t.TempDir()}
	if out := run(t, o, "git init -q . && touch a && git add a && touch -d 2001-01-01 a"); !out.Success() {
		t.Fatalf("%+v", out)
	}
	before, err := os.ReadFile(filepath.Join(o.Dir, ".git", "index"))
	if err != nil {
		t.Fatal(err)
	}
	if out := run(t, o, "git status --short"); out.Text != "A  a" {
		t.Errorf("%+v", out)
	}
	if after, err := os.ReadFile(filepath.Join(o.Dir, ".git", "index")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the index has changed (%v)", err)
	}
}
