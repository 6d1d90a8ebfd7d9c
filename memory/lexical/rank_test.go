package lexical_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mylm/memory/lexical"
)

var day = time.Date(2025, time.March, 3, 9, 0, 0, 0, time.UTC)

// remember makes an index of texts, each in a session of its own.
func remember(texts ...string) *lexical.Memory {
	var m lexical.Memory
	for i, text := range texts {
		m.Add(lexical.Entry{Text: text, Session: 1 + uint32(i), Time: day})
	}
	return &m
}

func rank(t *testing.T, r lexical.Ranking, m lexical.Index, q lexical.Query) []lexical.Hit {
	t.Helper()
	hits, err := r.Rank(context.Background(), m, q, 50)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

func ask(t *testing.T, m lexical.Index, text string) []lexical.Hit {
	t.Helper()
	return rank(t, lexical.Default(), m, lexical.Query{Text: text})
}

func docs(hits []lexical.Hit) []uint32 {
	var all []uint32
	for _, h := range hits {
		all = append(all, h.Doc)
	}
	return all
}

func TestLanguages(t *testing.T) {
	m := remember(
		"The staging host is called heron.",
		"Der Schlüssel für die Werkstatt liegt unter der grünen Fußmatte.",
		"La contraseña del servidor está en el cajón de la cocina.",
		"我的小猫叫米米，它喜欢睡觉。",
		"会議は来週の火曜日に東京で行います。サーバーの更新について話します。",
		"แมวดำชอบนอนบนหลังคา",
		"서버는 매일 밤에 다시 시작한다",
		"func parseConfig in src/config/loader.go fails with TS2322 since v1.2.3",
	)
	tests := []struct {
		query string
		want  uint32
	}{
		{"which host is staging?", 0},
		{"Wo ist der SCHLUSSEL?", 1},
		{"fussmatte", 1},
		{"¿Dónde está la contrasena?", 2},
		{"cajon cocina", 2},
		{"猫", 3},
		{"猫在哪里睡觉", 3},
		{"老猫", 3}, // a pair that is nowhere stands for its characters
		{"東京の会議", 4},
		{"サーバーの更新", 4},
		{"ｻｰﾊﾞｰ", 4},
		{"แมวดำ", 5},
		{"서버 시작", 6},
		{"parseConfig", 7},
		{"parseconfig", 7},
		{"config loader", 7},
		{"loader.go", 7},
		{"src/config/loader.go", 7},
		{"2322", 7},
		{"1.2.3", 7},
	}
	for _, tt := range tests {
		if got := docs(ask(t, m, tt.query)); len(got) == 0 || got[0] != tt.want {
			t.Errorf("%q finds %v, want %d first", tt.query, got, tt.want)
		}
	}
}

func TestSlips(t *testing.T) {
	m := remember("The tournament was a success.", "An activity for the whole community.", "She bought a umbrella.", "The world is round.",
		"Der Schlüssel hängt am Haken.", "The upper tier is closed.", "A family came.")
	tests := []struct {
		query string
		want  []uint32
		terms []string
	}{
		{"touranment", []uint32{0}, []string{"tournament"}}, // the stem of it is touran
		{"actviity", []uint32{1}, []string{"activ"}},
		{"comumnity", []uint32{1}, []string{"communiti"}},
		{"umbrela", []uint32{2}, []string{"umbrella"}},
		{"schlüsel", []uint32{4}, []string{"schlussel"}},
		{"touranmnet", []uint32{0}, []string{"tournament"}}, // two slips in a long word
		{"thier", nil, nil}, // a function word, not tier
		{"faimly", []uint32{6}, []string{"famili"}},
		{"rnoud", nil, nil}, // two slips in a short one
		{"tournament", []uint32{0}, nil},
		{"Schlüsselhaken", []uint32{4}, []string{"schlussel", "haken"}}, // a compound
	}
	for _, tt := range tests {
		hits := ask(t, m, tt.query)
		if got := docs(hits); !slices.Equal(got, tt.want) {
			t.Errorf("%q finds %v, want %v", tt.query, got, tt.want)
			continue
		}
		var got []string
		for _, h := range hits {
			for _, c := range h.Corrected {
				got = append(got, c.Term)
				if c.Word != tt.query {
					t.Errorf("%q was corrected as %q", tt.query, c.Word)
				}
			}
		}
		if !slices.Equal(got, tt.terms) {
			t.Errorf("%q stands for %q, want %q", tt.query, got, tt.terms)
		}
	}
}

// Sessions that are written at the same time lend words within themselves only.
func TestInterleavedSessions(t *testing.T) {
	var m lexical.Memory
	for i, text := range []string{"the heron stands still there", "pumpkin soup cooks there", "it flies well indeed", "it tastes well indeed"} {
		m.Add(lexical.Entry{Text: text, Session: 1 + uint32(i%2), Time: day})
	}
	hits := ask(t, &m, "heron")
	if got := docs(hits); !slices.Equal(got, []uint32{0, 2}) {
		t.Fatalf("found %v, want the two documents of the session, 0 and 2", got)
	}
	if !slices.Equal(hits[0].Terms, []string{"heron"}) || hits[0].Nearby != nil {
		t.Errorf("the holder says %+v", hits[0])
	}
	if !slices.Equal(hits[1].Nearby, []string{"heron"}) || hits[1].Terms != nil {
		t.Errorf("its neighbour says %+v", hits[1])
	}
	for _, h := range ask(t, &m, "heron soup") {
		if words := append(h.Terms, h.Nearby...); !slices.Equal(words, [][]string{{"heron"}, {"soup"}}[h.Doc%2]) {
			t.Errorf("document %d says %q of both sessions", h.Doc, words)
		}
	}
}

// What a small project holds is ranked as if nothing else existed.
func TestScopeStatistics(t *testing.T) {
	small := []string{"deploy the heron host", "deploy deploy the egret", "the heron is a host", "some long notes about cooking soup with pumpkin"}
	var alone, beside lexical.Memory
	for i := range 200 {
		beside.Add(lexical.Entry{Text: "heron heron heron", Project: 1, Session: 100 + uint32(i), Time: day})
	}
	for i, text := range small {
		alone.Add(lexical.Entry{Text: text, Project: 2, Session: 1 + uint32(i), Time: day})
		beside.Add(lexical.Entry{Text: text, Project: 2, Session: 1 + uint32(i), Time: day})
	}
	want := ask(t, &alone, "deploy heron")
	got := rank(t, lexical.Default(), &beside, lexical.Query{Text: "deploy heron", Projects: []uint32{2}})
	if len(got) != len(want) {
		t.Fatalf("found %v, want %v and 200", docs(got), docs(want))
	}
	for i := range got {
		if got[i].Doc != want[i].Doc+200 || got[i].Score != want[i].Score {
			t.Errorf("hit %d: document %d with %v, want %d with %v", i, got[i].Doc, got[i].Score, want[i].Doc+200, want[i].Score)
		}
	}
}

// A slip is one if the scope lacks the word, whoever else holds it.
func TestSlipsAreThoseOfTheScope(t *testing.T) {
	var m lexical.Memory
	m.Add(lexical.Entry{Text: "umbrela", Project: 1, Session: 1})
	m.Add(lexical.Entry{Text: "umbrella", Project: 2, Session: 2})
	if got := docs(rank(t, lexical.Default(), &m, lexical.Query{Text: "umbrela", Projects: []uint32{2}})); !slices.Equal(got, []uint32{1}) {
		t.Errorf("found %v, want 1", got)
	}
}

func TestFilters(t *testing.T) {
	var m lexical.Memory
	for i := range 6 {
		m.Add(lexical.Entry{Text: "heron", Session: 1 + uint32(i/2), Kind: uint8(i % 3), Time: day.AddDate(0, 0, i),
			Flags: map[int]lexical.Flags{4: lexical.Deleted, 5: lexical.Superseded}[i]})
	}
	tests := []struct {
		name  string
		query lexical.Query
		want  []uint32
	}{
		{"all that is there", lexical.Query{}, []uint32{0, 1, 2, 3}},
		{"history", lexical.Query{History: true}, []uint32{0, 1, 2, 3, 5}},
		{"a session", lexical.Query{Sessions: []uint32{2}}, []uint32{2, 3}},
		{"kinds", lexical.Query{Kinds: []uint8{0, 1}}, []uint32{0, 1, 3}},
		{"after", lexical.Query{After: day.AddDate(0, 0, 2)}, []uint32{2, 3}},
		{"before", lexical.Query{Before: day.AddDate(0, 0, 2)}, []uint32{0, 1}},
		{"nowhere", lexical.Query{Projects: []uint32{99}}, nil},
	}
	for _, tt := range tests {
		tt.query.Text = "heron"
		got := docs(rank(t, lexical.Default(), &m, tt.query))
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: found %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Nothing that was deleted speaks through its neighbours, or stands between them.
func TestDeletedIsNoNeighbour(t *testing.T) {
	var m lexical.Memory
	for i, text := range []string{"heron", "filler", "soup", "egret"} {
		m.Add(lexical.Entry{Text: text, Session: 1, Flags: []lexical.Flags{lexical.Deleted, 0}[i%2]})
	}
	if got := ask(t, &m, "heron"); got != nil {
		t.Errorf("a word of a deleted document finds %v", docs(got))
	}
	r := lexical.Default()
	r.Lend = []lexical.Share{{Distance: 1, Part: 0.5}}
	if got := docs(rank(t, r, &m, lexical.Query{Text: "filler"})); !slices.Equal(got, []uint32{1, 3}) {
		t.Errorf("found %v, want 1 and its next neighbour 3", got)
	}
}

func TestCues(t *testing.T) {
	var m lexical.Memory
	add := func(text, speaker string, days int) {
		m.Add(lexical.Entry{Text: text, Session: uint32(1000*len(text) + 10*len(speaker) + days), Speaker: speaker, Time: day.AddDate(0, 0, days)})
	}
	add("The garden needs water now.", "Maria", 0)
	add("The garden needs water now.", "José García", 0)
	add("My garden got water yesterday.", "Maria", 0)
	add("My garden got water, well.", "Maria", -300) // the oldest: only its date can put it first
	add("Does the garden get water now?", "", 400)
	first := func(q string) lexical.Hit {
		hits := ask(t, &m, q)
		if len(hits) != 5 {
			t.Fatalf("%q finds %v, want all five", q, docs(hits))
		}
		return hits[0]
	}
	if h := first("what did Jose say about garden water?"); h.Doc != 1 || h.Speaker != "José García" {
		t.Errorf("a name finds %+v first", h)
	}
	r := lexical.Default()
	r.Name = 0
	if h := rank(t, r, &m, lexical.Query{Text: "what did Jose say about garden water?"})[0]; h.Doc != 1 {
		t.Errorf("without counting the name it finds %+v first", h)
	}
	if h := ask(t, &m, "Garica"); len(h) != 1 || h[0].Doc != 1 {
		t.Errorf("a misspelt name finds %v", docs(h))
	}
	if h := first("when did the garden get water?"); h.Doc != 2 {
		t.Errorf("when finds %+v first", h)
	}
	for _, date := range []string{"7 May 2024", "May 7th, 2024", "2024-05-07", "7.5.2024", "7. Mai 2024", "7 de mayo de 2024", "2024年5月7日", "5月7日", "May 2024", "in May", "2024"} {
		if h := first("garden water on " + date); h.Doc != 3 || h.Date != date {
			t.Errorf("%s finds %+v first", date, h)
		}
	}
	hits := ask(t, &m, "garden water")
	if last := hits[len(hits)-1]; last.Doc != 4 {
		t.Errorf("a question comes before %+v", last)
	}
}

func TestBriefIsHeldBack(t *testing.T) {
	m := remember("Heron!", "The heron stands in shallow water.")
	if got := docs(ask(t, m, "heron")); !slices.Equal(got, []uint32{1, 0}) {
		t.Errorf("found %v, want the longer one first", got)
	}
	r := lexical.Default()
	r.Weights[lexical.Brief] = 0
	if got := docs(rank(t, r, m, lexical.Query{Text: "heron"})); !slices.Equal(got, []uint32{0, 1}) {
		t.Errorf("without Brief found %v, want the shorter one first", got)
	}
}

func TestNoDate(t *testing.T) {
	m := remember("may march", "port 2049")
	for _, q := range []string{"may march", "port 2149", "12345 march", "99 may", "31.13.2025 march"} {
		for _, h := range ask(t, m, q) {
			if h.Date != "" && h.Date != "2025" {
				t.Errorf("%q was read as the date %q", q, h.Date)
			}
		}
	}
}

func TestOrderOfEqualScores(t *testing.T) {
	var m lexical.Memory
	for i, age := range []int{1, 0, 2, 0} {
		m.Add(lexical.Entry{Text: "the heron flew", Session: 1 + uint32(i), Time: day.AddDate(0, 0, -age)})
	}
	want := []uint32{1, 3, 0, 2}
	for k := 1; k <= 4; k++ {
		hits, err := lexical.Default().Rank(context.Background(), &m, lexical.Query{Text: "heron"}, k)
		if err != nil || !slices.Equal(docs(hits), want[:k]) {
			t.Errorf("k=%d: %v, %v; want %v", k, docs(hits), err, want[:k])
		}
	}
}

func TestEachDocumentIsFoundOnce(t *testing.T) {
	for name, change := range map[string]func(*lexical.Ranking){
		"default":        func(*lexical.Ranking) {},
		"zero":           func(r *lexical.Ranking) { *r = lexical.Ranking{} },
		"questions sunk": func(r *lexical.Ranking) { r.Weights[lexical.Question] = -100 },
	} {
		var m lexical.Memory
		for _, text := range []string{"the heron flew", "nothing", "the heron again, heron", "nothing", "is that a heron?"} {
			m.Add(lexical.Entry{Text: text, Session: 1})
		}
		r := lexical.Default()
		change(&r)
		hits := rank(t, r, &m, lexical.Query{Text: "heron flew"})
		got := docs(hits)
		slices.Sort(got)
		if len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("%s: a document was found twice: %v", name, got)
		}
		for _, d := range []uint32{0, 2, 4} {
			if !slices.Contains(got, d) {
				t.Errorf("%s: document %d, which holds the word, was not found", name, d)
			}
		}
	}
}

func TestQueriesThatSayNothing(t *testing.T) {
	m := remember("heron")
	for _, q := range []string{"", " ", "???", "\x00\xff", "what is it?", "egret"} {
		if hits := ask(t, m, q); hits != nil {
			t.Errorf("%q finds %v", q, docs(hits))
		}
	}
	if hits := ask(t, &lexical.Memory{}, "heron"); hits != nil {
		t.Errorf("an empty memory finds %v", hits)
	}
	for _, k := range []int{0, -1} {
		if hits, err := lexical.Default().Rank(context.Background(), m, lexical.Query{Text: "heron"}, k); hits != nil || err != nil {
			t.Errorf("k=%d: %v, %v", k, hits, err)
		}
	}
}

func TestLongQuery(t *testing.T) {
	m := remember("heron", "egret", "osprey")
	var q strings.Builder
	q.WriteString("heron ")
	for i := range 20000 {
		fmt.Fprintf(&q, "w%dx ", i)
		if i == 10000 {
			q.WriteString("osprey ")
		}
	}
	q.WriteString("egret")
	if got := docs(ask(t, m, q.String())); !slices.Equal(got, []uint32{0, 1}) {
		t.Errorf("found %v, want what both ends find: 0 and 1", got)
	}
}
