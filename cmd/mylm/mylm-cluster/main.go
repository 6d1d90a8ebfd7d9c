package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"mylm/agent/durable/postgres"
	"mylm/agent/journal"
	"mylm/memory"
)

func main() { os.Exit(program(os.Args, os.Stdin, os.Stdout, os.Stderr)) }

// The exit codes; the package comment has the table.
const (
	exitError       = 1
	exitUsage       = 2
	exitUnreachable = 3
	exitInterrupted = 130
)

// errUsage is a fault in the command line.
var errUsage = errors.New("")

func usage(format string, args ...any) error {
	return fmt.Errorf(format+"%w", append(args, errUsage)...)
}

// program runs the command and returns the exit code.
func program(args []string, in io.Reader, out, messages io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second one ends the program at once
	app := newApp(in, out, messages)
	err := app.RunContext(ctx, hoisted(app.Commands, args))
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(messages, "mylm-cluster: interrupted")
		return exitInterrupted
	}
	hint, code := explain(err)
	fmt.Fprintf(messages, "mylm-cluster: %s\n", printable(err.Error()))
	for line := range strings.Lines(hint) {
		fmt.Fprintf(messages, "  %s\n", strings.TrimSuffix(line, "\n"))
	}
	return code
}

func newApp(in io.Reader, out, messages io.Writer) *cli.App {
	c := &cluster{in: in, out: out, messages: messages}
	app := &cli.App{
		Name: "mylm-cluster", Usage: "one memory and one record of sessions for many machines",
		Writer: out, ErrWriter: messages, HideVersion: true,
		Commands: []*cli.Command{
			c.command("migrate", "make the tables, or bring them to this version", "", c.migrate),
			{Name: "memory", Usage: "move, search and list what is remembered", Subcommands: []*cli.Command{
				c.command("import", "add what mylm memory export wrote", "[FILE]", c.importMemory),
				c.command("export", "write memories as JSON Lines to stdout", "", c.exportMemory),
				c.command("search", "search the memory", "WORDS...", c.searchMemory, append(filterFlags(), limitFlag(5), jsonFlag())...),
				c.command("list", "list what is remembered, the newest first", "", c.listMemory, append(filterFlags(), limitFlag(20), jsonFlag())...),
			}},
			c.command("list", "list sessions, the last changed first", "", c.listSessions, limitFlag(20), jsonFlag()),
			c.command("show", "print a session", "ID", c.showSession, jsonFlag()),
		},
		ExitErrHandler: func(*cli.Context, error) {}, // program reports it
	}
	unknown := func(ctx *cli.Context) error {
		if name := ctx.Args().First(); name != "" {
			return usage("there is no command %q", name)
		}
		return cli.ShowSubcommandHelp(ctx)
	}
	app.Action, app.Commands[1].Action = unknown, unknown
	app.OnUsageError = faultyFlag
	app.Commands[1].OnUsageError = faultyFlag
	return app
}

func faultyFlag(_ *cli.Context, err error, _ bool) error { return usage("%w", err) }

// command is a command of its own line in the help.
func (c *cluster) command(name, use, args string, run func(*cli.Context) error, flags ...cli.Flag) *cli.Command {
	return &cli.Command{Name: name, Usage: use, ArgsUsage: args, OnUsageError: faultyFlag, Action: run, Flags: append([]cli.Flag{
		&cli.StringFlag{Name: "database", EnvVars: []string{"MYLM_DATABASE"}, Usage: "`ADDRESS` of the database, as psql takes it; what is left out comes from PGHOST, PGPASSWORD and the like"},
		&cli.StringFlag{Name: "tenant", EnvVars: []string{"MYLM_TENANT"}, Usage: "`NAME` of whom memory and sessions belong to", Value: "default"},
	}, flags...)}
}

func jsonFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "print JSON"} }

func limitFlag(n int) cli.Flag {
	return &cli.IntFlag{Name: "limit", Aliases: []string{"n"}, Usage: "maximum number shown", Value: n, Action: func(_ *cli.Context, n int) error {
		if n < 1 {
			return usage("--limit %d: it is at least 1", n)
		}
		return nil
	}}
}

func filterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "project", Usage: "only of this `PROJECT` (repeatable)"},
		&cli.StringSliceFlag{Name: "session", Usage: "only of this session `ID` (repeatable)"},
	}
}

