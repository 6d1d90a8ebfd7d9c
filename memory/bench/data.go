package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"mylm/memory"
)

// corpus makes documents. Their words are spread as in a language: few are
// common, most are rare.
type corpus struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

func newCorpus(seed uint64) *corpus {
	r := rand.New(rand.NewPCG(seed, seed))
	return &corpus{r, rand.NewZipf(r, 1.07, 8, 80_000)}
}

func (c *corpus) words(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(word(c.zipf.Uint64()) + " ")
	}
	return b.String()
}

func (c *corpus) text() string { return c.words(20 + c.random.IntN(60)) }

// word is the nth word of a language in which every word can be pronounced.
func word(n uint64) string {
	var b []byte
	for n += 20; n > 0; n /= 20 {
		b = append(b, "bdfghjklmnprstvwxzkm"[n%20], "aeiouaeiouaeiouaeiou"[n/20%20])
	}
	return string(b)
}

// ranks are how common the words of a question are.
var ranks = []uint64{3, 40, 900, 20000, 77, 1500}

// question is one with such words; nobody used the other word.
var question, unknown = questions(1)[0], "xylophone"

// questions returns questions of six words; all but the first have other words,
// which are almost as common.
func questions(n int) (all []string) {
	c := newCorpus(3)
	for i := range n {
		var words []string
		for _, rank := range ranks {
			if i > 0 {
				rank += c.random.Uint64N(rank)
			}
			words = append(words, word(rank))
		}
		all = append(all, strings.Join(words, " "))
	}
	return all
}

const batch = 1000

// batches calls f with n texts in portions.
func batches(n int, f func(first int, texts []string) error) error {
	c := newCorpus(1)
	for at := 0; at < n; at += batch {
		texts := make([]string, batch)
		for i := range texts {
			texts[i] = c.text()
		}
		if err := f(at, texts); err != nil {
			return err
		}
	}
	return nil
}

// noise is an embedder whose vectors mean nothing.
type noise int

func (n noise) Name() string { return fmt.Sprint("noise/", int(n)) }

func (n noise) vector(text string) []float32 {
	h := fnv.New64a()
	h.Write([]byte(text))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	v := make([]float32, n)
	for i := range v {
		v[i] = r.Float32() - 0.5
	}
	return v
}

func (n noise) EmbedDocuments(_ context.Context, texts []string) (all [][]float32, _ error) {
	for _, text := range texts {
		all = append(all, n.vector(text))
	}
	return all, nil
}

func (n noise) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	return n.vector(text), nil
}

// document is one of mylm's: twenty to a session.
func document(n int, text string) memory.Document {
	return memory.Document{Text: text, Kind: memory.Exchange, Project: fmt.Sprint("p", n%7), Session: fmt.Sprint("s", n/20),
		Time: time.Date(2026, 1, 1, 0, 0, n/20, 0, time.UTC)}
}
