package memory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrDimension is returned for a vector that is not as long as the others of
// its embedder: the model behind the name has changed.
var ErrDimension = errors.New("the vector has another length than those before it")

// putVectors stores the vectors that an embedder made of documents. All vectors of
// an embedder have the length of the first. The vector of a document that is gone
// or has another text by now is omitted, one that exists is replaced.
func (s *Store) putVectors(ctx context.Context, embedder string, documents []Document, vectors [][]float32) error {
	return s.update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO embedders (name, dimension, through) VALUES (?, ?, 0) ON CONFLICT DO NOTHING",
			embedder, len(vectors[0]))
		if err != nil {
			return err
		}
		var num, dimension int64
		if err := tx.QueryRowContext(ctx, "SELECT num, dimension FROM embedders WHERE name = ?", embedder).Scan(&num, &dimension); err != nil {
			return err
		}
		for i, v := range vectors {
			if int64(len(v)) != dimension || dimension == 0 {
				return fmt.Errorf("%w: %d instead of %d from %s; their model has changed", ErrDimension, len(v), dimension, embedder)
			}
			if err := s.putVector(ctx, tx, num, documents[i], v); err != nil {
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

// putVector stores the vector of a document whose text is still the same.
func (s *Store) putVector(ctx context.Context, tx *sql.Tx, embedder int64, d Document, vector []float32) error {
	if s.backend != nil {
		same, err := rows(ctx, tx, "id = ? AND text = ?", d.ID, d.Text)
		if err != nil || len(same) == 0 {
			return err
		}
		return s.backend.PutVector(ctx, tx, embedder, same[0].num, vector)
	}
	_, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO vectors (num, embedder, data)
		SELECT num, ?, ? FROM documents WHERE id = ? AND text = ?`, embedder, pack(vector), d.ID, d.Text)
	return err
}

// pack stores a vector as a byte for each number, the largest of which is 127. Only
// directions are compared, so that no scale is needed; a cosine is off by some
// thousandths, and a file of them is a quarter as large, and read as much faster.
func pack(v []float32) []byte {
	most := float32(math.SmallestNonzeroFloat32) // what divides zeros
	for _, x := range v {
		most = max(most, x, -x)
	}
	data := make([]byte, len(v))
	for i, x := range v {
		data[i] = byte(int8(math.Round(float64(x / most * 127))))
	}
	return data
}

// unpack reads a stored vector: a byte a number, or, of the versions before, a
// float32.
func unpack(v []float32, data []byte) error {
	switch len(data) {
	case len(v):
		for i := range v {
			v[i] = float32(int8(data[i]))
		}
	case 4 * len(v):
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
	default:
		return fmt.Errorf("%w: a vector has %d bytes for %d numbers", ErrDamaged, len(data), len(v))
	}
	return nil
}

// missing reads documents that have no vector of an embedder, the oldest
// first, at most limit of them.
func (s *Store) missing(ctx context.Context, embedder string, limit int) ([]Document, error) {
	return s.list(ctx, `num > coalesce((SELECT through FROM embedders WHERE name = ?1), 0) AND NOT EXISTS
		(SELECT 1 FROM vectors v JOIN embedders e ON e.num = v.embedder WHERE v.num = d.num AND e.name = ?1) ORDER BY num LIMIT ?2`, embedder, limit)
}

// Embedders are the names of those whose vectors the store has.
func (s *Store) Embedders(ctx context.Context) (names []string, err error) {
	err = s.read(ctx, func(tx *sql.Tx) (err error) {
		names, err = column[string](ctx, tx, "SELECT name FROM embedders ORDER BY name")
		return err
	})
	return names, err
}

// DropVectors deletes the vectors of embedders.
func (s *Store) DropVectors(ctx context.Context, embedders ...string) error {
	if len(embedders) == 0 {
		return nil
	}
	return s.update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM embedders WHERE name IN (SELECT value FROM json_each(?))", jsonList(embedders))
		return cmp.Or(err, changed(ctx, tx))
	})
}
