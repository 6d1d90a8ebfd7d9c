package postgres_test

import (
	"context"
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mylm/agent"
	"mylm/agent/durable/pgtest"
	"mylm/agent/durable/postgres"
	"mylm/agent/journal"
	"mylm/memory"
)

// Workers that start together all find the schema made, once.
func TestMigrateAtOnce(t *testing.T) {
	address := pgtest.Database(t)
	var made atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			n, err := postgres.Migrate(t.Context(), address)
			made.Add(int64(n))
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if again, err := postgres.Migrate(t.Context(), address); again != 0 || err != nil || made.Load() == 0 {
		t.Errorf("%d migrations, then %d, %v", made.Load(), again, err)
	}
	tenant(t, open(t, address), "t")
}

func TestErrors(t *testing.T) {
	empty, ready := pgtest.Database(t), migrated(t)
	newer, bare := migrated(t), pgtest.Database(t)
	pgtest.Administer(t, newer, "INSERT INTO mylm_migrations (version_id, is_applied) VALUES (99, true)")
	pgtest.Administer(t, bare, "DROP EXTENSION vector")
	indexed := migrated(t)
	tenant(t, open(t, indexed), "t")
	pgtest.Administer(t, indexed, "UPDATE state SET analyser = 1000")
	both := []func(address string) error{
		func(address string) error { _, err := postgres.Migrate(t.Context(), address); return err },
		func(address string) error { _, err := postgres.Open(t.Context(), address); return err },
	}
	for _, tt := range []struct {
		name, address string
		of            []func(string) error
		want          error
	}{
		{"no address", "postgres://host:port/x", both, postgres.ErrAddress},
		{"a password with an @", "postgres://mylm:a@guess@host:port/x", both, postgres.ErrAddress},
		{"a password with a /", "postgres://mylm:guess/b@host/x", both, postgres.ErrAddress},
		{"a password with a number and a /", "postgres://mylm:1/guess@host/x", both, postgres.ErrAddress},
		{"a password with a blank", "host=host password=a guess", both, postgres.ErrAddress},
		{"no server", "host=" + t.TempDir() + " user=mylm", both, postgres.ErrUnreachable},
		{"no port", "postgres://mylm@127.0.0.1:1/x", both, postgres.ErrUnreachable},
		{"wrong password", pgtest.As(t, ready, pgtest.Role, "guess"), both, postgres.ErrPassword},
		{"no role", pgtest.As(t, ready, "stranger", "guess"), both, postgres.ErrPassword},
		{"no database", strings.Replace(ready, "/test", "/other", 1), both, postgres.ErrNoDatabase},
		{"superuser", pgtest.As(t, ready, pgtest.Superuser, pgtest.Password), both[1:], postgres.ErrPrivileged},
		{"no schema", empty, both[1:], postgres.ErrOlder},
		{"newer schema", newer, both, postgres.ErrNewer},
		{"no extension", bare, both[:1], postgres.ErrNoVector},
		{"newer index", indexed, []func(string) error{func(address string) error {
			_, err := open(t, address).Memory(t.Context(), "t", memory.Options{})
			return err
		}}, memory.ErrNewer},
	} {
		for _, f := range tt.of {
			if err := f(tt.address); !errors.Is(err, tt.want) || strings.Contains(err.Error(), "guess") {
				t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
			}
		}
	}
	db := open(t, ready)
	for _, name := range []string{"", strings.Repeat("x", 201), "\xff", "a\x00b"} {
		if _, err := db.Memory(t.Context(), name, memory.Options{}); !errors.Is(err, postgres.ErrTenant) {
			t.Errorf("tenant %.10q: %v", name, err)
		}
	}
	long := memory.Document{Text: "x", Session: base64.StdEncoding.EncodeToString(random(3000))}
	if _, err := tenant(t, db, "t").Add(t.Context(), long); err == nil || !strings.Contains(err.Error(), "2,000 bytes") {
		t.Errorf("a name of %d bytes: %v", len(long.Session), err)
	}
}

// PostgreSQL has no text with a NUL: nothing has such an id.
func TestNUL(t *testing.T) {
	db := open(t, migrated(t))
	store, record := tenant(t, db, "t"), sessions(t, db, "t")
	if _, err := store.Get(t.Context(), "a\x00b"); err == nil || !strings.Contains(err.Error(), "no id, with a NUL") {
		t.Errorf("Get: %v", err)
	}
	if _, err := record.Open(t.Context(), "a\x00b"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("Open: %v", err)
	}
	if err := record.Remove(t.Context(), "\xff"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("Remove: %v", err)
	}
}

