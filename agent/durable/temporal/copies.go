package temporal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"mylm/agent"
	"mylm/tools"
)

// Copies give each run, and each plan with all its runs, a copy of the workspace on the
// machine of one worker.
type Copies interface {
	// Make makes the copy of that name for a workflow, or finds it, and returns where it is. An
	// error that trying again does not help, here or elsewhere, has a method Permanent that
	// returns true.
	Make(ctx context.Context, copy string, of workflow.Execution) (dir string, err error)
	// Tools are those that work in a copy. There is none: ErrNoCopy.
	Tools(copy string) (*tools.Registry, error)
	// Changes are what the run has changed in its copy, as JSON; nil: nothing.
	Changes(ctx context.Context, copy string) (json.RawMessage, error)
	// Remove removes a copy, after its changes are recorded.
	Remove(copy string) error
}

// ErrNoCopy is the error of a copy that is not there.
var ErrNoCopy = errors.New("the copy of the workspace that the run works in is not there any more")

// EntryChanges is the kind of the entry before the end of a run, or of a plan, that worked in
// a copy and changed something there: what Copies.Changes says is in its arguments, or in
// its error why that is not known.
const EntryChanges agent.EntryKind = "changes"

// RegisterCopies has a worker of CopyQueue call the tools of runs that work in its Copies.
func (r *Runs) RegisterCopies(w Registry) {
	w.RegisterActivityWithOptions(r.tool, activity.RegisterOptions{Name: readActivity.name})
	w.RegisterActivityWithOptions(r.lookHere, activity.RegisterOptions{Name: lookActivity.name})
	w.RegisterActivityWithOptions(r.leave, activity.RegisterOptions{Name: leaveActivity.name})
}

// home is where the calls of a run are made that works in a copy.
type home struct {
	Queue string `json:"queue"` // of the worker
	Copy  string `json:"copy"`
	Where string `json:"where"` // HOST:PATH, for a person
}

// homeWithin is how long a call waits for the one worker that can make it: for that to be
// started again.
const homeWithin = 5 * time.Minute

// at applies a rule where the run's copy is.
func (h *home) at(ctx workflow.Context, rule rule, more time.Duration) workflow.Context {
	return workflow.WithScheduleToStartTimeout(rule.on(ctx, h.Queue, more), homeWithin)
}

// place are the settings of a worker that has tools, with a copy for the run if it makes them.
func (r *Runs) place(ctx context.Context, copy string) (json.RawMessage, error) {
	if r.Copies == nil || copy == "" {
		return r.settings, nil
	}
	defer beat(ctx)()
	of := activity.GetInfo(ctx).WorkflowExecution
	dir, err := r.Copies.Make(ctx, copy, workflow.Execution(of))
	if err != nil {
		var p interface{ Permanent() bool }
		if errors.As(err, &p) && p.Permanent() {
			err = refused(err)
		}
		return nil, err
	}
	var s settings
	if err := json.Unmarshal(r.settings, &s); err != nil {
		return nil, refused(err)
	}
	host, _ := os.Hostname()
	s.Copy = &home{Queue: r.CopyQueue, Copy: copy, Where: host + ":" + dir}
	if s.Environment != nil {
		s.Environment.Directory = dir
	}
	return json.Marshal(s)
}

// copyName is that of the copy that is made for the run, "" if none is.
func (e *effects) copyName() string {
	if e.part {
		return ""
	}
	return e.id("copy")
}

// checkCopy ends the run if an error says that its copy, or the worker that has it, is not there.
func (e *effects) checkCopy(err error) {
	if text := e.home.lost(err); text != "" {
		e.cancel(&agent.LimitError{Reason: agent.StopInternal, Message: text})
	}
}

// lost is what is said of an error, if that is why the copy is not there, or else "".
func (h *home) lost(err error) string {
	switch {
	case is(err, noCopy):
		return fmt.Sprintf("%s: %s", ErrNoCopy, h.Where)
	case notStarted(err):
		return fmt.Sprintf("the worker that has the copy of the workspace in which the run works, %s, has taken no call for %v", h.Where, homeWithin)
	}
	return ""
}

// leaveInput is the input of the activity at the end of a run that worked in a copy.
type leaveInput struct {
	Session string `json:"session"`
	Through int    `json:"through"` // its entries before
	Run     string `json:"run"`
	Copy    string `json:"copy"`
}

// leave records what the run has changed in its copy, before its end, which is an entry.
func (e *effects) leave(end agent.Entry) error {
	if err := e.flush(); err != nil {
		return err
	}
	ctx, cancel := workflow.NewDisconnectedContext(e.ctx)
	defer cancel()
	var changed bool
	in := leaveInput{e.session, e.last, end.Run, e.home.Copy}
	err := workflow.ExecuteActivity(e.home.at(ctx, leaveActivity, 0), leaveActivity.name, in).Get(ctx, &changed)
	if is(err, refusal) {
		return err
	}
	if err == nil && changed {
		e.last++
	}
	if err != nil {
		lost := agent.CustomEntry{Type: EntryChanges, Error: cmp.Or(e.home.lost(err), err.Error())}
		e.last++
		e.pending = append(e.pending, agent.Entry{Session: e.session, Seq: e.last, Time: e.Now(), Run: end.Run, Payload: lost})
	}
	return nil
}

// leave appends an entry with the changes in a copy, if there are any, and removes the copy.
func (r *Runs) leave(ctx context.Context, in leaveInput) (changed bool, err error) {
	defer beat(ctx)()
	s, _, err := r.append(ctx, entries{Session: in.Session, Through: in.Through})
	if err != nil {
		return false, err
	}
	if all := s.Entries(); len(all) > in.Through { // an attempt before has appended it, or a workflow that was reset
		changed = all[in.Through].Kind() == EntryChanges
	} else {
		args, err := r.Copies.Changes(ctx, in.Copy)
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case errors.Is(err, ErrNoCopy):
			return false, sdk.NewNonRetryableApplicationError(err.Error(), noCopy, err)
		}
		of := agent.CustomEntry{Type: EntryChanges, Args: args}
		if err != nil {
			of.Error = err.Error()
		}
		if changed = args != nil || err != nil; changed {
			err := r.store.Append(ctx, agent.Entry{Session: in.Session, Seq: in.Through + 1, Time: time.Now(), Run: in.Run, Payload: of})
			if err != nil {
				return false, judged(err)
			}
		}
	}
	_ = r.Copies.Remove(in.Copy) // what is left of it is swept
	return changed, nil
}

// notStarted reports whether no worker has taken an activity within its time.
func notStarted(err error) bool {
	var timeout *sdk.TimeoutError
	return errors.As(err, &timeout) && timeout.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START
}
