//go:build unix

package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// patient is a machine that mylm doctor looks at: a home, a project and an
// Ollama server.
type patient struct {
	t         *testing.T
	home, dir string
	env       []string
	replies   map[string]string // of the server, by path
	gone      bool              // nothing listens
}

const (
	onlyChat     = `{"models":[{"name":"m:latest","model":"m:latest","size":1000,"capabilities":["completion"]}]}`
	onlyEmbed    = `{"models":[{"name":"e:latest","model":"e:latest","size":1000,"capabilities":["embedding"]}]}`
	chatAndEmbed = `{"models":[{"name":"m:latest","model":"m:latest","size":1000,"capabilities":["completion"]},{"name":"e:latest","model":"e:latest","size":1000,"capabilities":["embedding"]}]}`
	twoChat      = `{"models":[{"name":"m:latest","size":1000,"capabilities":["completion"]},{"name":"n:latest","size":1000,"capabilities":["completion"]}]}`
	hugeChat     = `{"models":[{"name":"m:latest","model":"m:latest","size":1000000000000000,"capabilities":["completion"]}]}`
	silent       = "nothing, ever"
	showChat     = `{"capabilities":["completion"],"model_info":{"general.architecture":"llama","llama.context_length":32768}}`
	showEmbed    = `{"capabilities":["embedding"],"model_info":{"general.architecture":"bert","bert.context_length":2048}}`
	showSmall    = `{"capabilities":["completion"],"model_info":{"general.architecture":"llama","llama.context_length":2048}}`
)

func newPatient(t *testing.T) *patient {
	p := &patient{t: t, home: filepath.Join(t.TempDir(), "home"), dir: t.TempDir(), replies: map[string]string{
		"/api/version": `{"version":"0.32.15"}`, "/api/tags": onlyChat, "/api/show": showChat, "/api/ps": `{"models":[]}`,
	}}
	if err := os.MkdirAll(p.home, 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *patient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	var about struct{ Model string }
	_ = json.NewDecoder(r.Body).Decode(&about) // a question without a body is about no model
	reply, ok := p.replies[r.URL.Path+" "+about.Model]
	if !ok {
		reply, ok = p.replies[r.URL.Path]
	}
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		reply = `{"error":"model not found"}`
	}
	if reply == silent {
		<-r.Context().Done()
	}
	fmt.Fprint(w, reply)
}

// write makes a file below the home.
func (p *patient) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// command is a command of this machine.
func (p *patient) command(args ...string) *exec.Cmd {
	server := httptest.NewServer(p)
	if p.gone {
		server.Close()
	} else {
		p.t.Cleanup(server.Close)
	}
	cmd := exec.Command("mylm", args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "HOME="+p.home, "XDG_CONFIG_HOME="+p.home+"/config", "XDG_DATA_HOME="+p.home+"/data", "OLLAMA_HOST="+server.URL,
		"TERM=xterm", "CI=", "MYLM_MODEL=", "MYLM_SANDBOX=", "MYLM_UNASKED=readers", "MYLM_CONFIG=", "OPENAI_API_KEY=", "OPENAI_BASE_URL=")
	cmd.Env = append(cmd.Env, p.env...)
	return cmd
}