// hoisted puts the flags of a command before its other arguments: behind the first of
// those urfave/cli takes flags for arguments.
func hoisted(commands []*cli.Command, args []string) []string {
	at := 1
	var flags []cli.Flag
	for at < len(args) {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.Name == args[at] })
		if i < 0 {
			break
		}
		flags, commands = commands[i].Flags, commands[i].Subcommands
		at++
	}
	front, rest := slices.Clone(args[:at]), []string{}
	for ; at < len(args); at++ {
		name := strings.TrimLeft(args[at], "-")
		switch {
		case args[at] == "--":
			return append(append(append(front, "--"), rest...), args[at+1:]...)
		case name == args[at] || name == "": // a word, or stdin
			rest = append(rest, args[at])
		default:
			front = append(front, args[at])
			takes := slices.IndexFunc(flags, func(f cli.Flag) bool {
				_, alone := f.(*cli.BoolFlag)
				return !alone && slices.Contains(f.Names(), name)
			})
			if takes >= 0 && at+1 < len(args) {
				at++
				front = append(front, args[at])
			}
		}
	}
	return append(front, rest...)
}

// explain says what a person can do about an error, and the exit code.
func explain(err error) (hint string, code int) {
	for _, row := range []struct {
		is   error
		hint string
		code int
	}{
		{errUsage, "mylm-cluster help lists the commands, mylm-cluster COMMAND --help its flags.", exitUsage},
		{postgres.ErrAddress, "Write it like postgres://mylm@db.example:5432/mylm, or host=/run/postgresql dbname=mylm, in --database or MYLM_DATABASE.", exitUsage},
		{postgres.ErrUnreachable, "Is the server running there, and does it listen to this machine?\n--database or MYLM_DATABASE names another.", exitUnreachable},
		{postgres.ErrPassword, "Set PGPASSWORD, or put the password into ~/.pgpass. The address names the role: postgres://ROLE@HOST/DATABASE.", exitUsage},
		{postgres.ErrNoDatabase, "Make it as a superuser: CREATE DATABASE mylm OWNER mylm;", exitUsage},
		{postgres.ErrOlder, "Bring it to this version: mylm-cluster migrate", exitUsage},
		{postgres.ErrNewer, "Install the newer mylm-cluster again: all that use a database have one version.", exitUsage},
		{memory.ErrNewer, "Install the newer mylm-cluster again: all that use a database have one version.", exitUsage},
		{postgres.ErrPrivileged, "Use a role of its own, which owns the database: CREATE ROLE mylm LOGIN PASSWORD '…';", exitUsage},
		{postgres.ErrNoVector, "Make it as a superuser, in this database: CREATE EXTENSION vector;\nWhere that fails, install pgvector for this PostgreSQL (0.8 or later).", exitUsage},
		{postgres.ErrTenant, "Name another with --tenant or MYLM_TENANT.", exitUsage},
		{memory.ErrBusy, "Another process is writing for this tenant; try again in a moment.", exitError},
		{memory.ErrEmpty, "It reads what mylm memory export writes.", exitUsage},
		{journal.ErrNotFound, "mylm-cluster list lists the sessions of a tenant.", exitUsage},
	} {
		if errors.Is(err, row.is) {
			return row.hint, row.code
		}
	}
	return "", exitError
}

// cluster is what the commands work with.
type cluster struct {
	in            io.Reader
	out, messages io.Writer
}

// address is that of the database. Everybody on the machine can read a command line.
func address(ctx *cli.Context) (string, error) {
	given := ctx.String("database")
	secret := strings.Contains(given, "password=")
	if u, err := url.Parse(given); err == nil && u.User != nil {
		_, set := u.User.Password()
		secret = secret || set
	}
	if secret && given != os.Getenv("MYLM_DATABASE") {
		return "", usage("--database has a password in it, which everybody on this machine can read: put it into PGPASSWORD, ~/.pgpass or MYLM_DATABASE")
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
	if ctx.NArg() > 0 {
		return usage("migrate takes no arguments")
	}
	where, err := address(ctx)
	if err != nil {
		return err
	}
	n, err := postgres.Migrate(ctx.Context, where)
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintln(c.messages, "the schema is up to date")
	} else {
		fmt.Fprintf(c.messages, "the schema is up to date, after %d migrations\n", n)
	}
	return nil
}
