//go:build unix

package command_test

import (
	"encoding/binary"
	"fmt"
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
	"a pattern for the parent":      {nil, "cat .?/outside", "outside"},
	"one for all that is hidden":    {nil, "ls .*", "outside"},
	"one further down":              {map[string]string{"sub/": ""}, "head -c 100 sub/.*/x", "outside"},
	"one with a set":                {nil, "ls .[.]", "outside"},
	"one of a set":                  {nil, "ls [.][.]", "outside"},
	"one that git would not judge":  {nil, "git diff .?/outside x", "outside"},
	"a pattern for hidden files":    {map[string]string{".gitignore": "x"}, "cat .git?gnore .g*e", ""},
	"a set of other letters":        {map[string]string{"abc": ""}, "cat [a-c]* [!x]*", ""},
	"a name like an old flag":       {map[string]string{"t/+1f": "", "t/x": ""}, "cd t && tail *", "taken for a flag"},
	"a name like a variable":        {map[string]string{"t/NF=400000000": "", "t/z": ""}, "cd t && awk '{print}' *", "takes for a variable"},
	"the same behind a directory":   {map[string]string{"t/NF=4": "", "t/+1f": ""}, "tail t/* && awk '{print}' t/*", ""},
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
	"the step of a rebase":          {map[string]string{".git/rebase-merge/message": "-> /etc/hostname"}, "git status", ".git/rebase-merge/message"},
	"where a bisection began":       {map[string]string{".git/BISECT_START": "-> /etc/hostname"}, "git status", ".git/BISECT_START"},
	"how deep a clone is":           {map[string]string{".git/shallow": "-> ../../outside"}, "git log", ".git/shallow"},
	"a link that nobody knows":      {map[string]string{".git/a/b/c": "-> x"}, "git log", ".git/a/b/c"},
	"a pipe that git waits for":     {map[string]string{".git/MERGE_MSG": "|"}, "git status", ".git/MERGE_MSG"},
	"a pack of another":             {map[string]string{".git/objects/pack/x.idx": "-> /elsewhere/x.idx"}, "git log", ".git/objects/pack/x.idx"},
	"all objects of another":        {map[string]string{".git/objects/": "", ".git/objects/info": "-> /elsewhere/info"}, "git log", ".git/objects/info"},
	"what a rebase leaves":          {map[string]string{".git/rebase-merge/message": "x", ".git/BISECT_START": "x", ".git/shallow": ""}, "git status", ""},
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

// indexEntry is one of an index in version 2, or 4 where what it keeps of the name before is given.
func indexEntry(mode uint32, flags uint16, name string, kept ...byte) string {
	b := make([]byte, 62)
	binary.BigEndian.PutUint32(b[24:], mode)
	binary.BigEndian.PutUint16(b[60:], flags)
	b = append(append(b, kept...), name+"\x00"...)
	for len(kept) == 0 && len(b)%8 != 0 {
		b = append(b, 0)
	}
	return string(b)
}

// TestCraftedIndex: an index that git may read in another way is not read at all.
func TestCraftedIndex(t *testing.T) {
	const file, commit = 0o100644, 0o160000
	long := strings.Repeat("x", 5000)
	plain := indexEntry(file, 5, "a.txt")
	hidden := indexEntry(file, 5, "b.txt") + "XTRA\x00\x00\x00\x48" + indexEntry(commit, 4, "subm") // in the name of the entry before, and behind it
	for name, tt := range map[string]struct {
		version, count byte
		entries        string
		why            string
	}{
		"as git writes it":         {2, 1, plain, ""},
		"a long name":              {2, 2, indexEntry(file, 0xfff, long) + plain, ""},
		"the usual extensions":     {2, 1, plain + "TREE\x00\x00\x00\x01xREUC\x00\x00\x00\x00", ""},
		"names that share":         {4, 2, indexEntry(file, 5, "a.txt", 0) + indexEntry(file, 5, "b.md", 4), ""},
		"a commit":                 {2, 1, indexEntry(commit, 4, "subm"), "submodules"},
		"a name with more behind":  {2, 2, indexEntry(file, 5+uint16(len(hidden)), "a.txt") + hidden, "index"},
		"a name cut short":         {2, 1, indexEntry(file, 3, "a.txt"), "index"},
		"a short name called long": {2, 1, indexEntry(file, 0xfff, "a.txt"), "index"},
		"a long one called short":  {2, 1, indexEntry(file, 5000&0xfff, long), "index"},
		"more flags in version 2":  {2, 1, indexEntry(file, 0x4005, "a.txt"), "index"},
		"a wrong share":            {4, 2, indexEntry(file, 5, "a.txt", 0) + indexEntry(file, 5, "b.md", 3), "index"},
		"more than there is":       {4, 1, indexEntry(file, 5, "a.txt", 4), "index"},
		"a share without end":      {4, 1, indexEntry(file, 5, "a.txt", 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0), "index"},
		"entries elsewhere":        {2, 1, plain + "IEOT\x00\x00\x00\x04\x00\x00\x00\x01", "index"},
		"extensions elsewhere":     {2, 1, plain + "EOIE\x00\x00\x00\x18" + strings.Repeat("\x00", 24), "index"},
		"an extension of its own":  {2, 1, plain + "XTRA\x00\x00\x00\x00", "index"},
		"no sum at the end":        {2, 1, plain[:len(plain)-20], "index"},
	} {
		t.Run(name, func(t *testing.T) {
			at := workspace(t)
			text := "DIRC\x00\x00\x00" + string(tt.version) + "\x00\x00\x00" + string(tt.count) + tt.entries
			bring(t, at.Root+"/.git/index", text+strings.Repeat("\x00", 20), false)
			asksFor(t, "git status", tt.why, at)
		})
	}
}

// TestManyFiles: the question comes at once, however many files an archive has for .git.
func TestManyFiles(t *testing.T) {
	at := workspace(t)
	for i := range 20_050 {
		must(t, os.Link(at.Root+"/.git/HEAD", fmt.Sprintf("%s/.git/refs/%d", at.Root, i)))
	}
	asksFor(t, "git status", "too many files", at)
}

// BenchmarkRepository looks at a large one before git packs it.
func BenchmarkRepository(b *testing.B) {
	at := workspace(b)
	for i := range 6000 {
		bring(b, fmt.Sprintf("%s/.git/objects/%02x/%d", at.Root, i%256, i), "", false)
		bring(b, fmt.Sprintf("%s/.git/refs/remotes/%d/%d", at.Root, i%20, i), "", i%2 == 0)
	}
	for b.Loop() {
		if a := command.Analyse("git status", at); !a.OnlyReads {
			b.Fatal(a.Why)
		}
	}
}
