package setup

import (
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools"
	"mylm/tools/policy"
	"mylm/tools/sandbox"
	"mylm/tools/shell"
)

//go:embed testdata/everyday.txt
var everyday string

// project fills a workspace with what the everyday lines are about.
func project(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"README.md":         "# Shop\n\nThe heron watches the shop, and the heron waits.\n",
		"go.mod":            "module shop\n\ngo 1.25\n",
		"docs/guide.md":     "# Guide\n\nStart here.\nThen go on.\n",
		"src/main.go":       "package main\n\nimport \"fmt\"\n\n// TODO: more\nfunc main() {\n\tfmt.Println(\"heron\")\n}\n",
		"src/util.go":       "package main\n\nfunc add(a, b int) int { return a + b }\n",
		"data/sales.csv":    "north,3\nsouth,14\nnorth,15\n",
		"data/a.txt":        "crane\nheron\nstork\n",
		"data/b.txt":        "crane\nswan\n",
		"data/config.json":  `{"name": "shop", "port": 8080}`,
		"scripts/run.sh":    "echo running\nls | wc -l\n",
		"scripts/report.py": "import csv\nprint(sum(int(r[1]) for r in csv.reader(open('data/sales.csv'))))\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	setup := exec.Command("sh", "-c", `git init -q && git add . && git -c user.name=a -c user.email=a@b.c commit -qm first &&
		tar cf data/files.tar -C data a.txt && gzip -k data/a.txt && touch src/main.go`)
	setup.Dir = dir
	if out, err := setup.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// run makes calls of commands as a run does, with nobody to ask.
type unaskedRun struct {
	t        *testing.T
	guard    *Guard
	registry *tools.Registry
	person   *Person
}

func newUnaskedRun(t *testing.T) (r unaskedRun, dir string) {
	t.Helper()
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Setenv("CI", "1")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	c := &config.Config{Workspace: dir, Project: dir}
	box := SandboxPolicy(c)
	strict := *box
	strict.Mode, strict.Strict = sandbox.ReadOnly, true
	if err := strict.Check(); err != nil {
		if os.Getenv("SANDBOX_TEST_REQUIRED") == "1" {
			t.Fatal("SANDBOX_TEST_REQUIRED is 1, but there is no sandbox: ", err)
		}
		t.Skip("no sandbox here: ", err)
	}
	told, err := os.Create(filepath.Join(t.TempDir(), "told"))
	check(t, err)
	t.Cleanup(func() { told.Close() })
	screen := term.NewScreen(term.Streams{In: told, Out: told, Err: told})
	r = unaskedRun{t: t, person: &Person{Prompter: term.Prompter{Screen: screen}}}
	r.registry, err = toolbox{c: c, box: box, memory: NewMemory(c, screen), notify: screen}.registry(nil)
	check(t, err)
	r.guard, err = NewGuard(c, box, "", r.person)
	check(t, err)
	return r, dir
}

// call has a line approved, and runs it if it may. It is denied by a question
// that there is nobody for, before it ran or after.
func (r unaskedRun) call(line string) (out tools.Outcome, denied bool) {
	r.t.Helper()
	run := r.approve(line)
	if run == nil {
		return out, true
	}
	return run()
}

// approve has a line approved, and returns what runs it; nil if it is denied.
func (r unaskedRun) approve(line string) func() (out tools.Outcome, denied bool) {
	r.t.Helper()
	args, err := json.Marshal(map[string]string{"command": line})
	check(r.t, err)
	inv, err := r.registry.Prepare(shell.Name, args)
	check(r.t, err)
	ask := agent.ApprovalRequest{Name: shell.Name, Args: inv.Args, Effect: inv.Effect, Preview: inv.Preview}
	d, err := r.guard.Approve(r.t.Context(), ask)
	check(r.t, err)
	if d.Verdict != agent.Allow {
		return nil
	}
	if !d.Hold {
		r.t.Fatalf("%s: runs unasked, and not held to reading", line)
	}
	inv.Effect = tools.Reads
	return func() (out tools.Outcome, denied bool) {
		out = inv.Run(r.t.Context(), 0)
		if out.Refused == nil {
			return out, false
		}
		for ask.Refused = out.Refused; len(ask.Refused) > 0; ask.Refused = ask.Refused[1:] {
			if d, err := r.guard.Approve(r.t.Context(), ask); err != nil || d.Verdict == agent.Allow {
				r.t.Errorf("%s: %v is allowed unasked (%v)", line, ask.Refused, err)
			}
		}
		return out, true
	}
}

// What people and models look at a project with runs without a question. Every line is
// approved; every fourth is run as well, and all with MYLM_SLOW.
func TestEverydayLines(t *testing.T) {
	r, dir := newUnaskedRun(t)
	project(t, dir)
	n := 0
	for line := range strings.Lines(everyday) {
		line = strings.TrimSuffix(line, "\n")
		n++
		run := r.approve(line)
		if run == nil {
			t.Errorf("%s: is asked about", line)
			continue
		}
		if n%4 != 0 && os.Getenv("MYLM_SLOW") == "" {
			continue
		}
		out, denied := run()
		switch {
		case denied:
			t.Errorf("%s: is asked about, with %v: %s", line, out.Refused, out.Body())
		case !out.Success() && (out.ExitCode == nil || *out.ExitCode != 127), strings.Contains(out.Text, "refused by the sandbox"):
			t.Errorf("%s: %s", line, out.Body())
		}
	}
	if n < 150 {
		t.Errorf("%d lines, want 150", n)
	}
}

// Of the lines that are known to attack, each is asked about or ends in the wall;
// package sandbox shows that they have no effect there. What a judge of lines
// once took for reading is among them.
func TestAttackLinesAreHeld(t *testing.T) {
	r, dir := newUnaskedRun(t)
	project(t, dir)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	check(t, os.WriteFile(secret, []byte("heron-canary"), 0o600))
	check(t, os.Symlink("/proc/"+strconv.Itoa(os.Getpid())+"/environ", filepath.Join(dir, "-")))
	check(t, os.Symlink(outside, filepath.Join(dir, "dirlink")))
	check(t, os.RemoveAll(filepath.Join(dir, "docs")))
	check(t, os.Symlink(outside, filepath.Join(dir, "docs"))) // in place of a tracked directory
	check(t, os.WriteFile(filepath.Join(dir, ".env"), []byte("KEY=heron-canary"), 0o600))
	t.Setenv("API_KEY", "heron-canary")
	index, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
	check(t, err)
	for _, line := range []string{
		`tr "\0" "\n" < -`, "cat -- -", "git grep -h canary", "cat docs/secret", "cat dirlink/secret", "cat dirlink/notyet; cat dirlink/*", "cat " + secret,
		"grep -r canary .", "grep -R canary docs dirlink", "env", "printenv API_KEY", "cat /proc/self/environ /proc/1/environ", "cat .env", "head -1 .e*",
		"python3 -c \"print(open('" + secret + "').read())\"", "ln -s " + secret + " x; cat x", "git diff --no-index /dev/null " + secret, "find dirlink/ -type f -exec cat {} +",
	} {
		if out, _ := r.call(line); strings.Contains(out.Body(), "heron-canary") {
			t.Errorf("%s: prints a secret: %s", line, out.Body())
		}
	}
	for _, line := range []string{"git diff", "git status", "git update-index --refresh", "rm x", "echo x > made", "python3 -c 'open(\"made\",\"w\")'", "touch docs/made", "sh -c 'echo x > ../made'"} {
		r.call(line)
		now, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
		if err != nil || string(now) != string(index) {
			t.Errorf("%s: changes the index of git (%v)", line, err)
		}
	}
	for _, made := range []string{filepath.Join(dir, "made"), filepath.Join(outside, "made"), filepath.Join(filepath.Dir(dir), "made")} {
		if _, err := os.Lstat(made); err == nil {
			t.Errorf("%s was written unasked", made)
		}
	}
}

// No line of attack is decided to run without the wall: not where the sandbox
// holds lines, and not where plain readers run without one. Without it grep -r
// reads all files of the workspace, keys too.
func TestAttackLinesAreNotAllowed(t *testing.T) {
	text, err := os.ReadFile("../../../../tools/sandbox/testdata/attacks.txt")
	check(t, err)
	dir, outside := t.TempDir(), t.TempDir()
	project(t, dir)
	check(t, os.MkdirAll(filepath.Join(dir, "deep"), 0o700))
	for name, text := range map[string]string{filepath.Join(outside, "secret"): "x", filepath.Join(dir, ".env"): "KEY=x"} {
		check(t, os.WriteFile(name, []byte(text), 0o600))
	}
	for name, to := range map[string]string{"-": "/proc/self/environ", "link": outside + "/secret", "dirlink": outside, "deep/up": outside, "abs": "/", "tracked": outside, "toenv": ".env"} {
		check(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	lines := 0
	for line := range strings.Lines(string(text)) {
		line = strings.NewReplacer("{ws}", dir, "{out}", outside, "{home}", outside, "{pid}", "1", "{cat}", "cat").Replace(strings.TrimSpace(line))
		if line == "" || line[0] == '#' {
			continue
		}
		if lines++; testing.Short() && lines%8 != 0 {
			continue
		}
		for _, unasked := range []policy.Unasked{policy.Sandbox, policy.Readers} {
			p, err := policy.New(policy.Options{Unasked: unasked})
			check(t, err)
			c := policy.Call{Tool: shell.Name, Effect: tools.Runs, Line: line}
			c.Place.Root, c.Place.Env = dir, os.Environ()
			d := p.Decide(c)
			if d.Verdict == policy.Allow && (!d.Hold || unasked == policy.Readers && !strings.HasPrefix(line, "grep -r")) {
				t.Errorf("%s: %s is allowed: %s", unasked, line, d.Why)
			}
		}
	}
	if lines < 300 {
		t.Errorf("%d lines, want 300", lines)
	}
}
