//go:build unix

package shell_test

import (
	"encoding/json"
	"os"
	"testing"

	"mylm/tools"
	"mylm/tools/shell"
)

func TestEffect(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/sub", 0o700); err != nil {
		t.Fatal(err)
	}
	tool, err := shell.New(shell.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]tools.Effect{
		`{"command":"ls -la | head -3"}`:      tools.Reads,
		`{"command":"python3 -c 1"}`:          tools.Runs,
		`{"command":"ls & rm -rf x"}`:         tools.Runs,
		`{"command":"cat /etc/passwd"}`:       tools.Runs,
		`{"command":"ls","cwd":"sub"}`:        tools.Reads,
		`{"command":"cat ../x","cwd":"sub"}`:  tools.Runs,
		`{"command":"cat x"}`:                 tools.Reads,
		`{"command":"ls","cwd":"/"}`:          tools.Runs,
		`{"command":"ls","cwd":".."}`:         tools.Runs,
		`{"command":"git status","cwd":"/"}`:  tools.Runs,
		`{"command":"head -1","cwd":"../.."}`: tools.Runs,
		`{"command":""}`:                      tools.Runs,
		`{"command":1}`:                       tools.Runs,
		``:                                    tools.Runs,
	} {
		if got := tool.Effect(json.RawMessage(args)); got != want {
			t.Errorf("%s: %v, want %v", args, got, want)
		}
	}
}
