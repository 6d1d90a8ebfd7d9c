package plans

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/sink"
	"mylm/cmd/mylm/internal/term"
)

// Progress are the flags of a plan that is made already: mylm resume has them, too.
func Progress(workers string) []cli.Flag {
	return cmdline.Group(config.OfPlans,
		&cli.BoolFlag{Name: "no-reason", Usage: "take tasks in the order of the plan"},
		&cli.BoolFlag{Name: "no-observe", Usage: "count every answer as a completed task"},
		&cli.BoolFlag{Name: "no-reflect", Usage: "skip the review of the whole plan"},
		cmdline.Int(&cli.IntFlag{Name: "task-turns", Usage: "maximum `NUMBER` of replies of the model in one task of a plan", DefaultText: "10"}, 1, 0),
		cmdline.Int(&cli.IntFlag{Name: "workers", Usage: workers, DefaultText: "4"}, 1, plan.MaxWorkers),
	)
}

// Set sets the options that flags have.
func Set(c *cli.Context, o *plan.Options) {
	if c.IsSet("workers") || o.Workers == 0 {
		o.Workers = cmp.Or(c.Int("workers"), plan.MaxWorkers)
	}
	for name, off := range map[string]*bool{
		"mixed": &o.Explore, "no-plan": &o.NoPlan, "no-reason": &o.NoReason, "no-observe": &o.NoObserve, "no-reflect": &o.NoReflect,
	} {
		if c.IsSet(name) {
			*off = c.Bool(name)
		}
	}
}

// Print prints a plan in the form that the flags select.
func Print(s *term.Screen, form string, made plan.Planned) error {
	if form == sink.Text {
		s.Answer(Text(made.Tasks))
		return nil
	}
	print := term.PrintJSON
	if form == sink.Events {
		print = term.PrintJSONLine
	}
	return print(s, struct {
		Goal  string      `json:"goal"`
		Tasks []plan.Task `json:"tasks"`
	}{made.Goal, made.Tasks})
}

// Text is a plan for a person.
func Text(tasks []plan.Task) string {
	var b strings.Builder
	for _, t := range tasks {
		fmt.Fprintf(&b, "%s  %s", term.Flat(t.ID), term.Flat(t.Description))
		if len(t.Dependencies) > 0 {
			fmt.Fprintf(&b, " (after %s)", term.Flat(strings.Join(t.Dependencies, ", ")))
		}
		if t.Tools != nil {
			fmt.Fprintf(&b, " [%s]", cmp.Or(term.Flat(strings.Join(t.Tools, ", ")), "no tools"))
		}
		b.WriteString("\n")
	}
	return b.String()
}
