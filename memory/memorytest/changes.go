package memorytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mylm/memory"
)

func edits(t *testing.T, s *suite) {
	ids := s.notes(t, memory.Document{Session: "s"}, "before", "the host is heron", "after")
	if got := found(t, s, memory.Query{Text: "heron"}); len(got) == 0 { // fills what caches there are
		t.Error("the text is not found before it is edited")
	}
	changed, err := s.Edit(t.Context(), ids[1], "the host is kestrel, password=hunter2")
	if err != nil || changed.ID != ids[1] || changed.Text != "the host is kestrel, password=[redacted: password]" {
		t.Fatalf("Edit = %+v, %v", changed, err)
	}
	if got := s.get(t, ids[1]); !reflect.DeepEqual(got, changed) {
		t.Errorf("Get after Edit = %+v, want %+v", got, changed)
	}
	if got, err := s.Around(t.Context(), ids[0], 2); err != nil || !slices.Equal(idsOf(got), ids) {
		t.Errorf("after Edit the session is %v, %v, want %v", idsOf(got), err, ids)
	}
	if got := found(t, s, memory.Query{Text: "kestrel", Limit: 1}); !slices.Equal(got, ids[1:2]) {
		t.Errorf("the new word finds %v", got)
	}
	if got := found(t, s, memory.Query{Text: "heron"}); len(got) != 0 {
		t.Errorf("the old word finds %v", got)
	}
	if _, err := s.Edit(t.Context(), "nothing", "x"); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("Edit of an unknown ID: %v", err)
	}
	if _, err := s.Edit(t.Context(), ids[0], ""); !errors.Is(err, memory.ErrEmpty) {
		t.Errorf("Edit to nothing: %v", err)
	}
}

func forgets(t *testing.T, s *suite) {
	p := s.notes(t, memory.Document{Project: "p"}, "heron one", "heron two", "heron three")
	q := s.notes(t, memory.Document{Project: "q"}, "heron four")
	for _, empty := range []memory.Filter{{}, {IDs: []string{}}, {History: true}, {Projects: []string{}}} {
		if n, err := s.Forget(t.Context(), empty); !errors.Is(err, memory.ErrEverything) || n != 0 {
			t.Fatalf("Forget(%+v) = %d, %v, want ErrEverything", empty, n, err)
		}
	}
	if n, err := s.Forget(t.Context(), memory.Filter{IDs: []string{p[1], "nothing"}}); n != 1 || err != nil {
		t.Errorf("Forget of one ID = %d, %v", n, err)
	}
	if _, err := s.Get(t.Context(), p[1]); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("Get of what was forgotten: %v", err)
	}
	if got := found(t, s, memory.Query{Text: "heron"}); slices.Contains(got, p[1]) || len(got) != 3 {
		t.Errorf("after Forget a search finds %v", got)
	}
	if n, err := s.Forget(t.Context(), memory.Filter{Projects: []string{"p"}}); n != 2 || err != nil {
		t.Errorf("Forget of a project = %d, %v, want 2", n, err)
	}
	if got := found(t, s, memory.Query{Text: "heron"}); !slices.Equal(got, q) {
		t.Errorf("what is left is %v, want %v", got, q)
	}
	fresh := s.notes(t, memory.Document{Project: "q"}, "heron five")
	if got := found(t, s, memory.Query{Text: "five"}); !slices.Equal(got[:1], fresh) {
		t.Errorf("what was added after Forget: %v, want %v first", got, fresh)
	}
	if n, err := s.Forget(t.Context(), memory.Filter{Everything: true, Projects: []string{"nothing"}}); n != 0 || err != nil {
		t.Errorf("Forget of everything in a project that there is not = %d, %v", n, err)
	}
	if n, err := s.Forget(t.Context(), memory.All); n != 2 || err != nil {
		t.Errorf("Forget(All) = %d, %v", n, err)
	}
}

