//go:build unix

package command_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mylm/tools/command"
)

// writer is a program that reads and, with some flags, writes, by its manual.
type writer struct {
	program string
	flags   string   // letters without a value
	valued  string   // letters that take one
	writes  []string // flags that write, run something or do not end
	getopt  bool     // what follows a letter with a value is its value: sort -to is no -o
}

var writers = []writer{
	{"git log", "pszabw", "nUSG", []string{"--output=main.go", "--output main.go", "--ext-diff", "--textconv", "-O./x"}, false},
	{"git diff", "pszabwMC", "nUSG", []string{"--output=main.go", "--output main.go", "--ext-diff", "--textconv", "-O./x"}, false},
	{"git show", "pszabwMC", "nUSG", []string{"--output=main.go", "--output main.go", "--ext-diff", "--textconv", "-O./x"}, false},
	{"git blame", "wsMCe", "L", []string{"--contents main.go", "-S main.go"}, true},
	{"git grep", "niIlcw", "ABCe", []string{"-O", "-O./x", "--open-files-in-pager=./x", "-f a.txt"}, true},
	{"xxd", "pbiu", "lscg", []string{"-r", "-revert"}, false},
	{"tree", "adfshpugDiCnF", "LIP", []string{"-o", "-R", "-l", "--fromfile"}, false},
	{"sort", "nruhVbfdiMscCzg", "kt", []string{"-o", "-T src", "--output=main.go", "--compress-program=./x"}, true},
	{"rg", "nNilcwvoFSsHhaUx.", "ABCmegtT", []string{"-L", "-z", "-f a.txt", "--pre ./x", "--hostname-bin ./x"}, true},
	{"grep", "nilLcwxvoEFGPsqHhraI", "ABCme", []string{"-R", "-f a.txt", "-f a.txt"}, true},
	{"diff", "uqywBbiacps", "UC", []string{"-r", "-l", "--to-file=x"}, true},
	{"tail", "qv", "nc", []string{"-f", "-F", "--follow", "--retry"}, true},
	{"file", "bi", "", []string{"-C", "-f a.txt", "-m a.txt", "-z"}, true},
	{"sed", "nE", "", []string{"-i", "-s -i", "-f a.txt", "--in-place"}, true},
	{"date", "uR", "", []string{"-s 12:00", "-f a.txt", "-r link"}, true},
	{"jq", "rcnesSMCaj", "", []string{"-f a.txt", "-L src", "--rawfile x a.txt"}, true},
	{"uniq", "cdui", "fsw", nil, true},
	{"nl", "", "bwsnv", nil, true},
	{"od", "cxbdov", "AtNj", nil, true},
	{"cut", "sn", "dfcb", nil, true},
	{"cat", "nbsAetvETu", "", nil, true},
	{"ls", "aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1", "", nil, true},
	{"wc", "lwcmL", "", []string{"--files0-from=a.txt"}, true},
	{"du", "shackmbxS", "d", []string{"--files0-from=a.txt", "-L"}, true},
	{"stat", "", "c", []string{"-L"}, true},
	{"head", "qv", "nc", nil, true},
	{"cmp", "lsb", "", nil, true},
	{"comm", "123", "", nil, true},
	{"fold", "s", "w", nil, true},
	{"expand", "", "t", nil, true},
	{"find", "", "", []string{"-delete", "-fprint main.go", "-fls main.go", "-exec touch main.go", "-L"}, true},
}

// TestBundles: no flag that writes hides in a word with others.
func TestBundles(t *testing.T) {
	at := workspace(t)
	n := 0
	for _, w := range writers {
		for _, flag := range w.writes {
			var lines []string
			for _, letter := range w.valued + w.flags {
				valued := strings.ContainsRune(w.valued, letter)
				lines = append(lines, fmt.Sprintf("%s %s -%c 2 a.txt main.go", w.program, flag, letter))
				if !valued || w.program == "xxd" {
					lines = append(lines, fmt.Sprintf("%s -%c %s a.txt main.go", w.program, letter, flag))
				}
				if short := strings.TrimPrefix(flag, "-"); flag[1] != '-' && w.program != "find" {
					name, rest, _ := strings.Cut(short, " ")
					lines = append(lines, fmt.Sprintf("%s -%s%c %s a.txt main.go", w.program, name, letter, rest))
					if !valued || !w.getopt && len(name) == 1 {
						lines = append(lines, fmt.Sprintf("%s -%c%s %s a.txt main.go", w.program, letter, name, rest),
							fmt.Sprintf("%s -%c%s x main.go", w.program, letter, name))
					}
				}
			}
			lines = append(lines, w.program+" "+flag+" a.txt", w.program+" a.txt "+flag+" main.go")
			for _, line := range lines {
				n++
				if command.Analyse(line, at).OnlyReads {
					t.Errorf("%q only reads", line)
				}
			}
		}
	}
	if n < 1000 {
		t.Errorf("only %d lines", n)
	}
}

