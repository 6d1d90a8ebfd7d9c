package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mylm/agent/durable/pgtest"
	"mylm/memory"
)

// The nearest documents come from the HNSW index: the plan of the statement says so.
func TestHNSW(t *testing.T) {
	address := migrated(t)
	name := address[strings.LastIndex(address, "/")+1 : strings.LastIndex(address, "?")]
	for _, setting := range []string{"session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = 0"} {
		pgtest.Administer(t, address, "ALTER DATABASE "+name+" SET "+setting)
	}
	db := open(t, address)
	filled(t, tenant(t, db, "another"), 300)
	store := tenant(t, db, "one")
	filled(t, store, 3000)
	pgtest.Administer(t, address, "ANALYZE")
	q := memory.Query{Text: "silvrygrden wintryhrbours", Projects: []string{"p1"}, Limit: 10} // no word of it is there
	hits, err := store.Search(t.Context(), q)
	if err != nil || len(hits) != 10 {
		t.Fatalf("%d hits, %v", len(hits), err)
	}
	for _, h := range hits {
		if h.Project != "p1" {
			t.Errorf("found %+v, which the query leaves out", h)
		}
	}
	if log := pgtest.Log(t); !strings.Contains(log, "Index Scan using vectors_hnsw_48 on vectors") {
		at := strings.LastIndex(log, "vector_dims")
		t.Errorf("the index is not used:\n%s", log[max(0, at-500):min(len(log), at+3000)])
	}
}

// Tenants that embed wait for others only to make the index of a length.
func TestEmbedAtOnce(t *testing.T) {
	address := migrated(t)
	db := open(t, address)
	filled(t, tenant(t, db, "one"), 1)
	other, err := db.Memory(t.Context(), "other", memory.Options{Wait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	tx, err := conn.Begin(t.Context()) // as that of another tenant that embeds
	if err == nil {
		_, err = tx.Exec(t.Context(), "LOCK vectors IN ROW EXCLUSIVE MODE")
	}
	if err != nil {
		t.Fatal(err)
	}
	filled(t, other, 1)
}

// The index is read to a limit of pgvector's; what is behind it is found all the same.
func TestNearestBehindOthers(t *testing.T) {
	address := migrated(t)
	name := address[strings.LastIndex(address, "/")+1 : strings.LastIndex(address, "?")]
	for _, setting := range []string{"hnsw.max_scan_tuples = 1", "enable_sort = off"} { // so that the index is preferred
		pgtest.Administer(t, address, "ALTER DATABASE "+name+" SET "+setting)
	}
	store := tenant(t, open(t, address), "t")
	filled(t, store, 3000)
	for i := range 150 {
		q := memory.Query{Text: "silvrygrden wintryhrbours", Sessions: []string{fmt.Sprint(i)}, Limit: 10} // no word of it is there
		if hits, err := store.Search(t.Context(), q); err != nil || len(hits) != 10 {
			t.Errorf("%d hits in session %d, %v", len(hits), i, err)
		}
	}
}

// A vector that is not as long as the others makes an index of its own.
func TestVectorLengths(t *testing.T) {
	store := tenant(t, open(t, migrated(t)), "t")
	if _, err := store.Add(t.Context(), made(3)...); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{3, 5000, 8} {
		e := ones(n)
		store.Use(e, func(err error) { t.Error(err) })
		if err := store.Embed(t.Context(), e, nil); err != nil {
			t.Fatalf("%d numbers: %v", n, err)
		}
		hits, err := store.Search(t.Context(), memory.Query{Text: "nothing like it"})
		if err != nil || len(hits) == 0 || hits[0].Found.Similarity < 0.999 {
			t.Errorf("%d numbers: %s, %v", n, list(hits), err)
		}
	}
}

// ones is an embedder that takes all texts for the same.
type ones int

func (n ones) Name() string { return fmt.Sprint("ones/", int(n)) }
func (n ones) EmbedDocuments(ctx context.Context, texts []string) (all [][]float32, err error) {
	for range texts {
		v, _ := n.EmbedQuery(ctx, "")
		all = append(all, v)
	}
	return all, nil
}
func (n ones) EmbedQuery(context.Context, string) ([]float32, error) {
	v := make([]float32, n)
	for i := range v {
		v[i] = 1e5 // more than two bytes can say
	}
	return v, nil
}
