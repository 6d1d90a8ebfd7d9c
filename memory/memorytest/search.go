package memorytest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"mylm/memory"
)

// many is more than one segment of an index that is made in portions.
const many = 1500

func searches(t *testing.T, s *suite) {
	var filler []memory.Document
	for i := range many {
		filler = append(filler, memory.Document{Text: fmt.Sprintf("filler number %d about wheels and wood", i), Project: "p", Session: fmt.Sprint(i / 10)})
		if i == many/2 {
			filler = append(filler, memory.Document{ID: "old", Text: "the staging host is called heron", Project: "p", Session: "x", Time: day})
		}
		if len(filler) >= 100 {
			s.add(t, filler...)
			filler = nil
		}
	}
	s.add(t, filler...)
	fresh := s.add(t, memory.Document{Text: "Bereitstellung heißt nun Reiher", Project: "p", Kind: memory.Exchange, Time: day.Add(48 * time.Hour)})[0].ID
	for _, tt := range []struct {
		query memory.Query
		want  []string
	}{
		{memory.Query{Text: "which host is staging?", Limit: 1}, []string{"old"}},
		{memory.Query{Text: "heron"}, []string{"old"}},
		{memory.Query{Text: "heorn", Limit: 1}, []string{"old"}}, // two letters swapped
		{memory.Query{Text: "reiher"}, []string{fresh}},
		{memory.Query{Text: "heron reiher", Kinds: []memory.Kind{memory.Exchange}}, []string{fresh}},
		{memory.Query{Text: "heron reiher", Before: day.Add(time.Hour)}, []string{"old"}},
		{memory.Query{Text: "heron reiher", After: day.Add(time.Hour)}, []string{fresh}},
		{memory.Query{Text: "zzyzx"}, []string{}},
		{memory.Query{Text: "?!"}, []string{}},
		{memory.Query{Text: ""}, []string{}},
	} {
		if got := found(t, s, tt.query); !slices.Equal(got, tt.want) {
			t.Errorf("Search(%+v) = %v, want %v", tt.query, got, tt.want)
		}
	}
	if got := found(t, s, memory.Query{Text: "wheels"}); len(got) != 5 {
		t.Errorf("without a limit there are %d hits, want 5", len(got))
	}
	if got := found(t, s, memory.Query{Text: "wheels", Limit: 20}); len(got) != 20 {
		t.Errorf("with a limit of 20 there are %d hits", len(got))
	}
	hits, err := s.Search(t.Context(), memory.Query{Text: "which host is staging?", Limit: 1})
	if err != nil || len(hits) != 1 || len(hits[0].Found.Terms) == 0 || hits[0].Text == "" || hits[0].Found.Score <= 0 {
		t.Errorf("a hit does not say why: %+v, %v", hits, err)
	}
	if _, err := s.Forget(t.Context(), memory.Filter{IDs: []string{"old"}}); err != nil {
		t.Fatal(err)
	}
	if got := found(t, s, memory.Query{Text: "heron"}); len(got) != 0 {
		t.Errorf("what was forgotten is found: %v", got)
	}
	if got := found(t, s, memory.Query{Text: "number 1499", Limit: 1}); len(got) != 1 || s.get(t, got[0]).Text != "filler number 1499 about wheels and wood" {
		t.Errorf("after Forget, 1499 is %v", got)
	}
}

func scopes(t *testing.T, s *suite) {
	p1 := s.notes(t, memory.Document{Project: "p", Session: "1"}, "heron of p1")[0]
	p2 := s.notes(t, memory.Document{Project: "p", Session: "2"}, "heron of p2")[0]
	q1 := s.notes(t, memory.Document{Project: "q", Session: "1"}, "heron of q1")[0]
	none := s.notes(t, memory.Document{}, "heron of none")[0]
	for _, tt := range []struct {
		name string
		q    memory.Query
		want []string
	}{
		{"everywhere", memory.Query{}, []string{p1, p2, q1, none}},
		{"project", memory.Query{Projects: []string{"p"}}, []string{p1, p2}},
		{"projects", memory.Query{Projects: []string{"p", "q", "nowhere"}}, []string{p1, p2, q1}},
		{"no project", memory.Query{Projects: []string{""}}, []string{none}},
		{"session in all projects", memory.Query{Sessions: []string{"1"}}, []string{p1, q1}},
		{"session in a project", memory.Query{Projects: []string{"p"}, Sessions: []string{"1"}}, []string{p1}},
		{"unknown project", memory.Query{Projects: []string{"nowhere"}}, []string{}},
		{"unknown session", memory.Query{Sessions: []string{"nowhere"}}, []string{}},
	} {
		tt.q.Text = "heron"
		got := found(t, s, tt.q)
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
