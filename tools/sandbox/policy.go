package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Mode is how much a command may do.
type Mode string

// The modes, strictest first. The zero Mode is Workspace.
const (
	ReadOnly  Mode = "read-only" // it can write only to its private directories
	Workspace Mode = "workspace" // it can write to the workspace too
	Off       Mode = "off"       // it can do what this process can, but nothing of it survives
)

// Modes are all modes, strictest first.
func Modes() []Mode { return []Mode{ReadOnly, Workspace, Off} }

// Stricter is the stricter one of two modes.
func Stricter(a, b Mode) Mode {
	modes := Modes()
	return modes[min(slices.Index(modes, a.orDefault()), slices.Index(modes, b.orDefault()))]
}

func (m Mode) orDefault() Mode {
	if m == "" {
		return Workspace
	}
	return m
}

// Policy describes what a command may do. All paths are absolute. A Policy may
// be used for many commands at once.
type Policy struct {
	Mode Mode

	// Workspace is the directory that the command works in. It cannot be, or
	// hold, the home directory.
	Workspace string

	// Home is the user's home directory. It is closed, but for what Workspace
	// and Reads name in it.
	Home string

	// Reads are files and directories that may be read and executed from, such
	// as toolchains and caches of modules. Those that do not exist are ignored.
	// What lies below Home is found at the same place below the command's own
	// home.
	Reads []string

	// Writes are directories that may be written to as the workspace may be, and
	// in the mode ReadOnly read. Those that do not exist are ignored.
	Writes []string

	// Further names more of what the policy is made of. It is called when a command
	// is checked or started, so that finding it costs nothing where none is; nil:
	// there is no more.
	Further func() Further

	// Private is a directory that is the command's home, and is kept: it is
	// made if need be. It must not serve anything outside the sandbox. Without
	// one, or if it cannot be made, every command gets an empty home, which is
	// removed after it.
	Private string

	// AllowNet allows IPv4 and IPv6 sockets. Raw and UNIX sockets stay closed.
	AllowNet bool

	// MaxMemory is how many bytes of its own each process may have; files that
	// it maps do not count. 0 means no limit. It holds in every mode.
	MaxMemory uint64

	// Env are names of environment variables that are passed on although they
	// look like secrets; see Environ. Not with Strict.
	Env []string

	// Secrets are values that no command gets, in any mode, and SecretEnv names of
	// variables: see Environ.
	Secrets, SecretEnv []string

	// Closed are directories, such as those of the program's own settings, with
	// which the workspace must not overlap.
	Closed []string

	// Watch puts into the Report what a command that is not Strict is refused: sockets,
	// signals, and files that it opens, changes or starts. Each such call takes about 20
	// microseconds longer, and a signal may interrupt one that it would not have. On a
	// kernel that does not report system calls it does nothing.
	Watch bool

	// Strict is for a command that runs without a question. It reads nothing
	// but the workspace, the system's programs and libraries, Reads, and what
	// belongs to itself below /proc, and no file of the workspace that looks
	// like a key unless Reads names it. It executes nothing of the workspace
	// and changes no mode, owner or times. Its environment is a short list of
	// harmless variables, its home is empty, and its processes, memory and
	// temporary space are bounded. What it is refused is in the Report.
	//
	// The mode, AllowNet, AllowExec, AllowMetadata and Reads widen it by just
	// that. It does nothing with the mode Off.
	Strict        bool
	AllowExec     bool // execute files of the workspace and of the temporary space
	AllowMetadata bool // change modes, owners, times and attributes, and make links, wherever the file's owner may
}

// Further is added to the fields of a Policy that have its names.
type Further struct{ Reads, Writes, Secrets, SecretEnv []string }

// Resolved is the policy with what Further names in it.
func (p Policy) Resolved() Policy {
	if p.Further != nil {
		f := p.Further()
		p.Reads, p.Writes = slices.Concat(p.Reads, f.Reads), slices.Concat(p.Writes, f.Writes)
		p.Secrets, p.SecretEnv = slices.Concat(p.Secrets, f.Secrets), slices.Concat(p.SecretEnv, f.SecretEnv)
		p.Further = nil
	}
	return p
}

// strict reports whether the tighter rules hold.
func (p Policy) strict() bool { return p.Strict && p.confines() }

// confines reports whether there are rules to apply.
func (p Policy) confines() bool { return p.Mode.orDefault() != Off }

