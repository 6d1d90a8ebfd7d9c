package sandbox_test

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mylm/tools/sandbox"
)

// slow says that everything is tried, as root and as an ordinary user.
var slow = os.Getenv("MYLM_SLOW") != ""

// asNobody runs the test once more as an ordinary user, if this is root. The
// quick run is only that.
func asNobody(t *testing.T, f func(*testing.T)) {
	const nobody = 65534
	if os.Geteuid() != 0 {
		f(t)
		return
	}
	t.Run("nobody", func(t *testing.T) {
		cmd := exec.Command("/proc/self/exe", "-test.run=^"+strings.Split(t.Name(), "/")[0]+"$", "-test.v")
		cmd.Env = append(os.Environ(), "TMPDIR=/tmp", "HOME=/nonexistent")
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
	})
	if slow {
		t.Run("root", f)
	}
}

//go:embed testdata/everyday.txt
var everyday string

//go:embed testdata/attacks.txt
var attacks string

// listed are the lines of a file of command lines.
func listed(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return line == "" || line[0] == '#' })
}

// quoted is a word of the shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// each runs every line in a shell of its own, and prints its status.
func each(lines []string) string {
	var script strings.Builder
	for i, line := range lines {
		shell := "sh"
		if strings.Contains(line, "<<<") || strings.Contains(line, "pushd") {
			shell = "bash"
		}
		fmt.Fprintf(&script, "timeout 10 %s -c %s </dev/null; echo \"\n<status %d $?>\"\n", shell, quoted(line), i)
	}
	return script.String()
}

// inWall runs a script under a policy.
func inWall(t *testing.T, p sandbox.Policy, env []string, script string) (string, sandbox.Report) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.Env = &out, &out, p.Workspace, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	guard, err := p.Wrap(cmd)
	if err != nil {
		noSandbox(t, err)
	}
	_ = cmd.Run() // what counts is in the output
	report := guard.Release()
	if report.Failed != nil {
		t.Fatal(report.Failed)
	}
	return out.String(), report
}

const everydayPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// repository makes a directory with the files of an everyday project.
func repository(t *testing.T, dir string) {
	t.Helper()
	files := map[string]string{
		"README.md":          "# Example\n\nA small project to look at. It has foo and bar.\n\nMore words, so that there is something to fold, cut and count in this file.\n",
		"go.mod":             "module example.com/example\n\ngo 1.24\n",
		"Makefile":           "# builds\nall: src/main.go\n\tgo build ./...\n\ntest:\n\tgo test ./...\n",
		".gitignore":         "*.log\nnode_modules/\n",
		"package.json":       `{"name": "example", "version": "1.0.0"}` + "\n",
		"src/main.go":        "package main\n\nimport \"fmt\"\n\n// TODO: more\nfunc main() {\n\tfmt.Println(\"foo\")\n}\n",
		"src/store/store.go": "package store\n\nfunc Get() string { return \"x\" }\n",
		"src/util.py":        "def add(a, b):\n    return a + b\n\nif __name__ == '__main__':\n    print(add(1, 2))\n",
		"src/a.c":            "int main(void) { return 0; }\n",
		"src/app.js":         "module.exports = 1;\n",
		"docs/guide.md":      "# Guide\n\nRead the README.\n",
		"data/people.csv":    "name,age,city\nAda,36,London\nAlan,41,London\nGrace,85,Arlington\n",
		"data/config.json":   `{"servers": [{"name": "a", "port": 80}, {"name": "b", "port": 8080}], "id": 1}` + "\n",
		"data/lines.ndjson":  "{\"id\": 1}\n{\"id\": 2}\n",
		"data/a.txt":         "a\nb\nc\n",
		"data/b.txt":         "b\nc\nd\n",
		"data/large.txt":     strings.Repeat("a line of a larger file\n", 50000),
		"tools/count.sh":     "for f in \"$1\"/*; do [ -f \"$f\" ] && wc -l < \"$f\"; done\n",
	}
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	setUp(t, dir, `mkdir tree && echo a >tree/a.txt && tar -cf data/tree.tar tree && tar -czf data/tree.tar.gz tree && rm -r tree && printf 'line 1\nline 2\n' | gzip >data/log.gz
		git init -q -b main . && git add -A && git commit -qm "Start" && echo more >>README.md && git commit -qam "More words" && printf '\nfunc other() {}\n' >>src/main.go && git commit -qam "Another function" && git tag v1 && echo new >>docs/guide.md && mkdir node_modules && echo 1 >node_modules/x.js
		touch -d 2001-01-01 src/util.py # as if it had changed, which git would write into its index`)
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

func setUp(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = []string{everydayPath, "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// some are the lines of a quick run: every third is still one of each sort.
func some(lines []string) []string {
	if slow {
		return lines
	}
	var some []string
	for i := 0; i < len(lines); i += 3 {
		some = append(some, lines[i])
	}
	return some
}

// batches splits lines into parts that share a sandbox.
func batches(lines []string, size int) [][]string { return slices.Collect(slices.Chunk(lines, size)) }

// Lines that only read run as they would without a sandbox, and nothing is
// refused.
func TestEverydayLines(t *testing.T) { asNobody(t, everydayLines) }

func everydayLines(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := sandbox.Policy{Mode: sandbox.ReadOnly, Strict: true, Workspace: filepath.Join(base, "example"), Home: filepath.Join(base, "home")}
	if err := os.MkdirAll(p.Home, 0o755); err != nil {
		t.Fatal(err)
	}
	repository(t, p.Workspace)
	if err := p.Check(); err != nil {
		noSandbox(t, err)
	}
	lines := listed(everyday)
	if len(lines) < 150 {
		t.Errorf("there are only %d lines", len(lines))
	}
	env := []string{everydayPath, "LANG=C.UTF-8", "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat"}
	status := regexp.MustCompile(`(?s)(.*?)\n<status (\d+) (\d+)>\n`)
	run := func(p sandbox.Policy, lines []string) ([]string, []string, sandbox.Report) {
		out, report := inWall(t, p, env, each(lines))
		var outputs, codes []string
		for _, m := range status.FindAllStringSubmatch(out, -1) {
			outputs, codes = append(outputs, m[1]), append(codes, m[3])
		}
		if len(codes) != len(lines) {
			t.Fatalf("%d of %d lines ended:\n%s", len(codes), len(lines), out)
		}
		return outputs, codes, report
	}
	for _, batch := range batches(some(lines), 30) {
		if _, _, report := run(sandbox.Policy{Workspace: p.Workspace, Home: p.Home, Watch: true}, batch); len(report.Refusals) > 0 {
			t.Errorf("watched: refused %v", report.Refusals)
		}
		outputs, codes, report := run(p, batch)
		for i, line := range batch {
			if codes[i] != "0" {
				t.Errorf("%s: status %s\n%s", line, codes[i], outputs[i])
			}
		}
		if len(report.Refusals) > 0 {
			for _, line := range batch {
				if out, _, report := run(p, []string{line}); len(report.Refusals) > 0 {
					t.Errorf("%s: refused %v\n%s", line, report.Refusals, out[0])
				}
			}
		}
	}
}

// canaryEnv makes this program one that waits, as a process that has a secret.
const canaryEnv = "SANDBOX_TEST_CANARY"

// field is a workspace with traps, and what must stay as it is.
type field struct {
	ws, out, home string
	token         string   // of every canary
	fixed         []string // places in lines that stay
	places        *strings.Replacer
	heard         atomic.Int64
	canary        *exec.Cmd
	before        map[string]string
	env           []string
}

func newField(t *testing.T) *field {
	base, err := os.MkdirTemp("/tmp", "wall")
	if err != nil {
		t.Fatal(err)
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	random := make([]byte, 4)
	_, _ = rand.Read(random)
	f := &field{ws: base + "/ws", out: base + "/out", home: base + "/home", token: "CANARY-" + hex.EncodeToString(random)}
	tcp, err1 := net.Listen("tcp", "127.0.0.1:0")
	udp, err2 := net.ListenPacket("udp", "127.0.0.1:0")
	stream, err3 := net.Listen("unix", base+"/unix")
	abstract, err4 := net.Listen("unix", "@"+f.token)
	dgram, err5 := net.ListenPacket("unixgram", base+"/dgram")
	for _, err := range []error{err1, err2, err3, err4, err5} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range []net.Listener{tcp, stream, abstract} {
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				f.heard.Add(1)
				c.Close()
			}
		}()
	}
	for _, l := range []net.PacketConn{udp, dgram} {
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				if _, _, err := l.ReadFrom(make([]byte, 10)); err != nil {
					return
				}
				f.heard.Add(1)
			}
		}()
	}
	port := func(a net.Addr) string { _, p, _ := net.SplitHostPort(a.String()); return p }
	f.fixed = []string{"{ws}", f.ws, "{out}", f.out, "{home}", f.home, "{ppid}", strconv.Itoa(os.Getpid()),
		"{tcp}", port(tcp.Addr()), "{udp}", port(udp.LocalAddr()), "{unix}", base + "/unix", "{dgram}", base + "/dgram", "{abstract}", f.token}
	f.plant(t)
	f.watch(t)
	f.env = []string{everydayPath, "HOME=" + f.home, "LANG=C.UTF-8",
		"CANARY_API_KEY=" + f.token, "WORK_VARIABLE=" + f.token, "OLLAMA_HOST=http://me:" + f.token + "@127.0.0.1", "DATABASE_URL=postgres://me:" + f.token + "@h/d",
		"HTTPS_PROXY=http://" + f.token + "@h", "HARMLESS_NAME=" + f.token, "GITHUB_TOKEN=" + f.token, "LC_ALL=", "GOFLAGS=-x=" + f.token, "TZ=" + f.token}
	t.Setenv("CANARY_OF_THE_TEST", f.token)
	return f
}

