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
	"strconv"
	"sync/atomic"

	"github.com/philippgille/chromem-go"

	"mylm/memory/lexical"
)

// dense is the embedder of a store, and whom to tell what goes wrong with it.
type dense struct {
	embedder Embedder
	tell     func(error)
	silent   atomic.Bool // it did not answer a question in time, and is not asked again
}

func (d *dense) warn(err error) {
	if d.tell != nil {
		d.tell(err)
	}
}

// nearest compares a question's vector with those of documents, within the
// transaction of one search. The file holds the vectors; those that the search
// compares, the candidates that words found or the nearest of a scan, become a
// collection of chromem-go's, which orders them by similarity.
//
// Of chromem-go's database only collections in memory are used: a crash damages
// its files. A vector of another length would make every query fail, and one of
// zeros would be divided by its length; neither is added.
type nearest struct {
	tx       *sql.Tx
	embedder int64 // in the file
	vector   []float32
}

// similar is a document and how near it is to the question: the cosine, at most 1.
type similar struct {
	doc        uint32
	similarity float32
}

// nearest returns nil where there is nothing to compare. What goes wrong with
// vectors does not end a search, unless the file is damaged.
func (s *Store) nearest(ctx context.Context, tx *sql.Tx, d *dense, vector []float32) (*nearest, error) {
	if d == nil {
		return nil, nil
	}
	n := &nearest{tx: tx, vector: slices.Clone(vector)}
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
	case !normalise(n.vector): // without a direction nothing is near
		return nil, nil
	}
	return n, nil
}

// similarities compares documents that words found.
func (n *nearest) similarities(ctx context.Context, docs []uint32) (map[uint32]float32, error) {
	found := map[uint32]float32{}
	all, err := n.rank(ctx, docs)
	for _, s := range all {
		found[s.doc] = s.similarity
	}
	return found, err
}

const collectionName = "memory"

// unasked is never called: every document and question comes with its vector.
// Without a function of ours chromem-go would send texts to a company.
func unasked(context.Context, string) ([]float32, error) {
	return nil, errors.New("chromem-go asked for a vector that it should have been given")
}

// rank orders documents by how near they are, those without a vector left out.
func (n *nearest) rank(ctx context.Context, docs []uint32) ([]similar, error) {
	collection, err := chromem.NewDB().CreateCollection(collectionName, nil, unasked)
	if err != nil {
		return nil, err
	}
	list, err := json.Marshal(docs)
	if err != nil {
		return nil, err
	}
	err = each(ctx, n.tx, `SELECT v.num, v.data FROM json_each(?) AS wanted
		CROSS JOIN vectors v ON v.embedder = ? AND v.num = wanted.value`, []any{string(list), n.embedder}, func(scan func(...any) error) error {
		var id string
		var data sql.RawBytes
		values := make([]float32, len(n.vector))
		err := scan(&id, &data)
		if err == nil {
			err = unpack(values, data)
		}
		if err != nil || !normalise(values) {
			return err
		}
		return collection.AddDocument(ctx, chromem.Document{ID: id, Embedding: values})
	})
	if err != nil || collection.Count() == 0 {
		return nil, err
	}
	results, err := collection.QueryEmbedding(ctx, n.vector, collection.Count(), nil, nil)
	if err := cmp.Or(ctx.Err(), err); err != nil { // a query that is cancelled returns what it has
		return nil, err
	}
	var all []similar
	for _, r := range results {
		doc, err := strconv.ParseUint(r.ID, 10, 32)
		if err != nil {
			return nil, err
		}
		if r.Similarity > 0 {
			all = append(all, similar{uint32(doc), r.Similarity})
		}
	}
	slices.SortFunc(all, nearer)
	return all, nil
}

// nearer puts the nearer first, and of equally near ones that which was added first.
func nearer(a, b similar) int {
	return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(a.doc, b.doc))
}

// scan finds the k nearest documents of all that the query may find. It reads the
// vectors once, one by one, so that a million of them need no more memory than
// k: chromem-go would hold them all, and takes several times as long.
func (n *nearest) scan(ctx context.Context, v *view, q lexical.Query, k int) ([]similar, error) {
	var best []similar // in order
	values := make([]float32, len(n.vector))
	var data sql.RawBytes
	err := each(ctx, n.tx, "SELECT num, data FROM vectors NOT INDEXED WHERE embedder = ?", []any{n.embedder}, func(scan func(...any) error) error {
		var doc uint32
		if err := scan(&doc, &data); err != nil || int(doc) >= len(v.facts.Docs) || !q.Selects(v.facts, doc) {
			return err
		}
		if err := unpack(values, data); err != nil {
			return err
		}
		s := similar{doc, n.cosine(values)}
		if s.similarity <= 0 || len(best) == k && nearer(s, best[k-1]) > 0 {
			return nil
		}
		at, _ := slices.BinarySearchFunc(best, s, nearer)
		best = slices.Insert(best, at, s)
		best = best[:min(k, len(best))]
		return nil
	})
	if err := cmp.Or(err, ctx.Err()); err != nil || len(best) == 0 {
		return nil, err
	}
	docs := make([]uint32, len(best))
	for i, s := range best {
		docs[i] = s.doc
	}
	return n.rank(ctx, docs)
}

// fill adds the nearest documents behind those that words found, up to k.
func (n *nearest) fill(ctx context.Context, v *view, q lexical.Query, found []lexical.Hit, k int) ([]lexical.Hit, error) {
	near, err := n.scan(ctx, v, q, k)
	for _, s := range near {
		if len(found) < k && !slices.ContainsFunc(found, func(h lexical.Hit) bool { return h.Doc == s.doc }) {
			found = append(found, lexical.Hit{Doc: s.doc, Similarity: s.similarity})
		}
	}
	return found, err
}

// cosine compares a vector with the question's, which has length 1.
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
	length := math.Sqrt(float64(square) + float64(square2))
	if length == 0 || math.IsInf(length, 0) || math.IsNaN(length) {
		return 0
	}
	return float32((float64(dot) + float64(dot2)) / length)
}

// normalise makes a vector's length 1, exactly enough that chromem-go does not
// make another copy. It reports whether there is a direction.
func normalise(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if length == 0 || math.IsInf(length, 0) || math.IsNaN(length) {
		return false
	}
	if math.Abs(length-1) < 1e-7 {
		return true
	}
	for i, x := range v {
		v[i] = float32(float64(x) / length)
	}
	return true
}
