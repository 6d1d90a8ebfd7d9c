package lexical_test

import (
	"slices"
	"testing"
)

// Names that differ in their number are different, however their letters agree.
func TestNumberedNames(t *testing.T) {
	m := remember("db02 runs on port 5433", "box01 is in rack 3", "box02 and box04 are in the hall", "a box of nails", "The 3090 is hot.",
		"llama 3 answers", "web-01 is down", "web-02 is up", "Box05 and its box", "We use Python for all scripts.")
	for query, want := range map[string][]uint32{
		"db03": nil, "db2": nil, "DB02": {0}, "box99": {3, 8}, "box02": {2, 3, 8}, "box03": {3, 8},
		"rtx3090": {4}, "llama3": {5}, "web-03": nil, "web01": {6}, "web-02": {7},
		"what do we use python3 for?": {9},
	} {
		got := docs(ask(t, m, query))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q: found %v, want %v", query, got, want)
		}
	}
}
