package eval

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

// z95 is the 97.5% quantile of the normal distribution: an interval of ±z95 holds 95%.
const z95 = 1.959963984540054

// Wilson returns the 95% score interval of a rate of which passed of n were
// observed (E. B. Wilson, 1927). Unlike the textbook's ± it holds for small n and
// for rates near 0 and 1. Without an observation it is 0 to 1.
func Wilson(passed, n int) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	p, m, z2 := float64(passed)/float64(n), float64(n), z95*z95
	center := p + z2/(2*m)
	half := z95 * math.Sqrt(p*(1-p)/m+z2/(4*m*m))
	low, high = (center-half)/(1+z2/m), (center+half)/(1+z2/m)
	return max(0, low), min(1, high)
}

// SignTest is the probability that chance alone parts a+b pairs as unevenly as a on
// one side and b on the other, or more so, if both are as likely: the exact sign
// test, two-sided, which for pairs of yes and no is McNemar's exact test.
func SignTest(a, b int) float64 {
	n, least := a+b, min(a, b)
	if n == 0 {
		return 1
	}
	total := 0.0
	for i := 0; i <= least; i++ {
		total += math.Exp(logChoose(n, i) - float64(n)*math.Ln2)
	}
	return min(1, 2*total)
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// Holm adjusts the probabilities of several tests that are looked at together
// (S. Holm, 1979), so that one of them being small by chance is no more likely than
// it says. The order is that of p.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out, highest := make([]float64, len(p)), 0.0
	for rank, i := range order {
		highest = max(highest, min(1, p[i]*float64(len(p)-rank)))
		out[i] = highest
	}
	return out
}

// Significant is the probability below which a difference is called more than
// chance.
const Significant = 0.05

// Comparison is what two exams have to say about each other: the tasks that both
// asked, in pairs.
type Comparison struct {
	Tasks   int     `json:"tasks"`    // that both asked
	Both    int     `json:"both"`     // that did as well in one as in the other
	BetterA int     `json:"better_a"` // that did better in A
	BetterB int     `json:"better_b"`
	RateA   float64 `json:"rate_a"` // of these tasks
	RateB   float64 `json:"rate_b"`
	P       float64 `json:"p"`        // how likely chance makes such a difference: SignTest
	OnlyOne int     `json:"only_one"` // tasks that only one of them asked, or asked otherwise
}

// Better is "A" or "B" if that one did better beyond chance, "" if neither did.
func (c Comparison) Better() string {
	switch {
	case c.P >= Significant:
		return ""
	case c.BetterA > c.BetterB:
		return "A"
	}
	return "B"
}

// Compare pairs the outcomes of two exams by task. A task that was asked several
// times counts once, by its share of passes: its runs are not independent.
func Compare(a, b *Report) Comparison {
	rates := func(r *Report) map[string][2]int {
		out := map[string][2]int{}
		for _, o := range r.Outcomes {
			n := out[o.Task+"\x00"+o.Digest]
			n[1]++
			if o.Passed {
				n[0]++
			}
			out[o.Task+"\x00"+o.Digest] = n
		}
		return out
	}
	ofA, ofB := rates(a), rates(b)
	var c Comparison
	alone := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(ofA)) { // in order, since sums of fractions depend on it
		x := ofA[id]
		y, ok := ofB[id]
		if !ok {
			task, _, _ := strings.Cut(id, "\x00")
			alone[task] = true
			continue
		}
		c.Tasks++
		c.RateA += float64(x[0]) / float64(x[1])
		c.RateB += float64(y[0]) / float64(y[1])
		switch cmp.Compare(x[0]*y[1], y[0]*x[1]) {
		case 0:
			c.Both++
		case 1:
			c.BetterA++
		default:
			c.BetterB++
		}
	}
	for id := range ofB {
		if _, ok := ofA[id]; !ok {
			task, _, _ := strings.Cut(id, "\x00")
			alone[task] = true
		}
	}
	c.OnlyOne = len(alone)
	if c.Tasks > 0 {
		c.RateA, c.RateB = c.RateA/float64(c.Tasks), c.RateB/float64(c.Tasks)
	}
	c.P = SignTest(c.BetterA, c.BetterB)
	return c
}
