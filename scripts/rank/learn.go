package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"mylm/memory/lexical"
)

// example is a question with what the first step found for it.
type example struct {
	learn      bool
	evidence   int // documents that answer it, found or not
	candidates []lexical.Features
	relevant   []bool // of candidates
}

// Learning is gradient descent (Adam) on the cross entropy between the softmax of
// the scores and the evidence, of which a half is spread evenly over the documents
// of a question and the other half goes to those that score well already: R@10
// wants all of them, MRR one.
const (
	steps  = 200
	spread = 0.5
	decay  = 1e-4
)

// byHand are the features whose weights are not learned. No set holds the output
// of tools, nor the questions that somebody asks an assistant again and again, and
// one set alone has an assistant: what is learned without it would not know that
// an answer is rarely what a person looks for.
var byHand = []lexical.Feature{lexical.Assistant, lexical.Tool, lexical.Question}

// learn finds weights on the learning halves; only some features may have one.
func learn(sets []*set, all [][]example, some [lexical.NumFeatures]bool) lexical.Features {
	w := lexical.Features{lexical.Around: 5}
	for _, f := range byHand {
		w[f] = lexical.Default().Weights[f]
	}
	var first, second lexical.Features
	for step := 1; step <= steps; step++ {
		var slope lexical.Features
		for f := range w {
			slope[f] = decay * w[f]
		}
		for i, s := range sets {
			n := 0
			for _, e := range all[i] {
				if e.learn {
					n++
				}
			}
			for _, e := range all[i] {
				if e.learn && s.weight > 0 {
					e.slope(&w, &slope, s.weight/float64(n))
				}
			}
		}
		rate := 0.3
		if step > steps*2/3 {
			rate = 0.05
		}
		for f := range w {
			first[f] = 0.9*first[f] + 0.1*slope[f]
			second[f] = 0.99*second[f] + 0.01*slope[f]*slope[f]
			m, v := first[f]/(1-math.Pow(0.9, float64(step))), second[f]/(1-math.Pow(0.99, float64(step)))
			switch {
			case !some[f]:
				w[f] = 0
			case !slices.Contains(byHand, lexical.Feature(f)):
				w[f] -= rate * m / (math.Sqrt(v) + 1e-8)
			}
		}
	}
	return w
}

// slope adds what an example says about the direction of the weights.
func (e example) slope(w, slope *lexical.Features, weight float64) {
	best, relevant := math.Inf(-1), 0.0
	p := make([]float64, len(e.candidates))
	for i := range e.candidates {
		p[i] = w.Score(&e.candidates[i])
		best = max(best, p[i])
		if e.relevant[i] {
			relevant++
		}
	}
	if relevant == 0 {
		return
	}
	sum, found := 0.0, 0.0
	for i := range p {
		p[i] = math.Exp(p[i] - best)
		sum += p[i]
		if e.relevant[i] {
			found += p[i]
		}
	}
	for i := range p {
		wanted := 0.0
		if e.relevant[i] {
			wanted = spread/relevant + (1-spread)*p[i]/found
		}
		if d := weight * (p[i]/sum - wanted); math.Abs(d) > 1e-9 {
			for f, x := range e.candidates[i] {
				slope[f] += d * x
			}
		}
	}
}

// measured are the means over questions.
type measured struct {
	n                    int
	recall, mrr          float64
	recallFrom, recallTo float64 // 95% intervals, by bootstrap over questions
	mrrFrom, mrrTo       float64
}

// measure gives R@10 and MRR, of the first 50, on one of the halves.
func measure(all []example, w *lexical.Features, learn bool) (m measured) {
	var recalls, ranks []float64
	for _, e := range all {
		if e.learn != learn {
			continue
		}
		order := make([]int, len(e.candidates))
		scores := make([]float64, len(e.candidates))
		for i := range order {
			order[i], scores[i] = i, w.Score(&e.candidates[i])
		}
		slices.SortStableFunc(order, func(a, b int) int {
			if scores[a] > scores[b] {
				return -1
			} else if scores[a] < scores[b] {
				return 1
			}
			return 0
		})
		found, rank := 0.0, 0.0
		for at, i := range order {
			if e.relevant[i] && at < 10 {
				found++
			}
			if e.relevant[i] && rank == 0 && at < 50 {
				rank = 1 / float64(at+1)
			}
		}
		recalls, ranks = append(recalls, found/float64(e.evidence)), append(ranks, rank)
	}
	m.n = len(recalls)
	m.recall, m.recallFrom, m.recallTo = interval(recalls)
	m.mrr, m.mrrFrom, m.mrrTo = interval(ranks)
	return m
}

func interval(values []float64) (mean, from, to float64) {
	if len(values) == 0 {
		return 0, 0, 0
	}
	for _, v := range values {
		mean += v / float64(len(values))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	means := make([]float64, 1000)
	for i := range means {
		for range values {
			means[i] += values[rng.IntN(len(values))] / float64(len(values))
		}
	}
	slices.Sort(means)
	return mean, means[25], means[975]
}