func supersedes(t *testing.T, s *suite) {
	ids := s.notes(t, memory.Document{}, "the staging host is heron", "the staging host is kestrel", "the staging host is merlin")
	if got := found(t, s, memory.Query{Text: "staging host"}); len(got) != 3 {
		t.Errorf("before Supersede a search finds %v", got)
	}
	for i := range 2 {
		if err := s.Supersede(t.Context(), ids[i], ids[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.get(t, ids[0]); got.SupersededBy != ids[1] {
		t.Errorf("SupersededBy is %q, want %q", got.SupersededBy, ids[1])
	}
	if got := found(t, s, memory.Query{Text: "staging host"}); !slices.Equal(got, ids[2:]) {
		t.Errorf("a search finds %v, want the last, %v", got, ids[2:])
	}
	if got := found(t, s, memory.Query{Text: "heron staging host", History: true}); len(got) != 3 || got[0] != ids[0] {
		t.Errorf("with history a search finds %v, want all three, %s first", got, ids[0])
	}
	if got, err := s.List(t.Context(), memory.Filter{}, 0); err != nil || len(got) != 1 {
		t.Errorf("List has %d, %v, want 1", len(got), err)
	}
	if got, err := s.List(t.Context(), memory.Filter{History: true}, 0); err != nil || len(got) != 3 {
		t.Errorf("List with history has %d, %v, want 3", len(got), err)
	}
	for _, circle := range [][2]string{{ids[2], ids[0]}, {ids[2], ids[2]}} {
		if err := s.Supersede(t.Context(), circle[0], circle[1]); err == nil {
			t.Errorf("%s may correct %s, which is a circle", circle[1], circle[0])
		}
	}
	if _, err := s.Correct(t.Context(), ids[2], memory.Document{Text: "the staging host is merlin"}); err == nil {
		t.Error("a text corrects itself")
	}
	if got := s.get(t, ids[2]); got.SupersededBy != "" || got.Count != 1 {
		t.Errorf("after a correction that was refused it is %+v", got)
	}
	by, err := s.Correct(t.Context(), ids[2], memory.Document{Text: "the staging host is lapwing"})
	if got := s.get(t, ids[2]); err != nil || got.SupersededBy != by.ID || by.ID == "" {
		t.Errorf("corrected, it is %+v (%v)", got, err)
	}
	if n, err := s.Forget(t.Context(), memory.Filter{IDs: []string{by.ID}}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if err := s.Supersede(t.Context(), ids[2], "nothing"); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("Supersede by an unknown ID: %v", err)
	}
	if again := s.notes(t, memory.Document{}, "the staging host is heron")[0]; again == ids[0] {
		t.Error("what was corrected and is said again counts as the corrected one")
	}
	if n, err := s.Forget(t.Context(), memory.Filter{IDs: ids[1:2]}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if got := s.get(t, ids[0]); got.SupersededBy != "" {
		t.Errorf("its correction was forgotten, but SupersededBy is %q", got.SupersededBy)
	}
	if err := s.Supersede(t.Context(), ids[0], ids[2]); err != nil {
		t.Fatal(err)
	}
	if err := s.Supersede(t.Context(), ids[0], ""); err != nil || s.get(t, ids[0]).SupersededBy != "" {
		t.Errorf("taking it back: %v, %+v", err, s.get(t, ids[0]))
	}
}

// circles imports corrections that go round, which leave nothing to be found.
func circles(t *testing.T, s *suite) {
	const in = `{"id":"a","text":"heron","superseded_by":"b"}
		{"id":"b","text":"kestrel","superseded_by":"d"}
		{"id":"c","text":"merlin"}
		{"id":"d","text":"osprey","superseded_by":"a"}`
	did, err := s.Import(t.Context(), strings.NewReader(in), nil)
	if want := (memory.Imported{Records: 4, Added: 4, Circles: 1}); err != nil || did != want {
		t.Fatalf("Import of a circle = %+v, %v, want %+v", did, err, want)
	}
	for id, want := range map[string]string{"a": "b", "b": "d", "d": ""} {
		if got := s.get(t, id).SupersededBy; got != want {
			t.Errorf("%s is superseded by %q, want %q", id, got, want)
		}
	}
	if err := s.Supersede(t.Context(), "c", "a"); err != nil {
		t.Errorf("Supersede by one of them: %v", err)
	}
	if _, err := s.Import(t.Context(), strings.NewReader(`{"id":"d","text":"osprey","superseded_by":"c"}`), nil); err != nil {
		t.Fatal(err)
	}
	if got := s.get(t, "d").SupersededBy; got != "" {
		t.Errorf("an import closed a circle with what was there: d is superseded by %q", got)
	}
}

// hiding imports corrections of what is there: only of what it says, too.
func hiding(t *testing.T, s *suite) {
	mine := s.add(t, memory.Document{Text: "the staging host is heron", Time: day})[0]
	line := func(text string) string {
		return fmt.Sprintf(`{"id":"EVIL","text":"the staging host is evil"}
			{"id":%q,"text":%q,"time":%q,"superseded_by":"EVIL"}`, mine.ID, text, mine.Time.Format(time.RFC3339Nano))
	}
	did, err := s.Import(t.Context(), strings.NewReader(line("junk")), nil)
	if want := (memory.Imported{Records: 2, Added: 1, Known: 1, Kept: 1}); err != nil || did != want || s.get(t, mine.ID).SupersededBy != "" {
		t.Errorf("a file hides what it does not know: %+v, %v", did, err)
	}
	if _, err := s.Import(t.Context(), strings.NewReader(line(mine.Text)), nil); err != nil || s.get(t, mine.ID).SupersededBy != "EVIL" {
		t.Errorf("an import that ended early cannot be made again: %v", err)
	}
}

// future imports IDs that come after all others, and between which there is no
// room.
func future(t *testing.T, s *suite) {
	const in = `{"id":"8000000000001","text":"first"}
		{"id":"fzzzzzzzzzzzz","text":"second"}
		{"id":"8000000000000","text":"third"}`
	if did, err := s.Import(t.Context(), strings.NewReader(in), nil); err != nil || did.Added != 3 {
		t.Fatal(did, err)
	}
	last := ""
	for _, text := range []string{"a", "b", "c"} {
		d := s.add(t, memory.Document{Text: text})[0]
		if d.ID >= "8" || d.ID <= last {
			t.Errorf("the ID of %s is %s, after %s", text, d.ID, last)
		}
		last = d.ID
	}
}

func secrets(t *testing.T, s *suite) {
	const key = "AKIAIOSFODNN7EXAMPLE"
	everywhere := s.add(t, memory.Document{ID: key, Text: "x", Role: key, Speaker: key, Session: key, Project: key, Source: key})[0]
	if strings.Contains(fmt.Sprintf("%+v", everywhere), key) || everywhere.ID == "" {
		t.Errorf("a secret beside the text is kept: %+v", everywhere)
	}
	d := s.add(t, memory.Document{Text: "deploy with AKIAIOSFODNN7EXAMPLE today", Tags: []string{"password=hunter2"}})[0]
	for _, got := range []memory.Document{d, s.get(t, d.ID)} {
		if got.Text != "deploy with [redacted: AWS key] today" || got.Tags[0] != "password=[redacted: password]" {
			t.Errorf("%+v holds a secret", got)
		}
	}
	if got := found(t, s, memory.Query{Text: "AKIAIOSFODNN7EXAMPLE"}); len(got) != 0 {
		t.Errorf("a search for the key finds %v", got)
	}
	_, err := s.Import(t.Context(), strings.NewReader(`{"id":"i","text":"token=abc123def456ghi7"}`), nil)
	if got := s.get(t, "i"); err != nil || got.Text != "token=[redacted: secret]" {
		t.Errorf("imported: %+v, %v", got, err)
	}
}

func exports(t *testing.T, s *suite) {
	ids := s.notes(t, memory.Document{Project: "p", Session: "s", Speaker: "Ada", Tags: []string{"x"}, Time: day}, "one <b>", "two", "two")
	if err := s.Supersede(t.Context(), ids[0], ids[1]); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	n, err := s.Export(t.Context(), &out, memory.Filter{})
	if err != nil || n != 2 || strings.Count(out.String(), "\n") != 2 || !strings.Contains(out.String(), "<b>") {
		t.Fatalf("Export = %d, %v:\n%s", n, err, &out)
	}
	other := &suite{open: s.open, path: s.path + ".copy"}
	other.Store = other.another(t)
	for _, want := range []memory.Imported{{Records: 2, Added: 2}, {Records: 2, Known: 2}} {
		got, err := other.Import(t.Context(), bytes.NewReader(out.Bytes()), nil)
		if err != nil || got != want {
			t.Errorf("Import = %+v, %v, want %+v", got, err, want)
		}
	}
	for _, id := range ids {
		if got, want := other.get(t, id), s.get(t, id); !reflect.DeepEqual(got, want) {
			t.Errorf("imported %+v, exported %+v", got, want)
		}
	}
	var few bytes.Buffer
	if n, err := s.Export(t.Context(), &few, memory.Filter{IDs: ids[:1]}); n != 1 || err != nil {
		t.Errorf("Export of one = %d, %v", n, err)
	}
}

// nameless imports records without an id.
func nameless(t *testing.T, s *suite) {
	s.notes(t, memory.Document{Session: "s"}, "yes") // recorded here, which an import does not count
	const first = `{"text":"yes","session":"s"} {"text":"a question","session":"s"} {"text":"yes","session":"s"} {"text":"yes","session":"t"} {"text":"yes","session":"s","time":"2026-01-02T03:04:05Z"}`
	const more = first + ` {"text":"yes","session":"s"}`
	exported := func() string {
		var out bytes.Buffer
		if _, err := s.Export(t.Context(), &out, memory.Filter{}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	before := ""
	for i, tt := range []struct {
		in   string
		want memory.Imported
	}{{first, memory.Imported{Records: 5, Added: 5}}, {first, memory.Imported{Records: 5, Known: 5}}, {more, memory.Imported{Records: 6, Added: 1, Known: 5}}} {
		did, err := s.Import(t.Context(), strings.NewReader(tt.in), nil)
		if err != nil || did != tt.want {
			t.Errorf("import %d = %+v, %v, want %+v", i, did, err, tt.want)
		}
		if now := exported(); i == 1 && now != before {
			t.Errorf("the same file again makes\n%s of\n%s", now, before)
		} else {
			before = now
		}
	}
	if strings.Contains(before, `"count":2`) {
		t.Errorf("an import counted up:\n%s", before)
	}
	last := s.notes(t, memory.Document{}, "recorded after an import")[0]
	if next := s.notes(t, memory.Document{}, "recorded next")[0]; next <= last {
		t.Errorf("after an import IDs do not ascend: %s, %s", last, next)
	}
}

func together(t *testing.T, s *suite) {
	other := s.another(t)
	var wg sync.WaitGroup
	for i, store := range []Store{s.Store, other} {
		wg.Go(func() {
			for n := range 40 {
				if _, err := store.Add(t.Context(), memory.Document{Text: fmt.Sprintf("writer %d says heron%d", i, n), Session: "s"}); err != nil {
					t.Errorf("writer %d: %v", i, err)
					return
				}
			}
		})
	}
	for range 3 {
		wg.Go(func() {
			for range 20 {
				if _, err := other.Search(t.Context(), memory.Query{Text: "heron7", Limit: 3}); err != nil {
					t.Errorf("reader: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	all, err := s.List(t.Context(), memory.Filter{}, 0)
	if err != nil || len(all) != 80 {
		t.Fatalf("there are %d documents, %v, want 80", len(all), err)
	}
	// Each sees what the other does, whatever it has in its caches.
	id := s.add(t, memory.Document{Text: "a walrus"})[0].ID
	if got := found(t, other, memory.Query{Text: "walrus"}); !slices.Equal(got, []string{id}) {
		t.Errorf("the other finds %v, want %s", got, id)
	}
	if _, err := s.Forget(t.Context(), memory.Filter{IDs: []string{id}}); err != nil {
		t.Fatal(err)
	}
	if got := found(t, other, memory.Query{Text: "walrus"}); len(got) != 0 {
		t.Errorf("the other finds %v, which was forgotten", got)
	}
}

func again(t *testing.T, s *suite) {
	ids := s.notes(t, memory.Document{}, "first", "second")
	if err := s.another(t).Close(); err != nil { // one that closes takes nothing from the other
		t.Fatal(err)
	}
	if got := idsOf(mustList(t, s.another(t))); !slices.Equal(got, []string{ids[1], ids[0]}) {
		t.Errorf("opened again it lists %v, want %v", got, ids)
	}
}

func mustList(t *testing.T, s Store) []memory.Document {
	t.Helper()
	all, err := s.List(t.Context(), memory.Filter{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func cancelled(t *testing.T, s *suite) {
	id := s.notes(t, memory.Document{}, "there")[0]
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, add := s.Add(ctx, memory.Document{Text: "not there"})
	_, get := s.Get(ctx, id)
	_, search := s.Search(ctx, memory.Query{Text: "there"})
	_, forget := s.Forget(ctx, memory.All)
	_, export := s.Export(ctx, &bytes.Buffer{}, memory.Filter{})
	_, imported := s.Import(ctx, strings.NewReader(`{"text":"x"}`), nil)
	for name, err := range map[string]error{"Add": add, "Get": get, "Search": search, "Forget": forget, "Export": export, "Import": imported} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %v", name, err, context.Canceled)
		}
	}
	if got := mustList(t, s); len(got) != 1 {
		t.Errorf("there are %d documents, want 1", len(got))
	}
}
