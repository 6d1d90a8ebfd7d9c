package files_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mylm/tools"
	"mylm/tools/files"
)

func write(t *testing.T, o files.Options, path, content string, parents ...bool) tools.Outcome {
	t.Helper()
	args := map[string]any{"path": path, "content": content}
	if len(parents) > 0 {
		args["create_parents"] = parents[0]
	}
	return call(t, t.Context(), o, files.WriteFileName, args)
}

func edit(t *testing.T, o files.Options, path, old, new string) tools.Outcome {
	t.Helper()
	return call(t, t.Context(), o, files.EditFileName, map[string]any{"path": path, "old": old, "new": new})
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// nothingElse fails if dir has other entries than the names.
func nothingElse(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	have := []string{}
	for _, e := range entries {
		have = append(have, e.Name())
	}
	if strings.Join(have, " ") != strings.Join(names, " ") {
		t.Errorf("%s holds %q, want %q", dir, have, names)
	}
}

func TestWrite(t *testing.T) {
	root := tree(t, map[string]string{
		"old.txt": "one\ntwo\n", "dir/deep.txt": "deep", "link": "-> dir/deep.txt", "abs": "-> $ROOT/dir/deep.txt", "dirlink": "-> $ROOT/dir", "crlf.txt": "a\r\nb\r\n",
	})
	o := files.Options{Root: root}
	for _, c := range []struct {
		path, content string
		parents       bool
		file, says    string
	}{
		{path: "new.txt", content: "x\ny", file: "new.txt", says: "wrote new.txt: a new file, 3 bytes, 2 lines"},
		{path: "empty", content: "", file: "empty", says: "wrote empty: a new file, 0 bytes, 0 lines"},
		{path: "old.txt", content: "three\n", file: "old.txt", says: "wrote old.txt over 8 bytes: now 6 bytes, 1 line"},
		{path: "old.txt", content: "three\n", file: "old.txt", says: "old.txt has exactly this content already; nothing was written"},
		{path: "a/b/c.txt", content: "c\n", parents: true, file: "a/b/c.txt", says: "wrote a/b/c.txt: a new file, 2 bytes, 1 line"},
		{path: "link", content: "1", file: "dir/deep.txt", says: "wrote link (which is dir/deep.txt) over 4 bytes: now 1 byte, 1 line"},
		{path: "abs", content: "22", file: "dir/deep.txt", says: "wrote abs (which is dir/deep.txt) over 1 byte: now 2 bytes, 1 line"},
		{path: "dirlink/other", content: "3", file: "dir/other", says: "wrote dirlink/other (which is dir/other): a new file, 1 byte, 1 line"},
		{path: filepath.Join(root, "inside"), content: "4", file: "inside", says: "wrote " + filepath.Join(root, "inside") + ": a new file, 1 byte, 1 line"},
		{path: "crlf.txt", content: "a\nb\n", file: "crlf.txt", says: "wrote crlf.txt over 6 bytes: now 4 bytes, 2 lines\n[the file had CRLF at the ends of its lines and has LF now]"},
		{path: "OLD.txt", content: "5", file: "OLD.txt", says: "wrote OLD.txt: a new file, 1 byte, 1 line\n[there is also old.txt, a name that differs only in case]"},
	} {
		t.Run(c.path, func(t *testing.T) {
			want := tools.Writes
			if strings.Contains(c.says, "nothing was written") {
				want = tools.Reads
			}
			if e := effect(t, o, files.WriteFileName, map[string]any{"path": c.path, "content": c.content, "create_parents": c.parents}); e != want {
				t.Errorf("the effect is %q", e)
			}
			out := write(t, o, c.path, c.content, c.parents)
			wantText(t, out, c.says, false)
			if got := content(t, filepath.Join(root, c.file)); got != c.content {
				t.Errorf("the file holds %q", got)
			}
		})
	}
	for name, target := range map[string]string{"link": "dir/deep.txt", "abs": filepath.Join(root, "dir/deep.txt")} {
		if got, err := os.Readlink(filepath.Join(root, name)); err != nil || got != target {
			t.Errorf("the link %s leads to %s, %v", name, got, err)
		}
	}
	nothingElse(t, filepath.Join(root, "dir"), "deep.txt", "other")
}

// A directory with very many files is not searched for a name that differs in case.
func TestWriteCrowded(t *testing.T) {
	for n, want := range map[int]string{100: "\n[there is also old.txt, a name that differs only in case]", 300: ""} {
		all := map[string]string{"old.txt": "x"}
		for i := range n {
			all[fmt.Sprint(i)] = "x"
		}
		wantText(t, write(t, files.Options{Root: tree(t, all)}, "OLD.txt", "5", false), "wrote OLD.txt: a new file, 1 byte, 1 line"+want, false)
	}
}

// A write that cannot succeed reports why without a question, and changes nothing.
func TestWriteErrors(t *testing.T) {
	root := tree(t, map[string]string{
		"file": "x", "dir/": "", "closed": "x", ".git/config": "x", "sub/.git/hooks/": "",
		"out": "-> ../secret.txt", "outabs": "-> $ROOT/../secret.txt", "up": "-> ..", "loop": "-> loop", "dangling": "-> gone.txt", "away": "-> ../gone.txt",
	})
	secret := filepath.Join(filepath.Dir(root), "secret.txt")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "closed"), 0o444); err != nil {
		t.Fatal(err)
	}
	o := files.Options{Root: root}
	const outside = "leads outside the workspace"
	for path, want := range map[string]string{
		"../new.txt": outside, "../secret.txt": outside, "dir/../../secret.txt": outside, secret: outside, root + "x": outside,
		"out": outside, "outabs": outside, "up/secret.txt": outside, "up/new.txt": outside, "up/new/new.txt": outside, "/": outside, "..": outside,
		"dangling": "is a link to gone.txt, which does not exist", "away": "which does not exist", "loop": "cannot be written",
		"dir": "dir is a directory", ".": "is a directory", "new/": "names a directory", "dir/": "is a directory",
		"no/such/dir.txt": "there is no directory no/such; create_parents makes it",
		"file/below":      "not a directory",
		"closed":          "closed is read-only (mode 0444)",
		"":                "the path is empty", "a\x00b": "NUL",
		"two\nlines": "control characters", "bad\xffname": "invalid UTF-8", "esc\x1b[31m": "control characters",
		".git/config": "only git should write", ".GIT/hooks/pre-commit": "only git should write", "sub/.git/hooks/post-commit": "only git", ".git ./x": "only git",
		strings.Repeat("x", 5000): "the path is 5000 bytes long", strings.Repeat("y", 300): "too long",
	} {
		t.Run(path, func(t *testing.T) {
			args := map[string]any{"path": path, "content": "new", "create_parents": strings.HasPrefix(path, "up/") || strings.HasPrefix(path, "file/")}
			out := call(t, t.Context(), o, files.WriteFileName, args)
			wantError(t, out, want)
			if len(out.Body()) > 12_000 {
				t.Errorf("the error has %d bytes", len(out.Body()))
			}
			if want != "too long" { // only the system knows its bound
				if e := effect(t, o, files.WriteFileName, args); e != tools.Reads {
					t.Errorf("the effect is %q: somebody would be asked", e)
				}
			}
			wantError(t, edit(t, o, path, "x", "y"), "")
		})
	}
	if got := content(t, secret); got != "secret" {
		t.Errorf("the file outside holds %q", got)
	}
	nothingElse(t, filepath.Dir(root), "secret.txt", "workspace")
	nothingElse(t, filepath.Join(root, "dir"))
	if got := content(t, filepath.Join(root, ".git/config")); got != "x" {
		t.Errorf("git's configuration is %q", got)
	}
}

