package memorytest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mylm/memory"
)

func roundTrip(t *testing.T, s *suite) {
	in := memory.Document{
		Text: "The staging host is called heron.\n日本語 ✓", Kind: memory.Exchange, Role: "user", Speaker: "Ada",
		Session: "s1", Project: "/src/shop", Time: day, Source: "a shell", Tags: []string{"hosts", "a \"tag\""},
	}
	stored := s.add(t, in)[0]
	want := in
	want.ID, want.Count, want.Last = stored.ID, 1, in.Time
	if stored.ID == "" || !reflect.DeepEqual(stored, want) {
		t.Errorf("Add returned %+v, want %+v", stored, want)
	}
	if got := s.get(t, stored.ID); !reflect.DeepEqual(got, want) {
		t.Errorf("Get returned %+v, want %+v", got, want)
	}
	if _, err := s.Get(t.Context(), "nothing"); !errors.Is(err, memory.ErrNotFound) || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("Get of an unknown ID: %v, want ErrNotFound that names it", err)
	}
	own := s.add(t, memory.Document{ID: "conv-1/D1:3", Text: "an ID from elsewhere"})[0]
	if own.ID != "conv-1/D1:3" || own.Kind != memory.Note || time.Since(own.Time) > time.Hour {
		t.Errorf("Add with an ID returned %+v, want the ID, kind note and the present", own)
	}
	if same := s.add(t, memory.Document{ID: "conv-1/D1:3", Text: "something else"})[0]; same.Text != own.Text {
		t.Errorf("an ID that was there now says %q", same.Text)
	}
}

func cleaning(t *testing.T, s *suite) {
	for _, text := range []string{"", " \n\t"} {
		if _, err := s.Add(t.Context(), memory.Document{Text: "fine"}, memory.Document{Text: text}); !errors.Is(err, memory.ErrEmpty) {
			t.Errorf("Add of %q: %v, want ErrEmpty", text, err)
		}
	}
	if _, err := s.Add(t.Context(), memory.Document{Text: "x", Kind: "diary"}); err == nil || !strings.Contains(err.Error(), "diary") {
		t.Errorf("Add of an unknown kind: %v, want an error that names it", err)
	}
	if _, err := s.Add(t.Context(), memory.Document{Text: strings.Repeat("x", memory.MaxText+1)}); err == nil {
		t.Error("Add took a text that is too long")
	}
	for _, d := range []memory.Document{
		{Text: "x", Time: time.UnixMilli(1_700_000_000_000_000)}, {Text: "x", Time: time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)},
		{Text: "x", Time: day, Last: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)},
		{Text: "x", Time: time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -2*3600))}, {Text: "x", Time: time.Unix(1<<60, 0)},
	} {
		if _, err := s.Add(t.Context(), d); err == nil || !strings.Contains(err.Error(), "year") {
			t.Errorf("Add of what was said at %v, last %v: %v", d.Time, d.Last, err)
		}
	}
	if st, err := s.Stats(t.Context()); err != nil || st.Documents != 0 {
		t.Errorf("after Add failed there are %d documents, %v; want none", st.Documents, err)
	}
	for _, tt := range []struct{ text, want string }{
		{"a\x00b", "a\uFFFDb"},
		{"bad \xff\xfe bytes", "bad \uFFFD bytes"},
		{strings.Repeat("long ", 200_000), strings.Repeat("long ", 200_000)},
		{"line\r\nends", "line\r\nends"},
	} {
		if got := s.get(t, s.add(t, memory.Document{Text: tt.text})[0].ID).Text; got != tt.want {
			t.Errorf("%.20q came back as %.20q (%d bytes), want %.20q (%d bytes)", tt.text, got, len(got), tt.want, len(tt.want))
		}
	}
}

func repeats(t *testing.T, s *suite) {
	base := memory.Document{Text: "the build needs Go 1.26", Project: "p", Time: day}
	first := s.add(t, base)[0]
	base.Time = day.Add(time.Hour)
	base.Session = "another"
	second := s.add(t, base)[0]
	if second.ID != first.ID || second.Count != 2 || !second.Time.Equal(first.Time) || !second.Last.Equal(base.Time) {
		t.Errorf("the same text again is %+v, want %s with count 2 and a later Last", second, first.ID)
	}
	if got := s.get(t, first.ID); got.Count != 2 {
		t.Errorf("Get says count %d, want 2", got.Count)
	}
	twice := s.add(t, base, base)
	if twice[0].ID != first.ID || twice[1].Count != 4 {
		t.Errorf("the same text twice in one call is %+v", twice)
	}
	for name, other := range map[string]func(*memory.Document){
		"project": func(d *memory.Document) { d.Project = "q" }, "kind": func(d *memory.Document) { d.Kind = memory.Tool },
		"role": func(d *memory.Document) { d.Role = "user" }, "speaker": func(d *memory.Document) { d.Speaker = "Ada" },
	} {
		d := base
		other(&d)
		if got := s.add(t, d)[0]; got.ID == first.ID {
			t.Errorf("the same text with another %s is the same document", name)
		}
	}
}

