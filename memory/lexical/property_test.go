package lexical_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"mylm/memory/lexical"
)

var vocabulary = strings.Fields("heron egret stork crane soup pumpkin garden water host staging deploy server tournament activity community umbrella")

// random makes an index of n documents and a query, the same for the same seed.
func random(seed uint64, n int) (*lexical.Memory, string) {
	rng := rand.New(rand.NewPCG(seed, 7))
	words := func(n int) string {
		var w []string
		for range n {
			w = append(w, vocabulary[rng.IntN(len(vocabulary))])
		}
		return strings.Join(w, " ")
	}
	var m lexical.Memory
	for range n {
		m.Add(lexical.Entry{Text: words(1 + rng.IntN(8)), Session: 1 + rng.Uint32N(4), Time: day.AddDate(0, 0, rng.IntN(3))})
	}
	return &m, words(3) + " umbrela"
}

func TestUnrelatedDocumentRemovesNothing(t *testing.T) {
	for seed := range uint64(100) {
		m, q := random(seed, 30)
		before := docs(ask(t, m, q))
		m.Add(lexical.Entry{Text: "猫在睡觉", Session: 1 + uint32(seed%5)})
		after := map[uint32]bool{}
		for _, d := range docs(ask(t, m, q)) {
			after[d] = true
		}
		for _, d := range before {
			if !after[d] {
				t.Errorf("seed %d: document %d is not found any more", seed, d)
			}
		}
	}
}

// The order of a map, in Terms and elsewhere, must not show.
func TestRankingIsRepeatable(t *testing.T) {
	for seed := range uint64(30) {
		m, q := random(seed, 40)
		want := ask(t, m, q)
		again, _ := random(seed, 40)
		for range 3 {
			if got := ask(t, again, q); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: %v, then %v", seed, want, got)
			}
		}
	}
}

// backwards gives the vocabulary in the opposite order.
type backwards struct{ *lexical.Memory }

func (b backwards) Terms(ctx context.Context, first string, f func(string)) error {
	var all []string
	err := b.Memory.Terms(ctx, first, func(t string) { all = append(all, t) })
	slices.Sort(all)
	for _, t := range slices.Backward(all) {
		f(t)
	}
	return err
}

func TestOrderOfTheVocabularyIsNothing(t *testing.T) {
	m := remember("chart", "charm", "chard", "chary", "chars", "charl")
	want := ask(t, m, "charx")
	if len(want) != 3 {
		t.Errorf("a word with six near ones finds %v, want three of them", docs(want))
	}
	if got := ask(t, backwards{m}, "charx"); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, and with the vocabulary backwards %v", want, got)
	}
}

func TestRankTogether(t *testing.T) {
	m, q := random(1, 20)
	want := ask(t, m, q)
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for range 20 {
				got, err := lexical.Default().Rank(context.Background(), m, lexical.Query{Text: q}, 50)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%v, %v, want %v", got, err, want)
				}
			}
		})
	}
	readers.Wait()
}

func TestWhatWasGivenOutStays(t *testing.T) {
	m := remember("heron", "egret")
	f := m.Facts()
	m.Add(lexical.Entry{Text: "stork"})
	if len(f.Docs) != 2 {
		t.Errorf("the facts became those of %d documents", len(f.Docs))
	}
	if got := ask(t, m, "heron egret stork"); len(got) != 3 {
		t.Errorf("found %v, want all three", docs(got))
	}
}

var errIndex = errors.New("disk on fire")

// broken is an index that fails in one place.
type broken struct {
	*lexical.Memory
	postings, terms bool
}

func (b broken) Postings(ctx context.Context, term string) ([]lexical.Posting, error) {
	if b.postings {
		return nil, errIndex
	}
	return b.Memory.Postings(ctx, term)
}

func (b broken) Terms(ctx context.Context, first string, f func(string)) error {
	if b.terms {
		return errIndex
	}
	return b.Memory.Terms(ctx, first, f)
}

func TestErrorsOfTheIndex(t *testing.T) {
	m := remember("umbrella")
	for i, b := range []broken{{m, true, false}, {m, false, true}} {
		if _, err := lexical.Default().Rank(context.Background(), b, lexical.Query{Text: "umbrela"}, 5); !errors.Is(err, errIndex) {
			t.Errorf("%d: error %v, want that of the index", i, err)
		}
	}
}

// Each look at the index may be the one during which the caller gives up.
func TestCancel(t *testing.T) {
	m := remember("umbrella heron", "egret")
	for at := range 5 {
		ctx, cancel := context.WithCancel(context.Background())
		b := &cancelling{Memory: m, after: at, cancel: cancel}
		_, err := lexical.Default().Rank(ctx, b, lexical.Query{Text: "heron egret umbrela"}, 5)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at look %d: %v", at, err)
		}
		if b.after < -1 {
			t.Errorf("cancelled at look %d, and looked %d times more", at, -1-b.after)
		}
		cancel()
	}
}

type cancelling struct {
	*lexical.Memory
	after  int
	cancel func()
}

func (c *cancelling) look() {
	if c.after == 0 {
		c.cancel()
	}
	c.after--
}

func (c *cancelling) Postings(ctx context.Context, term string) ([]lexical.Posting, error) {
	c.look()
	return c.Memory.Postings(ctx, term)
}

func (c *cancelling) Terms(ctx context.Context, first string, f func(string)) error {
	c.look()
	return c.Memory.Terms(ctx, first, f)
}
