package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"mylm/agent/durable/pgtest"
	"mylm/agent/durable/postgres"
	"mylm/agent/durable/temporal"
)

// parts are those of a cluster: a PostgreSQL and a Temporal of the test's own, and workers
// that share a workspace, each a process that can be killed and started again.
type parts struct {
	t         *testing.T
	database  *pgtest.Mortal
	temporal  *process
	workers   []*process
	where     string // of Temporal
	workspace string

	client   client.Client // the test's own
	sessions *postgres.Sessions
}

// process is a program that the test keeps running.
type process struct {
	name  string
	args  []string
	log   *os.File
	ready func() error
	cmd   *exec.Cmd
	ended chan struct{}
}

// newParts starts all but the workers. Temporal has these arguments, too.
func newParts(t *testing.T, more ...string) *parts {
	t.Helper()
	if os.Getenv("MYLM_SLOW") == "" {
		t.Skip("it takes long: MYLM_SLOW=1 runs it")
	}
	needed(t)
	home := t.TempDir()
	p := &parts{t: t, database: pgtest.Start(t), where: free(t), workspace: t.TempDir()}
	for name, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "config"), "XDG_DATA_HOME": filepath.Join(home, "data"),
		"MYLM_DATABASE": p.database.Address(), "MYLM_TEMPORAL": p.where, "MYLM_SANDBOX": "off",
	} {
		t.Setenv(name, value)
	}
	_, port, _ := net.SplitHostPort(p.where) // free made it
	p.temporal = p.process("temporal", func() error {
		limited, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := p.client.CheckHealth(limited, nil)
		return err
	}, append([]string{os.Getenv("TEMPORAL_TEST_BIN"), "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", port, "--log-level", "error"}, more...)...)
	if _, messages, code := run(t, "migrate"); code != 0 {
		t.Fatal(messages)
	}
	db, err := postgres.Open(t.Context(), p.database.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if p.sessions, err = db.Sessions(defaultTenant); err != nil {
		t.Fatal(err)
	}
	payloads, err := db.Payloads(defaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	if p.client, err = client.NewLazyClient(client.Options{HostPort: p.where, ExternalStorage: temporal.Storage(payloads)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.client.Close)
	p.until(p.temporal.ready)
	return p
}

// add starts workers whose model is at an address, and waits until they work.
func (p *parts) add(n int, host string) {
	p.t.Helper()
	for range n {
		health := free(p.t)
		p.workers = append(p.workers, p.process(fmt.Sprintf("worker%d", len(p.workers)), func() error { return get(health + "/readyz") },
			"mylm-cluster", "worker", "-m", "m", "--host", host, "--workspace", p.workspace, "--health", health))
	}
	p.until(p.healthy)
}

// free is an address on loopback that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// process starts one, which is killed when the test has ended. What it prints is shown if
// the test failed.
func (p *parts) process(name string, ready func() error, args ...string) *process {
	p.t.Helper()
	log, err := os.Create(filepath.Join(p.t.TempDir(), name))
	if err != nil {
		p.t.Fatal(err)
	}
	s := &process{name: name, args: args, log: log, ready: ready}
	p.start(s)
	p.t.Cleanup(func() {
		if err := s.kill(); err != nil {
			p.t.Log(err)
		}
		if text, err := os.ReadFile(log.Name()); err == nil && p.t.Failed() {
			p.t.Logf("%s printed:\n%s", name, text[max(0, len(text)-4000):])
		}
		_ = log.Close()
	})
	return s
}

// start starts a process, again if it has ended.
func (p *parts) start(s *process) {
	p.t.Helper()
	cmd, ended := exec.Command(s.args[0], s.args[1:]...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = s.log, s.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	s.cmd, s.ended = cmd, ended
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(ended)
	}()
}

// kill ends a process with SIGKILL. One that has ended by itself is an error.
func (s *process) kill() error {
	select {
	case <-s.ended:
		return fmt.Errorf("%s has ended by itself: %v", s.name, s.cmd.ProcessState)
	default:
	}
	err := s.cmd.Process.Kill()
	<-s.ended
	return err
}

// healthy is nil if all answer.
func (p *parts) healthy() error {
	for _, s := range append([]*process{p.temporal}, p.workers...) {
		select {
		case <-s.ended:
			p.t.Fatalf("%s has ended by itself: %v", s.name, s.cmd.ProcessState)
		default:
		}
		if err := s.ready(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// until tries something for some minutes, until it succeeds.
func (p *parts) until(what func() error) {
	p.t.Helper()
	end := time.After(10 * time.Minute)
	for {
		err := what()
		if err == nil {
			return
		}
		select {
		case <-end:
			p.t.Fatal(err)
		case <-p.t.Context().Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// processor is the time that a process has used so far, with its children.
func processor(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return 0, errors.New("the kernel says nothing of times")
	}
	var ticks int64
	for _, field := range fields[11:15] { // of itself and of children that have ended, both for the program and the kernel
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100, nil // Linux has 100 a second for programs
}
