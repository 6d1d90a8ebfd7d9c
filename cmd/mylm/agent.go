package main

import (
	"context"
	"slices"

	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/plans"
	"mylm/cmd/mylm/internal/sink"
	"mylm/cmd/mylm/internal/term"

	"github.com/urfave/cli/v2"
)

func agentCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Subcommands: []*cli.Command{
			{
				Name: "run", Usage: "make a plan for a goal and carry it out", ArgsUsage: "[GOAL...] [-]",
				Description: `The model makes a list of tasks, which are done one after the other, or side by side
where none of them can lead to a question. Each sees the goal, the results before it,
and nothing else. The plan is a success when every task is completed.

mylm resume continues an interrupted plan.`,
				UsageText: `mylm agent run "list the files, then count the lines of README.md"
mylm agent run --plan-only --json "..." > plan.json    # look at it, edit it
mylm agent run --plan plan.json                        # and carry it out`,
				Flags: planFlags(),
				Action: func(c *cli.Context) error {
					return runPlan(c, s, runRequest{words: c.Args().Slice(), plan: &planRequest{}})
				},
			},
			workflowShortcut(s, "debug", "find the cause of a bug and fix it", "debug_bug", `"go test ./... fails since yesterday"`),
			workflowShortcut(s, "implement", "add something to a project, with a test", "implement_feature", `"a flag --json for the list"`),
			workflowCommand(s), forgetPlansCommand(s),
		},
	}
}

// workflowShortcut runs a workflow with what is typed.
func workflowShortcut(s *term.Screen, name, usage, workflow, example string) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: "[TEXT...] [-]",
		Description: "It runs the workflow " + workflow + ", or another one that --workflow names, with the text as\nits first input. mylm agent workflow show " + workflow + " prints its steps.",
		UsageText:   "mylm agent " + name + " " + example,
		Flags:       append(planFlags(), workflowFlags()...),
		Action: func(c *cli.Context) error {
			if named := c.String("workflow"); named != "" {
				workflow = named
			}
			return runWorkflow(c, s, workflow, c.Args().Slice())
		},
	}
}

// planFlags are those of everything that carries out a plan: those of a
// question, as far as they make sense.
func planFlags() []cli.Flag {
	flags := slices.DeleteFunc(askFlags(), func(f cli.Flag) bool {
		return slices.Contains([]string{"max-turns", "show-prompt", "no-stream", "file"}, f.Names()[0])
	})
	files := &cli.StringSliceFlag{Name: "file", Aliases: []string{"f", "files"}, Usage: "send the text of `PATH` with the goal (repeatable)"}
	return slices.Concat(
		cmdline.Group(config.OfPlans,
			&cli.BoolFlag{Name: "plan-only", Usage: "print the plan without carrying it out"},
			&cli.BoolFlag{Name: "mermaid", Usage: "print it as a flow chart, with --plan-only"},
			&cli.StringFlag{Name: "plan", Usage: "carry out the plan in `FILE`, or on stdin if it is -, as --plan-only --json prints one"},
			&cli.BoolFlag{Name: "mixed", Usage: "let the planner look around with tools that only read, show the plan, and ask whether it is carried out or edited"},
			&cli.BoolFlag{Name: "fresh", Usage: "make a new plan even if one is saved for this goal"},
			&cli.BoolFlag{Name: "no-plan", Usage: "do the goal as one task"}),
		config.Flags(config.PlanTurns, config.MaxIterations), progressFlags(),
		cmdline.Group(config.OfInput, files,
			&cli.StringFlag{Name: "context", Usage: "facts for the goal, or inputs of the workflow, as a `JSON` object"}),
		flags)
}

// progressFlags are those of a plan that is made already: mylm resume has them,
// too.
func progressFlags() []cli.Flag {
	return plans.Progress("how many tasks of a plan run side by side, 4 at most, where none can lead to a question")
}

// runPlan checks the flags and does what they ask for.
func runPlan(c *cli.Context, s *term.Screen, o runRequest) error {
	if c.Bool("mermaid") && !c.Bool("plan-only") {
		return failure.Usage("--mermaid goes with --plan-only")
	}
	if form, _ := sink.Form(c); c.Bool("mermaid") && form != sink.Text {
		return failure.Usage("--mermaid and --output %s exclude each other", form)
	}
	if c.Bool("no-plan") && (c.Bool("plan-only") || c.Bool("mixed") || c.String("plan") != "") {
		return failure.Usage("--no-plan contradicts --plan-only, --mixed and --plan")
	}
	if c.IsSet("context") && o.plan.workflow == nil {
		var err error
		if o.plan.context, err = readContext(c.String("context")); err != nil {
			return err
		}
	}
	if path := c.String("plan"); path != "" {
		goal, err := o.plan.load(c.Context, path, s)
		if err != nil {
			return err
		}
		if len(o.words) == 0 {
			o.words = []string{goal}
		}
	}
	return o.do(c, s)
}

// load reads a plan from a file, or from stdin, whose goal is used if none is
// typed.
func (p *planRequest) load(ctx context.Context, path string, screen *term.Screen) (goal string, err error) {
	text, err := readNamed(ctx, "--plan", path, screen)
	if err != nil {
		return "", err
	}
	if goal, p.tasks, err = plan.ParseFile(text); err != nil {
		return "", failure.Usage("--plan %s: %v", term.Echoed(path), err).WithHint("mylm agent run --plan-only --json \"...\" prints one.")
	}
	return goal, nil
}
