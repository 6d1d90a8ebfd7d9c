package undo_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mylm/tools/files/undo"
)

// place is a workspace and a store.
type place struct {
	t     *testing.T
	dir   string
	root  *os.Root
	data  string
	store *undo.Store
}

func newPlace(t *testing.T, o undo.Options) *place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	o.Dir = filepath.Join(t.TempDir(), "undo")
	return &place{t, dir, root, o.Dir, undo.NewStore(o)}
}

func (p *place) put(name, text string, mode fs.FileMode) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), mode)
	}
	if err == nil {
		err = os.Chmod(path, mode)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) write(j *undo.Journal, name, text string) {
	p.t.Helper()
	if err := j.Write(p.t.Context(), p.root, undo.Change{Name: name, Content: []byte(text), Parents: true}); err != nil {
		p.t.Fatal(err)
	}
}

// run is a run that writes files: names and texts in turn.
func (p *place) run(texts ...string) undo.Run {
	p.t.Helper()
	j := p.store.Begin(p.dir, "s")
	for i := 0; i < len(texts); i += 2 {
		p.write(j, texts[i], texts[i+1])
	}
	id := j.ID()
	if err := j.End(); err != nil {
		p.t.Fatal(err)
	}
	return p.find(id)
}

func (p *place) find(id string) undo.Run {
	p.t.Helper()
	runs, err := p.store.Runs(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, r := range runs {
		if r.ID == id {
			return r
		}
	}
	p.t.Fatalf("the run %q is not there", id)
	return undo.Run{}
}

func (p *place) undo(r undo.Run, force bool) undo.Report {
	p.t.Helper()
	report, err := p.store.Undo(p.t.Context(), r, force)
	if err != nil {
		p.t.Fatal(err)
	}
	return report
}

// tree is all there is in the workspace, with modes.
func (p *place) tree() string {
	p.t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == p.dir {
			return err
		}
		rel, _ := filepath.Rel(p.dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := []byte{}
		if info.Mode().IsRegular() {
			text, err = os.ReadFile(path)
		}
		fmt.Fprintf(&b, "%s %v %q\n", filepath.ToSlash(rel), info.Mode(), text)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return b.String()
}

func TestUndo(t *testing.T) {
	p := newPlace(t, undo.Options{})
	p.put("a", "a\r\n\x00\xff", 0o755)
	p.put("d/b", "b", 0o600)
	before := p.tree()
	r := p.run("a", "1", "d/b", "2", "new", "3", "x/y/z", "4", "x/w", "5", "a", "6", "a", "7")
	after := p.tree()
	if got := fmt.Sprint(r.Files()); got != "[a d/b new x/y/z x/w]" {
		t.Errorf("the files of the run are %s", got)
	}
	steps, err := p.store.Plan(t.Context(), r)
	if err != nil || len(steps) != 5 || steps[0].Action != undo.Restore || steps[2].Action != undo.Remove {
		t.Errorf("the plan is %+v, %v", steps, err)
	}
	if p.tree() != after {
		t.Error("planning changes something")
	}
	report := p.undo(r, false)
	if p.tree() != before {
		t.Errorf("after undoing:\n%s\nbefore the run:\n%s", p.tree(), before)
	}
	if p.find(r.ID).Undone.IsZero() {
		t.Error("the run does not count as undone")
	}
	if again := p.undo(r, false); again.By != "" || p.tree() != before {
		t.Errorf("undoing twice: %+v", again)
	}
	redo := p.find(report.By)
	if redo.Undoes != r.ID {
		t.Errorf("it undoes %q", redo.Undoes)
	}
	p.undo(redo, false)
	if p.tree() != after {
		t.Errorf("after undoing the undoing:\n%s\nwant\n%s", p.tree(), after)
	}
	if !p.find(r.ID).Undone.IsZero() {
		t.Error("the run counts as undone")
	}
}

func TestConflicts(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *place)
		want   string
	}{
		"changed":     {func(p *place) { p.put("a", "mine", 0o600) }, "a: it was changed since"},
		"deleted":     {func(p *place) { os.Remove(filepath.Join(p.dir, "a")) }, "a: it was deleted since"},
		"new changed": {func(p *place) { p.put("new", "mine", 0o600) }, "new: it was changed since"},
		"later run":   {func(p *place) { p.run("a", "later") }, "a: it was changed since, by run "},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, undo.Options{})
			p.put("a", "old", 0o600)
			before := p.tree()
			r := p.run("a", "1", "new", "2")
			c.change(p)
			changed := p.tree()
			_, err := p.store.Undo(t.Context(), r, false)
			var in *undo.ConflictError
			if !errors.As(err, &in) || !strings.HasPrefix(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if p.tree() != changed {
				t.Error("something was undone all the same")
			}
			report := p.undo(r, true)
			if p.tree() != before {
				t.Errorf("after undoing by force:\n%s", p.tree())
			}
			p.undo(p.find(report.By), false) // and what was overwritten is kept
			if p.tree() != changed {
				t.Errorf("after taking that back:\n%s, want\n%s", p.tree(), changed)
			}
		})
	}
}

