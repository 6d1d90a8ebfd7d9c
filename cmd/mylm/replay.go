package main

import (
	"context"
	"fmt"

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
exit code is 1 where that differs. Of a plan that is done for each of its tasks, and for
what the model was asked about it.

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
	registry, err := allTools()
	if err != nil {
		return err
	}
	set, err := loadPrompts()
	if err != nil {
		return err
	}
	done, err := interruptibly(ctx, func() (journal.Replayed, error) {
		return replayed(ctx, l.entries, agent.Options{Tools: registry, Prompts: set})
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

// replayed goes through the runs of a session, and through those of the sessions
// within it if it is that of a plan.
func replayed(ctx context.Context, entries []agent.Entry, o agent.Options) (journal.Replayed, error) {
	done, err := journal.Replay(ctx, entries, o)
	if err != nil {
		return done, err
	}
	parts, err := plan.Parts(entries)
	if err != nil {
		return done, err
	}
	for _, p := range parts {
		of, err := journal.Replay(ctx, p.Entries, o)
		if err != nil {
			return done, err
		}
		done.Runs, done.Replies, done.Calls = done.Runs+of.Runs, done.Replies+of.Replies, done.Calls+of.Calls
		for _, u := range p.Reread() {
			of.Differences = append(of.Differences, journal.Difference{Run: u.Run, Turn: u.Turn, What: "what the plan takes from the reply", Was: u.Was, Is: u.Is})
		}
		for _, d := range of.Differences {
			d.Task = p.Task
			done.Differences = append(done.Differences, d)
		}
	}
	return done, nil
}

func (k *keeping) print(done journal.Replayed) {
	for _, d := range done.Differences {
		if d.Task != "" {
			k.screen.answer("task " + label(d.Task) + ", ")
		}
		k.screen.answer(fmt.Sprintf("run %s, turn %d: %s\n  was: %s\n  is:  %s\n", d.Run, d.Turn, d.What, visible(oneLine(d.Was, 1000)), visible(oneLine(d.Is, 1000))))
	}
	text := fmt.Sprintf("%s, %d replies, %s", plural(done.Runs, "run"), done.Replies, plural(done.Calls, "call"))
	if len(done.Differences) == 0 {
		text += ": no difference"
	}
	k.screen.answer(text + "\n")
}
