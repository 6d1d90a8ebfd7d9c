//go:build linux

package shell_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mylm/tools"
	"mylm/tools/sandbox"
	"mylm/tools/shell"
)

// confined is a policy for a workspace, and skips the test where the kernel
// cannot enforce it, unless it must.
func confined(t *testing.T, mode sandbox.Mode) (*sandbox.Policy, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &sandbox.Policy{Mode: mode, Workspace: dir}
	if err := p.Check(); err != nil {
		if os.Getenv("SANDBOX_TEST_REQUIRED") == "1" {
			t.Fatal("SANDBOX_TEST_REQUIRED is 1, but there is no sandbox: ", err)
		}
		t.Skip("no sandbox here: ", err)
	}
	return p, dir
}

func TestConfined(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "file")
	for _, c := range []struct {
		mode          sandbox.Mode
		command, text string
		code          int
	}{
		{sandbox.Workspace, "echo x >file && cat file", "x", 0},
		{sandbox.Workspace, "echo x >" + outside, "ermission denied", 2},
		{sandbox.ReadOnly, "echo x >file", "ermission denied", 2},
		{sandbox.ReadOnly, `echo x >"$TMPDIR/file" && cat "$TMPDIR/file"`, "x", 0},
		{sandbox.Off, "echo x >" + outside + " && echo done", "done", 0},
		{sandbox.Workspace, "sleep 60 & echo a", "a\n(processes left in the background were stopped)", 0},
	} {
		p, dir := confined(t, c.mode)
		out := run(t, shell.Options{Dir: dir, Sandbox: p}, c.command)
		if !strings.Contains(out.Text, c.text) || out.ExitCode == nil || *out.ExitCode != c.code {
			t.Errorf("%s, %s: %+v", c.mode, c.command, out)
		}
		if (out.Origin == tools.Workspace) != (c.mode != sandbox.Off) && out.Text != "" { // without a sandbox it had the network
			t.Errorf("%s, %s is of %q", c.mode, c.command, out.Origin)
		}
	}
}

// A command that nobody was asked about writes nothing, and has its bounds, also
// if it was wrongly judged to only read.
func TestReadersAreBounded(t *testing.T) {
	const line = "echo written >file; ulimit -d"
	for _, c := range []struct {
		mode    sandbox.Mode
		effect  tools.Effect
		written bool
		memory  string
	}{
		{sandbox.Workspace, tools.Reads, false, "1048576"},
		{sandbox.ReadOnly, tools.Reads, false, "1048576"},
		{sandbox.Off, tools.Reads, true, "1048576"},
		{sandbox.Workspace, tools.Runs, true, "unlimited"},
	} {
		p, dir := confined(t, c.mode)
		tool, err := shell.New(shell.Options{Dir: dir, Sandbox: p})
		if err != nil {
			t.Fatal(err)
		}
		tool.Effect = func(json.RawMessage) tools.Effect { return c.effect }
		out := of(t, tool, line).Run(t.Context(), patience)
		if !out.Success() || !strings.Contains(out.Text, c.memory) {
			t.Errorf("%s, %v: %+v", c.mode, c.effect, out)
		}
		if _, err := os.Stat(filepath.Join(dir, "file")); (err == nil) != c.written {
			t.Errorf("%s, %v: written is %v", c.mode, c.effect, err == nil)
		}
	}
}

// What was judged to only read does so whatever another command has left in the
// home that is kept: Git would run what its settings there name.
func TestReadersHaveNoSettings(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git on this machine")
	}
	p, dir := confined(t, sandbox.Workspace)
	p.Private = filepath.Join(t.TempDir(), "home")
	o := shell.Options{Dir: dir, Sandbox: p}
	if out := run(t, o, "git init -q . && touch a && git add a && git config --global core.fsmonitor 'touch ran; false' && rm -f ran"); !out.Success() {
		t.Fatalf("%+v", out)
	}
	inv := invocation(t, o, "git status --short")
	inv.Effect = tools.Reads
	if out := inv.Run(t.Context(), patience); !out.Success() || !strings.Contains(out.Text, "A  a") {
		t.Errorf("%+v", out)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("it ran what an earlier command had left")
	}
	if out := run(t, o, "git config --global core.fsmonitor"); !strings.Contains(out.Text, "touch ran") {
		t.Errorf("what may run has no kept home: %+v", out)
	}
}

