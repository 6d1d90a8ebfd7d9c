package sandbox_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"mylm/tools/sandbox"
)

// withoutMain makes this program one that does not call Main.
const withoutMain = "SANDBOX_TEST_WITHOUT_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(canaryEnv) != "" {
		os.Stdout.Write([]byte{0})
		_, _ = os.Stdin.Read(make([]byte, 1))
		return
	}
	if os.Getenv(withoutMain) == "" {
		sandbox.Main()
	}
	os.Exit(m.Run())
}

// noSandbox skips a test where the kernel has no sandbox, unless it must.
func noSandbox(t *testing.T, why error) {
	t.Helper()
	if os.Getenv("SANDBOX_TEST_REQUIRED") == "1" {
		t.Fatal("SANDBOX_TEST_REQUIRED is 1, but there is no sandbox: ", why)
	}
	t.Skip("no sandbox here: ", why)
}

// wrapped runs a command line under a policy.
func wrapped(t *testing.T, p sandbox.Policy, line string) (string, sandbox.Report, error) {
	t.Helper()
	if err := p.Check(); err != nil {
		noSandbox(t, err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &out, p.Workspace
	guard, err := p.Wrap(cmd)
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Run()
	report := guard.Release()
	return out.String(), report, err
}

// A program that would start itself again and again starts nothing.
func TestWithoutMain(t *testing.T) {
	if os.Getenv(withoutMain) != "" {
		for _, p := range []sandbox.Policy{{Mode: sandbox.Off}, {Workspace: t.TempDir()}} {
			if _, err := p.Wrap(exec.Command("true")); err == nil || !strings.Contains(err.Error(), "does not call sandbox.Main") {
				t.Errorf("%q: %v", p.Mode, err)
			}
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestWithoutMain$", "-test.v")
	cmd.Env = append(os.Environ(), withoutMain+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestReport(t *testing.T) {
	for _, c := range []struct {
		mode      sandbox.Mode
		line, err string
		leftovers bool
	}{
		{sandbox.Off, "true", "", false},
		{sandbox.Off, "exit 3", "exit status 3", false},
		{sandbox.Off, "kill -SEGV $$", "signal: segmentation fault", false},
		{sandbox.Off, "sleep 60 & true", "", true},
		{sandbox.Off, "(sleep 60 &) ; exit 1", "exit status 1", true},
		{sandbox.Off, "(true &) ; sleep 0.1", "", false},
		{sandbox.Workspace, "kill -KILL $$", "signal: killed", false},
		{sandbox.ReadOnly, "sleep 60 & true", "", true},
	} {
		out, report, err := wrapped(t, sandbox.Policy{Mode: c.mode, Workspace: t.TempDir()}, c.line)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.err || report.Leftovers != c.leftovers || report.Failed != nil {
			t.Errorf("%s, %s: %q, %v, %+v, want %q, leftovers %v", c.mode, c.line, out, err, report, c.err, c.leftovers)
		}
	}
}

// A limit of memory is the command's and not the supervisor's, which would die of
// it and leave behind what the command started.
func TestMaxMemory(t *testing.T) {
	for _, c := range []struct {
		policy sandbox.Policy
		line   string
	}{
		{sandbox.Policy{Mode: sandbox.Off}, "sleep 60 & ulimit -d; grep -c 'Max data.*67108864' /proc/$PPID/limits"},
		{sandbox.Policy{Mode: sandbox.Workspace}, "sleep 60 & ulimit -d; echo 0"},
		{sandbox.Policy{Mode: sandbox.ReadOnly, Strict: true}, "sleep 60 & ulimit -d; echo 0"},
	} {
		c.policy.Workspace, c.policy.MaxMemory = t.TempDir(), 64<<20
		out, report, err := wrapped(t, c.policy, c.line+"; exit 0")
		if err != nil || out != "65536\n0\n" || report.Abandoned || !report.Leftovers {
			t.Errorf("%s: %q, %v, %+v", c.policy.Mode, out, err, report)
		}
	}
}

// Go starts a process of its own for its statistics, unless a file turns them off.
func TestGoLeavesNothingBehind(t *testing.T) {
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Skip("Go is not installed: ", err)
	}
	for _, p := range []sandbox.Policy{{}, {Private: t.TempDir()}, {Mode: sandbox.ReadOnly, Strict: true}} {
		p.Workspace, p.Reads = t.TempDir(), []string{filepath.Dir(filepath.Dir(goCommand))}
		out, report, err := wrapped(t, p, quoted(goCommand)+" version && cat ~/.config/go/telemetry/mode")
		if err != nil || !strings.HasSuffix(out, "\noff") || report.Leftovers {
			t.Errorf("%s: %q, %v, %+v", p.Mode, out, err, report)
		}
	}
}

// A command that cannot be started says so, not its exit code.
func TestFailed(t *testing.T) {
	for _, mode := range []sandbox.Mode{sandbox.Off, sandbox.Workspace} {
		p := sandbox.Policy{Mode: mode, Workspace: t.TempDir()}
		if err := p.Check(); err != nil {
			noSandbox(t, err)
		}
		cmd := exec.Command("/nowhere/program")
		guard, err := p.Wrap(cmd)
		if err != nil {
			t.Fatal(err)
		}
		err = cmd.Run()
		if report := guard.Release(); err == nil || report.Failed == nil || !strings.Contains(report.Failed.Error(), "/nowhere/program cannot be started") {
			t.Errorf("%s: %v, %+v", mode, err, report)
		}
	}
}

// Nothing is left of the private directories, however a command closes them,
// and a guard whose command was never started has nothing to wait for.
func TestNothingIsLeft(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	p := sandbox.Policy{Workspace: t.TempDir()}
	out, _, err := wrapped(t, p, `mkdir "$TMPDIR/d" && echo x >"$TMPDIR/d/f" && chmod 0 "$TMPDIR/d" && mkdir ~/d && chmod 500 ~ && echo $HOME`)
	if err != nil || !strings.HasPrefix(out, temp) {
		t.Fatalf("%q, %v", out, err)
	}
	guard, err := p.Wrap(exec.Command("true"))
	if err != nil {
		t.Fatal(err)
	}
	guard.Release()
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// A private home is kept, and what the policy names in the user's is found in
// it, also when a command put traps there.
func TestPrivateHome(t *testing.T) {
	home, private := t.TempDir(), t.TempDir()
	for _, dir := range []string{"tools/bin", "secret", ".cache/x"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "tools/bin/file"), []byte("tool"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := sandbox.Policy{Workspace: t.TempDir(), Home: home, Private: private, Reads: []string{home + "/tools/bin", home + "/tools", home + "/none", home + "/.cache/x/y"}}
	for _, c := range []struct{ line, want string }{
		{`cat ~/tools/bin/file && echo kept >~/note`, "tool"},
		{`cat ~/note && ! echo x 2>/dev/null >~/tools/bin/file`, "kept"},
		{`rm -r ~/tools ~/.cache; ln -s "` + home + `" ~/.cache && ln -s "` + home + `/secret" ~/tools; rm ~/.config/go/telemetry/mode && mkfifo ~/.config/go/telemetry/mode; echo set`, "set"},
		{`ls ~/.cache/ 2>&1 || echo closed`, "closed"},
	} {
		if out, _, err := wrapped(t, p, c.line); err != nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %q, %v, want %q", c.line, out, err, c.want)
		}
		if err := os.MkdirAll(home+"/.cache/x/y", 0o755); err != nil { // so that there is something to link next
			t.Fatal(err)
		}
	}
	for _, dir := range []string{home, home + "/secret", home + "/.cache/x/y"} {
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			if err != nil || e.Type()&os.ModeSymlink != 0 {
				t.Errorf("%s holds %s, %v", dir, e.Name(), err)
			}
		}
	}
}

// A command runs with a temporary home if its private home cannot be made: the
// user's home directory may be read-only.
func TestPrivateHomeCannotBeMade(t *testing.T) {
	p := sandbox.Policy{Workspace: t.TempDir(), Private: "/dev/null/home"}
	if out, _, err := wrapped(t, p, `echo kept >~/note && cat ~/note`); err != nil || !strings.Contains(out, "kept") {
		t.Errorf("%q, %v", out, err)
	}
}

// Kill ends a command at once, whatever it does to signals.
func TestKill(t *testing.T) {
	p := sandbox.Policy{Mode: sandbox.Off}
	cmd := exec.Command("sh", "-c", `trap "" TERM INT HUP; echo ready; sleep 1000 & wait; sleep 1000`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	guard, err := p.Wrap(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	guard.Kill()
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("it ended with %v", err)
	}
	guard.Kill()
	guard.Release()
	guard.Release()
}

// BenchmarkWrap is what the helpers cost a command.
func BenchmarkWrap(b *testing.B) {
	for name, p := range map[string]sandbox.Policy{"off": {Mode: sandbox.Off}, "workspace": {}, "strict": {Mode: sandbox.ReadOnly, Strict: true}} {
		b.Run(name, func(b *testing.B) { wraps(b, p, "true") })
	}
}

// BenchmarkOpens is what it costs that files are opened by the supervisor: 2,000
// of them in each command.
func BenchmarkOpens(b *testing.B) {
	dir := b.TempDir()
	for i := range 2000 {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), []byte("text\n"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for name, strict := range map[string]bool{"read-only": false, "strict": true} {
		b.Run(name, func(b *testing.B) {
			wraps(b, sandbox.Policy{Mode: sandbox.ReadOnly, Strict: strict, Workspace: dir}, "grep", "-r", "nothing", ".")
		})
	}
}

func wraps(b *testing.B, p sandbox.Policy, name string, args ...string) {
	if p.Workspace == "" {
		p.Workspace = b.TempDir()
	}
	if err := p.Check(); err != nil {
		b.Skip("no sandbox here: ", err)
	}
	for b.Loop() {
		cmd := exec.Command(name, args...)
		cmd.Dir = p.Workspace
		guard, err := p.Wrap(cmd)
		if err != nil {
			b.Fatal(err)
		}
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			b.Fatal(err)
		}
		if report := guard.Release(); report.Failed != nil || len(report.Refusals) > 0 {
			b.Fatalf("%+v", report)
		}
	}
}
