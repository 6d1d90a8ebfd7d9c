//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// library is a server like Ollama that has no model until one is pulled. Its
// replies are "Well.".
type library struct {
	fault string        // of each download, in mid-way
	hold  chan struct{} // downloads wait in mid-way until it is closed; nil: they do not

	mu        sync.Mutex
	installed string
	left      bool // the client of a download went away
}

// command is a command of a person who has it.
func (l *library) command(t *testing.T, args ...string) *exec.Cmd {
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	cmd := command(t, nil, args...)
	cmd.Env = append(cmd.Env, "OLLAMA_HOST="+server.URL, "MYLM_MODEL=")
	return cmd
}

func (l *library) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case r.URL.Path == "/api/tags" && l.installed == "":
		fmt.Fprint(w, `{"models":[]}`)
	case r.URL.Path == "/api/tags":
		fmt.Fprintf(w, `{"models":[{"name":%q,"model":%[1]q,"size":1000,"capabilities":["completion"]}]}`, l.installed)
	case r.URL.Path == "/api/ps":
		fmt.Fprint(w, `{"models":[]}`)
	case r.URL.Path == "/api/pull":
		l.pull(w, r)
	case l.installed == "":
		http.Error(w, `{"error":"model not found"}`, http.StatusNotFound)
	case r.URL.Path == "/api/show":
		fmt.Fprint(w, showChat)
	case r.URL.Path == "/api/chat":
		fmt.Fprint(w, `{"message":{"role":"assistant","content":"Well."},"done":true,"done_reason":"stop"}`)
	}
}

// pull writes what server/download.go of Ollama does. l.mu is held.
func (l *library) pull(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Model string }
	if json.NewDecoder(r.Body).Decode(&asked) != nil {
		return
	}
	say := func(format string, args ...any) {
		fmt.Fprintf(w, format+"\n", args...)
		w.(http.Flusher).Flush()
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	say(`{"status":"pulling manifest"}`)
	for done := range 10 {
		say(`{"status":"pulling aa","digest":"sha256:aa","total":1400000000,"completed":%d}`, done*140000000)
		if done == 6 && l.hold != nil {
			select {
			case <-l.hold:
			case <-r.Context().Done():
				l.left = true
				return
			}
		}
		if done == 6 && l.fault != "" {
			say(`{"error":%q}`, l.fault)
			return
		}
	}
	say(`{"status":"pulling aa","digest":"sha256:aa","total":1400000000,"completed":1400000000}`)
	say(`{"status":"verifying sha256 digest"}`)
	l.installed = asked.Model
	say(`{"status":"success"}`)
}

// A narrow terminal shows how far a download is without its bar.
func TestFirstRunNarrow(t *testing.T) {
	t.Parallel()
	l := &library{hold: make(chan struct{})}
	s := onScreen(t, l.command(t, "ask", "q"), 40, 30)
	s.shows("Number, name, or Enter for none:")
	s.types("qwen3:1.7b-a-very-long-name-of-a-model\r")
	s.shows("qwen3:1…odel 60%, 840 MB of 1.4 GB\n")
	close(l.hold)
	s.shows("\nWell.\n")
}

// Where no model is installed, one can be chosen and is downloaded; the question is
// answered with it.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	l := &library{hold: make(chan struct{})}
	s := onScreen(t, l.command(t, "ask", "q"), 100, 30)
	s.shows("No model is installed at http://127.0.0.1:")
	s.shows("   1  qwen3:1.7b   1.4 GB")
	s.shows("Number, name, or Enter for none:")
	for i, typed := range []string{"9", "\x1b[A", "../../etc", "99999999999999999999"} {
		s.types(typed + "\r")
		s.holds(typed, func(text string) bool {
			return strings.Count(text, "A number from 1 to 5, the name of a model, or Enter for none:") == i+1
		})
	}
	s.types("1\r")
	s.shows("qwen3:1.7b [##############..........] 840 MB of 1.4 GB")
	close(l.hold)
	s.shows("using qwen3:1.7b\n")
	s.shows("\nWell.\n")
	if code := s.exit(); code != "0" || strings.Contains(s.text(), "840 MB") {
		t.Errorf("exit %s:\n%s", code, s.text())
	}
	s = onScreen(t, again(s.cmd, "ask", "q"), 100, 30)
	if code := s.exit(); code != "0" || strings.Contains(s.text(), "Which one") {
		t.Errorf("exit %s of the next question:\n%s", code, s.text())
	}
}

// A conversation begins with the model that was chosen; any name can be typed.
func TestFirstChat(t *testing.T) {
	t.Parallel()
	l := &library{}
	s := onScreen(t, l.command(t), 100, 30)
	s.shows("Number, name, or Enter for none:")
	s.types("tiny:1b\r")
	s.shows("mylm · tiny:1b · ")
	s.says("hello")
	s.shows("Well.")
	s.types(ctrlD)
	if code := s.exit(); code != "0" {
		t.Errorf("exit %s:\n%s", code, s.text())
	}
}