// What a command is refused that nobody was asked about is in its result, also if
// the command ignores it, and with permission for just that it runs.
func TestRunsAgainWithPermission(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("far away"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, line string
		want       tools.Refusal // {dir} is the workspace
		text       string        // of the second run
	}{
		{"write", "echo x >out; cat out", tools.Refusal{Effect: tools.Writes, Kind: "write", What: "{dir}/out"}, "x"},
		{"ignored", "echo x 2>/dev/null >out || true; ls out", tools.Refusal{Effect: tools.Writes, Kind: "write", What: "{dir}/out"}, "out"},
		{"read", "cat " + outside, tools.Refusal{Effect: tools.Leaves, Kind: "read", What: outside}, "far away"},
		{"secret", "cat .env", tools.Refusal{Effect: tools.Leaves, Kind: "secret", What: "{dir}/.env"}, "A=1"},
		{"execute", "./run", tools.Refusal{Effect: tools.Runs, Kind: "execute", What: "{dir}/run"}, "ran"},
		{"mode", "chmod 600 run && ls -l run | cut -c 1-10", tools.Refusal{Effect: tools.Writes, Kind: "metadata", What: "{dir}/run"}, "-rw-------"},
		{"network", "perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0) or die; print qq(open)'", tools.Refusal{Effect: tools.Network, Kind: "network", What: "IPv4"}, "open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, dir := confined(t, sandbox.Workspace)
			for name, text := range map[string]string{".env": "A=1", "run": "#!/bin/sh\necho ran\n"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			c.want.What = strings.ReplaceAll(c.want.What, "{dir}", dir)
			inv := invocation(t, shell.Options{Dir: dir, Sandbox: p}, c.line)
			inv.Effect = tools.Reads
			out := inv.Run(t.Context(), patience)
			if len(out.Refused) != 1 || out.Refused[0] != c.want {
				t.Fatalf("refused %+v, want %+v: %s", out.Refused, c.want, out.Body())
			}
			inv.Effect, inv.Permits = tools.Reads|c.want.Effect, out.Refused
			if out := inv.Run(t.Context(), patience); out.Text != c.text || !out.Success() || len(out.Refused) > 0 {
				t.Errorf("with permission: %q, error %q, refused %+v; want %q", out.Text, out.Error, out.Refused, c.text)
			}
		})
	}
}

// Output may be a stranger's words if the command had the network, read outside
// the workspace, or ran without a question and is not made of plain readers.
func TestOriginOfOutput(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("far away"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, line string
		effect     tools.Effect
		net        bool
		permits    []tools.Refusal
		want       string
	}{
		{name: "unasked reader", line: "echo x", effect: tools.Reads, want: tools.Workspace},
		{name: "unasked", line: "perl -e 'print 1'", effect: tools.Reads, want: tools.Outside},
		{name: "allowed", line: "perl -e 'print 1'", effect: tools.Runs, want: tools.Workspace},
		{name: "with the network", line: "echo x", effect: tools.Runs, net: true, want: tools.Outside},
		{name: "allowed the network", line: "perl -e 'print 1'", effect: tools.Runs | tools.Network, permits: []tools.Refusal{{Effect: tools.Network, Kind: "network", What: "IPv4"}}, want: tools.Outside},
		{name: "allowed to read outside", line: "cat " + outside, effect: tools.Runs | tools.Leaves, permits: []tools.Refusal{{Effect: tools.Leaves, Kind: "read", What: outside}}, want: tools.Outside},
	} {
		p, dir := confined(t, sandbox.Workspace)
		p.AllowNet = c.net
		inv := invocation(t, shell.Options{Dir: dir, Sandbox: p}, c.line)
		inv.Effect, inv.Permits = c.effect, c.permits
		if out := inv.Run(t.Context(), patience); out.Origin != c.want || !out.Success() || len(out.Refused) > 0 {
			t.Errorf("%s: origin %q, want %q: %+v", c.name, out.Origin, c.want, out)
		}
	}
}

