package pgtest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"mylm/agent/durable/pgtest"
)

// What a server has confirmed is there after it was killed with all its processes.
func TestMortal(t *testing.T) {
	m := pgtest.Start(t)
	exec := func(statement string) error {
		conn, err := pgx.Connect(t.Context(), m.Address())
		if err != nil {
			return err
		}
		defer conn.Close(t.Context())
		_, err = conn.Exec(t.Context(), statement)
		return err
	}
	for _, statement := range []string{"CREATE TABLE t (n int)", "INSERT INTO t VALUES (1)", "INSERT INTO t SELECT 1 / (2 - count(*)) FROM t"} {
		if err := exec(statement); err != nil {
			t.Fatal(err)
		}
		if err := m.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := exec(statement); err == nil {
			t.Fatal("a server that was killed answers")
		}
		if err := m.Restart(); err != nil {
			t.Fatal(err)
		}
	}
}
