//go:build unix

package protocol_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mylm/protocol"
)

// used is the processor time of this process: unlike the clock it does not run on
// while other work has the processor.
func used(t testing.TB) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano())
}

// took is the processor time that a reply takes to be read in pieces of n bytes.
func took(t testing.TB, tools protocol.Lookup, s string, n int) time.Duration {
	start := used(t)
	d := protocol.NewDecoder(protocol.Options{Tools: tools})
	for i := 0; i < len(s); i += n {
		d.Push(s[i:min(len(s), i+n)])
	}
	d.Close(protocol.End)
	return used(t) - start
}

// maxRatio is how much longer a pattern may take than encoding/json takes to check
// as much plain text: 300 are 500 ms for 1 MB on a machine that checks it in 1.7 ms.
// The reference is the standard library's, so that the bound follows the machine
// and not the decoder.
const maxRatio = 300

// BenchmarkPatterns reads 64 KB of each pattern behind each head, whole and in
// small pieces, then 100 KB and 1 MB of the slowest of them, and fails where that
// takes too long beside the reference in each of three rounds. Of each only the best
// run counts, so that other work on the machine matters little.
func BenchmarkPatterns(b *testing.B) {
	type candidate struct {
		head, pattern string
		pieces        int
		time          time.Duration
	}
	tools := vectorTools(b)
	best := func(s string, n, runs int) time.Duration {
		t := took(b, tools, s, n)
		for range runs - 1 {
			t = min(t, took(b, tools, s, n))
		}
		return t
	}
	text, err := json.Marshal(strings.Repeat(prose, 1<<20/len(prose)))
	if err != nil {
		b.Fatal(err)
	}
	reference := func() time.Duration {
		best := time.Hour
		for range 5 {
			start := used(b)
			for range 8 {
				json.Valid(text)
			}
			best = min(best, (used(b)-start)/8)
		}
		return best
	}
	const short, medium, long, slowest, rounds = 64 << 10, 100 << 10, 1 << 20, 12, 3
	for b.Loop() {
		var all []candidate
		for _, head := range heads {
			for _, p := range patterns {
				for _, n := range []int{long, 16} {
					all = append(all, candidate{head, p, n, took(b, tools, head+strings.Repeat(p, short/len(p)), n)})
				}
			}
		}
		slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(b.time, a.time) })
		var tenth, worst, valid time.Duration
		name := ""
		for round := range rounds {
			valid = reference()
			tenth, worst = 0, 0
			for _, c := range all[:slowest] {
				tenth = max(tenth, best(c.head+strings.Repeat(c.pattern, medium/len(c.pattern)), c.pieces, 3))
				if t := best(c.head+strings.Repeat(c.pattern, long/len(c.pattern)), c.pieces, 3); t > worst {
					worst, name = t, fmt.Sprintf("%q + %q in pieces of %d", c.head, c.pattern, c.pieces)
				}
			}
			if b.Log(name, worst, tenth, valid); worst <= maxRatio*valid && tenth <= maxRatio*valid/10 {
				break
			}
			if round == rounds-1 {
				b.Errorf("%s takes %v, 100 KB %v, JSON of plain text %v", name, worst, tenth, valid)
			}
		}
		b.ReportMetric(float64(tenth.Milliseconds()), "ms/100KB")
		b.ReportMetric(float64(worst.Milliseconds()), "ms/worst")
		b.ReportMetric(float64(worst)/float64(valid), "worst/json")
	}
}