// The model learns what no permission would allow, and nobody is asked.
func TestNoPermissionFor(t *testing.T) {
	p, dir := confined(t, sandbox.Workspace)
	outside := t.TempDir()
	for line, want := range map[string]string{
		"touch " + outside + "/x":   "refused by the sandbox: write " + outside + "/x (by touch)",
		"cat /proc/1/environ":       "refused by the sandbox: read /proc/1/environ (by cat)",
		"kill -TERM $PPID":          "refused by the sandbox: signal TERM to process",
		"unshare -n true || true":   "refused by the sandbox: system namespaces (by unshare)",
		"echo x >'a\ufe0f' || true": "refused by the sandbox: write " + dir, // a person could not see what it is
		"echo x >'a\u200b' || true": "refused by the sandbox: write ",
	} {
		inv := invocation(t, shell.Options{Dir: dir, Sandbox: p}, line)
		inv.Effect = tools.Reads
		if out := inv.Run(t.Context(), patience); len(out.Refused) > 0 || len(out.Blocked) != 1 || !strings.Contains(out.Text, want) {
			t.Errorf("%s: %+v, %s", line, out.Refused, out.Body())
		}
	}
}

// What a command ignores that was allowed beforehand is in its result all the same.
func TestBlocked(t *testing.T) {
	p, dir := confined(t, sandbox.Workspace)
	outside := t.TempDir()
	for line, want := range map[string]tools.Refusal{
		"ls " + outside + " 2>/dev/null | wc -l":                {Effect: tools.Leaves, Kind: "read", What: outside},
		"bash -c ': </dev/tcp/127.0.0.1/9' 2>/dev/null || true": {Effect: tools.Network, Kind: "network", What: "IPv4"},
		"perl -e 'open F, q(>" + outside + "/x)'; echo went on": {Kind: "write", What: outside + "/x"},
		"echo x > x; bash -c ': </dev/tcp/127.0.0.1/9' || true": {}, // what changes something is not watched
	} {
		out := run(t, shell.Options{Dir: dir, Sandbox: p}, line)
		blocked := append(out.Blocked, tools.Refusal{})[0]
		if !out.Success() || len(out.Refused) > 0 || len(out.Blocked) > 1 || blocked != want || strings.Contains(out.Text, "refused by the sandbox: "+want.Kind) != (want.Kind != "") {
			t.Errorf("%s: %+v, want %+v", line, out, want)
		}
	}
}

// A command that was allowed beforehand and fails on the sandbox says so, once.
func TestFailedInTheSandbox(t *testing.T) {
	p, dir := confined(t, sandbox.Workspace)
	outside := t.TempDir()
	for line, want := range map[string]int{
		"echo x > " + outside + "/x":            1,
		"echo x > x":                            0,
		"echo Permission denied":                0,
		"echo x > " + outside + "/x || echo ok": 0,
		"exit 3":                                0,
	} {
		out := run(t, shell.Options{Dir: dir, Sandbox: p}, line)
		if n := strings.Count(out.Text, "It ran in a sandbox: it can write only below the working directory"); n != want {
			t.Errorf("%s: %d times, want %d: %s", line, n, want, out.Body())
		}
	}
	if out := run(t, shell.Options{Dir: dir}, "echo Permission denied; exit 2"); strings.Contains(out.Text, "sandbox") {
		t.Errorf("without one: %s", out.Body())
	}
}

