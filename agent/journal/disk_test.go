package journal_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/agent/journal"
)

// watched is a store whose every entry is looked at once it is appended.
type watched struct {
	*journal.Store
	after func(agent.Entry)
}

func (w watched) Append(ctx context.Context, e agent.Entry) error {
	err := w.Store.Append(ctx, e)
	w.after(e)
	return err
}

// What a loss of power must not lose is on the disk before the run continues, with the
// name of its file; the rest costs no fsync.
func TestOnDisk(t *testing.T) {
	store := newStore(t)
	var synced, got []string
	store.SetSync(func(f *os.File) error {
		synced = append(synced, f.Name())
		return f.Sync()
	})
	id := ""
	rec := watched{store, func(e agent.Entry) {
		id = e.Session
		if len(synced) == 0 {
			return
		}
		text := strings.TrimSuffix(read(t, store.Path(id)), "\n")
		if last := text[strings.LastIndex(text, "\n")+1:]; !strings.Contains(last, `"kind":"`+string(e.Kind())+`"`) {
			t.Errorf("%s: on the disk ends with %s", step(e), last)
		}
		for i := range synced {
			synced[i] = filepath.Base(synced[i])
		}
		got = append(got, step(e)+": "+strings.ReplaceAll(strings.Join(synced, " "), id, "ID"))
		synced = nil
		if _, calls := store.Held(); calls > 1 || e.Kind() != agent.EntryCall && calls > 0 {
			t.Errorf("%s: %d calls are not forgotten", step(e), calls)
		}
	}}
	var h hands
	if _, err := newAgent(t, &h, conversation, rec, nil).Ask(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"call write: ID.jsonl sessions", "result write: ID.jsonl",
		"call write: ID.jsonl", "result write: ID.jsonl", "end: ID.jsonl",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("synced\n%s", strings.Join(got, "\n"))
	}
	if files, _ := store.Held(); files > 0 {
		t.Errorf("%d files are held after the run", files)
	}
}

// A disk that fails ends the run before the effect. What it did not take is
// taken out of the file again, and the session can be resumed at once.
func TestDiskFails(t *testing.T) {
	store := newStore(t)
	broken := errors.New("broken disk")
	store.SetSync(func(*os.File) error { return broken })
	var h hands
	s := agent.NewSession()
	r, err := agent.Collect(newAgent(t, &h, conversation, store, nil).Run(t.Context(), s, "go"))
	if !errors.Is(err, broken) || r.StopReason != agent.StopInternal || len(h.writes) > 0 {
		t.Fatalf("%v, %s, wrote %q", err, r.StopReason, h.writes)
	}
	if text := read(t, store.Path(s.ID)); strings.Contains(text, `"name":"write"`) || !strings.HasSuffix(text, "}\n") {
		t.Errorf("kept\n%s", text)
	}
	if files, _ := store.Held(); files > 0 {
		t.Errorf("%d files are held after the run", files)
	}
	store.SetSync((*os.File).Sync)
	again, err := journal.New(store.Dir()).Open(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = agent.Collect(newAgent(t, &h, conversation, nil, nil).Resume(t.Context(), again)); err != nil || r.Response != "All done." || len(h.writes) != 2 {
		t.Errorf("%v, %q, wrote %q", err, r.Response, h.writes)
	}
}

// step is an entry in a few words.
func step(e agent.Entry) string {
	switch p := e.Payload.(type) {
	case agent.CallEntry:
		return "call " + p.Name
	case agent.ResultEntry:
		return "result " + p.Name
	}
	return string(e.Kind())
}
