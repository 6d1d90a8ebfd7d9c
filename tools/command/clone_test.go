//go:build unix

package command_test

import (
	"os"
	"path/filepath"
	"testing"

	"mylm/tools/command"
)

// TestWhatAnArchiveBrings: files that a clone or an archive can hold, and what
// shells and git make of them.
func TestWhatAnArchiveBrings(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string // a text, or "-> target"
		line  string
	}{
		"bytes that count as letters":  {map[string]string{"aaa": "", "-oé": ""}, "sort aaa ????"},
		"a link of two bytes":          {map[string]string{"é": "-> /etc/hostname"}, "cat ??"},
		"a repository by commondir":    {map[string]string{".git/HEAD": "x", "sub/HEAD": "ref: refs/heads/x", "sub/commondir": "../evil"}, "git -C sub status"},
		"objects of another":           {map[string]string{".git/HEAD": "x", ".git/objects/69": "-> /elsewhere/objects/69"}, "git log -p"},
		"branches of another":          {map[string]string{".git/HEAD": "x", ".git/refs/heads": "-> /elsewhere/refs/heads"}, "git log -p"},
		"what git excludes by another": {map[string]string{".git/HEAD": "x", ".git/info/exclude": "-> /elsewhere/exclude"}, "git status"},
	} {
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for path, text := range tt.files {
			path = filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if len(text) > 3 && text[:3] == "-> " {
				err = os.Symlink(text[3:], path)
			} else {
				err = os.WriteFile(path, []byte(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		a := command.Analyse(tt.line, command.Place{Root: root, Dir: root, Env: []string{"PATH=/usr/bin:/bin"}})
		if a.OnlyReads {
			t.Errorf("%s: %q only reads", name, tt.line)
		}
	}
}
