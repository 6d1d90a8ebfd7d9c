package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pgvector/pgvector-go"

	"mylm/memory"
	"mylm/memory/lexical"
)

// Memory opens the memory of a tenant. Its documents are those that were added under
// the same name: another name has others. Options.Wait is how long to wait for other
// writers of the tenant.
func (db *DB) Memory(ctx context.Context, tenant string, o memory.Options) (*memory.Store, error) {
	if err := checkTenant(tenant); err != nil {
		return nil, err
	}
	wait := cmp.Or(max(0, o.Wait), 10*time.Second)
	store := sql.OpenDB(connector{stdlib.GetPoolConnector(db.pool), db.pool, tenant, wait})
	store.SetMaxIdleConns(0) // they go back to the pool, which all tenants share
	b := &backend{}
	tx, err := store.BeginTx(ctx, nil)
	if err == nil {
		_, err = tx.ExecContext(ctx, "INSERT INTO state DEFAULT VALUES ON CONFLICT DO NOTHING")
		err = cmp.Or(err, tx.Commit())
	}
	if err != nil {
		return nil, b.Explain(ctx, err)
	}
	return memory.OpenBackend(ctx, store, b, o)
}

func checkTenant(name string) error {
	if name == "" || len(name) > 200 || !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return fmt.Errorf("%w: %.40q has %d", ErrTenant, name, len(name))
	}
	return nil
}

// backend is what PostgreSQL does in its own way.
type backend struct{}

var _ memory.Backend = (*backend)(nil)

// Explain implements memory.Backend.
func (*backend) Explain(ctx context.Context, err error) error { return explain(ctx, err) }

// Size implements memory.Backend. It is that of all tenants.
func (*backend) Size(ctx context.Context, tx *sql.Tx) (n int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
		WHERE c.oid IN ('documents'::regclass, 'segments'::regclass, 'chunks'::regclass, 'vectors'::regclass)`).Scan(&n)
	return n, err
}

// PutVector implements memory.Backend. The first vector of a length makes the index of
// those: an HNSW index is of vectors of one length. To ask for one that is there with
// IF NOT EXISTS would wait for all who write vectors.
func (*backend) PutVector(ctx context.Context, tx *sql.Tx, embedder, document int64, vector []float32) error {
	if n := len(vector); n <= maxIndexed {
		var there bool
		if err := tx.QueryRowContext(ctx, "SELECT to_regclass(?) IS NOT NULL", fmt.Sprintf("vectors_hnsw_%d", n)).Scan(&there); err != nil {
			return err
		}
		if !there {
			// Two that make it at once would both fail to find it.
			if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('mylm.vectors', 0))"); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, fmt.Sprintf(`CREATE INDEX IF NOT EXISTS vectors_hnsw_%d ON vectors
				USING hnsw ((data::halfvec(%[1]d)) halfvec_cosine_ops) WHERE vector_dims(data) = %[1]d`, n)); err != nil {
				return err
			}
		}
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO vectors (num, embedder, data) VALUES (?, ?, ?)
		ON CONFLICT (embedder, num) DO UPDATE SET data = excluded.data`, document, embedder, half(vector))
	return err
}

// half is the direction of a vector, which is all that is compared: its length may be
// more, or less, than two bytes can say.
func half(vector []float32) pgvector.HalfVector {
	var sum float64
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	unit := slices.Clone(vector)
	for i, x := range unit {
		if sum > 0 {
			unit[i] = float32(float64(x) / math.Sqrt(sum))
		}
	}
	return pgvector.NewHalfVector(unit)
}

// maxIndexed is the longest vector that pgvector can index in this form.
const maxIndexed = 4000

// Similarities implements memory.Backend.
func (*backend) Similarities(ctx context.Context, tx *sql.Tx, embedder int64, vector []float32, documents []uint32) (map[uint32]float32, error) {
	found := map[uint32]float32{}
	rows, err := tx.QueryContext(ctx, "SELECT num, 1 - (data <=> ?) FROM vectors WHERE embedder = ? AND num = ANY(?)",
		pgvector.NewHalfVector(vector), embedder, numbers(documents))
	return found, scan(rows, err, func(document uint32, near float32) { found[document] = max(0, near) })
}

// numbers are a type that PostgreSQL has.
func numbers(documents []uint32) []int64 {
	all := make([]int64, len(documents))
	for i, n := range documents {
		all[i] = int64(n)
	}
	return all
}

// Nearest implements memory.Backend. It reads the index until it has k documents that
// the condition selects, and compares all that it selects where pgvector stops before.
func (*backend) Nearest(ctx context.Context, tx *sql.Tx, embedder int64, vector []float32, where string, args []any, k int) (hits []lexical.Hit, err error) {
	_, err = tx.ExecContext(ctx, "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', '100', true)")
	indexed := fmt.Sprintf("data::halfvec(%d)", len(vector)) // as the index has it
	for _, data := range []string{indexed, "data"} {
		if err != nil {
			return nil, err
		}
		found := 0
		hits = nil
		rows, failed := tx.QueryContext(ctx, nearest(data, len(vector), where), slices.Concat([]any{pgvector.NewHalfVector(vector), embedder}, args, []any{k})...)
		err = scan(rows, failed, func(document uint32, near float32) {
			found++
			if near > 0 {
				hits = append(hits, lexical.Hit{Doc: document, Similarity: near})
			}
		})
		if found == k {
			break
		}
	}
	return hits, err
}

// nearest is the statement of Nearest: its parameters are the vector, the embedder,
// those of the condition, and k. The index is used where it repeats what that is of.
func nearest(data string, dimension int, where string) string {
	return fmt.Sprintf(`SELECT num, 1 - distance FROM (
		SELECT num, %s <=> ? AS distance FROM vectors JOIN documents USING (tenant, num)
		WHERE vector_dims(data) = %d AND embedder = ? AND %s ORDER BY distance LIMIT ?) AS nearest ORDER BY distance, num`, data, dimension, where)
}

// scan calls f with rows of a document and how near it is. Zeros are near to nothing,
// and compare as no number.
func scan(rows *sql.Rows, err error, f func(document uint32, near float32)) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var document uint32
		var near float64
		if err := rows.Scan(&document, &near); err != nil {
			return err
		}
		if !math.IsNaN(near) {
			f(document, float32(near))
		}
	}
	return rows.Err()
}
