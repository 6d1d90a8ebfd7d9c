package eval_test

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/agent/eval"
	"mylm/agent/eval/evaltest"
)

// The chart and the table in Markdown show every row with its rate and interval.
func TestShown(t *testing.T) {
	t.Parallel()
	suite := eval.Smoke()
	r, err := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: evaltest.Student{Suite: suite, P: 0.6}}})
	if err != nil {
		t.Fatal(err)
	}
	chart, markdown := eval.Chart(r), r.Markdown()
	bars := regexp.MustCompile(`<rect x="(\d+)" y="\d+" width="([\d.]+)".*<path d="M([\d.]+) \d+H([\d.]+)M`).FindAllStringSubmatch(chart, -1)
	rows := append([]eval.Row{r.Total}, r.Categories...)
	if len(bars) != len(rows) || len(rows) < 10 || r.Total.Passed == 0 || r.Total.Passed == 12 {
		t.Fatalf("%d bars of %d rows: %s", len(bars), len(rows), chart)
	}
	for i, row := range rows {
		var left, width, low, high float64
		if _, err := fmt.Sscan(strings.Join(bars[i][1:], " "), &left, &width, &low, &high); err != nil {
			t.Fatal(err)
		}
		whole := 420.0
		if math.Abs(width-whole*row.Rate) > 0.1 || math.Abs(low-left-whole*row.Low) > 0.1 || math.Abs(high-left-whole*row.High) > 0.1 {
			t.Errorf("%s: a bar of %v with %v to %v: %+v", row.Name, width, low, high, row)
		}
		line := fmt.Sprintf("| %s | %d of %d | %.0f%% | %.0f%%–%.0f%% | ", row.Name, row.Passed, row.Of, 100*row.Rate, 100*row.Low, 100*row.High)
		if !strings.Contains(markdown, line) {
			t.Errorf("Markdown lacks %q:\n%s", line, markdown)
		}
	}
	if want := "Not passed: " + eval.Counts(r.Total.Causes); len(r.Total.Causes) == 0 || !strings.Contains(markdown, want) {
		t.Errorf("Markdown lacks %q:\n%s", want, markdown)
	}
}
