package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"mylm": main,
	})
}

// TestScripts runs every script in testdata/script with the real command.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/home/config")
			env.Setenv("XDG_DATA_HOME", env.WorkDir+"/home/data")
			env.Setenv("OLLAMA_HOST", "127.0.0.1:1") // where nobody listens
			env.Setenv("NO_COLOR", "")
			env.Setenv("TERM", "xterm")
			env.Setenv("CI", "")
			return os.MkdirAll(env.WorkDir+"/home", 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
		},
	})
}

// exits CODE ARGS... runs mylm and checks its exit code, which "! exec" cannot.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE [ARGS...]")
	}
	err := ts.Exec("mylm", args[1:]...)
	code := "0"
	if err != nil {
		code = exitCode(err)
	}
	if code != args[0] {
		ts.Fatalf("mylm exited %s, want %s", code, args[0])
	}
}
