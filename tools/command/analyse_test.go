//go:build unix

package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"mylm/tools/command"
)

// workspace is a directory with files, links, a pipe and a repository as git
// clone leaves it.
func workspace(t testing.TB) command.Place {
	t.Helper()
	base := t.TempDir()
	root, outside := filepath.Join(base, "work"), filepath.Join(base, "outside")
	for _, dir := range []string{root + "/src", root + "/.git/objects", root + "/.git/refs", root + "/dir", outside, base + "/bin"} {
		must(t, os.MkdirAll(dir, 0o700))
	}
	for name, text := range map[string]string{
		"a.txt": "a\n", "b.txt": "b\n", "src/x.go": "package x\n", "data.json": "{}\n", "go.list": "x\n", "größe.txt": "", "отчет.txt": "",
		".git/HEAD": "ref: refs/heads/main\n", ".git/config": cloned,
		"../outside/secret": "s\n",
	} {
		must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	must(t, os.Symlink("../outside/secret", root+"/link"))
	must(t, os.Symlink("../outside/none", root+"/dangling"))
	must(t, os.Symlink("../outside", root+"/linkdir"))
	must(t, os.Symlink("a.txt", root+"/inner"))
	must(t, syscall.Mkfifo(root+"/dir/pipe", 0o600))
	return command.Place{Root: root, Env: []string{"PATH=" + base + "/bin:/usr/bin:/bin", "HOME=" + base}}
}

const cloned = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
	logallrefupdates = true
[remote "origin"]
	url = https://example.com/x.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
	remote = origin
	merge = refs/heads/main
`

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTable tells for each command whether it only reads, leaves the workspace,
// or asks for another reason.
func TestTable(t *testing.T) {
	at := workspace(t)
	for verdict, list := range map[string]string{"reads": reads, "leaves": leaves, "asks": asks} {
		n := 0
		for line := range strings.Lines(list) {
			line = strings.TrimSuffix(line, "\n")
			if line == "" {
				continue
			}
			n++
			for written, means := range map[string]string{`\n`: "\n", `\r`: "\r", `\t`: "\t", `\0`: "\x00"} {
				line = strings.ReplaceAll(line, "%"+written, means)
			}
			check(t, at, line, verdict)
		}
		if n < 20 {
			t.Errorf("only %d commands that %s", n, verdict)
		}
	}
	for _, line := range odd {
		check(t, at, line, "asks")
	}
	check(t, at, strings.Repeat("ls;", 50), "reads")
	check(t, at, strings.Repeat("ls;", 51), "asks")
}

func check(t *testing.T, at command.Place, line, want string) {
	t.Helper()
	a := command.Analyse(line, at)
	got := "asks"
	switch {
	case a.OnlyReads:
		got = "reads"
	case a.Leaves:
		got = "leaves"
	}
	if got != want {
		t.Errorf("%q %s (%s), want %s", line, got, a.Why, want)
	}
	if (a.Why == "") != a.OnlyReads {
		t.Errorf("%q: only reads %v, but the reason is %q", line, a.OnlyReads, a.Why)
	}
}

func TestPath(t *testing.T) {
	for name, path := range map[string]string{
		"a point": ".:/usr/bin", "empty element": "/usr/bin-none::/usr/bin", "empty": "", "relative": "node_modules/.bin:/usr/bin:/bin",
		"in the workspace": "$ROOT/src:/usr/bin:/bin", "through a link": "$ROOT/../tolink:/usr/bin:/bin",
	} {
		t.Run(name, func(t *testing.T) {
			at := workspace(t)
			must(t, os.Symlink(at.Root+"/src", at.Root+"/../tolink"))
			at.Env = []string{"PATH=" + strings.ReplaceAll(path, "$ROOT", at.Root)}
			check(t, at, "ls", "asks")
		})
	}
	at := workspace(t)
	at.Env = []string{"PATH=/usr/bin:/bin:."} // ls is found before
	check(t, at, "ls", "reads")
	at.Env = append(at.Env, "BASH_FUNC_ls%%=() { rm x; }")
	check(t, at, "ls", "asks")
}

// TestChangedDirectory: what follows cd is judged where it leads to.
func TestChangedDirectory(t *testing.T) {
	at := workspace(t)
	must(t, os.Symlink("../../outside/secret", filepath.Join(at.Root, "src", "a.txt")))
	check(t, at, "cat a.txt", "reads")
	check(t, at, "cd src && cat a.txt", "leaves")
	check(t, at, "cd src && cat < a.txt", "leaves")
	check(t, at, "cd src && cat *.txt", "leaves")
	check(t, at, "cd src && cat x.go; cat a.txt", "leaves")
	at.Env = append(at.Env, "CDPATH=..")
	check(t, at, "cd src && ls", "asks")
}

func TestPatternsThatBecomeFlags(t *testing.T) {
	at := workspace(t)
	check(t, at, "sort *.txt", "reads")
	must(t, os.WriteFile(filepath.Join(at.Root, "-oa.txt"), nil, 0o600))
	check(t, at, "sort *.txt", "asks")
	check(t, at, "sort ./*.txt", "reads")
	check(t, at, "cat *", "asks")
}

func TestEnvironment(t *testing.T) {
	at := workspace(t)
	check(t, at, "rg foo", "reads")
	check(t, at, "go version", "reads")
	must(t, os.WriteFile(filepath.Join(at.Root, "go.mod"), []byte("module x\ntoolchain go1.99.9\n"), 0o600))
	check(t, at, "go version", "asks")
	env := at.Env
	at.Env = append(env, "GOTOOLCHAIN=local")
	check(t, at, "go version", "reads")
	at.Env = append(env, "RIPGREP_CONFIG_PATH="+at.Root+"/a.txt")
	check(t, at, "rg foo", "asks")
	at.Env = append(env, "RIPGREP_CONFIG_PATH=a.txt")
	check(t, at, "rg foo", "asks")
	at.Env = append(env, "GIT_DIR=/elsewhere")
	check(t, at, "git log", "asks")
}

func TestGit(t *testing.T) {
	config := func(text string) func(testing.TB, command.Place) {
		return func(t testing.TB, at command.Place) {
			must(t, os.WriteFile(at.Root+"/.git/config", []byte(text), 0o600))
		}
	}
	file := func(name string) func(testing.TB, command.Place) {
		return func(t testing.TB, at command.Place) {
			must(t, os.MkdirAll(filepath.Dir(at.Root+"/"+name), 0o700))
			must(t, os.WriteFile(at.Root+"/"+name, []byte("x"), 0o700))
		}
	}
	for name, test := range map[string]struct {
		set  func(testing.TB, command.Place)
		want string
	}{
		"cloned":              {func(testing.TB, command.Place) {}, "reads"},
		"no configuration":    {config(""), "reads"},
		"editors' notes":      {config(cloned + "\tvscode-merge-base = origin/main\n[lfs]\n\trepositoryformatversion = 0\n"), "reads"},
		"another part of lfs": {config("[lfs]\n\tcustomtransfer = ./evil\n"), "asks"},
		"comments":            {config("# x\n; y\n\n[core]\n\tbare = false\n"), "reads"},
		"monitor":             {config(cloned + "[core]\n\tfsmonitor = ./evil\n"), "asks"},
		"monitor in capitals": {config(cloned + "[CORE]\nFSMONITOR=./evil\n"), "asks"},
		"on one line":         {config("[core] fsmonitor = ./evil\n"), "asks"},
		"behind a setting":    {config("[core]\nbare = false \\\nfsmonitor = ./evil\n"), "asks"},
		"in a subsection":     {config("[diff \"x\"]\ntextconv = ./evil\n"), "asks"},
		"external diff":       {config("[diff]\nexternal = ./evil\n"), "asks"},
		"filter":              {config("[filter \"x\"]\nclean = ./evil\n"), "asks"},
		"signature":           {config("[gpg]\nprogram = ./evil\n[log]\nshowSignature = true\n"), "asks"},
		"include":             {config("[include]\npath = ../evil\n"), "asks"},
		"work tree":           {config("[core]\nworktree = /\n"), "asks"},
		"pager":               {config("[core]\npager = ./evil\n"), "asks"},
		"alias":               {config("[alias]\nstatus = !./evil\n"), "asks"},
		"promisor":            {config("[remote \"o\"]\npromisor = true\nuploadpack = ./evil\n"), "asks"},
		"old subsections":     {config("[core.x]\nfsmonitor = ./evil\n"), "asks"},
		"carriage return":     {config("[core]\r\n\tbare = false\r\n"), "asks"},
		"hook":                {file(".git/hooks/post-index-change"), "asks"},
		"alternates":          {file(".git/objects/info/alternates"), "asks"},
		"modules":             {file(".git/modules/x/config"), "asks"},
		"work tree settings":  {file(".git/config.worktree"), "asks"},
		"broken index":        {file(".git/index"), "asks"},
		"a file": {func(t testing.TB, at command.Place) {
			must(t, os.RemoveAll(at.Root+"/.git"))
			must(t, os.WriteFile(at.Root+"/.git", []byte("gitdir: ../outside\n"), 0o600))
		}, "asks"},
		"a link to the configuration": {func(t testing.TB, at command.Place) {
			must(t, os.Remove(at.Root+"/.git/config"))
			must(t, os.Symlink("../a.txt", at.Root+"/.git/config"))
		}, "asks"},
		"none": {func(t testing.TB, at command.Place) { must(t, os.RemoveAll(at.Root+"/.git")) }, "leaves"},
		"bare": {func(t testing.TB, at command.Place) {
			for _, name := range []string{"HEAD", "config", "objects", "refs"} {
				must(t, os.Rename(at.Root+"/.git/"+name, at.Root+"/"+name))
			}
			must(t, os.Remove(at.Root+"/.git"))
		}, "asks"},
	} {
		t.Run(name, func(t *testing.T) {
			at := workspace(t)
			test.set(t, at)
			for _, line := range []string{"git status", "git log --oneline -5", "git diff"} {
				check(t, at, line, test.want)
			}
		})
	}
}

// TestGitIndex has git itself write the index.
func TestGitIndex(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	for _, version := range []string{"2", "3", "4"} {
		at := workspace(t)
		must(t, os.RemoveAll(at.Root+"/.git"))
		git := func(args ...string) {
			t.Helper()
			cmd := exec.Command("git", args...)
			cmd.Dir = at.Root
			cmd.Env = append(os.Environ(), "HOME="+at.Root+"/..", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
		git("init", "-q")
		git("update-index", "--index-version", version)
		git("add", "a.txt", "b.txt", "src")
		if version == "3" {
			must(t, os.WriteFile(at.Root+"/later", []byte("x"), 0o600))
			git("add", "-N", "later")
		}
		check(t, at, "git status", "reads")
		git("update-index", "--add", "--cacheinfo", "160000,4b825dc642cb6eb9a060e54bf8d69288fbee4904,dir/module")
		check(t, at, "git status", "asks")
	}
}

// harmless are the signs of what writes or stays behind, where they do neither.
var harmless = regexp.MustCompile(`&&|[12]?>&[ \t]*[12]`)

// FuzzAnalyse: no line is too strange, and one that only reads holds nothing that
// could do more.
func FuzzAnalyse(f *testing.F) {
	at := workspace(f)
	for line := range strings.Lines(reads + leaves + asks) {
		f.Add(strings.TrimSuffix(line, "\n"))
	}
	for _, line := range odd {
		f.Add(line)
	}
	f.Add("ls >& 1")
	f.Fuzz(func(t *testing.T, line string) {
		a := command.Analyse(line, at)
		if a.OnlyReads && (a.Why != "" || !a.Plain || len(a.Calls) == 0 || len(a.Seen) == 0) {
			t.Errorf("%q: %+v", line, a)
		}
		if !a.OnlyReads {
			return
		}
		rest := harmless.ReplaceAllString(line, "")
		for i := 0; i < len(rest); i++ {
			quoted := strings.ContainsAny(rest, `'"\#`)
			if strings.ContainsRune("&`(){}", rune(rest[i])) && !quoted || rest[i] == '\r' || rest[i] == 0 {
				t.Errorf("%q only reads, with %q", line, rest[i])
			}
			if rest[i] == '>' && !quoted && !strings.HasPrefix(strings.TrimLeft(rest[i:], "> \t"), "/dev/null") {
				t.Errorf("%q only reads, with a redirect", line)
			}
		}
	})
}

