package memory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/philippgille/chromem-go"

	"mylm/memory/lexical"
)

// dense is the vectors of an embedder in memory: a collection of chromem-go's,
// into which a search loads what it wants and is not there yet. The file is
// the truth, and each search brings the collection in step with the state of
// the file that it sees.
//
// Of chromem-go only what holds is used. Its files are not (a crash damages
// them). Nothing is read while something is added, which is what turn is for.
// Vectors that do not fit are kept out, since one of another length makes every
// query fail; one of zeros would be divided by its length. Delete is never
// called without names, for which it deletes everything.
type dense struct {
	embedder Embedder
	wordy    Wordy // nil if it knows more than words
	tell     func(error)
	behind   sync.Once
	silent   atomic.Bool // it did not answer a question in time, and is not asked again

	turn      chan struct{}       // one search at a time
	num       int64               // of the embedder in the file
	dimension int                 // of its vectors
	changes   int64               // of the state of the file
	through   int64               // the last vector of the file that was looked at
	held      []heldVector        // by document; known of those that were wanted
	all       *chromem.Collection // those of them that have a vector
}

// heldVector is what is known of a document's vector; the zero value is
// nothing yet. The values are those that the collection has.
type heldVector struct {
	known  bool
	seq    int64 // 0 if there is none
	values []float32
}

// similar is a document and how near it is to a question, at most 1.
type similar struct {
	doc        uint32
	similarity float32
}

func newDense(e Embedder, warn func(error)) *dense {
	d := &dense{embedder: e, tell: warn, turn: make(chan struct{}, 1)}
	d.wordy, _ = e.(Wordy)
	return d
}

func (d *dense) warn(err error) {
	if d.tell != nil {
		d.tell(err)
	}
}

// many is how many searches like the last one may be needed to catch up before
// the user hears of it.
const many = 10

// sayBehind tells once that most documents still have no vector, if that will
// take a while or is because another embedder was used before. Made is how many
// this search has embedded.
func (d *dense) sayBehind(ctx context.Context, s *Store, made int) error {
	st, err := s.Stats(ctx)
	if err != nil {
		return err
	}
	done := st.Vectors[d.embedder.Name()]
	was := ""
	for name, n := range st.Vectors {
		if name != d.embedder.Name() && n > 0 {
			was = fmt.Sprintf("; before, it was %s", name)
		}
	}
	if 2*done > st.Documents || was == "" && st.Documents-done <= many*made {
		return nil
	}
	d.behind.Do(func() {
		d.warn(fmt.Errorf("%d of %d memories have a vector of %s%s: `mylm memory reindex` makes the others at once, searching makes some each time",
			done, st.Documents, d.embedder.Name(), was))
	})
	return nil
}

// errAsked is never seen: nothing is added or asked without its vector. With no
// function at all chromem-go would send texts to a company.
var errAsked = errors.New("chromem-go asked for a vector that it should have been given")

// collection makes an empty collection.
func collection() (*chromem.Collection, error) {
	return chromem.NewDB().CreateCollection("memory", nil, func(context.Context, string) ([]float32, error) { return nil, errAsked })
}

// near finds the documents of a query's scope that are nearest to a vector, the
// nearest first; of those equally near the one that was added first.
func (d *dense) near(ctx context.Context, v *view, q lexical.Query, vector []float32, k int) ([]similar, error) {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := d.step(ctx, v); err != nil || d.dimension == 0 {
		return nil, err
	}
	if len(vector) != d.dimension {
		return nil, fmt.Errorf("%w: the question has %d instead of %d from %s; `mylm memory reindex` makes all anew",
			ErrDimension, len(vector), d.dimension, d.embedder.Name())
	}
	vector = slices.Clone(vector)
	if !normalise(vector) {
		return nil, nil // it has no direction, and so nothing is near
	}
	wanted := make([]uint32, 0, len(v.facts.Flags))
	for n := range uint32(len(v.facts.Flags)) {
		if q.Selects(v.facts, n) {
			wanted = append(wanted, n)
		}
	}
	if err := d.load(ctx, v.tx, wanted); err != nil {
		return nil, err
	}
	wanted = slices.DeleteFunc(wanted, func(n uint32) bool { return d.held[n].values == nil })
	return d.query(ctx, wanted, vector, k)
}

// step forgets what is not so any more in the state of the file that v sees.
func (d *dense) step(ctx context.Context, v *view) error {
	var num, last int64
	var dimension int
	err := v.tx.QueryRowContext(ctx, "SELECT num, dimension, (SELECT coalesce(max(seq), 0) FROM vectors) FROM embedders WHERE name = ?",
		d.embedder.Name()).Scan(&num, &dimension, &last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if d.all == nil || num != d.num || dimension != d.dimension {
		if d.all, err = collection(); err != nil {
			return err
		}
		d.num, d.dimension, d.held = num, dimension, nil
		d.changes, d.through = v.changes, last
		return nil
	}
	if d.through != last { // it is higher if another search saw a later state
		err := d.pairs(ctx, v.tx, "seq > ?", min(d.through, last), func(doc uint32, _ int64) error { return d.forget(ctx, doc) })
		if err != nil {
			return err
		}
		d.through = last
	}
	if d.changes != v.changes && len(d.held) > 0 {
		there := map[uint32]int64{}
		if err := d.pairs(ctx, v.tx, "embedder = ?", num, func(doc uint32, seq int64) error { there[doc] = seq; return nil }); err != nil {
			return err
		}
		for doc, h := range d.held {
			if h.known && there[uint32(doc)] != h.seq {
				if err := d.forget(ctx, uint32(doc)); err != nil {
					return err
				}
			}
		}
	}
	d.changes = v.changes
	return nil
}

// pairs gives documents with the number of their vector.
func (d *dense) pairs(ctx context.Context, tx *sql.Tx, where string, arg int64, each func(doc uint32, seq int64) error) error {
	found, err := tx.QueryContext(ctx, "SELECT num, seq FROM vectors WHERE "+where, arg)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		var doc uint32
		var seq int64
		if err := found.Scan(&doc, &seq); err != nil {
			return err
		}
		if err := each(doc, seq); err != nil {
			return err
		}
	}
	return found.Err()
}