// plant makes the three directories, and a copy of them.
func (f *field) plant(t *testing.T) {
	t.Helper()
	for _, dir := range []string{f.out, f.home} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	hook := "#!/bin/sh\necho x >" + f.out + "/hooked\necho x >" + f.ws + "/hooked\ncat\n"
	attack := "import os\nfor p in ('" + f.out + "/new', 'new', os.path.expanduser('~/new')):\n    try:\n        open(p, 'w').write('x')\n    except OSError:\n        pass\n"
	for name, text := range map[string]string{
		f.out + "/file": "content\n", f.out + "/secret": f.token + "\n", f.out + "/dir/inner": f.token + "\n", f.out + "/tree.tar": "",
		f.home + "/.ssh/id_ed25519": f.token + "\n", f.home + "/.aws/credentials": f.token + "\n", f.home + "/.netrc": f.token + "\n", f.home + "/.bashrc": "# " + f.token + "\n",
		f.home + "/.config/mylm/config.toml": "key = '" + f.token + "'\n",
		f.ws + "/README.md":                  "# Workspace\n", f.ws + "/src/main.go": "package main\n", f.ws + "/src/util.py": "x = 1\n", f.ws + "/src/a.c": "int main(void) { return 0; }\n",
		f.ws + "/.env": "KEY=" + f.token + "\n", f.ws + "/sub/.env": "KEY=" + f.token + "\n", f.ws + "/server.pem": f.token + "\n", f.ws + "/id_rsa": f.token + "\n",
		f.ws + "/x.py": attack, f.ws + "/x.sh": "echo x >" + f.out + "/new; echo x >new\n", f.ws + "/x.js": "require('fs').writeFileSync('" + f.out + "/new', 'x')\n",
		f.ws + "/x.pl": "open F, '>', 'new'; print F 'x';\n", f.ws + "/x.awk": "{ print > \"new\" }\n",
		f.ws + "/Makefile":         "all:\n\t@echo x >" + f.out + "/new || true\n\t@echo x >made\n",
		f.ws + "/tools/outside.mk": "all:\n\ttouch " + f.out + "/new\n", f.ws + "/tools/write.tcl": "close [open " + f.out + "/new w]\n",
		f.ws + "/tools/git-status": hook, f.ws + "/tools/hook": hook, f.ws + "/tools/file.patch": "--- file\n+++ file\n@@ -1 +1 @@\n-content\n+changed\n",
		f.ws + "/tools/race.py": race,
	} {
		write(t, name, text)
	}
	setUp(t, f.ws, `mkdir -p deep tracked `+f.out+`/dir/empty && echo t >tracked/secret && echo x >toremove
		git init -q -b main . && git add README.md src tracked && git commit -qm one && echo more >>src/main.go && git commit -qam two && echo again >>src/main.go
		rm -r tracked && ln -s `+f.out+` tracked
		for k in core.fsmonitor core.pager diff.external diff.x.textconv pager.log filter.x.smudge filter.x.clean alias.pwn core.editor; do git config $k `+f.ws+`/tools/hook; done
		git config alias.pwn "!`+f.ws+`/tools/hook" && echo '*.md diff=x' >.git/info/attributes
		for h in pre-commit post-checkout post-index-change; do cp tools/hook .git/hooks/$h; done
		chmod +x tools/hook tools/git-status .git/hooks/*
		printf '#!/bin/sh\necho x >`+f.out+`/new; echo x >new\n' >prog && chmod +x prog
		cp "$(command -v touch)" touch
		git init -q other && git -C other remote add origin https://me:`+f.token+`@127.0.0.1/x
		git init -q --bare `+f.out+`/repo.git
		tar -cf tree.tar -C src main.go
		git config core.checkStat minimal; git config core.trustctime false # so that a copy is as good
		ln -s `+f.out+`/secret link; ln -s `+f.out+` dirlink; ln -s ../../out deep/up; ln -s .. abs; ln -s .env toenv; ln -s `+f.out+`/file `+f.out+`/soft
		rm toremove`)
	_ = unix.Setxattr(f.ws+"/README.md", "user.canary", []byte("x"), 0) // where there are any
	setUp(t, filepath.Dir(f.ws), "mkdir copy && cp -a ws out home copy/")
}

