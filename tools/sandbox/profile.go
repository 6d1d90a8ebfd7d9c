package sandbox

import (
	"crypto/sha256"
	"fmt"
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
	workspace := resolved(p.Workspace) // as projects are named
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
