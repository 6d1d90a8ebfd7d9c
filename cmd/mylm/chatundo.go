package main

import (
	"context"
	"time"

	"mylm/agent"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/shell"
)

// diff shows what the last reply has changed.
func (t *talk) diff(ctx context.Context, args string) error {
	if args != "" {
		return failure.Usage("/diff takes no argument").WithHint("!mylm undo --list lists the runs, !mylm undo --diff --run ID shows one.")
	}
	return t.takeBack(ctx, "--diff")
}

// takeBack is mylm undo for the runs of this conversation.
func (t *talk) takeBack(ctx context.Context, flags ...string) error {
	t.mu.Lock()
	dir, from := t.config.Workspace, t.from
	t.mu.Unlock()
	if from == nil {
		return failure.Usage("nothing was said yet").WithHint("!mylm undo --list lists the runs of other conversations.")
	}
	if err := t.wroteLast(dir, from.session); err != nil {
		return err
	}
	return t.advised(t.run(ctx, append([]string{"undo", "--workspace", dir, "--session", from.session.ID}, flags...)...))
}

// wroteLast is an error if the last reply of a session has changed no file, but an earlier one has.
func (t *talk) wroteLast(dir string, s *agent.Session) error {
	var prompt, asked time.Time
	for _, e := range s.Entries() {
		switch e.Kind() {
		case agent.EntryPrompt:
			prompt = e.Time
		case agent.EntryEnd: // a reply that is coming is not the last one yet
			asked = prompt
		}
	}
	runs, err := setup.UndoStore().Runs(dir)
	if err != nil {
		return err
	}
	earlier := ""
	for _, r := range runs {
		switch {
		case r.Session != s.ID || r.Undoes != "":
		case !r.Started.Before(asked):
			return nil
		case r.Undone.IsZero() && earlier == "":
			earlier = r.ID
		}
	}
	if earlier == "" {
		return nil
	}
	return failure.Usage("the last reply has changed no file with write_file or edit_file").WithHint(
		"What commands change is not recorded.\nWhat an earlier reply has changed: !mylm undo --diff --run " + earlier +
			"\n!mylm undo --run " + earlier + " takes it back.")
}

func (t *talk) undo(ctx context.Context, args string) error {
	if args != "" {
		return failure.Usage("/undo takes no argument").WithHint("!mylm undo --list lists the runs that can be undone.")
	}
	if err := t.takeBack(ctx); err != nil {
		return err
	}
	if n := t.commandsRun(); n > 0 {
		t.screen.Dim("What " + term.Plural(n, "command") + " of the last reply changed is not undone.")
	}
	return nil
}

// commandsRun is how many commands the last reply ran that may have changed something.
func (t *talk) commandsRun() (n int) {
	if t.from == nil {
		return 0
	}
	for _, e := range t.from.session.Entries() {
		switch p := e.Payload.(type) {
		case agent.PromptEntry:
			n = 0
		case agent.CallEntry:
			if p.Name == shell.Name && !p.OnlyReads() {
				n++
			}
		}
	}
	return n
}
