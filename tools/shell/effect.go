package shell

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"

	"mylm/tools"
	"mylm/tools/command"
	"mylm/tools/sandbox"
)

// effect is Reads for a line of plain readers, and else Runs.
func (o Options) effect(args json.RawMessage) tools.Effect {
	var in input
	if err := json.Unmarshal(args, &in); err != nil || !o.reads(in) {
		return tools.Runs
	}
	return tools.Reads
}

// reads reports whether a command is made of plain readers, of files that lie in
// the working directory.
func (o Options) reads(in input) bool {
	root, err := filepath.Abs(o.Dir)
	if err != nil || runtime.GOOS == "windows" { // whose shell is another
		return false
	}
	at := command.Place{Root: root, Dir: root, Env: append(os.Environ(), environment...)}
	switch {
	case filepath.IsAbs(in.Cwd):
		at.Dir = in.Cwd
	case in.Cwd != "":
		at.Dir = filepath.Join(root, in.Cwd)
	}
	return command.Analyse(in.Command, at).Reads
}

// strangers reports whether the output of a command may be a stranger's words: it
// had the network or read elsewhere, or may have where nobody looked at the line
// or nothing confined it.
func (o Options) strangers(in input, given tools.Effect, unasked bool) bool {
	p := o.policy()
	return p.AllowNet || given&(tools.Leaves|tools.Network) != 0 || (unasked || p.Mode == sandbox.Off) && !o.reads(in)
}
