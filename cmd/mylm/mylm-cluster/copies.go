package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/workflow"

	"mylm/agent"
	"mylm/agent/durable/postgres"
	"mylm/agent/durable/temporal"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/cmd/mylm/mylm-cluster/internal/copies"
	"mylm/tools"
)

// copied are the copies of a worker, with the tools that work in them.
type copied struct {
	*copies.Store
	worker *setup.Worker
	say    func(string)

	mu    sync.Mutex
	tools map[string]*tools.Registry
}

var _ temporal.Copies = (*copied)(nil)

// openCopies opens the directory that a worker keeps copies in, nil if it keeps none.
func openCopies(ctx *cli.Context, c *config.Config, w *setup.Worker, say func(string)) (*copied, error) {
	if ctx.String("copies") == "" {
		return nil, nil
	}
	dir, err := filepath.Abs(ctx.String("copies"))
	if err != nil {
		return nil, err
	}
	for _, own := range config.OwnDirs() {
		if at, err := filepath.Rel(own, dir); err == nil && !strings.HasPrefix(at, "..") {
			return nil, failure.Usage("--copies %s: tools may not use mylm's own directories", term.Echoed(dir))
		}
	}
	store, err := copies.Open(dir, c.Workspace, int64(ctx.Int("copy-limit"))<<20)
	if err != nil {
		f := failure.Usage("--copies %s: %w", term.Echoed(dir), err)
		if errors.Is(err, copies.ErrInUse) || errors.Is(err, copies.ErrForeign) {
			return nil, f.WithHint("Each worker needs a directory of its own.")
		}
		return nil, f
	}
	return &copied{Store: store, worker: w, say: say, tools: map[string]*tools.Registry{}}, nil
}

// copyQueue is the task queue of the worker that has the copies of a directory.
func copyQueue(queue, id string) string { return "copies:" + id + ":" + queue }

// lasting is an error that trying again does not help.
type lasting struct{ error }

func (lasting) Permanent() bool { return true }

// Make implements temporal.Copies.
func (c *copied) Make(ctx context.Context, name string, of workflow.Execution) (string, error) {
	dir, err := c.Store.Make(ctx, name, copies.Owner{Workflow: of.ID, Run: of.RunID})
	switch {
	case errors.Is(err, copies.ErrTooLong):
		err = lasting{fmt.Errorf("%w (--copy-limit of the worker)", err)}
	case errors.Is(err, copies.ErrMissing):
		err = lasting{err}
	case err != nil && ctx.Err() == nil: // it is tried again, and nobody else is told
		c.say("mylm-cluster: the workspace cannot be copied: " + term.OneLine(err.Error(), 500))
	}
	return dir, err
}

