package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"mylm/tools/sandbox"
)

// ordinary is the id of an ordinary user, which root becomes for half of the tests.
const ordinary = 65534

// cage is a home with a secret, a directory outside, and a workspace, all owned by
// one user.
type cage struct {
	t                             *testing.T
	root                          bool
	base, home, outside, ws, mylm string
	victim                        *exec.Cmd // a process of the same user
}

// noSandbox skips a test if the kernel has no sandbox, or fails it if one is
// required, so that a missing sandbox does not go unnoticed.
func noSandbox(t *testing.T, why any) {
	t.Helper()
	if os.Getenv("SANDBOX_TEST_REQUIRED") == "1" {
		t.Fatal("SANDBOX_TEST_REQUIRED is 1, but there is no sandbox: ", why)
	}
	t.Skip("no sandbox here: ", why)
}

// asUsers runs a test as an ordinary user, and as root if it can.
func asUsers(t *testing.T, test func(*testing.T, *cage)) {
	t.Helper()
	if err := (sandbox.Policy{Workspace: t.TempDir()}).Check(); err != nil {
		noSandbox(t, err)
	}
	t.Run("ordinary", func(t *testing.T) { test(t, newCage(t, false)) })
	if os.Geteuid() == 0 {
		t.Run("root", func(t *testing.T) { test(t, newCage(t, true)) })
	}
}

func newCage(t *testing.T, root bool) *cage {
	t.Helper()
	base, err := os.MkdirTemp("", "cage-") // t.TempDir is closed to others
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	c := &cage{t: t, root: root, base: base, home: base + "/home", outside: base + "/outside", ws: base + "/ws", mylm: base + "/bin/mylm"}
	for _, dir := range []string{c.home + "/.ssh", c.outside, c.ws, base + "/bin", base + "/tmp"} {
		check(t, os.MkdirAll(dir, 0o755))
	}
	c.program("bin", c.mylm)
	check(t, os.Link(c.mylm, base+"/bin/probe"))
	c.program("ws", c.ws+"/probe")
	check(t, os.WriteFile(c.home+"/.ssh/id", []byte("secret"), 0o600))
	check(t, os.WriteFile(c.outside+"/file", []byte("precious"), 0o600))
	check(t, os.Chmod(base, 0o755))
	if os.Geteuid() == 0 && !root {
		check(t, filepath.WalkDir(base, func(path string, _ os.DirEntry, err error) error {
			return os.Lchown(path, ordinary, ordinary)
		}))
	}
	c.victim = c.command("sleep", "1000")
	check(t, c.victim.Start())
	t.Cleanup(func() {
		_ = c.victim.Process.Kill()
		_ = c.victim.Wait()
	})
	return c
}

// program puts this program, which is mylm too, into the cage. It is large: the cages
// of a user link to one copy for each directory, which testscript removes with its
// commands.
func (c *cage) program(dir, path string) {
	c.t.Helper()
	mylm, err := exec.LookPath("mylm")
	check(c.t, err)
	shared := filepath.Join(filepath.Dir(mylm), fmt.Sprint(dir, "-root-", c.root))
	if _, err := os.Stat(shared); err != nil {
		text, err := os.ReadFile("/proc/self/exe")
		check(c.t, err)
		check(c.t, os.WriteFile(shared, text, 0o755))
	}
	check(c.t, os.Link(shared, path))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// command is a command of the cage's user, in the workspace, without a sandbox.
func (c *cage) command(args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = c.ws
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.home, "TMPDIR=" + c.base + "/tmp", "REAL=" + c.home, "OUT=" + c.outside,
		"GORACE=atexit_sleep_ms=0", "OPENAI_API_KEY=hunter2"}
	if c.victim != nil {
		cmd.Env = append(cmd.Env, "VICTIM="+strconv.Itoa(c.victim.Process.Pid))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 && !c.root {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: ordinary, Gid: ordinary}
	}
	return cmd
}

// run runs a command and returns its output and exit code.
func (c *cage) run(args ...string) (output, code string) {
	c.t.Helper()
	cmd := c.command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	code = exitCode(cmd.Run())
	return out.String(), code
}

// inside runs a command with mylm sandbox.
func (c *cage) inside(args ...string) (string, string) {
	c.t.Helper()
	return c.run(append([]string{c.mylm, "sandbox", "--"}, args...)...)
}

