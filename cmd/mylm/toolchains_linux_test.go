package main

import (
	"os"
	"path/filepath"
	"testing"
)

// plant makes files below the cage's home, programs if they lie in a bin.
func (c *cage) plant(names ...string) {
	c.t.Helper()
	for _, name := range names {
		path := filepath.Join(c.home, name)
		check(c.t, os.MkdirAll(filepath.Dir(path), 0o755))
		text := "text"
		if filepath.Base(filepath.Dir(path)) == "bin" { // it needs its own library
			text = "#!/bin/sh\ncat \"$(dirname \"$(readlink -f \"$0\")\")\"/../lib/*/library >/dev/null && echo works\n"
		}
		check(c.t, os.WriteFile(path, []byte(text), 0o755))
		for ; os.Geteuid() == 0 && !c.root && path != c.home; path = filepath.Dir(path) {
			check(c.t, os.Lchown(path, ordinary, ordinary))
		}
	}
}

func (c *cage) link(target, name string) {
	c.t.Helper()
	check(c.t, os.MkdirAll(filepath.Dir(name), 0o755))
	_ = os.Remove(name)
	check(c.t, os.Symlink(target, name))
}

// Toolchains in a home directory work, wherever they are usually kept.
func TestToolchains(t *testing.T) {
	slow(t)
	asUsers(t, func(t *testing.T, c *cage) {
		for name, tt := range map[string]struct {
			files   []string          // below the home
			links   map[string]string // from a name below the base to one below the home
			env     map[string]string // "~" is the home
			command string
		}{
			"uv": {
				files:   []string{".local/share/uv/python/cpython-3.12/bin/python3.12", ".local/share/uv/python/cpython-3.12/lib/python3.12/library"},
				links:   map[string]string{"ws/.venv/bin/python": ".local/share/uv/python/cpython-3.12/bin/python3.12"},
				command: ".venv/bin/python",
			},
			"uv elsewhere": {
				files: []string{"elsewhere/py/bin/python3.12", "elsewhere/py/lib/python3.12/library", "elsewhere/py/lib/python3.12/os.py"},
				links: map[string]string{"ws/.venv/bin/python": "elsewhere/py/bin/python3.12"}, command: ".venv/bin/python",
			},
			"an active environment": {
				files: []string{"envs/a/x", "apps/py/bin/python3", "apps/py/lib/python3/library", "apps/py/lib/python3/os.py"},
				links: map[string]string{"home/envs/a/bin/python": "apps/py/bin/python3"}, env: map[string]string{"VIRTUAL_ENV": "~/envs/a"}, command: "$REAL/envs/a/bin/python",
			},
			"conda on PATH":     {files: []string{"miniforge3/bin/conda-x", "miniforge3/lib/a/library"}, env: map[string]string{"PATH": "~/miniforge3/bin:" + os.Getenv("PATH")}, command: "conda-x"},
			"conda elsewhere":   {files: []string{"big/conda/envs/e/bin/x", "big/conda/envs/e/lib/a/library"}, env: map[string]string{"CONDA_PREFIX": "~/big/conda/envs/e"}, command: "$REAL/big/conda/envs/e/bin/x"},
			"a conda of others": {files: []string{"miniconda3/envs/e/bin/x", "miniconda3/envs/e/lib/a/library"}, command: "$REAL/miniconda3/envs/e/bin/x"},
			"GOPATH":            {files: []string{"code/pkg/mod/a"}, env: map[string]string{"GOPATH": "~/code:~/more"}, command: `cat "$REAL/code/pkg/mod/a"`},
			"a link on PATH": {
				files: []string{"apps/node/bin/node", "apps/node/lib/a/library"},
				links: map[string]string{"home/bin/node": "apps/node/bin/node"}, env: map[string]string{"PATH": "~/bin:" + os.Getenv("PATH")}, command: "node",
			},
			"a linked directory on PATH": {
				files: []string{"apps/fnm/bin/tool", "apps/fnm/lib/a/library"},
				links: map[string]string{"shells/bin": "apps/fnm/bin"}, env: map[string]string{"PATH": "~/../shells/bin:" + os.Getenv("PATH")}, command: "tool",
			},
			"poetry":   {files: []string{".cache/pypoetry/virtualenvs/v/bin/x", ".cache/pypoetry/virtualenvs/v/lib/a/library"}, command: "~/.cache/pypoetry/virtualenvs/v/bin/x"},
			"pipenv":   {files: []string{".local/share/virtualenvs/v/bin/x", ".local/share/virtualenvs/v/lib/a/library"}, command: "~/.local/share/virtualenvs/v/bin/x"},
			"uv tools": {files: []string{".local/share/uv/tools/v/bin/x", ".local/share/uv/tools/v/lib/a/library"}, command: "~/.local/share/uv/tools/v/bin/x"},
			"pnpm":     {files: []string{".local/share/pnpm/a"}, command: "cat ~/.local/share/pnpm/a"},
			"fnm":      {files: []string{".local/share/fnm/a"}, command: "cat ~/.local/share/fnm/a"},
			"volta":    {files: []string{".volta/tools/a"}, command: "cat ~/.volta/tools/a"},
			"rbenv":    {files: []string{".rbenv/versions/3/bin/ruby", ".rbenv/versions/3/lib/a/library"}, command: "~/.rbenv/versions/3/bin/ruby"},
			"sdkman":   {files: []string{".sdkman/candidates/java/bin/java", ".sdkman/candidates/java/lib/a/library"}, command: "~/.sdkman/candidates/java/bin/java"},
			"nothing":  {files: []string{"apps/x/bin/x", "apps/x/lib/a/library"}, command: `! cat "$REAL/apps/x/lib/a/library"`},
		} {
			t.Run(name, func(t *testing.T) {
				c.plant(tt.files...)
				args := []string{"env"}
				for at, to := range tt.links {
					c.link(filepath.Join(c.home, to), filepath.Join(c.base, at))
				}
				for name, value := range tt.env {
					args = append(args, name+"="+expandHome(c, value))
				}
				args = append(args, c.mylm, "sandbox", "--", "sh", "-c", tt.command)
				if out, code := c.run(args...); code != "0" {
					t.Errorf("exit %s: %s", code, out)
				}
				if out, code := c.run(append(args[:len(args)-1], `cat "$REAL/.ssh/id" || ls "$REAL" || ls "$REAL/.local"`)...); code == "0" {
					t.Errorf("the home is open: %s", out)
				}
				check(t, os.RemoveAll(c.ws+"/.venv"))
			})
		}
	})
}