// A call that was allowed to read only does not write, whatever it finds.
func TestUngrantedWrite(t *testing.T) {
	root := tree(t, map[string]string{"f": "x"})
	o := files.Options{Root: root}
	wantError(t, unasked(t, o, files.WriteFileName, map[string]any{"path": "f", "content": "y"}), "nothing was written; try again")
	wantError(t, unasked(t, o, files.EditFileName, map[string]any{"path": "f", "old": "x", "new": "y"}), "nothing was written; try again")
	if got := content(t, filepath.Join(root, "f")); got != "x" {
		t.Errorf("the file holds %q", got)
	}
}

func TestEdit(t *testing.T) {
	const code = "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n}\n"
	for _, c := range []struct{ name, text, old, new, want string }{
		{"a line", code, "return 1", "return 3", strings.Replace(code, "return 1", "return 3", 1)},
		{"lines", code, "func b() {\n\treturn 2\n}\n", "", "func a() {\n\treturn 1\n}\n\n"},
		{"at the start", "a b", "a", "c", "c b"},
		{"all of it", "a", "a", "b", "b"},
		{"CRLF", "a\r\nb\r\nc\r\n", "a\nb", "A\nB\nB", "A\r\nB\r\nB\r\nc\r\n"},
		{"CRLF given as such", "a\r\nb\r\n", "a\r\nb", "A\r\nB", "A\r\nB\r\n"},
		{"a line of CRLF to two", "a\r\nb\r\n", "b", "c\nd", "a\r\nc\r\nd\r\n"},
		{"mixed ends, as they are", "a\nb\nc\r\n", "a\nb", "A\nB", "A\nB\nc\r\n"},
		{"mixed ends, as CRLF", "a\r\nb\r\nc\n", "a\nb", "A\nB", "A\r\nB\r\nc\n"},
		{"Latin-1 stays", "a caf\xe9 in Paris\n", "Paris", "Rome", "a caf\xe9 in Rome\n"},
		{"byte order mark stays", "\uFEFFa\n", "a", "b", "\uFEFFb\n"},
		{"no newline at the end", "a\nb", "b", "c", "a\nc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, map[string]string{"f": c.text})
			out := edit(t, files.Options{Root: root}, "f", c.old, c.new)
			if out.Error != "" || !strings.HasPrefix(out.Text, "edited f:\n@@ ") {
				t.Fatalf("%+v", out)
			}
			if got := content(t, filepath.Join(root, "f")); got != c.want {
				t.Errorf("the file holds %q, want %q", got, c.want)
			}
			nothingElse(t, root, "f")
		})
	}
}

