package pages_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"mylm/memory/internal/pages"

	_ "modernc.org/sqlite"
)

// database makes a file with a table of three columns and an index on it, and
// gives its bytes with those of its log.
func database(t testing.TB, pageSize int, statements ...string) (db, log []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	conn, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetMaxOpenConns(1)
	for _, s := range append([]string{fmt.Sprintf("PRAGMA page_size = %d", pageSize), "PRAGMA journal_mode = wal",
		"CREATE TABLE t (n INTEGER PRIMARY KEY, a, b)", "CREATE INDEX i ON t(a)"}, statements...) {
		if _, err := conn.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if db, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if log, err = os.ReadFile(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	return db, log
}

func TestTables(t *testing.T) {
	long := strings.Repeat("overflow ", 5000)
	rows := []string{"PRAGMA wal_checkpoint(TRUNCATE)",
		"INSERT INTO t VALUES (1, 'text', x'00ff'), (2, NULL, 0), (3, 1, -1), (4, 127, -129), (5, 70000, -9000000000)",
		"INSERT INTO t VALUES (6, 1.5, 9223372036854775807), (7, '', x''), (1099511627776, '" + long + "', 'end')"}
	want := map[int64][]any{
		1: {nil, "text", []byte{0, 255}}, 2: {nil, nil, int64(0)}, 3: {nil, int64(1), int64(-1)}, 4: {nil, int64(127), int64(-129)},
		5: {nil, int64(70000), int64(-9000000000)}, 6: {nil, 1.5, int64(9223372036854775807)}, 7: {nil, "", []byte{}}, 1 << 40: {nil, long, "end"},
	}
	for _, size := range []int{512, 4096, 65536} {
		for _, logged := range []bool{true, false} {
			statements := rows
			if !logged {
				statements = append(rows[:len(rows):len(rows)], rows[0])
			}
			db, log := database(t, size, statements...)
			got, indexed := map[int64][]any{}, 0
			file := pages.Open(bytes.NewReader(db), bytes.NewReader(log))
			if err := file.Rows(t.Context(), 3, 2, func(r pages.Row) {
				if r.Num == 0 {
					indexed++
					return
				}
				got[r.Num] = r.Values
			}); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("pages of %d, in the log %v: %.300v, want %.300v", size, logged, got, want)
			}
			if indexed != len(want) {
				t.Errorf("pages of %d: %d entries, want %d", size, indexed, len(want))
			}
		}
	}
}

func FuzzFile(f *testing.F) {
	db, log := database(f, 512, "INSERT INTO t VALUES (1, 'a', zeroblob(2000)), (2, 3, 4.5)")
	f.Add(db, log)
	f.Add(db[:len(db)/2+1], []byte{})
	f.Add([]byte("SQLite format 3\x00\x02\x00"), log[:100])
	f.Fuzz(func(t *testing.T, db, log []byte) {
		file := pages.Open(bytes.NewReader(db), bytes.NewReader(log))
		if err := file.Rows(t.Context(), 3, 3, func(r pages.Row) {
			if len(r.Values) != 3 {
				t.Errorf("a row with %d columns", len(r.Values))
			}
		}); err != nil {
			t.Error(err)
		}
	})
}
