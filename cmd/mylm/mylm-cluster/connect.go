package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"mylm/agent/durable/postgres"
	"mylm/agent/durable/temporal"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
)

// databaseVariable is the variable with the address of the database.
const databaseVariable = "MYLM_DATABASE"

// loopVersion is that of the loop in a workflow. It grows when histories of runs that are
// under way would no longer run again, since the test of the recorded histories in
// agent/durable/temporal fails, or when earlier workers cannot run the new ones again.
// Workers of one queue have the same.
const loopVersion = 2

// The groups of flags in the help.
const (
	ofCluster = "Database and Temporal"
	ofRun     = "Run"
)

// databaseFlags name the database and whose part of it is meant.
func databaseFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Category: ofCluster, Name: "database", EnvVars: []string{databaseVariable}, Usage: "`ADDRESS` of the database, as psql takes it; what is left out comes from PGHOST, PGPASSWORD and the like"},
		&cli.StringFlag{Category: ofCluster, Name: "tenant", EnvVars: []string{"MYLM_TENANT"}, Usage: "`NAME` of whom memory, sessions and runs belong to", Value: defaultTenant},
	}
}

// What is meant where nothing is named.
const (
	defaultTenant   = "default"
	defaultTemporal = "127.0.0.1:7233"
)

// temporalFlags name Temporal and the queue too.
func temporalFlags() []cli.Flag {
	return join(databaseFlags(),
		&cli.StringFlag{Category: ofCluster, Name: "temporal", EnvVars: []string{"MYLM_TEMPORAL"}, Usage: "`HOST:PORT` of Temporal", Value: defaultTemporal},
		&cli.StringFlag{Category: ofCluster, Name: "namespace", EnvVars: []string{"MYLM_TEMPORAL_NAMESPACE"}, Usage: "`NAME` of Temporal's namespace", Value: client.DefaultNamespace},
		&cli.StringFlag{Category: ofCluster, Name: "queue", EnvVars: []string{"MYLM_TASK_QUEUE"}, Usage: "`NAME` of the task queue that workers take runs from", Value: "mylm"},
	)
}

// address is that of the database. Everybody on the machine can read a command line.
func address(ctx *cli.Context) (string, error) {
	given := ctx.String("database")
	secret := strings.Contains(given, "password=")
	if u, err := url.Parse(given); err == nil && u.User != nil {
		_, set := u.User.Password()
		secret = secret || set
	} else if _, rest, found := strings.Cut(given, "://"); err != nil && found { // it may hold one that is not escaped
		user, _, at := strings.Cut(rest, "@")
		secret = secret || at && strings.Contains(user, ":")
	}
	if secret && given != os.Getenv(databaseVariable) {
		return "", failure.Usage("--database has a password in it, which everybody on this machine can read: put it into PGPASSWORD, ~/.pgpass or MYLM_DATABASE")
	}
	return given, nil
}

// open connects to the database; the caller closes it.
func (c *cluster) open(ctx *cli.Context) (*postgres.DB, error) {
	where, err := address(ctx)
	if err != nil {
		return nil, err
	}
	return postgres.Open(ctx.Context, where)
}

func (c *cluster) migrate(ctx *cli.Context) error {
	where, err := address(ctx)
	if err != nil {
		return err
	}
	n, err := postgres.Migrate(ctx.Context, where)
	if err != nil {
		return err
	}
	if n == 0 {
		c.screen.Say("the schema is up to date")
	} else {
		c.screen.Say("the schema is up to date, after " + term.Plural(n, "migration"))
	}
	return nil
}

// link is a connection to the database and to Temporal, for a tenant.
type link struct {
	client.Client
	db       *postgres.DB
	sessions *postgres.Sessions
	where    string // of Temporal
	space    string // its namespace
	queue    string // the task queue of the tenant
}

// Close ends both.
func (l *link) Close() {
	l.Client.Close()
	l.db.Close()
}

// withLink runs f with a connection to both.
func (c *cluster) withLink(ctx *cli.Context, f func(*link) error) error {
	l, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	return f(l)
}

