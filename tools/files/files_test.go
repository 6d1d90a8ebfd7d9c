package files_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mylm/tools"
	"mylm/tools/files"
)

// patience is how long a test waits for what should come at once.
const patience = 10 * time.Second

func registry(t *testing.T, o files.Options) *tools.Registry {
	t.Helper()
	var all []*tools.Tool
	for _, make := range makers {
		tool, err := make(o)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tool)
	}
	r, err := tools.NewRegistry(all...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// makers make all the tools.
var makers = []func(files.Options) (*tools.Tool, error){
	files.ReadFile, files.ListDir, files.FindFiles, files.SearchFiles, files.WriteFile, files.EditFile,
}

// effect is what a call may do.
func effect(t *testing.T, o files.Options, name string, args map[string]any) tools.Effect {
	t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := registry(t, o).Prepare(name, b)
	if err != nil {
		t.Fatal(err)
	}
	return inv.Effect
}

func call(t *testing.T, ctx context.Context, o files.Options, name string, args map[string]any) tools.Outcome {
	t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := registry(t, o).Prepare(name, b)
	if err != nil {
		t.Fatal(err)
	}
	out := inv.Run(ctx, patience)
	if strings.HasPrefix(out.Error, "timed out") {
		t.Fatalf("%s %s: %s", name, b, out.Error)
	}
	return out
}

// unasked runs a call as one that was allowed to read inside only: what it was
// when it was checked may have changed.
func unasked(t *testing.T, o files.Options, name string, args map[string]any) tools.Outcome {
	t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	inv := tools.Invocation{Tool: registry(t, o).Lookup(name), Args: b, Effect: tools.Reads}
	return inv.Run(t.Context(), patience)
}

func read(t *testing.T, o files.Options, path string, lines ...int) tools.Outcome {
	t.Helper()
	args := map[string]any{"path": path}
	for i, n := range lines {
		args[[]string{"start_line", "end_line"}[i]] = n
	}
	return call(t, t.Context(), o, files.ReadFileName, args)
}

func list(t *testing.T, o files.Options, path string) tools.Outcome {
	t.Helper()
	return call(t, t.Context(), o, files.ListDirName, map[string]any{"path": path})
}

// tree makes a workspace; a name that ends in a slash is a directory, content
// that begins with "-> " makes a link.
func tree(t *testing.T, entries map[string]string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "workspace")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range entries {
		path := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		target, link := strings.CutPrefix(content, "-> ")
		switch {
		case err != nil:
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o700)
		case link:
			err = os.Symlink(strings.ReplaceAll(target, "$ROOT", root), path)
		default:
			err = os.WriteFile(path, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func wantError(t *testing.T, out tools.Outcome, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(out.Error, part) {
			t.Errorf("error %q (text %q), want %q in it", out.Error, out.Text, part)
		}
	}
}

func wantText(t *testing.T, out tools.Outcome, want string, truncated bool) {
	t.Helper()
	if out.Error != "" || out.Text != want || out.Truncated != truncated {
		t.Errorf("got %q, truncated %v, error %q\nwant %q, %v", out.Text, out.Truncated, out.Error, want, truncated)
	}
	if out.Origin != tools.Workspace {
		t.Errorf("origin is %q", out.Origin)
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	const ten = "l1\nl2\nl3\nl4\nl5\nl6\nl7\nl8\nl9\nl10\n"
	small := files.Options{MaxLines: 4}
	for _, c := range []struct {
		name, content string
		o             files.Options
		lines         []int
		want          string
		truncated     bool
	}{
		{name: "whole", content: "a\n\n b\n", want: "a\n\n b"},
		{name: "no newline at the end", content: "a\nb", want: "a\nb"},
		{name: "empty", want: "(f is empty)"},
		{name: "one blank line", content: "\n", want: "(f has only 1 line without text)"},
		{name: "CRLF", content: "a\r\nb\r\n", want: "a\nb"},
		{name: "byte order mark", content: "\uFEFFa\n", want: "a"},
		{name: "invalid UTF-8", content: "a caf\xe9 in Paris\n", want: "a caf\uFFFD in Paris"},
		{name: "first page", content: ten, o: small, want: "l1\nl2\nl3\nl4\n[lines 1-4 of 10; continue with start_line 5]", truncated: true},
		{name: "next page", content: ten, o: small, lines: []int{5}, want: "l5\nl6\nl7\nl8\n[lines 5-8 of 10; continue with start_line 9]", truncated: true},
		{name: "last page", content: ten, o: small, lines: []int{9}, want: "l9\nl10\n[lines 9-10 of 10]"},
		{name: "exactly one page", content: "a\nb\nc\nd\n", o: small, want: "a\nb\nc\nd"},
		{name: "last line without newline", content: "1\n2\n3\n4\n5", o: small, want: "1\n2\n3\n4\n[lines 1-4 of 5; continue with start_line 5]", truncated: true},
		{name: "range", content: ten, lines: []int{2, 3}, want: "l2\nl3\n[lines 2-3 of 10]"},
		{name: "range over the limit", content: ten, o: small, lines: []int{2, 9}, want: "l2\nl3\nl4\nl5\n[lines 2-5 of 10; continue with start_line 6]", truncated: true},
		{name: "range past the end", content: ten, lines: []int{9, 99}, want: "l9\nl10\n[lines 9-10 of 10]"},
		{name: "end only", content: ten, lines: []int{0, 1}, want: "l1\n[lines 1-1 of 10]"},
		{name: "all by range", content: ten, lines: []int{1, 10}, want: strings.TrimSuffix(ten, "\n")},
		{name: "bytes", content: ten, o: files.Options{MaxBytes: 7}, want: "l1\nl2\n[lines 1-2 of 10; continue with start_line 3]", truncated: true},
		{name: "a long line", content: "äää\nb\n", o: files.Options{MaxBytes: 5}, want: "ää\n[line 1 of 2, its first 4 of 6 bytes; continue with start_line 2]", truncated: true},
		{name: "a long line alone", content: "abcdefgh", o: files.Options{MaxBytes: 5}, want: "abcde\n[line 1 of 1, its first 5 of 8 bytes]", truncated: true},
		{name: "a long line second", content: "a\nabcdefgh\n", o: files.Options{MaxBytes: 5}, want: "a\n[lines 1-1 of 2; continue with start_line 2]", truncated: true},
		{name: "binary", content: "\x89PNG\r\n\x1a\n\x00\x00", want: "(f is a binary file, not shown: 10 bytes, image/png)", truncated: true},
		{name: "PDF", content: "%PDF-1.7\n", want: "(f is a binary file, not shown: 9 bytes, application/pdf)", truncated: true},
		{name: "not UTF-8", content: "\x1f\x8b\x08\xff\xfe\xfd", want: "(f is a binary file, not shown: 6 bytes, application/x-gzip)", truncated: true},
		{name: "looks like a picture", content: "BM is a river\n", want: "BM is a river"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Root = tree(t, map[string]string{"f": c.content})
			wantText(t, read(t, c.o, "f", c.lines...), c.want, c.truncated)
		})
	}
}

func TestReadDefaults(t *testing.T) {
	root := tree(t, map[string]string{"lines": numbered(1200), "wide": strings.Repeat(strings.Repeat("x", 99)+"\n", 300)})
	out := read(t, files.Options{Root: root}, "lines")
	wantText(t, out, numbered(400)+"[lines 1-400 of 1200; continue with start_line 401]", true)
	out = read(t, files.Options{Root: root}, "wide")
	if !strings.HasSuffix(out.Text, "\n[lines 1-163 of 300; continue with start_line 164]") || len(out.Text) > 16<<10+100 {
		t.Errorf("%d bytes, ending in %q", len(out.Text), out.Text[len(out.Text)-60:])
	}
}

// A file of a terabyte is shown at once, since only its beginning is read.
func TestReadHuge(t *testing.T) {
	for name, content := range map[string]string{
		"many lines": strings.Repeat(strings.Repeat("x", 127)+"\n", 1<<13),
		"one line":   strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, map[string]string{"f": content})
			f, err := os.OpenFile(filepath.Join(root, "f"), os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := f.Truncate(1 << 40); err != nil {
				t.Skipf("no sparse files here: %v", err)
			}
			out := read(t, files.Options{Root: root}, "f")
			if !strings.Contains(out.Text, "of at least ") || len(out.Text) > 17<<10 {
				t.Errorf("%d bytes, error %q", len(out.Text), out.Error)
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	root := tree(t, map[string]string{
		"README.md": "hello\n", "main.go": "a\nb\n", "src/parser.go": "x\n", "src/notes.yaml": "", "src/sub/": "", "empty/": "",
		"dangling": "-> nowhere",
	})
	o := files.Options{Root: root}
	for _, c := range []struct {
		path  string
		lines []int
		want  []string
	}{
		{path: "src/PARSR.go", want: []string{"no such file", "did you mean parser.go?"}},
		{path: "../workspace/main.goo", want: []string{"did you mean main.go?"}},
		{path: "src/notes.md", want: []string{"did you mean notes.yaml?"}},
		{path: "README.txt", want: []string{"did you mean README.md?"}},
		{path: "src/parsr.go", want: []string{"did you mean parser.go?", "in src"}},
		{path: "scr/parser.go", want: []string{"did you mean src/?", "in the workspace"}},
		{path: "src/zzzzzzzz", want: []string{"in src there are: notes.yaml, parser.go, sub/"}},
		{path: "empty/x", want: []string{"nothing is in empty"}},
		{path: "dangling", want: []string{"is a link to nowhere, which does not exist"}},
		{path: "src", want: []string{"src is a directory, not a file"}},
		{path: ".", want: []string{"is a directory"}},
		{path: " ", want: []string{"the path is empty"}},
		{path: "a\x00b", want: []string{"NUL"}},
		{path: "main.go", lines: []int{3}, want: []string{"start_line 3 is past the end: main.go has 2 lines"}},
		{path: "README.md", lines: []int{9}, want: []string{"README.md has 1 line"}},
		{path: "main.go", lines: []int{-1}, want: []string{"count from 1"}},
		{path: "main.go", lines: []int{2, 1}, want: []string{"end_line 1 is before start_line 2"}},
	} {
		t.Run(c.path, func(t *testing.T) { wantError(t, read(t, o, c.path, c.lines...), c.want...) })
	}
}

func TestMissingAmongMany(t *testing.T) {
	entries := map[string]string{}
	for i := range 20 {
		entries[fmt.Sprintf("file%02d.txt", i)] = ""
	}
	out := read(t, files.Options{Root: tree(t, entries)}, "quite-another-thing")
	wantError(t, out, "there are: file00.txt, ", "file07.txt and 12 more")
}

func TestInsideOnly(t *testing.T) {
	root := tree(t, map[string]string{
		"in.txt": "inside", "dir/deep.txt": "deep",
		"rel": "-> dir/deep.txt", "abs": "-> $ROOT/dir/deep.txt", "absdir": "-> $ROOT/dir",
		"out": "-> ../secret.txt", "outabs": "-> $ROOT/../secret.txt", "up": "-> ..", "loop": "-> loop",
	})
	secret := filepath.Join(filepath.Dir(root), "secret.txt")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := files.Options{Root: root}
	for path, want := range map[string]string{
		"in.txt":                             "inside",
		"./dir/../in.txt":                    "inside",
		"../workspace/in.txt":                "inside",
		filepath.Join(root, "in.txt"):        "inside",
		filepath.Join(root, "dir/../in.txt"): "inside",
		"rel":                                "deep",
		"abs":                                "deep",
		"absdir/deep.txt":                    "deep",
	} {
		t.Run(path, func(t *testing.T) { wantText(t, read(t, o, path), want, false) })
	}
	for _, path := range []string{
		"../secret.txt", "dir/../../secret.txt", secret, root + "/../secret.txt", root + "x", "/", "..",
		"out", "outabs", "up/secret.txt", "up",
	} {
		t.Run(path, func(t *testing.T) {
			for name, args := range map[string]map[string]any{
				files.ReadFileName: {"path": path}, files.ListDirName: {"path": path},
			} {
				if e := effect(t, o, name, args); e != tools.Reads|tools.Leaves {
					t.Errorf("the effect of %s is %q", name, e)
				}
				out := unasked(t, o, name, args)
				wantError(t, out, "leads outside the workspace "+root+", which was not allowed")
			}
		})
	}
	for _, path := range []string{"../secret.txt", secret, "out", "outabs", "up/secret.txt"} {
		if out := read(t, o, path); out.Text != "secret" || out.Origin != tools.Outside {
			t.Errorf("%s, allowed: %+v", path, out)
		}
	}
	if out := list(t, o, "up"); out.Text != "secret.txt (6 bytes)\nworkspace/" || out.Origin != tools.Outside {
		t.Errorf("up, allowed: %+v", out)
	}
	for _, path := range []string{"in.txt", "abs", "rel", "../workspace/in.txt", "loop", "nothing"} {
		if e := effect(t, o, files.ReadFileName, map[string]any{"path": path}); e != tools.Reads {
			t.Errorf("the effect of reading %s is %q", path, e)
		}
	}
	wantError(t, read(t, o, "loop"), "loop cannot be read")
}

// A program's own settings are no part of the workspace, also if they lie in it or
// around it: they are read only when that is allowed, and not written.
func TestClosed(t *testing.T) {
	root := tree(t, map[string]string{"own/config": "key", "in.txt": "key", "link": "-> own/config", "dir": "-> own", "deep/own/x": "key"})
	for _, o := range []files.Options{{Root: root, Closed: []string{filepath.Join(root, "own"), filepath.Join(root, "none")}}, {Root: filepath.Join(root, "own"), Closed: []string{root}}} {
		inner := o.Root != root
		for _, path := range []string{"own/config", "link", "dir/config", filepath.Join(root, "own/config")} {
			if inner && !filepath.IsAbs(path) {
				path = "config"
			}
			if e := effect(t, o, files.ReadFileName, map[string]any{"path": path}); e != tools.Reads|tools.Leaves {
				t.Errorf("the effect of reading %s is %q", path, e)
			}
			wantError(t, unasked(t, o, files.ReadFileName, map[string]any{"path": path}), "was not allowed")
			wantError(t, write(t, o, path, "x", false), "own settings and data")
			if path != "link" {
				wantError(t, write(t, o, filepath.Join(filepath.Dir(path), "new/x"), "x", true), "own settings and data")
			}
		}
	}
	o := files.Options{Root: root, Closed: []string{filepath.Join(root, "own")}}
	wantText(t, read(t, o, "in.txt"), "key", false)
	if out := unasked(t, o, files.SearchFilesName, map[string]any{"pattern": "key"}); out.Text != "deep/own/x:1: key\nin.txt:1: key" {
		t.Errorf("search: %q", out.Body())
	}
	if out := unasked(t, o, files.FindFilesName, map[string]any{"pattern": "config"}); !strings.Contains(out.Text, "no file matches") {
		t.Errorf("find: %q", out.Body())
	}
	if text, _, err := files.Tree(t.Context(), o); err != nil || strings.Contains(text, "config") {
		t.Errorf("tree: %q, %v", text, err)
	}
}

// The workspace may itself be reached through a link; paths of either form work.
func TestLinkedRoot(t *testing.T) {
	root := tree(t, map[string]string{"a.txt": "x"})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Skip(err)
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a.txt", link + "/a.txt", real + "/a.txt"} {
		wantText(t, read(t, files.Options{Root: link}, path), "x", false)
	}
}

func TestRelativeRoot(t *testing.T) {
	t.Chdir(tree(t, map[string]string{"a.txt": "x"}))
	o := files.Options{}
	tool, err := files.ReadFile(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // the workspace stays what it was
	res, err := tool.Run(t.Context(), json.RawMessage(`{"path":"a.txt"}`))
	if err != nil || res.Text != "x" {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestList(t *testing.T) {
	root := tree(t, map[string]string{
		"go.mod": "module x\n", ".hidden": "", "cmd/main.go": "x", "empty/": "",
		"latest": "-> cmd", "to-file": "-> go.mod", "dangling": "-> gone", "away": "-> /",
		"two\nlines": "x",
	})
	o := files.Options{Root: root}
	const want = ".hidden (0 bytes)\naway -> /\ncmd/\ndangling -> gone\nempty/\ngo.mod (9 bytes)\nlatest -> cmd/\nto-file -> go.mod\n\"two\\nlines\" (1 bytes)"
	for _, path := range []string{".", "", root, "cmd/.."} {
		t.Run("of "+path, func(t *testing.T) { wantText(t, list(t, o, path), want, false) })
	}
	out := call(t, t.Context(), o, files.ListDirName, map[string]any{})
	wantText(t, out, want, false)
	wantText(t, list(t, o, "latest"), "main.go (1 bytes)", false)
	wantText(t, list(t, o, "empty"), "(empty is empty)", false)
	wantError(t, list(t, o, "go.mod"), "go.mod is a file, not a directory")
	wantError(t, list(t, o, "cmb"), "did you mean cmd/?")
}

// A name with characters that show nothing is not taken for another.
func TestHiddenInNames(t *testing.T) {
	root := tree(t, map[string]string{"a\ufe0f": "x", "b\u2800": "x", "c\u3164": "x", "d\u200b": "x", "e\u2063": "x"})
	wantText(t, list(t, files.Options{Root: root}, "."), `"a\ufe0f" (1 bytes)`+"\n"+`"b\u2800" (1 bytes)`+"\n"+`"c\u3164" (1 bytes)`+"\n"+`"d\u200b" (1 bytes)`+"\n"+`"e\u2063" (1 bytes)`, false)
}

func TestListBounded(t *testing.T) {
	entries := map[string]string{}
	for i := range 1500 {
		entries[fmt.Sprintf("f%04d", i)] = ""
	}
	root := tree(t, entries)
	out := list(t, files.Options{Root: root}, ".")
	lines := strings.Split(out.Text, "\n")
	if len(lines) != 201 || lines[0] != "f0000 (0 bytes)" || lines[199] != "f0199 (0 bytes)" || lines[200] != "[200 of 1500 entries; 1300 more are not shown]" || !out.Truncated {
		t.Errorf("%d lines, %q … %q, truncated %v", len(lines), lines[0], lines[len(lines)-1], out.Truncated)
	}
	out = list(t, files.Options{Root: root, MaxEntries: 1500}, ".")
	if n := strings.Count(out.Text, "\n") + 1; n != 1500 || out.Truncated {
		t.Errorf("%d lines, truncated %v", n, out.Truncated)
	}
}

func TestCancelled(t *testing.T) {
	root := tree(t, map[string]string{"f": "x"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := files.Options{Root: root}
	wantError(t, call(t, ctx, o, files.ReadFileName, map[string]any{"path": "f"}), "context canceled")
	wantError(t, call(t, ctx, o, files.ListDirName, map[string]any{}), "context canceled")
}

func TestBadOptions(t *testing.T) {
	root := tree(t, map[string]string{"f": ""})
	for _, c := range []struct {
		o    files.Options
		want string
	}{
		{files.Options{Root: filepath.Join(root, "gone")}, "choose a directory that exists"},
		{files.Options{Root: filepath.Join(root, "f")}, "choose a directory that exists"},
	} {
		_, err := files.ReadFile(c.o)
		_, err2 := files.ListDir(c.o)
		for _, err := range []error{err, err2} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v, want %q", c.o, err, c.want)
			}
		}
	}
}
