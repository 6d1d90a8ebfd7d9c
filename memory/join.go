package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mylm/memory/lexical"
)

// near asks the vectors, if there is an embedder that has one of the question.
// What goes wrong with them is told and does not end the search, unless the
// file is damaged.
func (s *Store) near(ctx context.Context, d *dense, v *view, q lexical.Query, vector []float32, k int) ([]similar, error) {
	if d == nil {
		return nil, nil
	}
	found, err := d.near(ctx, v, q, vector, k)
	if err == nil || ctx.Err() != nil || isDamage(err) || busy(err) {
		return found, err
	}
	d.warn(fmt.Errorf("searched by words alone: %w", err))
	return nil, nil
}

// join puts the documents that words and vectors found into one list of at most
// k. Words come first, in their order; where they find less than k, the nearest
// follow. The nearest of all is always there, unless the embedder only fills up:
// if words did not find it, it takes the last place. So a question finds an
// answer that shares no word with it, and an embedder that is no good costs one
// place of several. See docs/decisions/memory.md for what that was measured against.
func join(found []lexical.Hit, near []similar, k int, fills bool) []lexical.Hit {
	if len(near) == 0 {
		return found
	}
	has := func(doc uint32) bool {
		return slices.ContainsFunc(found, func(h lexical.Hit) bool { return h.Doc == doc })
	}
	if len(found) >= k && k > 1 && !fills && !has(near[0].doc) {
		found = found[:k-1]
	}
	for _, n := range near {
		if len(found) < k && !has(n.doc) {
			found = append(found, lexical.Hit{Doc: n.doc})
		}
	}
	return found
}

func similarity(near []similar, doc uint32) float32 {
	for _, n := range near {
		if n.doc == doc {
			return n.similarity
		}
	}
	return 0
}

// Why says in a few words why a document was found: the words of the question
// that it or its neighbours hold, the date or the speaker that the question
// names, how near its vector is.
func (h Hit) Why() string {
	var why []string
	say := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	if len(h.Found.Terms) > 0 {
		say("words: %s", strings.Join(h.Found.Terms, ", "))
	}
	if len(h.Found.Nearby) > 0 {
		say("words nearby: %s", strings.Join(h.Found.Nearby, ", "))
	}
	for _, c := range h.Found.Corrected {
		say("%s for %s", c.Term, c.Word)
	}
	if h.Found.Date != "" {
		say("date: %s", h.Found.Date)
	}
	if h.Found.Speaker != "" {
		say("speaker: %s", h.Found.Speaker)
	}
	if h.Similarity != 0 {
		say("vector: %.2f", h.Similarity)
	}
	return strings.Join(why, "; ")
}