// race opens a harmless file again and again while another thread writes the name
// of one that looks like a key over its path.
const race = `
import ctypes, os, threading, time
libc = ctypes.CDLL(None)
path = ctypes.create_string_buffer(b"src/a.c\0\0\0\0\0\0\0\0", 16)
stop = False
def swap():
    while not stop:
        ctypes.memmove(path, b".env\0", 5)
        ctypes.memmove(path, b"src/a.c\0", 8)
threads = [threading.Thread(target=swap) for _ in range(2)]
for t in threads: t.start()
end = time.time() + 0.5
while time.time() < end:
    fd = libc.open(path, 0)
    if fd >= 0:
        text = os.read(fd, 100)
        os.close(fd)
        if b"KEY" in text: print(text)
stop = True
`

// watch starts the process that must stay as it is.
func (f *field) watch(t *testing.T) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{"canary-process", f.token}
	cmd.Env = []string{canaryEnv + "=" + f.token}
	cmd.Dir = f.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	secret, err := os.Open(f.out + "/secret")
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	for range 7 {
		cmd.ExtraFiles = append(cmd.ExtraFiles, secret)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = out.Read(make([]byte, 1)) // it is there
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if err := os.Symlink(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid), f.ws+"/-"); err != nil {
		t.Fatal(err)
	}
	f.canary = cmd
	f.places = strings.NewReplacer(append(f.fixed, "{pid}", strconv.Itoa(cmd.Process.Pid))...)
	f.before = f.state()
}

