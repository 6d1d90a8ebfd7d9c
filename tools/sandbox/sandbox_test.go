package sandbox_test

import (
	"os"
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
	for _, err := range []error{os.WriteFile(file, nil, 0o600), os.Symlink(filepath.Dir(dir), link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for want, p := range map[string]sandbox.Policy{
		"there is no sandbox \"none\"":     {Mode: "none", Workspace: dir},
		"is not an absolute path":          {Workspace: "."},
		"cannot be used":                   {Workspace: filepath.Join(dir, "none")},
		"is not a directory":               {Workspace: file},
		"would protect nothing":            {Workspace: dir, Home: dir},
		"change to the directory of a pro": {Workspace: link, Home: dir},
		"which stays closed":               {Workspace: dir, Home: filepath.Dir(dir), Reads: []string{link}},
		"in the sandbox's policy is not":   {Workspace: dir, Reads: []string{"~/x"}},
		"policy is not an absolute path":   {Workspace: dir, Private: "x"},
	} {
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", p, err, want)
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