func BenchmarkAnalyse(b *testing.B) {
	at := workspace(b)
	for b.Loop() {
		if a := command.Analyse("grep -rn 'func main' src | sort -u | head -20 && git status", at); !a.OnlyReads {
			b.Fatal(a.Why)
		}
	}
}

// TestDeep: a line that is nested as deep as it can be is no reason to fall over.
func TestDeep(t *testing.T) {
	at := workspace(t)
	const long = 32 << 10
	for _, opener := range []string{"(", "$(", "`", "((", "f() ", "sh -c ", "sudo -a ", "{a,"} {
		for _, line := range []string{strings.Repeat(opener, long/len(opener)), strings.Repeat(opener, long/len(opener)+1)} {
			if a := command.Analyse(line, at); a.OnlyReads {
				t.Errorf("%.20q... only reads", line)
			}
		}
	}
}

// TestReadsLeaveNoTrace runs what only reads in the shells that are here, and
// nothing is different afterwards.
func TestReadsLeaveNoTrace(t *testing.T) {
	at := workspace(t)
	as := ordinary(t, filepath.Dir(at.Root))
	before := snapshot(t, filepath.Dir(at.Root))
	for _, shell := range []string{"sh", "bash", "dash"} {
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		for line := range strings.Lines(reads) {
			line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `%\n`, "\n")
			cmd := exec.Command(shell, "-c", line)
			cmd.Dir, cmd.SysProcAttr = at.Root, as
			cmd.Env = append(at.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_NOSYSTEM=1")
			started(t, cmd.Run())
		}
	}
	if after := snapshot(t, filepath.Dir(at.Root)); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// snapshot is what stands in a directory.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		b.WriteString(path + " " + d.Type().String())
		if d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			must(t, err)
			b.Write(text)
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}