// What a command does to a file between two writes belongs to the run; a mode
// that somebody sets afterwards is no reason to refuse.
func TestNoConflict(t *testing.T) {
	p := newPlace(t, undo.Options{})
	p.put("a", "old", 0o600)
	before := p.tree()
	j := p.store.Begin(p.dir, "")
	p.write(j, "a", "1")
	p.put("a", "formatted", 0o600)
	p.write(j, "a", "2")
	p.put("a", "2", 0o700)
	id := j.ID()
	j.End()
	p.undo(p.find(id), false)
	if p.tree() != before {
		t.Errorf("after undoing:\n%s", p.tree())
	}
}

func TestSomethingInTheWay(t *testing.T) {
	for name, c := range map[string]struct {
		replace string // what is moved away for the obstacle
		put     func(p *place, at string) error
		want    string
	}{
		"a directory":        {"d/a", func(p *place, at string) error { return os.MkdirAll(filepath.Join(at, "b"), 0o700) }, "d/a is a directory, not a file; move it away first"},
		"a link":             {"d/a", func(p *place, at string) error { return os.Symlink("b", at) }, "d/a is a link, not a file; move it away first"},
		"a link out":         {"d/a", func(p *place, at string) error { return os.Symlink(p.data, at) }, "d/a is a link, not a file; move it away first"},
		"a parent is a link": {"d", func(p *place, at string) error { return os.Symlink(filepath.Dir(p.data), at) }, "d is a link, not a directory any more; move it away first"},
		"a parent is a link within": {"d", func(p *place, at string) error {
			p.put("else/a", "1", 0o600)
			return os.Symlink("else", at)
		}, "d is a link, not a directory any more; move it away first"},
		"a parent is a file": {"d", func(p *place, at string) error { return os.WriteFile(at, nil, 0o600) }, "d is a file, not a directory any more; move it away first"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, undo.Options{})
			r := p.run("d/a", "1", "other", "2")
			at := filepath.Join(p.dir, c.replace)
			if err := errors.Join(os.RemoveAll(at), c.put(p, at)); err != nil {
				t.Fatal(err)
			}
			before := p.tree()
			for _, force := range []bool{false, true} {
				_, err := p.store.Undo(t.Context(), r, force)
				var in *undo.ConflictError
				if !errors.As(err, &in) || !in.Steps[0].Blocked || in.Steps[0].Conflict != c.want {
					t.Errorf("force %v: %v, want %q", force, err, c.want)
				}
				if p.tree() != before {
					t.Errorf("force %v: something was undone all the same", force)
				}
			}
		})
	}
}

