package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"

	"github.com/BurntSushi/toml"
	"github.com/google/renameio/v2/maybe"
	"github.com/urfave/cli/v2"
)

// ProjectFile is the name of a project's own settings. It comes with the
// project, perhaps from strangers, so it can only turn things off.
const ProjectFile = ".mylm.toml"

// ProjectOf is the project that a directory belongs to: the nearest one at or
// above it that holds .git, else the directory itself. Links are followed, so
// that a project has one name.
func ProjectOf(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// Where returns the workspace that the flags of a command name, and its project.
func Where(flags []cli.Flag) (dir, project string, err error) {
	if dir, err = workspace(Settings{typedFlags(flags)}); err != nil {
		return "", "", err
	}
	return dir, ProjectOf(dir), nil
}

// workspace is the directory to work in. One whose name is no text is refused:
// sessions, undo and stored approvals are filed by it, in JSON, where two such names
// would be the same.
func workspace(s Settings) (string, error) {
	dir, err := directory(s)
	if err == nil && !utf8.ValidString(dir) {
		return "", failure.Usage("the name of the directory %q is not valid UTF-8: sessions and approvals cannot be filed under it", dir).
			WithHint("Rename it (convmv does that for many), or work in another directory.")
	}
	return dir, err
}

// directory is the one that --workspace names, with links resolved as after a
// cd, else the current one.
func directory(s Settings) (string, error) {
	dir, named := Workspace.Lookup(s)
	if !named {
		here, err := os.Getwd()
		if errors.Is(err, fs.ErrPermission) {
			return "", failure.Usage("the working directory is closed to you: %w", err).WithHint("Go to a directory of yours, or name one: --workspace DIR")
		}
		if err != nil {
			return "", fmt.Errorf("the working directory is gone: %w", err)
		}
		return here, nil
	}
	bad := func(err error) error {
		return failure.Usage("--workspace %q: %v", term.Echoed(dir), err).WithHint("It must be a directory that is there.")
	}
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return "", bad(err)
	}
	if info, err := os.Stat(real); err == nil && !info.IsDir() {
		return "", bad(errors.New("not a directory"))
	}
	return real, nil
}

// ApplyProject applies the project's file to the settings.
func (c *Config) ApplyProject(ctx context.Context) error {
	l, err := term.Wait(ctx, func() (Layer, error) { return c.projectLayer() })
	if err != nil {
		return err
	}
	if l.Holds() {
		c.Settings = append(Settings{l}, c.Settings...)
	}
	if _, err := os.Lstat(filepath.Join(c.Project, MCPFile)); err != nil && len(c.askedMCP) == 0 {
		return nil
	}
	c.ProjectMCP, err = term.Wait(ctx, c.projectMCP)
	return err
}

// looseError is a setting in a project's file that would turn something on.
type looseError string

func (e looseError) Error() string { return string(e) }

// maxProjectFile bounds the file, in bytes; all settings need far less.
const maxProjectFile = 64 << 10

// projectLayer holds the settings that the project may set.
func (c *Config) projectLayer() (l Layer, err error) {
	l = Layer{From: Origin{Kind: Project}, values: values{}}
	path := filepath.Join(c.Project, ProjectFile)
	bad := func(err error) error {
		return failure.Config(fmt.Errorf("%s: %w", path, err)).WithHint("Fix the file or delete it: it is the project's, and can only turn things off, and ask or forbid more.")
	}
	held, servers, err := readProjectFile(path)
	if IsMissing(err) {
		return l, nil
	}
	if err != nil {
		return l, bad(err)
	}
	var loosens []string
	for _, s := range table {
		d := s.def()
		v, ok := held[d]
		if !ok {
			continue
		}
		var err error = looseError(d.Key)
		if d.forProjects {
			v, err = s.tighten(c.Settings, v)
		}
		var loose looseError
		switch {
		case errors.As(err, &loose):
			loosens = append(loosens, string(loose))
		case err != nil:
			return l, bad(err)
		default:
			l.values[d] = v
		}
	}
	if slices.Sort(loosens); len(loosens) > 0 {
		return l, bad(fmt.Errorf("%s: a project can turn things off, not on", strings.Join(loosens, ", ")))
	}
	c.asked, c.askedMCP = held, servers
	return l, nil
}