// TestRandomBundlesLeaveNoTrace runs what only reads of lines that chance put
// together from flags and files, and nothing is different afterwards.
func TestRandomBundlesLeaveNoTrace(t *testing.T) {
	at := workspace(t)
	repository(t, at)
	must(t, os.WriteFile(at.Root+"/main.go", []byte("package main\n"), 0o600))
	must(t, os.Remove(at.Root+"/dir/pipe")) // what is only in the way of a quick test
	as := ordinary(t, filepath.Dir(at.Root))
	random := rand.New(rand.NewPCG(1, 2))
	words := func(list []string, most int) (out string) {
		for range random.IntN(most + 1) {
			out += " " + list[random.IntN(len(list))]
		}
		return out
	}
	bundle := func(w writer) string {
		letters := w.flags + w.valued + w.valued
		for _, f := range w.writes {
			if len(f) > 1 && f[1] != '-' && w.program != "find" {
				letters += f[1:2]
			}
		}
		if letters == "" {
			return ""
		}
		out := " -"
		for range 1 + random.IntN(3) {
			out += string(letters[random.IntN(len(letters))])
		}
		return out + words([]string{"2", "a.txt", "x"}, 1)
	}
	files := []string{"a.txt", "b.txt", "main.go", "src/x.go", "x", "none", ".", "src", "1", "--", "'.'", "HEAD"}
	before := snapshot(t, filepath.Dir(at.Root))
	ran := 0
	for try := 0; ran < 400 && try < 60_000; try++ {
		w := writers[random.IntN(len(writers))]
		if try%2 == 0 { // those that do not read flags as getopt does
			w = writers[random.IntN(7)]
		}
		line := w.program + bundle(w)
		if random.IntN(3) == 0 {
			line += bundle(w)
		}
		daring := len(w.writes) > 0 && random.IntN(2) == 0
		if daring {
			line += " " + w.writes[random.IntN(len(w.writes))]
		}
		line += words(files, 3)
		if !daring && random.IntN(20) > 0 { // looking is cheap, running is not
			continue
		}
		if name, _, _ := strings.Cut(w.program, " "); !command.Analyse(line, at).OnlyReads || !installed(name) {
			continue
		}
		ran++
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.Dir, cmd.SysProcAttr = at.Root, as
		cmd.Env = append(at.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=diff.autoRefreshIndex", "GIT_CONFIG_VALUE_0=false") // what git knows about times is no change
		started(t, cmd.Run())
		if ctx.Err() != nil {
			t.Errorf("%q does not end", line)
		}
		cancel()
		if after := snapshot(t, filepath.Dir(at.Root)); after != before {
			t.Fatalf("%q changed something:\n%s", line, difference(before, after))
		}
	}
	if ran < 200 {
		t.Errorf("only %d lines were run", ran)
	}
}

// started fails if a command did not even start: what it says about itself may
// be anything.
func started(t *testing.T, err error) {
	t.Helper()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
}

// difference is what stands in the second text alone.
func difference(before, after string) string {
	var out strings.Builder
	for line := range strings.Lines(after) {
		if !strings.Contains(before, line) {
			fmt.Fprintf(&out, "%.200q\n", line)
		}
	}
	return out.String()
}

func installed(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// repository puts one that git made in the place of the one that is there.
func repository(t *testing.T, at command.Place) {
	t.Helper()
	if !installed("git") {
		return
	}
	must(t, os.RemoveAll(at.Root+"/.git"))
	for _, args := range [][]string{{"init", "-q", "--template="}, {"add", "a.txt", "src"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = at.Root
		cmd.Env = append(os.Environ(), "HOME="+at.Root+"/..", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	must(t, os.WriteFile(at.Root+"/a.txt", []byte("changed\n"), 0o600))
}

// ordinary gives the directory to somebody who may do nothing else, where the
// test is root, and tells how to be him.
func ordinary(t *testing.T, dir string) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	const nobody = 65534
	must(t, os.Chmod(filepath.Dir(dir), 0o711)) // the test's own directory, which is on the way
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	}))
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}
