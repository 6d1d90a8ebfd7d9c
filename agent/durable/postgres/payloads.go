package postgres

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Payloads are what a tenant's workflows keep outside their histories, each under a key
// that follows from it: see Storage in the package temporal. It is safe for concurrent
// use by any number of processes.
type Payloads struct {
	db     *DB
	tenant string
}

// Payloads returns those of a tenant. Nothing is read before they are used.
func (db *DB) Payloads(tenant string) (*Payloads, error) {
	return &Payloads{db, tenant}, checkTenant(tenant)
}

// Put keeps payloads, all or none. One that is there is as new.
func (p *Payloads) Put(ctx context.Context, all map[string][]byte) error {
	return p.db.inTenant(ctx, p.tenant, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		for _, key := range slices.Sorted(maps.Keys(all)) { // in one order, so that no two wait for each other
			batch.Queue("INSERT INTO payloads (key, data) VALUES ($1, $2) ON CONFLICT (tenant, key) DO UPDATE SET stored = now()", key, all[key])
		}
		return tx.SendBatch(ctx, batch).Close()
	})
}

// Get returns those of the payloads that are there.
func (p *Payloads) Get(ctx context.Context, keys []string) (map[string][]byte, error) {
	found := map[string][]byte{}
	err := p.db.inTenant(ctx, p.tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, "SELECT key, data FROM payloads WHERE key = ANY ($1)", keys)
		if err != nil {
			return err
		}
		var key string
		var data []byte
		_, err = pgx.ForEachRow(rows, []any{&key, &data}, func() error {
			found[key] = slices.Clone(data)
			return nil
		})
		return err
	})
	return found, err
}

// Expire deletes what was last put before a time, and returns how many those were. A
// payload is needed for as long as the history that names it: choose a time before any run
// began whose history is still there.
func (p *Payloads) Expire(ctx context.Context, before time.Time) (n int64, err error) {
	err = p.db.inTenant(ctx, p.tenant, func(tx pgx.Tx) error {
		gone, err := tx.Exec(ctx, "DELETE FROM payloads WHERE stored < $1", before)
		n = gone.RowsAffected()
		return err
	})
	return n, err
}
