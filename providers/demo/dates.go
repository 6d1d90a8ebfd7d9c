package demo

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const days = `(?:(?:how many|what is the number of|the number of|number of|count the) )?days (?:\w+ )*?`

const date = `(\d{4}-\d{1,2}-\d{1,2}|today|tomorrow|yesterday|now)`

var (
	todayForms = []string{
		`(?:what(?:'s| is)?|which)(?: is)?(?: the)?(?: current)? (?:day|date|weekday)(?: of the week)?(?: is| it| do we have| have we| today)*`,
		`(?:what(?:'s| is) )?today(?:'s (?:date|day|weekday))?`,
		`date|the date`,
		`what(?:'s| is)(?: the)?(?: current)? (time)(?: is| it| now)*`,
		`what (time) is it(?: now)?`,
	}
	weekdayForms = []string{
		`(?:what|which) (?:day|weekday|date)(?: of the week)? (?:was|is|will|does|did)(?: it)?(?: be)?(?: on)? ` + date + `(?: be| fall on| on| fall)?`,
		`(?:what(?:'s| is) |when is )?` + date,
	}
	betweenForms = []string{
		days + `(?:between|from) ` + date + ` (?:and|to|until|till) ` + date,
		days + `(?:since|until|till|to|before) ` + date,
		`how (?:long|far) (?:ago was|is it since|is it until|is it to|until) ` + date,
	}
)

// day reads a date as a pattern found it.
func (t *turn) day(s string) (time.Time, string) {
	offset := map[string]int{"yesterday": -1, "today": 0, "now": 0, "tomorrow": 1}
	if n, ok := offset[strings.ToLower(s)]; ok {
		if t.today.IsZero() {
			return time.Time{}, noDate
		}
		return t.today.AddDate(0, 0, n), ""
	}
	parts := strings.Split(s, "-")
	year, _ := strconv.Atoi(parts[0]) // the pattern lets only digits through
	month, _ := strconv.Atoi(parts[1])
	day, _ := strconv.Atoi(parts[2])
	d := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if int(d.Month()) == month { // a day too many or too few is in another
		return d, ""
	}
	if month < 1 || month > 12 {
		return d, fmt.Sprintf("%s is no date: there is no month %d.", s, month)
	}
	days := time.Date(year, time.Month(month+1), 0, 0, 0, 0, 0, time.UTC).Day()
	return d, fmt.Sprintf("%s is no date: %v %d has %d days.", s, time.Month(month), year, days)
}

const (
	noDate   = "I do not know today's date: my system prompt has no line like \"Date: 2026-11-21\"."
	longDate = "Monday, 2 January 2006"
)

func tellToday(t *turn, m []string) string {
	if t.today.IsZero() {
		return noDate
	}
	text := fmt.Sprintf("Today is %s.", t.today.Format(longDate))
	if len(m) > 0 {
		return "I know the date and not the time. " + text
	}
	return text
}

func tellWeekday(t *turn, m []string) string {
	d, problem := t.day(m[0])
	if problem != "" {
		return problem
	}
	verb := "is"
	if !t.today.IsZero() && d.Before(t.today) {
		verb = "was"
	}
	return fmt.Sprintf("%s %s a %v (%s).", d.Format(time.DateOnly), verb, d.Weekday(), d.Format("2 January 2006"))
}

func tellBetween(t *turn, m []string) string {
	if len(m) == 1 {
		m = []string{"today", m[0]}
	}
	from, problem := t.day(m[0])
	if problem != "" {
		return problem
	}
	to, problem := t.day(m[1])
	if problem != "" {
		return problem
	}
	if to.Before(from) {
		from, to = to, from
	}
	days := int(to.Sub(from) / (24 * time.Hour)) // both are midnight in UTC
	return fmt.Sprintf("From %s to %s it is %s%s.", from.Format(time.DateOnly), to.Format(time.DateOnly), plural(days, "day"), inWeeks(days))
}

func inWeeks(days int) string {
	weeks, rest := days/7, days%7
	switch {
	case weeks == 0:
		return ""
	case rest == 0:
		return fmt.Sprintf(" (%s)", plural(weeks, "week"))
	}
	return fmt.Sprintf(" (%s and %s)", plural(weeks, "week"), plural(rest, "day"))
}
