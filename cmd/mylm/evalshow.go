package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"mylm/agent/eval"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/sink"
	"mylm/cmd/mylm/internal/term"

	"github.com/urfave/cli/v2"
)

// examsOutput prints what exams found out.
type examsOutput struct {
	screen  *term.Screen
	cli     *cli.Context
	reports []*eval.Report
	logs    []*eval.Log
	forms   []*formsOf // of models that were examined in all forms
}

// finish prints what was found out, and reports why that is not all. In JSON that is
// one object, in which err is, too.
func (o examsOutput) finish(err error) error {
	if o.cli.Bool("json") {
		out := struct {
			Exams       []*eval.Report   `json:"exams"`
			Comparisons []examComparison `json:"comparisons"`
			Forms       []*formsOf       `json:"forms,omitempty"`
			Error       *sink.Error      `json:"error,omitempty"`
		}{append([]*eval.Report{}, o.reports...), append([]examComparison{}, o.compare()...), o.forms, nil}
		if err != nil {
			f := failure.Of(err)
			o.screen.Report(f)
			out.Error, err = sink.NewError(f), errors.Join(failure.ErrReported, f)
		}
		if failed := term.PrintJSON(o.screen.Out, out); failed != nil {
			return failed
		}
	} else if len(o.reports) > 0 {
		if failed := o.print(); failed != nil {
			return failed
		}
	}
	if failed := writeChart(o.cli, o.reports); failed != nil && err == nil {
		err = failed
	}
	if len(o.reports) == 0 {
		return err
	}
	for _, f := range o.forms {
		if note := f.note(o.cli.Bool("save")); note != "" {
			o.screen.Say(note)
		}
	}
	return err
}

// print prints the reports as text, and how they compare.
func (o examsOutput) print() error {
	compared := o.compare()
	if o.cli.Bool("markdown") {
		var all []string
		for _, r := range o.reports {
			all = append(all, r.Markdown())
		}
		for _, c := range compared {
			all = append(all, comparisonText(c.a, c.b, c.Comparison, c.Adjusted))
		}
		for _, f := range o.forms {
			all = append(all, f.text())
		}
		o.screen.Answer(term.Printable(strings.Join(all, "\n")))
		return nil
	}
	for i, r := range o.reports {
		if i > 0 {
			o.screen.Answer("\n")
		}
		if err := o.table(r, o.logs[i]); err != nil {
			return err
		}
	}
	for _, c := range compared {
		o.screen.Answer("\n" + comparisonText(c.a, c.b, c.Comparison, c.Adjusted))
	}
	for _, f := range o.forms {
		o.screen.Answer("\n" + f.text())
	}
	return nil
}

// examComparison compares the first exam with another one.
type examComparison struct {
	A string `json:"a"` // the exams' ids
	B string `json:"b"`
	eval.Comparison
	Adjusted float64 `json:"p_adjusted"` // for several comparisons: Holm
	Better   string  `json:"better"`     // the exam that is better beyond chance; "": none
	a, b     *eval.Report
}

// compare compares the reports of a model with its first one, if there are several;
// else those of all models with the first.
func (o examsOutput) compare() (all []examComparison) {
	first, several := map[string]*eval.Report{}, false
	for _, r := range o.reports {
		if first[r.Exam.Model] == nil {
			first[r.Exam.Model] = r
		} else {
			several = true
		}
	}
	var ps []float64
	for _, b := range o.reports {
		a := o.reports[0]
		if several {
			a = first[b.Exam.Model]
		}
		c := examComparison{A: a.Exam.ID, B: b.Exam.ID, Comparison: eval.Compare(a, b), a: a, b: b}
		if a == b || c.Tasks == 0 { // nothing was asked yet
			continue
		}
		all, ps = append(all, c), append(ps, c.P)
	}
	for i, p := range eval.Holm(ps) {
		c := &all[i]
		c.Adjusted = p
		adjusted := c.Comparison
		adjusted.P = p
		c.Better = map[string]string{"A": c.A, "B": c.B}[adjusted.Better()]
	}
	return all
}

// comparisonText says in words what a comparison found, p being adjusted.
func comparisonText(a, b *eval.Report, c eval.Comparison, p float64) string {
	c.P = p
	nameA, nameB := examName(a), examName(b)
	var t strings.Builder
	fmt.Fprintf(&t, "A: %s  %.0f%%\nB: %s  %.0f%%\n", nameA, 100*c.RateA, nameB, 100*c.RateB)
	fmt.Fprintf(&t, "%s in common: A did better in %d, B in %d, both as well in %d\n", term.Plural(c.Tasks, "task"), c.BetterA, c.BetterB, c.Both)
	switch c.Better() {
	case "A":
		fmt.Fprintf(&t, "A is better by more than chance (p = %.3g, sign test)\n", p)
	case "B":
		fmt.Fprintf(&t, "B is better by more than chance (p = %.3g, sign test)\n", p)
	default:
		fmt.Fprintf(&t, "the difference may be chance (p = %.3g, sign test)\n", p)
	}
	if c.OnlyOne > 0 {
		fmt.Fprintf(&t, "%s not compared: asked in one exam only, or in another form\n", term.Plural(c.OnlyOne, "task"))
	}
	return t.String()
}