// findings are what mylm doctor finds, as "status check", and all that it says by
// check. Without a terminal nobody can be asked.
func (p *patient) findings(columns uint16, args ...string) (all []string, text map[string]string, code string) {
	p.t.Helper()
	cmd := p.command(append([]string{"doctor", "--json"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if columns > 0 {
		master, tty, err := pty.Open()
		if err != nil {
			p.t.Fatal(err)
		}
		defer master.Close()
		defer tty.Close()
		if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: columns}); err != nil {
			p.t.Fatal(err)
		}
		cmd.Stdin, cmd.SysProcAttr.Setctty = tty, true
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	code = exitWithin(p.t, cmd)
	var found []struct{ Check, Status, Text, Fix string }
	if err := json.Unmarshal(out.Bytes(), &found); err != nil {
		p.t.Fatalf("%v: %s%s", err, out.Bytes(), errs.Bytes())
	}
	text = map[string]string{}
	for _, f := range found {
		if f.Status != "ok" {
			all = append(all, f.Status+" "+f.Check)
		}
		if f.Status == "error" && f.Fix == "" {
			p.t.Errorf("nothing says what to do about %s: %s", f.Check, f.Text)
		}
		text[f.Check] += f.Text + "\n" + f.Fix + "\n"
	}
	return all, text, code
}

// remembers makes a memory.
func (p *patient) remembers() {
	p.t.Helper()
	if out, err := p.command("memory", "add", "the staging host is called heron").CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
}

// Each fault is found, and nothing else is; every finding says what it is about,
// and each error what to do.
func TestDoctor(t *testing.T) {
	t.Parallel()
	healthy := newPatient(t)
	healthy.remembers()
	known, text, code := healthy.findings(80)
	if known = slices.DeleteFunc(known, func(f string) bool { return strings.HasSuffix(f, " sandbox") }); len(known) > 0 || code != "0" && len(text["sandbox"]) == 0 {
		t.Fatalf("exit %s of a healthy machine: %v %v", code, known, text)
	}
	for check, want := range map[string]string{"ollama": "0.32.15", "models": "m:latest", "model": "the only one", "window": "free", "terminal": "80 columns", "memory": "1 document in", "configuration": "the defaults apply"} {
		if !strings.Contains(text[check], want) {
			t.Errorf("%s: %q, want %q", check, text[check], want)
		}
	}
	confined := !strings.Contains(text["sandbox"], "cannot") && !strings.Contains(text["sandbox"], "there is none")

	for name, test := range map[string]struct {
		fault         func(p *patient)
		args          []string
		narrow, alone bool
		want          string // status and check, "" where nothing is wrong
		says          string
	}{
		"configuration":     {func(p *patient) { p.write("config/mylm/config.toml", "max_turns = 0\n") }, nil, false, false, "error configuration", "mylm config edit"},
		"variable":          {func(p *patient) { p.env = []string{"MYLM_TIMEOUT=5"} }, nil, false, false, "error configuration", "it must be a duration such as 30s"},
		"project":           {func(p *patient) { p.project(".mylm.toml", "[sandbox]\nmode = \"off\"\n") }, nil, false, false, "error configuration", ".mylm.toml"},
		"profile":           {func(p *patient) {}, []string{"--profile", "none"}, false, false, "error configuration", "[profiles.none]"},
		"no server":         {func(p *patient) { p.gone = true }, nil, false, false, "error ollama", "ollama serve"},
		"server not needed": {func(p *patient) { p.gone = true }, []string{"-m", "demo"}, false, false, "warning ollama", "no Ollama server answers"},
		"another server":    {func(p *patient) { p.replies["/api/version"] = "<html>" }, nil, false, false, "error ollama", "--host"},
		"nothing installed": {func(p *patient) { p.gone, p.env = true, []string{"PATH=/nowhere"} }, nil, false, false, "error ollama", "Install it from https://ollama.com/download"},
		"address":           {func(p *patient) { p.env = []string{"OLLAMA_HOST=http://[bad"} }, nil, false, false, "error ollama", "OLLAMA_HOST"},
		"no list":           {func(p *patient) { p.replies["/api/tags"] = "[" }, nil, false, false, "error models", ""},
		"no model":          {func(p *patient) { p.replies["/api/tags"] = `{"models":[]}` }, nil, false, false, "error models", "ollama pull"},
		"none chats":        {func(p *patient) { p.replies["/api/tags"] = onlyEmbed }, nil, false, false, "error models", "e:latest"},
		"several":           {func(p *patient) { p.replies["/api/tags"] = twoChat }, nil, false, false, "warning model", "mylm ask -m m:latest"},
		"not installed":     {func(p *patient) { delete(p.replies, "/api/show") }, []string{"-m", "zz"}, false, false, "error model", "ollama pull zz"},
		"cannot chat":       {func(p *patient) { p.replies["/api/show e"] = showEmbed }, []string{"-m", "e"}, false, false, "error model", "--model"},
		"too large":         {func(p *patient) { p.replies["/api/tags"] = hugeChat }, nil, false, false, "warning window", "are free"},
		"small window":      {func(p *patient) { p.replies["/api/show"] = showSmall }, nil, false, false, "warning window", "Use another model"},
		"cannot be shown":   {func(p *patient) { delete(p.replies, "/api/show") }, nil, false, false, "error window", "not found"},
		"newer memory": {func(p *patient) {
			p.remembers()
			p.damages("PRAGMA user_version = 9999")
		}, nil, false, false, "error memory", "newer"},
		"memory that is none": {func(p *patient) { p.write("data/mylm/memory.db", strings.Repeat("no database ", 1000)) }, nil, false, false, "warning memory", "it was damaged once"},
		"embedder of nobody":  {func(p *patient) { p.remembers() }, []string{"--embedder", "openai/e"}, false, false, "warning vectors", "OPENAI_API_KEY"},
		"embedder that is gone": {func(p *patient) {
			p.replies["/api/tags"], p.replies["/api/embed"] = chatAndEmbed, `{"model":"e","embeddings":[[0.6,0.8]]}`
			p.remembers()
			if out, err := p.command("memory", "reindex").CombinedOutput(); err != nil {
				p.t.Fatalf("%v: %s", err, out)
			}
			p.replies["/api/tags"] = onlyChat
		}, nil, false, false, "warning vectors", "searched without ollama/e"},
		"no such tool":  {func(p *patient) { p.write("config/mylm/config.toml", "tools = [\"raed_file\"]\n") }, nil, false, false, "error configuration", "read_file"},
		"no such tools": {func(p *patient) {}, []string{"--tools", "raed_file"}, false, false, "error configuration", "read_file"},
		"silent server": {func(p *patient) { p.replies["/api/version"] = silent }, nil, false, false, "error ollama", "Is it Ollama that listens there"},
		"broken MCP server": {func(p *patient) {
			p.write("config/mylm/config.toml", "[mcp.y]\ncommand = [\"cat\"]\n")
		}, nil, false, false, "warning mcp", "mylm mcp remove y"},
		"MCP server without its variable": {func(p *patient) {
			p.write("config/mylm/config.toml", "[mcp.y]\nurl = \"http://127.0.0.1:9/mcp\"\nkey_env = \"Y_KEY\"\n")
		}, nil, false, false, "error mcp", "Y_KEY"},
		"MCP server of the project": {func(p *patient) {
			p.project(".mcp.json", `{"mcpServers": {"y": {"command": "cat"}}}`)
		}, nil, false, false, "warning mcp", "mylm mcp trust y"},
		"MCP file of the project": {func(p *patient) { p.project(".mcp.json", "{") }, nil, false, false, "error configuration", ".mcp.json"},
		"project's workflows": {func(p *patient) {
			if err := os.Symlink(p.home, filepath.Join(p.dir, ".mylm")); err != nil {
				p.t.Fatal(err)
			}
		}, nil, false, false, "warning workflows", ".mylm"},
		"no workspace": {func(p *patient) {}, []string{"--workspace", "nosuch"}, false, false, "error configuration", "nosuch"},
		"no provider": {func(p *patient) {
			p.write("config/mylm/config.toml", "[models.w]\nprovider = \"opnai\"\nmodel = \"x\"\n")
		}, nil, false, false, "error configuration", "Did you mean openai?"},
		"no key":        {func(p *patient) {}, []string{"-m", "openai/gpt"}, false, false, "error model", "OPENAI_API_KEY"},
		"wrong key":     {func(p *patient) { p.provider("other") }, []string{"-m", "openai/gpt"}, false, false, "error model", "OPENAI_API_KEY"},
		"no list there": {func(p *patient) { p.provider("broken") }, []string{"-m", "openai/gpt"}, false, false, "error model", "OPENAI_BASE_URL"},
		"right key":     {func(p *patient) { p.provider(speakKey) }, []string{"-m", "openai/gpt"}, false, false, "", ""},
		"unknown there": {func(p *patient) { p.provider(speakKey) }, []string{"-m", "openai/zzz"}, false, false, "warning model", "mylm models --provider openai"},
		"entry without key": {func(p *patient) {
			p.write("config/mylm/config.toml", "[models.w]\nprovider = \"openai\"\nmodel = \"x\"\nkey_env = \"W_KEY\"\n")
		}, nil, false, false, "warning keys", "W_KEY"},
		"no terminal":   {func(p *patient) {}, nil, false, true, "warning terminal", "--yes"},
		"dumb terminal": {func(p *patient) { p.env = []string{"TERM=dumb"} }, nil, false, false, "warning terminal", "TERM"},
		"narrow":        {func(p *patient) {}, nil, true, false, "warning terminal", "30 columns"},
		"no home":       {func(p *patient) { p.env = []string{"HOME=", "XDG_DATA_HOME=", "XDG_CONFIG_HOME="} }, nil, false, false, "error data", "HOME"},
		"no directory":  {func(p *patient) { p.write("file", ""); p.env = []string{"XDG_DATA_HOME=" + p.home + "/file"} }, nil, false, false, "error data", "--no-save"},
		"open to others": {func(p *patient) {
			p.remembers()
			if err := os.Chmod(p.home+"/data/mylm", 0o755); err != nil {
				p.t.Fatal(err)
			}
		}, nil, false, false, "warning data", "chmod 700"},
		"damaged memory": {func(p *patient) {
			p.remembers()
			p.damages("UPDATE documents SET text = 'something else'")
		}, nil, false, false, "error memory", "damaged"},
		"moved aside": {func(p *patient) {
			p.remembers()
			p.write("data/mylm/memory.db.damaged-20260101T000000Z", "")
		}, nil, false, false, "warning memory", "rm "},
		"no embedder": {func(p *patient) { p.remembers() }, []string{"--embedder", "zz"}, false, false, "warning vectors", "ollama pull"},
		"template":    {func(p *patient) { p.write("config/mylm/prompts/system.tmpl", "{{") }, nil, false, false, "error prompts", "system.tmpl"},
		"workflow":    {func(p *patient) { p.write("config/mylm/workflows/x.md", "---\n") }, nil, false, false, "warning workflows", "x.md"},
		"no sandbox":  {func(p *patient) { p.env = []string{"MYLM_SANDBOX=off"} }, nil, false, false, "warning sandbox", "MYLM_SANDBOX"},
		"home":        {func(p *patient) { p.dir = p.home }, nil, false, false, "error sandbox", "--workspace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.HasSuffix(test.want, " sandbox") && !confined {
				t.Skip("there is no sandbox here")
			}
			p := newPatient(t)
			test.fault(p)
			columns := uint16(80)
			if test.narrow {
				columns = 30
			}
			if test.alone {
				columns = 0
			}
			found, text, code := p.findings(columns, test.args...)
			if !confined && !strings.HasSuffix(test.want, " sandbox") {
				found = slices.DeleteFunc(found, func(f string) bool { return strings.HasSuffix(f, " sandbox") })
			}
			_, check, _ := strings.Cut(test.want, " ")
			if got := strings.Join(found, ", "); got != test.want || !strings.Contains(text[check], test.says) {
				t.Errorf("found %q, want %q with %q: %v", got, test.want, test.says, text)
			}
			if want := map[bool]string{true: "1", false: "0"}[strings.HasPrefix(test.want, "error")]; code != want && confined {
				t.Errorf("exit %s, want %s", code, want)
			}
			if all := fmt.Sprint(text); strings.Contains(all, speakKey) {
				t.Errorf("a key is shown: %s", all)
			}
		})
	}
}

