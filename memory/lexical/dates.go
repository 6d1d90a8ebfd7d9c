package lexical

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// fade is the number of days after a date at which a document is lifted half
// as much: things are told of after they happened.
const fade = 5

// date is what a query says about time. A zero year is any year, a zero day
// the whole month, a zero month the whole year.
type date struct {
	year  int
	month time.Month
	day   int
	text  string // as written, empty if nothing is said
}

func (d date) said() bool { return d.text != "" }

func utc(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }

// near is 1 within the date, and fades over the days outside it, twice as fast before it.
func (d date) near(t time.Time) float64 {
	if d.year != 0 {
		return d.nearIn(d.year, t)
	}
	return max(d.nearIn(t.Year()-1, t), d.nearIn(t.Year(), t), d.nearIn(t.Year()+1, t))
}

func (d date) nearIn(year int, t time.Time) float64 {
	from := time.Date(year, max(1, d.month), max(1, d.day), 0, 0, 0, 0, time.UTC)
	var to time.Time
	switch {
	case d.day > 0:
		to = from.AddDate(0, 0, 1)
	case d.month > 0:
		to = from.AddDate(0, 1, 0)
	default:
		to = from.AddDate(1, 0, 0)
	}
	var days float64
	switch {
	case t.Before(from):
		days = 2 * from.Sub(t).Hours() / 24
	case t.After(to):
		days = t.Sub(to).Hours() / 24
	}
	if days > 5*fade {
		return 0
	}
	return 1 / (1 + days/fade)
}

// word is a run of letters or digits in a query.
type word struct {
	start, end int
	gap        string // what stands between it and the word before
	text       string // folded
	number     int    // -1 if it is none
	ordinal    bool   // 8th
}

// findDate finds the first date in a query. Its words are looked for all the
// same: 2049 may be a port.
func findDate(query string) date {
	words := split(query)
	for _, form := range forms {
		for i := range words {
			if d, n := form(words[i:]); n > 0 {
				d.text = query[words[i].start:words[i+n-1].end]
				return d
			}
		}
	}
	return date{}
}

// maxDateWords is how much of a query is looked at.
const maxDateWords = 512

// split cuts a query into words and numbers, which need no space between them
// (2023年5月8日).
func split(query string) []word {
	var words []word
	a := analysers.Get().(*analyser)
	defer a.release()
	last := 0 // where the word before ends
	for i := 0; i < len(query) && len(words) < maxDateWords; {
		k, size := kindAt(query, i)
		if k == noKind {
			i += size
			continue
		}
		w := word{start: i, gap: query[last:i], number: -1}
		if classAt(query, i) == digit {
			i = w.readNumber(query)
		} else if unit := dateUnit(query[i:]); unit != "" && len(words) > 0 && w.gap == "" {
			i += len(unit)
			w.text = unit
		} else {
			for k != noKind && classAt(query, i) != digit {
				i += size
				k, size = kindAt(query, i)
			}
			if i-w.start <= maxWord {
				a.fold(query[w.start:i])
				w.text = string(a.buf)
			}
		}
		w.end, last = i, i
		words = append(words, w)
	}
	return words
}

// readNumber reads the number that begins at w.start and returns where it ends.
func (w *word) readNumber(query string) int {
	i := w.start
	for classAt(query, i) == digit {
		i++
	}
	if i-w.start <= 4 {
		w.number, _ = strconv.Atoi(query[w.start:i]) // digits only
	}
	if o := ordinalAt(query, i); o > 0 {
		w.ordinal = true
		i += o
	}
	return i
}

// dateUnit is the character behind a number in Chinese and Japanese dates.
func dateUnit(rest string) string {
	for _, unit := range []string{"年", "月", "日", "号"} {
		if strings.HasPrefix(rest, unit) {
			return unit
		}
	}
	return ""
}

// ordinalAt is the size of the ending in 1st, 2nd, 3rd, 4th.
func ordinalAt(query string, i int) int {
	if len(query) < i+2 {
		return 0
	}
	switch strings.ToLower(query[i : i+2]) {
	case "st", "nd", "rd", "th":
		if k, _ := kindAt(query, i+2); k == noKind {
			return 2
		}
	}
	return 0
}

// forms read a date at the beginning of words and say how many they took, the
// more telling forms first.
var forms = []func([]word) (date, int){numeric, eastern, dayMonth, monthDay, monthYear, inMonth, onlyYear}

