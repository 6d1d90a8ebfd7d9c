package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/prompts"
	"mylm/tools"
	"mylm/tools/sandbox"
	"mylm/tools/shell"

	"github.com/urfave/cli/v2"
)

func replayCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		ArgsUsage: "[ID|last|FILE]",
		Description: `No model is asked and no tool is run: replies and results come from the record. What
this version of mylm makes of them is compared with what was made of them then. The
exit code is 1 where that differs, or where the record is damaged. Of a plan that is
done for each of its tasks, and for what the model was asked about it.`,
		UsageText: `mylm replay last
mylm sessions export last report.jsonl --redact && mylm replay report.jsonl`,
		Flags:  []cli.Flag{jsonFlag()},
		Action: withSessions(s, (*sessionsRun).replay),
	}
}

func (k *sessionsRun) replay(ctx context.Context) error {
	l, err := k.one(ctx)
	if err != nil {
		return err
	}
	registry, set, err := replayed(ctx, l.entries)
	if err != nil {
		return err
	}
	done, err := term.Wait(ctx, func() (agent.Replayed, error) {
		return plan.Replay(ctx, l.entries, agent.Options{Tools: registry, Prompts: set})
	})
	if err != nil {
		return err
	}
	if done.Runs == 0 {
		return cmp.Or(l.partly(), error(damaged(fmt.Errorf("there is no run in it, and so nothing to replay")).WithHint("It can be read: mylm sessions show "+l.name)))
	}
	err = l.partly()
	if n := len(done.Differences); n > 0 {
		if err != nil {
			k.screen.Say("mylm: " + err.Error())
		}
		err = &failure.Error{Code: failure.ExitError, Name: "different", Err: fmt.Errorf("the replay differs from the record in %s", term.Plural(n, "run"))}
	}
	if !k.cli.Bool("json") {
		k.print(done, l.damage != nil)
		return err
	}
	report := replayReport{Replayed: done}
	if l.damage != nil {
		report.Damage = l.damage.Error()
	}
	if failed := term.PrintJSON(k.screen.Out, report); failed != nil || err == nil {
		return failed
	}
	f := failure.Of(err)
	k.screen.Report(f)
	return errors.Join(failure.ErrReported, f) // one object on stdout is enough
}

// replayed are the tools and the templates of a record: those of an exam's task, or
// those of mylm ask.
func replayed(ctx context.Context, entries []agent.Entry) (*tools.Registry, *prompts.Set, error) {
	for _, e := range entries {
		if p, ok := e.Payload.(agent.RunEntry); ok && p.Setup != nil && p.Setup.Labels["eval"] != "" {
			return examined(p.Setup.Labels["eval"], p.Setup.Labels["task"])
		}
	}
	registry, err := toolsOf(ctx, entries)
	if err != nil {
		return nil, nil, err
	}
	set, err := setup.Prompts()
	return registry, set, err
}

// examined are the tools and the templates of a task of a kept exam.
func examined(id, task string) (*tools.Registry, *prompts.Set, error) {
	l, err := openExam(id)
	if err != nil {
		return nil, nil, err
	}
	suite, err := l.Suite()
	if err != nil {
		return nil, nil, err
	}
	registry, err := suite.Describe(task)
	if err != nil {
		return nil, nil, err
	}
	set, _, err := promptSet(l.Exam.Prompt, "")
	return registry, set, err
}

// toolsOf are the tools of mylm ask with the sandbox of the record, which is
// described to the model.
func toolsOf(ctx context.Context, entries []agent.Entry) (*tools.Registry, error) {
	dir, _, err := config.Where(nil)
	if err != nil {
		return nil, err
	}
	parts, err := plan.Parts(entries)
	if err != nil {
		return nil, err
	}
	ofServers := serverTools(ctx, entries, parts)
	with := func(registry *tools.Registry, err error) (*tools.Registry, error) {
		if err != nil || len(ofServers) == 0 {
			return registry, err
		}
		return tools.NewRegistry(append(registry.Tools(), ofServers...)...)
	}
	for _, box := range []*sandbox.Policy{{}, {AllowNet: true}, {Mode: sandbox.ReadOnly}, {Mode: sandbox.ReadOnly, AllowNet: true}} {
		registry, err := setup.AllTools(dir, box, nil)
		if err != nil {
			return nil, err
		}
		description := registry.Lookup(shell.Name).Description
		if slices.ContainsFunc(entries, func(e agent.Entry) bool {
			switch p := e.Payload.(type) {
			case agent.RunEntry:
				return strings.Contains(p.System, description)
			case agent.CustomEntry:
				return strings.Contains(string(p.Args), description)
			}
			return false
		}) {
			return with(registry, nil)
		}
	}
	return with(setup.AllTools(dir, nil, nil))
}

// replayReport is the object that --json prints, whatever the exit code.
type replayReport struct {
	agent.Replayed
	Damage string `json:"damage,omitempty"` // why no more than this was replayed
}

func (k *sessionsRun) print(done agent.Replayed, partly bool) {
	for _, d := range done.Differences {
		if d.Task != "" {
			k.screen.Answer("task " + term.OneLine(term.Visible(d.Task), 30) + ", ")
		}
		k.screen.Answer(fmt.Sprintf("run %s, turn %d: %s\n  was: %s\n  is:  %s\n", d.Run, d.Turn, d.What, term.Visible(term.OneLine(d.Was, 1000)), term.Visible(term.OneLine(d.Is, 1000))))
		if d.Why != "" {
			k.screen.Answer("  why: " + term.Visible(term.OneLine(d.Why, 1000)) + "\n")
		}
	}
	text := fmt.Sprintf("%s, %s, %s", term.Plural(done.Runs, "run"), term.Plural(done.Replies, "reply"), term.Plural(done.Calls, "call"))
	if len(done.Differences) == 0 {
		text += ": no difference"
	}
	if partly {
		text += " before the damage"
	}
	k.screen.Answer(text + "\n")
}
