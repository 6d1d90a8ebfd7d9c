package lexical_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"mylm/memory/lexical"
)

// syllables make a vocabulary that looks like words.
var syllables = strings.Fields("ba co du fe gi ha jo ku la me ni po qua re si to vu wa xe zo tion ment er al ous")

// text is n words, few of them frequent and most of them rare, as in any language.
func text(rng *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		i := int(math.Exp(rng.Float64() * math.Log(100000))) // the i-th has a frequency of 1/i
		for b.WriteByte(' '); ; i /= len(syllables) {
			b.WriteString(syllables[i%len(syllables)])
			if i < len(syllables) {
				break
			}
		}
	}
	return b.String()
}

// large is 100,000 documents of 25 words in sessions of 20.
var large = sync.OnceValue(func() *lexical.Memory {
	rng := rand.New(rand.NewPCG(1, 1))
	var m lexical.Memory
	for i := range 100000 {
		m.Add(lexical.Entry{Text: text(rng, 25), Session: 1 + uint32(i/20), Time: day.AddDate(0, 0, i/200)})
	}
	return &m
})

func BenchmarkAnalyse(b *testing.B) {
	rng := rand.New(rand.NewPCG(2, 2))
	var texts []string
	for range 1000 {
		texts = append(texts, text(rng, 25))
	}
	for i := 0; b.Loop(); i++ {
		lexical.Analyse(texts[i%len(texts)])
	}
}

func BenchmarkRank(b *testing.B) {
	m := large()
	words := func(from int) string { // three neighbours in the order of frequency
		var w []string
		for i := from; i < from+3; i++ {
			s := ""
			for n := i; ; n /= len(syllables) {
				if s += syllables[n%len(syllables)]; n < len(syllables) {
					break
				}
			}
			w = append(w, s)
		}
		return strings.Join(w, " ")
	}
	for _, q := range []struct{ name, text string }{
		{"rare", words(50000)}, {"medium", words(500)}, {"common", words(1)}, {"slip", words(50000)[:4] + "x" + words(50000)[5:]},
	} {
		b.Run(q.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := lexical.Default().Rank(context.Background(), m, lexical.Query{Text: q.text}, 10); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
