package files_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mylm/tools/files"
)

// everyFile is what find_files shows of all files.
func everyFile(t *testing.T, root string) []string {
	t.Helper()
	out := call(t, t.Context(), files.Options{Root: root, MaxEntries: 10_000}, files.FindFilesName, map[string]any{"pattern": "**"})
	if strings.HasPrefix(out.Text, "(no file matches") {
		return nil
	}
	if out.Error != "" || out.Truncated {
		t.Fatalf("%+v", out)
	}
	return strings.Split(out.Text, "\n")
}

// byGit is what git takes for files of the project.
func byGit(t *testing.T, root string) []string {
	t.Helper()
	cmd := exec.Command("git", "-c", "core.quotepath=off", "-c", "core.excludesfile=", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	slices.Sort(names)
	if len(names) == 1 && names[0] == "" {
		return nil
	}
	return names
}

func gitInit(t *testing.T, root string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is what this is compared with: ", err)
	}
	if out, err := exec.Command("git", "init", "-q", root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func sameFiles(t *testing.T, root, what string) {
	t.Helper()
	got, want := everyFile(t, root), byGit(t, root)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s\nfind_files: %q\ngit:        %q", what, got, want)
	}
}

// TestIgnoreRules holds each form of gitignore(5) to what git itself does.
func TestIgnoreRules(t *testing.T) {
	names := []string{
		"a", "b", "a.o", "b.o", "build/x", "build/y.o", "src/build/z", "src/a", "src/a.o", "src/deep/down/a", "docs/a.txt", "docs/deep/b.txt",
		"#hash", "!bang", "with space", "trail ", "{brace}", "[x]", "back\\slash", "x1", "x2", "xa", "x-", "foo/bar/baz", "foo/baz", "foobarbaz", "foo/x/bar", ".hidden/a", "café.txt",
	}
	entries := map[string]string{}
	for _, n := range names {
		entries[n] = ""
	}
	root := tree(t, entries)
	gitInit(t, root)
	for _, text := range []string{
		"a", "/a", "a/", "*.o", "!a.o", "*.o\n!b.o", "build", "build/", "/build/", "src/build", "build/*", "build/\n!build/x", "build/*\n!build/x",
		"**/a", "a/**", "src/**", "src/**/a", "**/deep/*", "**/down/", "docs/**/*.txt", "docs/*.txt", "foo**baz", "foo/**/baz", "**", "*", "/*", "/*\n!/src", "*/", "?",
		"# a", "\\#hash", "\\!bang", "with space", "with space  ", "trail\\ ", "trail ", "{brace}", "\\{brace}", "{a,b}", "[[]x]", "\\[x\\]", "back\\\\slash",
		"x[12]", "x[!12]", "x[^1]", "x[a-c]", "x[-]", "x[[:digit:]]", "x[[:alpha:]]", "x[", "x[1", "a\\", "", "   ", "a\r\nb\r\n", "\uFEFFa", "./a", "src//a", "/", "!", "**/", "caf*",
		"src/\n!src/a", "*\n!*/\n!*.txt", "src/*\n!src/deep/\nsrc/deep/*\n!src/deep/down/",
	} {
		if err := os.WriteFile(filepath.Join(root, ".gitignore"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sameFiles(t, root, fmt.Sprintf("%q", text))
	}
}

// TestIgnoreFilesTogether has rules in several directories, at random.
func TestIgnoreFilesTogether(t *testing.T) {
	pieces := []string{"a", "b", "ab", "*", "**", "?", "a*", "*b", "[ab]", "[!a]"}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	for range often(12, 300) {
		entries := map[string]string{}
		dirs := []string{"", "a/", "b/", "a/b/", "ab/a/", "b/ab/b/"}
		for _, d := range dirs {
			for _, n := range []string{"a", "b", "ab", "ba", "c"} {
				if _, isDir := map[string]bool{"a/": true, "b/": true, "ab/": true, "a/b/": true, "ab/a/": true, "b/ab/": true, "b/ab/b/": true}[d+n+"/"]; !isDir {
					entries[d+n] = ""
				}
			}
		}
		for range 1 + random.IntN(3) {
			var lines []string
			for range 1 + random.IntN(4) {
				var parts []string
				for range 1 + random.IntN(3) {
					parts = append(parts, pick(pieces))
				}
				lines = append(lines, pick([]string{"", "", "!"})+pick([]string{"", "", "/"})+strings.Join(parts, "/")+pick([]string{"", "", "/"}))
			}
			entries[pick(dirs)+".gitignore"] = strings.Join(lines, "\n") + "\n"
		}
		root := tree(t, entries)
		gitInit(t, root)
		sameFiles(t, root, fmt.Sprintf("%q", entries))
	}
}

// Rules hold from the top of the repository on, also where only a part of it is
// the workspace; without a repository those of the workspace hold.
func TestIgnoreFromAbove(t *testing.T) {
	top := tree(t, map[string]string{
		".gitignore": "*.log\n/sub/made/\n", ".git/info/exclude": "mine\n", "sub/.gitignore": "!keep.log\n",
		"sub/a.log": "", "sub/keep.log": "", "sub/made/x": "needle\n", "sub/mine": "", "sub/a.txt": "needle\n",
	})
	root := filepath.Join(top, "sub")
	if got := everyFile(t, root); !slices.Equal(got, []string{".gitignore", "a.txt", "keep.log"}) {
		t.Errorf("below the top of the repository: %q", got)
	}
	o := files.Options{Root: root}
	out := call(t, t.Context(), o, files.SearchFilesName, map[string]any{"pattern": "needle"})
	wantText(t, out, "a.txt:1: needle", false)
	// An ignored directory that is named is shown.
	out = call(t, t.Context(), o, files.SearchFilesName, map[string]any{"pattern": "needle", "path": "made"})
	wantText(t, out, "made/x:1: needle", false)
	out = call(t, t.Context(), o, files.FindFilesName, map[string]any{"pattern": "made/*"})
	wantText(t, out, "made/x", false)
	out = call(t, t.Context(), o, files.FindFilesName, map[string]any{"pattern": "*.nothing"})
	wantText(t, out, "(no file matches; what .gitignore names was left out)", false)

	if err := os.RemoveAll(filepath.Join(top, ".git")); err != nil {
		t.Fatal(err)
	}
	if got := everyFile(t, root); !slices.Contains(got, "a.log") || !slices.Contains(got, "made/x") {
		t.Errorf("without a repository: %q", got)
	}
}

// Of a repository outside the workspace its own rules hold.
func TestIgnoreOutside(t *testing.T) {
	other := tree(t, map[string]string{".git/HEAD": "", ".gitignore": "/x/no*\n", "x/no.txt": "", "x/yes.txt": "", "no.txt": ""})
	root := tree(t, map[string]string{"f": ""})
	out := call(t, t.Context(), files.Options{Root: root}, files.FindFilesName, map[string]any{"pattern": filepath.ToSlash(other) + "/**/*.txt"})
	want := filepath.ToSlash(other) + "/no.txt\n" + filepath.ToSlash(other) + "/x/yes.txt"
	if out.Text != want || out.Origin != "outside" {
		t.Errorf("got %+v, want %q", out, want)
	}
}
