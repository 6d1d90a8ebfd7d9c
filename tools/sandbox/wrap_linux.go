package sandbox

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mylm/internal/tempdir"
)

// job is the instructions for the helpers. It goes through a pipe, since
// arguments can be seen by everybody.
type job struct {
	Session bool    // the command gets a session of its own
	Temp    string  // removed in the end, by the supervisor too: this process may be gone
	Bounds  *bounds // nil: none
	Memory  uint64  `json:",omitempty"` // bytes of its own that each process may have; 0: any
}

// bounds are the rules of a policy as the stage applies them.
type bounds struct {
	Writes, Reads []string
	AllowNet      bool
	Quota         quota
	Strict        *strict // nil: it was asked about
	Watch         bool    // what it is refused is reported, without Strict
	Rules         []rule  // what the paths come to; the supervisor adds it
}

// quota is what all processes of a command may use together.
type quota struct {
	Temp   string // where temporary files are, without links
	Bytes  int64  // there
	Files  int    // there
	Memory uint64 // bytes; 0: any
	Tasks  int    // processes and threads; 0: any
}

// strict is the further limits of a command that runs without a question.
type strict struct {
	Workspace []string // directories, without links, whose files may be secrets and are not executed
	Named     []string // of them, and files in them, that were named to be read
	Path      []string // where programs are that the system does not come with
	Lookup    []string // where a shell looks for programs, in this order
	Execute   bool     // of the workspace and the temporary space
	Metadata  bool     // may be changed
	Signals   bool     // to threads are judged here, since Landlock does not
}

// note is a report of the helpers, one JSON value each.
type note struct {
	Failed    string `json:",omitempty"`
	Ended     bool   `json:",omitempty"` // the last one: the command and all that it started are gone
	Leftovers bool   `json:",omitempty"`

	Refusal *Refusal `json:",omitempty"`
}

// Guard watches over one command. Its methods may be called from several
// goroutines at once.
type Guard struct {
	temp     *tempdir.Dir // removed in the end; nil if there is none
	lifeline *os.File     // the supervisor kills everything when it is closed
	notes    *os.File
	theirs   []*os.File // the helpers' ends
	kill     sync.Once
}

// Wrap checks the policy and makes cmd, which must not have been started, run
// under it. It changes the path, arguments, environment, files, and what
// happens when the command's context ends: then all its processes are killed.
// The command's environment loses its secrets, see Environ.
//
// Call Release when cmd is done or was not started. If cmd.SysProcAttr asks for
// a session of its own, the command and the supervisor get one each.
func (p Policy) Wrap(cmd *exec.Cmd) (*Guard, error) {
	p = p.Resolved()
	if err := p.Check(); err != nil {
		return nil, err
	}
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	g := &Guard{}
	if p.strict() && p.MaxMemory == 0 {
		p.MaxMemory = maxMemory
	}
	instructions := job{Session: cmd.SysProcAttr != nil && cmd.SysProcAttr.Setsid, Memory: p.MaxMemory}
	env := p.Environ(cmd.Environ())
	if p.confines() {
		var err error
		if instructions.Bounds, env, err = g.confine(p, env); err != nil {
			g.Release()
			return nil, err
		}
	}
	if g.temp != nil {
		instructions.Temp = g.temp.Path
	}
	if err := g.connect(cmd, instructions); err != nil {
		g.Release()
		return nil, err
	}
	cmd.Env = env
	if cmd.Cancel != nil {
		cmd.Cancel = g.Kill
	}
	return g, nil
}

// confine makes the private directories of a command and the rules for it.
func (g *Guard) confine(p Policy, env []string) (*bounds, []string, error) {
	var err error
	if g.temp, err = tempdir.New("mylm-sandbox-"); err != nil {
		return nil, nil, err
	}
	temp, home := filepath.Join(g.temp.Path, "tmp"), p.Private
	if home == "" || p.strict() || os.MkdirAll(home, 0o700) != nil { // a home directory may be read-only
		home = filepath.Join(g.temp.Path, "home")
	}
	if err := errors.Join(os.Mkdir(temp, 0o700), os.MkdirAll(home, 0o700)); err != nil {
		return nil, nil, err
	}
	if err := linkToHome(p.Home, home, p.Reads); err != nil {
		return nil, nil, err
	}
	b := &bounds{Writes: []string{temp, home}, Reads: p.Reads, AllowNet: p.AllowNet, Quota: quota{Temp: Real(g.temp.Path), Bytes: askedTemp, Files: askedTempFiles, Tasks: askedTasks}}
	b.Watch = p.Watch && !p.strict() && checkStrict() == nil
	if p.strict() {
		b.Quota = quota{Temp: b.Quota.Temp, Bytes: maxTemp, Files: maxTempFiles, Memory: p.MaxMemory, Tasks: maxTasks}
		b.Strict = &strict{Execute: p.AllowExec, Metadata: p.AllowMetadata, Signals: !scoped(), Path: onPath(env), Lookup: lookup(env)}
		for _, dir := range slices.Concat([]string{p.Workspace}, p.Writes) {
			b.Strict.Workspace = append(b.Strict.Workspace, Real(dir))
		}
		for _, path := range p.Reads {
			if path = Real(path); slices.ContainsFunc(b.Strict.Workspace, func(dir string) bool { return Within(path, dir) && path != dir }) {
				b.Strict.Named = append(b.Strict.Named, path)
			}
		}
	}
	if p.Mode == ReadOnly {
		b.Reads = slices.Concat([]string{p.Workspace}, p.Writes, b.Reads)
		return b, private(env, home, temp), nil
	}
	b.Writes = append(b.Writes, p.Workspace)
	for _, dir := range p.Writes {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			b.Writes = append(b.Writes, dir)
		}
	}
	return b, private(env, home, temp), nil
}

