package hashed

import (
	"context"
	"math"
	"unicode/utf8"

	"mylm/memory/lexical"
)

const (
	width   = 384  // numbers of a vector, the last of which is the rest
	touched = 4    // numbers that a feature adds to
	k1      = 1.0  // how soon repeating a word stops to count, as in lexical.Default
	gram    = 4    // characters of a part of a word
	parts   = 0.5  // what all parts of a word weigh together, the word being 1
	long    = 60.0 // the length of the vector of a long text: about 300 words
	lengths = 0.7  // how much of the differences in length remains; 0 is none
	chance  = 0.15 // three deviations of the cosine of texts that share nothing: 3/sqrt(width)
)

// Embedder makes vectors of 384 numbers. The zero value is ready. It is safe
// for concurrent use.
type Embedder struct{}

// Name tells the version: it changes whenever a text would get another vector.
func (Embedder) Name() string { return "hashed/1" }

// Floor is how near to a question a text comes by chance, if it shares nothing
// with it: the less, the more of its vector is rest.
func (Embedder) Floor(document []float32) float32 {
	rest := float64(document[width-1])
	return float32(chance * math.Sqrt(max(0, 1-rest*rest)))
}

// EmbedDocuments gives a vector of length 1 for each text, one of zeros for a
// text without words. It fails only if ctx is done.
func (Embedder) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		vectors[i] = document(embed(text))
	}
	return vectors, nil
}

// EmbedQuery gives the vector of a question. A question has no rest, so that
// what it is nearest to is what it shares most words with, and not what is shortest.
func (Embedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	v := embed(text)
	scale(v, 1)
	return v, ctx.Err()
}

func embed(text string) []float32 {
	v := make([]float32, width)
	for _, t := range lexical.Analyse(text).Terms {
		tf := float64(t.Count)
		// Long words are rare, by and large, and nothing else tells it here.
		weight := tf * (k1 + 1) / (tf + k1) * math.Sqrt(float64(len(t.Term)))
		add(v, hash("", t.Term), weight)
		addParts(v, t.Term, weight*parts)
	}
	return v
}

// addParts adds the runs of characters of a word, its ends marked, so that
// words which share a part are near to each other.
func addParts(v []float32, term string, weight float64) {
	marked := "^" + term + "$"
	n := utf8.RuneCountInString(marked) - gram + 1
	if n < 2 { // the only part would be the word
		return
	}
	var starts [gram]int // of the last characters
	seen := 0
	for i := range marked {
		if seen >= gram {
			add(v, hash("part ", marked[starts[seen%gram]:i]), weight/math.Sqrt(float64(n)))
		}
		starts[seen%gram] = i
		seen++
	}
	add(v, hash("part ", marked[starts[seen%gram]:]), weight/math.Sqrt(float64(n)))
}

// add adds the direction of a feature. Few numbers of a direction are not
// zero, which costs less and is no worse (Achlioptas, Database-friendly random
// projections, 2003).
func add(v []float32, h uint64, weight float64) {
	for range touched {
		h = mix(h)
		w := float32(weight)
		if h>>63 == 1 {
			w = -w
		}
		v[h%(width-1)] += w
	}
}

// hash is FNV-1a. The space keeps parts apart from words.
func hash(space, s string) uint64 {
	h := uint64(14695981039346656037)
	for _, part := range [2]string{space, s} {
		for i := range len(part) {
			h = (h ^ uint64(part[i])) * 1099511628211
		}
	}
	return h
}

// mix is a step of SplitMix64 (Steele, Lea, Flood, 2014).
func mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// document gives a vector length 1 by way of the rest. Divided by its length
// alone, a text of three words is nearer to a question than one of thirty that
// says the same and more.
func document(v []float32) []float32 {
	s := math.Min(1, math.Pow(norm(v)/long, lengths))
	if s > 0 {
		scale(v, s)
		v[width-1] = float32(math.Sqrt(1 - s*s))
	}
	return v
}

func norm(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// scale gives a vector another length. That of zeros stays as it is.
func scale(v []float32, length float64) {
	n := norm(v)
	if n == 0 {
		return
	}
	for i := range v {
		v[i] = float32(float64(v[i]) * length / n)
	}
}
