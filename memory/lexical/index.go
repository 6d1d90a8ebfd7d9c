package lexical

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Index is where the documents are. Documents are numbered from 0 in the order
// in which they were added. An implementation is safe for concurrent use, and
// what it gives out does not change.
type Index interface {
	// Postings gives the documents that hold a term, of all scopes, ascending;
	// none for an unknown term.
	Postings(ctx context.Context, term string) ([]Posting, error)
	// Facts gives what the ranking knows of every document. It may cover fewer
	// documents than Postings, if one was added in between.
	Facts() *Facts
	// Terms calls f with each indexed term that begins with first, in any order.
	Terms(ctx context.Context, first string, f func(term string)) error
}

// Posting says that a document holds a term, and how often.
type Posting struct {
	Doc   uint32
	Count uint16
}

// Fact is what the ranking knows of a document. Project, Session and Kind are
// numbers of the caller's choice; small ones are fastest. A document of session 0
// has no neighbours.
type Fact struct {
	Project, Session uint32
	Length           uint32 // Document.Length
	Speaker          uint16 // an index into Facts.Speakers
	Kind             uint8
	Flags            Flags
	Time             int64 // Unix seconds
}

// Facts are those of all documents. They take 24 bytes a document, and 21 more once
// they are used. They must not be changed after that.
type Facts struct {
	Docs []Fact
	// Speakers are names as they are written. A number without a name, or with
	// an empty one, speaks for nobody. Roles such as user and assistant are no
	// names: a question about a user is not about who wrote.
	Speakers []string

	once    sync.Once
	order   []uint32              // the documents, session by session; those deleted are left out
	place   []uint32              // of a document in order
	session []uint32              // of a place
	spoken  map[string][]uint16   // terms to those whose name has them
	scope   atomic.Pointer[scope] // of the last search
}

// gone is the place of a document that was deleted.
const gone = ^uint32(0)

// link finds out what follows from the arrays. Sessions may be interleaved,
// since several processes may write at once: documents are put in the order of
// sessions, so that neighbours are next to each other.
func (f *Facts) link() {
	f.once.Do(func() {
		order := make([]uint64, 0, len(f.Docs)) // the session, the document: they are almost in order
		for n, d := range f.Docs {
			if d.Flags&Deleted == 0 {
				order = append(order, uint64(d.Session)<<32|uint64(n))
			}
		}
		slices.Sort(order)
		f.order, f.session, f.place = make([]uint32, len(order)), make([]uint32, len(order)), slices.Repeat([]uint32{gone}, len(f.Docs))
		for p, d := range order {
			f.order[p], f.session[p], f.place[uint32(d)] = uint32(d), uint32(d>>32), uint32(p)
		}
		f.spoken = map[string][]uint16{}
		for i, name := range f.Speakers {
			for _, t := range Analyse(name).Terms {
				f.spoken[t.Term] = append(f.spoken[t.Term], uint16(i))
			}
		}
	})
}

// neighbour is the place at a distance from another one, if it is of the same session.
func (f *Facts) neighbour(p uint32, distance int) (uint32, bool) {
	q := int(p) + distance
	return uint32(q), q >= 0 && q < len(f.session) && f.session[q] == f.session[p] && f.session[p] != 0
}

// Query is a question and where its answer may be. The zero value of a field
// does not narrow it down.
type Query struct {
	// Text is the question in any words. Its first 16 terms count, and its last 16.
	Text string
	// Projects and Sessions are the scope: nothing else takes part, not even
	// in what counts as a rare word.
	Projects, Sessions []uint32
	// Kinds, After and Before (exclusive) are what is wanted within the scope.
	Kinds         []uint8
	After, Before time.Time
	// History finds documents that were superseded, too.
	History bool
	// Similarities, if it is not nil, returns how near the meaning of some
	// documents is to that of the query, at most 1; 0 is not known. The score of
	// a document is lifted by it.
	Similarities func(ctx context.Context, docs []uint32) (map[uint32]float32, error)
}

// Selects tells whether a document may be a hit of the query, whatever its
// text. It is for other ways to rank the same documents.
func (q *Query) Selects(f *Facts, doc uint32) bool { return q.covers(f, doc) && q.wants(f, doc) }

// covers tells whether a document is in scope.
func (q *Query) covers(f *Facts, doc uint32) bool {
	d := &f.Docs[doc]
	return d.Flags&Deleted == 0 && (q.History || d.Flags&Superseded == 0) && member(q.Projects, d.Project) && member(q.Sessions, d.Session)
}

// wants tells whether a document of the scope may be a hit.
func (q *Query) wants(f *Facts, doc uint32) bool {
	t := f.Docs[doc].Time
	return member(q.Kinds, f.Docs[doc].Kind) &&
		(q.After.IsZero() || t >= q.After.Unix()) &&
		(q.Before.IsZero() || t < q.Before.Unix())
}

// Hit is a document that was found, and why.
type Hit struct {
	Doc   uint32
	Score float64
	// Terms are words of the query that the document holds; Nearby are those
	// that only its neighbours in the session hold. Both are written as in the query.
	Terms, Nearby []string
	// Held tells which terms of the query the document holds: hits with the same
	// bits hold the same terms. Those that only name the kind of the answer count if
	// it holds no others.
	Held uint32
	// Speaker is who said it, if the query names them.
	Speaker string
	// Date is the date in the query that the document is near, as written there.
	Date string
	// Asks tells that it only asks for something, or was written on request: it is no
	// version of an answer.
	Asks bool
	// Similarity is that of Query.Similarities.
	Similarity float32
	// Corrected are the words of the query that were taken for others.
	Corrected []Correction
}

// Correction is a word of the query that no document in scope holds, and a
// term of the index that was looked for instead.
type Correction struct{ Word, Term string }
