package postgres_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mylm/agent/durable/pgtest"
	"mylm/agent/durable/postgres"
)

func payloads(t *testing.T, db *postgres.DB, tenant string) *postgres.Payloads {
	t.Helper()
	p, err := db.Payloads(tenant)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPayloads(t *testing.T) {
	db := open(t, migrated(t))
	ours, theirs := payloads(t, db, "ours"), payloads(t, db, "theirs")
	long := []byte(strings.Repeat("\x00long ", 1<<18))
	put := func(p *postgres.Payloads, all map[string][]byte) {
		t.Helper()
		if err := p.Put(t.Context(), all); err != nil {
			t.Fatal(err)
		}
	}
	put(ours, map[string][]byte{"a": long, "b": {}})
	between := time.Now()
	put(ours, map[string][]byte{"b": {}, "c": []byte("c")})
	put(theirs, map[string][]byte{"c": []byte("another")})
	get := func(p *postgres.Payloads, want ...string) map[string][]byte {
		t.Helper()
		all, err := p.Get(t.Context(), []string{"c", "b", "a", "none"})
		if found := slices.Sorted(maps.Keys(all)); err != nil || !slices.Equal(found, want) {
			t.Errorf("%v, %v; want %v", found, err, want)
		}
		return all
	}
	if all := get(ours, "a", "b", "c"); string(all["a"]) != string(long) || len(all["b"]) != 0 || string(all["c"]) != "c" {
		t.Errorf("payloads come back as others: %.40q, %q, %q", all["a"], all["b"], all["c"])
	}
	if all := get(theirs, "c"); string(all["c"]) != "another" {
		t.Errorf("the tenant sees another's: %q", all["c"])
	}
	if err := ours.Put(t.Context(), map[string][]byte{"d": {}, "\xff": {}}); err == nil {
		t.Error("a key that is no text was kept")
	}
	if all, err := payloads(t, db, "ours").Get(t.Context(), []string{"d"}); len(all) > 0 || err != nil {
		t.Errorf("half of what was put is kept: %v, %v", all, err)
	}
	if n, err := ours.Expire(t.Context(), between); n != 1 || err != nil {
		t.Errorf("%d expired, %v", n, err)
	}
	get(ours, "b", "c")
	if n, err := ours.Expire(t.Context(), time.Now().Add(time.Hour)); n != 2 || err != nil {
		t.Errorf("%d expired, %v", n, err)
	}
	get(ours)
	get(theirs, "c")
	if _, err := db.Payloads(""); err == nil {
		t.Error("nobody has payloads")
	}
}

// What is read is kept, however long ago it was put, and any number is deleted, by one
// process at a time.
func TestExpire(t *testing.T) {
	address := migrated(t)
	db := open(t, address)
	p, reader := payloads(t, db, "t"), payloads(t, db, "t") // as another process
	all := map[string][]byte{}
	for i := range 2500 {
		all[fmt.Sprint(i)] = []byte("x")
	}
	if err := p.Put(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	pgtest.Administer(t, address, "UPDATE payloads SET stored = now() - interval '90 days'")
	if found, err := reader.Get(t.Context(), []string{"7", "8"}); err != nil || len(found) != 2 {
		t.Fatal(found, err)
	}
	var group sync.WaitGroup
	var gone atomic.Int64
	for range 4 {
		group.Go(func() {
			n, err := p.Expire(t.Context(), time.Now().Add(-time.Hour))
			if gone.Add(n); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	n, err := p.Expire(t.Context(), time.Now().Add(-time.Hour)) // where one saw the lock of another between two batches
	if gone.Add(n) != 2498 || err != nil {
		t.Errorf("%d deleted, %v", gone.Load(), err)
	}
	if found, err := p.Get(t.Context(), []string{"6", "7", "8"}); err != nil || len(found) != 2 {
		t.Error(found, err)
	}
}