// lines runs command lines one after the other, each in a shell of its own, in one
// sandbox with these flags and variables. It returns the exit code of each, and all
// output.
func (c *cage) lines(lines, flags, env []string) (codes []string, output string) {
	c.t.Helper()
	const mark = "exit-code-of-a-line "
	args := append(append(append([]string{c.mylm, "sandbox"}, flags...), "--", "env"), env...)
	script := `for line; do sh -c "$line"; code=$?; echo; echo "` + mark + `$code"; done`
	output, _ = c.run(append(append(args, "sh", "-c", script, "sh"), lines...)...)
	for line := range strings.Lines(output) {
		if code, ok := strings.CutPrefix(line, mark); ok {
			codes = append(codes, strings.TrimSpace(code))
		}
	}
	if len(codes) != len(lines) {
		c.t.Fatalf("%d of %d lines ended:\n%s", len(codes), len(lines), output)
	}
	return codes, output
}

// sh is a command line as a command.
func sh(line string, args ...string) []string { return append([]string{"sh", "-c", line}, args...) }

func probe(args ...string) []string { return append([]string{"./probe"}, args...) }

// attacks must fail in the sandbox. Without a sandbox each one succeeds with exit
// code 0, which shows that it tests something.
var attacks = []struct {
	name string
	args []string
	only string // "root" or "ordinary"; "" is both

	// kernel says that kernels, or containers, may forbid it to everybody, so
	// that it shows nothing there.
	kernel bool
}{
	{name: "write outside", args: sh(`echo x >"$OUT/new"`)},
	{name: "append outside", args: sh(`echo x >>"$OUT/file"`)},
	{name: "write through a symlink", args: sh(`ln -sf "$OUT/file" link && echo x >>link`)},
	{name: "write through a symlinked directory", args: sh(`ln -sfn "$OUT" dir && echo x >dir/new`)},
	{name: "write through a hard link", args: sh(`ln "$OUT/file" hard && echo x >>hard`)},
	{name: "write through /proc/self/root", args: sh(`echo x >"/proc/self/root$OUT/new"`)},
	{name: "write through a process outside", args: sh(`echo x >"/proc/$VICTIM/root$OUT/new"`)},
	{name: "truncate outside", args: sh(`./probe truncate "$OUT/file"`)},
	{name: "delete outside", args: sh(`rm "$OUT/file"`)},
	{name: "move in", args: sh(`mv "$OUT/file" .`)},
	{name: "move out", args: sh(`echo x >mine && mv mine "$OUT/file"`)},
	{name: "make a directory outside", args: sh(`mkdir "$OUT/dir"`)},
	{name: "write in the temporary directory of all", args: sh(`f=$(mktemp -p "$(dirname "$OUT")/tmp")`)},
	{name: "read ~/.ssh", args: sh(`cat "$REAL/.ssh/id"`)},
	{name: "list the home", args: sh(`ls "$REAL"`)},
	{name: "copy ~/.ssh by a hard link", args: sh(`ln "$REAL/.ssh/id" id && cat id`)},
	{name: "read through /proc/self/root", args: sh(`cat "/proc/self/root$REAL/.ssh/id"`)},
	{name: "read through /proc/PID/root", args: sh(`cat "/proc/$VICTIM/root$REAL/.ssh/id"`)},
	{name: "read through /proc/PID/cwd", args: sh(`cat "/proc/$VICTIM/cwd/../home/.ssh/id"`)},
	{name: "environment of a process", args: sh(`tr '\0' '\n' <"/proc/$VICTIM/environ"`)},
	{name: "memory of a process", args: sh(`./probe mem $VICTIM`), kernel: true},
	{name: "process_vm_readv", args: sh(`./probe vmread $VICTIM`), kernel: true},
	{name: "ptrace", args: sh(`./probe ptrace $VICTIM`), kernel: true},
	{name: "limits of a process", args: sh(`./probe limits $VICTIM`), kernel: true},
	{name: "memfd", args: sh(`./probe memfd write "$OUT/new"`)},
	{name: "UDP socket", args: probe("socket", "2", "2")},
	{name: "IPv6 socket", args: probe("socket", "10", "1"), kernel: true},
	{name: "UNIX socket", args: probe("socket", "1", "1")},
	{name: "netlink socket", args: probe("socket", "16", "3")},
	{name: "raw socket", args: probe("socket", "2", "3", "1"), only: "root", kernel: true},
	{name: "packet socket", args: probe("socket", "17", "3"), only: "root", kernel: true},
	{name: "vsock socket", args: probe("socket", "40", "1"), kernel: true},
	{name: "TCP", args: sh(`./probe dial tcp "$TCP"`)},
	{name: "TCP by IPv6", args: sh(`./probe dial tcp "$TCP6"`), kernel: true},
	{name: "UDP", args: sh(`./probe dial udp "$UDP"`)},
	{name: "UNIX socket with a path", args: sh(`./probe dial unix "$SOCK"`)},
	{name: "abstract UNIX socket", args: sh(`./probe dial unix "$ABSTRACT"`)},
	{name: "UNIX datagrams by a pair", args: sh(`./probe datagram "$DGRAM"`)},
	{name: "/dev/tcp", args: []string{"bash", "-c", `exec 3<>"/dev/tcp/${TCP/://}"`}},
	{name: "user namespace", args: sh(`unshare -U true`), kernel: true},
	{name: "unshare", args: sh(`unshare -U true && unshare -Um true`), kernel: true},
	{name: "io_uring", args: probe("uring"), kernel: true},
	{name: "keyring", args: probe("keyring"), kernel: true},
	{name: "shared memory", args: probe("shm")},
	{name: "mount", args: sh(`unshare -m ./probe mount`), only: "root", kernel: true},
	{name: "chown outside", args: sh(`./probe chown "$OUT/file"`), only: "root"},
	{name: "device", args: probe("mknod", "null"), only: "root", kernel: true},
	{name: "another user", args: probe("setuid"), only: "root"},
	{name: "chroot", args: sh(`chroot / true`), only: "root"},
	{name: "/etc/shadow", args: sh(`cat /etc/shadow`), only: "root"},
	{name: "settings of the kernel", args: sh(`v=$(cat /proc/sys/kernel/hostname) && echo "$v" >/proc/sys/kernel/hostname`), only: "root", kernel: true},
	{name: "secrets in the environment", args: sh(`env | grep hunter2`)},
}

