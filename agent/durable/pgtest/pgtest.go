package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	binEnv     = "POSTGRES_TEST_BIN"
	requireEnv = "POSTGRES_TEST_REQUIRED"
)

// Role is the role that Database's addresses name, an ordinary one, and Superuser the
// one that began the server; each has the password Password.
const (
	Role      = "mylm"
	Superuser = "postgres"
	Password  = "not a secret"
)

// port is part of the socket's name, whatever PGPORT says.
const port = "5432"

// server is the one of this process.
type server struct {
	dir  string // of its socket, and below it its data
	cmd  *exec.Cmd
	done chan struct{} // closed when the process is gone
}

var (
	start   = sync.OnceValues(begin)
	running *server
	made    atomic.Int64 // databases
)

// Main runs the tests of a package and then stops the server, if one was started. It
// returns the exit code.
func Main(m *testing.M) int {
	defer func() {
		if running != nil {
			running.stop()
		}
	}()
	return m.Run()
}

// Database makes a database whose owner is Role and that is empty but for pgvector, and
// returns its address. The test is skipped where there is no PostgreSQL.
func Database(t testing.TB) string {
	t.Helper()
	required(t)
	s, err := start()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("test%d", made.Add(1))
	if err := s.database(name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.exec("postgres", "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return s.address(Role, name)
}

// required skips the test where there is no PostgreSQL.
func required(t testing.TB) {
	t.Helper()
	if os.Getenv(binEnv) != "" {
		return
	}
	const what = "no PostgreSQL to test against: set " + binEnv + "=$(scripts/get-postgres DIR)"
	if os.Getenv(requireEnv) != "" {
		t.Fatal(requireEnv + " is set, but there is " + what)
	}
	t.Skip(what)
}

// Administer runs a statement in a database as the superuser.
func Administer(t testing.TB, address, statement string) {
	t.Helper()
	u, err := url.Parse(address)
	if err == nil {
		err = running.exec(u.Path[1:], statement)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Log is what the server has logged so far.
func Log(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(running.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// As is an address with another role, or another password.
func As(t testing.TB, address, role, password string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, password)
	return u.String()
}

func (s *server) address(role, database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(role, Password), Path: "/" + database, RawQuery: url.Values{"host": {s.dir}, "port": {port}}.Encode()}
	return u.String()
}

// exec runs a statement as the superuser.
func (s *server) exec(database, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.address(Superuser, database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

// database makes one whose owner is Role, with pgvector.
func (s *server) database(name string) error {
	if err := s.exec("postgres", fmt.Sprintf("CREATE DATABASE %s OWNER %s", name, Role)); err != nil {
		return err
	}
	return s.exec(name, "CREATE EXTENSION vector")
}

// place is where a server's directory can be: the path of a socket has about a hundred
// bytes, and where root began the server nobody has to get there.
func place() string {
	if dir := os.TempDir(); os.Geteuid() != 0 && len(dir) < 70 {
		return dir
	}
	return "/tmp"
}

// begin makes a server that loses everything with its machine: that is quicker.
func begin() (*server, error) {
	s, err := create()
	running = s
	if err != nil {
		return nil, err
	}
	if err := s.launch("fsync=off", "synchronous_commit=off", "full_page_writes=off"); err != nil {
		return nil, err
	}
	return s, s.role()
}

// create makes the directory of a server, and its data.
func create() (*server, error) {
	dir, err := os.MkdirTemp(place(), "pgtest")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	secret := filepath.Join(dir, "password")
	if err := errors.Join(os.WriteFile(secret, []byte(Password), 0o600), give(dir), give(secret)); err != nil {
		return s, err
	}
	initdb := s.command("initdb", "-D", s.data(), "-U", Superuser, "--pwfile", secret, "-A", "scram-sha-256", "-E", "UTF8", "--locale", "C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return s, fmt.Errorf("initdb: %w (root's tests run it as nobody, who has to be able to read %s)\n%s", err, os.Getenv(binEnv), out)
	}
	return s, nil
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

// role makes Role.
func (s *server) role() error {
	return s.exec("postgres", fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", Role, Password))
}

// launch starts a server and waits until it answers. It needs nothing of /dev/shm, which is
// small in containers, and leaves nothing there when killed.
func (s *server) launch(settings ...string) error {
	args := []string{"-D", s.data(), "-k", s.dir, "-p", port}
	for _, of := range append(settings, "listen_addresses=", "dynamic_shared_memory_type=mmap", "max_connections=200", "jit=off", "logging_collector=off") {
		args = append(args, "-c", of)
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the server has its own
	cmd, done := s.command("postgres", args...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd, s.done = cmd, done
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(done)
	}()
	if err := s.ready(); err != nil {
		text, _ := os.ReadFile(log.Name()) // the other error says that it failed
		return fmt.Errorf("%w\n%s", err, text)
	}
	return nil
}

// command is a program of the server's, which refuses to work for root.
func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(os.Getenv(binEnv), name), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TZ=UTC", "LC_ALL=C"}
	unprivileged(cmd)
	return cmd
}

// endedAtOnce is why a server is not ready.
const endedAtOnce = "postgres ended at once"

// ready waits until the server answers, or is gone.
func (s *server) ready() error {
	deadline := time.After(3 * time.Minute)
	for {
		err := s.exec("postgres", "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-s.done:
			return errors.New(endedAtOnce)
		case <-deadline:
			return fmt.Errorf("postgres is not ready: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the server and removes what it had.
func (s *server) stop() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(os.Interrupt) // fast shutdown: connections are cut
		select {
		case <-s.done:
		case <-time.After(10 * time.Second):
			_ = s.cmd.Process.Kill()
			<-s.done
		}
	}
	if err := os.RemoveAll(s.dir); err != nil {
		fmt.Fprintln(os.Stderr, strings.TrimSpace(err.Error()))
	}
}
