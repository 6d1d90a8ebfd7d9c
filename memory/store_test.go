package memory_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mylm/memory"
	"mylm/memory/lexical"
	"mylm/memory/memorytest"
)

func TestConformance(t *testing.T) {
	memorytest.Run(t, func(t *testing.T, path string) memorytest.Store {
		t.Helper()
		return open(t, path)
	})
}

// open opens a memory whose closing is the caller's business.
func open(t testing.TB, path string) *memory.Store {
	t.Helper()
	s, err := memory.Open(t.Context(), path, memory.Options{})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
}

// fresh opens an empty memory.
func fresh(t *testing.T) *memory.Store {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "memory.db"))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// unhurried opens an empty memory whose clock a busy machine does not make pass: a
// search embeds all that it may.
func unhurried(t *testing.T) *memory.Store {
	t.Helper()
	var ticks atomic.Int64
	began := time.Now()
	now := func() time.Time { return began.Add(time.Duration(ticks.Add(1)) * time.Microsecond) }
	s, err := memory.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"), memory.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestSearchIsTheRanking compares the store with an index in memory: segments,
// what is pending and what was deleted must make no difference.
func TestSearchIsTheRanking(t *testing.T) {
	s := fresh(t)
	var entries []lexical.Entry
	r := rand.New(rand.NewPCG(6, 6))
	text, texts := texts(6), []string{}
	ids, keep := map[uint32]string{}, map[uint32]bool{}
	for range rounds(3, 9) { // segments of several sizes, and some pending
		var some []memory.Document
		for range 20 + r.IntN(200) {
			n := r.IntN(20)
			some = append(some, memory.Document{Text: text(), Project: fmt.Sprint("p", n%3), Session: fmt.Sprint("s", n),
				Speaker: []string{"", "Ada", "Grace"}[n%3], Time: day.Add(time.Duration(len(ids)+len(some)) * time.Minute)})
		}
		stored, err := s.Add(t.Context(), some...)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range stored {
			ids[uint32(len(entries))] = d.ID
			entries = append(entries, lexical.Entry{Text: d.Text, Project: number(d.Project), Session: 1 + 10*number(d.Session) + number(d.Project), Speaker: d.Speaker, Time: d.Time})
			texts = append(texts, d.Text)
		}
		for range 10 {
			n := uint32(r.IntN(len(ids)))
			if ids[n] == "" || keep[n] {
				continue
			}
			if _, err := s.Forget(t.Context(), memory.Filter{IDs: []string{ids[n]}}); err != nil {
				t.Fatal(err)
			}
			entries[n].Flags = lexical.Deleted
			ids[n] = ""
		}
		old, by := uint32(r.IntN(len(ids))), uint32(r.IntN(len(ids)))
		if ids[old] != "" && ids[by] != "" && old < by {
			if err := s.Supersede(t.Context(), ids[old], ids[by]); err != nil {
				t.Fatal(err)
			}
			entries[old].Flags |= lexical.Superseded
			keep[by] = true // to forget it would bring the other back
		}
		var want lexical.Memory
		for _, e := range entries {
			want.Add(e)
		}
		for range 20 {
			words := strings.Fields(texts[r.IntN(len(texts))])
			q := strings.Join(words[:min(len(words), 2+r.IntN(5))], " ")
			if r.IntN(2) == 0 {
				q += " Ada " + words[0] + "x"
			}
			query, wanted := memory.Query{Text: q, Limit: 10}, lexical.Query{Text: q}
			if p := fmt.Sprint("p", r.IntN(4)); p != "p3" {
				query.Projects, wanted.Projects = []string{p}, []uint32{number(p)}
			}
			hits, err := s.Search(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			best, err := lexical.Default().Rank(t.Context(), &want, wanted, 10)
			if err != nil {
				t.Fatal(err)
			}
			var got, expected []string
			for _, h := range hits {
				got = append(got, fmt.Sprintf("%s %.4f %v", h.ID, h.Found.Score, h.Found.Terms))
			}
			for _, h := range best {
				expected = append(expected, fmt.Sprintf("%s %.4f %v", ids[h.Doc], h.Score, h.Terms))
			}
			if !slices.Equal(got, expected) {
				t.Fatalf("%q in %v with %d documents:\n got %q\nwant %q", q, query.Projects, len(ids), got, expected)
			}
		}
	}
	healthy(t, s)
}

// number is that in a name.
func number(name string) uint32 {
	n, _ := strconv.Atoi(name[1:])
	return uint32(n)
}

// A directory's name need not be UTF-8: its memories are found there all the same.
func TestNamesThatAreNotUTF8(t *testing.T) {
	s := fresh(t)
	const project, session = "caf\xe9\xe9", "\xff"
	add(t, s, memory.Document{Text: "the staging host is heron", Project: project, Session: session})
	for _, q := range []memory.Query{{Text: "heron", Projects: []string{project}}, {Text: "heron", Sessions: []string{session}}} {
		if hits := search(t, s, q); len(hits) != 1 {
			t.Errorf("%+v: %d hits", q, len(hits))
		}
	}
	if all, err := s.List(t.Context(), memory.Filter{Projects: []string{project}, Sessions: []string{session}}, 0); err != nil || len(all) != 1 {
		t.Errorf("%d documents, %v", len(all), err)
	}
}

func TestImportForms(t *testing.T) {
	turns := memory.Fields{ID: "id", Project: "scope", Session: "session", Time: "time", Speaker: "speaker", Text: []string{"text", "caption"},
		Tags: "tags", Default: memory.Document{Kind: memory.Exchange, Source: "benchmark"}}.Mapping()
	for _, tt := range []struct {
		name, in string
		mapping  memory.Mapping
		want     []memory.Document
		did      memory.Imported
		fails    string
	}{
		{"other fields", `{"id":"c/1","scope":"c","session":1,"turn":1,"time":"2023-05-08T13:56:00","speaker":"Caroline","text":"Hey Mel!","tags":["x",1]}
			{"id":"c/2","scope":"c","session":1,"turn":2,"time":"2023-05-08T13:56:00","speaker":"Melanie","text":"Look","caption":"a photo of a dog"}
			{"id":"c/3","scope":"c","text":" "}`, turns,
			[]memory.Document{
				{ID: "c/1", Project: "c", Session: "1", Time: time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC), Speaker: "Caroline", Text: "Hey Mel!", Kind: memory.Exchange, Source: "benchmark", Tags: []string{"x", "1"}},
				{ID: "c/2", Project: "c", Session: "1", Time: time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC), Speaker: "Melanie", Text: "Look\na photo of a dog", Kind: memory.Exchange, Source: "benchmark"},
			}, memory.Imported{Records: 3, Added: 2, Skipped: 1}, ""},
		{"llm logs", `[{"id":"01h","model":"gpt-4o","prompt":"Which host?","response":"heron","conversation_id":"c1","datetime_utc":"2026-01-02T03:04:05.123456+00:00"},
			{"id":"01i","model":"gpt-4o","prompt":"","response":"only this","conversation_id":"c1","datetime_utc":"2026-01-02T03:04:06"}]`, memory.LLMLogs(""),
			[]memory.Document{
				{ID: "01h/prompt", Kind: memory.Exchange, Role: "user", Session: "c1", Source: "llm gpt-4o", Time: time.Date(2026, 1, 2, 3, 4, 5, 123456000, time.UTC), Text: "Which host?"},
				{ID: "01h/response", Kind: memory.Exchange, Role: "assistant", Session: "c1", Source: "llm gpt-4o", Time: time.Date(2026, 1, 2, 3, 4, 5, 123456000, time.UTC), Text: "heron"},
				{ID: "01i/response", Kind: memory.Exchange, Role: "assistant", Session: "c1", Source: "llm gpt-4o", Time: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC), Text: "only this"},
			}, memory.Imported{Records: 2, Added: 3}, ""},
		{"seconds", `{"text":"x","id":"1","time":1700000000.5}`, memory.Fields{ID: "id", Text: []string{"text"}, Time: "time"}.Mapping(),
			[]memory.Document{{ID: "1", Text: "x", Kind: memory.Note, Time: time.UnixMilli(1700000000500).UTC()}}, memory.Imported{Records: 1, Added: 1}, ""},
		{"nothing", " \n", nil, nil, memory.Imported{}, ""},
		{"an empty array", "[]", nil, nil, memory.Imported{}, ""},
		{"broken after one", `{"id":"1","text":"kept","time":"2026-01-02T03:04:05Z"}` + "\n{\"id\":", nil,
			[]memory.Document{{ID: "1", Text: "kept", Kind: memory.Note, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}, memory.Imported{Records: 1, Added: 1}, "record 2"},
		{"no objects", "1 2", nil, nil, memory.Imported{}, "record 1, before byte 1: it is not a JSON object"},
		{"an array behind white space", strings.Repeat(" ", 600) + `[{"id":"1","text":"kept","time":"2026-01-02T03:04:05Z"}]`, nil,
			[]memory.Document{{ID: "1", Text: "kept", Kind: memory.Note, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}, memory.Imported{Records: 1, Added: 1}, ""},
		{"a byte order mark", "\ufeff" + `{"id":"1","text":"kept","time":"2026-01-02T03:04:05Z"}`, memory.Exported("shop"),
			[]memory.Document{{ID: "1", Text: "kept", Kind: memory.Note, Project: "shop", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}, memory.Imported{Records: 1, Added: 1}, ""},
		{"a project of its own", `{"id":"1","text":"kept","project":"den","time":"2026-01-02T03:04:05Z"}`, memory.Exported("shop"),
			[]memory.Document{{ID: "1", Text: "kept", Kind: memory.Note, Project: "den", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}, memory.Imported{Records: 1, Added: 1}, ""},
		{"cut array", `[{"id":"1","text":"kept","time":"2026-01-02T03:04:05Z"}`, nil,
			[]memory.Document{{ID: "1", Text: "kept", Kind: memory.Note, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}, memory.Imported{Records: 1, Added: 1}, "after record 1"},
		{"a bad time", `{"id":"1","text":"x","time":"yesterday"}`, turns, nil, memory.Imported{}, "yesterday"},
		{"the wrong fields", `{"content":"x"}{"content":"y"}`, turns, nil, memory.Imported{Records: 2, Skipped: 2}, "other names"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := fresh(t)
			did, err := s.Import(t.Context(), strings.NewReader(tt.in), tt.mapping)
			if did != tt.did || (err != nil) != (tt.fails != "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("Import = %+v, %v, want %+v and %q", did, err, tt.did, tt.fails)
			}
			got, err := s.List(t.Context(), memory.Filter{}, 0)
			if err != nil {
				t.Fatal(err)
			}
			slices.Reverse(got)
			for i := range tt.want {
				tt.want[i].Count, tt.want[i].Last = 1, tt.want[i].Time
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("there is %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// TestExportMany takes more documents through a file than fit into a portion.
func TestExportMany(t *testing.T) {
	long(t)
	s, other := fresh(t), fresh(t)
	n := rounds(1100, 10_000)
	fill(t, s, n)
	var out, again bytes.Buffer
	if wrote, err := s.Export(t.Context(), &out, memory.Filter{}); wrote != n || err != nil {
		t.Fatalf("Export = %d, %v, want %d", wrote, err, n)
	}
	if did, err := other.Import(t.Context(), bytes.NewReader(out.Bytes()), nil); did != (memory.Imported{Records: n, Added: n}) || err != nil {
		t.Fatalf("Import = %+v, %v", did, err)
	}
	if _, err := other.Export(t.Context(), &again, memory.Filter{}); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("exported again it is not the same, %v", err)
	}
	if _, err := s.Export(t.Context(), brokenPipe{}, memory.Filter{}); !errors.Is(err, errPipe) {
		t.Errorf("Export to what cannot be written to: %v, want %v", err, errPipe)
	}
	healthy(t, other)
}

type brokenPipe struct{}

var errPipe = errors.New("broken pipe")

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

// TestWaitEnds has a writer wait for another until its context is done.
func TestWaitEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s := open(t, path)
	defer s.Close()
	release := hold(t, path)
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := s.Add(ctx, memory.Document{Text: "x"}); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, memory.ErrBusy) {
		t.Errorf("Add while another writes: %v, want %v that says why", err, context.DeadlineExceeded)
	}
	impatient, err := memory.Open(t.Context(), path, memory.Options{Wait: 30 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer impatient.Close()
	if _, err := impatient.Add(t.Context(), memory.Document{Text: "x"}); !errors.Is(err, memory.ErrBusy) {
		t.Errorf("Add while another writes for long: %v, want ErrBusy", err)
	}
	if _, err := impatient.List(t.Context(), memory.Filter{}, 0); err != nil {
		t.Errorf("a reader waits for a writer: %v", err)
	}
	release()
	if _, err := impatient.Add(t.Context(), memory.Document{Text: "x"}); err != nil {
		t.Errorf("Add when the other is done: %v", err)
	}
}

func TestNothingLeftBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	use := func() {
		s := open(t, path)
		if _, err := s.Add(t.Context(), memory.Document{Text: "x"}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Search(t.Context(), memory.Query{Text: "x"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	use()
	before := runtime.NumGoroutine()
	for range 10 {
		use()
	}
	deadline := time.Now().Add(time.Minute)
	for runtime.NumGoroutine() > before+2 && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > before+2 {
		t.Errorf("%d goroutines, %d before", n, before)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || !slices.Equal(files, []string{path, path + ".lock"}) {
		t.Errorf("the files are %v, %v, want the memory and its lock", files, err)
	}
}

// countdown is a context that is cancelled when it is looked at for the left-th time.
type countdown struct {
	context.Context
	left   atomic.Int32
	cancel func()
}

func (c *countdown) Done() <-chan struct{} {
	if c.left.Add(-1) == 0 {
		c.cancel()
	}
	return c.Context.Done()
}

// A write that is cancelled anywhere in its transaction says so.
func TestAddIsCancelledAnywhere(t *testing.T) {
	s := fresh(t)
	for n := int32(1); ; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		c := &countdown{Context: ctx, cancel: cancel}
		c.left.Store(n)
		_, err := s.Add(c, memory.Document{Text: fmt.Sprint("a", n)}, memory.Document{Text: fmt.Sprint("b", n)}, memory.Document{Text: fmt.Sprint("c", n)})
		cancel()
		if err == nil && c.left.Load() > 0 {
			break
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("at %d: %v", n, err)
		}
	}
}