func TestEditErrors(t *testing.T) {
	root := tree(t, map[string]string{
		"f": "func main() {\n\tfmt.Println(\"hello, world\")\n\treturn\n}\n\nfunc other() {\n\treturn\n}\n", "aaa": "aaa", "bin": "a\x00b", "README.md": "x", "dir/": "",
	})
	o := files.Options{Root: root}
	for _, c := range []struct {
		path, old, new string
		want           []string
	}{
		{"f", "return", "x", []string{"old occurs 2 times in f (at lines 3, 7)", "more of the lines around"}},
		{"aaa", "aa", "x", []string{"old occurs 2 times in aaa (at lines 1, 1)"}},
		{"f", "func main() {\n    fmt.Println(\"hello, world\")", "x", []string{"with other white space it does, at line 1", "\n\tfmt.Println(\"hello, world\")"}},
		{"f", "fmt.Printn(\"hello, wrld\")", "x", []string{"the most similar lines start at 2", "\tfmt.Println"}},
		{"f", "0123456789", "x", []string{"old does not occur in f, and neither does similar text; read the file again"}},
		{"f", "", "x", []string{"old is empty", "write_file"}},
		{"f", "x", "x", []string{"the same"}},
		{"readme.md", "x", "y", []string{"no such file", "did you mean README.md?"}},
		{"bin", "a", "b", []string{"bin is a binary file"}},
		{"dir", "a", "b", []string{"dir is a directory"}},
		{"../f", "a", "b", []string{"leads outside the workspace", "written"}},
	} {
		t.Run(c.path+" "+c.old, func(t *testing.T) {
			wantError(t, edit(t, o, c.path, c.old, c.new), c.want...)
			if e := effect(t, o, files.EditFileName, map[string]any{"path": c.path, "old": c.old, "new": c.new}); e != tools.Reads {
				t.Errorf("the effect is %q: somebody would be asked", e)
			}
		})
	}
	many := tree(t, map[string]string{"f": strings.Repeat("x\n", 100_000)})
	wantError(t, edit(t, files.Options{Root: many}, "f", "x", "y"), "old occurs 100000 times", "8, …)")
}

