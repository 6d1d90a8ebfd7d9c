package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"mylm/tools/sandbox"
)

// What a strict command uses is counted for all its processes together, also for
// root. A command over a limit is killed, and the report names the limit.
func TestStrictLimits(t *testing.T) { asNobody(t, strictLimits) }

func strictLimits(t *testing.T) {
	for _, c := range []struct {
		name, line, want string
		memory           uint64
	}{
		{"memory", `for i in 1 2 3 4 5 6; do perl -e '$x = "x" x 100_000_000; sleep 60' & done; wait`, "limit 512 MiB of memory", 512 << 20},
		{"shared memory", `python3 -c "import mmap, time; m = [mmap.mmap(-1, 100 << 20) for _ in range(6)]; [x.write(bytes(100 << 20)) for x in m]; time.sleep(60)"`, "limit 512 MiB of memory", 512 << 20},
		{"processes", `perl -e 'for (1..1500) { my $p = fork; if (!$p) { sleep 60; exit } } sleep 60'`, "limit 512 processes and threads", 0},
		{"temporary space", `for i in 1 2 3 4 5 6; do head -c 60000000 /dev/zero >$TMPDIR/$i; done; sleep 60`, "limit 256 MiB of temporary space", 0},
		{"space that no name leads to", `perl -e 'for (1..6) { open my $f, ">", "$ENV{TMPDIR}/x"; unlink "$ENV{TMPDIR}/x"; print $f "x" x 60_000_000; push @f, $f } sleep 60'`, "limit 256 MiB of temporary space", 0},
		{"files", `cd; perl -e 'for (1..9000) { open my $f, ">", $_ } sleep 60'`, "limit 5000 temporary files", 0},
	} {
		if !slow && c.name != "memory" && c.name != "processes" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			p := sandbox.Policy{Mode: sandbox.ReadOnly, Strict: true, Workspace: t.TempDir(), MaxMemory: c.memory}
			_, report := inWall(t, p, []string{everydayPath}, c.line)
			if len(report.Refusals) != 1 || report.Refusals[0].String() != c.want {
				t.Errorf("refused %v, want %s", report.Refusals, c.want)
			}
		})
	}
}