// A memory that takes longer to check than one waits is no damaged one.
func TestDoctorOfALongMemory(t *testing.T) {
	slow(t)
	t.Parallel()
	p := newPatient(t)
	p.remembers()
	p.damages(`CREATE TABLE slow (n CHECK (length(randomblob(10000000)) > 0))`)
	p.damages(`PRAGMA ignore_check_constraints = ON; WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n < 100000) INSERT INTO slow SELECT n FROM c`)
	found, text, code := p.findings(80)
	if found = slices.DeleteFunc(found, func(f string) bool { return strings.HasSuffix(f, " sandbox") }); strings.Join(found, ", ") != "warning memory" || !strings.Contains(text["memory"], "could not be checked within") || code != "0" {
		t.Errorf("exit %s, %q: %v", code, found, text)
	}
}

// damages changes the memory behind its back.
func (p *patient) damages(sentence string) {
	p.t.Helper()
	db, err := sql.Open("sqlite", p.home+"/data/mylm/memory.db")
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(sentence); err != nil {
		p.t.Fatal(err)
	}
}

// project makes a file of the project.
func (p *patient) project(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// provider is an OpenAI server that wants a key, with one model. The key that is
// set is speakKey.
func (p *patient) provider(wanted string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if wanted == "broken" {
			fmt.Fprint(w, "[")
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+wanted {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"wrong key %s"}}`, speakKey)
			return
		}
		fmt.Fprint(w, `{"object":"list","data":[{"id":"gpt","object":"model"}]}`)
	}))
	p.t.Cleanup(server.Close)
	p.env = []string{"OPENAI_API_KEY=" + speakKey, "OPENAI_BASE_URL=" + server.URL + "/v1"}
}

// A doctor that is interrupted finds nothing about what it was looking at.
func TestDoctorIsInterrupted(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	asked, once := make(chan struct{}), sync.Once{}
	p.replies["/api/version"] = silent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(asked) })
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.env = []string{"OLLAMA_HOST=" + server.URL}
	cmd := p.command("doctor")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitWithin(t, cmd); code != "130" || strings.Contains(out.String(), "canceled") || !strings.Contains(out.String(), "mylm: interrupted") {
		t.Errorf("exit %s: %s", code, out.String())
	}
}
