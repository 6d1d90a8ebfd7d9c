package files_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mylm/tools"
	"mylm/tools/files"
)

func search(t *testing.T, o files.Options, args map[string]any) tools.Outcome {
	t.Helper()
	return call(t, t.Context(), o, files.SearchFilesName, args)
}

func find(t *testing.T, o files.Options, pattern string) tools.Outcome {
	t.Helper()
	return call(t, t.Context(), o, files.FindFilesName, map[string]any{"pattern": pattern})
}

func TestSearch(t *testing.T) {
	o := files.Options{Root: tree(t, map[string]string{
		"a.go": "package a\n\nfunc Hello() {}\n", "b/b.go": "package b\r\n// hello\r\n", "b/c.txt": "Hello\n", "bin": "Hello\x00", ".git/x": "Hello\n", ".hidden": "Hello\n",
		"link": "-> a.go", "wide": strings.Repeat("ä", 300) + "Hello" + strings.Repeat("x", 300) + "\n", "last": "no newline, Hello",
		".gitignore": "*.log\n", "x.log": "Hello\n", "two\nlines": "Hi there\n",
	})}
	wide := "wide:1: …" + strings.Repeat("ä", 33) + "Hello" + strings.Repeat("x", 129) + "…"
	for _, c := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"pattern": "Hello"}, ".hidden:1: Hello\na.go:3: func Hello() {}\nb/c.txt:1: Hello\nlast:1: no newline, Hello\n" + wide},
		{map[string]any{"pattern": "(?i)hello", "glob": "*.go"}, "a.go:3: func Hello() {}\nb/b.go:2: // hello"},
		{map[string]any{"pattern": "Hello", "path": "b"}, "b/c.txt:1: Hello"},
		{map[string]any{"pattern": "ello", "path": "b", "glob": "**/*.go"}, "b/b.go:2: // hello"},
		{map[string]any{"pattern": "ello", "glob": "b/*.{go,txt}"}, "b/b.go:2: // hello\nb/c.txt:1: Hello"},
		{map[string]any{"pattern": "hello$"}, "b/b.go:2: // hello"},
		{map[string]any{"pattern": "^package", "path": "a.go"}, "a.go:1: package a"},
		{map[string]any{"pattern": "package", "path": "link"}, "link:1: package a"},
		{map[string]any{"pattern": "Hi"}, "\"two\\nlines\":1: Hi there"},
		{map[string]any{"pattern": "nowhere"}, "(no line matches in 8 files)\n[1 binary file not searched; what .gitignore names was left out]"},
		{map[string]any{"pattern": "Hello", "path": "x.log"}, "x.log:1: Hello"},
	} {
		t.Run(fmt.Sprint(c.args), func(t *testing.T) { wantText(t, search(t, o, c.args), c.want, false) })
	}
	for _, c := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"pattern": ""}, "the pattern is empty"},
		{map[string]any{"pattern": "foo("}, "put a backslash before each"},
		{map[string]any{"pattern": "(?=x)"}, "invalid or unsupported Perl syntax"},
		{map[string]any{"pattern": "(abcdefghij){1000}"}, "too large"},
		{map[string]any{"pattern": "x", "path": "c"}, "no such file"},
		{map[string]any{"pattern": "x", "path": "a.og"}, "did you mean a.go?"},
		{map[string]any{"pattern": "x", "glob": "[a"}, "is not a valid glob"},
		{map[string]any{"pattern": "x", "glob": strings.Repeat("{a,b}", 20)}, "more than 256 patterns"},
	} {
		t.Run(fmt.Sprint(c.args), func(t *testing.T) { wantError(t, search(t, o, c.args), c.want) })
	}
}

func TestSearchBounded(t *testing.T) {
	root := tree(t, map[string]string{"many": strings.Repeat("match me\n", 5000), "z": "match me\n"})
	out := search(t, files.Options{Root: root}, map[string]any{"pattern": "match"})
	if n := strings.Count(out.Text, "\n"); n != 100 || !out.Truncated || !strings.HasSuffix(out.Text, "[the first 100; there are more: narrow the pattern, the path or the glob]") {
		t.Errorf("%d lines, ending in %q", n, out.Text[len(out.Text)-100:])
	}
	out = search(t, files.Options{Root: root, MaxBytes: 50}, map[string]any{"pattern": "match"})
	if len(out.Text) > 150 || !out.Truncated {
		t.Errorf("%d bytes", len(out.Text))
	}
	out = search(t, files.Options{Root: root, MaxTime: 1}, map[string]any{"pattern": "nothing"})
	if !strings.Contains(out.Text, "stopped after 1ns") || !out.Truncated {
		t.Errorf("%+v", out)
	}
	out = call(t, t.Context(), files.Options{Root: root, MaxTime: 1}, files.FindFilesName, map[string]any{"pattern": "*"})
	if !strings.Contains(out.Text, "stopped after 1ns") || !out.Truncated {
		t.Errorf("%+v", out)
	}
}