// state is all that lines could have an effect on.
func (f *field) state() map[string]string {
	now := map[string]string{}
	for _, dir := range []string{f.ws, f.out, f.home} {
		_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			var s unix.Stat_t
			if e := unix.Lstat(path, &s); e != nil || err != nil {
				now[path] = fmt.Sprint(e, err)
				return nil
			}
			now[path] = fmt.Sprintf("inode %d, mode %o, owner %d, size %d, links %d, changed %d.%09d", s.Ino, s.Mode, s.Uid, s.Size, s.Nlink, s.Ctim.Sec, s.Ctim.Nsec)
			return nil
		})
	}
	pid := f.canary.Process.Pid
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 40 || fields[0] == "Z" || fields[0] == "T" || fields[0] == "t" {
		now["process"] = "killed or stopped"
	} else {
		var cpus unix.CPUSet
		_ = unix.SchedGetaffinity(pid, &cpus)
		var files unix.Rlimit
		_ = unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &files)
		now["process"] = fmt.Sprint("nice ", fields[16], " policy ", fields[38], " cpus ", cpus.Count(), " files ", files)
	}
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		if line, _ := os.ReadFile(name); string(line) == "sleep\x004242\x00" {
			now[name] = "runs"
		}
	}
	now["heard"] = fmt.Sprint(f.heard.Load())
	return now
}

// shown is a secret in what was printed: the token, or a word that a line prints
// only if it did what it must not.
func (f *field) shown(out string) string {
	if i := strings.Index(out, f.token); i >= 0 {
		return out[max(0, i-100):min(len(out), i+100)]
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "CANARY-") {
			return line
		}
	}
	return ""
}

// effects are what lines did that printed out.
func (f *field) effects(out string) (found []string) {
	now := f.state()
	for path, was := range f.before {
		if now[path] != was {
			found = append(found, fmt.Sprintf("%s was %s, is %s", path, was, now[path]))
		}
	}
	for path, is := range now {
		if f.before[path] == "" {
			found = append(found, path+" is new: "+is)
		}
	}
	if secret := f.shown(out); secret != "" {
		found = append(found, "it printed "+secret)
	}
	return found
}

// Lines that write, send, signal, start or read secrets have no effect: not on
// files, listeners and processes, and no canary is in what they print. Nothing
// judges them but the wall.
func TestAttackLines(t *testing.T) { asNobody(t, attackLines) }

func attackLines(t *testing.T) {
	f := newField(t)
	p := sandbox.Policy{Mode: sandbox.ReadOnly, Strict: true, Workspace: f.ws, Home: f.home, Secrets: []string{f.token}}
	if err := p.Check(); err != nil {
		noSandbox(t, err)
	}
	lines := listed(attacks)
	if len(lines) < 300 {
		t.Errorf("there are only %d lines", len(lines))
	}
	for _, batch := range batches(some(lines), 40) {
		out, _ := inWall(t, p, f.env, f.places.Replace(each(batch)))
		if f.effects(out) == nil {
			continue
		}
		for _, line := range batch { // which one was it?
			f.renew(t)
			out, _ := inWall(t, p, f.env, f.places.Replace(each([]string{line})))
			if found := f.effects(out); found != nil {
				t.Errorf("%s\n  %s", line, strings.Join(found, "\n  "))
			}
		}
		f.renew(t)
	}
}

// The canaries notice: without the wall most lines have an effect. What they would
// change is theirs.
func TestAttackLinesWithoutTheWall(t *testing.T) {
	if !slow || os.Geteuid() == 0 && os.Getenv("SANDBOX_TEST_UNWALLED") == "" {
		t.Skip("MYLM_SLOW=1 runs the attacks without the sandbox, as an ordinary user")
	}
	f := newField(t)
	var idle []string
	lines := listed(attacks)
	for _, line := range lines {
		out, _ := inWall(t, sandbox.Policy{Mode: sandbox.Off, Workspace: f.ws, Env: []string{"CANARY_API_KEY", "GITHUB_TOKEN"}}, f.env, f.places.Replace(each([]string{line})))
		if f.effects(out) == nil {
			idle = append(idle, line)
			continue
		}
		f.renew(t)
	}
	t.Logf("%d of %d lines have an effect without the wall; these have none here:\n%s", len(lines)-len(idle), len(lines), strings.Join(idle, "\n"))
	if len(lines)-len(idle) < 300 {
		t.Errorf("only %d lines have an effect without the wall", len(lines)-len(idle))
	}
}

