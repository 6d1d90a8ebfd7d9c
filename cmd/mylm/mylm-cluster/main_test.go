package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"mylm/agent"
	"mylm/agent/durable/pgtest"
	"mylm/agent/durable/postgres"
	"mylm/agent/journal"
)

func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){"mylm-cluster": main})
}

// tests stop the server when they have run.
type tests struct{ m *testing.M }

func (t tests) Run() int { return pgtest.Main(t.m) }

// The scripts of testdata have a database each, and mylm itself.
func TestClusterScripts(t *testing.T) {
	pgtest.Database(t) // without a server they are skipped
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin, "./cmd/mylm")
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"), RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			address := pgtest.Database(e.T().(testing.TB))
			e.Setenv("MYLM_DATABASE", address)
			e.Setenv("SUPERUSER", pgtest.As(t, address, pgtest.Superuser, pgtest.Password))
			e.Setenv("WRONG", pgtest.As(t, address, pgtest.Role, "guess"))
			e.Setenv("MISSING", strings.Replace(address, "/test", "/other", 1))
			e.Setenv("LONG", strings.Repeat("x", 201))
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("XDG_DATA_HOME", filepath.Join(e.WorkDir, "home", "data"))
			e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			return nil
		},
	})
}

func TestListAndShow(t *testing.T) {
	address := pgtest.Database(t)
	t.Setenv("MYLM_DATABASE", address)
	run := func(args ...string) string {
		var out, messages strings.Builder
		if code := program(append([]string{"mylm-cluster"}, args...), strings.NewReader(""), &out, &messages); code != 0 {
			t.Fatalf("mylm-cluster %v: exit code %d, %s", args, code, messages.String())
		}
		return out.String()
	}
	run("migrate")
	db, err := postgres.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	sessions, err := db.Sessions("default")
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range []agent.EntryPayload{agent.RunEntry{}, agent.PromptEntry{Text: "Which host\x1b is staging?"}, agent.EndEntry{StopReason: agent.StopMaxTurns}} {
		if err := sessions.Append(t.Context(), agent.Entry{Session: "abcd", Seq: i + 1, Time: time.Now(), Payload: p}); err != nil {
			t.Fatal(err)
		}
	}
	if got := run("list"); !strings.HasPrefix(got, "abcd  ") || !strings.HasSuffix(got, "  max_turns  Which host is staging?\n") {
		t.Errorf("list prints %q", got)
	}
	if got := run("show", "abcd"); !strings.Contains(got, "\n## Question\n\nWhich host is staging?\n") {
		t.Errorf("show prints %q", got)
	}
	var shown struct {
		Format  string
		Entries []agent.Entry
	}
	if err := json.Unmarshal([]byte(run("show", "abcd", "--json")), &shown); err != nil || shown.Format != journal.Format || len(shown.Entries) != 3 {
		t.Errorf("show --json prints %+v, %v", shown, err)
	}
	var listed []journal.Info
	if err := json.Unmarshal([]byte(run("list", "--json")), &listed); err != nil || len(listed) != 1 || listed[0].State != "max_turns" {
		t.Errorf("list --json prints %+v, %v", listed, err)
	}
}
