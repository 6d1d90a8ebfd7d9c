package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"mylm/memory"
)

// Errors that callers can test for with errors.Is. Returned errors wrap them with
// details.
var (
	// ErrAddress: the address of the database cannot be read.
	ErrAddress = errors.New("this is no address of a PostgreSQL database")
	// ErrUnreachable: no server answers at the address.
	ErrUnreachable = errors.New("PostgreSQL cannot be reached")
	// ErrPassword: the server refuses the role or its password.
	ErrPassword = errors.New("PostgreSQL refuses the role or its password")
	// ErrNoDatabase: the server has no database of this name.
	ErrNoDatabase = errors.New("there is no such database")
	// ErrOlder: the schema is of an earlier version, or there is none. Migrate makes it.
	ErrOlder = errors.New("the schema of the database is older than this program")
	// ErrNewer: a later version of this program made the schema.
	ErrNewer = errors.New("the schema of the database is newer than this program")
	// ErrPrivileged: the role is one that PostgreSQL shows the rows of all tenants.
	ErrPrivileged = errors.New("the role sees all tenants")
	// ErrNoVector: the database lacks the extension pgvector, and the role may not create it.
	ErrNoVector = errors.New("the database lacks the extension vector (pgvector)")
	// ErrTenant: the name of a tenant is empty, too long, or no text.
	ErrTenant = errors.New("a tenant has a name of 1 to 200 bytes")
)

// DB is a database with the tables of this package. It is safe for concurrent use.
type DB struct{ pool *pgxpool.Pool }

// Open connects to a database. The address is a URL, or a list of words such as
// host=/run/postgresql dbname=mylm; what it leaves out is taken from PGHOST, PGPASSWORD
// and the like, as psql does. The schema has to be that of this version, see Migrate,
// and the role an ordinary one.
func Open(ctx context.Context, address string) (*DB, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, unread(err)
	}
	if err := misread(config.ConnConfig); err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, unread(err)
	}
	db := &DB{pool}
	if err := db.check(ctx); err != nil {
		pool.Close()
		return nil, explain(ctx, err)
	}
	return db, nil
}

// unread says what is wrong with an address, but not the address: what pgx takes for the
// password, and leaves out, may be a part of it, and what it quotes another.
func unread(err error) error {
	text := err.Error()
	text = strings.TrimPrefix(text[strings.LastIndexByte(text, '`')+1:], ": ")
	return fmt.Errorf("%w: %s", ErrAddress, quoted.ReplaceAllString(text, "…"))
}

var quoted = regexp.MustCompile(`"(\\.|[^"\\])*"`)

// misread is the error of an address that can be read, but with a part of its password for
// something else: a / in it ends the name of the server.
func misread(c *pgx.ConnConfig) error {
	if strings.Contains(c.Database+c.Host, "@") {
		return fmt.Errorf("%w: there is an @ behind a /", ErrAddress)
	}
	return nil
}

// Close ends the connections. Stores of the database cannot be used after it.
func (db *DB) Close() { db.pool.Close() }

// check finds out whether the tables and the role are what this program needs.
func (db *DB) check(ctx context.Context) error {
	var role string
	var privileged bool
	err := db.pool.QueryRow(ctx, "SELECT rolname, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user").Scan(&role, &privileged)
	if err != nil {
		return err
	}
	if privileged {
		return fmt.Errorf("%w: row-level security does not hold for %s, which is a superuser or has BYPASSRLS", ErrPrivileged, role)
	}
	var version int64
	err = db.pool.QueryRow(ctx, "SELECT max(version_id) FROM "+versions).Scan(&version)
	if code(err) == undefinedTable {
		err = nil
	}
	if err != nil {
		return err
	}
	return compare(version)
}

func compare(version int64) error {
	switch want := latest(); {
	case version < want:
		return fmt.Errorf("%w: version %d, and not %d", ErrOlder, version, want)
	case version > want:
		return fmt.Errorf("%w: version %d, and not %d", ErrNewer, version, want)
	}
	return nil
}

