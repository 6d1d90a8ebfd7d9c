package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/policy"

	"github.com/BurntSushi/toml"
	"github.com/urfave/cli/v2"
)

// projectFile is what a project says about itself. It comes with the project,
// perhaps from strangers, so it can only turn things off.
const projectFile = ".mylm.toml"

// projectOf is the project that a directory belongs to: the nearest one at or
// above it that holds .git, else the directory itself. Links are followed, so
// that a project has one name.
func projectOf(dir string) string {
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

// currentProject is the project of the working directory.
func currentProject() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("the working directory is gone: %w", err)
	}
	return projectOf(dir), nil
}

func workspaceFlag() cli.Flag {
	return &cli.StringFlag{Name: "workspace", Usage: "work in `DIRECTORY`, as if mylm had been started there: every relative path means one below it", DefaultText: "the current one"}
}

// enterWorkspace makes the directory that --workspace names the working one.
func enterWorkspace(c *cli.Context) error {
	dir := c.String("workspace")
	if !c.IsSet("workspace") {
		return nil
	}
	if err := os.Chdir(dir); err != nil {
		return failure.Usage("--workspace %q: %v", term.Echoed(dir), errors.Unwrap(err)).WithHint("It must be a directory that is there.")
	}
	return nil
}

// restrictions are what a project turns off.
type restrictions struct {
	Memory *bool `toml:"memory"`
	Save   *bool `toml:"save"`

	Confirm *string     `toml:"confirm"`
	Policy  denials     `toml:"policy"`
	Sandbox confinement `toml:"sandbox"`
}

// maxProjectFile is far more than all that can be said.
const maxProjectFile = 64 << 10

// loadRestrictions reads the project's file; without one nothing is turned off.
func loadRestrictions(project string) (r restrictions, err error) {
	path := filepath.Join(project, projectFile)
	bad := func(err error) error {
		return failure.Config(fmt.Errorf("%s: %w", path, err)).WithHint("Mend the file or delete it: it is the project's, and can only turn things off, and ask or forbid more.")
	}
	info, err := os.Stat(path)
	if isMissing(err) {
		return r, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file")
	}
	if err != nil {
		return r, bad(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return r, bad(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxProjectFile+1))
	if err == nil && len(text) > maxProjectFile { // what is cut off might turn something off
		err = fmt.Errorf("it has more than %d bytes", maxProjectFile)
	}
	if err != nil {
		return r, bad(err)
	}
	meta, err := toml.Decode(string(text), &r)
	if err != nil {
		return r, bad(err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return r, bad(fmt.Errorf("there is no setting %q; a project can set: memory, save, confirm, policy.deny, sandbox.mode, sandbox.allow_net", term.Echoed(unknown[0].String())))
	}
	if err := errors.Join(checkConfirm(r.Confirm), r.Policy.check()); err != nil {
		return r, bad(err)
	}
	if value(r.Confirm) == string(policy.Yolo) {
		return r, bad(errors.New(`confirm = "yolo": a project can ask for more questions, not for fewer`))
	}
	if err := r.Sandbox.check(); err != nil {
		return r, bad(err)
	}
	on := r.Sandbox.loosens()
	for name, set := range map[string]*bool{"memory": r.Memory, "save": r.Save} {
		if value(set) {
			on = append(on, name+" = true")
		}
	}
	if slices.Sort(on); len(on) > 0 {
		return r, bad(fmt.Errorf("%s: a project can turn things off, not on", strings.Join(on, ", ")))
	}
	return r, nil
}