// The output of a command that runs without a question is limited.
func TestUnaskedOutputIsBounded(t *testing.T) {
	p, dir := confined(t, sandbox.Workspace)
	inv := invocation(t, shell.Options{Dir: dir, Sandbox: p}, "yes")
	inv.Effect = tools.Reads
	if out := inv.Run(t.Context(), patience); !strings.Contains(out.Error, "it printed more than 64 MiB") {
		t.Errorf("error %q", out.Error)
	}
}

// What cannot be enforced is not run.
func TestNotEnforced(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	for _, p := range []*sandbox.Policy{
		{Workspace: "/"},
		{Workspace: dir, Home: dir},
		{Workspace: dir, Mode: "none"},
		{Workspace: filepath.Join(dir, "none")},
		{Workspace: dir, Home: dir + "/home", Reads: []string{"/"}},
	} {
		out := run(t, shell.Options{Dir: dir, Sandbox: p}, "touch "+file)
		if !strings.Contains(out.Error, "was not run, because its sandbox cannot be enforced") || out.ExitCode != nil {
			t.Errorf("%+v: %+v", p, out)
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a command was run")
	}
}

func TestDescriptionNamesSandbox(t *testing.T) {
	for _, c := range []struct {
		p    *sandbox.Policy
		want string
		not  string
	}{
		{nil, "stopped when it ends.", "sandbox"},
		{&sandbox.Policy{Mode: sandbox.Off}, "stopped when it ends.", "sandbox"},
		{&sandbox.Policy{}, "below the working directory and in $TMPDIR, and read no other files of the user, and has no network.", "x x"},
		{&sandbox.Policy{Mode: sandbox.ReadOnly, AllowNet: true}, "only in $TMPDIR, and read no other files of the user.", "network"},
	} {
		tool, err := shell.New(shell.Options{Sandbox: c.p})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(tool.Description, c.want) || strings.Contains(tool.Description, c.not) {
			t.Errorf("%+v: %s", c.p, tool.Description)
		}
	}
}

// Output without end costs no memory and ends with its time. With MYLM_SLOW set
// it is 10 GB, all of which is read.
func TestEndlessOutput(t *testing.T) {
	p, dir := confined(t, sandbox.Workspace)
	command, timeout := "yes 'a line of output'", time.Second/4
	if os.Getenv("MYLM_SLOW") != "" {
		command, timeout = command+" | head -c 10000000000", shell.MaxTimeout
	}
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var seen, looked, most uint64
	ctx := tools.WithProgress(t.Context(), func(text string) {
		if seen += uint64(len(text)); seen-looked > 4<<20 {
			runtime.ReadMemStats(&now)
			most, looked = max(most, now.HeapInuse), seen
		}
	})
	out := invocation(t, shell.Options{Dir: dir, Sandbox: p, Timeout: timeout}, command).Run(ctx, 0)
	for looked == 0 && timeout < patience { // a busy machine has hardly begun
		timeout *= 2
		out = invocation(t, shell.Options{Dir: dir, Sandbox: p, Timeout: timeout}, command).Run(ctx, 0)
	}
	if timeout < shell.MaxTimeout && !strings.HasPrefix(out.Error, "timed out") || timeout == shell.MaxTimeout && (out.Error != "" || seen != 10000000000) {
		t.Errorf("%d bytes: %q", seen, out.Error)
	}
	if len(out.Text) > shell.DefaultMaxOutput+100 || !out.Truncated {
		t.Errorf("%d bytes for the model", len(out.Text))
	}
	if looked == 0 || most > before.HeapInuse+32<<20 {
		t.Errorf("after %d bytes the heap grew from %d to %d", seen, before.HeapInuse, most)
	}
	t.Logf("%d bytes in %v, heap %d", seen, out.Duration, most)
}
