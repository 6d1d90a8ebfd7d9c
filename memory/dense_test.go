package memory_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mylm/memory"
)

// meaning is an embedder that knows what some words are about. Each thing has
// a number of its own in a vector.
type meaning struct {
	name  string
	width int
	about map[string]int // word to thing
	fails error          // all of it
	idle  error          // documents only

	mu      sync.Mutex
	texts   []string
	queries int
}

func newMeaning() *meaning {
	return &meaning{name: "meaning/1", width: 8, about: map[string]int{
		"car": 1, "automobile": 1, "heron": 2, "bird": 2, "tea": 3, "drink": 3, "staging": 4, "rehearsal": 4,
	}}
}

func (m *meaning) Name() string { return m.name }

func (m *meaning) vector(text string) []float32 {
	v := make([]float32, m.width)
	for _, w := range strings.Fields(strings.ToLower(text)) {
		if thing, ok := m.about[strings.Trim(w, ".,?")]; ok {
			v[thing] += 3 // not of length 1: nobody promises that
		}
		if w == "nan" {
			v[0] = float32(math.NaN())
		}
	}
	return v
}

func (m *meaning) EmbedDocuments(ctx context.Context, texts []string) (vectors [][]float32, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := cmp.Or(m.fails, m.idle); err != nil {
		return nil, err
	}
	m.texts = append(m.texts, texts...)
	for _, t := range texts {
		vectors = append(vectors, m.vector(t))
	}
	return vectors, ctx.Err()
}

func (m *meaning) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queries++
	if m.fails != nil {
		return nil, m.fails
	}
	return m.vector(text), ctx.Err()
}

// unexpected fails the test for whatever it is told.
func unexpected(t *testing.T) func(error) {
	return func(err error) { t.Errorf("told: %v", err) }
}

func add(t testing.TB, s *memory.Store, documents ...memory.Document) []memory.Document {
	t.Helper()
	stored, err := s.Add(t.Context(), documents...)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func search(t testing.TB, s *memory.Store, q memory.Query) []memory.Hit {
	t.Helper()
	hits, err := s.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("Search(%q): %v", q.Text, err)
	}
	return hits
}

func textsOf(hits []memory.Hit) (texts []string) {
	for _, h := range hits {
		texts = append(texts, h.Text)
	}
	return texts
}

func TestVectorsFindWhatSharesNoWord(t *testing.T) {
	s, m := unhurried(t), newMeaning()
	s.Use(m, unexpected(t))
	add(t, s, memory.Document{Text: "Her automobile is red."}, memory.Document{Text: "She paints."}, memory.Document{Text: "They buy tea."})
	// Without words in common, the nearest are all there is; what is not near is not.
	got := search(t, s, memory.Query{Text: "car"})
	if !slices.Equal(textsOf(got), []string{"Her automobile is red."}) || got[0].Found.Similarity < 0.999 || got[0].Why() != "vector: 1.00" {
		t.Errorf("by meaning alone: %q, %+v", textsOf(got), got)
	}
	// What words find comes first.
	got = search(t, s, memory.Query{Text: "buy a car"})
	if !slices.Equal(textsOf(got), []string{"They buy tea.", "Her automobile is red."}) || !strings.HasPrefix(got[0].Why(), "words: ") || strings.Contains(got[0].Why(), "vector") {
		t.Errorf("by both: %q, %+v", textsOf(got), got)
	}
	s.Use(nil, nil)
	if got := search(t, s, memory.Query{Text: "car"}); len(got) != 0 {
		t.Errorf("without an embedder: %q", textsOf(got))
	}
}

// Of what holds the same words, that comes first whose meaning is near.
func TestVectorsLift(t *testing.T) {
	s, m := unhurried(t), newMeaning()
	s.Use(m, unexpected(t))
	for i := range 10 {
		add(t, s, memory.Document{Text: fmt.Sprintf("What did she buy, a house, number %d", i), Session: fmt.Sprint(i)})
	}
	add(t, s, memory.Document{Text: "What did she buy, an automobile, number 11", Session: "car", Time: day})
	for i := range 20 {
		add(t, s, memory.Document{Text: fmt.Sprint("something else ", i)})
	}
	got := search(t, s, memory.Query{Text: "Which car did she buy?"})
	if len(got) != 5 || !strings.Contains(got[0].Text, "automobile") || !strings.Contains(got[0].Why(), "; vector: 1.00") {
		t.Errorf("%q", textsOf(got))
	}
}

func TestEachSearchAsksTheVectors(t *testing.T) {
	s, m := unhurried(t), newMeaning()
	s.Use(m, unexpected(t))
	for i := range 12 { // without chance: what an embedder makes of a word may cancel another out
		add(t, s, memory.Document{Text: fmt.Sprint("tea ", i)})
	}
	for i, text := range []string{"tea", "drink", "no such word", "tea tea"} {
		search(t, s, memory.Query{Text: text, Limit: 3})
		if m.queries != i+1 {
			t.Errorf("after %d searches the embedder was asked %d times", i+1, m.queries)
		}
	}
	hits := search(t, s, memory.Query{Text: "tea", Limit: 3})
	for _, h := range hits { // words fill the list, and the vectors were looked at all the same
		if h.Found.Similarity == 0 {
			t.Errorf("no vector was compared: %+v", h)
		}
	}
	search(t, s, memory.Query{Text: "  "})
	if m.queries != 5 {
		t.Error("an empty question was embedded")
	}
}

