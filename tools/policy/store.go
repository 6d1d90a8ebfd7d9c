package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2/maybe"

	"mylm/tools/command"
)

// Stored is a prefix that somebody allowed in a project.
type Stored struct {
	Project string    `json:"project"` // its directory
	Prefix  []string  `json:"prefix"`
	Added   time.Time `json:"added"`
}

// Counts reports whether the prefix is one that is still offered: no other allows
// anything.
func (r Stored) Counts() bool { return command.Offered(r.Prefix) }

// Store keeps prefixes in a file that only its owner can read. Several processes
// may use it at once.
type Store struct {
	Path string // its directory is made when something is stored
}

// version is that of the file's form.
const version = 1

type content struct {
	Version int      `json:"version"`
	Allow   []Stored `json:"allow"`
}

// lockRetry is how often a lock is tried for that another process has: it has it
// for as long as a small file takes to write.
const lockRetry = 20 * time.Millisecond

// List returns what is stored, of all projects. Without a file that is nothing.
func (s Store) List() ([]Stored, error) {
	b, err := os.ReadFile(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the rules that you allowed cannot be read: %w", err)
	}
	var c content
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("%s is damaged (%v); delete it, and allow again what you are asked about", s.Path, err)
	}
	if c.Version != version {
		return nil, fmt.Errorf("%s is of version %d, and this program reads version %d; use the newer program or delete the file", s.Path, c.Version, version)
	}
	return c.Allow, nil
}

// Project returns the prefixes that are allowed in one project.
func (s Store) Project(project string) ([][]string, error) {
	all, err := s.List()
	var out [][]string
	for _, r := range all {
		if r.Project == project {
			out = append(out, r.Prefix)
		}
	}
	return out, err
}

// Add stores a rule: a prefix for a project. An existing one is not changed.
func (s Store) Add(ctx context.Context, project string, prefix []string) error {
	return s.change(ctx, func(rules []Stored) []Stored {
		for _, r := range rules {
			if r.Project == project && slices.Equal(r.Prefix, prefix) {
				return rules
			}
		}
		return append(rules, Stored{project, prefix, time.Now().UTC().Truncate(time.Second)})
	})
}

// Revoke removes the stored rules that revoked reports true for, and returns it.
func (s Store) Revoke(ctx context.Context, revoked func(Stored) bool) (gone []Stored, err error) {
	err = s.change(ctx, func(rules []Stored) []Stored {
		return slices.DeleteFunc(slices.Clone(rules), func(r Stored) bool {
			if !revoked(r) {
				return false
			}
			gone = append(gone, r)
			return true
		})
	})
	return gone, err
}

// change reads, changes and replaces the file under a lock.
func (s Store) change(ctx context.Context, change func([]Stored) []Stored) error {
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o700); err != nil {
		return fmt.Errorf("no directory for the rules that you allow: %w", err)
	}
	lock := flock.New(s.Path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return fmt.Errorf("the rules that you allow cannot be locked: %w", err)
	}
	defer lock.Close()
	rules, err := s.List()
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(content{version, change(rules)}, "", "  ")
	if err != nil {
		return err
	}
	if err := maybe.WriteFile(s.Path, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("the rules that you allow cannot be stored: %w", err)
	}
	return nil
}
