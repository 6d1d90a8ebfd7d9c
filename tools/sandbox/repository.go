package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// repositoryParts are what git reads to show the content and history of a repository.
// Its configuration is checked first. The rest stays closed: hooks, and logs
// that say where it was fetched from.
var repositoryParts = []string{"HEAD", "refs", "objects", "packed-refs", "index", "info", "shallow"}

// repository is what commands need of the repository of a project, beside the
// workspace, so that git can look into it. Writes is what belongs to this
// working tree alone.
//
// A repository that lies directly in the home directory is that of its
// settings, and stays closed.
func repository(project, workspace, home string) (reads, writes []string) {
	at := filepath.Join(project, ".git")
	info, err := os.Lstat(at)
	if err != nil || holdsHome(project, home) {
		return nil, nil
	}
	switch {
	case info.IsDir() && project == workspace:
		return nil, nil // it is in the workspace
	case info.IsDir():
		return openParts(at), nil
	case !info.Mode().IsRegular():
		return nil, nil
	}
	dir, ok := pointedTo(at, "gitdir:")
	if !ok {
		return nil, nil
	}
	common, own := filepath.Dir(filepath.Dir(dir)), filepath.Base(filepath.Dir(dir)) == "worktrees"
	if !own { // a submodule, whose directory is kept in that of the whole
		if !leadsTo(filepath.Join(dir, "config"), project) || holdsHome(dir, home) {
			return nil, nil
		}
		return withPointer(at, openParts(dir)), nil
	}
	// A command can write to the pointer in the workspace. So its target has to
	// point back, which only somebody with write access there can arrange. The
	// files in this working tree's directory do not count for the repository:
	// commands can write to them.
	back, ok1 := pointedTo(filepath.Join(dir, "gitdir"), "")
	says, ok2 := pointedTo(filepath.Join(dir, "commondir"), "")
	if real, err := filepath.EvalSymlinks(at); err != nil || !ok1 || !ok2 || back != real || says != common || holdsHome(filepath.Dir(common), home) {
		return nil, nil
	}
	if reads = withPointer(at, openParts(common)); reads == nil {
		return nil, nil
	}
	if project != workspace {
		return append(reads, dir), nil
	}
	return reads, []string{dir}
}

func withPointer(at string, parts []string) []string {
	if parts == nil {
		return nil
	}
	return append(parts, at)
}

// holdsHome reports whether the home directory is dir or lies below it.
func holdsHome(dir, home string) bool {
	return home != "" && Within(Real(home), dir)
}

// maxPointer is more than the longest path.
const maxPointer = 8 << 10

// pointedTo reads a file that holds nothing but a path, and follows it.
func pointedTo(file, prefix string) (path string, ok bool) {
	text, err := readSmall(file, maxPointer)
	if err != nil {
		return "", false
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(string(text)), prefix)
	path = strings.TrimSpace(rest)
	if !ok || path == "" {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	path, err = filepath.EvalSymlinks(path)
	return path, err == nil
}

// leadsTo reports whether the configuration of a submodule states that it is checked out there.
func leadsTo(config, project string) bool {
	text, err := readSmall(config, maxRepositoryConfig)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		name, path, _ := strings.Cut(line, "=")
		if strings.TrimSpace(name) != "worktree" {
			continue
		}
		path = strings.TrimSpace(path)
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(config), path)
		}
		real, err := filepath.EvalSymlinks(path)
		return err == nil && real == project
	}
	return false
}

// openParts are the parts of a repository's directory that may be read, none if
// its configuration may hold a secret: without that git does not work.
func openParts(dir string) (parts []string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	for _, name := range []string{"config", "config.worktree"} {
		text, err := readSmall(filepath.Join(dir, name), maxRepositoryConfig)
		switch {
		case errors.Is(err, fs.ErrNotExist) && name != "config":
		case err != nil || !harmless(text):
			return nil
		default:
			parts = append(parts, filepath.Join(dir, name))
		}
	}
	for _, name := range repositoryParts {
		path := filepath.Join(dir, name)
		if target, err := filepath.EvalSymlinks(path); err == nil && Within(target, real) {
			parts = append(parts, path)
		}
	}
	return parts
}

// maxRepositoryConfig is far more than any has.
const maxRepositoryConfig = 1 << 20

// readSmall reads a regular file that is not a link, nor longer than expected.
func readSmall(path string, most int64) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	return readRegular(path, info, most)
}

// readRegular reads a file if it is a regular one that is not longer than expected.
func readRegular(path string, info fs.FileInfo, most int64) ([]byte, error) {
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, os.ErrInvalid
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// plainSections are those of a repository's configuration whose settings are no
// secrets, if no URL in them holds one. Headers, credentials, rewritten URLs and
// aliases are in others.
var plainSections = []string{"core", "remote", "branch", "user", "init", "extensions", "submodule", "pull", "push", "merge", "rebase", "diff", "color", "log", "gc", "lfs"}

// harmless reports whether a repository's configuration certainly holds no secret.
func harmless(config []byte) bool {
	known := false
	for s := bufio.NewScanner(bytes.NewReader(config)); ; {
		if !s.Scan() {
			return s.Err() == nil
		}
		line := strings.ToLower(strings.TrimSpace(s.Text()))
		if rest, ok := strings.CutPrefix(line, "["); ok {
			end := strings.IndexAny(rest, " \t]\".")
			known = end >= 0 && slices.Contains(plainSections, rest[:end])
		}
		comment := line == "" || line[0] == '#' || line[0] == ';'
		if !comment && !known || suspicious(line) {
			return false
		}
	}
}

// suspicious reports whether a line may hold a secret: a URL with a name or
// parameters, or a command that logs in.
func suspicious(line string) bool {
	for _, word := range []string{"password", "passwd", "passphrase", "token", "secret", "sshcommand", "askpass", "sshpass"} {
		if strings.Contains(line, word) {
			return true
		}
	}
	for rest := line; ; {
		before, after, ok := strings.Cut(rest, "://")
		if !ok {
			return false
		}
		host := after
		if i := strings.IndexAny(after, "/ \t"); i >= 0 {
			host = after[:i]
		}
		name, _, named := strings.Cut(host, "@")
		ssh := strings.HasSuffix(before, "ssh") // whose passwords are no part of a URL
		if named && (!ssh || strings.Contains(name, ":")) || strings.Contains(after, "?") {
			return true
		}
		rest = after
	}
}
