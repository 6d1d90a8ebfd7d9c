package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2/maybe"
)

// Pins keeps the definitions that a user has agreed to, a file per server. Its
// zero value keeps nothing.
type Pins struct {
	Dir string // made if need be
}

// pinned is the content of a file.
type pinned struct {
	Server string       `json:"server"`
	Place  string       `json:"place"` // for a person who looks at it
	Tools  []Definition `json:"tools"`
	abilities
}

func (p Pins) path(s *Server) string {
	return filepath.Join(p.Dir, s.Name+"-"+s.identity()+".json")
}

// load returns the pinned definitions, nil if there are none.
func (p Pins) load(s *Server) (all []Definition, able abilities, err error) {
	if p.Dir == "" {
		return nil, able, nil
	}
	text, err := os.ReadFile(p.path(s))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, able, nil
	}
	var in pinned
	if err == nil {
		err = json.Unmarshal(text, &in)
	}
	if err != nil {
		return nil, able, fmt.Errorf("the agreed definitions of %s cannot be read: %w", s.Name, err)
	}
	if in.Tools == nil {
		in.Tools = []Definition{}
	}
	return in.Tools, in.abilities, nil
}

func (p Pins) store(s *Server, all []Definition, able abilities) error {
	if p.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return err
	}
	place := s.URL
	if place == "" {
		place = s.Command[0] // arguments may hold a secret
	}
	text, err := json.Marshal(pinned{s.Name, place, all, able}) // not indented: hashes are of the bytes
	if err != nil {
		return err
	}
	return maybe.WriteFile(p.path(s), append(text, '\n'), 0o600)
}

// Forget drops what was agreed to with the servers of a name.
func (p Pins) Forget(name string) error {
	files, err := filesOf(p.Dir, name)
	if err != nil {
		return err
	}
	_, err = removeAll(files)
	return err
}

// filesOf are the files of the servers of a name, whatever their addresses are.
func filesOf(dir, name string) (files []string, err error) {
	if dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), name+"-"); ok && len(rest) == identityLen+len(".json") && strings.HasSuffix(rest, ".json") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}

// removeAll removes files, and reports whether there were any.
func removeAll(files []string) (existed bool, err error) {
	for _, path := range files {
		if err := os.Remove(path); err == nil {
			existed = true
		} else if !errors.Is(err, fs.ErrNotExist) {
			return existed, err
		}
	}
	return existed, nil
}