// numeric: 2023-05-08, 2023/5, 8.5.2023. Of 5/8/2023 only the year is certain.
func numeric(w []word) (date, int) {
	if len(w) > 1 && w[0].isYear() && w[1].isMonth() && (w[1].gap == "-" || w[1].gap == "/") {
		d := date{year: w[0].number, month: time.Month(w[1].number)}
		if len(w) > 2 && w[2].isDay() && w[2].gap == w[1].gap {
			d.day = w[2].number
			return d, 3
		}
		return d, 2
	}
	if len(w) > 2 && w[0].isDay() && w[1].isMonth() && w[2].isYear() && dot(w[1].gap) && dot(w[2].gap) {
		return date{year: w[2].number, month: time.Month(w[1].number), day: w[0].number}, 3
	}
	return date{}, 0
}

func dot(gap string) bool { return strings.TrimRight(gap, " ") == "." }

// eastern: 2023年5月8日, 2023年5月, 5月8日.
func eastern(w []word) (date, int) {
	var d date
	n := 0
	take := func(ok func(word) bool, units ...string) int {
		if n+1 < len(w) && ok(w[n]) && slices.Contains(units, w[n+1].text) {
			n += 2
			return w[n-2].number
		}
		return 0
	}
	d.year = take(word.isYear, "年")
	if d.month = time.Month(take(word.isMonth, "月")); d.month > 0 {
		d.day = take(word.isDay, "日", "号")
	}
	return d, n
}

// dayMonth: 8 May 2023, 8th of May, 8. Mai, 8 de mayo de 2023.
func dayMonth(w []word) (date, int) {
	if !w[0].isDay() || len(w) < 2 {
		return date{}, 0
	}
	i := 1
	for i < len(w) && (w[i].text == "of" || w[i].text == "de") {
		i++
	}
	if i >= len(w) || w[i].month() == 0 {
		return date{}, 0
	}
	d := date{day: w[0].number, month: w[i].month()}
	i++
	return withYear(d, w, i)
}

// withYear takes a year from i on, if there is one.
func withYear(d date, w []word, i int) (date, int) {
	j := i
	if j < len(w) && (w[j].text == "of" || w[j].text == "de") {
		j++
	}
	if j < len(w) && w[j].isYear() {
		d.year = w[j].number
		return d, j + 1
	}
	return d, i
}

// monthDay: May 8, 2023, May 8th.
func monthDay(w []word) (date, int) {
	if len(w) < 2 || w[0].month() == 0 || !w[1].isDay() {
		return date{}, 0
	}
	return withYear(date{day: w[1].number, month: w[0].month()}, w, 2)
}

// monthYear: May 2023, mayo de 2023.
func monthYear(w []word) (date, int) {
	if w[0].month() == 0 {
		return date{}, 0
	}
	d, n := withYear(date{month: w[0].month()}, w, 1)
	if d.year == 0 {
		return date{}, 0
	}
	return d, n
}

// inMonth: in May. A month alone may be another word: may, march, a name.
func inMonth(w []word) (date, int) {
	if len(w) < 2 || w[1].month() == 0 {
		return date{}, 0
	}
	switch w[0].text {
	case "in", "during", "of", "since", "early", "late", "im", "seit", "en", "desde":
		return date{month: w[1].month()}, 2
	}
	return date{}, 0
}

func onlyYear(w []word) (date, int) {
	if !w[0].isYear() {
		return date{}, 0
	}
	return date{year: w[0].number}, 1
}

func (w word) isMonth() bool { return w.number >= 1 && w.number <= 12 }
func (w word) isDay() bool   { return w.number >= 1 && w.number <= 31 }
func (w word) isYear() bool  { return w.number >= 1900 && w.number < 2100 && !w.ordinal }

func (w word) month() time.Month { return months()[w.text] }

var months = sync.OnceValue(func() map[string]time.Month {
	m := map[string]time.Month{}
	for _, names := range []string{
		"january february march april may june july august september october november december",
		"januar februar marz april mai juni juli august september oktober november dezember",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"jan feb mar apr may jun jul aug sep oct nov dec",
	} {
		for i, name := range strings.Fields(names) {
			m[name] = time.Month(i + 1)
		}
	}
	m["sept"] = time.September
	return m
})

// asksWhen tells whether a query asks for a time.
func asksWhen(query string) bool {
	words := split(query)
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1].text
		}
		switch w.text {
		case "when", "wann", "cuando":
			return true
		case "how":
			if next == "long" || next == "often" {
				return true
			}
		case "what", "which":
			if next == "date" || next == "day" || next == "month" || next == "year" {
				return true
			}
		}
	}
	return false
}
