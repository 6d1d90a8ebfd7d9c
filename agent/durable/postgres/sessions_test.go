package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"mylm/agent"
	"mylm/agent/durable/postgres"
	"mylm/agent/journal"
	"mylm/providers"
	"mylm/providers/scripted"
	"mylm/tools"
)

func sessions(t *testing.T, db *postgres.DB, tenant string) *postgres.Sessions {
	t.Helper()
	s, err := db.Sessions(tenant)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func call(name, args string) string {
	return "<tool_code>\n<name>" + name + "</name>\n<parameters>" + args + "</parameters>\n</tool_code>"
}

// recorders records in several places.
type recorders []agent.Recorder

func (all recorders) Append(ctx context.Context, e agent.Entry) error {
	for _, r := range all {
		if err := r.Append(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// assistant is an agent with a tool that writes, and counts how often it ran.
func assistant(t *testing.T, r agent.Recorder, ran *int, replies ...string) *agent.Agent {
	t.Helper()
	write, err := tools.New("write", "writes", tools.Writes, func(context.Context, struct {
		Text string `json:"text"`
	}) (tools.Result, error) {
		*ran++
		return tools.Result{Text: "written \x00 <b>"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(write)
	if err != nil {
		t.Fatal(err)
	}
	var script []scripted.Reply
	for _, text := range replies {
		script = append(script, scripted.Reply{Text: text})
	}
	a, err := agent.New(agent.Options{Model: scripted.New(script...), Tools: registry, Recorder: r, Labels: map[string]string{"project": "p\x00q"},
		Approve: func(context.Context, agent.ApprovalRequest) (agent.Decision, error) {
			return agent.Decision{Verdict: agent.Allow}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A database records what a file records, byte for byte.
func TestSessions(t *testing.T) {
	db := open(t, migrated(t))
	inFile, inDatabase := journal.New(t.TempDir()), sessions(t, db, "t")
	defer inFile.Close()
	ran := 0
	a := assistant(t, recorders{inFile, inDatabase}, &ran, "I write. "+call("write", `{"text":"one"}`), "Done \u2028 <b>.")
	session := agent.NewSession()
	for _, err := range a.Run(t.Context(), session, "Write \x00 one, please.", providers.Image{Name: "dot", Type: "image/png", Data: []byte("png")}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	wantHeader, want, err := inFile.Load(t.Context(), session.ID)
	if err != nil || ran != 1 {
		t.Fatal(err, ran)
	}
	header, got, err := inDatabase.Load(t.Context(), session.ID)
	if err != nil {
		t.Fatal(err)
	}
	wantText, _ := json.Marshal(want)
	gotText, _ := json.Marshal(got)
	if string(gotText) != string(wantText) {
		t.Errorf("the database has\n%s\nand the file\n%s", gotText, wantText)
	}
	if header.Title != strings.ReplaceAll(wantHeader.Title, "\x00", "\uFFFD") || !header.Created.Equal(wantHeader.Created.Truncate(time.Microsecond)) {
		t.Errorf("header %+v, want %+v", header, wantHeader)
	}
	if images := got[1].Images(); len(images) != 1 || string(images[0].Data) != "png" {
		t.Errorf("the picture of %+v is lost", got[1])
	}
	// It goes on, and so does the listing.
	again, err := inDatabase.Open(t.Context(), session.ID)
	if err != nil {
		t.Fatal(err)
	}
	b := assistant(t, inDatabase, &ran, "Again.")
	for _, err := range b.Run(t.Context(), again, "And now?") {
		if err != nil {
			t.Fatal(err)
		}
	}
	other, err := assistant(t, inDatabase, &ran, "Fine.").Ask(t.Context(), "Another question")
	if err != nil {
		t.Fatal(err)
	}
	all, err := inDatabase.List(t.Context(), journal.Filter{Labels: map[string]string{"project": "p\x00q"}})
	if err != nil || len(all) != 2 || all[0].ID != other.Session || all[1].ID != session.ID || all[1].State != "complete" || all[1].Size == 0 || all[0].Title != "Another question" {
		t.Errorf("List = %+v, %v", all, err)
	}
	for _, f := range []journal.Filter{{Labels: map[string]string{"project": "x"}}, {Before: time.Now().Add(-time.Hour)}} {
		if all, err := inDatabase.List(t.Context(), f); err != nil || len(all) != 0 {
			t.Errorf("List(%+v) = %+v, %v", f, all, err)
		}
	}
	if all, err := inDatabase.List(t.Context(), journal.Filter{Limit: 1}); err != nil || len(all) != 1 {
		t.Errorf("List of one = %+v, %v", all, err)
	}
	// The session of a plan's task is found by the plan only.
	for id, of := range map[string]string{"plan": "plan", "task": "plan"} {
		begins := agent.RunEntry{Setup: &agent.Setup{Labels: map[string]string{journal.LabelPlan: of}}}
		if err := inDatabase.Append(t.Context(), agent.Entry{Session: id, Seq: 1, Time: time.Now(), Run: "r", Payload: begins}); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := inDatabase.List(t.Context(), journal.Filter{}); err != nil || len(all) != 3 || all[0].ID != "plan" {
		t.Errorf("List with a plan = %+v, %v", all, err)
	}
	if all, err := inDatabase.List(t.Context(), journal.Filter{Labels: map[string]string{journal.LabelPlan: "plan"}}); err != nil || len(all) != 2 {
		t.Errorf("List of a plan = %+v, %v", all, err)
	}
	if states, err := inDatabase.Count(t.Context()); err != nil || states["complete"] != 2 || states[journal.Unfinished] != 1 {
		t.Errorf("Count = %v, %v", states, err)
	}
	// A plan is deleted with it.
	if err := inDatabase.Remove(t.Context(), "plan"); err != nil {
		t.Error(err)
	}
	if _, _, err := inDatabase.Load(t.Context(), "task"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("Load of a deleted plan's task: %v", err)
	}
	// Another tenant finds none of it.
	stranger := sessions(t, db, "stranger")
	if _, _, err := stranger.Load(t.Context(), session.ID); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("Load by another tenant: %v", err)
	}
	if all, err := stranger.List(t.Context(), journal.Filter{}); err != nil || len(all) != 0 {
		t.Errorf("another tenant lists %+v, %v", all, err)
	}
	if err := stranger.Remove(t.Context(), session.ID); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("Remove by another tenant: %v", err)
	}
	if err := inDatabase.Remove(t.Context(), session.ID); err != nil {
		t.Error(err)
	}
	if _, _, err := inDatabase.Load(t.Context(), session.ID); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("Load of what was removed: %v", err)
	}
}

// dying fails from an entry on, as the database does when its machine is lost.
type dying struct {
	agent.Recorder
	from int
}

var errLost = errors.New("lost")

func (d dying) Append(ctx context.Context, e agent.Entry) error {
	if e.Seq >= d.from {
		return errLost
	}
	return d.Recorder.Append(ctx, e)
}

// Whatever the last entry is that was recorded, a session is resumed, and the call that
// writes is not made again. Of two that resume it one is refused before it does anything.
func TestResumedSessions(t *testing.T) {
	db := open(t, migrated(t))
	store := sessions(t, db, "t")
	replies := []string{"I write. " + call("write", `{"text":"one"}`), "Done."}
	for from := 3; ; from++ {
		ran := 0
		session := agent.NewSession()
		var failed error
		for _, err := range assistant(t, dying{store, from}, &ran, replies...).Run(t.Context(), session, "Write one.") {
			failed = errors.Join(failed, err)
		}
		if !errors.Is(failed, errLost) {
			break // it came to its end before
		}
		first, err := store.Open(t.Context(), session.ID)
		if err != nil {
			t.Fatalf("cut at entry %d: %v", from, err)
		}
		second, err := store.Open(t.Context(), session.ID)
		if err != nil {
			t.Fatal(err)
		}
		rest := replies
		if ran > 0 {
			rest = replies[1:]
		}
		for _, err := range assistant(t, store, &ran, rest...).Resume(t.Context(), first) {
			if err != nil {
				t.Errorf("cut at entry %d: %v", from, err)
			}
		}
		if ran != 1 {
			t.Errorf("cut at entry %d: the call ran %d times", from, ran)
		}
		failed = nil
		for _, err := range assistant(t, store, &ran, rest...).Resume(t.Context(), second) {
			failed = errors.Join(failed, err)
		}
		if !errors.Is(failed, journal.ErrInUse) || ran != 1 {
			t.Errorf("cut at entry %d: a second that resumes it gets %v, and the call ran %d times", from, failed, ran)
		}
	}
	if all, err := store.List(t.Context(), journal.Filter{}); err != nil || len(all) < 5 {
		t.Errorf("%d sessions, %v", len(all), err)
	}
}

func TestAppendRefuses(t *testing.T) {
	store := sessions(t, open(t, migrated(t)), "t")
	entry := func(id string, seq int) agent.Entry {
		return agent.Entry{Session: id, Seq: seq, Time: time.Now(), Payload: agent.PromptEntry{Text: "x"}}
	}
	if err := store.Append(t.Context(), entry("s", 1)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		e    agent.Entry
		want error
	}{
		{entry("", 1), journal.ErrNotBegun}, {entry(strings.Repeat("x", 101), 1), journal.ErrNotBegun}, {entry("s", 1), journal.ErrInUse},
		{entry("s", 3), journal.ErrInUse}, {entry("other", 2), journal.ErrNotFound},
	} {
		if err := store.Append(t.Context(), tt.e); !errors.Is(err, tt.want) {
			t.Errorf("Append of entry %d of %.5q: %v, want %v", tt.e.Seq, tt.e.Session, err, tt.want)
		}
	}
	_, entries, err := store.Load(t.Context(), "s")
	if err != nil || len(entries) != 1 || !reflect.DeepEqual(entries[0].Payload, entry("s", 1).Payload) {
		t.Errorf("the session has %+v, %v", entries, err)
	}
}

// The end of a session is that of its last run, and none while that is under way.
func TestEnd(t *testing.T) {
	s := sessions(t, open(t, migrated(t)), "a")
	for i, p := range []agent.EntryPayload{agent.RunEntry{}, agent.EndEntry{StopReason: agent.StopInterrupted, Error: "by somebody"}, agent.RunEntry{}} {
		if err := s.Append(t.Context(), agent.Entry{Session: "s", Seq: i + 1, Time: time.Now(), Payload: p}); err != nil {
			t.Fatal(err)
		}
		want := ""
		if i == 1 {
			want = "by somebody"
		}
		if end, err := s.End(t.Context(), "s"); err != nil || end.Error != want {
			t.Errorf("after %d entries: %+v, %v", i+1, end, err)
		}
	}
	if _, err := s.End(t.Context(), "nosuch"); !errors.Is(err, journal.ErrNotFound) {
		t.Error(err)
	}
}

// A tenant has one name, however the server reads strings: what is recorded of it in one
// message, and what is read in another, is its own.
func TestTenantsByAnySetting(t *testing.T) {
	address := migrated(t)
	for _, setting := range []string{"standard_conforming_strings=off", "client_encoding=LATIN1", "bytea_output=escape"} {
		db, plain := open(t, address+"&"+setting), open(t, address)
		for _, name := range []string{"ab", "über", `o'x\y`, `\x6162`} {
			s, id := sessions(t, db, name+setting), "s"
			for i, p := range []agent.EntryPayload{agent.PromptEntry{Text: "x"}, agent.ReplyEntry{Text: "y"}} {
				if err := s.Append(t.Context(), agent.Entry{Session: id, Seq: i + 1, Time: time.Now(), Payload: p}); err != nil {
					t.Errorf("%s, tenant %s: %v", setting, name, err)
				}
			}
			p := payloads(t, db, name+setting)
			if err := p.Put(t.Context(), map[string][]byte{"k": []byte(name)}); err != nil {
				t.Error(err)
			}
			if all, err := sessions(t, plain, name+setting).After(t.Context(), id, 0); len(all) != 2 || err != nil {
				t.Errorf("%s, tenant %s: %d entries, %v", setting, name, len(all), err)
			}
			if found, err := payloads(t, plain, name+setting).Get(t.Context(), []string{"k"}); string(found["k"]) != name || err != nil {
				t.Errorf("%s, tenant %s: %q, %v", setting, name, found["k"], err)
			}
		}
	}
}
