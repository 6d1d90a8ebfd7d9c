package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// sample is a record of dialects.jsonl.gz.
type sample struct {
	ID       string     `json:"id"`
	Dialect  string     `json:"dialect"`
	Raw      string     `json:"raw"`
	Tools    []tool     `json:"tools"`
	Expected []expected `json:"expected"`
	Wanted   bool       `json:"expect_call"` // the question asked for a call
}

// expected is a call as the benchmark wants it: for each argument the values it
// accepts, "" among them if the argument may be missing.
type expected struct {
	Name string           `json:"name"`
	Args map[string][]any `json:"args"`
}

// tally is a row of the table.
type tally struct {
	records int // where the question asked for a call
	read    int // as some call
	gold    int // records that say what is expected
	right   int // of these, read with an expected name and values
	refused map[string]int
	text    int

	idle, called int // records where no call was asked for, and those of them read as one
}

// dialects tells how much of each dialect mylm reads.
func dialects(c config) error {
	all, err := records[sample](c, "dialects.jsonl.gz")
	if err != nil {
		return err
	}
	queries := make([]query, len(all))
	for i, s := range all {
		queries[i] = query{ID: s.ID, Input: s.Raw, Tools: s.Tools}
	}
	verdicts, err := c.parse(queries)
	if err != nil {
		return err
	}
	rows, sum := map[string]*tally{}, &tally{refused: map[string]int{}}
	for i, s := range all {
		if rows[s.Dialect] == nil {
			rows[s.Dialect] = &tally{refused: map[string]int{}}
		}
		rows[s.Dialect].add(s, verdicts[i])
		if v := verdicts[i]; s.Wanted && v.Kind != "call" {
			fmt.Fprintf(c.misses, "%s: %s: %s %s\n", s.Dialect, s.ID, v.Kind, v.Reason)
		}
		sum.add(s, verdicts[i])
	}
	fmt.Fprintf(c.out, "\n| dialect | asked for a call | read | as expected | refused, by reason | text | asked for none | read as a call |\n|---|---|---|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(c.out, "| %s | %v |\n", name, rows[name])
	}
	fmt.Fprintf(c.out, "| all | %v |\n", sum)
	return nil
}

func (t *tally) add(s sample, v verdict) {
	if !s.Wanted {
		t.idle++
		if v.Kind == "call" {
			t.called++
		}
		return
	}
	t.records++
	switch v.Kind {
	case "call":
		t.read++
	case "malformed":
		t.refused[v.Reason]++
	default:
		t.text++
	}
	if len(s.Expected) == 0 {
		return
	}
	t.gold++
	if v.Kind == "call" && slices.ContainsFunc(s.Expected, func(e expected) bool { return e.accepts(v.call) }) {
		t.right++
	}
}

func (t *tally) String() string {
	share := func(n, of int) string {
		if of == 0 {
			return "–"
		}
		return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(of))
	}
	return fmt.Sprintf("%d | %s | %s of %d | %s | %d | %d | %d", t.records, share(t.read, t.records), share(t.right, t.gold), t.gold,
		counted(t.refused), t.text, t.idle, t.called)
}

// counted lists reasons, the most frequent first.
func counted(refused map[string]int) string {
	reasons := slices.SortedFunc(maps.Keys(refused), func(a, b string) int {
		return cmp.Or(refused[b]-refused[a], strings.Compare(a, b))
	})
	for i, r := range reasons {
		reasons[i] = fmt.Sprintf("%s %d", r, refused[r])
	}
	return cmp.Or(strings.Join(reasons, ", "), "–")
}

// accepts tells whether the call is one the benchmark accepts. It is as lenient
// with strings as the benchmark: case, spaces and separators make no difference.
func (e expected) accepts(c call) bool {
	v, err := decode(c.Args)
	args, ok := v.(map[string]any)
	return err == nil && ok && sameName(e.Name, c.Name) && allowed(e.Args, args)
}

func allowed(want map[string][]any, args map[string]any) bool {
	for name := range args {
		if _, ok := want[name]; !ok {
			return false
		}
	}
	for name, values := range want {
		v, given := args[name]
		if !given && !slices.Contains(values, any("")) || given && !slices.ContainsFunc(values, func(w any) bool { return lenient(w, v) }) {
			return false
		}
	}
	return true
}

// lenient compares a value with one that is accepted. An accepted object lists
// in its turn what it accepts for each member.
func lenient(want, got any) bool {
	if g, ok := got.(map[string]any); ok {
		if w, ok := want.(map[string]any); ok {
			members := map[string][]any{}
			for k, v := range w {
				values, ok := v.([]any)
				if !ok {
					return false
				}
				members[k] = values
			}
			return allowed(members, g)
		}
	}
	return same(plain(want), plain(got))
}

// plain takes from strings what makes no difference.
func plain(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ToLower(strings.NewReplacer(" ", "", ",", "", ".", "", "/", "", "-", "", "_", "", "*", "", "^", "", "'", `"`).Replace(v))
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i])
		}
		return out
	case float64:
		return json.Number(fmt.Sprint(v))
	}
	return v
}
