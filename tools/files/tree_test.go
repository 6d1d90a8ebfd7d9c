package files_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mylm/tools/files"
)

// plant makes files, and directories where a name ends in a slash.
func plant(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(root, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTree(t *testing.T) {
	root := t.TempDir()
	plant(t, root, ".git/config", "b/deep/er/x.go", "b/y.go", "a.txt", "out/made", "b/z.tmp", "empty/", "new\nline", "\x1b[2Jred")
	if err := os.WriteFile(filepath.Join(root, ".gitignore"), []byte("*.tmp\nout/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(root, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	text, whole, err := files.Tree(t.Context(), files.Options{Root: root})
	want := `./
  "\x1b[2Jred"
  .gitignore
  a.txt
  b/
    deep/
      er/
        x.go
    y.go
  elsewhere ->
  empty/
  "new\nline"`
	if text != want || !whole || err != nil {
		t.Errorf("%v, %v, got\n%s\nwant\n%s", whole, err, text, want)
	}
}

// A tree stays within its bounds, shows what lies high before what lies deep,
// and says what it does not show.
func TestTreeBounds(t *testing.T) {
	root := t.TempDir()
	for i := range 300 {
		plant(t, root, fmt.Sprintf("pictures/%03d.jpg", i))
	}
	for i := range 20 {
		plant(t, root, fmt.Sprintf("src/p%02d/deep/file.go", i), fmt.Sprintf("src/p%02d/main.go", i))
	}
	plant(t, root, "README")
	for _, o := range []files.Options{{}, {MaxEntries: 30}, {MaxBytes: 1000}, {MaxBytes: 200}, {MaxBytes: 60}, {MaxEntries: 1}} {
		o.Root = root
		text, whole, err := files.Tree(t.Context(), o)
		if err != nil || whole {
			t.Fatal(whole, err)
		}
		limit := o.MaxBytes
		if limit == 0 {
			limit = files.DefaultMaxBytes
		}
		entries := 0
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(strings.TrimSpace(line), "[") {
				entries++
			}
		}
		if o.MaxEntries == 0 {
			o.MaxEntries = files.DefaultMaxEntries
		}
		if len(text) > limit || entries > o.MaxEntries+1 || !strings.HasPrefix(text, "./\n  README\n") {
			t.Errorf("%+v: %d bytes, %d entries:\n%s", o, len(text), entries, text)
		}
	}
	text, _, _ := files.Tree(t.Context(), files.Options{Root: root})
	for _, part := range []string{"\n    049.jpg\n    [250 more]\n", "\n    p19/\n", "\n      main.go\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
	text, _, _ = files.Tree(t.Context(), files.Options{Root: root, MaxEntries: 3})
	if text != "./\n  README\n  pictures/ [...]\n  src/ [...]" {
		t.Errorf("got\n%s", text)
	}
}

func TestTreeFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := files.Tree(ctx, files.Options{Root: t.TempDir()}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, _, err := files.Tree(t.Context(), files.Options{Root: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("no directory")
	}
	root := t.TempDir()
	plant(t, root, "closed/x")
	closed := filepath.Join(root, "closed")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(closed, 0o700) }) // or its directory cannot be removed
	if os.Getuid() == 0 {
		return // root may read everything
	}
	if text, whole, err := files.Tree(t.Context(), files.Options{Root: root}); text != "./\n  closed/\n    [it cannot be read]" || whole || err != nil {
		t.Errorf("%q, %v, %v", text, whole, err)
	}
}