func TestSandboxContains(t *testing.T) {
	slow(t)
	asUsers(t, func(t *testing.T, c *cage) {
		listening := c.listen()
		for _, a := range attacks {
			if a.only == "root" && !c.root {
				continue
			}
			t.Run(a.name, func(t *testing.T) {
				env := func(args []string) []string { return append(append([]string{"env"}, listening...), args...) }
				c.restore()
				if out, code := c.run(append([]string{c.mylm, "sandbox", "--"}, env(a.args)...)...); code == "0" {
					t.Errorf("it succeeded: %s", out)
				}
				if b, err := os.ReadFile(c.outside + "/file"); string(b) != "precious" {
					t.Errorf("the file outside holds %q, %v", b, err)
				}
				if entries, _ := os.ReadDir(c.outside); len(entries) != 1 {
					t.Errorf("outside there are %v", entries)
				}
				c.restore()
				switch out, code := c.run(env(a.args)...); {
				case code == "0":
				case !a.kernel:
					t.Errorf("without a sandbox it fails too, so that this shows nothing: exit %s, %s", code, out)
				default:
					t.Logf("without a sandbox it fails too here, so that this shows nothing: exit %s, %s", code, out)
				}
			})
		}
	})
}

// restore undoes the effects of attacks.
func (c *cage) restore() {
	c.t.Helper()
	entries, err := os.ReadDir(c.outside)
	check(c.t, err)
	for _, e := range entries {
		if e.Name() != "file" {
			check(c.t, os.RemoveAll(filepath.Join(c.outside, e.Name())))
		}
	}
	for _, name := range []string{"file", "hard", "link", "dir", "mine", "id", "null"} {
		check(c.t, os.RemoveAll(filepath.Join(c.ws, name)))
	}
	_ = os.Remove(c.outside + "/file")
	check(c.t, os.WriteFile(c.outside+"/file", []byte("precious"), 0o600))
	if os.Geteuid() == 0 && !c.root {
		check(c.t, os.Chown(c.outside+"/file", ordinary, ordinary))
	}
}