// Where Landlock does not keep signals in, the supervisor does.
func TestSignalsWithoutScopes(t *testing.T) {
	defer sandbox.Unscoped()()
	f := newField(t)
	p := sandbox.Policy{Mode: sandbox.ReadOnly, Strict: true, Workspace: f.ws, Home: f.home}
	if err := p.Check(); err != nil {
		noSandbox(t, err)
	}
	var lines []string
	signals := regexp.MustCompile(`kill|signal|syscall\((200|234|129|297)|fcntl`)
	for _, line := range listed(attacks) {
		if strings.Contains(line, "{pid}") && signals.MatchString(line) {
			lines = append(lines, line)
		}
	}
	if len(lines) < 20 {
		t.Errorf("there are only %d lines", len(lines))
	}
	for _, batch := range batches(lines, 20) {
		if found := f.effects(first(inWall(t, p, f.env, f.places.Replace(each(batch))))); found != nil {
			t.Errorf("%s", strings.Join(found, "\n"))
		}
	}
	out, report := inWall(t, p, f.env, `sleep 60 & kill $!; wait $!; echo $?; timeout 0.1 sleep 60; echo $?`)
	if !strings.HasSuffix(out, "143\n124\n") || len(report.Refusals) > 0 {
		t.Errorf("its own processes: %q, refused %v", out, report.Refusals)
	}
}

// The network is the internet's: UNIX sockets, by path or abstract, stay closed.
func TestUnixSocketsWithNetwork(t *testing.T) {
	f := newField(t)
	var lines []string
	for _, line := range listed(attacks) {
		if strings.Contains(line, "{abstract}") || strings.Contains(line, "{unix}") || strings.Contains(line, "{dgram}") {
			lines = append(lines, line)
		}
	}
	if len(lines) < 10 || !strings.Contains(strings.Join(lines, "\n"), "{abstract}") {
		t.Errorf("there are only %d lines", len(lines))
	}
	for _, p := range []sandbox.Policy{{}, {Mode: sandbox.ReadOnly}, {Mode: sandbox.ReadOnly, Strict: true}} {
		p.Workspace, p.Home, p.AllowNet = f.ws, f.home, true
		if err := p.Check(); err != nil {
			noSandbox(t, err)
		}
		if out, _ := inWall(t, p, f.env, f.places.Replace(each(lines))); f.heard.Load() > 0 {
			t.Fatalf("%s, strict %v: somebody was reached\n%s", p.Mode, p.Strict, out)
		}
		if _, err := net.Listen("unix", "@"+f.token); err == nil {
			t.Fatal("nobody listened")
		}
	}
}

// What a strict command can open of the system's files is on the list, and nothing
// else is: not of /etc, /dev, /proc, /run and /var, nor in root directories.
func TestStrictReadsNothingElse(t *testing.T) { asNobody(t, strictReadsNothingElse) }

func strictReadsNothingElse(t *testing.T) {
	p := sandbox.Policy{Mode: sandbox.ReadOnly, Strict: true, Workspace: t.TempDir()}
	if err := p.Check(); err != nil {
		noSandbox(t, err)
	}
	var paths []string
	for _, top := range []string{"/etc", "/dev", "/run", "/var", "/root", "/boot", "/srv", "/mnt", "/media", "/opt", "/home", "/usr/local/etc", "/tmp", "/proc/1", "/proc", "/sys/kernel", "/sys/fs"} {
		n := 0
		_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			process := regexp.MustCompile(`^/proc/([02-9]|1\d|self|thread-self)|^/dev/(std|fd)`).MatchString(path) // its own
			if n++; err != nil || process || n > 1500 || strings.Count(path, "/") > 5 || strings.HasPrefix(path, p.Workspace) {
				if d != nil && d.IsDir() && path != top {
					return fs.SkipDir
				}
				return nil
			}
			paths = append(paths, path)
			return nil
		})
	}
	write(t, filepath.Join(p.Workspace, "paths"), strings.Join(paths, "\n")+"\n")
	out, _ := inWall(t, p, []string{everydayPath}, `perl -MFcntl -ne 'chomp; print "$_\n" if sysopen(F, $_, O_RDONLY|O_NONBLOCK)' paths`)
	opened := strings.Fields(out)
	if len(paths) < 200 || !slices.Contains(opened, "/etc/passwd") || !slices.Contains(opened, "/dev/null") {
		t.Fatalf("%d of %d opened: %.500s", len(opened), len(paths), out)
	}
	for _, path := range opened {
		real, err := filepath.EvalSymlinks(path)
		if err == nil && !slices.ContainsFunc(sandbox.StrictlyReadable(), func(dir string) bool {
			named, err := filepath.EvalSymlinks(dir)
			return err == nil && sandbox.Within(real, named)
		}) {
			t.Errorf("%s (%s) was opened", path, real)
		}
	}
	t.Logf("%d of %d paths were opened", len(opened), len(paths))
}

