package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"mylm/agent"
	"mylm/agent/durable/pgtest"
	"mylm/agent/durable/postgres"
	"mylm/agent/journal"
	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	testscript.Main(tests{m}, map[string]func(){"mylm-cluster": main})
}

// tests stop the servers when they have run.
type tests struct{ m *testing.M }

func (t tests) Run() int {
	defer func() {
		if running != nil {
			_ = running.Stop() // it keeps nothing
		}
	}()
	return pgtest.Main(t.m)
}

// running is a development server of Temporal's.
var (
	running *testsuite.DevServer
	begin   = sync.OnceValue(func() (err error) {
		running, err = testsuite.StartDevServer(context.Background(), testsuite.DevServerOptions{
			ExistingPath: os.Getenv("TEMPORAL_TEST_BIN"), LogLevel: "error", ClientOptions: &client.Options{Identity: "test"},
		})
		return err
	})
)

// server is the address of a real Temporal. The test is skipped without one.
func server(t testing.TB) string {
	t.Helper()
	needed(t)
	if err := begin(); err != nil {
		t.Fatal(err)
	}
	return running.FrontendHostPort()
}

// needed skips a test where there is no Temporal.
func needed(t testing.TB) {
	t.Helper()
	if os.Getenv("TEMPORAL_TEST_BIN") != "" {
		return
	}
	const what = "TEMPORAL_TEST_BIN names no server of Temporal's: see scripts/get-temporal"
	if os.Getenv("TEMPORAL_TEST_REQUIRED") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// scripts run those of a directory, with a database each.
func scripts(t *testing.T, dir string, setup func(*testscript.Env) error) {
	pgtest.Database(t) // without a server they are skipped
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", dir), RequireExplicitExec: true, RequireUniqueNames: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "eventually": eventually},
		Setup: func(e *testscript.Env) error {
			e.Setenv("MYLM_DATABASE", pgtest.Database(e.T().(testing.TB)))
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("XDG_DATA_HOME", filepath.Join(e.WorkDir, "home", "data"))
			return setup(e)
		},
	})
}

// The scripts of testdata/script need no Temporal, and have mylm itself.
func TestClusterScripts(t *testing.T) {
	pgtest.Database(t)
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin, "./cmd/mylm")
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	scripts(t, "script", func(e *testscript.Env) error {
		address := e.Getenv("MYLM_DATABASE")
		e.Setenv("SUPERUSER", pgtest.As(t, address, pgtest.Superuser, pgtest.Password))
		e.Setenv("WRONG", pgtest.As(t, address, pgtest.Role, "guess"))
		e.Setenv("MISSING", strings.Replace(address, "/test", "/other", 1))
		e.Setenv("LONG", strings.Repeat("x", 201))
		e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
		return nil
	})
}

// The scripts of testdata/runs have a real Temporal, and a queue each.
func TestRunScripts(t *testing.T) {
	address := server(t)
	scripts(t, "runs", func(e *testscript.Env) error {
		e.Setenv("MYLM_TEMPORAL", address)
		e.Setenv("MYLM_TASK_QUEUE", filepath.Base(e.WorkDir))
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		e.Setenv("HEALTH", listener.Addr().String())
		return listener.Close()
	})
}

// exits CODE COMMAND... expects this exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	code := 0
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// eventually tries something until it succeeds: a command, GET URL, or stats TEXT, which is
// that they have it: Temporal counts runs some time after they began or ended.
func eventually(ts *testscript.TestScript, _ bool, args []string) {
	var err error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		switch args[0] {
		case "GET":
			err = get(args[1])
		case "stats":
			if err = ts.Exec("mylm-cluster", "stats"); err == nil && !strings.Contains(ts.ReadFile("stdout"), args[1]+"\n") {
				err = errors.New("not yet")
			}
		default:
			err = ts.Exec(args[0], args[1:]...)
		}
		if err == nil {
			return
		}
	}
	ts.Fatalf("%v: %v", args, err)
}

func get(address string) error {
	r, err := http.Get("http://" + address)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return errors.New(r.Status)
	}
	return nil
}

// run is the program with these arguments, in this process.
func run(t *testing.T, args ...string) (out, messages string, code int) {
	t.Helper()
	dir := t.TempDir()
	var files []*os.File
	for _, name := range []string{"in", "out", "err"} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	code = program(append([]string{"mylm-cluster"}, args...), term.Streams{In: files[0], Out: files[1], Err: files[2]})
	read := func(f *os.File) string {
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	return read(files[1]), read(files[2]), code
}

func TestListAndShow(t *testing.T) {
	address := pgtest.Database(t)
	t.Setenv("MYLM_DATABASE", address)
	runs := run
	run := func(args ...string) string {
		out, messages, code := runs(t, args...)
		if code != 0 {
			t.Fatalf("mylm-cluster %v: exit code %d, %s", args, code, messages)
		}
		return out
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
	add := func(id string, all ...agent.EntryPayload) {
		for i, p := range all {
			if err := sessions.Append(t.Context(), agent.Entry{Session: id, Seq: i + 1, Time: time.Now(), Payload: p}); err != nil {
				t.Fatal(err)
			}
		}
	}
	add("abcd", agent.RunEntry{}, agent.PromptEntry{Text: "Which host\x1b is staging?"}, agent.EndEntry{StopReason: agent.StopMaxTurns})
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
	of := agent.RunEntry{Name: plan.RunName, Setup: &agent.Setup{Labels: map[string]string{journal.LabelPlan: "plan"}}}
	add("plan", of, agent.PromptEntry{Text: "do it"}, agent.CustomEntry{Type: plan.EntryPlan, Args: []byte(`"unread"`)},
		agent.CustomEntry{Type: plan.EntryStep, Args: []byte(`"unread"`)}, agent.EndEntry{StopReason: agent.StopInternal})
	for _, args := range [][]string{{"list"}, {"show", "plan"}, {"show", "--json", "plan"}} { // what can be read is shown
		out, messages, code := runs(t, args...)
		if code != 0 || !strings.Contains(out, "do it") || !strings.Contains(messages, "the tasks of plan cannot be read: ") || args[0] == "list" && !strings.Contains(out, "\nabcd  ") {
			t.Errorf("%v: exit code %d, %s%s", args, code, out, messages)
		}
	}
}