// listen opens a socket of every kind outside, and returns variables that name
// them.
func (c *cage) listen() (env []string) {
	c.t.Helper()
	path := c.base + "/ws/sock"
	for _, l := range []struct{ name, network, address string }{
		{"TCP", "tcp", "127.0.0.1:0"}, {"TCP6", "tcp", "[::1]:0"}, {"SOCK", "unix", path}, {"ABSTRACT", "unix", "@" + c.base},
	} {
		ln, err := net.Listen(l.network, l.address)
		if err != nil {
			c.t.Logf("%s: %v", l.name, err)
			continue
		}
		c.t.Cleanup(func() { ln.Close() })
		go func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				go io.Copy(io.Discard, conn)
			}
		}()
		env = append(env, l.name+"="+ln.Addr().String())
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	check(c.t, err)
	c.t.Cleanup(func() { udp.Close() })
	gram, err := net.ListenPacket("unixgram", path+"gram")
	check(c.t, err)
	c.t.Cleanup(func() { gram.Close() })
	check(c.t, os.Chmod(path, 0o777))
	check(c.t, os.Chmod(path+"gram", 0o777))
	return append(env, "UDP="+udp.LocalAddr().String(), "DGRAM="+path+"gram")
}

// A command that is watched can run mylm, whose commands run in a sandbox of their own.
func TestWatchedInWatched(t *testing.T) {
	asUsers(t, func(t *testing.T, c *cage) {
		check(t, os.Link(c.ws+"/probe", c.ws+"/mylm"))
		check(t, os.Mkdir(c.ws+"/inner", 0o777))
		check(t, os.Chmod(c.ws+"/inner", 0o777))
		check(t, os.WriteFile(c.ws+"/inner.sh", []byte("cd inner && ../mylm ask -m demo --yes --no-save 'run `echo $((6 * 7)) within`'\n"), 0o644))
		if out, code := c.run(c.mylm, "ask", "-m", "demo", "--yes", "--no-save", "run `sh inner.sh`"); code != "0" || !strings.Contains(out, "42 within") {
			t.Errorf("exit %s: %s", code, out)
		}
		// The strict sandbox is impossible in another: the command needs approval.
		check(t, os.WriteFile(c.ws+"/strict.sh", []byte("cd inner && ../mylm ask -m demo --no-save 'run `echo $((6 * 7)) within`' 2>&1\n"), 0o644))
		if out, _ := c.run(c.mylm, "ask", "-m", "demo", "--yes", "--no-save", "run `sh strict.sh`"); !strings.Contains(out, "denied") {
			t.Error(out)
		}
	})
}

// A working directory that is closed to the user is not gone.
func TestClosedDirectory(t *testing.T) {
	c := newCage(t, false)
	out, code := c.run(sh(`mkdir shut && cd shut && chmod 0 . && exec "$0" ask q`, c.mylm)...)
	if code != "2" || !strings.Contains(out, "the working directory is closed to you: ") || !strings.Contains(out, "--workspace DIR") {
		t.Errorf("exit %s: %s", code, out)
	}
}

// Commands can do what they need.
func TestSandboxAllows(t *testing.T) {
	asUsers(t, func(t *testing.T, c *cage) {
		var names, lines []string
		for name, line := range map[string]string{
			"write inside":           `echo x >a && mkdir -p d/e && mv a d/e/a && cat d/e/a && rm -r d`,
			"hard link inside":       `mkdir -p d && echo x >a && ln a d/b && echo y >>d/b && grep y a && rm -r a d`,
			"temporary files":        `f=$(mktemp) && echo x >"$f" && cat "$f"`,
			"a home":                 `cd && echo x >file && cat ~/file && [ "$HOME" != "$REAL" ]`,
			"/dev/null":              `echo x >/dev/null && cat </dev/null && head -c 9 /dev/urandom >/dev/null`,
			"the system":             `ls /usr/bin >/dev/null && cat /etc/passwd >/dev/null && cat /proc/self/stat >/dev/null`,
			"pairs of sockets":       `./probe pair`,
			"signals inside":         `sleep 100 & kill $!; wait; true`,
			"processes and pipes":    `seq 100 | (while read n; do echo $n; done) | tail -n 1 | grep 100`,
			"programs of its own":    `cp /bin/sh mine && ./mine -c true && rm mine`,
			"memfd":                  `./probe memfd pair`,
			"a sandbox in a sandbox": `ln probe mylm; ./mylm sandbox -- ./probe pair && ! ./mylm sandbox -- ./probe socket 2 1`,
		} {
			names, lines = append(names, name), append(lines, line)
		}
		codes, out := c.lines(lines, nil, nil)
		for i, code := range codes {
			if code != "0" {
				t.Errorf("%s: exit %s: %s", names[i], code, out)
			}
		}
	})
}
