package main

import (
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"mylm/agent/durable/pgtest"
)

// A process takes four connections, or as many as are named.
func TestPooled(t *testing.T) {
	for _, address := range []string{"", "host=/tmp dbname=mylm", "postgres://mylm@127.0.0.1/mylm", "postgresql://mylm@127.0.0.1/mylm?sslmode=disable"} {
		if c, err := pgxpool.ParseConfig(pooled(address, 7)); err != nil || c.MaxConns != 7 {
			t.Errorf("%q: %v, %v", address, c, err)
		}
	}
}

// starting answers as a PostgreSQL that starts.
func starting(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			server := pgproto3.NewBackend(conn, conn)
			if _, err := server.ReceiveStartupMessage(); err == nil {
				server.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "57P03", Message: "the database system is starting up"})
				_ = server.Flush()
			}
			_ = conn.Close()
		}
	}()
	return "postgres://mylm@" + listener.Addr().String() + "/mylm?sslmode=disable"
}

// A PostgreSQL that takes no connection is waited for, or needs room.
func TestNoConnection(t *testing.T) {
	full := pgtest.Database(t)
	t.Setenv("MYLM_DATABASE", full)
	if _, messages, code := run(t, "migrate"); code != 0 {
		t.Fatal(messages)
	}
	pgtest.Administer(t, full, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I CONNECTION LIMIT 0', current_database()); END $$")
	for _, tt := range []struct {
		address string
		want    []string
	}{
		{full, []string{"too many connections", "MYLM_DATABASE_CONNECTIONS", "max_connections"}},
		{starting(t), []string{"starting up", "try again in a moment"}},
	} {
		t.Setenv("MYLM_DATABASE", tt.address)
		for _, command := range []string{"list", "migrate"} {
			_, messages, code := run(t, command)
			if code != 3 {
				t.Errorf("%s: exit code %d", command, code)
			}
			for _, want := range tt.want {
				if !strings.Contains(messages, want) {
					t.Errorf("%s: stderr lacks %q:\n%s", command, want, messages)
				}
			}
		}
	}
	t.Setenv("MYLM_DATABASE", full+"?pool_max_conns=3")
	if _, messages, code := run(t, "migrate"); code != 2 || !strings.Contains(messages, "--connections says how many") {
		t.Errorf("%d: %s", code, messages)
	}
	if _, messages, code := run(t, "list", "--connections", "1"); code != 2 || !strings.Contains(messages, "at least 2") {
		t.Errorf("%d: %s", code, messages)
	}
}
