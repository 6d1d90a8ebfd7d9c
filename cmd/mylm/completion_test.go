//go:build unix

package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// typist is a machine with three models, a profile, an entry and a file.
func typist(t *testing.T) *patient {
	p := newPatient(t)
	p.replies["/api/tags"] = `{"models":[{"name":"qwen3:8b"},{"name":"qwen3:4b"},{"name":"gemma3:1b"},{"name":"bad\u001b[31m name"}]}`
	p.write("config/mylm/config.toml", "[profiles.review]\nsystem = \"x\"\n[models.quick]\nprovider = \"openai\"\nmodel = \"m\"\n")
	p.project("notes.txt", "x")
	return p
}

// What a shell is told about the word that is being typed.
func TestComplete(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want string // the values
	}{
		"command":           {[]string{"=sess"}, "sessions"},
		"subcommand":        {[]string{"=s", "memory"}, "search show supersede stats"},
		"help":              {[]string{"=ex", "help", "sessions"}, "export"},
		"flag":              {[]string{"=--temp", "ask"}, "--temperature"},
		"flag of another":   {[]string{"=--plan-o", "agent", "run"}, "--plan-only"},
		"model":             {[]string{"=q", "ask", "-m"}, "qwen3:8b qwen3:4b quick"},
		"model behind =":    {[]string{"=--model=g", "ask"}, "--model=gemma3:1b"},
		"model behind -m=":  {[]string{"=-m=g", "ask", "what?"}, "-m=gemma3:1b"},
		"of another server": {[]string{"=q", "ask", "--host", "127.0.0.1:1", "-m"}, "quick"},
		"profile":           {[]string{"=", "ask", "--profile"}, "review"},
		"words":             {[]string{"=", "ask", "--think"}, "auto on off"},
		"words of others":   {[]string{"=n", "ask", "--output"}, "ndjson"},
		"tools":             {[]string{"=read_file,w", "ask", "--tools"}, "read_file,write_file read_file,web_fetch"},
		"workflow":          {[]string{"=d", "agent", "workflow", "show"}, "debug_bug"},
		"template":          {[]string{"=sys", "prompts", "show"}, "system"},
		"provider":          {[]string{"=opena", "models", "--provider"}, "openai"},
		"session":           {[]string{"=l", "resume"}, "last"},
		"shell":             {[]string{"=z", "completion"}, "zsh"},
		"file":              {[]string{"=", "ask", "--file"}, ":files"},
		"directory":         {[]string{"=", "ask", "--workspace"}, ":dirs"},
		"behind --":         {[]string{"=-", "ask", "--"}, ":files"},
		"of a program":      {[]string{"=-", "sandbox", "ls"}, ":files"},
		"number":            {[]string{"=1", "ask", "--max-turns"}, ""},
		"no such command":   {[]string{"=", "aks"}, ""},
		"no such flag":      {[]string{"=g", "ask", "--modle", "x", "-m"}, "gemma3:1b"},
		"nothing":           {nil, "ask "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := typist(t)
			cmd := p.command(append([]string{"__complete"}, test.args...)...)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); err != nil || errs.Len() > 0 {
				t.Fatalf("%v: %s", err, errs.String())
			}
			var values []string
			for line := range strings.Lines(out.String()) {
				value, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				values = append(values, value)
			}
			if got := strings.Join(values, " "); got != test.want && (test.args != nil || !strings.HasPrefix(got, test.want)) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if strings.Contains(out.String(), "\x1b") {
				t.Errorf("a name reaches the terminal as it is: %q", out.String())
			}
		})
	}
}

// A server that does not answer and a broken configuration keep nobody waiting,
// and report nothing.
func TestCompleteFails(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // which accepts and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	for name, fault := range map[string]func(p *patient){
		"configuration": func(p *patient) { p.write("config/mylm/config.toml", "x = [") },
		"no server":     func(p *patient) { p.gone = true },
		"deaf server":   func(p *patient) { p.env = []string{"OLLAMA_HOST=" + listener.Addr().String()} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := typist(t)
			fault(p)
			cmd := p.command("__complete", "=d", "ask", "-m")
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if code := exitWithin(t, cmd); code != "0" || errs.Len() > 0 || !strings.HasPrefix(out.String(), "demo\t") {
				t.Errorf("exit %s, %q, %q", code, out.String(), errs.String())
			}
		})
	}
}

// Real shells load the scripts and complete the name of a model, which holds a
// colon, also behind an equals sign.
func TestCompletionInShells(t *testing.T) {
	t.Parallel()
	mylm, err := exec.LookPath("mylm")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args  []string
		setup string
	}{
		"bash": {[]string{"--norc", "--noprofile", "-i"}, "source <(mylm completion bash)"},
		"zsh":  {[]string{"-f", "-i"}, "autoload -U compinit; compinit -D -u; source <(mylm completion zsh)"},
		"fish": {[]string{"--no-config", "-i"}, "mylm completion fish | source"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shell, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("%s is not installed", name)
			}
			p := typist(t)
			cmd := p.command()
			cmd.Path, cmd.Args, cmd.Err = shell, append([]string{shell}, test.args...), nil
			cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(mylm)+":"+os.Getenv("PATH"), "INPUTRC=/dev/null", "LC_ALL=C.UTF-8")
			tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 120})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = cmd.Process.Kill()
				_ = tty.Close()
				_ = cmd.Wait()
			}()
			seen := make(chan string, 1000)
			go func() {
				defer close(seen)
				for b := make([]byte, 4096); ; {
					n, err := tty.Read(b)
					if err != nil {
						return
					}
					seen <- string(b[:n])
				}
			}()
			// shows waits for a text, behind what was typed.
			shows := func(typed, want string) {
				t.Helper()
				if _, err := tty.WriteString(typed); err != nil {
					t.Fatal(err)
				}
				all, late := "", time.After(patience)
				for !strings.Contains(all, want) {
					select {
					case text, open := <-seen:
						if all += text; !open {
							t.Fatalf("the shell ended: %q", all)
						}
					case <-late:
						t.Fatalf("%q does not show %q: %q", typed, want, all)
					}
				}
			}
			shows(test.setup+"; echo rea''dy\r", "ready")
			shows("mylm ask -m gem\t", "ma3:1b")
			shows("--model=qwen3:8\t", "b")
			shows("'a b' --file not\t", "es.txt")
			shows("--prof\t", "ile")
			shows("rev\t", "iew")
		})
	}
}

// The scripts that no shell here can load are complete, and call what exists.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		p := newPatient(t)
		out, err := p.command("completion", shell).Output()
		if err != nil || !strings.Contains(string(out), "__complete \"=") {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
	}
	p := newPatient(t)
	out, err := p.command("completion", "bsh").CombinedOutput()
	if exitCode(err) != "2" || !strings.Contains(string(out), "Did you mean bash?") {
		t.Errorf("%v: %s", err, out)
	}
}
