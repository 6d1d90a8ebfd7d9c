//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/term"
)

// terminal is a command on a terminal that is emulated: tests see what a person
// would see.
type terminal struct {
	t      testing.TB
	cmd    *exec.Cmd
	tty    *os.File
	emu    *vt.Emulator
	before *term.State   // the terminal's settings
	read   chan struct{} // closed when the other side is

	mu    sync.Mutex // of emu, raw, each and shown
	each  func()     // called with the lock held when something was shown; may be nil
	raw   strings.Builder
	shown chan struct{} // closed when something is shown, and replaced
}

// onScreen starts a command on an emulated terminal.
func onScreen(t testing.TB, cmd *exec.Cmd, columns, rows int) *terminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: uint16(rows), Cols: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
	s := &terminal{t: t, cmd: cmd, tty: master, before: modes(t, master), emu: vt.NewEmulator(columns, rows), read: make(chan struct{}), shown: make(chan struct{})}
	go func() { // what a terminal answers to questions about itself
		_, _ = io.Copy(master, s.emu)
	}()
	go func() {
		defer close(s.read)
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			s.mu.Lock()
			s.raw.Write(b[:n])
			_, _ = s.emu.Write(b[:n])
			if s.each != nil {
				s.each()
			}
			close(s.shown)
			s.shown = make(chan struct{})
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	slave.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		<-s.read
		s.emu.InputPipe().(io.Closer).Close() // the emulator's own Close races with Read
		master.Close()
	})
	return s
}

// chat starts a conversation with replies of a script, and waits for its editor.
func startChat(t *testing.T, replies string, columns, rows int, args ...string) *terminal {
	t.Helper()
	return chatOn(t, command(t, map[string]string{"replies.txt": replies}, append([]string{"chat"}, args...)...), columns, rows)
}

// chatOn starts a conversation and waits for its editor.
func chatOn(t testing.TB, cmd *exec.Cmd, columns, rows int) *terminal {
	t.Helper()
	s := onScreen(t, cmd, columns, rows)
	s.shows("\n>")
	return s
}

// text is what is on the screen, with what has scrolled out above it.
func (s *terminal) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	if back := s.emu.Scrollback(); back != nil {
		for i := range back.Len() {
			b.WriteString(strings.TrimRight(back.Line(i).String(), " ") + "\n")
		}
	}
	for _, line := range strings.Split(s.emu.String(), "\n") {
		b.WriteString(strings.TrimRight(line, " \r") + "\n")
	}
	return b.String()
}

// holds waits until what is on the screen, or above it, fulfils a condition.
func (s *terminal) holds(what string, f func(text string) bool) {
	s.t.Helper()
	s.until(what, func() bool { return f(s.text()) })
}

// until waits until a condition is fulfilled. It looks again when something was shown:
// a terminal is much to look at.
func (s *terminal) until(what string, f func() bool) {
	s.t.Helper()
	for late := time.After(patience); ; time.Sleep(2 * time.Millisecond) {
		s.mu.Lock()
		shown := s.shown
		s.mu.Unlock()
		if f() {
			return
		}
		select {
		case <-shown:
		case <-late:
			s.t.Fatalf("%s: not in time on\n%s", what, s.text())
		}
	}
}

// shows waits until a text is on the screen, or above it.
func (s *terminal) shows(text string) {
	s.t.Helper()
	s.holds(fmt.Sprintf("%q", text), func(screen string) bool { return strings.Contains(screen, text) })
}

// hides waits until a text is gone from the screen.
func (s *terminal) hides(text string) {
	s.t.Helper()
	s.until(fmt.Sprintf("no %q", text), func() bool { return !strings.Contains(s.screen(), text) })
}

// screen is what is on the screen alone.
func (s *terminal) screen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.emu.String()
}

func (s *terminal) types(text string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// says types a message, waits until it is in the editor and sends it.
func (s *terminal) says(text string) {
	s.t.Helper()
	s.types(text)
	s.shows("\n> " + text)
	s.types("\r")
}

func (s *terminal) resize(columns, rows int) {
	s.t.Helper()
	s.mu.Lock()
	s.emu.Resize(columns, rows)
	s.mu.Unlock()
	if err := pty.Setsize(s.tty, &pty.Winsize{Rows: uint16(rows), Cols: uint16(columns)}); err != nil {
		s.t.Fatal(err)
	}
}

// wrote is all that the command has written.
func (s *terminal) wrote() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// exit waits for the end and returns the exit code.
func (s *terminal) exit() string {
	s.t.Helper()
	code := exitWithin(s.t, s.cmd)
	<-s.read
	return code
}

// Keys as terminals send them.
const (
	ctrlC   = "\x03"
	ctrlD   = "\x04"
	ctrlL   = "\x0c"
	ctrlR   = "\x12"
	up      = "\x1b[A"
	down    = "\x1b[B"
	altCR   = "\x1b\r"
	pasteOn = "\x1b[200~"
	pasted  = "\x1b[201~"
)

// requests is a server like Ollama that answers "Answer 1.", "Answer 2.", ... and
// keeps what it was asked.
type requests struct {
	t    *testing.T
	hold chan struct{} // the first answer waits until it is closed; nil: none waits

	mu   sync.Mutex
	last []string
}

// command is a conversation with it.
func (r *requests) command(t *testing.T) *exec.Cmd {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	cmd := command(t, nil, "chat", "-m", "test")
	cmd.Env = append(cmd.Env, "OLLAMA_HOST="+server.URL)
	return cmd
}

// ServeHTTP implements http.Handler.
func (r *requests) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	switch q.URL.Path {
	case "/api/show":
		fmt.Fprint(w, `{"details":{},"model_info":{"general.architecture":"x","x.context_length":4000000},"capabilities":["completion"]}`)
	case "/api/ps":
		fmt.Fprint(w, `{"models":[{"name":"test","model":"test","context_length":4000000}]}`)
	case "/api/chat":
		var in struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(q.Body).Decode(&in); err != nil || len(in.Messages) == 0 {
			fmt.Fprint(w, `{"done":true}`)
			return
		}
		r.mu.Lock()
		r.last = append(r.last, in.Messages[len(in.Messages)-1].Content)
		n := len(r.last)
		r.mu.Unlock()
		if r.hold != nil {
			select {
			case <-r.hold:
			case <-q.Context().Done():
				return
			}
		}
		fmt.Fprintf(w, "{\"message\":{\"role\":\"assistant\",\"content\":\"Answer %d.\"},\"done\":false}\n{\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":10,\"eval_count\":3,\"eval_duration\":100000000}\n", n)
	default:
		http.NotFound(w, q)
	}
}

func (r *requests) prompts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.last)
}
