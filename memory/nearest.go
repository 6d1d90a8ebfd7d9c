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
	warn     func(error)
	silent   atomic.Bool // it did not answer a question in time, and is not asked again
}

// nearest compares a question's vector with those of documents, within the
// transaction of one search. The file holds the vectors; those of the candidates
// that words found become a collection of chromem-go's, which compares them.
//
// Of chromem-go's database only collections in memory are used: a crash damages
// its files. A vector of another length would make every query fail, and one of
// zeros would be divided by its length; neither is added.
type nearest struct {
	*view
	embedder int64 // in the file
	vector   []float32
}

// nearest returns nil where there is nothing to compare. What goes wrong with vectors
// does not end a search, unless the file is damaged.
func (v *view) nearest(ctx context.Context, d *dense, vector []float32) (*nearest, error) {
	if d == nil {
		return nil, nil
	}
	n := &nearest{view: v, vector: slices.Clone(vector)}
	dimension := 0
	err := v.tx.QueryRowContext(ctx, "SELECT num, dimension FROM embedders WHERE name = ?", d.embedder.Name()).Scan(&n.embedder, &dimension)
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

const collectionName = "memory"

// unasked is never called: every document and question comes with its vector.
// Without a function of ours chromem-go would send texts to a company.
func unasked(context.Context, string) ([]float32, error) {
	return nil, errors.New("chromem-go asked for a vector that it should have been given")
}

// similarities compares documents that words found, those without a vector left
// out.
func (n *nearest) similarities(ctx context.Context, docs []uint32) (map[uint32]float32, error) {
	if n.backend != nil {
		return n.backend.Similarities(ctx, n.tx, n.embedder, n.vector, docs)
	}
	collection, err := chromem.NewDB().CreateCollection(collectionName, nil, unasked)
	if err != nil {
		return nil, err
	}
	err = n.vectors(ctx, docs, func(doc uint32, data []byte) error {
		values := make([]float32, len(n.vector))
		if err := unpack(values, data); err != nil || !normalise(values) {
			return err
		}
		return collection.AddDocument(ctx, chromem.Document{ID: strconv.FormatUint(uint64(doc), 10), Embedding: values})
	})
	if err != nil || collection.Count() == 0 {
		return nil, err
	}
	results, err := collection.QueryEmbedding(ctx, n.vector, collection.Count(), nil, nil)
	if err := cmp.Or(ctx.Err(), err); err != nil { // a query that is cancelled returns what it has
		return nil, err
	}
	found := map[uint32]float32{}
	for _, r := range results {
		doc, _ := strconv.ParseUint(r.ID, 10, 32) // it was a number above
		found[uint32(doc)] = max(0, r.Similarity)
	}
	return found, nil
}

// fill adds the nearest of all documents that the query may find to those that
// words found, up to k.
func (n *nearest) fill(ctx context.Context, q Query, numbered lexical.Query, found []lexical.Hit, k int) ([]lexical.Hit, error) {
	var best []lexical.Hit
	var err error
	if n.backend != nil {
		where, args := Filter{Projects: q.Projects, Sessions: q.Sessions, Kinds: q.Kinds, After: q.After, Before: q.Before}.where()
		if !q.History {
			where += " AND superseded_by IS NULL"
		}
		best, err = n.backend.Nearest(ctx, n.tx, n.embedder, n.vector, where, args, k)
	} else {
		best, err = n.best(ctx, numbered, k)
	}
	for _, h := range best {
		if len(found) < k && !slices.ContainsFunc(found, func(f lexical.Hit) bool { return f.Doc == h.Doc }) {
			found = append(found, h)
		}
	}
	return found, cmp.Or(err, ctx.Err())
}

// best returns the k documents nearest to the question. It reads the vectors one by
// one, so that a million of them need no more memory than k: chromem-go takes several
// times as long, and four times the space.
func (n *nearest) best(ctx context.Context, q lexical.Query, k int) ([]lexical.Hit, error) {
	nearer := func(a, b lexical.Hit) int { // of equally near ones, the one that was added first
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.Doc, b.Doc))
	}
	var best []lexical.Hit // in order
	values := make([]float32, len(n.vector))
	err := n.vectors(ctx, nil, func(doc uint32, data []byte) error {
		if !q.Selects(n.facts, doc) {
			return nil
		}
		if err := unpack(values, data); err != nil {
			return err
		}
		h := lexical.Hit{Doc: doc}
		if h.Similarity = n.cosine(values); h.Similarity > 0 && (len(best) < k || nearer(h, best[k-1]) < 0) {
			at, _ := slices.BinarySearchFunc(best, h, nearer)
			best = slices.Insert(best, at, h)
			best = best[:min(k, len(best))]
		}
		return nil
	})
	return best, err
}

// cosine compares a vector with the question's, which has length 1. It is not a number
// for one that points nowhere.
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
	return float32((float64(dot) + float64(dot2)) / math.Sqrt(float64(square)+float64(square2)))
}

// normalise makes a vector's length 1. It reports whether there is a direction.
func normalise(v []float32) bool {
	squares := 0.0
	for _, x := range v {
		squares += float64(x) * float64(x)
	}
	length := math.Sqrt(squares)
	for i, x := range v {
		v[i] = float32(float64(x) / length)
	}
	return length > 0 && finite(v)
}

// vectors calls f with those of some documents, or of all if some is nil.
func (n *nearest) vectors(ctx context.Context, some []uint32, f func(doc uint32, data []byte) error) error {
	query, args := "SELECT num, data FROM vectors NOT INDEXED WHERE embedder = ?", []any{n.embedder}
	if some != nil {
		list, _ := json.Marshal(some) // numbers never fail
		query, args = "SELECT v.num, v.data FROM json_each(?2) AS wanted CROSS JOIN vectors v ON v.embedder = ?1 AND v.num = wanted.value", append(args, string(list))
	}
	return each(ctx, n.tx, query, args, func(scan func(...any) error) error {
		var num int
		var data sql.RawBytes
		if err := scan(&num, &data); err != nil || num >= len(n.facts.Docs) { // added since
			return err
		}
		return f(uint32(num), data)
	})
}