// check finds what cannot be meant, on any system.
func (p Policy) check() error {
	if !slices.Contains(Modes(), p.Mode.orDefault()) {
		return fmt.Errorf("there is no sandbox %q; there are: read-only, workspace, off", p.Mode)
	}
	if !p.confines() {
		return nil
	}
	if !filepath.IsAbs(p.Workspace) {
		return fmt.Errorf("the workspace %q of the sandbox is not an absolute path", p.Workspace)
	}
	workspace, err := filepath.EvalSymlinks(p.Workspace)
	if err != nil {
		return fmt.Errorf("the workspace of the sandbox cannot be used: %w", err)
	}
	if info, err := os.Stat(workspace); err == nil && !info.IsDir() {
		return fmt.Errorf("the workspace %s of the sandbox is not a directory", p.Workspace)
	}
	home := Real(p.Home)
	holds := func(dir string) bool { return dir != "" && Within(Real(dir), workspace) }
	if workspace == string(filepath.Separator) || holds(home) || holds(databaseHome()) {
		return fmt.Errorf("the workspace %s holds your home directory or the whole system, so that a sandbox would protect nothing; change to the directory of a project", p.Workspace)
	}
	for _, dir := range p.Closed {
		if holds(dir) || Within(workspace, Real(dir)) {
			return fmt.Errorf("the workspace %s and %s overlap, where this program keeps what is its own; change to the directory of a project", p.Workspace, dir)
		}
	}
	p = p.Resolved()
	for _, path := range slices.Concat(p.Reads, p.Writes, []string{p.Private}) {
		if err := CheckOpen(path, p.Home); path != "" && err != nil {
			return err
		}
	}
	for _, name := range p.Env {
		if err := CheckEnv(name); err != nil {
			return err
		}
	}
	return nil
}

// CheckOpen reports why a policy cannot open a path to commands: it is not
// absolute, or holds the home directory or the whole system.
func CheckOpen(path, home string) error {
	switch real := Real(path); {
	case !filepath.IsAbs(path):
		return fmt.Errorf("%q in the sandbox's policy is not an absolute path", path)
	case filepath.Dir(real) == real:
		return fmt.Errorf("%q in the sandbox's policy is the whole system; name what is needed in it", path)
	case home != "" && Within(Real(home), real):
		return fmt.Errorf("%q in the sandbox's policy holds your home directory, which stays closed; name what is needed in it", path)
	}
	return nil
}

var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// CheckEnv reports why a policy cannot pass on a variable: it is not the name of one.
func CheckEnv(name string) error {
	if !variableName().MatchString(name) {
		return fmt.Errorf("%q in the sandbox's policy is not the name of an environment variable", name)
	}
	return nil
}

// databaseHome is the home directory that the system has for the user, whatever
// the environment says; "" if it has none.
var databaseHome = sync.OnceValue(func() string {
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil || !filepath.IsAbs(u.HomeDir) {
		return ""
	}
	return u.HomeDir
})

// Within reports whether path is dir or is below it, by their names alone:
// links are not followed.
func Within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Report is how a command ended.
type Report struct {
	// Failed is why the command was not started, nil if it was. Then the exit
	// code of the exec.Cmd means nothing.
	Failed error

	// Abandoned means that the supervisor ended before the command, or that the
	// command was not started: what it started may still run.
	Abandoned bool

	// Leftovers means that processes outlived the command and were killed.
	Leftovers bool

	// Refusals are what a Strict command, or one that is watched, was refused, each once, in the order in
	// which it was tried, at most MaxRefusals; of any command, the limit that it
	// was killed for.
	Refusals []Refusal
}

// MaxRefusals is how many refusals a Report holds at most.
const MaxRefusals = 50

var errNoMain = errors.New("this program does not call sandbox.Main first in its main function, so it cannot supervise commands")

// Kind is what a Refusal is about.
type Kind string

// The kinds of refusals.
const (
	Write    Kind = "write"    // creating, changing, renaming or removing a file
	Read     Kind = "read"     // reading a file or directory
	Secret   Kind = "secret"   // reading a file of the workspace that looks like a key
	Execute  Kind = "execute"  // starting a program that is not the system's
	Network  Kind = "network"  // a socket
	Signal   Kind = "signal"   // a signal to a process outside
	Metadata Kind = "metadata" // mode, owner, times, attributes or another name of a file
	System   Kind = "system"   // a system call without a use for a command in a workspace
	Limit    Kind = "limit"    // memory, processes or temporary space: the command was killed
)

// Refusal is something that a command tried to do and that its policy does not
// allow. A refusal that the command ignored is one as well.
type Refusal struct {
	Kind    Kind
	Path    string // of Write, Read, Secret, Execute and Metadata: absolute, links resolved; "" if it cannot be known
	Address string // of Network: the kind of socket, or its address
	Detail  string // of Signal, Metadata, System and Limit: what was tried, or the limit
	Program string // that tried it: the kernel's name of the process, which it may have chosen itself
}

// String names the refusal for a person: "write /src/shop/a (by sed)".
func (r Refusal) String() string {
	words := []string{string(r.Kind)}
	for _, w := range []string{r.Detail, cmp.Or(r.Path, r.Address)} {
		if w != "" {
			if strings.ContainsFunc(w, func(c rune) bool { return !unicode.IsPrint(c) }) {
				w = strconv.Quote(w)
			}
			words = append(words, w)
		}
	}
	if r.Program != "" {
		words = append(words, "(by "+r.Program+")")
	}
	return strings.Join(words, " ")
}
