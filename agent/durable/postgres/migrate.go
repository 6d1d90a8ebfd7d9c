package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// versions is the table that says which migrations were made.
const versions = "mylm_migrations"

// latest is the version of the schema that this program works with: there is a file for
// each.
func latest() int64 {
	files, _ := fs.ReadDir(migrations, "migrations") // embedded
	return int64(len(files))
}

// Migrate brings the schema of a database to this program's version, and returns how
// many versions it went through. Several programs may do it at once: they take turns. A
// schema that is newer is ErrNewer and stays. The role becomes the owner of the tables.
// To create the extension vector takes a superuser, unless it is there.
func Migrate(ctx context.Context, address string) (int, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return 0, unread(err)
	}
	if err := misread(config); err != nil {
		return 0, err
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	if err := db.PingContext(ctx); err != nil {
		return 0, explain(ctx, err)
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return 0, err
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 600)) // seconds, times: ten minutes
	if err != nil {
		return 0, err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker), goose.WithTableName(versions),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return 0, err
	}
	made, err := provider.Up(ctx)
	if err != nil {
		var there bool
		asked := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector')").Scan(&there)
		if asked == nil && !there {
			return len(made), fmt.Errorf("%w: %w", ErrNoVector, err)
		}
		return len(made), explain(ctx, err)
	}
	version, err := provider.GetDBVersion(ctx)
	if err != nil {
		return len(made), explain(ctx, err)
	}
	return len(made), compare(version)
}
