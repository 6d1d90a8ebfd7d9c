package copies_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mylm/cmd/mylm/mylm-cluster/internal/copies"
)

// workspace is a directory with files of these names and texts.
func workspace(t *testing.T, all map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	for name, text := range all {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// closes gives a file or a directory a mode until the test ends.
func closes(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(path, 0o700) }) // or it cannot be removed; it may be gone
}

func open(t *testing.T, dir, source string, most int64) *copies.Store {
	t.Helper()
	s, err := copies.Open(dir, source, most)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func make(t *testing.T, s *copies.Store, id string) string {
	t.Helper()
	dir, err := s.Make(t.Context(), id, copies.Owner{Workflow: "default/" + id, Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// tree is what a directory holds, a name, its mode and its text a line, without .git.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if err == nil && e.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		name, _ := filepath.Rel(dir, path)
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			fmt.Fprintf(&b, "%q -> %q\n", name, target)
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%q %v %q\n", name, info.Mode()&0o100, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A patch applied to the workspace makes it what the run has made of its copy, whatever that
// was, and the workspace is what it was before.
func TestPatchApplies(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git")
	}
	binary := "\x00\x01\xff" + strings.Repeat("abc\xfe", 500)
	source := workspace(t, map[string]string{
		"a.txt": "one\ntwo\nthree\n", "gone.txt": "bye\n", "tool.sh": "echo\n", "sub/deep.txt": "x", "b.bin": binary, "gone.bin": binary,
		"same.txt": "same\n", "crlf.txt": "a\r\nb\r\n", "swap": "a file\n", "latin.txt": "caf\xe9\n", ".git/HEAD": "x", "dir/in.txt": "in\n",
		"grows": "a file\n", "tree/old.txt": "x\n", "deep/er/in.txt": "in\n", "twin/er/in.txt": "in\n", "other/er/in.txt": "in\n",
	})
	for name, target := range map[string]string{"link": "a.txt", "leads": "tree"} {
		if err := os.Symlink(target, filepath.Join(source, name)); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, source)
	s := open(t, filepath.Join(t.TempDir(), "copies"), source, 1<<20)
	work := make(t, s, "one")
	if tree(t, work) != before {
		t.Fatalf("the copy is\n%s\nand not\n%s", tree(t, work), before)
	}
	if filepath.Base(work) != "shop" {
		t.Errorf("the copy is %s", work)
	}
	for _, do := range []func() error{
		func() error { return os.WriteFile(filepath.Join(work, "a.txt"), []byte("one\n2\nthree"), 0o644) },
		func() error { return os.Remove(filepath.Join(work, "gone.txt")) },
		func() error { return os.Remove(filepath.Join(work, "gone.bin")) },
		func() error { return os.Chmod(filepath.Join(work, "tool.sh"), 0o755) },
		func() error { return os.WriteFile(filepath.Join(work, "b.bin"), []byte(binary+"more\x00"), 0o644) },
		func() error { return os.WriteFile(filepath.Join(work, "latin.txt"), []byte("caf\xe9s\n"), 0o644) },
		func() error { return os.WriteFile(filepath.Join(work, "crlf.txt"), []byte("a\r\nc\r\n"), 0o644) },
		func() error { return os.Mkdir(filepath.Join(work, "new"), 0o755) },
		func() error { return os.WriteFile(filepath.Join(work, "new", "empty"), nil, 0o644) },
		func() error { return os.WriteFile(filepath.Join(work, "new", "a b.txt"), []byte("hello\n"), 0o755) },
		func() error { return os.WriteFile(filepath.Join(work, "ta\tb \"q\".txt"), []byte("odd\n"), 0o644) },
		func() error { return os.WriteFile(filepath.Join(work, "größe.txt"), []byte("ü\n"), 0o644) },
		func() error { return os.WriteFile(filepath.Join(work, ".git", "HEAD"), []byte("y"), 0o644) },
		func() error { return os.Remove(filepath.Join(work, "link")) },
		func() error { return os.Symlink("tool.sh", filepath.Join(work, "link")) },
		func() error { return os.Remove(filepath.Join(work, "swap")) },
		func() error { return os.Symlink("nowhere", filepath.Join(work, "swap")) },
		func() error { return os.Remove(filepath.Join(work, "grows")) },
		func() error { return os.Mkdir(filepath.Join(work, "grows"), 0o755) },
		func() error { return os.WriteFile(filepath.Join(work, "grows", "in.txt"), []byte("in\n"), 0o644) },
		func() error { return os.Remove(filepath.Join(work, "leads")) },
		func() error { return os.Mkdir(filepath.Join(work, "leads"), 0o755) },
		func() error { return os.WriteFile(filepath.Join(work, "leads", "new.txt"), []byte("new\n"), 0o644) },
		func() error { return os.RemoveAll(filepath.Join(work, "deep")) },
		func() error { return os.WriteFile(filepath.Join(work, "deep"), []byte("now a file\n"), 0o644) },
		func() error { return os.RemoveAll(filepath.Join(work, "twin")) },
		func() error { return os.Symlink("other", filepath.Join(work, "twin")) },
		func() error { return os.RemoveAll(filepath.Join(work, "dir")) },
		func() error { return os.WriteFile(filepath.Join(work, "dir"), []byte("now a file\n"), 0o644) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	changes, err := s.Changes(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	if tree(t, source) != before {
		t.Errorf("the workspace has become\n%s", tree(t, source))
	}
	if got := changes.Counted(); got != "9 files added, 7 files changed, 7 files removed" {
		t.Errorf("%s: %+v", got, changes.Files)
	}
	if strings.Contains(changes.Patch, "HEAD") {
		t.Error("the patch is of .git as well")
	}
	file := filepath.Join(t.TempDir(), "patch")
	write(t, file, changes.Patch)
	cmd := exec.Command(git, "apply", "--whitespace=nowarn", file)
	cmd.Dir, cmd.Env = source, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(source))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, changes.Patch)
	}
	if got, want := tree(t, source), tree(t, work); got != want {
		t.Errorf("applied, the workspace is\n%s\nand not\n%s", got, want)
	}
}

// So does one that patch applies, whatever the names of its files.
func TestPatchProgram(t *testing.T) {
	program, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("there is no patch")
	}
	source := workspace(t, map[string]string{"a b.txt": "one\n", "gone c.txt": "bye\n", "plain.txt": "1\n"})
	s := open(t, filepath.Join(t.TempDir(), "copies"), source, 1<<20)
	work := make(t, s, "one")
	for name, text := range map[string]string{"a b.txt": "two\n", "new file.txt": "hello\n", "plain.txt": "2\n", "ta\tb \"q\".txt": "odd\n"} {
		write(t, filepath.Join(work, name), text)
	}
	if err := os.Remove(filepath.Join(work, "gone c.txt")); err != nil {
		t.Fatal(err)
	}
	changes, err := s.Changes(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-p1", "--batch")
	cmd.Dir, cmd.Stdin = source, strings.NewReader(changes.Patch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, changes.Patch)
	}
	if got, want := tree(t, source), tree(t, work); got != want {
		t.Errorf("patched, the workspace is\n%s\nand not\n%s", got, want)
	}
}

// New files that git would ignore are counted, and those that are there already are not left out.
func TestIgnored(t *testing.T) {
	source := workspace(t, map[string]string{".gitignore": "*.o\nnode_modules/\n", "old.o": "1"})
	s := open(t, t.TempDir(), source, 1<<20)
	work := make(t, s, "one")
	for name, text := range map[string]string{"old.o": "22", "new.o": "x", "node_modules/a/b.js": "x", "c.txt": "c\n"} {
		write(t, filepath.Join(work, name), text)
	}
	changes, err := s.Changes(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(changes.Files, changes.Ignored); got != "[{c.txt added} {old.o changed}] 2" {
		t.Error(got)
	}
}

// A workspace that is too large, or gone, is not copied, and nothing of it is left.
func TestNotCopied(t *testing.T) {
	source := workspace(t, map[string]string{"a": strings.Repeat("x", 100<<10), "b": "y"})
	for _, tt := range []struct {
		most int64
		want error
	}{{64 << 10, copies.ErrTooLong}, {100<<10 + 1, copies.ErrTooLong}, {128 << 10, nil}} {
		dir := t.TempDir()
		s := open(t, dir, source, tt.most)
		_, err := s.Make(t.Context(), "one", copies.Owner{})
		if !errors.Is(err, tt.want) {
			t.Errorf("with %d bytes: %v", tt.most, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*", "*")); err != nil && len(left) > 0 {
			t.Errorf("left are %v", left)
		}
	}
	s := open(t, t.TempDir(), source, 1<<20)
	if err := os.RemoveAll(source); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Make(t.Context(), "one", copies.Owner{}); !errors.Is(err, copies.ErrMissing) {
		t.Error(err)
	}
}

// What is too long for a patch stays where it is, for a week.
func TestKept(t *testing.T) {
	s := open(t, t.TempDir(), workspace(t, map[string]string{"a": "x"}), 1<<20)
	work := make(t, s, "one")
	write(t, filepath.Join(work, "long"), strings.Repeat("0123456789abcdef", 1<<20+1))
	changes, err := s.Changes(t.Context(), "one")
	if err != nil || changes.Patch != "" || !strings.HasSuffix(changes.Kept, ":"+work) {
		t.Fatalf("%.100q, kept %q, %v", changes.Patch, changes.Kept, err)
	}
	over := func(copies.Owner) (bool, error) { return true, nil }
	for _, do := range []func() error{
		func() error { return s.Remove("one") },
		func() error { return s.Sweep(t.Context(), time.Now().Add(6*24*time.Hour), over) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(work); err != nil || s.Count() != 0 {
		t.Errorf("%v, %d copies", err, s.Count())
	}
	if err := s.Sweep(t.Context(), time.Now().Add(8*24*time.Hour), over); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Dir("one"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// What cannot be compared stays, too.
func TestKeptUnread(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, workspace(t, map[string]string{"a": "x"}), 1<<20)
	work, base := make(t, s, "one"), filepath.Join(dir, "copies", "one", "base")
	if err := os.RemoveAll(base); err != nil {
		t.Fatal(err)
	}
	write(t, base, "a file")
	if changes, err := s.Changes(t.Context(), "one"); changes != nil || err == nil || !strings.Contains(err.Error(), ":"+work) {
		t.Errorf("%+v, %v", changes, err)
	}
	if err := s.Remove("one"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(work); err != nil {
		t.Error(err)
	}
}

// What a kill has left is removed: copies that were not complete at once, others a week after
// their runs are over, whatever a run has done to them.
func TestSweep(t *testing.T) {
	dir, source := t.TempDir(), workspace(t, map[string]string{"a": "x"})
	first, err := copies.Open(dir, source, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := copies.Open(dir, source, 1<<20); !errors.Is(err, copies.ErrInUse) {
		t.Error(err)
	}
	make(t, first, "unchanged")
	for _, id := range []string{"runs", "over", "unknown"} {
		work := make(t, first, id)
		write(t, filepath.Join(work, "closed", "file"), "x")
		closes(t, filepath.Join(work, "closed"), 0)
	}
	write(t, filepath.Join(dir, "new", "half", "base", "a"), "x")
	write(t, filepath.Join(dir, "copies", "odd", "file"), "x")
	id := first.ID()
	first.Close()
	s := open(t, dir, source, 1<<20)
	if s.ID() != id || id == "" {
		t.Errorf("%s is called %s when it is opened again", id, s.ID())
	}
	asked := errors.New("asked")
	over := func(of copies.Owner) (bool, error) {
		if of.Workflow == "default/unknown" {
			return false, asked
		}
		return of.Workflow != "default/runs" && of.Run == "r", nil
	}
	for _, tt := range []struct {
		after time.Duration
		left  int
	}{{0, 3}, {8 * 24 * time.Hour, 2}} {
		if err := s.Sweep(t.Context(), time.Now().Add(tt.after), over); !errors.Is(err, asked) {
			t.Error(err)
		}
		left, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		if err != nil || len(left) != tt.left || s.Count() != 2 {
			t.Errorf("after %v left are %v, %v, and %d runs", tt.after, left, err, s.Count())
		}
	}
}

// Copies are not made in what is copied.
func TestInside(t *testing.T) {
	source := workspace(t, map[string]string{"a": "x"})
	at := filepath.Join(source, "copies")
	if _, err := copies.Open(at, source, 1<<20); !errors.Is(err, copies.ErrInside) {
		t.Error(err)
	}
	if _, err := os.Stat(at); err == nil {
		t.Error("it is there now")
	}
}

// A directory that somebody else has files in is not taken for one with copies: they would be
// removed as what a kill has left.
func TestForeign(t *testing.T) {
	source := workspace(t, map[string]string{"a": "x"})
	for _, name := range []string{"new/draft.txt", "copies/letter/draft.txt", "id"} {
		dir := t.TempDir()
		file := filepath.Join(dir, name)
		write(t, file, "mine")
		s, err := copies.Open(dir, source, 1<<20)
		if !errors.Is(err, copies.ErrForeign) {
			t.Errorf("with %s: %v", name, err)
		}
		if err == nil {
			if err := s.Sweep(t.Context(), time.Now(), func(copies.Owner) (bool, error) { return true, nil }); err != nil {
				t.Error(err)
			}
			s.Close()
		}
		if text, err := os.ReadFile(file); string(text) != "mine" {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
}

// What a run has closed to its own user is in the patch.
func TestClosed(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	source := workspace(t, map[string]string{"a": "x\n", "dir/in": "in\n"})
	s := open(t, filepath.Join(t.TempDir(), "copies"), source, 1<<20)
	work := make(t, s, "one")
	write(t, filepath.Join(work, "dir", "new"), "new\n")
	write(t, filepath.Join(work, "a"), "y\n")
	for name, mode := range map[string]os.FileMode{"a": 0o200, "dir": 0} {
		closes(t, filepath.Join(work, name), mode)
	}
	changes, err := s.Changes(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(changes.Files); got != "[{a changed} {dir/new added}]" {
		t.Error(got)
	}
}
