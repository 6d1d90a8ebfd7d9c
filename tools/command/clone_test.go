//go:build unix

package command_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mylm/tools/command"
)

// valid is what git demands of a repository.
var valid = map[string]string{".git/HEAD": "ref: refs/heads/x\n", ".git/objects/": "", ".git/refs/": ""}

// brought are files that a clone or an archive can hold, and what shells and git make of them. A name that ends in a
// slash is a directory, "-> target" a link, "|" a pipe.
var brought = map[string]struct {
	files     map[string]string // besides a valid repository
	line, why string            // "": it only reads
}{
	"bytes that count as letters":   {map[string]string{"aaa": "", "-oé": ""}, "sort aaa ????", "taken for a flag"},
	"a link of two bytes":           {map[string]string{"é": "-> /etc/hostname"}, "cat ??", "outside"},
	"nothing odd":                   {map[string]string{"sub/": ""}, "git -C sub status", ""},
	"a commit for a HEAD":           {map[string]string{".git/HEAD": strings.Repeat("a1", 20) + "\n"}, "git log", ""},
	"a branch with letters":         {map[string]string{".git/HEAD": "ref: refs/heads/größe/x-1.2\n"}, "git log", ""},
	"a repository by commondir":     {map[string]string{"sub/HEAD": "ref: refs/heads/x", "sub/commondir": "../evil"}, "git -C sub status", "without a work tree"},
	"an empty repository inside":    {map[string]string{"sub/.git/": "", ".git/config": evil}, "git -C sub status", "no repository that git would take"},
	"one without objects":           {map[string]string{"sub/.git/HEAD": "ref: refs/heads/x", "sub/.git/refs/": "", ".git/config": evil}, "cd sub && git status", "no repository that git would take"},
	"one without refs":              {map[string]string{"sub/.git/HEAD": "ref: refs/heads/x", "sub/.git/objects/": "", ".git/config": evil}, "cd sub && git status", "no repository that git would take"},
	"one whose objects are a file":  {map[string]string{"sub/.git/HEAD": "ref: refs/heads/x", "sub/.git/objects": "", "sub/.git/refs/": "", ".git/config": evil}, "cd sub && git status", "no repository that git would take"},
	"one whose HEAD is broken":      {map[string]string{"sub/.git/HEAD": "x", "sub/.git/objects/": "", "sub/.git/refs/": "", ".git/config": evil}, "cd sub && git status", "no repository that git would take"},
	"one whose HEAD is no branch":   {map[string]string{"sub/.git/HEAD": "ref: heads/x", "sub/.git/objects/": "", "sub/.git/refs/": "", ".git/config": evil}, "cd sub && git status", "no repository that git would take"},
	"one whose HEAD is a directory": {map[string]string{"sub/.git/HEAD/": "", "sub/.git/objects/": "", "sub/.git/refs/": "", ".git/config": evil}, "cd sub && git status", "no repository that git would take"},
	"objects of another":            {map[string]string{".git/objects/69": "-> /elsewhere/objects/69"}, "git log -p", ".git/objects/69"},
	"branches of another":           {map[string]string{".git/refs/heads": "-> /elsewhere/refs/heads"}, "git log -p", ".git/refs/heads"},
	"what git excludes by another":  {map[string]string{".git/info/exclude": "-> /elsewhere/exclude"}, "git status", ".git/info/exclude"},
}

const evil = "[core]\n\tfsmonitor = ./evil\n"

// TestWhatAnArchiveBrings: also in a workspace that ends where such a repository begins.
func TestWhatAnArchiveBrings(t *testing.T) {
	for name, tt := range brought {
		t.Run(name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			must(t, err)
			files := maps.Clone(valid)
			maps.Copy(files, tt.files)
			for path, text := range files {
				bring(t, filepath.Join(root, path), text, strings.HasSuffix(path, "/"))
			}
			asksFor(t, tt.line, tt.why, command.Place{Root: root, Dir: root})
			if _, err := os.Stat(filepath.Join(root, "sub", ".git")); err == nil { // also where the workspace ends there
				asksFor(t, "git status", tt.why, command.Place{Root: filepath.Join(root, "sub")})
			}
		})
	}
}

// bring makes one of the files.
func bring(t testing.TB, path, text string, dir bool) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	target, link := strings.CutPrefix(text, "-> ")
	switch {
	case dir:
		must(t, os.MkdirAll(path, 0o700))
	case link:
		must(t, os.Symlink(target, path))
	case text == "|":
		must(t, syscall.Mkfifo(path, 0o600))
	default:
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// asksFor checks the reason for which a line asks; without one it only reads.
func asksFor(t *testing.T, line, why string, at command.Place) {
	t.Helper()
	at.Env = []string{"PATH=/usr/bin:/bin"}
	if a := command.Analyse(line, at); a.OnlyReads != (why == "") || !strings.Contains(a.Why, why) {
		t.Errorf("%q in %s: only reads %v (%s), want %q", line, at.Root, a.OnlyReads, a.Why, why)
	}
}
