package memory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"

	"mylm/memory/lexical"
)

// comparedBytes bounds what is compared with other hits. Longer texts are equal or
// different.
const comparedBytes = 600

// candidate is a hit with what it is compared by.
type candidate struct {
	Hit
	asks    bool
	words   []string // its terms that do not begin with a digit; none of a long text
	numbers []string // its terms with a digit: another port is another text
}

// unrepeated makes hits of what the ranking found, best first. The newest answer
// takes the place of older ones to the same question; texts that say the same take
// one place, that of the first, where a note comes before an exchange that echoes
// it; and of texts that differ in little but what the query asks for, the newest
// comes first.
func unrepeated(ctx context.Context, tx *sql.Tx, v *view, found []lexical.Hit, q Query) ([]Hit, error) {
	nums := make([]uint32, len(found))
	for i, h := range found {
		nums[i] = h.Doc
	}
	list, _ := json.Marshal(nums) // numbers never fail
	documents, err := rows(ctx, tx, "num IN (SELECT CAST(value AS bigint) FROM json_each(?)) ORDER BY num", string(list))
	if err != nil {
		return nil, err
	}
	var all []candidate
	for _, h := range found {
		i, ok := slices.BinarySearchFunc(documents, int64(h.Doc), func(r row, num int64) int { return cmp.Compare(r.num, num) })
		if !ok {
			return nil, ErrDamaged // a view has one state of documents and index
		}
		c := newCandidate(v, documents[i], h)
		if !q.History {
			if err := c.update(ctx, tx, v, q); err != nil {
				return nil, err
			}
			if i := slices.IndexFunc(all, func(other candidate) bool { return other.says(&c) }); i >= 0 {
				all[i].merge(c)
				continue
			}
		}
		all = append(all, c)
	}
	if !q.History {
		newestFirst(all)
	}
	hits := make([]Hit, min(q.Limit, len(all)))
	for i := range hits {
		hits[i] = all[i].Hit
	}
	return hits, nil
}

func newCandidate(v *view, r row, h lexical.Hit) candidate {
	h.Doc = uint32(r.num)
	c := candidate{Hit: Hit{Document: r.Document, Found: h}, asks: h.Asks || v.facts.Docs[h.Doc].Flags&lexical.Asks != 0}
	if len(c.Text) <= comparedBytes {
		for _, t := range lexical.Analyse(c.Text).Terms {
			if strings.ContainsAny(t.Term, "0123456789") {
				c.numbers = append(c.numbers, t.Term)
			}
			if t.Term[0] < '0' || t.Term[0] > '9' {
				c.words = append(c.words, t.Term)
			}
		}
	}
	return c
}

// update replaces an answer by the newest one to the same question, as the user
// asked it, if the query may find that.
func (c *candidate) update(ctx context.Context, tx *sql.Tx, v *view, q Query) error {
	if c.Role != "assistant" || c.Kind != Exchange || c.Session == "" || len(q.Sessions) > 0 || !q.After.IsZero() || !q.Before.IsZero() {
		return nil
	}
	question, err := rows(ctx, tx, "session = ? AND project = ? AND num < ? AND role = 'user' AND kind = ? ORDER BY num DESC LIMIT 1",
		c.Session, c.Project, c.Found.Doc, Exchange)
	if err != nil || len(question) == 0 {
		return err
	}
	answers, err := rows(ctx, tx, `num IN (SELECT (SELECT a.num FROM documents a WHERE a.session = q.session AND a.project = q.project AND a.num > q.num
			AND a.role = 'assistant' AND a.kind = ? AND a.superseded_by IS NULL ORDER BY a.num LIMIT 1)
		FROM documents q WHERE `+repeats+` ORDER BY q.num + 0 DESC LIMIT 100) ORDER BY num DESC`, append([]any{Exchange}, question[0].asRepeats()...)...)
	if err != nil || len(answers) < 2 {
		return err
	}
	if answers[0].num != int64(c.Found.Doc) {
		*c = newCandidate(v, answers[0], c.Found)
	}
	c.Older = len(answers) - 1
	return nil
}

// says reports whether two hits say the same: one is the other, or holds little
// that the other does not.
func (c *candidate) says(other *candidate) bool {
	if c.Found.Doc == other.Found.Doc || c.Text == other.Text && c.Project == other.Project {
		return true
	}
	if c.Project != other.Project || (c.Kind == Tool) != (other.Kind == Tool) {
		return false
	}
	return shares(c.words, other.words, 9) && slices.Equal(c.numbers, other.numbers)
}

// shares reports whether that many tenths of the terms of the shorter text are in the
// other, and whether they are of like length: the fewer must be, the less so.
func shares(few, many []string, tenths int) bool {
	if len(few) > len(many) {
		few, many = many, few
	}
	shared := 0
	for _, t := range few {
		if _, ok := slices.BinarySearch(many, t); ok {
			shared++
		}
	}
	return len(few) > 1 && len(many) <= len(few)+len(few)/2+(11-tenths)/2 && 10*shared >= tenths*len(few)
}

// merge takes another hit into the place of c, and keeps the better of the two.
func (c *candidate) merge(other candidate) {
	if c.Found.Doc == other.Found.Doc {
		return
	}
	older := c.Older + other.Older + 1
	if c.asks != other.asks { // a question is no other version of its answer
		older = max(c.Older, other.Older)
	}
	if other.before(c) {
		other.Found.Score = c.Found.Score
		*c = other
	}
	c.Older = older
}

// before orders hits that say the same: notes come before what echoes them,
// answers before questions, the new before the old.
func (c *candidate) before(other *candidate) bool {
	switch {
	case (c.Kind == Note) != (other.Kind == Note):
		return c.Kind == Note
	case c.Kind != Note && c.asks != other.asks:
		return other.asks
	}
	return c.newer(other) > 0
}

// newer compares when two hits were recorded.
func (c *candidate) newer(other *candidate) int {
	return cmp.Or(c.Last.Compare(other.Last), cmp.Compare(c.Found.Doc, other.Found.Doc))
}

// newestFirst puts the newest first among hits that are versions of each other.
// They keep their places as a group.
func newestFirst(all []candidate) {
	for i := range all {
		newest := i
		for j := i + 1; j < len(all); j++ {
			if all[i].version(&all[j]) && all[j].newer(&all[newest]) > 0 {
				newest = j
			}
		}
		c := all[newest]
		copy(all[i+1:newest+1], all[i:newest]) // the others move on by one
		all[i] = c
	}
}

// version reports whether two statements share the words that the query asks about,
// and two fifths of all but numbers, and are as near to it: the staging host is heron,
// is wren. What people say to each other is about more than one thing of a kind.
func (c *candidate) version(other *candidate) bool {
	if c.asks || other.asks || c.Kind == Tool || other.Kind == Tool || c.Project != other.Project || c.Speaker != "" || other.Speaker != "" {
		return false
	}
	nearer := c.Found.Similarity - other.Found.Similarity
	if max(nearer, -nearer) >= 0.1 || c.Found.Held == 0 || c.Found.Held != other.Found.Held {
		return false
	}
	return shares(c.words, other.words, 4)
}
