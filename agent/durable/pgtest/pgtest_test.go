package pgtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mylm/agent/durable/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// A server starts whatever the environment says: with a long path of a temporary
// directory that is its owner's alone, and another server's port.
func TestDatabase(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	t.Setenv("PGPORT", "1")
	conn, err := pgx.Connect(t.Context(), pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var n int
	if err := conn.QueryRow(t.Context(), "SELECT 1").Scan(&n); err != nil {
		t.Error(err)
	}
}
