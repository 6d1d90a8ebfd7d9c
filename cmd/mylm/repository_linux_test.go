package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git runs git outside, as the cage's user.
func (c *cage) git(dir string, args ...string) {
	c.t.Helper()
	full := append([]string{"git", "-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"}, args...)
	if out, code := c.run(full...); code != "0" {
		c.t.Fatalf("%q: exit %s: %s", args, code, out)
	}
}

// at runs a command line in a directory with mylm sandbox.
func (c *cage) at(dir, line string, flags ...string) (string, string) {
	c.t.Helper()
	args := append([]string{"env", "-C", dir, c.mylm, "sandbox"}, flags...)
	return c.run(append(append(args, "--"), sh(line)...)...)
}

// project makes a repository with a file below sub, and one commit.
func (c *cage) project(dir string) {
	c.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		c.t.Skip("no git on this machine")
	}
	if out, code := c.run("sh", "-c", "mkdir -p '"+dir+"/sub' && echo one >'"+dir+"/sub/file'"); code != "0" {
		c.t.Fatal(out)
	}
	c.git(dir, "init", "-q")
	c.git(dir, "add", ".")
	c.git(dir, "commit", "-qm", "the first")
}

// looksAt are reading commands of git, with a part of their output.
const looksAt = `echo two >>file && git status --short && git diff && git log --oneline && git checkout -q file 2>/dev/null; true`

// A repository that holds the home directory's settings stays closed.
func TestHomeRepositoryStaysClosed(t *testing.T) {
	asUsers(t, func(t *testing.T, c *cage) {
		c.project(c.home)
		c.git(c.home, "remote", "add", "origin", "https://me:hunter2@example.com/dotfiles")
		c.git(c.home, "worktree", "add", "-q", c.home+"/tree")
		for _, dir := range []string{c.home + "/sub", c.home + "/tree"} {
			out, code := c.at(dir, `for file in config HEAD index refs/heads/main worktrees/tree/HEAD; do cat "$REAL/.git/$file" && echo open; done; true`)
			if code != "0" || strings.Contains(out, "open\n") || strings.Count(out, "Permission denied") != 5 {
				t.Errorf("in %s: exit %s: %s", dir, code, out)
			}
		}
	})
}

// In a subdirectory of a project git can read the repository, but not a
// configuration that may hold a secret, nor what git does not need.
func TestRepositoryAbove(t *testing.T) {
	slow(t)
	asUsers(t, func(t *testing.T, c *cage) {
		dir := c.home + "/project"
		c.project(dir)
		c.git(dir, "remote", "add", "origin", "ssh://git@example.com/project")
		out, code := c.at(dir+"/sub", looksAt)
		if code != "0" || !strings.Contains(out, " M file") || !strings.Contains(out, "+two") || !strings.Contains(out, "the first") {
			t.Errorf("exit %s: %s", code, out)
		}
		for _, line := range []string{`cat ../.git/hooks/pre-commit.sample`, `cat ../.git/logs/HEAD`, `echo x >../.git/HEAD`, `echo x >../.git/new`} {
			if out, code := c.at(dir+"/sub", line); code == "0" {
				t.Errorf("%s: %s", line, out)
			}
		}
		for _, setting := range [][2]string{
			{"remote.origin.url", "https://hunter2@example.com/project"},
			{"http.https://example.com/.extraheader", "Authorization: Basic hunter2"},
			{"credential.helper", "!echo password=hunter2"},
			{"url.https://hunter2@example.com.insteadof", "https://example.com"},
			{"core.sshcommand", "sshpass -p hunter2 ssh"},
			{"remote.origin.pushurl", "ssh://me:hunter2@example.com/project"},
			{"remote.origin.pushurl", "https://example.com/project?key=hunter2"},
			{"mine.password", "hunter2"},
		} {
			c.git(dir, "config", "--local", setting[0], setting[1])
			if out, code := c.at(dir+"/sub", `cat ../.git/config`); code == "0" || strings.Contains(out, "hunter2") {
				t.Errorf("%v: %s", setting, out)
			}
			c.git(dir, "config", "--local", "--unset", setting[0])
			c.git(dir, "config", "--local", "remote.origin.url", "ssh://git@example.com/project")
		}
		// A part that is a link to elsewhere is none.
		check(t, os.RemoveAll(dir+"/.git/info"))
		check(t, os.Symlink(c.home+"/.ssh", dir+"/.git/info"))
		if out, code := c.at(dir+"/sub", `cat "$REAL/.ssh/id"`); code == "0" {
			t.Errorf("through a link: %s", out)
		}
	})
}

