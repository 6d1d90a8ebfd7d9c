package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/urfave/cli/v2"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/temporal"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"mylm/agent/durable/postgres"
	"mylm/agent/journal"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/sink"
	"mylm/memory"
)

// newer is what to do about what a later version has written.
const newer = "Install the newer mylm-cluster again: all that use a database have one version."

// advice is what a person can do about an error.
var advice = []struct {
	is   error
	hint string
	code int
	name string
}{
	{postgres.ErrAddress, "Write it like postgres://mylm@db.example:5432/mylm, or host=/run/postgresql dbname=mylm, in --database or MYLM_DATABASE.\n" +
		"A password belongs in PGPASSWORD or ~/.pgpass; in MYLM_DATABASE each / : @ ? # % of it is written %2F %3A %40 %3F %23 %25.", failure.ExitUsage, "config"},
	{postgres.ErrUnreachable, "Is the server running there, and does it listen to this machine?\n--database or MYLM_DATABASE names another.", failure.ExitUnreachable, "unreachable"},
	{postgres.ErrPassword, "Set PGPASSWORD, or put the password into ~/.pgpass. The address names the role: postgres://ROLE@HOST/DATABASE.", failure.ExitUsage, "auth"},
	{postgres.ErrNoDatabase, "Make it as a superuser: CREATE DATABASE mylm OWNER mylm;", failure.ExitUsage, "config"},
	{postgres.ErrOlder, "Bring it to this version: mylm-cluster migrate", failure.ExitUsage, "schema"},
	{postgres.ErrNewer, newer, failure.ExitUsage, "schema"},
	{memory.ErrNewer, newer, failure.ExitUsage, "schema"},
	{journal.ErrNewer, newer, failure.ExitUsage, "schema"},
	{postgres.ErrPrivileged, "Use a role of its own, which owns the database: CREATE ROLE mylm LOGIN PASSWORD '…';", failure.ExitUsage, "config"},
	{postgres.ErrNoVector, "Make it as a superuser, in this database: CREATE EXTENSION vector;\nWhere that fails, install pgvector for this PostgreSQL (0.8 or later).", failure.ExitUsage, "config"},
	{postgres.ErrTenant, "Name another with --tenant or MYLM_TENANT.", failure.ExitUsage, "config"},
	{memory.ErrBusy, "Another process is writing for this tenant; try again in a moment.", failure.ExitError, "busy"},
	{memory.ErrEmpty, "It reads what mylm memory export writes.", failure.ExitUsage, "usage"},
	{journal.ErrNotFound, "mylm-cluster list lists the sessions of a tenant.", failure.ExitUsage, "not_found"},
}

// answers are what PostgreSQL says where it takes no connection, and what to do about it:
// https://www.postgresql.org/docs/current/errcodes-appendix.html
var answers = []struct{ code, name, hint string }{
	{"53300", "busy", "Each process takes as many as --connections or MYLM_DATABASE_CONNECTIONS says: lower that, raise max_connections of the server (or the\n" +
		"CONNECTION LIMIT of the role or database), or put PgBouncer between."},
	{"57P03", "unreachable", "The server is starting, stopping or recovering: try again in a moment."},
}

// explained is an error with its exit code, and with what to do about it.
func explained(ctx context.Context, err error) *failure.Error {
	var f *failure.Error
	switch {
	case errors.As(err, &f):
		return f
	case ctx.Err() != nil:
		return failure.Of(context.Canceled)
	}
	for _, row := range advice {
		if errors.Is(err, row.is) {
			return &failure.Error{Code: row.code, Name: row.name, Err: err, Hint: row.hint}
		}
	}
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		for _, row := range answers {
			if answer.Code == row.code {
				return &failure.Error{Code: failure.ExitUnreachable, Name: row.name, Err: err, Hint: row.hint}
			}
		}
	}
	if f := explainTemporal(err); f != nil {
		return f
	}
	return failure.Of(err)
}

// report prints an error on stderr, and on stdout if JSON was asked for.
func (c *cluster) report(ctx *cli.Context, f *failure.Error) {
	c.say(f)
	form, _ := sink.Form(ctx) // of both flags, --json
	if out := sink.New(form, c.screen.Out); out != nil && ctx.Command != nil && takesForm(ctx.Command) {
		_ = out.Close(sink.Outcome{Failure: f}) // stderr has it as well
	}
}

// say prints an error on stderr.
func (c *cluster) say(f *failure.Error) {
	c.screen.EndAnswer()
	c.screen.Say(c.screen.Folded("mylm-cluster: "+f.Error(), 2))
	if f.Hint != "" {
		c.screen.Say(c.screen.Folded("  "+strings.ReplaceAll(strings.TrimSpace(f.Hint), "\n", "\n  "), 2))
	}
}

// explainTemporal is what an error of Temporal's means, nil for any other.
func explainTemporal(err error) *failure.Error {
	var execution *sdk.WorkflowExecutionError
	var inside *sdk.ApplicationError
	var terminated *sdk.TerminatedError
	var timeout *sdk.TimeoutError
	var unavailable *serviceerror.Unavailable
	var late *serviceerror.DeadlineExceeded
	switch {
	case errors.As(err, &terminated):
		return &failure.Error{Code: failure.ExitError, Name: "terminated", Err: errors.New("the run was terminated in Temporal: its session has no end")}
	case errors.As(err, &execution) && errors.As(err, &timeout):
		return &failure.Error{Code: failure.ExitTimeout, Name: "timeout", Err: errors.New("the run took longer than Temporal allows")}
	case errors.As(err, &execution) && errors.As(err, &inside):
		return &failure.Error{Code: failure.ExitError, Name: "internal", Err: errors.New(inside.Message())}
	case errors.As(err, &unavailable), errors.As(err, &late), status.Code(err) == codes.Unavailable:
		return &failure.Error{Code: failure.ExitUnreachable, Name: "unreachable", Err: fmt.Errorf("no Temporal answers: %w", err),
			Hint: "Is it running? Runs go on when it is there again."}
	}
	return nil
}
