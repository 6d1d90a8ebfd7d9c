package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// reply is a record of bfcl_raw.jsonl.gz.
type reply struct {
	ID         string `json:"id"`
	Raw        string `json:"raw"`
	Tools      []tool `json:"tools"`
	Status     string `json:"first_status"` // "strict" if the call is strict JSON
	Gold       *call  `json:"first_gold"`
	Confidence string `json:"gold_confidence"`
}

func (r reply) query() query { return query{ID: r.ID, Input: r.Raw, Tools: r.Tools} }

// score counts what a reader made of records.
type score struct{ n, exact, other, none int }

// add counts one record and tells whether it is exact.
func (s *score) add(gold, got *call) bool {
	s.n++
	switch {
	case got == nil:
		s.none++
	case sameName(gold.Name, got.Name) && sameArgs(gold.Args, got.Args):
		s.exact++
		return true
	default:
		s.other++
	}
	return false
}

func (s score) String() string {
	return fmt.Sprintf("%.2f%% | %d | %d", 100*float64(s.exact)/float64(max(1, s.n)), s.other, s.none)
}

// exact tells how often each reader's first call is the one that was meant.
func exact(c config) error {
	all, err := records[reply](c, "bfcl_raw.jsonl.gz")
	if err != nil {
		return err
	}
	var tagged, others []reply
	for _, r := range all {
		switch {
		case r.Confidence != "high" || r.Gold == nil:
		case strings.Contains(r.Raw, hermes):
			tagged = append(tagged, r)
		default:
			others = append(others, r)
		}
	}
	n, err := startNode()
	if err != nil {
		return err
	}
	defer n.close()
	whole := func(read reader) func([]reply) ([]*call, error) {
		return func(rs []reply) (got []*call, _ error) {
			for _, r := range rs {
				first, _ := read(r.query(), time.Now().Add(limit))
				got = append(got, first)
			}
			return got, nil
		}
	}
	for _, group := range []struct {
		what    string
		records []reply
		readers []named
	}{
		{"calls in <tool_call>", tagged, []named{
			{"mylm, the decoder alone", whole(readMylm)}, {"mylm parse", c.wouldRun},
			{"@ai-sdk-tool/parser", n.all}, {"Ollama, tools", whole(readOllama)}, {"Ollama, model/parsers", whole(readParser)}}},
		{"calls in other forms", others, []named{{"mylm, the decoder alone", whole(readMylm)}, {"mylm parse", c.wouldRun}}},
	} {
		if err := compare(c, group.what, group.records, group.readers); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.out, "\n%s\n", strings.Join(c.refused, "\n"))
	return nil
}

// named is a reader under the name it has in the table.
type named struct {
	name string
	read func([]reply) ([]*call, error)
}

func compare(c config, what string, rs []reply, readers []named) error {
	broken := 0
	for _, r := range rs {
		if r.Status != "strict" {
			broken++
		}
	}
	fmt.Fprintf(c.out, "\n| %s | all %d | another call | no call | the %d that are not strict JSON | another call | no call |\n", what, len(rs), broken)
	fmt.Fprintf(c.out, "|---|---|---|---|---|---|---|\n")
	for _, reader := range readers {
		got, err := reader.read(rs)
		if err != nil {
			return err
		}
		var every, malformed score
		for i, r := range rs {
			if !every.add(r.Gold, got[i]) {
				fmt.Fprintf(c.misses, "%s: %s: meant %v, read %v\n", reader.name, r.ID, r.Gold, got[i])
			}
			if r.Status != "strict" {
				malformed.add(r.Gold, got[i])
			}
		}
		fmt.Fprintf(c.out, "| %s | %v | %v |\n", reader.name, every, malformed)
	}
	return nil
}

// wouldRun is what mylm would run: the tool is declared and the arguments fit.
// Why it refused the others is kept in c.refused.
func (c *config) wouldRun(rs []reply) ([]*call, error) {
	queries := make([]query, len(rs))
	for i, r := range rs {
		queries[i] = r.query()
	}
	verdicts, err := c.parse(queries)
	if err != nil {
		return nil, err
	}
	got := make([]*call, len(rs))
	refused := map[string]int{}
	for i, v := range verdicts {
		if v.Kind == "call" {
			got[i] = &call{v.Name, v.Args}
		} else {
			refused[cmp.Or(v.Reason, v.Kind)]++
		}
	}
	c.refused = append(c.refused, fmt.Sprintf("mylm parse refused, of %d: %s.", len(rs), counted(refused)))
	return got, nil
}

// all gives the records to the process one by one.
func (n *node) all(rs []reply) (got []*call, _ error) {
	for _, r := range rs {
		first, err := n.first(r.query())
		if err != nil {
			return nil, err
		}
		got = append(got, first)
	}
	return got, nil
}