// Other commands have quotas, too. Their temporary space is removed in the end.
func TestAskedLimits(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	defer sandbox.Asked(20<<20, 20)()
	for _, mode := range []sandbox.Mode{sandbox.Workspace, sandbox.ReadOnly} {
		p := sandbox.Policy{Mode: mode, Workspace: t.TempDir()}
		_, report := inWall(t, p, []string{everydayPath}, `head -c 30000000 /dev/zero >"$TMPDIR/x"; sleep 60`)
		if len(report.Refusals) != 1 || report.Refusals[0].String() != "limit 20 MiB of temporary space" {
			t.Errorf("%s: refused %v", mode, report.Refusals)
		}
	}
	_, report := inWall(t, sandbox.Policy{Workspace: t.TempDir(), Watch: true}, []string{everydayPath}, `for i in $(seq 30); do sleep 60 & done; wait`)
	if len(report.Refusals) != 1 || report.Refusals[0].String() != "limit 20 processes and threads" {
		t.Errorf("refused %v", report.Refusals)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// A private directory that nobody holds any more, since mylm and its supervisor
// were killed, is removed by the next; one that is in use is not.
func TestStaleTempIsRemoved(t *testing.T) {
	const helper = "SANDBOX_TEST_LEAVES"
	line := `echo "$TMPDIR"; sleep 60`
	if temp := os.Getenv(helper); temp != "" {
		cmd := exec.Command("sh", "-c", line)
		cmd.Stdout = os.Stdout
		if _, err := (sandbox.Policy{Workspace: temp}).Wrap(cmd); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Run()
		return
	}
	temp, workspace := t.TempDir(), t.TempDir()
	if err := (sandbox.Policy{Workspace: workspace}).Check(); err != nil {
		noSandbox(t, err)
	}
	start := func() (*exec.Cmd, string) {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestStaleTempIsRemoved$")
		cmd.Env = append(os.Environ(), "TMPDIR="+temp, helper+"="+workspace)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line := make([]byte, 1000)
		n, _ := out.Read(line)
		return cmd, filepath.Dir(strings.TrimSpace(string(line[:n])))
	}
	first, left := start()
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(first.Process.Pid) + "/task/*/children") // of every thread: each may have started it
	if lists == nil {
		t.Skip("this kernel lists no children")
	}
	var children string
	for _, list := range lists {
		pids, _ := os.ReadFile(list)
		children += string(pids) + " "
	}
	_ = syscall.Kill(first.Process.Pid, syscall.SIGSTOP)
	for _, pid := range strings.Fields(children) { // the supervisor, and with it the command
		_ = syscall.Kill(number(pid), syscall.SIGKILL)
		for { // until its last thread has closed its files: the first may be a zombie before
			threads, _ := os.ReadDir("/proc/" + pid + "/task")
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			if err != nil || len(threads) == 1 && strings.Contains(string(stat), ") Z ") {
				break
			}
		}
	}
	_ = first.Process.Kill()
	_ = first.Wait()
	if _, err := os.Stat(left); err != nil {
		t.Fatalf("nothing was left behind: %v", err)
	}
	second, used := start()
	defer func() {
		_ = second.Process.Kill()
		_ = second.Wait()
	}()
	if _, err := os.Stat(left); err == nil {
		t.Errorf("%s is still there", left)
	}
	third, _ := start()
	_ = third.Process.Kill()
	_ = third.Wait()
	if _, err := os.Stat(used); err != nil {
		t.Errorf("what is in use was removed: %v", err)
	}
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// What a watched command is refused is reported, also if it ignores it; otherwise it
// runs as one that is not watched.
func TestWatched(t *testing.T) { asNobody(t, watched) }

func watched(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := sandbox.Policy{Workspace: filepath.Join(base, "ws"), Home: filepath.Join(base, "home")}
	for _, dir := range []string{p.Workspace, p.Home} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(p.Home, "note"), []byte("far away"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(base, "shut"), 0); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"ls ../shut 2>/dev/null | wc -l": "0\n", // it is closed without the sandbox, too
		"echo in >a; mv a b; cat b; rm b; cat /etc/passwd >/dev/null; ls /usr >/dev/null": "in\n",
		"ls ../home 2>/dev/null | wc -l":                             "0\nread " + p.Home + " (by ls)",
		"cat ../home/note 2>/dev/null || echo none":                  "none\nread " + p.Home + "/note (by cat)",
		"(echo x >>../home/note) 2>/dev/null; echo on":               "on\nwrite " + p.Home + "/note (by sh)",
		"touch ../home/new 2>/dev/null; echo on":                     "on\nwrite " + p.Home + "/new (by touch)",
		"rm -f ../home/note 2>/dev/null; echo on":                    "on\nwrite " + p.Home + "/note (by rm)",
		"mkdir ../home/new 2>/dev/null; echo on":                     "on\nwrite " + p.Home + "/new (by mkdir)",
		"bash -c ': </dev/tcp/127.0.0.1/9' 2>/dev/null || echo down": "down\nnetwork IPv4 (by bash)",
	} {
		out, report := inWall(t, p, []string{everydayPath}, line)
		if len(report.Refusals) > 0 {
			t.Errorf("%s: not watched, and reported %v", line, report.Refusals)
		}
		watch := p
		watch.Watch = true
		seen, report := inWall(t, watch, []string{everydayPath}, line)
		if seen != out {
			t.Errorf("%s: watched it prints %q, else %q", line, seen, out)
		}
		for _, r := range report.Refusals {
			seen += r.String()
		}
		if seen != want {
			t.Errorf("%s: %q, want %q", line, seen, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(p.Home, "note")); string(text) != "far away" {
		t.Errorf("the note outside is %q, %v", text, err)
	}
}

// Notes of names that are long when encoded fit into the pipe, which nobody reads yet.
func TestLongRefusals(t *testing.T) {
	p := sandbox.Policy{Workspace: t.TempDir(), Watch: true}
	line := `n=$(head -c 245 /dev/zero | tr '\0' '\1'); for i in $(seq 60); do (: >"` + t.TempDir() + `/$n$i") 2>/dev/null; done; echo end`
	out, report := inWall(t, p, []string{everydayPath}, line)
	if out != "end\n" || len(report.Refusals) == 0 || report.Abandoned {
		t.Errorf("%q, %d refusals, abandoned %v", out, len(report.Refusals), report.Abandoned)
	}
}