// In a linked working tree git reads the repository, and writes only the files of
// that tree. A submodule can be read.
func TestWorktree(t *testing.T) {
	slow(t)
	asUsers(t, func(t *testing.T, c *cage) {
		dir, tree := c.home+"/project", c.home+"/tree"
		c.project(dir)
		c.git(dir, "worktree", "add", "-q", tree)
		for _, mode := range []string{"workspace", "read-only"} {
			line := strings.ReplaceAll(looksAt, "echo two >>file && ", "")
			check(t, os.WriteFile(tree+"/sub/file", []byte("one\ntwo\n"), 0o600))
			out, code := c.at(tree, "cd sub && "+line, "--mode", mode)
			if code != "0" || !strings.Contains(out, " M sub/file") && !strings.Contains(out, " M file") || !strings.Contains(out, "+two") || !strings.Contains(out, "the first") {
				t.Errorf("%s: exit %s: %s", mode, code, out)
			}
		}
		for line, want := range map[string]string{
			`touch "$REAL/project/.git/worktrees/tree/new"`: "0",
			`git add .`:                             "128", // which makes an object
			`touch "$REAL/project/.git/new"`:        "1",
			`touch "$REAL/project/.git/refs/x"`:     "1",
			`touch "$REAL/project/.git/objects/x"`:  "1",
			`echo x >"$REAL/project/sub/file"`:      "2",
			`cat "$REAL/project/sub/file"`:          "1",
			`ls "$REAL/project/.git/hooks"`:         "2",
			`cat "$REAL/.ssh/id"`:                   "1",
			`echo y >>sub/file && git diff --quiet`: "1",
		} {
			check(t, os.WriteFile(tree+"/sub/file", []byte("one\ntwo\n"), 0o600))
			if out, code := c.at(tree, line); code != want {
				t.Errorf("%s: exit %s, want %s: %s", line, code, want, out)
			}
		}
		c.git(dir, "submodule", "--quiet", "add", dir, "part")
		if out, code := c.at(dir+"/part", "git status --short && git log --oneline"); code != "0" || !strings.Contains(out, "the first") {
			t.Errorf("submodule: exit %s: %s", code, out)
		}
	})
}

// Files in the workspace open nothing elsewhere: a .git file counts only if its
// target points back.
func TestForgedPointers(t *testing.T) {
	slow(t)
	asUsers(t, func(t *testing.T, c *cage) {
		dir, tree, victim := c.home+"/project", c.home+"/tree", c.home+"/victim"
		c.project(dir)
		c.project(victim)
		c.git(dir, "worktree", "add", "-q", tree)
		c.git(victim, "worktree", "add", "-q", c.home+"/victims")
		own := dir + "/.git/worktrees/tree"
		for name, files := range map[string]map[string]string{
			"at a repository":         {tree + "/.git": "gitdir: " + victim + "/.git"},
			"at another working tree": {tree + "/.git": "gitdir: " + victim + "/.git/worktrees/victims"},
			"at any directory":        {tree + "/.git": "gitdir: " + c.home + "/.ssh"},
			"at what is not there":    {tree + "/.git": "gitdir: " + c.home + "/none/worktrees/x"},
			"at nothing":              {tree + "/.git": "gitdir:"},
			"by the tree's own":       {own + "/commondir": victim + "/.git"},
		} {
			was := map[string][]byte{}
			for path, text := range files {
				b, err := os.ReadFile(path)
				check(t, err)
				was[path] = b
				check(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
			}
			for _, line := range []string{`cat "$REAL/victim/.git/HEAD"`, `cat "$REAL/victim/.git/config"`, `ls "$REAL/victim/.git/worktrees/victims"`, `cat "$REAL/.ssh/id"`} {
				if out, code := c.at(tree, line); code == "0" {
					t.Errorf("%s: %s: %s", name, line, out)
				}
			}
			for path, b := range was {
				check(t, os.WriteFile(path, b, 0o600))
			}
		}
		if out, code := c.at(tree, `cat "`+filepath.Join(dir, ".git", "HEAD")+`"`); code != "0" {
			t.Errorf("the pointer that was restored: exit %s: %s", code, out)
		}
	})
}