// readProjectFile returns the content of the file, not yet applied.
func readProjectFile(path string) (values, map[string]MCP, error) {
	text, err := readBounded(path)
	if err != nil {
		return nil, nil, err
	}
	var top map[string]toml.Primitive
	meta, err := toml.Decode(string(text), &top)
	if err != nil {
		return nil, nil, err
	}
	d := decoder{meta}
	servers, err := d.mcpTables(top, mcpOfProjects)
	delete(top, "mcp")
	var held values
	if err == nil {
		held, err = d.settings(top, nil, true)
	}
	var unknown *unknownKey
	if errors.As(err, &unknown) {
		return nil, nil, notForProjects(unknown.key)
	}
	if err != nil {
		return nil, nil, err
	}
	return held, servers, checkAll(held, key)
}

// readBounded reads a file of a project, which must be a regular one.
func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return nil, err
	}
	return readAtMost(path, maxProjectFile)
}

var errTooLong = errors.New("it has more")

// readAtMost reads a file; one of more bytes is an error, since what would be cut off
// might turn something off.
func readAtMost(path string, most int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err != nil {
		return nil, err
	}
	if len(text) > most {
		return nil, fmt.Errorf("%w than %d bytes", errTooLong, most)
	}
	return text, nil
}

func notForProjects(name string) error {
	var can []string
	for _, s := range table {
		if d := s.def(); d.forProjects {
			can = append(can, d.Key)
		}
	}
	return fmt.Errorf("there is no setting %q; a project can set: %s, [mcp.NAME] (with %s)", term.Echoed(name), strings.Join(can, ", "), strings.Join(mcpOfProjects, ", "))
}

// Asked is the value of a setting in the project's file, and whether it has
// one; what counts may be stricter.
func Asked[T any](c *Config, r *Row[T]) (v T, ok bool) {
	held, ok := c.asked[&r.Def]
	if ok {
		v = held.(T)
	}
	return v, ok
}

// Dir is the directory of the configuration, the user's prompts and workflows.
func Dir() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", failure.Config(fmt.Errorf("no directory for the configuration: %w", err)).WithHint("Set HOME, or MYLM_CONFIG to the path of the file.")
	}
	return filepath.Join(dir, "mylm"), nil
}

// Path is where the configuration file is, or would be.
func Path() (string, error) {
	if path := os.Getenv("MYLM_CONFIG"); path != "" {
		return path, nil
	}
	dir, err := Dir()
	return filepath.Join(dir, "config.toml"), err
}

// DataDir is the directory of mylm's own data, by the XDG base directory
// specification or its equivalents elsewhere.
func DataDir() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mylm"), nil
	}
	switch runtime.GOOS {
	case "windows", "darwin":
		dir, err := os.UserConfigDir()
		return filepath.Join(dir, "mylm", "data"), err
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "share", "mylm"), err
}

// OwnDirs are the directories of the configuration and the data, as far as there
// are any.
func OwnDirs() (dirs []string) {
	for _, dir := range []func() (string, error){Dir, DataDir} {
		if path, err := dir(); err == nil && filepath.IsAbs(path) {
			dirs = append(dirs, path)
		}
	}
	return dirs
}

// LastModelUsed is the model that answered last, or "".
func LastModelUsed() string {
	dir, err := DataDir()
	if err != nil {
		return ""
	}
	b, err := os.ReadFile(filepath.Join(dir, "last_model"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// RememberModel records the name of the model that answered. It may fail silently.
func RememberModel(name string) {
	if LastModelUsed() == name {
		return
	}
	dir, err := DataDir()
	if err != nil || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	_ = maybe.WriteFile(filepath.Join(dir, "last_model"), []byte(name+"\n"), 0o600)
}

// ForgetModel drops a recorded model that no longer exists, so that the next run
// chooses another.
func ForgetModel(name string) {
	if dir, err := DataDir(); err == nil && LastModelUsed() == name {
		_ = os.Remove(filepath.Join(dir, "last_model"))
	}
}

// IsMissing reports whether err means that a file does not exist, also because a
// parent is no directory: services often have the home /dev/null.
func IsMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// TempBeside creates a file in the directory of path, which it is to be renamed to, for its owner
// only. An error names path.
func TempBeside(path string) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".mylm-*")
	var at *fs.PathError
	if errors.As(err, &at) {
		at.Op, at.Path = "create", path
	}
	return f, err
}

// CreateFile creates a file with all of text or not at all, and never replaces
// one: a link, unlike a rename, fails if the file exists.
func CreateFile(path, text string) error {
	f, err := TempBeside(path)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = io.WriteString(f, text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Link(f.Name(), path); err == nil || errors.Is(err, os.ErrExist) {
		return err
	}
	// A file system without links: one that appears between the two is lost.
	if _, err := os.Lstat(path); err == nil {
		return os.ErrExist
	}
	return os.Rename(f.Name(), path)
}
