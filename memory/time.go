package memory

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The times that a document may have, in microseconds since 1970: the years 1
// to 9999, which RFC 3339 can write. The first instant of them is what a time
// that is not set is.
var (
	firstTime = time.Time{}.UnixMicro() + 1
	lastTime  = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro() - 1
)

// timeForms are the forms of time that are found in files, and that people and
// models write. Where there are seconds there may be a fraction of them.
var timeForms = []string{
	time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 -0700 MST",
	"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04",
	time.DateOnly, "20060102", "2006-01", "2006",
}

// ParseTime reads a date or a time: as in RFC 3339, with a space or a T between
// date and time, to the day, minute or second or finer, in loc where it names
// no zone; or since 1970, as a number of at least nine digits. Whether those
// are seconds, or thousandths, millionths or thousand-millionths of them, its
// size says.
func ParseTime(s string, loc *time.Location) (time.Time, error) {
	s = strings.TrimSpace(s)
	for _, form := range timeForms {
		if t, err := time.ParseInLocation(form, s, loc); err == nil {
			return t, nil
		}
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(n) >= 1e8 && strings.Trim(s, "0123456789.-+eE") == "" {
		return unixTime(n)
	}
	return time.Time{}, fmt.Errorf("%.40q is no time: write it like 2026-01-31 or 2026-01-31T14:00:00Z", s)
}

// unixTime is the time of a number. As seconds, 1e11 is in the year 5138; as
// milliseconds, in 1973.
func unixTime(n float64) (time.Time, error) {
	seconds := n
	for limit := 1e11; math.Abs(n) >= limit && limit <= 1e17; limit *= 1e3 {
		seconds /= 1e3
	}
	if micro := math.Round(seconds * 1e6); float64(firstTime) <= micro && micro <= float64(lastTime) {
		return time.UnixMicro(int64(micro)).UTC(), nil
	}
	return time.Time{}, fmt.Errorf("%g is no time since 1970 in the years 1 to 9999", n) // nor is NaN
}

// timeOf reads a field of a record as a time, zero if it is not there. A number
// that is none in text is since 1970, however small.
func timeOf(record map[string]any, field string) (time.Time, error) {
	if n, ok := record[field].(json.Number); ok {
		f, err := n.Float64()
		if err != nil {
			return time.Time{}, fmt.Errorf("%.40q is no time: the number is too large", n)
		}
		return unixTime(f)
	}
	if s := str(record, field); s != "" {
		return ParseTime(s, time.UTC)
	}
	return time.Time{}, nil
}

// checkTime refuses what could be stored and not be written as text.
func checkTime(t time.Time) error {
	if year := t.UTC().Year(); year < 1 || year > 9999 {
		return fmt.Errorf("the time %d since 1970 is in the year %d; a memory is of the years 1 to 9999", t.Unix(), year)
	}
	return nil
}

// instant is a time as it is stored. A file may hold one that no document may
// have: milliseconds that were taken for seconds. A thousandth of any is one
// that it may.
func instant(micro int64) time.Time {
	if micro < firstTime || micro > lastTime {
		micro /= 1000
	}
	return time.UnixMicro(micro).UTC()
}