func TestVectorsStayInScope(t *testing.T) {
	s, m := unhurried(t), newMeaning()
	s.Use(m, unexpected(t))
	add(t, s,
		memory.Document{Text: "an automobile", Project: "p", Session: "1", Time: day},
		memory.Document{Text: "an old automobile", Project: "p", Session: "2", Kind: memory.Exchange, Time: day.Add(48 * time.Hour)},
		memory.Document{Text: "the automobile of q", Project: "q", Session: "1", Time: day})
	for i := range 30 {
		add(t, s, memory.Document{Text: fmt.Sprint("filler automobile ", i), Project: "r", Time: day})
	}
	old := add(t, s, memory.Document{Text: "a wrong automobile", Project: "p"})[0]
	now := add(t, s, memory.Document{Text: "a right bird", Project: "p"})[0]
	if err := s.Supersede(t.Context(), old.ID, now.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Embed(t.Context(), m, nil); err != nil { // a search embeds only for as long as it has time
		t.Fatal(err)
	}
	all := []string{"an automobile", "an old automobile", "the automobile of q"}
	for range 2 { // the first loads, the second finds loaded what others wanted
		for _, tt := range []struct {
			name string
			q    memory.Query
			want []string
		}{
			{"everything", memory.Query{Limit: 50}, nil},
			{"project", memory.Query{Projects: []string{"p"}}, all[:2]},
			{"projects", memory.Query{Projects: []string{"p", "q"}}, all},
			{"session", memory.Query{Sessions: []string{"1"}}, []string{all[0], all[2]}},
			{"kind", memory.Query{Kinds: []memory.Kind{memory.Exchange}}, all[1:2]},
			{"before", memory.Query{Projects: []string{"p"}, Before: day.Add(time.Hour)}, all[:1]},
			{"after", memory.Query{Projects: []string{"p"}, After: day.Add(time.Hour)}, all[1:2]},
			{"history", memory.Query{Projects: []string{"p"}, History: true}, []string{all[0], all[1], "a wrong automobile"}},
			{"nowhere", memory.Query{Projects: []string{"nowhere"}}, nil},
		} {
			tt.q.Text = "car"
			got := textsOf(search(t, s, tt.q))
			if tt.name == "everything" {
				if len(got) != 33 {
					t.Errorf("everything: %d hits, want 33", len(got))
				}
			} else if !slices.Equal(got, tt.want) {
				t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			}
		}
	}
}

// The order of equally near documents, and which of them are left out, must
// not depend on chance.
func TestVectorsTie(t *testing.T) {
	s, m := unhurried(t), newMeaning()
	s.Use(m, unexpected(t))
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprint("automobile ", i))
		add(t, s, memory.Document{Text: want[i]})
	}
	for range 20 {
		if got := textsOf(search(t, s, memory.Query{Text: "car"})); !slices.Equal(got, want[:5]) {
			t.Fatalf("%q, want %q", got, want[:5])
		}
	}
}

func TestVectorsFollowChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, other := open(t, path), open(t, path)
	defer s.Close()
	defer other.Close()
	m := newMeaning()
	s.Use(m, func(err error) {
		if m.idle == nil {
			t.Errorf("told: %v", err)
		}
	})
	find := func(text string, want ...string) {
		t.Helper()
		if got := textsOf(search(t, s, memory.Query{Text: text})); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	find("car")
	d := add(t, other, memory.Document{Text: "an automobile"})[0]
	find("car", "an automobile")
	add(t, other, memory.Document{Text: "a heron"})
	if err := other.Embed(t.Context(), m, nil); err != nil { // its vectors are made elsewhere
		t.Fatal(err)
	}
	find("bird", "a heron")
	if _, err := other.Edit(t.Context(), d.ID, "some tea"); err != nil {
		t.Fatal(err)
	}
	m.idle = errors.New("away") // so that the old vector is not replaced
	find("car")
	m.idle = nil
	find("drink", "some tea")
	if _, err := other.Edit(t.Context(), d.ID, "an automobile again"); err != nil {
		t.Fatal(err)
	}
	find("drink")
	find("car", "an automobile again")
	if n, err := other.Forget(t.Context(), memory.Filter{IDs: []string{d.ID}}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	find("car")
	find("bird", "a heron")
	if err := other.DropVectors(t.Context(), m.name); err != nil {
		t.Fatal(err)
	}
	add(t, other, memory.Document{Text: "another automobile"})
	find("bird", "a heron")
	find("car", "another automobile")
	m.width = 16 // of another model under the same name
	add(t, other, memory.Document{Text: "some drink"})
	if err := other.Embed(t.Context(), m, nil); err != nil {
		t.Fatal(err)
	}
	find("bird", "a heron")
	find("car", "another automobile")
}

// TestVectorAfterForgetting: what is added after the last document was forgotten
// gets a vector, too.
func TestVectorAfterForgetting(t *testing.T) {
	s, m := fresh(t), newMeaning()
	all := add(t, s, memory.Document{Text: "a heron"}, memory.Document{Text: "some tea"})
	if err := s.Embed(t.Context(), m, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(t.Context(), memory.Filter{IDs: []string{all[1].ID}}); err != nil {
		t.Fatal(err)
	}
	add(t, s, memory.Document{Text: "an automobile"})
	if err := s.Embed(t.Context(), m, nil); err != nil {
		t.Fatal(err)
	}
	s.Use(m, unexpected(t))
	if got := textsOf(search(t, s, memory.Query{Text: "car"})); len(got) != 1 {
		t.Errorf("found %q", got)
	}
}

// TestVectorsAreKept: a process that searches often keeps the vectors, and finds what
// one finds that reads them from the file, whatever was changed by whomever.
func TestVectorsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	sample(t, path, 300)
	s, other := open(t, path), open(t, path)
	defer s.Close()
	defer other.Close()
	s.Use(noise{}, unexpected(t))
	same := func(step string) {
		t.Helper()
		if err := other.Embed(t.Context(), noise{}, nil); err != nil {
			t.Fatal(err)
		}
		once := open(t, path)
		defer once.Close()
		once.Use(noise{}, unexpected(t))
		for _, q := range []string{"xylophone", question} { // all vectors; those of candidates
			if got, want := search(t, s, memory.Query{Text: q}), search(t, once, memory.Query{Text: q}); len(want) == 0 || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %q finds %q, in another process %q", step, q, textsOf(got), textsOf(want))
			}
		}
	}
	same("from the file")
	same("from what is kept")
	best := search(t, s, memory.Query{Text: "xylophone"})
	add(t, other, memory.Document{Text: "xylophone"})
	same("one more")
	if _, err := other.Edit(t.Context(), best[0].ID, "something else, "+question); err != nil {
		t.Fatal(err)
	}
	same("another text")
	if _, err := other.Forget(t.Context(), memory.Filter{IDs: []string{best[1].ID}}); err != nil {
		t.Fatal(err)
	}
	same("one less")
	if err := other.DropVectors(t.Context(), noise{}.Name()); err != nil {
		t.Fatal(err)
	}
	same("all made again")
}

func TestVectorsTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	stores := []*memory.Store{open(t, path), open(t, path)}
	m := newMeaning()
	var all sync.WaitGroup
	for i, s := range stores {
		defer s.Close()
		s.Use(m, unexpected(t))
		for j := range 2 {
			all.Go(func() {
				for n := range 20 {
					d, err := s.Add(t.Context(), memory.Document{Text: fmt.Sprintf("automobile %d.%d.%d", i, j, n)})
					if err == nil && n%5 == 4 {
						_, err = s.Edit(t.Context(), d[0].ID, fmt.Sprintf("tea %d.%d.%d", i, j, n))
					}
					if err == nil && n%7 == 6 {
						_, err = s.Forget(t.Context(), memory.Filter{IDs: []string{d[0].ID}})
					}
					var hits []memory.Hit
					if err == nil {
						hits, err = s.Search(t.Context(), memory.Query{Text: "car", Limit: 100})
					}
					if err != nil {
						t.Error(err)
						return
					}
					for _, h := range hits {
						if !strings.HasPrefix(h.Text, "automobile") {
							t.Errorf("%q is a car", h.Text)
						}
					}
				}
			})
		}
	}
	all.Wait()
	for _, s := range stores {
		if hits := search(t, s, memory.Query{Text: "car", Limit: 100}); len(hits) != 4*(20-4-2) {
			t.Errorf("%d hits at the end", len(hits))
		}
	}
}

// TestVectorsOfEarlierVersions: those that were stored with four bytes a number
// still count.
func TestVectorsOfEarlierVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	sample(t, path, 50)
	nearest := func() []string {
		s := open(t, path)
		defer s.Close()
		if err := s.Embed(t.Context(), noise{}, nil); err != nil {
			t.Fatal(err)
		}
		s.Use(noise{}, func(err error) { t.Error(err) })
		return textsOf(search(t, s, memory.Query{Text: "xylophone"}))
	}
	want := nearest()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for num := range 51 {
		var packed []byte
		if err := db.QueryRow("SELECT data FROM vectors WHERE num = ?", num).Scan(&packed); err != nil {
			continue
		}
		var long []byte
		for _, b := range packed {
			long = binary.LittleEndian.AppendUint32(long, math.Float32bits(float32(int8(b))/9))
		}
		if _, err := db.Exec("UPDATE vectors SET data = ? WHERE num = ?", long, num); err != nil {
			t.Fatal(err)
		}
	}
	if got := nearest(); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("found %q, before %q", got, want)
	}
}