func TestPreview(t *testing.T) {
	root := tree(t, map[string]string{"f": "one\ntwo\nthree\n", "bin": "a\x00b", "link": "-> f"})
	big := strings.Repeat("0123456789\n", 200_000)
	if err := os.WriteFile(filepath.Join(root, "big"), []byte(big), 0o600); err != nil {
		t.Fatal(err)
	}
	o := files.Options{Root: root}
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{files.EditFileName, map[string]any{"path": "f", "old": "two", "new": "2"}, "edit_file f: the changes\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"},
		{files.WriteFileName, map[string]any{"path": "f", "content": "one\nthree\n"}, "write_file f: the changes\n@@ -1,3 +1,2 @@\n one\n-two\n three\n"},
		{files.WriteFileName, map[string]any{"path": "link", "content": "one\nthree\n"}, "write_file link (which is f): the changes\n@@ -1,3 +1,2 @@\n one\n-two\n three\n"},
		{files.WriteFileName, map[string]any{"path": "new", "content": "a\nb"}, "write_file new: a new file, 3 bytes, 2 lines\n+a\n+b"},
		{files.WriteFileName, map[string]any{"path": "f", "content": "one\ntwo\nthree\n"}, "write_file f: nothing changes"},
		{files.WriteFileName, map[string]any{"path": "bin", "content": "a"}, "write_file bin: 3 bytes there are replaced by 1 byte, 1 line\n+a"},
		{files.WriteFileName, map[string]any{"path": "big", "content": "a"}, "write_file big: 2200000 bytes there are replaced by 1 byte, 1 line\n+a"},
	} {
		b, err := json.Marshal(c.args)
		if err != nil {
			t.Fatal(err)
		}
		inv, err := registry(t, o).Prepare(c.tool, b)
		if err != nil {
			t.Fatal(err)
		}
		if inv.Preview != c.want {
			t.Errorf("%s: %q, want %q", b, inv.Preview, c.want)
		}
	}
	inv, err := registry(t, o).Prepare(files.WriteFileName, json.RawMessage(`{"path":"new","content":"`+strings.Repeat("x", 1<<20)+`"}`))
	if err != nil || len(inv.Preview) > 300<<10 || !strings.Contains(inv.Preview, "bytes more are not shown]") {
		t.Errorf("a preview of %d bytes, %v", len(inv.Preview), err)
	}
}

// A call that changes nothing needs no approval; if the file has changed since it
// was checked, it is refused.
func TestSameContent(t *testing.T) {
	root := tree(t, map[string]string{"f": "one\n"})
	inv, err := registry(t, files.Options{Root: root}).Prepare(files.WriteFileName, json.RawMessage(`{"path":"f","content":"one\n"}`))
	if err != nil || inv.Effect != tools.Reads {
		t.Fatalf("effect %v, %v", inv.Effect, err)
	}
	if o := inv.Run(t.Context(), patience); !o.Success() || !strings.Contains(o.Text, "exactly this content already") {
		t.Errorf("%+v", o)
	}
	path := filepath.Join(root, "f")
	if err := os.WriteFile(path, []byte("two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := inv.Run(t.Context(), patience)
	if b, err := os.ReadFile(path); o.Success() || err != nil || string(b) != "two\n" {
		t.Errorf("%+v, and the file is %q, %v", o, b, err)
	}
}
