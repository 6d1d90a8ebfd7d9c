package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/agent/plan"
)

func replayCommand(s streams) *cli.Command {
	return &cli.Command{
		Name: "replay", Usage: "run a session again with its recorded replies, and say what is different", ArgsUsage: "[ID|last|FILE]",
		Description: `No model is asked and no tool is run: replies and results come from the record. What
this version of mylm makes of them is compared with what was made of them then. The
exit code is 1 where that differs.

   mylm replay last
   mylm sessions export last report.jsonl --redact && mylm replay report.jsonl`,
		Flags:  []cli.Flag{jsonFlag()},
		Action: withSessions(s, (*keeping).replay),
	}
}

func (k *keeping) replay(ctx context.Context) error {
	l, err := k.one(ctx, 1)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(l.entries, func(e agent.Entry) bool { return e.Kind == plan.EntryPlan }) {
		return usageError("a plan cannot be replayed: its tasks may have run side by side").withHint("mylm sessions show prints it.")
	}
	registry, err := allTools()
	if err != nil {
		return err
	}
	set, err := loadPrompts()
	if err != nil {
		return err
	}
	done, err := interruptibly(ctx, func() (journal.Replayed, error) {
		return journal.Replay(ctx, l.entries, agent.Options{Tools: registry, Prompts: set})
	})
	if err != nil {
		return err
	}
	if k.cli.Bool("json") {
		if err := printJSON(k.streams.out, done); err != nil {
			return err
		}
	} else {
		k.print(done)
	}
	if n := len(done.Differences); n > 0 {
		return &failure{code: exitError, name: "different", err: fmt.Errorf("the replay differs from the record in %s", plural(n, "run"))}
	}
	return k.screen.failed
}

func (k *keeping) print(done journal.Replayed) {
	for _, d := range done.Differences {
		k.screen.answer(fmt.Sprintf("run %s, turn %d: %s\n  was: %s\n  is:  %s\n", d.Run, d.Turn, d.What, visible(oneLine(d.Was, 1000)), visible(oneLine(d.Is, 1000))))
	}
	text := fmt.Sprintf("%s, %d replies, %s", plural(done.Runs, "run"), done.Replies, plural(done.Calls, "call"))
	if len(done.Differences) == 0 {
		text += ": no difference"
	}
	k.screen.answer(text + "\n")
}