// withRun runs f with a connection to both, and the id of the session that is named.
func (c *cluster) withRun(ctx *cli.Context, f func(*cli.Context, *link, string) error) error {
	id, err := id(ctx)
	if err != nil {
		return err
	}
	return c.withLink(ctx, func(l *link) error { return f(ctx, l, id) })
}

// connect connects to both; the caller closes them.
func (c *cluster) connect(ctx *cli.Context) (_ *link, err error) {
	l := &link{where: ctx.String("temporal"), space: ctx.String("namespace"), queue: queueOf(ctx.String("queue"), ctx.String("tenant"))}
	if _, _, err := net.SplitHostPort(l.where); err != nil {
		return nil, failure.Usage("--temporal %s: it is a host and a port, such as %s", term.Echoed(l.where), defaultTemporal)
	}
	if l.db, err = c.open(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.db.Close()
		}
	}()
	if l.sessions, err = l.db.Sessions(ctx.String("tenant")); err != nil {
		return nil, err
	}
	payloads, err := l.db.Payloads(ctx.String("tenant"))
	if err != nil {
		return nil, err
	}
	l.Client, err = c.dial(ctx.Context, l, payloads)
	return l, err
}

// queueOf is the task queue of a tenant: a worker keeps the sessions of one.
func queueOf(queue, tenant string) string {
	if tenant == defaultTenant {
		return queue
	}
	return queue + "/" + tenant
}

// dialWithin is how long a server may take to answer.
const dialWithin = 10 * time.Second

// dial connects to Temporal, and makes sure that the namespace is there.
func (c *cluster) dial(ctx context.Context, l *link, p temporal.Payloads) (client.Client, error) {
	limited, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	handler := unrecorded{slog.NewTextHandler(c.screen.Err, &slog.HandlerOptions{Level: slog.LevelError})}
	t, err := client.DialContext(limited, client.Options{
		HostPort: l.where, Namespace: l.space, Identity: identity(), Logger: sdklog.NewStructuredLogger(slog.New(handler)),
		ExternalStorage: temporal.Storage(p),
	})
	if err == nil {
		if _, err = t.WorkflowService().DescribeNamespace(limited, &workflowservice.DescribeNamespaceRequest{Namespace: l.space}); err == nil {
			return t, nil
		}
		t.Close()
	}
	var missing *serviceerror.NamespaceNotFound
	var denied *serviceerror.PermissionDenied
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &missing):
		return nil, failure.Config(fmt.Errorf("there is no namespace %q in Temporal at %s", term.Echoed(l.space), l.where)).
			WithHint("--namespace or MYLM_TEMPORAL_NAMESPACE names another. To make it: temporal operator namespace create " + term.ShellQuote(term.Echoed(l.space)))
	case errors.As(err, &denied):
		return nil, failure.Config(fmt.Errorf("access to the namespace %q is refused by Temporal at %s", term.Echoed(l.space), l.where))
	}
	return nil, &failure.Error{Code: failure.ExitUnreachable, Name: "unreachable", Err: fmt.Errorf("no Temporal answers at %s: %s", l.where, term.OneLine(err.Error(), 200)),
		Hint: "Is it running there? For a try on this machine: temporal server start-dev\n--temporal or MYLM_TEMPORAL names another address, the host and port of its frontend."}
}

// unrecorded logs what no session and no history has: not how activities fail.
type unrecorded struct{ slog.Handler }

// Handle implements slog.Handler.
func (u unrecorded) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "Activity error." {
		return nil
	}
	return u.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (u unrecorded) WithAttrs(attrs []slog.Attr) slog.Handler {
	return unrecorded{u.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (u unrecorded) WithGroup(name string) slog.Handler { return unrecorded{u.Handler.WithGroup(name)} }

// identity is how Temporal knows this process: with the version of the loop.
func identity() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s%d %d@%s", identityPrefix, loopVersion, os.Getpid(), host)
}

const identityPrefix = "mylm-loop/"
