package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/google/renameio/v2/maybe"

	"mylm/cmd/mylm/internal/failure"
)

// Dir is where the configuration, the user's prompts and workflows are.
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

// DataDir is where mylm keeps what it writes of itself: by the XDG base
// directory specification, and its equivalents elsewhere.
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

// LastModelUsed is the model that answered last, "" if there is none.
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

// RememberModel keeps the name of the model that answered. Nothing depends on
// its success.
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

// ForgetModel drops a remembered model that is gone, so that the next run
// chooses anew.
func ForgetModel(name string) {
	if dir, err := DataDir(); err == nil && LastModelUsed() == name {
		_ = os.Remove(filepath.Join(dir, "last_model"))
	}
}

// IsMissing reports whether err says that a file does not exist, or cannot: a
// home of /dev/null is common for services.
func IsMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// CreateFile makes a file with all of text or none at all, and never replaces
// one: a link, unlike a rename, fails where there is a file.
func CreateFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".mylm-*") // 0600
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
