package eval

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// percent is a rate in whole percent.
func percent(rate float64) string { return fmt.Sprintf("%.0f%%", 100*rate) }

// Markdown is the report as a table, for pasting.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**: %d of %d tasks of `%s` passed, %s (95%% interval %s to %s)", cell(r.Exam.Title()), r.Total.Passed, r.Total.Of, cell(r.Exam.Suite),
		percent(r.Total.Rate), percent(r.Total.Low), percent(r.Total.High))
	if r.Stopped != "" {
		fmt.Fprintf(&b, "; not complete: %d of %d asked", r.Done, r.All)
	}
	b.WriteString(".\n\n| category | passed | rate | 95% interval | first call readable | turns | tokens in | tokens out | seconds | tokens/s |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, row := range append(r.Categories[:len(r.Categories):len(r.Categories)], r.Total) {
		fmt.Fprintf(&b, "| %s | %d of %d | %s | %s–%s | %s | %d | %d | %d | %.1f | %s |\n", cell(row.Name), row.Passed, row.Of, percent(row.Rate), percent(row.Low), percent(row.High),
			row.FirstCall(), row.Turns, row.PromptTokens, row.OutputTokens, row.Seconds, row.Speed())
	}
	for _, line := range r.Total.Findings() {
		b.WriteString("\n" + cell(line) + "\n")
	}
	return b.String()
}

// FirstCall is how many of the first calls were readable, in words.
func (r Row) FirstCall() string {
	if r.FirstCalls == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", r.FirstReadable, r.FirstCalls)
}

// Speed is the number of tokens per second, "-" if it took too short to tell.
func (r Row) Speed() string {
	if r.TokensPerSecond == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", r.TokensPerSecond)
}

// Findings are the counts of causes, repairs, refusals and other versions, a line each.
func (r Row) Findings() (lines []string) {
	for _, x := range []struct{ what, counts string }{
		{"Not passed", Counts(r.Causes)}, {"Repaired", Counts(r.Repairs)}, {"Refused", Counts(r.Refusals)}, {"Asked by another version", Counts(r.Versions)},
	} {
		if x.counts != "" {
			lines = append(lines, x.what+": "+x.counts)
		}
	}
	return lines
}

// cell is a text that cannot end the cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;").Replace(s)
}

// Title names the exam: the model, and what was varied.
func (e Exam) Title() string {
	title := e.Model
	if e.Form != "" && e.Form != "tool_code" {
		title += ", " + e.Form
	}
	if e.Prompt != "" {
		title += ", " + e.Prompt
	}
	return title
}

// Measures of a chart, in pixels.
const (
	chartLabels = 170
	chartBars   = 420
	chartRow    = 22
	chartHead   = 40
)

// chartColors are told apart with every kind of color vision (Okabe and Ito).
var chartColors = []string{"#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442"}

// Chart draws reports of the same suite as an SVG: the pass rate of each category as
// a bar, with its 95% interval.
func Chart(reports ...*Report) string {
	var names []string
	seen := map[string]bool{}
	for _, r := range reports {
		for _, row := range append([]Row{r.Total}, r.Categories...) {
			if !seen[row.Name] {
				seen[row.Name] = true
				names = append(names, row.Name)
			}
		}
	}
	group := chartRow*len(reports) + 8
	height := chartHead + len(names)*group + 24 + 18*len(reports)
	width := chartLabels + chartBars + 150
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	b.WriteString(`<text x="10" y="22" font-size="15">Tasks passed, with 95% intervals</text>` + "\n")
	for i := range 5 {
		x := chartLabels + chartBars*i/4
		fmt.Fprintf(&b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#dddddd"/><text x="%d" y="%d" text-anchor="middle" fill="#555555" font-size="10">%d%%</text>`+"\n",
			x, chartHead, x, chartHead+len(names)*group, x, chartHead-4, 25*i)
	}
	for i, name := range names {
		top := chartHead + i*group
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", chartLabels-8, top+chartRow*len(reports)/2+5, escape(name))
		for k, r := range reports {
			row, ok := r.row(name)
			if !ok {
				continue
			}
			y, color := top+k*chartRow+3, chartColors[k%len(chartColors)]
			at := func(rate float64) float64 { return chartLabels + chartBars*rate }
			mid := y + (chartRow-6)/2
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s" fill-opacity="0.75"/>`, chartLabels, y, chartBars*row.Rate, chartRow-6, color)
			fmt.Fprintf(&b, `<path d="M%.1f %dH%.1fM%.1f %dv8M%.1f %dv8" stroke="#222222" fill="none"/>`, at(row.Low), mid, at(row.High), at(row.Low), mid-4, at(row.High), mid-4)
			fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="11">%s  %d of %d</text>`+"\n", chartLabels+chartBars+10, mid+4, percent(row.Rate), row.Passed, row.Of)
		}
	}
	for k, r := range reports {
		y := chartHead + len(names)*group + 20 + 18*k
		note := ""
		if r.Stopped != "" {
			note = fmt.Sprintf(" (not complete: %d of %d asked)", r.Done, r.All)
		}
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="11" height="11" fill="%s" fill-opacity="0.75"/><text x="%d" y="%d">%s</text>`+"\n",
			chartLabels, y-10, chartColors[k%len(chartColors)], chartLabels+18, y, escape(r.Exam.Title()+note))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (r *Report) row(name string) (Row, bool) {
	for _, row := range append([]Row{r.Total}, r.Categories...) {
		if row.Name == name {
			return row, true
		}
	}
	return Row{}, false
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
	return b.String()
}
