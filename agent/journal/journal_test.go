package journal_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mylm/agent"
	"mylm/agent/journal"
)

func TestKeepsWhatHappened(t *testing.T) {
	store := newStore(t)
	var h hands
	s := agent.NewSession()
	a := newAgent(t, &h, conversation, store, nil)
	if _, err := agent.Collect(a.Run(t.Context(), s, "do  it\nplease")); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	header, entries, err := store.Load(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if header.Title != "do it please" || header.Version != journal.Version || header.ID != s.ID || header.Labels["project"] != "/src" || header.Created.IsZero() {
		t.Errorf("header %+v", header)
	}
	want, _ := json.Marshal(s.Entries())
	if got, _ := json.Marshal(entries); string(got) != string(want) {
		t.Errorf("kept\n%s\nof\n%s", got, want)
	}
	if runtime.GOOS != "windows" {
		for path, mode := range map[string]os.FileMode{store.Dir(): 0o700, store.Path(s.ID): 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
	}
	left, err := os.ReadDir(store.Dir())
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	// Another question goes behind it, and the old lines stay as they were.
	before := read(t, store.Path(s.ID))
	again, err := store.Open(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Collect(newAgent(t, &h, byPlace{"Fine."}, store, nil).Run(t.Context(), again, "and now?")); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if after := read(t, store.Path(s.ID)); !strings.HasPrefix(after, before) || strings.Count(after, "\n") != strings.Count(before, "\n")+4 {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

// A journal may end at any byte. Whatever is whole in it counts, the rest is cut
// off, and the session continues to the same end with no effect repeated.
func TestCutAnywhere(t *testing.T) {
	whole := newStore(t)
	id := talk(t, whole, "go")
	text := read(t, whole.Path(id))
	step := max(1, len(text)/150)
	if testing.Short() {
		step *= 5
	}
	begun := strings.Index(text, `"kind":"prompt"`)
	begun += strings.Index(text[begun:], "\n") + 1
	for cut := begun; cut < len(text); cut += step {
		store := newStore(t)
		write(t, store.Path(id), text[:cut])
		kept := strings.Count(text[:cut], "\n") - 1
		_, entries, err := store.Load(t.Context(), id)
		if whole := strings.HasSuffix(text[:cut], "\n"); whole && err != nil || !whole && !errors.Is(err, journal.ErrCut) || len(entries) != kept {
			t.Fatalf("cut at %d: %d entries, want %d: %v", cut, len(entries), kept, err)
		}
		var h hands
		for _, e := range entries {
			if c, ok := e.Payload.(agent.CallEntry); ok && c.Name == "write" {
				h.writes = append(h.writes, "maybe")
			}
		}
		s, err := store.Open(t.Context(), id)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if !s.Unfinished() {
			t.Fatalf("cut at %d: it passes for finished", cut)
		}
		r, err := agent.Collect(newAgent(t, &h, conversation, store, nil).Resume(t.Context(), s))
		if err != nil || r.Response != "All done." || len(h.writes) != 2 {
			t.Fatalf("cut at %d: %v, %q, wrote %v", cut, err, r.Response, h.writes)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if now := read(t, store.Path(id)); strings.Count(now, "\n") != strings.Count(text, "\n") {
			t.Fatalf("cut at %d: ended as\n%s", cut, now)
		}
	}
}

// A last line that has its end but makes no sense is cut short as well: some
// file systems fill up with zeros.
func TestLastLineOfZeros(t *testing.T) {
	store := newStore(t)
	id := talk(t, store, "go")
	text := read(t, store.Path(id))
	for name, tail := range map[string]string{"zeros": strings.Repeat("\x00", 500), "a line of zeros": strings.Repeat("\x00", 20) + "\n", "half": `{"session":"x","se` + "\n"} {
		write(t, store.Path(id), text+tail)
		if err := store.Append(t.Context(), agent.Entry{Session: id, Seq: strings.Count(text, "\n"), Payload: agent.RunEntry{}}); err == nil {
			t.Errorf("%s: appended behind it", name)
		}
		s, err := store.Open(t.Context(), id)
		if err != nil || len(s.Entries()) != strings.Count(text, "\n")-1 {
			t.Errorf("%s: %v", name, err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if read(t, store.Path(id)) != text {
			t.Errorf("%s: not mended", name)
		}
	}
}

func TestOneAtATime(t *testing.T) {
	store := newStore(t)
	id := talk(t, store, "go")
	if _, err := store.Open(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	other := journal.New(store.Dir())
	for range 2 {
		if _, err := other.Open(t.Context(), id); !errors.Is(err, journal.ErrInUse) {
			t.Errorf("two have it: %v", err)
		}
		if err := other.Remove(id); !errors.Is(err, journal.ErrInUse) {
			t.Errorf("it was removed: %v", err)
		}
	}
	if _, err := store.Open(t.Context(), id); !errors.Is(err, journal.ErrInUse) {
		t.Errorf("the same store has it twice: %v", err)
	}
	if _, entries, err := other.Load(t.Context(), id); err != nil || len(entries) == 0 {
		t.Errorf("it cannot be read meanwhile: %v", err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Open(t.Context(), id); err != nil {
		t.Errorf("it stays locked: %v", err)
	}
	other.Close()
}

func TestRefuses(t *testing.T) {
	header := `{"format":"mylm session","version":1,"id":"abcd","created":"2026-01-02T03:04:05Z","title":"t"}` + "\n"
	entry := `{"session":"abcd","seq":1,"kind":"prompt","text":"x"}` + "\n"
	for name, test := range map[string]struct {
		text string
		want error
		says string
	}{
		"newer":          {strings.Replace(header, `"version":1`, `"version":99,"new":{}`, 1) + entry, journal.ErrNewer, "format 99"},
		"another file":   {"{}\n", journal.ErrDamaged, "header"},
		"nothing":        {"", journal.ErrDamaged, "it is empty"},
		"half a header":  {header[:20], journal.ErrDamaged, "first line is cut short"},
		"no JSON":        {"hello\nthere\n", journal.ErrDamaged, "header"},
		"a bad middle":   {header + "{oops\n" + entry, journal.ErrDamaged, "line 2"},
		"no checksum":    {strings.Replace(header, `"version":1`, `"version":2`, 1) + entry, journal.ErrDamaged, "checksum"},
		"a missing line": {header + entry + strings.Replace(entry, `"seq":1`, `"seq":3`, 1), journal.ErrDamaged, "line 3: entry 2 is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			write(t, store.Path("abcd"), test.text)
			_, _, err := store.Load(t.Context(), "abcd")
			_, opened := store.Open(t.Context(), "abcd")
			for _, err := range []error{err, opened} {
				if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "abcd") {
					t.Errorf("error %v", err)
				}
			}
			if read(t, store.Path("abcd")) != test.text {
				t.Error("the file was changed")
			}
		})
	}
	store := newStore(t)
	for _, id := range []string{"nosuch", "../x", ""} {
		_, _, err := store.Load(t.Context(), id)
		_, opened := store.Open(t.Context(), id)
		if !errors.Is(err, journal.ErrNotFound) || !errors.Is(opened, journal.ErrNotFound) || !errors.Is(store.Remove(id), journal.ErrNotFound) {
			t.Errorf("%q: %v, %v", id, err, opened)
		}
	}
	if err := store.Append(t.Context(), agent.Entry{Session: "abcd", Seq: 4, Payload: agent.UserEntry{}}); err == nil {
		t.Error("an entry without those before it was taken")
	}
	if err := store.Append(t.Context(), agent.Entry{Session: "../abcd", Seq: 1, Payload: agent.RunEntry{}}); err == nil {
		t.Error("a path was taken for a name")
	}
}

func TestCannotBegin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	store := journal.New(filepath.Join(file, "sessions"))
	var h hands
	r, err := newAgent(t, &h, byPlace{"Fine."}, store, nil).Ask(t.Context(), "go")
	if !errors.Is(err, journal.ErrNotBegun) || r.StopReason != agent.StopInternal {
		t.Errorf("%v, %s", err, r.StopReason)
	}
	// A name that is taken is not overwritten.
	store = newStore(t)
	id := talk(t, store, "go")
	s := agent.NewSession()
	s.ID = id
	text := read(t, store.Path(id))
	if _, err := agent.Collect(newAgent(t, &h, byPlace{"Fine."}, store, nil).Run(t.Context(), s, "go")); !errors.Is(err, journal.ErrNotBegun) {
		t.Errorf("error %v", err)
	}
	store.Close()
	if read(t, store.Path(id)) != text {
		t.Error("the session was overwritten")
	}
}

func TestManyAtOnce(t *testing.T) {
	store := newStore(t)
	var wg sync.WaitGroup
	ids := make([]string, 40)
	for i := range ids {
		wg.Go(func() {
			var h hands
			r, err := newAgent(t, &h, conversation, store, nil).Ask(t.Context(), "go")
			if err != nil {
				t.Error(err)
			}
			ids[i] = r.Session
		})
	}
	wg.Wait()
	if locks, err := filepath.Glob(filepath.Join(store.Dir(), "*.lock")); err != nil || len(locks) > 0 {
		t.Errorf("sessions without a run are held: %v, %v", locks, err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		_, entries, err := store.Load(t.Context(), id)
		end, _ := entries[len(entries)-1].Payload.(agent.EndEntry)
		if err != nil || end.StopReason != agent.StopComplete {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// Between two runs a session is not locked. A run that continues one which another
// has changed gets an error, leaves no lock, and can open it again.
func TestBetweenRuns(t *testing.T) {
	store := newStore(t)
	other := journal.New(store.Dir())
	var h hands
	s := agent.NewSession()
	ask := func(rec *journal.Store, s *agent.Session) error {
		_, err := agent.Collect(newAgent(t, &h, byPlace{"Fine."}, rec, nil).Run(t.Context(), s, "go"))
		return err
	}
	open := func(rec *journal.Store, entries int) *agent.Session {
		t.Helper()
		s, err := rec.Open(t.Context(), s.ID)
		if err != nil || len(s.Entries()) != entries {
			t.Fatalf("%v, %d entries", err, len(s.Entries()))
		}
		return s
	}
	for range 2 { // the second time without opening it
		if err := ask(store, s); err != nil {
			t.Fatal(err)
		}
	}
	theirs := open(other, 8)
	if err := ask(store, s); !errors.Is(err, journal.ErrInUse) {
		t.Errorf("two have it: %v", err)
	}
	for range 2 { // the second time after the store has refused their record
		if err := ask(other, theirs); err != nil {
			t.Fatal(err)
		}
		if err := ask(store, s); !errors.Is(err, journal.ErrInUse) {
			t.Errorf("it went on with a record that another had changed: %v", err)
		}
	}
	ours := open(store, 16)
	if err := ask(store, s); !errors.Is(err, journal.ErrInUse) {
		t.Errorf("it went on with an old record beside the one that was opened: %v", err)
	}
	if err := ask(store, ours); err != nil {
		t.Fatal(err)
	}
	if err := ask(other, theirs); !errors.Is(err, journal.ErrInUse) {
		t.Errorf("it went on with a record that another had changed: %v", err)
	}
	if _, entries, err := store.Load(t.Context(), s.ID); err != nil || len(entries) != 20 {
		t.Errorf("%v, %d entries", err, len(entries))
	}
	if err := journal.New(store.Dir()).Remove(s.ID); err != nil {
		t.Error(err)
	}
	if err := ask(store, s); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("it went on with what is gone: %v", err)
	}
	if err := errors.Join(store.Close(), other.Close()); err != nil {
		t.Errorf("told twice: %v", err)
	}
	if left, err := os.ReadDir(store.Dir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestListFindSearch(t *testing.T) {
	store := newStore(t)
	if all, err := store.List(t.Context(), journal.Filter{}); err != nil || len(all) != 0 {
		t.Errorf("a store that is not there: %v, %v", all, err)
	}
	done := talk(t, store, "what about the heron?")
	died := talk(t, store, "and the \"stork\"")
	text := read(t, store.Path(died))
	write(t, store.Path(died), text[:strings.LastIndex(text[:len(text)-1], "\n")+1])
	write(t, store.Path("newer"), `{"format":"mylm session","version":99}`+"\n")
	used := talk(t, store, "a third")
	text = read(t, store.Path(used))
	write(t, store.Path(used), text[:strings.LastIndex(text[:len(text)-1], "\n")+1])
	if _, err := store.Open(t.Context(), used); err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for i, id := range []string{done, died, "newer", used} {
		at := time.Date(2026, 1, 2+i, 0, 0, 0, 0, time.UTC)
		if err := os.Chtimes(store.Path(id), at, at); err != nil {
			t.Fatal(err)
		}
	}
	list := func(f journal.Filter) (got []string) {
		all, err := journal.New(store.Dir()).List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range all {
			got = append(got, i.ID+" "+i.State+" "+i.Title)
		}
		return got
	}
	want := []string{used + " running a third", "newer unreadable ", died + ` unfinished and the "stork"`, done + " complete what about the heron?"}
	if got := list(journal.Filter{}); !reflect.DeepEqual(got, want) {
		t.Errorf("listed %q", got)
	}
	if got := list(journal.Filter{Limit: 2}); !reflect.DeepEqual(got, want[:2]) {
		t.Errorf("limited to %q", got)
	}
	if got := list(journal.Filter{Labels: map[string]string{"project": "/src"}, Limit: 1}); !reflect.DeepEqual(got, want[:1]) {
		t.Errorf("of the project %q", got)
	}
	if got := list(journal.Filter{Labels: map[string]string{"project": "/other"}}); !reflect.DeepEqual(got, want[1:2]) { // whose labels are unknown which it is
		t.Errorf("of another project %q", got)
	}

	write(t, store.Path("ABC"), "")
	for prefix, want := range map[string]string{done: done, done[:4]: done, strings.ToUpper(done[:6]): done, done[:3]: "", "zzzz": "", "../x": "", "newer": "newer", "ABC": "ABC", "abc": "ABC", "ab": ""} {
		if got, err := store.Find(prefix); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", prefix, got, err)
		}
	}
	write(t, store.Path("newest"), "")
	if _, err := store.Find("newe"); err == nil || !strings.Contains(err.Error(), "newest") {
		t.Errorf("what begins two names: %v", err)
	}

	for words, want := range map[string]int{"HERON about": 1, `"stork"`: 1, "seen a": 3, "written": 6, "heron stork": 0, "all done.": 3, "You are mylm": 0} {
		n := 0
		for hit, err := range store.Search(t.Context(), words, journal.Filter{}) {
			switch {
			case hit.Session.ID == "":
				t.Fatal(err)
			case err == nil:
				n++
			case hit.Session.State != journal.Unreadable:
				t.Errorf("%s: %v", hit.Session.ID, err)
			}
		}
		if n != want {
			t.Errorf("%q: %d hits, want %d", words, n, want)
		}
	}
	n := 0
	for _, err := range store.Search(t.Context(), "written", journal.Filter{Limit: 2}) {
		if err == nil {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d hits, want 2", n)
	}
}

// What a plan keeps of the sessions of its tasks is searched as those would be.
func TestTextOfPart(t *testing.T) {
	run := agent.RunEntry{System: "You are mylm"}
	for _, c := range []struct {
		inner   agent.EntryPayload
		purpose agent.Purpose
		want    string
	}{
		{run, "", ""},
		{agent.PromptEntry{Text: `count "herons"`}, "", `count "herons"`},
		{agent.PromptEntry{Text: "Goal: count herons"}, "plan_goal", ""},
		{agent.ReplyEntry{Text: "<b>one</b>"}, "plan_goal", "<b>one</b>"},
		{agent.ResultEntry{Name: "read_file", Text: "two\nlines"}, "", "two\nlines\nread_file"},
		{agent.EndEntry{}, "", ""},
	} {
		b, err := json.Marshal(agent.Entry{Payload: c.inner})
		if err != nil {
			t.Fatal(err)
		}
		got := journal.Text(agent.Entry{Payload: agent.CustomEntry{Type: "task", Name: "t1", Purpose: c.purpose, Args: b}})
		if got != c.want {
			t.Errorf("%s: %q, want %q", b, got, c.want)
		}
	}
	step := agent.CustomEntry{Type: "step", Args: json.RawMessage(`{"id":"t1"}`)}
	if got := journal.Text(agent.Entry{Payload: step}); got != `{"id":"t1"}` {
		t.Errorf("a step: %q", got)
	}
}

// A list does not read what is between the beginning and the end: of this
// session 64 GB are.
func TestListReadsTheEnds(t *testing.T) {
	store := newStore(t)
	id := talk(t, store, "go")
	text := read(t, store.Path(id))
	end := strings.LastIndex(text[:len(text)-1], "\n") + 1
	f, err := os.OpenFile(store.Path(id), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const far = 64 << 30
	if _, err := f.WriteAt([]byte("\n"+text[end:]), far); err != nil {
		t.Skipf("no file with holes here: %v", err)
	}
	all, err := store.List(t.Context(), journal.Filter{})
	if err != nil || len(all) != 1 || all[0].State != "complete" || all[0].Size < far || all[0].Title != "go" {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestPrune(t *testing.T) {
	store := newStore(t)
	var ids []string
	for i := range 6 {
		id := talk(t, store, "go")
		at := time.Date(2026, 1, 2+i, 0, 0, 0, 0, time.UTC)
		if err := os.Chtimes(store.Path(id), at, at); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	other := journal.New(store.Dir())
	if _, err := other.Open(t.Context(), ids[1]); err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	stale := filepath.Join(store.Dir(), "gone.lock")
	write(t, stale, "")
	old := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(stale, old, old); err != nil {
		t.Fatal(err)
	}
	before := time.Date(2026, 1, 6, 0, 0, 0, 0, time.UTC)
	for _, want := range []int{2, 1, 0} { // two of the oldest, then the rest; the one in use stays
		if n, err := store.Prune(t.Context(), before, 2); err != nil || n != want {
			t.Fatalf("%d went, want %d: %v", n, want, err)
		}
	}
	for i, id := range ids {
		_, err := os.Stat(store.Path(id))
		if kept := err == nil; kept != (i == 1 || i >= 4) {
			t.Errorf("session %d kept: %v", i, kept)
		}
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("the lock of a session that is gone stays")
	}
	if err := store.Remove(ids[5]); err != nil {
		t.Error(err)
	}
}