// Codes of PostgreSQL's errors that say what to do.
const (
	undefinedTable = "42P01"
	wrongPassword  = "28P01"
	refusedRole    = "28000"
	noDatabase     = "3D000"
	lockTimeout    = "55P03"
	diskFull       = "53100"
	readOnly       = "25006"
	noPrivilege    = "42501"
	tooLong        = "54000" // program_limit_exceeded
	noText         = "22021" // character_not_in_repertoire
)

// code is that of an error of PostgreSQL's, "" of any other.
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// explain says what an error of PostgreSQL's means.
func explain(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	meaning := map[string]error{
		wrongPassword: ErrPassword, refusedRole: ErrPassword, noDatabase: ErrNoDatabase, undefinedTable: ErrOlder, lockTimeout: memory.ErrBusy, diskFull: memory.ErrFull, readOnly: memory.ErrReadOnly,
		noPrivilege: memory.ErrReadOnly, tooLong: errLong, noText: errText,
	}[code(err)]
	var connecting *pgconn.ConnectError
	if meaning == nil && code(err) == "" && errors.As(err, &connecting) {
		meaning = ErrUnreachable
	}
	if meaning != nil {
		err = fmt.Errorf("%w: %w", meaning, err)
	}
	if stays(code(err)) {
		err = permanent{err}
	}
	return err
}

// stays reports whether a statement that fails with a code does so again: its data cannot
// be kept, or the schema or the rights of the role are not those that it needs. Whatever
// keeps a program from connecting passes when it is put right, without a statement lost.
func stays(code string) bool {
	for _, class := range []string{"22", "23", "42", "54"} { // data, constraints, names and rights, limits of the program
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return false
}

// permanent is an error that stays: who waits for the database need not wait for this.
type permanent struct{ error }

// Unwrap returns the error.
func (p permanent) Unwrap() error { return p.error }

// Permanent reports that the statement fails again.
func (permanent) Permanent() bool { return true }

// errText is another one.
var errText = errors.New("PostgreSQL has no text, and no id, with a NUL or with bytes that are not UTF-8")

// errLong is a limit of PostgreSQL's indexes.
var errLong = errors.New("an id and the names of a session, a project and a speaker have at most 2,000 bytes in PostgreSQL")

// inTenant runs f in a transaction that sees and changes what belongs to a tenant.
func (db *DB) inTenant(ctx context.Context, tenant string, f func(pgx.Tx) error) error {
	begin := pgx.TxOptions{BeginQuery: "BEGIN; SELECT " + setTenant(tenant)} // one message
	tx, err := db.pool.BeginTx(ctx, begin)
	if err != nil && ctx.Err() == nil { // as after a restart of the server, of which the connections do not know
		db.pool.Reset()
		tx, err = db.pool.BeginTx(ctx, begin)
	}
	if err != nil {
		return explain(ctx, err)
	}
	defer tx.Rollback(ctx) // does nothing after a commit
	if err = f(tx); err == nil {
		err = tx.Commit(ctx)
	}
	return explain(ctx, err)
}

// setTenant is the call that makes a transaction one of a tenant. It needs no parameter, which the
// message that begins a transaction cannot have, and no quotes, and it is the same name
// whatever the settings for strings and encodings are.
func setTenant(tenant string) string {
	return fmt.Sprintf("set_config('mylm.tenant', convert_from(decode('%x', 'hex'), 'UTF8'), true)", tenant)
}

// send sends statements of a tenant as one message, which is one transaction: the server
// commits all of it or nothing.
func (db *DB) send(ctx context.Context, tenant string, queue func(*pgx.Batch)) error {
	batch := &pgx.Batch{}
	batch.Queue("SELECT " + setTenant(tenant))
	queue(batch)
	return explain(ctx, db.pool.SendBatch(ctx, batch).Close())
}

// temporary reports whether an error may pass, such as that of a connection which was
// lost: then nobody knows whether its statements were carried out.
func temporary(ctx context.Context, err error) bool {
	var p permanent
	return err != nil && ctx.Err() == nil && !errors.As(err, &p)
}
