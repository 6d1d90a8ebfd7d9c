//go:build linux

package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is for what takes milliseconds, on the busiest machine.
const patience = time.Minute

// person runs mylm in a directory.
type person struct {
	bin, dir string
	env      []string
	stdin    string
}

// outcome is what a run of mylm left.
type outcome struct {
	stdout, stderr string
	code           int
}

// running is a run of mylm under way.
type running struct {
	cmd            *exec.Cmd
	stdout, stderr output
	done           chan struct{}
}

// output is what a run prints, and an event when it has printed something.
type output struct {
	mu      sync.Mutex
	text    strings.Builder
	want    string
	printed chan struct{}
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(b)
	o.check()
	return len(b), nil
}

// check closes printed once the wanted text is there.
func (o *output) check() {
	if o.want != "" && strings.Contains(o.text.String(), o.want) {
		close(o.printed)
		o.want = ""
	}
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// prints is closed when stdout contains the text.
func (o *output) prints(text string) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.want, o.printed = text, make(chan struct{})
	o.check()
	return o.printed
}

// start begins a run. It has no terminal, not even the one of the test.
func (p *person) start(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	r := &running{cmd: exec.CommandContext(ctx, p.bin, args...), done: make(chan struct{})}
	r.cmd.Dir, r.cmd.Env = p.dir, p.env
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = strings.NewReader(p.stdin), &r.stdout, &r.stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer cancel()
		defer close(r.done)
		r.cmd.Wait()
	}()
	t.Cleanup(func() {
		cancel()
		<-r.done
	})
	return r
}

// wait returns what the run left, when it has ended and nothing of it is left.
func (r *running) wait(t *testing.T) outcome {
	t.Helper()
	<-r.done
	o := outcome{r.stdout.String(), r.stderr.String(), r.cmd.ProcessState.ExitCode()}
	if o.code < 0 {
		t.Fatalf("mylm %q ended with %v; stdout %q, stderr:\n%s", r.cmd.Args[1:], r.cmd.ProcessState, o.stdout, o.stderr)
	}
	if err := syscall.Kill(-r.cmd.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("mylm %q left a process behind: %v", r.cmd.Args[1:], err)
	}
	return o
}

// until waits for an event in the middle of the run.
func (r *running) until(t *testing.T, event <-chan struct{}) {
	t.Helper()
	select {
	case <-event:
	case <-r.done:
		// Both at once: the event was the end.
		select {
		case <-event:
		default:
			t.Fatalf("mylm %q ended too early: stdout %q, stderr:\n%s", r.cmd.Args[1:], r.stdout.String(), r.stderr.String())
		}
	}
}

// run runs mylm to its end.
func (p *person) run(t *testing.T, args ...string) outcome {
	t.Helper()
	return p.start(t, args...).wait(t)
}

// ask asks a model.
func (p *person) ask(t *testing.T, model string, args ...string) outcome {
	t.Helper()
	return p.run(t, append([]string{"ask", "-m", model}, args...)...)
}

// want checks the exit code, stdout to the byte, and what stderr must hold.
func (o outcome) want(t *testing.T, code int, stdout string, stderr ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d", o.code, code)
	}
	if o.stdout != stdout {
		t.Errorf("stdout %q, want %q", o.stdout, stdout)
	}
	for _, s := range stderr {
		if !strings.Contains(o.stderr, s) {
			t.Errorf("stderr lacks %q", s)
		}
	}
	if t.Failed() {
		t.Logf("stderr:\n%s", o.stderr)
	}
}

// report is what --json prints.
type report struct {
	Status     string `json:"status"`
	StopReason string `json:"stop_reason"`
	Output     string `json:"output"`
	Turns      int    `json:"turns"`
	Model      string `json:"model"`
	ToolCalls  []struct {
		Name    string         `json:"name"`
		Args    map[string]any `json:"args"`
		Success bool           `json:"success"`
	} `json:"tool_calls"`
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Hint    string `json:"hint"`
	} `json:"error"`
}

// report reads stdout, which must be the one JSON object.
func (o outcome) report(t *testing.T) (r report) {
	t.Helper()
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
		t.Fatalf("stdout is no JSON object: %v\n%s\nstderr:\n%s", err, o.stdout, o.stderr)
	}
	return r
}

func matches(pattern, s string) bool { return regexp.MustCompile(pattern).MatchString(s) }