// A file of a terabyte, whose line does not end, is searched in its beginning.
func TestSearchHuge(t *testing.T) {
	root := tree(t, map[string]string{"line": strings.Repeat("x", 3<<20) + "\nneedle\n", "huge": strings.Repeat("x", 1<<20)})
	if err := os.Truncate(filepath.Join(root, "huge"), 1<<40); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	out := search(t, files.Options{Root: root}, map[string]any{"pattern": "needle"})
	if !strings.HasPrefix(out.Text, "line:2: needle\n[") || !strings.Contains(out.Text, "1 file searched in the first 64 MiB only; 2 lines searched in the first 1024 KiB only]") {
		t.Errorf("%q", out.Text)
	}
}

func TestSearchCancelled(t *testing.T) {
	root := tree(t, map[string]string{"f": "x"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, args := range map[string]map[string]any{
		files.SearchFilesName: {"pattern": "x"}, files.FindFilesName: {"pattern": "*"}, files.WriteFileName: {"path": "f", "content": "y"}, files.EditFileName: {"path": "f", "old": "x", "new": "y"},
	} {
		wantError(t, call(t, ctx, files.Options{Root: root}, name, args), "context canceled")
	}
	if got := content(t, filepath.Join(root, "f")); got != "x" {
		t.Errorf("a call that was cancelled has written %q", got)
	}
}

func TestFind(t *testing.T) {
	o := files.Options{Root: tree(t, map[string]string{
		"a.go": "", "b/b.go": "", "b/c/c.go": "", "b/c/d.txt": "", "docs/x.md": "", ".hidden/y.md": "", "link.go": "-> a.go", "empty/": "", "with{brace": "", "b/.git/config": "",
	})}
	for pattern, want := range map[string]string{
		"*.go":              "a.go\nb/b.go\nb/c/c.go\nlink.go",
		"**/*.go":           "a.go\nb/b.go\nb/c/c.go\nlink.go",
		"./a.go":            "a.go",
		"b/*":               "b/b.go",
		"b/**":              "b/b.go\nb/c/c.go\nb/c/d.txt",
		"b/**/*.{go,txt}":   "b/b.go\nb/c/c.go\nb/c/d.txt",
		"*.md":              ".hidden/y.md\ndocs/x.md",
		"b/c/d.txt":         "b/c/d.txt",
		"?.go":              "a.go\nb/b.go\nb/c/c.go",
		"[!a].go":           "b/b.go\nb/c/c.go",
		"with\\{brace":      "with{brace",
		"docs":              "(no file matches, but directories do: docs/)",
		"empty/*":           "(no file matches)",
		"A.GO":              "(no file matches)",
		"../workspace/a.go": "a.go",
	} {
		t.Run(pattern, func(t *testing.T) { wantText(t, find(t, o, pattern), want, false) })
	}
	for pattern, want := range map[string]string{
		"": "the pattern is empty", "[a": "is not a valid glob", "dosc/*": "did you mean docs/?", "a.go/*": "is a file, not a directory", "*/../../x": "leads outside", "b*/x/../../*": "is no",
	} {
		t.Run(pattern, func(t *testing.T) {
			if out := find(t, o, pattern); want == "leads outside" || want == "is no" {
				if strings.Contains(out.Text, "secret") {
					t.Errorf("%+v", out)
				}
			} else {
				wantError(t, out, want)
			}
		})
	}
	outside := tools.Reads | tools.Leaves
	for pattern, want := range map[string]tools.Effect{"../*": outside, "/etc/*": outside, "*": tools.Reads, "b/../*": tools.Reads, "../workspace/*": tools.Reads, "*/../../*": outside} {
		if got := effect(t, o, files.FindFilesName, map[string]any{"pattern": pattern}); got != want {
			t.Errorf("the effect of %s is %q, want %q", pattern, got, want)
		}
	}
	if got := effect(t, o, files.SearchFilesName, map[string]any{"pattern": "x", "path": ".."}); got != outside {
		t.Errorf("the effect of a search outside is %q", got)
	}
	wantError(t, unasked(t, o, files.FindFilesName, map[string]any{"pattern": "../*"}), "was not allowed")
	wantError(t, unasked(t, o, files.SearchFilesName, map[string]any{"pattern": "x", "path": "/etc"}), "was not allowed")
}

func TestFindBounded(t *testing.T) {
	entries := map[string]string{}
	for i := range 500 {
		entries[fmt.Sprintf("d%d/f%03d", i%7, i)] = ""
	}
	out := find(t, files.Options{Root: tree(t, entries)}, "f*")
	lines := strings.Split(out.Text, "\n")
	if len(lines) != 201 || lines[200] != "[200 of 500 files; 300 more are not shown]" || !out.Truncated {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

func BenchmarkSearch(b *testing.B) {
	root := b.TempDir()
	line := "the quick brown fox jumps over the lazy dog, and nothing else happens here\n"
	for i := range 1000 {
		dir := filepath.Join(root, fmt.Sprint(i%20))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(strings.Repeat(line, 300)), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for name, args := range map[string]string{"word": `{"pattern":"needle"}`, "class": `{"pattern":"[A-Z]\\w+\\("}`} {
		b.Run(name, func(b *testing.B) {
			tool, err := files.SearchFiles(files.Options{Root: root, MaxTime: time.Minute})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(1000 * 300 * len(line)))
			for b.Loop() {
				if _, err := tool.Run(b.Context(), []byte(args)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("find", func(b *testing.B) {
		tool, err := files.FindFiles(files.Options{Root: root})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := tool.Run(b.Context(), []byte(`{"pattern":"*7"}`)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