// Ctrl-C ends a download at once, in the server as well; what went wrong is told;
// no model is downloaded unless one is chosen.
func TestFirstRunEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		library      *library
		types, after string // after is typed once the bar stands
		exit         string
		says         []string
	}{
		"Ctrl-C":  {&library{hold: make(chan struct{})}, "1\r", ctrlC, "130", []string{"Ollama keeps what it has of qwen3:1.7b", "mylm: interrupted"}},
		"fault":   {&library{fault: "max retries exceeded: unexpected EOF"}, "1\r", "", "3", []string{"Ollama keeps what it has", "mylm: Ollama: max retries exceeded", "Check the network"}},
		"no disk": {&library{fault: "write: no space left on device"}, "1\r", "", "1", []string{"no space left", "Make room"}},
		"none":    {&library{}, "\r", "", "3", []string{"mylm: no model to talk to is installed", "ollama pull qwen3:8b", "mylm ask -m demo"}},
		"at once": {&library{}, ctrlC, "", "130", []string{"mylm: interrupted"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := onScreen(t, test.library.command(t, "ask", "q"), 100, 40)
			s.shows("Number, name, or Enter for none:")
			s.types(test.types)
			if test.after != "" {
				s.shows("840 MB of 1.4 GB")
				s.types(test.after)
			}
			if code := s.exit(); code != test.exit {
				t.Errorf("exit %s, want %s", code, test.exit)
			}
			for _, want := range test.says {
				if !strings.Contains(s.text(), want) {
					t.Errorf("no %q in\n%s", want, s.text())
				}
			}
			if test.after == ctrlC {
				eventually(t, func() bool {
					test.library.mu.Lock()
					defer test.library.mu.Unlock()
					return test.library.left
				})
			}
		})
	}
}

// Where nothing is drawn in place, each tenth is a line.
func TestFirstRunStill(t *testing.T) {
	t.Parallel()
	l := &library{}
	cmd := l.command(t, "ask", "q")
	cmd.Env = append(cmd.Env, "TERM=dumb")
	s := onScreen(t, cmd, 100, 40)
	s.shows("Number, name, or Enter for none:")
	s.types("1\r")
	if code := s.exit(); code != "0" || !strings.Contains(s.text(), "\nqwen3:1.7b: 50% of 1.4 GB\nqwen3:1.7b: 60% of 1.4 GB\n") || strings.Contains(s.wrote(), "[##") {
		t.Errorf("exit %s:\n%s", code, s.text())
	}
}

// One of several models is chosen by its number; the next question asks the same one.
func TestSeveralModels(t *testing.T) {
	t.Parallel()
	l := &library{installed: "small:1b"}
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/tags":
			fmt.Fprint(w, `{"models":[{"name":"small:1b","size":1000000000,"capabilities":["completion"]},
				{"name":"large:8b","size":5000000000,"capabilities":["completion"]}]}`)
			return
		case "/api/chat":
			var body struct{ Model string }
			_ = json.NewDecoder(r.Body).Decode(&body)
			asked = append(asked, body.Model)
		}
		l.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	cmd := command(t, nil, "ask", "q")
	cmd.Env = append(cmd.Env, "OLLAMA_HOST="+server.URL, "MYLM_MODEL=")
	s := onScreen(t, cmd, 100, 30)
	s.shows("Several models are installed. Which one?")
	s.shows("   1  small:1b                         1.0 GB  context 32768")
	s.shows("   2  large:8b                         5.0 GB  context 32768")
	s.types("3\r")
	s.shows("A number from 1 to 2:")
	s.types("2\r")
	s.shows("\nWell.\n")
	if code := s.exit(); code != "0" {
		t.Errorf("exit %s:\n%s", code, s.text())
	}
	if code := onScreen(t, again(cmd, "ask", "q"), 100, 30).exit(); code != "0" || strings.Join(asked, " ") != "large:8b large:8b" {
		t.Errorf("exit %s, asked %q", code, asked)
	}
}

// mylm init shows all that it would write, broken between words, and asks about each
// file by its name.
func TestInit(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"README.md": "# Greeter\n\nIt greets people by name.\n"}, "init")
	s := onScreen(t, cmd, 80, 24)
	s.shows("  | # Greeter\n")
	s.shows("how to\n  : check a change. -->\n")
	s.shows("Write AGENTS.md? [y]es, [n]o:")
	s.types("y\r")
	s.shows("Write .mylm.toml? [y]es, [n]o:")
	s.types("n\r")
	if code := s.exit(); code != "0" {
		t.Errorf("exit %s:\n%s", code, s.text())
	}
	for name, want := range map[string]bool{"AGENTS.md": true, ".mylm.toml": false} {
		if _, err := os.Stat(filepath.Join(cmd.Dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
