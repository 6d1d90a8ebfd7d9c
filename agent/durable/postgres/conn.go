package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// connector gives the memory connections of the pool that work for one tenant.
type connector struct {
	driver.Connector
	pool   *pgxpool.Pool
	tenant string
	wait   time.Duration // for other writers of the tenant
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &session{conn.(*stdlib.Conn), c}, nil
}

// session is a connection whose transactions see the rows of a tenant, and which
// understands the parameters of the memory's statements.
type session struct {
	*stdlib.Conn
	of connector
}

// BeginTx begins a transaction that sees one state, or one that is the only writer of
// its tenant: the order of documents is that of their transactions, and what a reader
// has seen up to one of them does not grow later.
func (s *session) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if opts.ReadOnly {
		opts.Isolation = driver.IsolationLevel(sql.LevelRepeatableRead)
	}
	tx, err := s.Conn.BeginTx(ctx, opts)
	if err == nil {
		if err = s.begin(ctx, opts.ReadOnly); err != nil {
			_ = tx.Rollback() // the other error says why
		}
	}
	if err != nil && ctx.Err() == nil && s.Conn.Conn().IsClosed() {
		s.of.pool.Reset()             // after a restart of the server all are
		return nil, driver.ErrBadConn // and begins on another
	}
	return tx, err
}

func (s *session) begin(ctx context.Context, readOnly bool) error {
	_, err := s.Conn.Conn().Exec(ctx, "SELECT "+setTenant(s.of.tenant)+", set_config('lock_timeout', $1, true)", fmt.Sprintf("%dms", max(1, s.of.wait.Milliseconds()))) // 0 would be for ever
	if err == nil && !readOnly {
		_, err = s.Conn.Conn().Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('mylm.memory ' || $1, 0))", s.of.tenant)
	}
	return err
}

// ExecContext implements driver.ExecerContext.
func (s *session) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return s.Conn.ExecContext(ctx, numbered(query), args)
}

// QueryContext implements driver.QueryerContext.
func (s *session) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return s.Conn.QueryContext(ctx, numbered(query), args)
}

// PrepareContext implements driver.ConnPrepareContext.
func (s *session) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return s.Conn.PrepareContext(ctx, numbered(query))
}

// known are statements with PostgreSQL's parameters.
var known sync.Map

// numbered writes the parameters of a statement as PostgreSQL does: $1. SQLite gives a ?
// the number after the largest before it. No statement has a ? in a string.
func numbered(query string) string {
	if n, ok := known.Load(query); ok {
		return n.(string)
	}
	var out strings.Builder
	most, rest := 0, query
	for {
		before, after, found := strings.Cut(rest, "?")
		out.WriteString(before)
		if !found {
			break
		}
		digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
		n, err := strconv.Atoi(after[:digits])
		if err != nil {
			n = most + 1
		}
		most = max(most, n)
		fmt.Fprintf(&out, "$%d", n)
		rest = after[digits:]
	}
	known.Store(query, out.String())
	return out.String()
}