// A link that took the place of the workspace, or of a directory on the way to a
// file, is not followed.
func TestSwappedLinks(t *testing.T) {
	p := newPlace(t, undo.Options{})
	p.put("d/a", "old", 0o600)
	r := p.run("d/a", "1")
	moved := p.dir + "-moved"
	if err := errors.Join(os.Rename(p.dir, moved), os.Symlink(moved, p.dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.store.Undo(t.Context(), r, true); err == nil || !strings.Contains(err.Error(), "is a link now") {
		t.Error(err)
	}
	if err := errors.Join(os.Remove(p.dir), os.Rename(moved, p.dir), os.Rename(filepath.Join(p.dir, "d"), filepath.Join(p.dir, "e")), os.Symlink("e", filepath.Join(p.dir, "d"))); err != nil {
		t.Fatal(err)
	}
	before := p.tree()
	err := p.store.Begin(p.dir, "").Write(t.Context(), p.root, undo.Change{Name: filepath.Join("d", "a"), Content: []byte("2")})
	if err == nil || !strings.Contains(err.Error(), "d is a link, not a directory any more") || p.tree() != before {
		t.Errorf("%v\n%s", err, p.tree())
	}
}

// A run that cannot be read, since a later program wrote it down or it is damaged,
// is listed in its place: undoing does not continue with an earlier one.
func TestUnreadableRuns(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"newer":   {`{"version":1,`, `{"version":9,"more":{},`, "version 9"},
		"damaged": {`{"change":{`, `{"change":{{`, "line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, undo.Options{})
			p.run("a", "1")
			r := p.run("a", "2")
			journal := filepath.Join(p.data, r.ID, "journal.jsonl")
			b, err := os.ReadFile(journal)
			if err == nil {
				err = os.WriteFile(journal, []byte(strings.Replace(string(b), c.old, c.new, 1)), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			before := p.tree()
			runs, err := p.store.Runs(p.dir)
			if err != nil || len(runs) != 2 || runs[0].ID != r.ID || runs[0].Broken == nil || !strings.Contains(runs[0].Broken.Error(), c.want) || runs[1].Broken != nil {
				t.Fatalf("%+v, %v", runs, err)
			}
			_, err1 := p.store.Plan(t.Context(), runs[0])
			_, err2 := p.store.Undo(t.Context(), runs[0], true)
			if !errors.Is(err1, runs[0].Broken) || !errors.Is(err2, runs[0].Broken) || p.tree() != before {
				t.Errorf("%v, %v:\n%s", err1, err2, p.tree())
			}
			p.run("b", "3") // which prunes
			p.find(r.ID)
		})
	}
}

func TestActive(t *testing.T) {
	p := newPlace(t, undo.Options{})
	j := p.store.Begin(p.dir, "")
	p.write(j, "a", "1")
	r := p.find(j.ID())
	if _, err := p.store.Undo(t.Context(), r, false); !errors.Is(err, undo.ErrActive) || !r.Active {
		t.Errorf("%v, active %v", err, r.Active)
	}
	j.End()
	if r = p.find(r.ID); r.Active || !r.Ended {
		t.Errorf("after its end: active %v, ended %v", r.Active, r.Ended)
	}
	p.write(j, "a", "2") // a run of its own
	if j.ID() == r.ID {
		t.Error("the journal went on after its end")
	}
	j.End()
}

func TestTooLarge(t *testing.T) {
	p := newPlace(t, undo.Options{MaxBytes: 10})
	p.put("a", "1234567", 0o600)
	p.put("b", "89012", 0o600)
	p.put("c", "more than ten", 0o600)
	j := p.store.Begin(p.dir, "")
	defer j.End()
	p.write(j, "a", "x")
	p.write(j, "a", "y") // what the run wrote itself takes no space
	for _, name := range []string{"b", "c"} {
		err := j.Write(t.Context(), p.root, undo.Change{Name: name, Content: []byte("x")})
		if !errors.Is(err, undo.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !strings.Contains(p.tree(), "89012") || !strings.Contains(p.tree(), "more than ten") {
		t.Errorf("written all the same:\n%s", p.tree())
	}
}

func TestPruned(t *testing.T) {
	p := newPlace(t, undo.Options{MaxRuns: 3})
	going := p.store.Begin(p.dir, "")
	p.write(going, "going", "on")
	var last undo.Run
	for i := range 6 {
		last = p.run("a", fmt.Sprint(i))
	}
	other, err := p.store.Runs("")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, r := range other {
		ids[r.ID] = true
	}
	if len(other) != 4 || !ids[last.ID] || !ids[going.ID()] {
		t.Errorf("%d runs are left, want the last 3 and the one that goes on", len(other))
	}
	going.End()

	small := newPlace(t, undo.Options{MaxTotal: 5000})
	for i := range 6 {
		small.run("a", strings.Repeat(fmt.Sprint(i), 2000))
	}
	if runs, _ := small.store.Runs(""); len(runs) > 3 {
		t.Errorf("%d runs of 2 KB are left in 5 KB", len(runs))
	}
}

func TestNowhereToKeep(t *testing.T) {
	p := newPlace(t, undo.Options{})
	p.put("a", "old", 0o600)
	j := undo.NewStore(undo.Options{}).Begin(p.dir, "")
	err := j.Write(t.Context(), p.root, undo.Change{Name: "a", Content: []byte("x")})
	if err == nil || !strings.Contains(err.Error(), "set HOME or XDG_DATA_HOME") || !strings.Contains(p.tree(), `"old"`) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(p.data, nil, 0o600); err != nil { // where the directory should be
		t.Fatal(err)
	}
	j = p.store.Begin(p.dir, "")
	if err := j.Write(t.Context(), p.root, undo.Change{Name: "a", Content: []byte("x")}); err == nil || !strings.Contains(p.tree(), `"old"`) {
		t.Errorf("%v", err)
	}
}

func TestExpect(t *testing.T) {
	p := newPlace(t, undo.Options{})
	p.put("a", "old", 0o600)
	j := p.store.Begin(p.dir, "")
	defer j.End()
	for _, text := range []string{"other", ""} {
		if err := j.Write(t.Context(), p.root, undo.Change{Name: "a", Content: []byte("x"), Expect: &text}); !errors.Is(err, undo.ErrChanged) {
			t.Errorf("%q: %v", text, err)
		}
	}
	text := "old"
	if err := j.Write(t.Context(), p.root, undo.Change{Name: "a", Content: []byte("x"), Expect: &text}); err != nil {
		t.Error(err)
	}
}

// A change that failed is none, and neither is a run without another.
func TestFailedChange(t *testing.T) {
	p := newPlace(t, undo.Options{})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, made := range []string{"", "a"} {
		j := p.store.Begin(p.dir, "")
		if made != "" {
			p.write(j, made, "x")
		}
		if err := j.Write(cancelled, p.root, undo.Change{Name: "b", Content: []byte("x")}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := j.End(); err != nil {
			t.Error(err)
		}
		runs, err := p.store.Runs(p.dir)
		if err != nil || made == "" && len(runs) > 0 || made != "" && (len(runs) != 1 || !slices.Equal(runs[0].Files(), []string{made})) {
			t.Errorf("made %q: %+v, %v", made, runs, err)
		}
	}
}

// A journal whose last line is torn is read as far as it goes, and goes on
// behind it.
func TestTornLine(t *testing.T) {
	p := newPlace(t, undo.Options{})
	p.put("a", "old", 0o600)
	before := p.tree()
	r := p.run("a", "1")
	journal := filepath.Join(p.data, r.ID, "journal.jsonl")
	b, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(journal, append(b, `{"change":{"name":"b"`...), 0o600); err != nil {
		t.Fatal(err)
	}
	p.undo(p.find(r.ID), false)
	if p.tree() != before || p.find(r.ID).Undone.IsZero() {
		t.Errorf("after undoing:\n%s", p.tree())
	}
}

// A version that is damaged is not brought back.
func TestDamaged(t *testing.T) {
	p := newPlace(t, undo.Options{})
	p.put("a", "old", 0o600)
	r := p.run("a", "1")
	blobs, _ := filepath.Glob(filepath.Join(p.data, r.ID, "blobs", "*"))
	if len(blobs) != 1 {
		t.Fatalf("%q", blobs)
	}
	os.WriteFile(blobs[0], []byte("odd"), 0o600)
	if _, err := p.store.Undo(t.Context(), r, false); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
	os.Remove(blobs[0])
	if _, err := p.store.Undo(t.Context(), r, false); err == nil || !strings.Contains(err.Error(), "is gone from") {
		t.Error(err)
	}
	if !strings.Contains(p.tree(), `"1"`) {
		t.Errorf("something was brought back:\n%s", p.tree())
	}
}

func BenchmarkWrite(b *testing.B) {
	root, err := os.OpenRoot(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	for name, j := range map[string]*undo.Journal{
		"kept": undo.NewStore(undo.Options{Dir: b.TempDir()}).Begin("/w", ""), "alone": nil,
	} {
		b.Run(name, func(b *testing.B) {
			text := []byte(strings.Repeat("x", 10_000))
			for i := range b.N {
				text[0] = byte(i)
				if err := j.Write(b.Context(), root, undo.Change{Name: "f", Content: text}); err != nil {
					b.Fatal(err)
				}
			}
			j.End()
		})
	}
}

// TestChanges lists what is different from before a run: nothing of it once it is
// undone, and what somebody else did since with it.
func TestChanges(t *testing.T) {
	p := newPlace(t, undo.Options{})
	p.put("kept", "as it was", 0o600)
	p.put("old", "before", 0o600)
	r := p.run("old", "after", "new", "new", "empty", "", "kept", "other", "kept", "as it was")
	p.put("old", "by hand", 0o600)
	list := func() (text string) {
		changes, err := p.store.Changes(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			text += fmt.Sprintf("%s %v %q %v %q\n", c.Name, c.Before != nil, c.Before, c.After != nil, c.After)
		}
		return text
	}
	if got, want := list(), "old true \"before\" true \"by hand\"\nnew false \"\" true \"new\"\nempty false \"\" true \"\"\n"; got != want {
		t.Errorf("%s", got)
	}
	p.undo(r, true)
	if got := list(); got != "" {
		t.Errorf("after undoing: %s", got)
	}
}
