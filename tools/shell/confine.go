package shell

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"

	"mylm/tools"
	"mylm/tools/command"
	"mylm/tools/sandbox"
)

// confined is what holds for a command that nobody was asked about, or only about
// what it was refused before: the strict sandbox, widened by just that. Without a
// sandbox there is a bound on memory.
func (o Options) confined(permits []tools.Refusal) Options {
	p := o.policy()
	o.Sandbox = &p
	if p.Mode == sandbox.Off {
		p.MaxMemory = readerMemory
		return o
	}
	allowed := p.Mode
	p.Mode, p.AllowNet, p.Private, p.Strict = sandbox.ReadOnly, false, "", true
	for _, permit := range permits {
		switch kind := sandbox.Kind(permit.Kind); {
		case kind == sandbox.Write:
			p.Mode = allowed
		case kind == sandbox.Metadata:
			p.Mode, p.AllowMetadata = allowed, true
		case kind == sandbox.Network:
			p.AllowNet = true
		case kind == sandbox.Limit:
			p.Strict = false
		case kind == sandbox.Execute && sandbox.Within(permit.What, workspace(p)), kind == sandbox.Execute && temporary(permit.What):
			p.AllowExec = true
		case kind == sandbox.Read, kind == sandbox.Secret, kind == sandbox.Execute:
			p.Reads = append(p.Reads[:len(p.Reads):len(p.Reads)], permit.What)
		}
	}
	return o
}

// refusals splits what a command was refused: what the user can be asked about, and
// the rest, with words for the model. Of a command that is not strict, which may have
// changed something, all is of the latter.
func refusals(p sandbox.Policy, strict bool, report sandbox.Report) (permits, blocked []tools.Refusal, rest []string) {
	for _, r := range report.Refusals {
		f, ok := permission(p, r)
		if ok && strict {
			permits = append(permits, f)
			continue
		}
		if !ok || r.Kind == sandbox.Limit {
			f.Effect = 0
		}
		f.What = cmp.Or(f.What, r.Address, r.Detail)
		blocked, rest = append(blocked, f), append(rest, r.String())
	}
	return permits, blocked, rest
}

// watched is what holds for a command that was allowed beforehand. What it is refused
// is reported where it would change nothing else: a build opens too many files.
func (o Options) watched(in input) Options {
	if p := o.policy(); o.Sandbox != nil && o.analyse(in).Changes == "" {
		p.Watch = true
		o.Sandbox = &p
	}
	return o
}

// permission is what a command lacked, and false if nothing that a command can be given would
// do: no sandbox of commands writes elsewhere, signals others or looks at them, as a list of
// processes does.
func permission(p sandbox.Policy, r sandbox.Refusal) (tools.Refusal, bool) {
	f := tools.Refusal{Kind: string(r.Kind), What: r.Path}
	if strings.ContainsFunc(r.Path+r.Address, func(c rune) bool { return !unicode.IsPrint(c) || tools.Hidden(c) }) {
		return f, false // a person could not see what it is
	}
	switch r.Kind {
	case sandbox.Write, sandbox.Metadata:
		f.Effect = tools.Writes
		return f, writable(p, r.Path)
	case sandbox.Read:
		f.Effect = tools.Leaves
		return f, readable(p, r.Path)
	case sandbox.Secret:
		f.Effect = tools.Leaves
		return f, true
	case sandbox.Execute:
		f.Effect = tools.Runs
		return f, temporary(r.Path) || sandbox.Within(r.Path, workspace(p)) || readable(p, r.Path)
	case sandbox.Network:
		f.Effect, f.What = tools.Network, r.Address
		return f, !strings.HasPrefix(r.Address, "unix:")
	case sandbox.Limit:
		f.Effect, f.What = tools.Runs, r.Detail
		return f, true
	}
	return f, false
}

// maxUnaskedOutput is how much a command that runs without a question may
// print. Of more than a thousandth of it the model sees only the ends.
const maxUnaskedOutput = 64 << 20

// bounded calls stop when more than max bytes were written.
type bounded struct {
	io.Writer
	max  int
	stop func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.max -= len(p); b.max < 0 {
		b.stop()
	}
	return b.Writer.Write(p)
}

// writable reports whether commands that were allowed can write there.
func writable(p sandbox.Policy, path string) bool {
	if p.Mode == sandbox.ReadOnly {
		return false
	}
	for _, dir := range append([]string{p.Workspace}, p.Resolved().Writes...) {
		if sandbox.Within(path, sandbox.Real(dir)) {
			return true
		}
	}
	return false
}

// readable reports whether a policy can name a path to be read.
func readable(p sandbox.Policy, path string) bool {
	for _, closed := range []string{"/proc", "/sys", "/dev"} {
		if sandbox.Within(path, closed) {
			return false
		}
	}
	return path != "/" && (p.Home == "" || !sandbox.Within(sandbox.Real(p.Home), path))
}

func temporary(path string) bool { return strings.Contains(path, "/mylm-sandbox-") }

func workspace(p sandbox.Policy) string { return sandbox.Real(p.Workspace) }

// effect is Reads for a line of plain readers, and else Runs.
func (o Options) effect(args json.RawMessage) tools.Effect {
	var in input
	if err := json.Unmarshal(args, &in); err != nil || !o.reads(in) {
		return tools.Runs
	}
	return tools.Reads
}

// reads reports whether a command is made of plain readers, of files that lie in
// the working directory. They run in a dry run too.
func (o Options) reads(in input) bool {
	return runtime.GOOS != "windows" && o.analyse(in).Reads // its shell is another
}

func (o Options) analyse(in input) command.Analysis {
	root, err := filepath.Abs(o.Dir)
	if err != nil {
		return command.Analysis{Changes: err.Error()}
	}
	at := command.Place{Root: root, Dir: root, Env: append(os.Environ(), environment...)}
	switch {
	case filepath.IsAbs(in.Cwd):
		at.Dir = in.Cwd
	case in.Cwd != "":
		at.Dir = filepath.Join(root, in.Cwd)
	}
	return command.Analyse(in.Command, at)
}

// mayBeForeign reports whether the output of a command may be a stranger's words: it
// had the network or read elsewhere, or may have where nobody looked at the line
// or nothing confined it.
func (o Options) mayBeForeign(in input, given tools.Effect, unasked bool) bool {
	p := o.policy()
	return p.AllowNet || given&(tools.Leaves|tools.Network) != 0 || (unasked || p.Mode == sandbox.Off) && !o.reads(in)
}
