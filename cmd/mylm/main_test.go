package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"mylm/agent/journal"
	"mylm/cmd/mylm/internal/setup"
	"mylm/providers/langchain"
	"mylm/tools/sandbox"
)

func TestMain(m *testing.M) {
	// A program built with -race sleeps for a second at its end otherwise, and
	// the scripts run it a hundred times.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	// Most tests wait for a timer, a terminal or another process.
	_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	sandbox.Main()
	setup.Patience = time.Second
	testscript.Main(m, map[string]func(){
		"mylm":               main,
		"replay-all":         replayAll,
		"interrupted-editor": interruptedEditor,
		"ollama":             fakeOllama,
		"dying-editor":       dyingEditor,
		"mcp-server":         mcpServer,
		"browser":            browser,
	})
}

// patience is how long a test waits for something that should happen at once, also
// on a busy machine. A hang that a test looks for lasts longer.
const patience = 5 * time.Minute

// slow skips a slow test, which .ci/run runs in a step of its own.
func slow(t *testing.T) {
	t.Helper()
	if os.Getenv("MYLM_SLOW") == "" {
		t.Skip("it takes long: MYLM_SLOW=1 runs it")
	}
}

// interruptedEditor is an editor in which an interrupt is a key.
func interruptedEditor() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	fmt.Println("editing")
	for range 2 {
		<-signals
		fmt.Println("interrupted")
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	fmt.Println("saved")
}

// fakeOllama is the program ollama in the hints: it takes the arguments of the
// real one and notes them in the home directory.
func fakeOllama() {
	args := os.Args[1:]
	takes := map[string]int{"serve": 0, "pull": 1, "signin": 0}
	if n, ok := takes[strings.Join(args[:min(1, len(args))], "")]; !ok || len(args) != n+1 {
		fmt.Fprintln(os.Stderr, "Error: wrong arguments:", args)
		os.Exit(1)
	}
	f, err := os.OpenFile(filepath.Join(os.Getenv("HOME"), "ollama-calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, strings.Join(args, " "))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestScripts runs every script in testdata/script with the real command.
func TestScripts(t *testing.T) {
	t.Parallel()
	schema, _ := eventSchema(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/home/config")
			env.Setenv("XDG_DATA_HOME", env.WorkDir+"/home/data")
			env.Setenv("OLLAMA_HOST", "127.0.0.1:1") // where nobody listens
			env.Setenv("MYLM_SANDBOX", "off")        // which would refuse to work above the home directory
			env.Setenv("MYLM_UNASKED", "readers")    // what there is to run unasked without it
			env.Setenv("NO_COLOR", "")
			env.Setenv("TERM", "xterm")
			env.Setenv("CI", "")
			env.Setenv("GORACE", os.Getenv("GORACE"))
			for _, p := range langchain.Providers() { // and nobody's key
				for _, name := range append(p.KeyVars, p.BaseVars...) {
					env.Setenv(name, "")
				}
			}
			replayAfter(env)
			env.Setenv("MANY", "1500") // more than an import stores at once
			if os.Getenv("MYLM_SLOW") != "" {
				env.Setenv("MANY", "10000")
			}
			env.Setenv("LONG", strings.Repeat("x", 150))
			if err := os.WriteFile(env.WorkDir+"/padding", []byte(strings.Repeat("# padding\n", 7000)), 0o600); err != nil {
				return err
			}
			return os.MkdirAll(env.WorkDir+"/home", 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"published": publishedScript(schema),
			"speak":     speak,
			"subst":     subst,
			"edits":     edits,
			"golden":    golden,
			"session":   session,
			"restored":  restored,
			// of the memory
			"damage":  damage,
			"id":      id,
			"many":    many,
			"vectors": vectorServer,
			"words":   longText,
		},
	})
}

// subst FROM TO copies a file, for its owner alone, and puts variables of the
// script in.
func subst(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: subst FROM TO")
	}
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
	ts.Check(os.Chmod(ts.MkAbs(args[1]), 0o600)) // of one that was there
}

// golden NAMES... puts recorded sessions where the command finds them, as if they
// had been asked in the script's directory. $NAME is the id of each.
func golden(ts *testscript.TestScript, neg bool, args []string) {
	root, err := filepath.Abs("../../agent/journal/testdata/golden")
	ts.Check(err)
	dir := ts.MkAbs("home/data/mylm/sessions")
	ts.Check(os.MkdirAll(dir, 0o700))
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(filepath.Join(root, name+".jsonl")), "/srv/project", ts.MkAbs("."))
		var head journal.Header
		line, _, _ := strings.Cut(text, "\n")
		ts.Check(json.Unmarshal([]byte(line), &head))
		ts.Check(os.WriteFile(filepath.Join(dir, head.ID+".jsonl"), []byte(text), 0o600))
		ts.Setenv(name, head.ID)
	}
}

// session NAME sets $NAME to the id in the resume command on stderr.
func session(ts *testscript.TestScript, neg bool, args []string) {
	_, id, ok := strings.Cut(ts.ReadFile("stderr"), "mylm resume ")
	if neg || len(args) != 1 || !ok {
		ts.Fatalf("usage: session NAME, after a run that can be gone on with")
	}
	ts.Setenv(args[0], strings.Fields(id)[0])
}

// exits CODE ARGS... runs mylm and checks its exit code, which "! exec" cannot.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE [ARGS...]")
	}
	err := ts.Exec("mylm", args[1:]...)
	if code := exitCode(err); code != args[0] {
		ts.Fatalf("mylm exited %s, want %s", code, args[0])
	}
}