// elsewhere are variables that lead to the user's own directories and sockets.
// Without them programs look below HOME and in TMPDIR.
var elsewhere = []string{"HOME", "TMPDIR", "TMP", "TEMP", "GOCACHE", "GOENV", "GOTMPDIR", "GOLANGCI_LINT_CACHE",
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "BASH_ENV", "ENV"}

func private(env []string, home, temp string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "XDG_") || slices.Contains(elsewhere, name)
	})
	return append(env, "HOME="+home, "TMPDIR="+temp)
}

// telemetry is the file, below a home, that keeps Go from collecting statistics. A
// process of its own would do that, which outlives the command; no variable keeps
// it from that (golang.org/x/telemetry).
const telemetry = ".config/go/telemetry/mode"

// linkToHome makes what lies below the user's home appear below the private one. The
// private one was writable for commands: os.Root does not follow links that lead
// out of it.
func linkToHome(from, to string, paths []string) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	if root.MkdirAll(filepath.Dir(telemetry), 0o700) == nil { // a command may have put something else there
		if f, err := root.OpenFile(telemetry, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			_, _ = f.WriteString("off")
			f.Close()
		}
	}
	// In sorted order a directory comes before its content, which then exists already.
	for _, path := range slices.Sorted(slices.Values(paths)) {
		rel, err := filepath.Rel(from, path)
		if from == "" || err != nil || !filepath.IsLocal(rel) || rel == "." {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(rel), 0o700); err != nil {
			continue // a command has put something else there
		}
		_ = root.Symlink(path, rel)
	}
	return nil
}

// connect lays the pipes to the helpers and turns cmd into the supervisor.
func (g *Guard) connect(cmd *exec.Cmd, instructions job) error {
	control, lifeline, err := os.Pipe()
	if err != nil {
		return err
	}
	g.lifeline, g.theirs = lifeline, append(g.theirs, control)
	notes, w, err := os.Pipe()
	if err != nil {
		return err
	}
	g.notes, g.theirs = notes, append(g.theirs, w)
	text, err := json.Marshal(instructions)
	if err != nil {
		return err
	}
	// It may be more than a pipe holds. Closing the lifeline ends the write.
	go func() { _, _ = lifeline.Write(append(text, '\n')) }()

	first := 3 + len(cmd.ExtraFiles)
	cmd.ExtraFiles = append(cmd.ExtraFiles, control, w)
	if g.temp != nil { // the supervisor keeps its lock
		cmd.ExtraFiles = append(cmd.ExtraFiles, g.temp.Lock)
	}
	cmd.Args = append([]string{supervisor, strconv.Itoa(first), strconv.Itoa(first + 1), cmd.Path}, cmd.Args...)
	cmd.Path = self
	return nil
}

// Kill ends the command and everything that it started. It does not wait for
// that: Wait of the exec.Cmd does.
func (g *Guard) Kill() error {
	g.kill.Do(func() {
		if g.lifeline != nil {
			g.lifeline.Close()
		}
	})
	return nil
}

// lastNotes is how long Release waits for notes of helpers that were killed
// themselves: what was written is there at once.
const lastNotes = time.Second

// Release frees what the command took, its private directories included. It
// kills what may still run.
func (g *Guard) Release() Report {
	g.Kill()
	for _, f := range g.theirs {
		f.Close()
	}
	g.theirs = nil
	var r Report
	if g.notes != nil {
		r.Abandoned = true
		_ = g.notes.SetReadDeadline(time.Now().Add(lastNotes))
		for d := json.NewDecoder(io.LimitReader(g.notes, 1<<20)); ; {
			var n note
			if d.Decode(&n) != nil {
				break
			}
			r.Leftovers = r.Leftovers || n.Leftovers
			r.Abandoned = r.Abandoned && !n.Ended
			if n.Refusal != nil {
				r.Refusals = append(r.Refusals, *n.Refusal)
			}
			if n.Failed != "" && r.Failed == nil {
				r.Failed = errors.New(n.Failed)
			}
		}
		g.notes.Close()
	}
	if g.temp != nil {
		g.temp.Remove()
		g.temp = nil
	}
	return r
}
