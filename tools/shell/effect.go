package shell

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"

	"mylm/tools"
	"mylm/tools/command"
)

// effect is Reads for a command line that is known to only read in the working
// directory, and else Runs: with Leaves if all it does is read elsewhere.
func (o Options) effect(args json.RawMessage) tools.Effect {
	var in struct{ Command, Cwd string }
	if err := json.Unmarshal(args, &in); err != nil || o.AlwaysRuns || runtime.GOOS == "windows" { // whose shell is another
		return tools.Runs
	}
	root, err := filepath.Abs(o.Dir)
	if err != nil {
		return tools.Runs
	}
	at := command.Place{Root: root, Dir: root, Env: append(os.Environ(), environment...)}
	switch {
	case filepath.IsAbs(in.Cwd):
		at.Dir = in.Cwd
	case in.Cwd != "":
		at.Dir = filepath.Join(root, in.Cwd)
	}
	a := command.Analyse(in.Command, at)
	switch {
	case a.OnlyReads:
		return tools.Reads
	case a.Leaves:
		return tools.Runs | tools.Leaves
	}
	return tools.Runs
}
