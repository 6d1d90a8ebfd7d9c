package postgres

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Payloads are what a tenant's workflows keep outside their histories, each under a key
// that follows from it: see Storage in the package temporal. It is safe for concurrent
// use by any number of processes.
type Payloads struct {
	db     *DB
	tenant string
	recent cache
}

// Payloads returns those of a tenant. Nothing is read before they are used.
func (db *DB) Payloads(tenant string) (*Payloads, error) {
	return &Payloads{db: db, tenant: tenant}, checkTenant(tenant)
}

// Put keeps payloads, all or none. One that is there is as new. They are not to be changed
// later, and neither are those that Get returns.
func (p *Payloads) Put(ctx context.Context, all map[string][]byte) error {
	queue := func(batch *pgx.Batch) {
		for _, key := range slices.Sorted(maps.Keys(all)) { // in one order, so that no two wait for each other
			batch.Queue("INSERT INTO payloads (key, data) VALUES ($1, $2) ON CONFLICT (tenant, key) DO UPDATE SET stored = now()", key, all[key])
		}
	}
	err := p.db.send(ctx, p.tenant, queue)
	if temporary(ctx, err) { // to put them twice does no harm
		err = p.db.inTenant(ctx, p.tenant, func(tx pgx.Tx) error {
			batch := &pgx.Batch{}
			queue(batch)
			return tx.SendBatch(ctx, batch).Close()
		})
	}
	if err == nil {
		p.recent.add(all)
	}
	return err
}

// Get returns those of the payloads that are there. One that was not put or read for half a
// day is as new: a history that is read again may be that of a run which began later, as
// where a workflow was reset. Those that this process has put or read in the last hour or so
// it has itself.
func (p *Payloads) Get(ctx context.Context, keys []string) (map[string][]byte, error) {
	found, keys := p.recent.find(keys)
	if len(keys) == 0 {
		return found, nil
	}
	read := map[string][]byte{}
	err := p.db.inTenant(ctx, p.tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, "SELECT key, data, stored < now() - interval '12 hours' FROM payloads WHERE key = ANY ($1)", keys)
		if err != nil {
			return err
		}
		var key string
		var data []byte
		var aged bool
		var old []string
		_, err = pgx.ForEachRow(rows, []any{&key, &data, &aged}, func() error {
			read[key] = slices.Clone(data)
			if aged {
				old = append(old, key)
			}
			return nil
		})
		if err != nil || len(old) == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE payloads SET stored = now() WHERE key IN
			(SELECT key FROM payloads WHERE key = ANY ($1) ORDER BY key FOR UPDATE SKIP LOCKED)`, old) // who holds one makes it new
		return err
	})
	if err == nil {
		p.recent.add(read)
	}
	maps.Copy(found, read)
	return found, err
}

// cache has the payloads that were put or read last, the newer ones and those before: the
// worker that puts one reads it next, and once more when the history has it.
type cache struct {
	mu         sync.Mutex
	newer, old map[string][]byte
	size       int // of the newer ones
	since      time.Time
}

// Where one of these is reached, the newer ones become the old ones.
const (
	cacheSize = 8 << 20 // bytes
	cacheTime = 30 * time.Minute
)

func (c *cache) add(all map[string][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rotate()
	for key, data := range all {
		c.newer[key] = data
		c.size += len(data)
	}
}

// find returns those that are there, and the keys of the others.
func (c *cache) find(keys []string) (found map[string][]byte, missing []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rotate()
	found = map[string][]byte{}
	for _, key := range keys {
		if data, ok := c.newer[key]; ok {
			found[key] = data
		} else if data, ok := c.old[key]; ok {
			found[key] = data
		} else {
			missing = append(missing, key)
		}
	}
	return found, missing
}

func (c *cache) rotate() {
	age := time.Since(c.since)
	if age < cacheTime && c.size < cacheSize {
		return
	}
	if c.old = c.newer; age > 2*cacheTime {
		c.old = nil
	}
	c.newer, c.size, c.since = map[string][]byte{}, 0, time.Now()
}

func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newer, c.old, c.size, c.since = nil, nil, 0, time.Time{}
}

// batch is how many payloads are deleted at once.
const batch = 1000

// Expire deletes what was last put or read before a time, and returns how many those were.
// A payload is needed for as long as the history that names it: choose a time before any
// run began whose history is still there. Where another process does it, nothing is done.
func (p *Payloads) Expire(ctx context.Context, before time.Time) (n int64, err error) {
	p.recent.clear()
	for more := true; more && err == nil; {
		err = p.db.inTenant(ctx, p.tenant, func(tx pgx.Tx) error {
			var ours bool
			err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock(hashtextextended('mylm.expire ' || $1, 0))", p.tenant).Scan(&ours)
			if more = ours; err != nil || !ours {
				return err
			}
			gone, err := tx.Exec(ctx, `DELETE FROM payloads WHERE key IN
				(SELECT key FROM payloads WHERE stored < $1 ORDER BY stored LIMIT $2 FOR UPDATE SKIP LOCKED)`, before, batch)
			n, more = n+gone.RowsAffected(), gone.RowsAffected() == batch
			return err
		})
	}
	return n, err
}
