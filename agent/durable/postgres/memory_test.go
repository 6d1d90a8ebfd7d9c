package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mylm/agent/durable/pgtest"
	"mylm/agent/durable/postgres"
	"mylm/memory"
	"mylm/memory/memorytest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// migrated makes a database with the schema.
func migrated(t *testing.T) (address string) {
	t.Helper()
	address = pgtest.Database(t)
	if _, err := postgres.Migrate(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	return address
}

func open(t *testing.T, address string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func tenant(t *testing.T, db *postgres.DB, name string) *memory.Store {
	t.Helper()
	store, err := db.Memory(t.Context(), name, memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func file(t *testing.T) *memory.Store {
	t.Helper()
	store, err := memory.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// The memories of the suite are tenants of one database, so that each test also shows
// that the others do not disturb it.
func TestMemorySuite(t *testing.T) {
	db := open(t, migrated(t))
	memorytest.Run(t, func(t *testing.T, path string) memorytest.Store {
		store, err := db.Memory(t.Context(), path, memory.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return store
	})
}

func TestTenants(t *testing.T) {
	address := migrated(t)
	db := open(t, address)
	one, other := tenant(t, db, "one"), tenant(t, db, "other")
	one.Use(letters{}, func(err error) { t.Error(err) })
	other.Use(letters{}, func(err error) { t.Error(err) })
	d, err := one.Add(t.Context(), memory.Document{Text: "the staging host is called heron", Session: "s", Project: "p", Speaker: "Ada"})
	if err == nil {
		err = one.Embed(t.Context(), letters{}, nil)
	}
	if err == nil {
		err = one.Reindex(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Get(t.Context(), d[0].ID); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("Get by another tenant: %v", err)
	}
	if hits, err := other.Search(t.Context(), memory.Query{Text: "which host is staging?"}); len(hits) != 0 || err != nil {
		t.Errorf("a search of another tenant finds %v, %v", hits, err)
	}
	if n, err := other.Export(t.Context(), &bytes.Buffer{}, memory.Filter{}); n != 0 || err != nil {
		t.Errorf("another tenant exports %d, %v", n, err)
	}
	if n, err := other.Forget(t.Context(), memory.All); n != 0 || err != nil {
		t.Errorf("another tenant forgets %d, %v", n, err)
	}
	if hits, err := one.Search(t.Context(), memory.Query{Text: "which host is staging?"}); len(hits) != 1 || hits[0].Found.Similarity == 0 || err != nil {
		t.Errorf("the tenant itself finds %v, %v", hits, err)
	}
	// PostgreSQL itself keeps them apart: whatever a statement asks for.
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for table, want := range map[string]int{"documents": 1, "state": 1, "scopes": 2, "speakers": 1, "segments": 1, "chunks": 1, "embedders": 1, "vectors": 1} {
		count := func(tenant string) (n int) {
			if _, err := conn.Exec(t.Context(), "SELECT set_config('mylm.tenant', $1, false)", tenant); err != nil {
				t.Fatal(err)
			}
			if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		}
		if n := count("one"); n != want {
			t.Errorf("the tenant sees %d %s, want %d", n, table, want)
		}
		if n := count("nobody"); n != 0 {
			t.Errorf("a tenant that there is not sees %d %s", n, table)
		}
		if _, err := conn.Exec(t.Context(), "RESET mylm.tenant"); err != nil {
			t.Fatal(err)
		}
	}
	// On a connection that has had a tenant the setting is empty after it.
	var seen int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM documents").Scan(&seen); seen != 0 {
		t.Errorf("after a tenant, %d documents, %v", seen, err)
	}
	if _, err := conn.Exec(t.Context(), "INSERT INTO state DEFAULT VALUES"); err == nil {
		t.Error("after a tenant, a row of none can be made")
	}
	fresh, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close(context.Background())
	if _, err := fresh.Exec(t.Context(), "SELECT count(*) FROM documents"); err == nil {
		t.Error("without a tenant documents can be read")
	}
}

// letters is an embedder whose vectors follow from the letters of a text.
type letters struct{}

const dimension = 48

func (letters) Name() string { return "letters" }

func (letters) EmbedDocuments(_ context.Context, texts []string) ([][]float32, error) {
	all := make([][]float32, len(texts))
	for i, text := range texts {
		all[i] = make([]float32, dimension)
		for n := range len(text) - 2 {
			h := fnv.New32()
			h.Write([]byte(text[n : n+3]))
			all[i][h.Sum32()%dimension] = 1 // no way to store it rounds that
		}
	}
	return all, nil
}

func (e letters) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	all, err := e.EmbedDocuments(ctx, []string{text})
	return all[0], err
}

var words = strings.Fields("heron kestrel merlin osprey wheel wood river stone lamp copper silver garden winter harbour violin ladder")

// made are documents of many combinations of words.
func made(n int) (all []memory.Document) {
	for i := range n {
		text := fmt.Sprintf("%s and %s near the %s, number %d", words[i%16], words[i/16%16], words[(i/7+i/256)%16], i)
		all = append(all, memory.Document{ID: fmt.Sprintf("d%05d", i), Text: text, Session: fmt.Sprint(i / 20), Project: fmt.Sprint("p", i%2),
			Time: time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)})
	}
	return all
}

func filled(t *testing.T, store *memory.Store, n int) {
	t.Helper()
	_, err := store.Add(t.Context(), made(n)...)
	if err == nil {
		store.Use(letters{}, func(err error) { t.Error(err) })
		err = store.Embed(t.Context(), letters{}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A database finds what a file finds, with the same reasons, by words and by vectors.
func TestSameAsFile(t *testing.T) {
	inFile, inDatabase := file(t), tenant(t, open(t, migrated(t)), "t")
	filled(t, inFile, 700)
	filled(t, inDatabase, 700)
	for _, text := range []string{"copper heron", "where is the violin?", "number 512", "hreon lamp", "silvery gardens in wintery harbours"} {
		for _, q := range []memory.Query{{Text: text}, {Text: text, Projects: []string{"p1"}, Limit: 20}, {Text: text, Sessions: []string{"3", "17"}}} {
			want, err := inFile.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			got, err := inDatabase.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if !alike(got, want) {
				t.Errorf("%+v:\n%s\nin a file:\n%s", q, list(got), list(want))
			}
		}
	}
	if r, err := inDatabase.Verify(t.Context()); err != nil || r.Documents != 700 || len(r.Problems) > 0 {
		t.Errorf("Verify = %+v, %v", r, err)
	}
}

// alike reports whether two lists hold the same, but for documents that are equally near.
func alike(got, want []memory.Hit) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if got[i].ID != want[i].ID && math.Abs(float64(got[i].Found.Similarity-want[i].Found.Similarity)) > 1e-5 {
			return false
		}
	}
	return true
}

func list(hits []memory.Hit) string {
	var out strings.Builder
	for _, h := range hits {
		fmt.Fprintf(&out, "%s %s (%s)\n", h.ID, h.Text, h.Why())
	}
	return out.String()
}

// What is forgotten is in no row of any table.
func TestForgetLeavesNothing(t *testing.T) {
	address := migrated(t)
	store := tenant(t, open(t, address), "t")
	filled(t, store, 600) // more than one segment
	d, err := store.Add(t.Context(), memory.Document{Text: "zyxwords of Zebedee", Speaker: "Zebedee", Session: "zyxsession", Project: "zyxproject", Source: "zyxsource", Tags: []string{"zyxtag"}})
	if err == nil {
		err = store.Embed(t.Context(), letters{}, nil)
	}
	if err == nil {
		err = store.Reindex(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	traces := func() (found []string) {
		if _, err := conn.Exec(t.Context(), "SELECT set_config('mylm.tenant', 't', false)"); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"documents", "scopes", "speakers", "chunks", "segments", "vectors"} {
			var n int
			hex := fmt.Sprintf("%x", "yxword") // what a text shows of bytes
			if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM "+table+" AS x WHERE x::text ~* ('zyx|zebedee|' || $1)", hex).Scan(&n); err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				found = append(found, table)
			}
		}
		return found
	}
	if found := traces(); !reflect.DeepEqual(found, []string{"documents", "scopes", "speakers", "chunks"}) {
		t.Fatalf("before, traces are in %v", found)
	}
	if n, err := store.Forget(t.Context(), memory.Filter{IDs: []string{d[0].ID}}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if found := traces(); found != nil {
		t.Errorf("after Forget, traces are in %v", found)
	}
	st, err := store.Stats(t.Context())
	if err != nil || st.Vectors["letters"] != 600 {
		t.Errorf("after Forget there are %v, %v", st.Vectors, err)
	}
}

// What a file exports a database imports, and back, without loss.
func TestExportAndImport(t *testing.T) {
	from, through, back := file(t), tenant(t, open(t, migrated(t)), "t"), file(t)
	if _, err := from.Add(t.Context(), append(made(1500), memory.Document{ID: "odd", Text: "日本語 <b>\u2028\"\\ ✓", Kind: memory.Tool, Role: "user",
		Speaker: "Ada", Source: "a shell", Tags: []string{"a \"tag\"", "b"}, Count: 3, Time: time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC), Last: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)})...); err != nil {
		t.Fatal(err)
	}
	if err := from.Supersede(t.Context(), "d00003", "odd"); err != nil {
		t.Fatal(err)
	}
	var first, second, third bytes.Buffer
	for _, step := range []struct {
		store *memory.Store
		in    *bytes.Buffer
		out   *bytes.Buffer
	}{{from, nil, &first}, {through, &first, &second}, {back, &second, &third}} {
		if step.in != nil {
			if did, err := step.store.Import(t.Context(), bytes.NewReader(step.in.Bytes()), nil); err != nil || did.Added != 1501 {
				t.Fatalf("Import = %+v, %v", did, err)
			}
		}
		if n, err := step.store.Export(t.Context(), step.out, memory.Filter{}); err != nil || n != 1501 {
			t.Fatalf("Export = %d, %v", n, err)
		}
	}
	if first.String() != second.String() || first.String() != third.String() {
		t.Error("what was imported is not what was exported")
	}
}