func (d *dense) forget(ctx context.Context, doc uint32) error {
	if int(doc) >= len(d.held) || !d.held[doc].known {
		return nil
	}
	h := d.held[doc]
	d.held[doc] = heldVector{}
	if h.values == nil {
		return nil
	}
	return d.all.Delete(ctx, nil, nil, name(doc))
}

// name is a document's in the collection.
func name(doc uint32) string { return strconv.FormatUint(uint64(doc), 10) }

// load reads the vectors of documents that were not wanted before.
func (d *dense) load(ctx context.Context, tx *sql.Tx, wanted []uint32) error {
	if len(wanted) > 0 {
		last := int(wanted[len(wanted)-1])
		d.held = append(d.held, make([]heldVector, max(0, last+1-len(d.held)))...)
	}
	var missing []uint32
	for _, doc := range wanted {
		if !d.held[doc].known {
			missing = append(missing, doc)
		}
	}
	for some := range slices.Chunk(missing, 4096) {
		list, err := json.Marshal(some)
		if err != nil {
			return err
		}
		if err := d.loadSome(ctx, tx, string(list)); err != nil {
			return err
		}
		for _, doc := range some {
			d.held[doc].known = true
		}
	}
	return nil
}

func (d *dense) loadSome(ctx context.Context, tx *sql.Tx, list string) error {
	found, err := tx.QueryContext(ctx, `SELECT v.num, v.seq, v.data FROM json_each(?) AS wanted
		CROSS JOIN vectors v ON v.embedder = ? AND v.num = wanted.value`, list, d.num)
	if err != nil {
		return err
	}
	defer found.Close()
	var data sql.RawBytes
	for found.Next() {
		var doc uint32
		h := heldVector{known: true, values: make([]float32, d.dimension)}
		if err := found.Scan(&doc, &h.seq, &data); err != nil {
			return err
		}
		if len(data) != 4*d.dimension {
			return fmt.Errorf("%w: a vector has %d bytes instead of %d", ErrDamaged, len(data), 4*d.dimension)
		}
		for i := range h.values {
			h.values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		if !normalise(h.values) {
			h.values = nil
		} else if err := d.all.AddDocument(ctx, chromem.Document{ID: name(doc), Embedding: h.values}); err != nil {
			return err
		}
		d.held[doc] = h
	}
	return found.Err()
}

// query asks for the k nearest of what is wanted, all of which is held. The
// collection also holds what other scopes wanted: if that is less, so many more
// are asked for; else the wanted ones become a collection for this query.
func (d *dense) query(ctx context.Context, wanted []uint32, vector []float32, k int) ([]similar, error) {
	from, others := d.all, d.all.Count()-len(wanted)
	if others > len(wanted) {
		var err error
		if from, err = collection(); err != nil {
			return nil, err
		}
		others = 0
		for _, doc := range wanted {
			if err := from.AddDocument(ctx, chromem.Document{ID: name(doc), Embedding: d.held[doc].values}); err != nil {
				return nil, err
			}
		}
	}
	is := make(map[uint32]bool, len(wanted))
	if others > 0 {
		for _, doc := range wanted {
			is[doc] = true
		}
	}
	for n := k + others + 1; ; n *= 2 {
		n = min(n, from.Count()) // more is an error
		if n == 0 {
			return nil, nil
		}
		results, err := from.QueryEmbedding(ctx, vector, n, nil, nil)
		if err := cmp.Or(ctx.Err(), err); err != nil { // a query that is cancelled returns what it has
			return nil, err
		}
		var found []similar
		for _, r := range results {
			doc, err := strconv.ParseUint(r.ID, 10, 32)
			if err != nil {
				return nil, err
			}
			if d.isNear(r) && (others == 0 || is[uint32(doc)]) {
				found = append(found, similar{uint32(doc), r.Similarity})
			}
		}
		// Which of equally near ones are left out is up to chance: all are asked for.
		if n < from.Count() && len(found) >= k && found[k-1].similarity == results[n-1].Similarity {
			continue
		}
		slices.SortFunc(found, func(a, b similar) int {
			return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(a.doc, b.doc))
		})
		return found[:min(k, len(found))], nil
	}
}

func (d *dense) isNear(r chromem.Result) bool {
	return r.Similarity > 0 && (d.wordy == nil || r.Similarity > d.wordy.Floor(r.Embedding))
}

// normalise makes a vector's length 1, exactly enough that chromem-go does not
// make another copy. It tells whether there is a direction.
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