func examName(r *eval.Report) string {
	return term.Printable(strings.TrimSpace(r.Exam.ID + " " + r.Exam.Title()))
}

// table prints a report for a terminal.
func (o examsOutput) table(r *eval.Report, l *eval.Log) error {
	o.screen.Answer(fmt.Sprintf("%s  suite %s\n\n", examName(r), term.Printable(r.Exam.Suite)))
	columns, _ := o.screen.Size()
	wide, medium := !o.screen.OutTTY || columns >= 100, !o.screen.OutTTY || columns >= 72
	head := "CATEGORY\tPASSED\t95%"
	if wide {
		head += "\tFIRST CALL\tTURNS\tTOKENS IN\tOUT\tSECONDS\tTOK/S"
	} else if medium {
		head += "\tFIRST CALL\tSECONDS\tTOK/S"
	}
	w := o.screen.Columns(head)
	for _, row := range append(r.Categories[:len(r.Categories):len(r.Categories)], r.Total) {
		cells := []string{term.OneLine(term.Printable(row.Name), 30), rateText(row), intervalText(row)}
		if medium {
			cells = append(cells, row.FirstCall())
		}
		if wide {
			cells = append(cells, strconv.Itoa(row.Turns), strconv.Itoa(row.PromptTokens), strconv.Itoa(row.OutputTokens))
		}
		if medium {
			cells = append(cells, fmt.Sprintf("%.1f", row.Seconds), row.Speed())
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	var t strings.Builder
	for _, line := range r.Total.Findings() {
		t.WriteString(line + "\n")
	}
	if failures := r.Failures(); len(failures) > 0 {
		t.WriteString("\nNot passed:\n")
		for _, f := range failures {
			fmt.Fprintf(&t, "  %s: %s, %s\n", taskName(f, r.Exam.Runs), f.Cause, term.OneLine(term.Printable(f.Detail), 140))
			if l != nil && f.Session != "" {
				fmt.Fprintf(&t, "    mylm replay %s\n", term.ShellQuote(l.SessionPath(f)))
			}
		}
	}
	if r.Stopped != "" {
		fmt.Fprintf(&t, "\nNot complete: %d of %d asked; %s\n", r.Done, r.All, term.OneLine(term.Printable(r.Stopped), 140))
	}
	o.screen.Answer(t.String())
	return nil
}

func taskName(o eval.Outcome, runs int) string {
	if runs > 1 {
		return fmt.Sprintf("%s, run %d", o.Task, o.Run)
	}
	return o.Task
}

func rateText(r eval.Row) string {
	if r.Of == 0 {
		return "nothing was asked"
	}
	return fmt.Sprintf("%d/%d %.0f%%", r.Passed, r.Of, 100*r.Rate)
}

func intervalText(r eval.Row) string {
	if r.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f-%.0f%%", 100*r.Low, 100*r.High)
}

// checkOutput refuses flags of the output that exclude each other, and a chart that
// cannot be written.
func checkOutput(c *cli.Context) error {
	if c.Bool("json") && c.Bool("markdown") {
		return failure.Usage("--json and --markdown exclude each other")
	}
	path := c.String("chart")
	if path == "" {
		return nil
	}
	if path == "-" {
		return failure.Usage("--chart needs the name of a file")
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return failure.Usage("--chart: %s is a directory", term.Echoed(path))
	case !errors.Is(err, os.ErrNotExist):
		return nil // writing it shows whether it can be
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil // a link to a file that is not there yet
	}
	if err != nil {
		return failure.Usage("--chart: %w", err).WithHint("Name a file in a directory that is there and that you can write to.")
	}
	_ = f.Close()
	return os.Remove(path)
}

// writeChart writes the chart that the flag --chart names.
func writeChart(c *cli.Context, reports []*eval.Report) error {
	path := c.String("chart")
	if path == "" || len(reports) == 0 {
		return nil
	}
	if err := os.WriteFile(path, []byte(eval.Chart(reports...)), 0o644); err != nil {
		return failure.Usage("--chart: %w", err).WithHint("The exam is kept: mylm eval show " + reports[0].Exam.ID + " --chart FILE")
	}
	return nil
}
