package memory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"mylm/memory/lexical"
)

// dense is the embedder of a store, and whom to tell what goes wrong with it.
type dense struct {
	embedder Embedder
	warn     func(error)
	silent   atomic.Bool // it did not answer a question in time, and is not asked again
}

// nearest compares a question's vector with those of documents, within the
// transaction of one search.
type nearest struct {
	tx       *sql.Tx
	embedder int64 // in the file
	vector   []float32
	length   float64
}

// nearest returns nil where there is nothing to compare. What goes wrong with
// vectors does not end a search, unless the file is damaged.
func (s *Store) nearest(ctx context.Context, tx *sql.Tx, d *dense, vector []float32) (*nearest, error) {
	if d == nil {
		return nil, nil
	}
	n := &nearest{tx: tx, vector: vector}
	dimension := 0
	err := tx.QueryRowContext(ctx, "SELECT num, dimension FROM embedders WHERE name = ?", d.embedder.Name()).Scan(&n.embedder, &dimension)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	case len(vector) != dimension:
		d.warn(fmt.Errorf("searched by words alone: %w: %d numbers for the question, %d for documents of %s",
			ErrDimension, len(vector), dimension, d.embedder.Name()))
		return nil, nil
	}
	for _, x := range vector {
		n.length += float64(x) * float64(x)
	}
	n.length = math.Sqrt(n.length)
	return n, nil
}

// similarities compares documents that words found, those without a vector left
// out.
func (n *nearest) similarities(ctx context.Context, docs []uint32) (map[uint32]float32, error) {
	list, _ := json.Marshal(docs) // numbers never fail
	found := map[uint32]float32{}
	return found, n.compare(ctx, `SELECT v.num, v.data FROM json_each(?2) AS wanted
		CROSS JOIN vectors v ON v.embedder = ?1 AND v.num = wanted.value`, func(doc uint32, near float32) {
		if near > 0 { // nor NaN
			found[doc] = near
		}
	}, string(list))
}

// compare calls f with each document of a query and its similarity.
func (n *nearest) compare(ctx context.Context, query string, f func(doc uint32, near float32), args ...any) error {
	values := make([]float32, len(n.vector))
	var doc uint32
	var data sql.RawBytes
	return each(ctx, n.tx, query, append([]any{n.embedder}, args...), func(scan func(...any) error) error {
		err := scan(&doc, &data)
		if err == nil {
			err = unpack(values, data)
		}
		if err == nil {
			f(doc, n.cosine(values))
		}
		return err
	})
}

// fill adds the nearest of all documents that the query may find to those that
// words found, up to k. It reads the vectors once, one by one, so that a million of
// them need no more memory than k: chromem-go would hold them all, and takes
// several times as long.
func (n *nearest) fill(ctx context.Context, v *view, q lexical.Query, found []lexical.Hit, k int) ([]lexical.Hit, error) {
	nearer := func(a, b lexical.Hit) int { // of equally near ones, the one that was added first
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.Doc, b.Doc))
	}
	var best []lexical.Hit // in order
	err := n.compare(ctx, "SELECT num, data FROM vectors NOT INDEXED WHERE embedder = ?", func(doc uint32, near float32) {
		h := lexical.Hit{Doc: doc, Similarity: near}
		if near > 0 && (len(best) < k || nearer(h, best[k-1]) < 0) && int(doc) < len(v.facts.Docs) && q.Selects(v.facts, doc) {
			at, _ := slices.BinarySearchFunc(best, h, nearer)
			best = slices.Insert(best, at, h)
			best = best[:min(k, len(best))]
		}
	})
	for _, h := range best {
		if len(found) < k && !slices.ContainsFunc(found, func(f lexical.Hit) bool { return f.Doc == h.Doc }) {
			found = append(found, h)
		}
	}
	return found, cmp.Or(err, ctx.Err())
}

// cosine compares a vector with the question's. It is NaN if one of them points
// nowhere.
func (n *nearest) cosine(values []float32) float32 {
	var dot, square, dot2, square2 float32 // two sums each, which a processor adds up side by side
	i := 0
	for ; i+2 <= len(values); i += 2 {
		x, y := values[i:i+2:i+2], n.vector[i:i+2:i+2]
		dot, dot2 = dot+x[0]*y[0], dot2+x[1]*y[1]
		square, square2 = square+x[0]*x[0], square2+x[1]*x[1]
	}
	if i < len(values) {
		dot, square = dot+values[i]*n.vector[i], square+values[i]*values[i]
	}
	return float32((float64(dot) + float64(dot2)) / (math.Sqrt(float64(square)+float64(square2)) * n.length))
}
