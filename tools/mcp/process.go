package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"mylm/internal/group"
	"mylm/tools/sandbox"
)

// process is a running program with all that it starts.
type process struct {
	stdin, stdout *os.File
	stderr        *lastWords
	kill          func()
	done          chan struct{} // closed when it, and what it started, has ended
	err           error         // how it ended; valid once done is closed
}

// start starts the program of a server.
func start(s *Server) (p *process, err error) {
	var files []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				files = append(files, r, w)
			}
		}
		return r, w
	}
	inR, inW := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	if err != nil {
		closeAll(files)
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
	cmd.Dir, cmd.Env = s.Dir, append([]string{}, s.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	var policy *sandbox.Policy
	if s.Sandbox != nil {
		policy = s.Sandbox()
	}
	wait, err := launch(cmd, policy)
	closeAll([]*os.File{inR, outW, errW})
	if err != nil {
		cancel()
		closeAll([]*os.File{inW, outR, errR})
		if errors.Is(err, exec.ErrNotFound) {
			err = fmt.Errorf("there is no program %s", s.Command[0])
		}
		return nil, fmt.Errorf("%w: %w", errNotStarted, err)
	}
	p = &process{stdin: inW, stdout: outR, stderr: &lastWords{log: s.Log}, kill: cancel, done: make(chan struct{})}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(p.stderr, errR)
	}()
	go func() {
		p.err = wait()
		cancel()
		// Whoever held the pipe is dead, or has left the group: its words are not waited for.
		if errR.SetReadDeadline(time.Now().Add(endPatience)) == nil {
			<-read
		}
		errR.Close()
		close(p.done)
	}()
	return p, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

var errNotStarted = errors.New("could not be started")

// launch starts cmd as whatever ends all of its processes best here, and returns a
// function that waits for that end.
func launch(cmd *exec.Cmd, policy *sandbox.Policy) (wait func() error, err error) {
	if policy == nil {
		policy = &sandbox.Policy{Mode: sandbox.Off}
	}
	if policy.Mode == sandbox.Off && !sandbox.Supervises() {
		g, err := group.Start(cmd)
		if err != nil {
			return nil, err
		}
		return func() error {
			err := cmd.Wait()
			g.Kill()
			return err
		}, nil
	}
	guard, err := policy.Wrap(cmd)
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		guard.Release()
		return nil, err
	}
	return func() error {
		err := cmd.Wait()
		if report := guard.Release(); report.Failed != nil {
			return fmt.Errorf("%w: %w", errNotStarted, report.Failed)
		}
		return err
	}, nil
}

// end closes the program's input, waits a moment for its end, and kills it with all
// that it started.
func (p *process) end() {
	p.stdin.Close()
	timer := time.NewTimer(endPatience)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	}
	p.kill()
	<-p.done
	p.stdout.Close()
}

// ended describes the end of a program whose pipe failed. It is killed: whoever
// closes its output or sends what is too long cannot be spoken with.
func (p *process) ended(cause error) error {
	timer := time.NewTimer(endPatience)
	defer timer.Stop()
	ours := errors.Is(cause, errTooLong) || errors.Is(cause, errFlood)
	if ours {
		p.kill()
	}
	killed := false
	select {
	case <-p.done:
	case <-timer.C:
		killed = true
		p.kill()
		<-p.done
	}
	switch {
	case ours:
		return &Ended{Cause: cause}
	case killed:
		return &Ended{Cause: errors.New("it closed its output"), Words: p.stderr.String()}
	case p.err != nil:
		return &Ended{Cause: p.err, Words: p.stderr.String()}
	}
	return &Ended{Cause: errors.New("it exited with status 0 while it was in use"), Words: p.stderr.String()}
}

// Ended is the error of a server whose program has ended, or was ended for what it did.
type Ended struct {
	Cause error
	Words string // the last of what it printed on stderr
}

// Error describes the end with the program's last words.
func (e *Ended) Error() string {
	if errors.Is(e.Cause, errNotStarted) {
		return e.Cause.Error()
	}
	text := "the server has ended: " + e.Cause.Error()
	if e.Words != "" {
		text += "; its last words: " + e.Words
	}
	return text
}

// Unwrap is the cause. An end is also the end of a file to the SDK.
func (e *Ended) Unwrap() []error { return []error{e.Cause, io.EOF} }

// lastWords keeps the end of what is written to it.
type lastWords struct {
	log  io.Writer // gets all of it; nil: nothing does
	mu   sync.Mutex
	text []byte
}

func (l *lastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log != nil {
		_, _ = l.log.Write(p)
	}
	l.text = append(l.text, p[max(0, len(p)-maxStderr):]...)
	l.text = append(l.text[:0], l.text[max(0, len(l.text)-maxStderr):]...)
	return len(p), nil
}

// String is its last lines, as one, and the last error before them.
func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.FieldsFunc(plain(string(l.text)), func(r rune) bool { return r == '\n' })
	first := max(0, len(lines)-3)
	words := lines[first:]
	for i := first - 1; i >= 0; i-- { // some print where it happened behind what happened
		if strings.Contains(lines[i], "Error: ") {
			words = append([]string{lines[i]}, words...)
			break
		}
	}
	return strings.Join(words, " / ")
}