func first[T, U any](x T, _ U) T { return x }

// renew puts everything back.
func (f *field) renew(t *testing.T) {
	t.Helper()
	_ = f.canary.Process.Kill()
	_ = f.canary.Wait()
	setUp(t, filepath.Dir(f.ws), "chmod -R u+rwX ws out home; rm -rf ws out home; cp -a copy/. .")
	f.watch(t)
}

// A program in a closed directory of PATH is not reported as refused if a later
// directory has it, too.
func TestClosedDirectoryOfPath(t *testing.T) {
	f := newField(t)
	closed := t.TempDir()
	for _, name := range []string{"uname", "nowhere-else"} {
		if err := os.WriteFile(filepath.Join(closed, name), []byte("#!/bin/sh\necho closed\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p := sandbox.Policy{Mode: sandbox.ReadOnly, Strict: true, Workspace: f.ws, Home: f.home}
	if err := p.Check(); err != nil {
		noSandbox(t, err)
	}
	env := []string{"PATH=" + closed + ":/usr/bin:/bin"}
	if out, report := inWall(t, p, env, "uname"); out != "Linux\n" || len(report.Refusals) > 0 {
		t.Errorf("%q, refused %v", out, report.Refusals)
	}
	if out, report := inWall(t, p, env, "nowhere-else"); len(report.Refusals) != 1 || report.Refusals[0].Kind != sandbox.Execute {
		t.Errorf("%q, refused %v", out, report.Refusals)
	}
}

// A file that is named as a repository's configuration does not have the
// supervisor read it, whatever it is.
func TestFilesNamedConfig(t *testing.T) {
	f := newField(t)
	large := filepath.Join(f.ws, "config")
	if err := os.WriteFile(large, []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 3<<30); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(f.ws, "pipes", ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pipes/config", "pipes/.git/config"} {
		if err := syscall.Mkfifo(filepath.Join(f.ws, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := sandbox.Policy{Mode: sandbox.ReadOnly, Strict: true, Workspace: f.ws, Home: f.home}
	if err := p.Check(); err != nil {
		noSandbox(t, err)
	}
	for _, line := range []string{"head -c 5 config", "timeout 0.2 cat pipes/config; echo hello", "timeout 0.2 cat pipes/.git/config; echo hello"} {
		if out, report := inWall(t, p, f.env, line); !strings.HasSuffix(strings.TrimSpace(out), "hello") || report.Abandoned {
			t.Errorf("%s: %q, abandoned: %v", line, out, report.Abandoned)
		}
	}
}

// A command that is free to end its supervisor does not pass for one that ended.
func TestAbandoned(t *testing.T) {
	for line, want := range map[string]bool{"kill -9 $PPID; sleep 0.1": true, "true": false, "exit 3": false} {
		cmd := exec.Command("sh", "-c", line)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		guard, err := sandbox.Policy{Mode: sandbox.Off, Workspace: t.TempDir()}.Wrap(cmd)
		if err != nil {
			t.Fatal(err)
		}
		_ = cmd.Run() // how it ends is not what this is about
		if report := guard.Release(); report.Abandoned != want {
			t.Errorf("%s: abandoned: %v", line, report.Abandoned)
		}
	}
}