func ids(t *testing.T, s *suite) {
	seen, last := map[string]bool{}, ""
	for i := range 200 {
		id := s.add(t, memory.Document{Text: fmt.Sprintf("text %d", i)})[0].ID
		if seen[id] || id <= last {
			t.Fatalf("ID %d is %q after %q", i, id, last)
		}
		seen[id], last = true, id
	}
}

func neighbours(t *testing.T, s *suite) {
	var a []string
	for i := range 5 { // two sessions at once
		a = append(a, s.notes(t, memory.Document{Session: "a", Project: "p"}, fmt.Sprintf("a%d", i))...)
		s.notes(t, memory.Document{Session: "b", Project: "p"}, fmt.Sprintf("b%d", i))
		s.notes(t, memory.Document{Session: "a", Project: "other"}, fmt.Sprintf("o%d", i))
	}
	for _, tt := range []struct {
		id   string
		n    int
		want []string
	}{
		{a[2], 1, a[1:4]}, {a[2], 10, a}, {a[0], 2, a[:3]}, {a[4], 2, a[2:]}, {a[1], 0, a[1:2]},
	} {
		got, err := s.Around(t.Context(), tt.id, tt.n)
		if err != nil || !slices.Equal(idsOf(got), tt.want) {
			t.Errorf("Around(%s, %d) = %v, %v, want %v", tt.id, tt.n, idsOf(got), err, tt.want)
		}
	}
	alone := s.notes(t, memory.Document{}, "without a session", "another without")
	if got, err := s.Around(t.Context(), alone[0], 3); err != nil || len(got) != 1 {
		t.Errorf("a document without a session has neighbours: %v, %v", got, err)
	}
	s.notes(t, memory.Document{}, "walrus", "next to it")
	if got := found(t, s, memory.Query{Text: "walrus"}); len(got) != 1 {
		t.Errorf("documents without a session lend each other their words: %v", got)
	}
	if _, err := s.Around(t.Context(), "nothing", 3); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("Around of an unknown ID: %v, want ErrNotFound", err)
	}
}

func lists(t *testing.T, s *suite) {
	one := s.add(t, memory.Document{Text: "one", Project: "p", Session: "x", Time: day, Tags: []string{"red"}, Source: "cli"})[0].ID
	two := s.add(t, memory.Document{Text: "two", Project: "p", Kind: memory.Tool, Time: day.Add(time.Hour), Tags: []string{"red", "blue"}})[0].ID
	three := s.add(t, memory.Document{Text: "three", Project: "q", Session: "y", Kind: memory.Exchange, Time: day.Add(2 * time.Hour)})[0].ID
	for _, tt := range []struct {
		name   string
		filter memory.Filter
		limit  int
		want   []string
	}{
		{"all", memory.Filter{}, 0, []string{three, two, one}},
		{"newest", memory.Filter{}, 2, []string{three, two}},
		{"project", memory.Filter{Projects: []string{"p"}}, 0, []string{two, one}},
		{"projects", memory.Filter{Projects: []string{"p", "q"}}, 0, []string{three, two, one}},
		{"session", memory.Filter{Sessions: []string{"y"}}, 0, []string{three}},
		{"kinds", memory.Filter{Kinds: []memory.Kind{memory.Tool, memory.Exchange}}, 0, []string{three, two}},
		{"tag", memory.Filter{Tags: []string{"blue"}}, 0, []string{two}},
		{"source", memory.Filter{Source: "cli"}, 0, []string{one}},
		{"after", memory.Filter{After: day.Add(time.Hour)}, 0, []string{three, two}},
		{"before", memory.Filter{Before: day.Add(time.Hour)}, 0, []string{one}},
		{"ids", memory.Filter{IDs: []string{one, "nothing"}}, 0, []string{one}},
		{"together", memory.Filter{Projects: []string{"p"}, Kinds: []memory.Kind{memory.Exchange}}, 0, []string{}},
	} {
		got, err := s.List(t.Context(), tt.filter, tt.limit)
		if err != nil || !slices.Equal(idsOf(got), tt.want) {
			t.Errorf("%s: %v, %v, want %v", tt.name, idsOf(got), err, tt.want)
		}
	}
	st, err := s.Stats(t.Context())
	if err != nil || st.Documents != 3 || st.Projects != 2 || st.Sessions != 2 || st.Kinds[memory.Tool].Documents != 1 ||
		!st.Oldest.Equal(day) || !st.Newest.Equal(day.Add(2*time.Hour)) || st.Bytes == 0 {
		t.Errorf("Stats = %+v, %v", st, err)
	}
}
