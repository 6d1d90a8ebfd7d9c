package main

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"go.temporal.io/sdk/client"

	"mylm/agent/durable/postgres"
	"mylm/agent/durable/temporal"
	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
)

// databaseVariable is the variable with the address of the database.
const databaseVariable = "MYLM_DATABASE"

// loopVersion is that of the loop in a workflow. It grows when histories of runs that are
// under way would no longer run again, since the test of the recorded histories in
// agent/durable/temporal fails, or when earlier workers cannot run the new ones again.
// Workers of one queue have the same.
const loopVersion = 6

// The groups of flags in the help.
const (
	ofCluster = "Database and Temporal"
	ofRun     = "Run"
)

// databaseFlags name the database and whose part of it is meant.
func databaseFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Category: ofCluster, Name: "database", EnvVars: []string{databaseVariable}, Usage: "`ADDRESS` of the database, as psql takes it; what is left out comes from PGHOST, PGPASSWORD and the like"},
		&cli.StringFlag{Category: ofCluster, Name: "tenant", EnvVars: []string{"MYLM_TENANT"}, Usage: "tenant `NAME`, whose memory, sessions and runs these are", Value: defaultTenant},
		cmdline.Int(&cli.IntFlag{Category: ofCluster, Name: "connections", EnvVars: []string{"MYLM_DATABASE_CONNECTIONS"}, Usage: "maximum `NUMBER` of connections to the database", Value: 4}, 2, 0),
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
		&cli.StringFlag{Category: ofCluster, Name: "temporal", EnvVars: []string{"MYLM_TEMPORAL"}, Usage: "`HOST:PORT` of Temporal; what is left out, TLS and an API key come from TEMPORAL_ADDRESS, TEMPORAL_API_KEY and the like", DefaultText: defaultTemporal},
		&cli.StringFlag{Category: ofCluster, Name: "namespace", EnvVars: []string{"MYLM_TEMPORAL_NAMESPACE"}, Usage: "`NAME` of Temporal's namespace", DefaultText: client.DefaultNamespace},
		&cli.StringFlag{Category: ofCluster, Name: "queue", EnvVars: []string{"MYLM_TASK_QUEUE"}, Usage: "take runs from, and put them into, the task queue `NAME`/TENANT", Value: "mylm"},
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
	if strings.Contains(given, "pool_max_conns=") { // pgx's own word, which the server does not know
		return "", failure.Usage("--connections says how many connections there may be, and not the address: leave pool_max_conns out of it")
	}
	return given, nil
}

// open connects to the database; the caller closes it.
func (c *cluster) open(ctx *cli.Context) (*postgres.DB, error) {
	where, err := address(ctx)
	if err != nil {
		return nil, err
	}
	return postgres.Open(ctx.Context, pooled(where, ctx.Int("connections")))
}

// pooled is an address with the maximum number of connections, which else grows with the
// cores of a machine.
func pooled(address string, n int) string {
	most := fmt.Sprintf("pool_max_conns=%d", n)
	switch {
	case !strings.Contains(address, "://"):
		return strings.TrimSpace(address + " " + most)
	case strings.Contains(address, "?"):
		return address + "&" + most
	}
	return address + "?" + most
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
	tenant   string
}

// workflow is the workflow of a session: two tenants may have one of the same id, which has
// no / in it.
func (l *link) workflow(session string) string { return l.tenant + "/" + session }

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
	options, err := dialOptions(ctx)
	if err != nil {
		return nil, err
	}
	l := &link{where: options.HostPort, space: options.Namespace, queue: queueOf(ctx.String("queue"), ctx.String("tenant")), tenant: ctx.String("tenant")}
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
	options.ExternalStorage = temporal.Storage(payloads)
	l.Client, err = c.dial(ctx.Context, options)
	return l, err
}

// queueOf is the task queue of a tenant: a worker keeps the sessions of one.
func queueOf(queue, tenant string) string { return queue + "/" + tenant }

// toolQueue is the task queue of the workers that call tools for runs of a queue. It is
// none of another tenant, whatever that is called.
func toolQueue(queue string) string { return "tools:" + queue }