// Tools implements temporal.Copies.
func (c *copied) Tools(name string) (*tools.Registry, error) {
	dir, err := c.Dir(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = temporal.ErrNoCopy
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tools[name] == nil {
		c.tools[name], err = c.worker.ToolsIn(dir)
	}
	return c.tools[name], err
}

// Changes implements temporal.Copies.
func (c *copied) Changes(ctx context.Context, name string) (json.RawMessage, error) {
	all, err := c.Store.Changes(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, temporal.ErrNoCopy
	case err != nil:
		return nil, err
	case len(all.Files)+all.Ignored == 0:
		return nil, nil
	}
	return json.Marshal(all)
}

// Remove implements temporal.Copies.
func (c *copied) Remove(name string) error {
	c.mu.Lock()
	delete(c.tools, name)
	c.mu.Unlock()
	return c.Store.Remove(name)
}

// Count is how many runs work in a copy; c may be nil.
func (c *copied) Count() int {
	if c == nil {
		return 0
	}
	return c.Store.Count()
}

// sweepEvery is how often copies are looked for whose runs are over.
const sweepEvery = time.Hour

// sweep removes what was left for long enough, as a worker begins and then each hour.
func (c *cluster) sweep(ctx context.Context, l *link, of *copied) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		err := of.Sweep(ctx, time.Now(), func(run copies.Owner) (bool, error) { return l.over(ctx, run) })
		if err != nil && ctx.Err() == nil {
			c.screen.Say("mylm-cluster: copies of runs that have ended cannot be removed: " + term.OneLine(err.Error(), 500))
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// over reports whether the run that a copy was made for has ended, as Temporal knows it.
func (l *link) over(ctx context.Context, run copies.Owner) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	d, err := l.DescribeWorkflow(limited, run.Workflow, "")
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	info := d.RawResponse.GetWorkflowExecutionInfo() // of the last execution of that name
	same := info.GetFirstRunId() == run.Run || info.GetExecution().GetRunId() == run.Run
	return !same || info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// changesOf is what the entry about the changes in a copy says; ok is false of any other.
func changesOf(e agent.Entry) (all copies.Changes, failed string, ok bool) {
	c, _ := e.Payload.(agent.CustomEntry)
	if c.Type != temporal.EntryChanges {
		return all, "", false
	}
	if failed = c.Error; failed == "" {
		if err := json.Unmarshal(c.Args, &all); err != nil {
			failed = err.Error()
		}
	}
	return all, failed, true
}

// changesText says what a run has changed in its copy, and how to get it.
func changesText(e agent.Entry) string {
	all, failed, _ := changesOf(e)
	var text string
	ignored := tools.Count(all.Ignored, "new entry") + " that git ignores"
	switch counted := all.Counted(); {
	case failed != "":
		return "there is no patch of what was changed in the copy of the workspace: " + failed
	case counted == "":
		return "nothing but " + ignored + " in the copy of the workspace: there is no patch"
	case all.Kept != "":
		text = fmt.Sprintf("%s in the copy of the workspace, too much for a patch: for a week it is at %s", counted, all.Kept)
	default:
		text = fmt.Sprintf("%s in the copy of the workspace: mylm-cluster changes %s prints the patch", counted, e.Session)
	}
	if all.Ignored > 0 {
		text += " (without " + ignored + ")"
	}
	return text
}

func (c *cluster) changesCommand() *cli.Command {
	return &cli.Command{
		Name: "changes", Usage: "print what a run has changed in its copy of the workspace, as a patch", ArgsUsage: "ID",
		Description: "Of a session with several runs it is the last one that has changed something. Each began with\na copy of the workspace as it was then.",
		UsageText:   "mylm-cluster changes 4mvbhgq3zuyta | git apply\nmylm-cluster changes 4mvbhgq3zuyta | patch -p1    # without git; it leaves binary files out",
		Flags:       join(databaseFlags(), jsonFlag()),
		Action: func(ctx *cli.Context) error {
			name, err := id(ctx)
			if err != nil {
				return err
			}
			return c.withSessions(ctx, func(sessions *postgres.Sessions) error { return c.changes(ctx, sessions, name) })
		},
	}
}

func (c *cluster) changes(ctx *cli.Context, sessions *postgres.Sessions, name string) error {
	_, entries, err := sessions.Load(ctx.Context, name)
	if err != nil {
		return err
	}
	var last agent.Entry
	for _, e := range entries {
		if _, _, ok := changesOf(e); ok {
			last = e
		}
	}
	all, failed, ok := changesOf(last)
	switch {
	case !ok:
		return (&failure.Error{Code: failure.ExitError, Name: "no_changes", Err: fmt.Errorf("no run of %s has changed anything in a copy of the workspace", name)}).
			WithHint("A run says so when it ends, and that of a task in the plan that it is for. Without --copies of its worker it works in the workspace itself.")
	case failed != "" || all.Kept != "":
		return &failure.Error{Code: failure.ExitError, Name: "no_changes", Err: errors.New(changesText(last))}
	case ctx.Bool("json"):
		return term.PrintJSON(c.screen, all)
	}
	patch := all.Patch
	if patch == "" {
		c.screen.Say(changesText(last))
	}
	if term.IsTerminal(c.screen.Out) {
		patch = term.Printable(patch)
	}
	_, err = io.WriteString(c.screen.Out, patch)
	return err
}

// writeChanges writes what runs have changed in their copies.
func writeChanges(w io.Writer, entries []agent.Entry) {
	for _, e := range entries {
		all, _, ok := changesOf(e)
		if !ok {
			continue
		}
		fmt.Fprintf(w, "\n## Changes\n\n%s\n\n", changesText(e))
		for _, f := range all.Files {
			fmt.Fprintf(w, "- %s: %s\n", f.Kind, term.OneLine(f.Name, 500))
		}
	}
}
