package main

import (
	"context"
	"errors"
	"os"

	"github.com/urfave/cli/v2"

	"mylm/agent/durable/postgres"
	"mylm/agent/durable/temporal"
	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/plans"
	"mylm/cmd/mylm/internal/term"
)

func (c *cluster) agentCommand() *cli.Command {
	return &cli.Command{Name: "agent", Usage: "have workers work on a goal", Subcommands: []*cli.Command{{
		Name: "run", Usage: "make a plan for a goal, and have workers carry it out", ArgsUsage: "[GOAL...] [-]",
		Description: `The model makes a list of tasks, which are done one after the other, or side by side, on
any workers. Each is a run with a session of its own, and sees the goal, the results before
it, and nothing else. The plan is a success when every task is completed.

It goes on whatever happens to this program, to workers and to servers; mylm-cluster tail
follows it from anywhere. Ctrl-C cancels it, with its tasks. What waits for a decision is
asked on the terminal; without one it waits for mylm-cluster approve.`,
		UsageText: `mylm-cluster agent run "list the files, then count the lines of README.md"
mylm-cluster agent run --yes "fix the failing test"
mylm-cluster agent run --plan-only --json "..." > plan.json  # look at it, edit it
mylm-cluster agent run --plan plan.json                      # and carry it out
mylm-cluster agent run --resume 4mvbhgq3zuyta                # do what is left of a plan`,
		Flags: join(runFlags(), append(cmdline.Group(config.OfPlans,
			&cli.BoolFlag{Name: "plan-only", Usage: "print the plan without carrying it out"},
			&cli.StringFlag{Name: "plan", Usage: "carry out the plan in `FILE`, or on stdin if it is -, " +
				"as --plan-only --json prints one"},
			&cli.BoolFlag{Name: "no-plan", Usage: "do the goal as one task"},
			&cli.StringFlag{Name: "resume", Usage: "do what is left of the plan in the session `ID`, as a plan of its own"}),
			append(config.Flags(config.PlanTurns, config.MaxIterations),
				plans.Progress("how many tasks of a plan run side by side, 4 at most")...)...)...),
		Action: c.agentRun,
	}}}
}

func (c *cluster) agentRun(ctx *cli.Context) error {
	loaded, err := settings(ctx)
	if err != nil {
		return err
	}
	in := temporal.PlanInput{Allow: allowed(ctx), PlanOnly: ctx.Bool("plan-only"), TaskTurns: ctx.Int("task-turns")}
	words, path, before := ctx.Args().Slice(), ctx.String("plan"), ctx.String("resume")
	if before != "" {
		if len(words) > 0 || path != "" || ctx.Bool("no-plan") {
			return failure.Usage("--resume contradicts a goal, --plan and --no-plan: the plan has its goal and its tasks")
		}
		if words, err = c.left(ctx, before, &in); err != nil {
			return err
		}
	}
	plans.Set(ctx, &in.Options)
	in.Options.MaxTurns = config.PlanTurns.Or(loaded.Settings, in.Options.MaxTurns)
	in.Options.MaxIterations = config.MaxIterations.Or(loaded.Settings, in.Options.MaxIterations)
	switch {
	case in.Options.NoPlan && (in.PlanOnly || path != ""):
		return failure.Usage("--no-plan contradicts --plan-only and --plan")
	case in.Options.MaxTurns > temporal.MaxPlanTurns:
		const text = "--max-turns is %d; for a plan on many machines it must be at most %d"
		return failure.Usage(text, in.Options.MaxTurns, temporal.MaxPlanTurns).
			WithHint("plan_max_turns in the configuration, or MYLM_PLAN_MAX_TURNS, says the same.")
	case path != "":
		var goal string
		if goal, in.Tasks, err = c.planIn(ctx, path); err != nil {
			return err
		}
		if len(words) == 0 && goal != "" {
			words = []string{goal}
		}
	}
	if in.Goal, err = c.prompt(ctx, words); err != nil {
		return err
	}
	if in.Goal == "" {
		return failure.Usage("there is no goal").
			WithHint(`Say what is to be done: mylm-cluster agent run "find out which test is slow, and why"`)
	}
	return c.start(ctx, in.Goal, func(l *link, id string, seen int) (string, any, error) {
		if seen > 0 {
			return "", nil, failure.Usage("there is a session %s: a plan begins one", id).WithHint("Leave out --session, or name another.")
		}
		if before != "" {
			status, err := l.described(ctx.Context, before)
			if err == nil && status == "running" {
				err = failure.Usage("the plan %s is under way", term.Echoed(before)).WithHint("mylm-cluster tail follows it, mylm-cluster cancel ends it.")
			}
			if err != nil {
				return "", nil, err
			}
			saved, err := unfinished(ctx.Context, l.sessions, before) // it may have ended only now
			if err != nil {
				return "", nil, err
			}
			in.Tasks = saved.Left
		}
		in.Session, in.Prefix = id, l.workflow("")
		return temporal.PlanName, in, nil
	})
}

// left has a plan do what is left of another, and returns the goal.
func (c *cluster) left(ctx *cli.Context, id string, in *temporal.PlanInput) (goal []string, err error) {
	err = c.withSessions(ctx, func(sessions *postgres.Sessions) error {
		saved, err := unfinished(ctx.Context, sessions, id)
		if err != nil {
			return err
		}
		goal, in.Tasks, in.Options = []string{saved.Goal}, saved.Left, saved.Options
		in.Options.MaxIterations = 0 // those are of the tasks that there were
		return nil
	})
	return goal, err
}

// unfinished is the plan of a session, of which something is left.
func unfinished(ctx context.Context, sessions *postgres.Sessions, id string) (plan.Saved, error) {
	s, err := sessions.Open(ctx, id)
	if err != nil {
		return plan.Saved{}, err
	}
	saved, err := plan.Load(s)
	switch {
	case errors.Is(err, plan.ErrNoPlan):
		err = failure.Usage("the session %s holds no plan", term.Echoed(id)).WithHint("mylm-cluster ask --session ID continues any other.")
	case err == nil && len(saved.Tasks) > 0 && saved.Left == nil:
		err = failure.Usage("every task of the plan %s is completed", term.Echoed(id)).WithHint("mylm-cluster show " + term.Echoed(id) + " prints the results.")
	}
	return saved, err
}

// planIn reads a plan from a file, or from stdin.
func (c *cluster) planIn(ctx *cli.Context, path string) (goal string, tasks []plan.Task, err error) {
	var text string
	if path == "-" {
		text, err = c.stdin(ctx)
	} else {
		text, err = term.Wait(ctx.Context, func() (string, error) {
			f, err := os.Open(path)
			if err != nil {
				return "", cmdline.Unread("--plan", path, err)
			}
			defer f.Close()
			text, err := readText(f)
			if err != nil {
				return "", cmdline.Unread("--plan", path, err)
			}
			return text, nil
		})
	}
	var f *failure.Error
	if err == nil {
		goal, tasks, err = plan.ParseFile(text)
	}
	if err != nil && ctx.Err() == nil && !errors.As(err, &f) {
		err = failure.Usage("--plan %s: %w", term.Echoed(path), err).
			WithHint(`mylm-cluster agent run --plan-only --json "..." prints one.`)
	}
	return goal, tasks, err
}
