package sandbox_test

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mylm/tools/sandbox"
)

func TestEnviron(t *testing.T) {
	env := []string{"PATH=/bin", "OPENAI_API_KEY=a", "github_token=b", "MY_SECRETS=c", "PGPASSWORD=d", "X_PASSWD=e", "AWS_CREDENTIALS=f", "SSH_PASSPHRASE=g", "DB_PASS=h", "MYSQL_PWD=i", "GITHUB_PAT=j", "npm_auth=k", "X_COOKIE_Y=l",
		"EMPTY=", "ODD", "PWD=/", "OLDPWD=/", "SSH_AUTH_SOCK=/x", "GIT_AUTHOR_NAME=a", "SSH_ASKPASS=a"}
	if got, want := (sandbox.Policy{}).Environ(env), []string{"PATH=/bin", "EMPTY=", "ODD", "PWD=/", "OLDPWD=/", "SSH_AUTH_SOCK=/x", "GIT_AUTHOR_NAME=a", "SSH_ASKPASS=a"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (sandbox.Policy{Env: []string{"PGPASSWORD", "NONE"}}).Environ(env); !slices.Contains(got, "PGPASSWORD=d") || len(got) != 9 {
		t.Errorf("with one kept: %q", got)
	}
}

// Keys reach no command: not by a name that the configuration has for them, nor as
// the value, or a part of it, of another variable.
func TestEnvironWithoutKeys(t *testing.T) {
	p := sandbox.Policy{SecretEnv: []string{"WORK"}, Secrets: []string{"", "local", "abcdefgh"}, Env: []string{"WORK"}}
	env := []string{"WORK=x", "A=local", "B=/usr/local", "C=abcdefgh", "OLLAMA_HOST=http://me:abcdefgh@h", "D=abcdefg"}
	for _, p.Mode = range sandbox.Modes() {
		if got, want := p.Environ(env), []string{"B=/usr/local", "D=abcdefg"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", p.Mode, got, want)
		}
	}
}

// A strict command gets what is on a list, unless it looks like a key.
func TestEnvironOfStrict(t *testing.T) {
	p := sandbox.Policy{Strict: true, Env: []string{"NPM_TOKEN", "MINE"}}
	env := []string{"PATH=/bin", "LANG=C", "LC_TIME=C", "TZ=UTC", "TERM=xterm", "GOFLAGS=-mod=mod", "NPM_TOKEN=x", "MINE=x", "DATABASE_URL=postgres://a:b@c/d", "http_proxy=http://a:b@c", "OLLAMA_HOST=http://h", "AWS_PROFILE=x", "BASH_FUNC_ls%%=() { :; }", "GIT_DIR=/x", "LD_PRELOAD=/x", "PYTHONSTARTUP=/x",
		"GOROOT=https://me:pw@h/x", "SHELL=sk-0123456789abcdef", "PAGER=ghp_0123456789abcdef", "CC=-----BEGIN PRIVATE KEY-----"}
	want := []string{"PATH=/bin", "LANG=C", "LC_TIME=C", "TZ=UTC", "TERM=xterm", "GOFLAGS=-mod=mod"}
	got := p.Environ(env)
	if !slices.Equal(got[:min(len(got), len(want))], want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, kv := range got[len(want):] { // what the sandbox adds
		if slices.Contains(env, kv) {
			t.Errorf("%s is passed on", kv)
		}
	}
}

func TestStricter(t *testing.T) {
	for _, c := range []struct{ a, b, want sandbox.Mode }{
		{sandbox.ReadOnly, sandbox.Off, sandbox.ReadOnly},
		{sandbox.Off, sandbox.Workspace, sandbox.Workspace},
		{sandbox.Off, sandbox.Off, sandbox.Off},
		{sandbox.Workspace, sandbox.ReadOnly, sandbox.ReadOnly},
		{"", sandbox.Off, sandbox.Workspace},
	} {
		if got := sandbox.Stricter(c.a, c.b); got != c.want {
			t.Errorf("of %q and %q %q is stricter, want %q", c.a, c.b, got, c.want)
		}
	}
}

// What cannot be meant is refused on every system.
func TestCheckRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	link := filepath.Join(dir, "link")
	for _, err := range []error{os.WriteFile(file, nil, 0o600), os.Mkdir(filepath.Join(dir, "below"), 0o700), os.Symlink(filepath.Dir(dir), link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for want, p := range map[string]sandbox.Policy{
		"there is no sandbox \"none\"":      {Mode: "none", Workspace: dir},
		"is not an absolute path":           {Workspace: "."},
		"cannot be used":                    {Workspace: filepath.Join(dir, "none")},
		"is not a directory":                {Workspace: file},
		"would protect nothing":             {Workspace: dir, Home: dir},
		"change to the directory of a pro":  {Workspace: link, Home: dir},
		"which stays closed":                {Workspace: dir, Home: filepath.Dir(dir), Reads: []string{link}},
		"in the sandbox's policy is not":    {Workspace: dir, Reads: []string{"~/x"}},
		"policy is not an absolute path":    {Workspace: dir, Private: "x"},
		"is the whole system":               {Workspace: dir, Reads: []string{filepath.VolumeName(dir) + string(filepath.Separator)}},
		`"A=b" in the sandbox's policy is`:  {Workspace: dir, Env: []string{"NPM_TOKEN", "A=b"}},
		`"" in the sandbox's policy is not`: {Workspace: dir, Env: []string{""}},
		"where this program keeps what is":  {Workspace: dir, Closed: []string{filepath.Join(dir, "none"), filepath.Join(dir, "..", "other")}},
		"and " + dir + " overlap":           {Workspace: filepath.Join(dir, "below"), Closed: []string{dir}},
	} {
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", p, err, want)
		}
	}
}

// The home directory that the system has for the user counts, too, whatever HOME
// says.
func TestHomeOfTheDatabase(t *testing.T) {
	u, err := user.Current()
	if err != nil {
		t.Skip(err)
	}
	if _, err := os.Stat(u.HomeDir); err != nil || !filepath.IsAbs(u.HomeDir) {
		t.Skip("the user has no home: ", u.HomeDir)
	}
	t.Setenv("HOME", t.TempDir())
	for _, dir := range []string{u.HomeDir, filepath.Dir(u.HomeDir)} {
		if err := (sandbox.Policy{Workspace: dir, Home: os.Getenv("HOME")}).Check(); err == nil || !strings.Contains(err.Error(), "holds your home directory") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		path, dir string
		want      bool
	}{
		{"/a/b", "/a/b", true}, {"/a/b/c", "/a/b", true}, {"/a/b", "/", true}, {"/a/b/..c", "/a/b", true}, {"/a/c/../b/d", "/a/b", true},
		{"/a", "/a/b", false}, {"/a/bc", "/a/b", false}, {"/a/b/../c", "/a/b", false}, {"a/b", "/a", false},
	} {
		if got := sandbox.Within(filepath.FromSlash(c.path), filepath.FromSlash(c.dir)); got != c.want {
			t.Errorf("%s within %s: %v, want %v", c.path, c.dir, got, c.want)
		}
	}
}
