package memory

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// vector is what an embedder made of a document's text. If the document has
// another text by now, it is of no use.
type vector struct {
	id     string // of the document
	values []float32
	text   string
}

// ErrDimension is returned for a vector that is not as long as the others of
// its embedder: the model behind the name has changed.
var ErrDimension = errors.New("the vector has another length than those before it")

// putVectors stores vectors that an embedder made. All vectors of an embedder
// have the length of the first. A vector of a document that is gone is left
// out, one that is there is replaced.
func (s *Store) putVectors(ctx context.Context, embedder string, vectors ...vector) error {
	return s.update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO embedders (name, dimension, through) VALUES (?, ?, 0) ON CONFLICT DO NOTHING",
			embedder, len(vectors[0].values))
		if err != nil {
			return err
		}
		var num, dimension int
		if err := tx.QueryRowContext(ctx, "SELECT num, dimension FROM embedders WHERE name = ?", embedder).Scan(&num, &dimension); err != nil {
			return err
		}
		for _, v := range vectors {
			if len(v.values) != dimension || dimension == 0 {
				return fmt.Errorf("%w: %d instead of %d from %s; their model has changed", ErrDimension, len(v.values), dimension, embedder)
			}
			data := make([]byte, 0, 4*dimension)
			for _, x := range v.values {
				if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
					return fmt.Errorf("%s gave a vector for %s that is none: it holds %v", embedder, v.id, x)
				}
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
			}
			if _, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO vectors (num, embedder, data)
				SELECT num, ?, ? FROM documents WHERE id = ? AND text = ?`, num, data, v.id, v.text); err != nil {
				return err
			}
		}
		// Up to the document before the first that still has none.
		_, err = tx.ExecContext(ctx, `UPDATE embedders SET through = coalesce(
			(SELECT d.num - 1 FROM documents d WHERE d.num > embedders.through
				AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.num = d.num AND v.embedder = embedders.num) ORDER BY d.num LIMIT 1),
			(SELECT max(num) FROM documents), through) WHERE num = ?`, num)
		return err
	})
}

// missing reads documents that have no vector of an embedder, the oldest
// first, at most limit of them.
func (s *Store) missing(ctx context.Context, embedder string, limit int) ([]Document, error) {
	return s.list(ctx, `num > coalesce((SELECT through FROM embedders WHERE name = ?1), 0) AND NOT EXISTS
		(SELECT 1 FROM vectors v JOIN embedders e ON e.num = v.embedder WHERE v.num = d.num AND e.name = ?1) ORDER BY num LIMIT ?2`, embedder, limit)
}

// Embedders are the names of those whose vectors the store has.
func (s *Store) Embedders(ctx context.Context) (names []string, err error) {
	err = s.read(ctx, func(tx *sql.Tx) error {
		names = nil
		return each(ctx, tx, "SELECT name FROM embedders ORDER BY name", nil, func(scan func(...any) error) error {
			var name string
			err := scan(&name)
			names = append(names, name)
			return err
		})
	})
	return names, err
}

// DropVectors deletes the vectors of embedders.
func (s *Store) DropVectors(ctx context.Context, embedders ...string) error {
	return s.update(ctx, func(tx *sql.Tx) error {
		for _, name := range embedders {
			if _, err := tx.ExecContext(ctx, "DELETE FROM embedders WHERE name = ?", name); err != nil {
				return err
			}
		}
		return nil
	})
}