func expandHome(c *cage, s string) string {
	if len(s) > 0 && s[0] == '~' {
		return c.home + s[1:]
	}
	return s
}

// Files in the workspace open nothing but an installation of Python, and a variable
// never opens the home directory.
func TestForgedToolchains(t *testing.T) {
	slow(t)
	asUsers(t, func(t *testing.T, c *cage) {
		ws := c.home + "/ws"
		c.plant("ws/file", "other/bin/python", "other/lib/x/library", "other/secret", "bin/python3", "lib/python3/os.py", "lib/secret", ".local/lib/python3/site", ".local/share/keyrings/key", "miniconda3/.condarc", "miniconda3/lib/x")
		for name, tt := range map[string]struct {
			link    string // of .venv/bin/python
			env     string
			command string
		}{
			"no Python":            {link: "other/bin/python", command: `cat "$REAL/other/lib/x/library" || cat "$REAL/other/bin/python"`},
			"the home":             {link: "bin/python3", command: `ls "$REAL" || cat "$REAL/lib/secret"`},
			"a secret":             {link: ".ssh/id", command: `cat "$REAL/.ssh/id"`},
			"PATH below":           {link: "other/bin/python", env: "PATH=" + ws + "/.venv/bin:" + os.Getenv("PATH"), command: `cat "$REAL/other/bin/python"`},
			"PATH is the home":     {env: "PATH=" + c.home + ":" + os.Getenv("PATH"), command: `ls "$REAL" || cat "$REAL/.ssh/id"`},
			"a variable":           {env: "CONDA_PREFIX=" + c.home, command: `ls "$REAL" || cat "$REAL/.ssh/id"`},
			"a variable above":     {env: "JAVA_HOME=" + c.base, command: `ls "$REAL" || cat "$REAL/.ssh/id"`},
			"an environment above": {env: "VIRTUAL_ENV=" + c.home, command: `ls "$REAL" || cat "$REAL/.ssh/id"`},
			"the settings":         {env: "PATH=" + c.home + "/.local/bin:" + os.Getenv("PATH"), command: `cat "$REAL/.local/share/keyrings/key" || cat "$REAL/miniconda3/.condarc"`},
		} {
			if tt.link != "" {
				c.link(filepath.Join(c.home, tt.link), ws+"/.venv/bin/python")
			}
			args := []string{"env", "A=" + name, c.mylm, "sandbox", "--workspace", ws, "--", "sh", "-c", "if " + tt.command + "; then exit 3; fi"}
			if tt.env != "" {
				args[1] = tt.env
			}
			if out, code := c.run(args...); code != "0" {
				t.Errorf("%s: exit %s: %s", name, code, out)
			}
		}
	})
}