// After has what follows a number, and Count the states.
func TestFollow(t *testing.T) {
	record := sessions(t, open(t, migrated(t)), "t")
	for i, p := range []agent.EntryPayload{agent.RunEntry{}, agent.PromptEntry{Text: "x"}, agent.EndEntry{StopReason: agent.StopComplete}} {
		if err := record.Append(t.Context(), agent.Entry{Session: "s", Seq: i + 1, Time: time.Now(), Payload: p}); err != nil {
			t.Fatal(err)
		}
	}
	for after, want := range map[int]int{0: 3, 2: 1, 3: 0} {
		if got, err := record.After(t.Context(), "s", after); err != nil || len(got) != want {
			t.Errorf("after %d: %d entries, %v", after, len(got), err)
		}
	}
	if got, err := record.After(t.Context(), "other", 0); err != nil || len(got) != 0 {
		t.Errorf("of another session: %v, %v", got, err)
	}
	if got, err := record.Count(t.Context()); err != nil || len(got) != 1 || got["complete"] != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// random bytes, which PostgreSQL cannot compress.
func random(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b) // never fails
	return b
}

// A writer waits for others of its tenant, for as long as it is told.
func TestBusy(t *testing.T) {
	address := migrated(t)
	store, err := open(t, address).Memory(t.Context(), "t", memory.Options{Wait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	other, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.Background())
	if _, err := other.Exec(t.Context(), "SELECT pg_advisory_lock(hashtextextended('mylm.memory t', 0))"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Add(t.Context(), memory.Document{Text: "x"}); !errors.Is(err, memory.ErrBusy) {
		t.Errorf("Add while another writes: %v", err)
	}
	if _, err := store.Search(t.Context(), memory.Query{Text: "x"}); err != nil {
		t.Errorf("a search while another writes: %v", err)
	}
	if _, err := other.Exec(t.Context(), "SELECT pg_advisory_unlock_all()"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Add(t.Context(), memory.Document{Text: "x"}); err != nil {
		t.Errorf("Add after it: %v", err)
	}
}

// A server that was restarted has lost the connections of the pool, and nobody notices.
func TestConnectionsLost(t *testing.T) {
	address := migrated(t)
	db := open(t, address)
	store, record := tenant(t, db, "t"), sessions(t, db, "t")
	for i := range 3 {
		if _, err := store.Search(t.Context(), memory.Query{Text: "x"}); err != nil {
			t.Errorf("Search %d: %v", i, err)
		}
		pgtest.Administer(t, address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid()")
		if _, err := store.Add(t.Context(), memory.Document{Text: "x"}); err != nil {
			t.Errorf("Add %d: %v", i, err)
		}
		pgtest.Administer(t, address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid()")
		if err := record.Append(t.Context(), agent.Entry{Session: "s", Seq: i + 1, Time: time.Now(), Payload: agent.PromptEntry{Text: "x"}}); err != nil {
			t.Errorf("Append %d: %v", i, err)
		}
	}
	pgtest.Administer(t, address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid()")
	if err := record.Append(t.Context(), agent.Entry{Session: "s", Seq: 4, Time: time.Now(), Payload: agent.ReplyEntry{Text: "x"}}); err != nil {
		t.Errorf("Append of a reply: %v", err)
	}
	pgtest.Administer(t, address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid()")
	if err := payloads(t, db, "t").Put(t.Context(), map[string][]byte{"a": []byte("x"), "b": []byte("y")}); err != nil {
		t.Errorf("Put: %v", err)
	}
	if found, err := payloads(t, db, "t").Get(t.Context(), []string{"a", "b"}); err != nil || len(found) != 2 {
		t.Errorf("Get: %v, %v", found, err)
	}
}

// An error that comes again is told apart from that of a server which is away.
func TestPermanent(t *testing.T) {
	address := migrated(t)
	record := sessions(t, open(t, address), "t")
	try := func() (stays bool, err error) {
		err = record.Append(t.Context(), agent.Entry{Session: "s", Seq: 1, Time: time.Now(), Payload: agent.PromptEntry{Text: "x"}})
		var p interface{ Permanent() bool }
		return errors.As(err, &p) && p.Permanent(), err
	}
	pgtest.Administer(t, address, "ALTER TABLE entries OWNER TO CURRENT_USER")
	if stays, err := try(); !stays {
		t.Errorf("without the rights: %v", err)
	}
	pgtest.Administer(t, address, "ALTER TABLE entries RENAME TO others")
	if stays, err := try(); !stays || !errors.Is(err, postgres.ErrOlder) {
		t.Errorf("without the table: %v", err)
	}
	nobody, err := postgres.Open(t.Context(), "host=127.0.0.1 port=1 connect_timeout=1")
	var p interface{ Permanent() bool }
	if nobody != nil || err == nil || errors.As(err, &p) {
		t.Errorf("without a server: %v", err)
	}
}
