package lexical

import (
	"cmp"
	"regexp"
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

// near is 1 within the date, and fades over the days outside it, twice as fast before it.
// Nothing is near to no date.
func (d date) near(seconds int64) float64 {
	t := time.Unix(seconds, 0).UTC()
	if d.text == "" {
		return 0
	}
	if d.year != 0 {
		return d.nearIn(d.year, t)
	}
	return max(d.nearIn(t.Year()-1, t), d.nearIn(t.Year(), t), d.nearIn(t.Year()+1, t))
}

func (d date) nearIn(year int, t time.Time) float64 {
	from := time.Date(year, max(1, d.month), max(1, d.day), 0, 0, 0, 0, time.UTC)
	to := from.AddDate(1, 0, 0)
	if d.day > 0 {
		to = from.AddDate(0, 0, 1)
	} else if d.month > 0 {
		to = from.AddDate(0, 1, 0)
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

// dateForms are ways to write a date, with groups named y, m, d, and name for the
// name of a month. They are tried in this order, the more telling forms first. Of 5/8/2023
// only the year is certain, and a month alone may be another word: may, march, a
// name.
var dateForms = sync.OnceValue(func() (all []*regexp.Regexp) {
	expand := strings.NewReplacer("YEAR", `(?P<y>(?:19|20)\d\d)`, "MONTH", `(?P<m>0?[1-9]|1[0-2])`, "DAY", `(?P<d>0?[1-9]|[12]\d|3[01])`,
		"NAME", `(?P<name>`+strings.Join(strings.Fields(monthNames), "|")+`)`)
	for _, form := range []string{
		`\bYEAR-MONTH(?:-DAY)?\b`, `\bYEAR/MONTH(?:/DAY)?\b`, // 2023-05-08
		`\bDAY\. *MONTH\. *YEAR\b`,              // 8.5.2023
		`(?:YEAR年)?MONTH月(?:DAY[日号])?`, `YEAR年`, // 2023年5月8日
		`\bDAY(?:st|nd|rd|th)?\W+(?:(?:of|de) +)*NAME\b(?:\W+(?:(?:of|de) +)?YEAR\b)?`, // 8th of May 2023, 8 de mayo
		`\bNAME +DAY(?:st|nd|rd|th)?\b(?:\W+(?:(?:of|de) +)?YEAR\b)?`,                  // May 8, 2023
		`\bNAME\W+(?:(?:of|de) +)?YEAR\b`,                                              // May 2023
		`\b(?:in|during|of|since|early|late|im|seit|en|desde) +NAME\b`,
		`\bYEAR\b`,
	} {
		all = append(all, regexp.MustCompile(`(?i)`+expand.Replace(form)))
	}
	return all
})

// maxDateText is how much of a query is looked at.
const maxDateText = 4096

// findDate finds the first date in a query. Its words are looked for all the
// same: 2049 may be a port.
func findDate(query string) date {
	for _, form := range dateForms() {
		m := form.FindStringSubmatch(query)
		if m == nil {
			continue
		}
		part := func(name string) (text string, number int) {
			if i := form.SubexpIndex(name); i > 0 {
				text = m[i]
			}
			number, _ = strconv.Atoi(text)
			return text, number
		}
		d := date{text: m[0]}
		_, d.year = part("y")
		_, d.day = part("d")
		_, month := part("m")
		name, _ := part("name")
		d.month = cmp.Or(months()[strings.ToLower(name)], time.Month(month))
		return d
	}
	return date{}
}

// monthNames are those of English, German and Spanish, a year a line.
const monthNames = `january february march april may june july august september october november december
januar februar märz april mai juni juli august september oktober november dezember
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
jan feb mar apr may jun jul aug sep oct nov dec
jan feb marz apr may jun jul aug sept oct nov dec`

var months = sync.OnceValue(func() map[string]time.Month {
	m := map[string]time.Month{}
	for i, name := range strings.Fields(monthNames) {
		m[name] = time.Month(i%12 + 1)
	}
	return m
})

var when = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:when|wann|cu[aá]ndo|how (?:long|often)|(?:what|which) (?:date|day|month|year))\b`)
})

// asksWhen tells whether a query asks for a time.
func asksWhen(query string) bool { return when().MatchString(query) }
