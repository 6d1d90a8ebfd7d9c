package sandbox

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Profile is what a user chooses, and the directories of this machine that the
// rest follows from. All paths are absolute; those of Reads may begin with ~/.
type Profile struct {
	Mode      Mode
	AllowNet  bool
	Reads     []string // readable beside toolchains; ~ is Home
	Env       []string // see Policy
	Workspace string
	Project   string   // the directory that holds .git, without links; Workspace lies in it
	Home      string   // "" where there is none: nothing needs to be closed
	Closed    []string // see Policy
	Cache     string   // below it are the private directories of workspaces; "" is none

	// Secrets are the SecretEnv and the Secrets of the Policy; nil: there are none.
	Secrets func() (variables, values []string)

	// Getenv names the toolchains: PATH, GOROOT, GOPATH, VIRTUAL_ENV and the like.
	Getenv func(string) string
}

// Policy is the policy of the profile: it opens the toolchains, and what git
// reads of the project's repository.
func (p Profile) Policy() *Policy {
	policy := &Policy{Mode: p.Mode, Workspace: p.Workspace, AllowNet: p.AllowNet, Env: p.Env, Closed: p.Closed, Further: sync.OnceValue(p.further)}
	if p.Mode == Off {
		return policy
	}
	policy.Home = p.Home
	if p.Cache != "" {
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(p.Workspace)))
		policy.Private = filepath.Join(p.Cache, filepath.Base(p.Workspace)+"-"+sum[:12])
	}
	return policy
}

// further finds the secrets, the toolchains and the repository, which takes hundreds
// of looks at the file system.
func (p Profile) further() (f Further) {
	if p.Secrets != nil {
		f.SecretEnv, f.Secrets = p.Secrets()
	}
	if p.Mode == Off {
		return f
	}
	workspace := Real(p.Workspace) // as projects are named
	f.Reads = toolchains(p.Home, workspace, p.Getenv)
	for _, path := range p.Reads {
		if rest, ok := strings.CutPrefix(path, "~"); ok {
			path = p.Home + rest
		}
		f.Reads = append(f.Reads, path)
	}
	reads, writes := repository(p.Project, workspace, p.Home)
	f.Reads, f.Writes = append(f.Reads, reads...), writes
	return f
}

// toolchainDirs are where programs of common toolchains and the modules that they
// fetched are kept, below the home directory. None of them holds a secret:
// those lie beside them.
var toolchainDirs = []string{
	"go/pkg/mod", "go/bin", "sdk", ".cargo/registry", ".cargo/git", ".cargo/bin", ".rustup/toolchains", ".rustup/settings.toml",
	".npm/_cacache", ".nvm/versions", ".local/share/fnm", ".local/share/pnpm", ".volta/tools", ".volta/bin",
	".pyenv", ".rbenv", ".local/bin", ".local/lib", ".local/share/uv/python", ".local/share/uv/tools", ".local/share/virtualenvs", ".cache/pypoetry/virtualenvs",
	".local/share/mise/installs", ".asdf/installs", ".sdkman/candidates", ".cache/pip", ".cache/uv", ".m2/repository",
}

// condas are roots of Conda. Beside the parts of any toolchain they hold
// environments, and beside those settings that may name a password.
var (
	condas     = []string{"miniconda3", "miniforge3", "anaconda3"}
	condaParts = append([]string{"envs", "conda-meta", "condabin", "share", "ssl"}, parts...)
)

// parts are where a toolchain keeps programs and libraries, below its root. The
// root is not opened: it may be ~/.local, where keyrings are.
var parts = []string{"bin", "sbin", "lib", "lib64", "libexec", "include"}

// toolVariables name directories of toolchains that are elsewhere.
var toolVariables = []string{"GOROOT", "GOMODCACHE", "VIRTUAL_ENV", "JAVA_HOME"}

// toolchainFinder collects what toolchains there are. All of it is only read.
type toolchainFinder struct {
	home, workspace string // without links
	paths           []string
}

// toolchains are the directories that programs and their libraries lie in, which the
// strict sandbox lets a command read.
func toolchains(home, workspace string, getenv func(string) string) []string {
	f := &toolchainFinder{home: Real(home), workspace: Real(workspace)}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		f.programs(dir)
	}
	for _, name := range toolVariables {
		f.add(getenv(name))
	}
	for _, dir := range filepath.SplitList(getenv("GOPATH")) {
		f.below(dir, "pkg/mod")
	}
	f.below(getenv("CONDA_PREFIX"), condaParts...)
	f.python(getenv("VIRTUAL_ENV"))
	if workspace != "" {
		f.python(filepath.Join(workspace, ".venv"))
		f.python(filepath.Join(workspace, "venv"))
	}
	if home != "" {
		f.below(home, toolchainDirs...)
		for _, conda := range condas {
			f.below(filepath.Join(home, conda), condaParts...)
		}
	}
	return f.paths
}

// Real is a path with its links followed, or the path itself if that fails.
func Real(path string) string {
	if real, err := filepath.EvalSymlinks(path); path != "" && err == nil {
		return real
	}
	return path
}

// add takes a directory, unless it is no place for a toolchain: one that holds
// the home directory.
func (f *toolchainFinder) add(dir string) {
	if filepath.IsAbs(dir) && !holdsHome(Real(dir), f.home) {
		f.paths = append(f.paths, filepath.Clean(dir))
	}
}

func (f *toolchainFinder) below(root string, names ...string) {
	for _, name := range names {
		if root != "" {
			f.add(filepath.Join(root, name))
		}
	}
}

// inHome reports whether a path, without links, lies in the home directory, but
// not in the workspace, which is open, and whose content is not trusted.
func (f *toolchainFinder) inHome(path string) bool {
	return f.home != "" && path != f.home && Within(path, f.home) && !Within(path, f.workspace)
}

// programs takes a directory of PATH with its libraries, and what its links
// lead to.
func (f *toolchainFinder) programs(dir string) {
	real := Real(dir)
	if !filepath.IsAbs(dir) || !f.inHome(real) {
		return // of the system, which is open, or of the workspace
	}
	f.add(dir)
	f.toolchainOf(filepath.Join(real, "program"))
	entries, err := os.ReadDir(real)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			continue
		}
		target, err := filepath.EvalSymlinks(filepath.Join(real, e.Name()))
		if err != nil || !f.inHome(target) || Within(target, real) {
			continue
		}
		if info, err := os.Stat(target); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		f.add(target)
		f.toolchainOf(target)
	}
}

// toolchainOf takes the parts of the toolchain that a program lies in, if it
// lies in one.
func (f *toolchainFinder) toolchainOf(program string) {
	root := filepath.Dir(filepath.Dir(program))
	if filepath.Base(filepath.Dir(program)) == "bin" && f.inHome(root) {
		f.below(root, parts...)
	}
}

// python takes the installation that a virtual environment is made from. The
// environment may have come with the workspace, so that only a certain installation
// of Python counts.
func (f *toolchainFinder) python(environment string) {
	if environment == "" {
		return
	}
	target, err := filepath.EvalSymlinks(filepath.Join(environment, "bin", "python"))
	if err != nil || !f.inHome(target) || !strings.HasPrefix(filepath.Base(target), "py") {
		return
	}
	root := filepath.Dir(filepath.Dir(target))
	standard, _ := filepath.Glob(filepath.Join(root, "lib", "py*", "os.py"))
	if len(standard) > 0 {
		f.toolchainOf(target)
	}
}
