package eval

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Report is what an exam found out.
type Report struct {
	Exam       Exam      `json:"exam"`
	Done       int       `json:"done"`              // tasks asked, each run counted
	All        int       `json:"all"`               // tasks to be asked
	Stopped    string    `json:"stopped,omitempty"` // why the exam is not complete; "": it is
	Total      Row       `json:"total"`
	Categories []Row     `json:"categories"` // in the order of the suite
	Outcomes   []Outcome `json:"outcomes"`   // in the order of the suite, then by run
}

// Row counts outcomes.
type Row struct {
	Name   string  `json:"name"`
	Passed int     `json:"passed"`
	Of     int     `json:"of"`
	Rate   float64 `json:"rate"`
	Low    float64 `json:"low"` // 95% interval: Wilson
	High   float64 `json:"high"`

	FirstCalls    int `json:"first_calls"`          // outcomes in which a call was tried
	FirstReadable int `json:"first_calls_readable"` // in which the first one was readable and fit

	Causes   map[Cause]int  `json:"causes,omitempty"`
	Repairs  map[string]int `json:"repairs,omitempty"`
	Refusals map[string]int `json:"refusals,omitempty"`
	Versions map[string]int `json:"versions,omitempty"` // of other programs than began the exam

	Turns           int     `json:"turns"` // in all
	PromptTokens    int     `json:"prompt_tokens"`
	OutputTokens    int     `json:"output_tokens"`
	Seconds         float64 `json:"seconds"`           // that the model took
	TokensPerSecond float64 `json:"tokens_per_second"` // written, by the backend's own count of time if it has one; 0: too short to tell

	outputTime float64
}

// leastTime is how many seconds of writing give a speed. Replies that take less in
// all were read from a file, or made by rules.
const leastTime = 0.1

func (r *Row) add(o Outcome) {
	r.Of++
	if o.Passed {
		r.Passed++
	} else {
		if r.Causes == nil {
			r.Causes = map[Cause]int{}
		}
		r.Causes[o.Cause]++
	}
	if o.FirstCall != nil {
		r.FirstCalls++
		if *o.FirstCall {
			r.FirstReadable++
		}
	}
	addCounts(&r.Repairs, o.Repairs)
	addCounts(&r.Refusals, o.Refusals)
	if o.Version != "" {
		count(&r.Versions, o.Version)
	}
	r.Turns += o.Turns
	r.PromptTokens += o.Usage.Prompt
	r.OutputTokens += o.Usage.Output
	r.Seconds += o.Seconds
	r.outputTime += cmp.Or(o.Usage.OutputTime.Seconds(), o.Seconds)
	r.Rate = float64(r.Passed) / float64(r.Of)
	r.Low, r.High = Wilson(r.Passed, r.Of)
	if r.outputTime >= leastTime {
		r.TokensPerSecond = float64(r.OutputTokens) / r.outputTime
	}
}

func addCounts(to *map[string]int, from map[string]int) {
	for k, n := range from {
		if *to == nil {
			*to = map[string]int{}
		}
		(*to)[k] += n
	}
}

func newReport(x *exam) *Report {
	r := &Report{Done: len(x.outcomes), All: x.Runs * len(x.Suite.Tasks), Exam: Exam{Suite: x.Suite.Name, Tasks: len(x.Suite.Tasks), Runs: x.Runs, Seed: x.Seed}}
	if x.Log != nil {
		r.Exam = x.Log.Exam
	}
	order := map[string]int{}
	var categories []string
	for i, t := range x.Suite.Tasks {
		order[t.ID] = i
		if !slices.Contains(categories, t.Category) {
			categories = append(categories, t.Category)
		}
	}
	r.count(x.outcomes, categories, order)
	return r
}

// count fills the rows.
func (r *Report) count(outcomes []Outcome, categories []string, order map[string]int) {
	r.Outcomes = slices.Clone(outcomes)
	slices.SortStableFunc(r.Outcomes, func(a, b Outcome) int {
		return cmp.Or(cmp.Compare(order[a.Task], order[b.Task]), cmp.Compare(a.Run, b.Run))
	})
	r.Total = Row{Name: "all", High: 1}
	rows := map[string]*Row{}
	for _, o := range r.Outcomes {
		r.Total.add(o)
		if rows[o.Category] == nil {
			rows[o.Category] = &Row{Name: o.Category}
		}
		rows[o.Category].add(o)
	}
	for _, name := range categories {
		if row := rows[name]; row != nil {
			r.Categories = append(r.Categories, *row)
		}
	}
}

// Report makes the report of what a log holds.
func (l *Log) Report() (*Report, error) {
	s, err := l.Suite()
	if err != nil {
		return nil, err
	}
	x := &exam{Options: Options{Suite: s, Runs: max(1, l.Exam.Runs), Log: l}, outcomes: l.Outcomes()}
	r := newReport(x)
	r.Stopped = l.whyStopped(r.Done, r.All)
	return r, nil
}

// Failures are the outcomes of tasks that were not passed.
func (r *Report) Failures() []Outcome {
	return slices.DeleteFunc(slices.Clone(r.Outcomes), func(o Outcome) bool { return o.Passed })
}

// Counts are counts in words, the highest first: "bad_json 3, truncated 1".
func Counts[K ~string](m map[K]int) string {
	keys := slices.SortedFunc(maps.Keys(m), func(a, b K) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	var all []string
	for _, k := range keys {
		all = append(all, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(all, ", ")
}
