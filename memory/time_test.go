package memory_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mylm/memory"
)

func TestParseTime(t *testing.T) {
	east := time.FixedZone("", 2*3600)
	at := func(y int, m time.Month, d, h, min, s, ns int, loc *time.Location) time.Time {
		return time.Date(y, m, d, h, min, s, ns, loc)
	}
	for _, tt := range []struct {
		in   string
		want time.Time
	}{
		{"2026-01-31", at(2026, 1, 31, 0, 0, 0, 0, east)},
		{" 2026-01-31\n", at(2026, 1, 31, 0, 0, 0, 0, east)},
		{"20260131", at(2026, 1, 31, 0, 0, 0, 0, east)},
		{"2026-01", at(2026, 1, 1, 0, 0, 0, 0, east)},
		{"2026", at(2026, 1, 1, 0, 0, 0, 0, east)},
		{"2026-01-31T14:00", at(2026, 1, 31, 14, 0, 0, 0, east)},
		{"2026-01-31 14:00", at(2026, 1, 31, 14, 0, 0, 0, east)},
		{"2026-01-31T14:00:01", at(2026, 1, 31, 14, 0, 1, 0, east)},
		{"2026-01-31 14:00:01.25", at(2026, 1, 31, 14, 0, 1, 250e6, east)},
		{"2026-01-31T14:00:01.123456Z", at(2026, 1, 31, 14, 0, 1, 123456e3, time.UTC)},
		{"2026-01-31T14:00:01+02:00", at(2026, 1, 31, 14, 0, 1, 0, east)},
		{"2026-01-31T14:00:01.000+0200", at(2026, 1, 31, 14, 0, 1, 0, east)},
		{"2026-01-31 14:00:01+00:00", at(2026, 1, 31, 14, 0, 1, 0, time.UTC)},
		{"2026-01-31 14:00:01 +0200", at(2026, 1, 31, 14, 0, 1, 0, east)},
		{"2026-01-31T14:00Z", at(2026, 1, 31, 14, 0, 0, 0, time.UTC)},
		{"1700000000", time.Unix(1700000000, 0)},
		{"1700000000.5", time.UnixMilli(1700000000500)},
		{"1.7e9", time.Unix(1700000000, 0)},
		{"99999999999", time.Unix(99999999999, 0)},
		{"100000000000", time.UnixMilli(100000000000)},
		{"1700000000123", time.UnixMilli(1700000000123)},
		{"-1700000000123", time.UnixMilli(-1700000000123)},
		{"1700000000123456", time.UnixMicro(1700000000123456)},
		{"1700000000123456000", time.UnixMicro(1700000000123456)},
	} {
		if got, err := memory.ParseTime(tt.in, east); err != nil || !got.Equal(tt.want) {
			t.Errorf("ParseTime(%q) = %v, %v, want %v", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []string{"", "yesterday", "5", "12.5", "NaN", "Inf", "-inf", "infinity", "1e400", "1e300", "-1e21", "0x1p60", "1_700_000_000", "2026-13-01", "2026-02-30", "31.1.2026"} {
		if got, err := memory.ParseTime(in, east); err == nil || !strings.Contains(err.Error(), "not a time") {
			t.Errorf("ParseTime(%q) = %v, %v, want an error", in, got, err)
		}
	}
}

// TestImportTimes imports times as files have them, and what no time is.
func TestImportTimes(t *testing.T) {
	mapping := memory.Fields{ID: "id", Text: []string{"text"}, Time: "time"}.Mapping()
	for _, tt := range []struct{ in, want string }{
		{"1700000000123", "2023-11-14T22:13:20.123Z"},
		{`"1700000000123"`, "2023-11-14T22:13:20.123Z"},
		{"0", "1970-01-01T00:00:00Z"},
		{"-1.5", "1969-12-31T23:59:58.5Z"},
		{`"2023-11-14T22:13:20"`, "2023-11-14T22:13:20Z"},
		{"1e400", ""}, {"1e30", ""}, {`"NaN"`, ""}, {`"Inf"`, ""}, {`"0000-05-01"`, ""},
	} {
		s := fresh(t)
		_, err := s.Import(t.Context(), strings.NewReader(`{"id":"1","text":"x","time":`+tt.in+`}`), mapping)
		if tt.want == "" {
			if err == nil || !strings.Contains(err.Error(), "record 1: ") {
				t.Errorf("a time of %s: %v, want an error", tt.in, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("a time of %s: %v", tt.in, err)
			continue
		}
		if d, err := s.Get(t.Context(), "1"); err != nil || d.Time.Format(time.RFC3339Nano) != tt.want {
			t.Errorf("a time of %s is %v, %v, want %s", tt.in, d.Time, err, tt.want)
		}
	}
}

// TestTimesOutOfRange has a file that holds times which cannot be written as
// text, as imports once made them.
func TestTimesOutOfRange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	all := sample(t, path, 3)
	stored := []int64{1_700_000_000_123 * 1e6, 1<<63 - 1, -1 << 63} // the first is milliseconds that were taken for seconds
	for i, micro := range stored {
		execute(t, path, fmt.Sprintf("UPDATE documents SET time = %d, last = %[1]d WHERE num = %d", micro, i+1))
	}
	s := open(t, path)
	defer s.Close()
	var out bytes.Buffer
	if n, err := s.Export(t.Context(), &out, memory.All); n != len(all) || err != nil || !strings.Contains(out.String(), `"time":"2023-11-14T22:13:20.123Z"`) {
		t.Errorf("Export = %d, %v:\n%s", n, err, &out)
	}
	if did, err := fresh(t).Import(t.Context(), &out, nil); err != nil || did.Added != len(all) {
		t.Errorf("imported again: %+v, %v", did, err)
	}
	if st, err := s.Stats(t.Context()); err != nil || st.Newest.Year() > 9999 || st.Oldest.Year() < 1 {
		t.Errorf("Stats = %+v, %v", st, err)
	}
	if _, err := s.Search(t.Context(), memory.Query{Text: question}); err != nil {
		t.Errorf("Search: %v", err)
	}
	if n, err := s.Forget(t.Context(), memory.All); n != len(all) || err != nil {
		t.Errorf("Forget(All) = %d, %v, want %d", n, err, len(all))
	}
}

// TestCircleInFile has a file in which two documents supersede each other, with
// hashes of earlier versions, which do not cover the IDs.
func TestCircleInFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	sample(t, path, 3)
	execute(t, path, "UPDATE documents SET id = 'd' || num, hash = substr(hash, 1, 16); UPDATE documents SET superseded_by = 2 WHERE num = 1; UPDATE documents SET superseded_by = 1 WHERE num = 2")
	s := open(t, path)
	defer s.Close()
	if err := s.Supersede(t.Context(), "d3", "d1"); err != nil {
		t.Errorf("Supersede by one of a circle: %v", err)
	}
	if err := s.Supersede(t.Context(), "d1", ""); err != nil {
		t.Errorf("taking it apart: %v", err)
	}
	if err := s.Supersede(t.Context(), "d1", "d3"); err == nil {
		t.Error("d1 corrects d3, and may be corrected by it")
	}
}
