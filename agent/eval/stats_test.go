package eval_test

import (
	"context"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mylm/agent"
	"mylm/agent/eval"
	"mylm/agent/eval/evaltest"
	"mylm/providers"
)

// Wilson's interval against table I of R. G. Newcombe, Statistics in Medicine 17 (1998).
func TestWilson(t *testing.T) {
	for _, tt := range []struct {
		passed, n int
		low, high float64
	}{
		{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}, {29, 29, 0.8830, 1}, {0, 0, 0, 1},
	} {
		low, high := eval.Wilson(tt.passed, tt.n)
		if math.Abs(low-tt.low) > 1e-4 || math.Abs(high-tt.high) > 1e-4 {
			t.Errorf("%d of %d: %.7f to %.7f, want %.7f to %.7f", tt.passed, tt.n, low, high, tt.low, tt.high)
		}
	}
}

// The exact sign test: 5 of 5 is 2/32, 10 of 12 is 2(1+12+66)/4096.
func TestSignTest(t *testing.T) {
	for _, tt := range []struct {
		a, b int
		p    float64
	}{{0, 0, 1}, {1, 0, 1}, {5, 0, 0.0625}, {6, 0, 0.03125}, {10, 2, 158.0 / 4096}, {3, 3, 1}} {
		if got := eval.SignTest(tt.a, tt.b); math.Abs(got-tt.p) > 1e-5 {
			t.Errorf("%d against %d: p %.7f, want %.7f", tt.a, tt.b, got, tt.p)
		}
	}
	if got := eval.Holm([]float64{0.04, 0.01, 0.03}); !slices.EqualFunc(got, []float64{0.06, 0.03, 0.06}, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
		t.Errorf("Holm %v", got)
	}
}

// quick is a suite whose tasks take one turn.
func quick() *eval.Suite {
	s := *eval.Core()
	s.Tasks = nil
	for i := range 60 {
		task := *eval.Core().Tasks[0]
		task.ID = "sum-" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		task.Question, task.Tools = task.Question+" "+task.ID, nil
		task.Wrong = []eval.Script{{{Text: "42"}}, {{Text: "44"}}}
		s.Tasks = append(s.Tasks, &task)
	}
	return &s
}

// Of 1,000 exams of a model that is right with a known probability, 93 to 97% have
// it in their interval. The seeds are fixed.
func TestCoverage(t *testing.T) {
	t.Parallel()
	suite, exams := quick(), 1000
	for _, p := range []float64{0.3, 0.5, 0.8} {
		covered := 0
		for i := range exams {
			low, high := 0.0, 0.0
			if os.Getenv("MYLM_SLOW") != "" || i < 20 {
				r, err := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: evaltest.Student{Suite: suite, P: p, Salt: uint64(i)}}})
				if err != nil {
					t.Fatal(err)
				}
				low, high = r.Total.Low, r.Total.High
			} else { // the same coins without the agent
				passed := 0
				s := evaltest.Student{Suite: suite, P: p, Salt: uint64(i)}
				for _, task := range suite.Tasks {
					if s.Knows(task, 0) {
						passed++
					}
				}
				low, high = eval.Wilson(passed, len(suite.Tasks))
			}
			if low <= p && p <= high {
				covered++
			}
		}
		if covered < exams*93/100 || covered > exams*97/100 {
			t.Errorf("p = %v: %d of %d intervals hold it", p, covered, exams)
		}
		t.Logf("p = %v: %d of %d intervals hold it", p, covered, exams)
	}
}

// measured is a model that reports how long it wrote.
type measured struct{ took time.Duration }

func (m measured) Generate(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		yield(providers.Chunk{Text: "43", Stop: providers.StopEnd, Usage: providers.Usage{Prompt: 1, Output: 10, OutputTime: m.took}}, nil)
	}
}

// A speed is given where the replies took long enough for one.
func TestSpeed(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]string{time.Second: "10.0", 10 * time.Millisecond: "1000.0", time.Microsecond: "-"} {
		r, err := eval.Run(t.Context(), eval.Options{Suite: quick(), Agent: agent.Options{Model: measured{took}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Total.Speed(); got != want || !strings.HasSuffix(strings.Split(r.Markdown(), "\n")[5], " "+want+" |") {
			t.Errorf("%v a reply: %s, want %s, in\n%s", took, got, want, r.Markdown())
		}
	}
}

// Two exams of equally good models differ "beyond chance" in at most 5% of cases,
// and much better ones nearly always.
func TestCompareIsFair(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	exam := func(p float64) *eval.Report {
		report := &eval.Report{}
		for i := range 92 {
			report.Outcomes = append(report.Outcomes, eval.Outcome{Task: string(rune('a' + i)), Run: 1, Passed: r.Float64() < p})
		}
		return report
	}
	alarms, found := 0, 0
	for range 1000 {
		if eval.Compare(exam(0.7), exam(0.7)).Better() != "" {
			alarms++
		}
		if eval.Compare(exam(0.9), exam(0.6)).Better() == "A" {
			found++
		}
	}
	if alarms > 60 || found < 950 {
		t.Errorf("%d false alarms, %d of 1000 differences found", alarms, found)
	}
}

// Two exams compare the same however often one looks, to the last digit.
func TestCompareIsExact(t *testing.T) {
	t.Parallel()
	suite := eval.Core()
	report := func(p float64) *eval.Report {
		r, err := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: evaltest.Student{Suite: suite, P: p}}, Seed: number(1), Runs: 3, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a, b := report(0.5), report(0.6)
	first := eval.Compare(a, b)
	for range 10 {
		if again := eval.Compare(a, b); again != first {
			t.Fatalf("%+v, then %+v", first, again)
		}
	}
}

// Only tasks that were asked and checked in the same way are compared; their scripts
// make no difference.
func TestCompareChangedTasks(t *testing.T) {
	t.Parallel()
	report := func(from, to string) *eval.Report {
		suite, err := eval.Parse([]byte(strings.Replace(shop, from, to, 1)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: suite.Tasks[0].Right.Model()}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	before := report("", "")
	for change, want := range map[[2]string]int{
		{"How many pieces of A-1 are there?", "How many pieces of A-1 are left?"}: 0,
		{`all: ["1073"]`, `any: ["1073"]`}:                                        0,
		{"How many pieces there are.", "Pieces."}:                                 0,
		{"{article: {type: string}}", "{article: {type: string, minLength: 1}}"}:  0,
		{`{error: "no article {article}"}`, `{error: "no {article}"}`}:            0,
		{"turns: 4", "turns: 5"}:                                                  0,
		{"no idea", "no notion"}:                                                  1,
		{"suite: shop", "suite: store"}:                                           1,
	} {
		if c := eval.Compare(before, report(change[0], change[1])); c.Tasks != want || c.OnlyOne != 1-want {
			t.Errorf("%s: %+v", change, c)
		}
	}
}
