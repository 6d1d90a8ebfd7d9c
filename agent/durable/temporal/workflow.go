package temporal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/providers"
	"mylm/tools"
)

// maxHistory is how many events an execution has at most when it begins a turn. Temporal
// warns at 10,240 and suggests to continue at 4,096, unless its server is set up
// otherwise: then this bound holds. A turn adds 10 to 20; one whose call asks for all the
// permissions there are, 500.
const maxHistory = 8000

// Workflow is one run, or what of it the history of one execution holds, in the
// coroutine of a workflow.
func (r *Runs) Workflow(ctx workflow.Context, in Input) (Output, error) {
	id := cmp.Or(in.Session, workflow.GetInfo(ctx).WorkflowExecution.ID)
	run, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	e := &effects{runs: r, ctx: ctx, cancel: cancel, session: id, part: in.Report, allow: in.Allow | tools.Reads | tools.Remembers}
	if err := e.listen(); err != nil {
		return Output{}, err
	}
	if err := e.setUp(in); err != nil {
		return Output{}, err
	}
	a, err := agent.New(e.opts)
	if err != nil {
		return Output{}, err
	}
	session, resume, err := e.open(in)
	if err != nil {
		return Output{}, err
	}
	events := a.Run(run, session, in.Prompt)
	if resume {
		events = a.Resume(run, session)
	}
	result, err := e.follow(events)
	keeps := !in.Report && e.runs.Ended != nil // of a plan its own session is kept, not what tools returned in those of its tasks
	if !keeps || !e.closing || e.leaving || result.Run == "" {
		if failed := e.flush(); failed != nil {
			return Output{}, failed
		}
	}
	if e.leaving && ctx.Err() == nil {
		return Output{}, workflow.NewContinueAsNewError(ctx, WorkflowName, Input{Session: id, Allow: in.Allow, Continue: true, Run: result.Run, Settings: e.settings, Report: in.Report})
	}
	if e.leaving { // cancelled in the meantime: the next execution would not know
		e.leaving = false
		for _, entry := range e.dropped {
			if err := e.Append(run, entry); err != nil {
				return Output{}, err
			}
		}
		if err := e.flush(); err != nil {
			return Output{}, err
		}
	}
	if result.Run == "" { // there is nothing to resume
		return Output{}, refused(err)
	}
	var unkept error
	if keeps {
		var failed error
		if unkept, failed = e.ended(result); failed != nil {
			return Output{}, failed
		}
	}
	out := output(result, e.last, unkept)
	if in.Report {
		out.Report = report(result, session, e.stopped)
	}
	if err := ctx.Err(); err != nil && result.StopReason == agent.StopInterrupted {
		if in.Report {
			err = sdk.NewCanceledError(out) // what the run has used counts for its plan
		}
		return Output{}, err
	}
	return out, nil
}

// setUp finds out what the loop depends on: of a run that begins this is what the worker
// has now, and in its history from then on. Histories of the first version do not have it.
func (e *effects) setUp(in Input) error {
	e.settings, e.opts = in.Settings, e.runs.opts
	if e.settings == nil && workflow.GetVersion(e.ctx, "settings", workflow.DefaultVersion, 1) >= 1 {
		err := workflow.SideEffect(e.ctx, func(workflow.Context) any { return e.runs.beginning() }).Get(&e.settings)
		if err != nil {
			return err
		}
	}
	if e.settings != nil {
		var s settings
		err := json.Unmarshal(e.settings, &s)
		if err == nil && s.ToolsApart {
			var there settings
			if err := workflow.ExecuteActivity(placeActivity.on(e.ctx, e.runs.ToolQueue, 0), placeActivity.name, e.copyName()).Get(e.ctx, &there); err != nil {
				return err
			}
			s.join(there)
			e.settings, err = json.Marshal(s)
		}
		if err == nil {
			e.home, e.local, e.closing = s.Copy, s.Local, s.Closing
			e.opts, err = s.options(e)
		}
		if err != nil {
			return fmt.Errorf("the settings of the run: %w", err)
		}
	}
	e.opts.Tries, e.opts.Recorder = 1, e
	e.opts.Effects = func(*agent.Session, agent.Effects) agent.Effects { return e }
	return nil
}

// ended tells Runs.Ended, also of a cancelled run, with the entries that are pending. It
// returns why what a run leaves is not kept, and why its end is not recorded.
func (e *effects) ended(r agent.Result) (unkept, failed error) {
	ctx, cancel := workflow.NewDisconnectedContext(e.ctx)
	defer cancel()
	in := ending{entries: e.entries(), Result: r, Tainted: r.Tainted}
	if in.Result.Calls = nil; r.Err != nil {
		in.Error = r.Err.Error()
	}
	tell := func() error {
		return workflow.ExecuteActivity(endedActivity.in(ctx, 0), endedActivity.name, in).Get(ctx, nil)
	}
	if unkept = tell(); unkept == nil {
		e.pending = nil
	}
	if failed = e.flush(); failed == nil && is(unkept, notRecorded, unread) {
		in.entries = e.entries()
		unkept = tell()
	}
	return unkept, failed
}

// open is the session that a run continues, in outline, or a new one. Resume reports
// whether the run is the last one of it: also that of a workflow which was reset to its
// beginning, and finds there what it did before.
func (e *effects) open(in Input) (s *agent.Session, resume bool, err error) {
	e.begins = e.settings != nil && in.Prompt != ""
	if !in.Continue {
		return &agent.Session{ID: e.session}, false, nil
	}
	var outline []agent.Entry
	if err := workflow.ExecuteActivity(openActivity.in(e.ctx, 0), openActivity.name, e.session).Get(e.ctx, &outline); err != nil {
		return nil, false, err
	}
	for _, entry := range outline {
		for i, images := 0, entry.Images(); i < len(images); i++ {
			images[i].Data = []byte{} // what it takes in the window is counted by its number
		}
	}
	e.last, e.ids = len(outline), len(outline) // no more ids than entries were given
	if s, err = agent.LoadSession(e.session, outline); err != nil {
		return nil, false, refused(err)
	}
	run := in.Run
	if e.begins && slices.ContainsFunc(outline, func(entry agent.Entry) bool { return entry.Run == e.id("run") }) {
		run, e.begins = e.id("run"), false
	}
	if last := len(outline) - 1; run != "" && (last < 0 || outline[last].Run != run) {
		return nil, false, refused(fmt.Errorf("the session %s has another run than %s, which goes on: %w", e.session, run, journal.ErrInUse))
	} else if run != in.Run && outline[last].Kind() == agent.EntryEnd {
		return nil, false, refused(fmt.Errorf("the workflow was reset, and its run %s has an end in the session %s: nothing is to be done", run, e.session))
	}
	return s, in.Prompt == "" || run != in.Run, nil
}

// refused is an error that trying again does not help.
func refused(err error) error {
	return sdk.NewNonRetryableApplicationError(err.Error(), refusal, err)
}

// refusal is the type of such errors.
const refusal = "session"

// follow ranges over a run. When the history is long it leaves the run as a turn begins,
// but the first, so that the next execution resumes it there.
func (e *effects) follow(events iter.Seq2[agent.Event, error]) (result agent.Result, err error) {
	turns := 0
	for ev, failed := range events {
		err = failed
		switch p := ev.Payload.(type) {
		case agent.TurnStart:
			turns++
			if info := workflow.GetInfo(e.ctx); turns > 1 && (info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() >= maxHistory) {
				e.leaving = true
				e.cancel(context.Canceled)
			}
		case agent.FinalResponse:
			result = p.Result
		}
	}
	return result, err
}

// effects are those of a run in a workflow: activities, timers and updates. As a
// Recorder they keep entries until the next activity, which appends them before it does
// anything else; the history has what makes them again.
type effects struct {
	runs     *Runs
	ctx      workflow.Context
	cancel   context.CancelCauseFunc // of the run
	session  string
	opts     agent.Options   // of the loop
	settings json.RawMessage // they, nil in histories of the first version
	home     *home           // nil: the run works in the workspace of its workers
	local    bool            // what is short is done within workflow tasks
	closing  bool            // the end is recorded by the activity that tells of it
	part     bool            // of a plan, which has the copy
	allow    tools.Effect
	away     bool // the call that is prepared is made by a worker of ToolQueue
	ids      int
	begins   bool          // the next id is that of the run
	last     int           // entries
	pending  []agent.Entry // that no activity is known to have appended
	leaving  bool          // the next execution continues the run
	dropped  []agent.Entry // that it made since: nothing has happened for the session

	waiting *agent.ApprovalRequest
	decided *agent.Decision
	stopped bool // it was agent.Stop once
}

var _ agent.Elsewhere = (*effects)(nil)

// Elsewhere implements agent.Elsewhere.
func (e *effects) Elsewhere() {}

// Append implements agent.Recorder.
func (e *effects) Append(_ context.Context, entry agent.Entry) error {
	if e.leaving {
		e.dropped = append(e.dropped, entry)
		return nil
	}
	if e.home != nil && !e.part && entry.Kind() == agent.EntryEnd {
		if err := e.leave(entry); err != nil {
			return err
		}
		entry.Seq = e.last + 1
	}
	e.pending, e.last = append(e.pending, entry), entry.Seq
	return nil
}

func (e *effects) entries() entries { return newEntries(e.session, e.pending, e.last) }

func (e *effects) Model(_ context.Context, q agent.ModelRequest) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		var got reply
		if err := e.do(e.in(modelActivity, "", 0), &got, func() any { return modelInput{e.entries(), q} }); err != nil {
			yield(providers.Chunk{}, err)
			return
		}
		for _, c := range got.Chunks {
			if !yield(c, nil) {
				return
			}
		}
		if err := got.err(); err != nil {
			yield(providers.Chunk{}, err)
		}
	}
}

func (e *effects) Tool(_ context.Context, q agent.ToolRequest) (o tools.Outcome) {
	rule := effectActivity
	if q.Effect.OnlyReads() {
		rule = readActivity
	}
	limit := cmp.Or(e.opts.Tools.Lookup(q.Name).Timeout, e.opts.ToolTimeout, 30*time.Second)
	stopped, stop := context.WithCancel(context.Background())
	defer stop()
	input := func() any { return toolInput{entries: e.entries(), Request: q, stopped: stopped} }
	var err error
	switch {
	case e.home != nil:
		input = func() any { return toolInput{entries: e.entries(), Request: q, Copy: e.home.Copy} }
		err = e.do(e.in(rule, e.home.Queue, limit), &o, input)
		e.checkCopy(err)
	case e.away:
	case e.local && limit <= shortCall && q.Effect&(tools.Runs|tools.Network) == 0:
		defer e.watch(stop)()
		err = e.do(e.within(rule, limit), &o, input)
	default:
		err = e.do(e.in(rule, "", limit), &o, input)
	}
	if e.away || is(err, noTools) {
		err = e.do(e.in(rule, e.runs.ToolQueue, limit), &o, input)
	}
	switch {
	case err == nil:
		return o
	case errors.Is(err, context.Canceled), errors.Is(err, errNotDone), is(err, notRun, notRecorded, unread, noTools, noCopy, refusal), notStarted(err):
		return tools.Outcome{Error: "the call was not run: " + err.Error()} // one that ran and was cancelled has an outcome
	case q.Effect.OnlyReads():
		return tools.Outcome{Error: "the call has no result: " + err.Error()}
	}
	return tools.Outcome{Error: e.runs.unknown, Unknown: true}
}

func (e *effects) Info(context.Context) (info providers.Info, err error) {
	start := e.in(infoActivity, "", 0)
	if e.local {
		start = e.within(infoActivity, 0)
	}
	return info, e.do(start, &info, func() any { return e.entries() })
}

// Ask waits for a decision on what is not allowed without one.
func (e *effects) Ask(_ context.Context, q agent.ApprovalRequest) (agent.Decision, error) {
	if q.Effect.OnlyReads() || q.Effect&^e.allow == 0 && !q.Tainted {
		return agent.Decision{Verdict: agent.Allow}, nil
	}
	if err := e.flush(); err != nil { // who decides can read what led to it
		return agent.Decision{}, err
	}
	e.waiting, e.decided = &q, nil
	defer func() { e.waiting = nil }()
	if err := workflow.Await(e.ctx, func() bool { return e.decided != nil }); err != nil {
		return agent.Decision{}, e.checked(err)
	}
	e.stopped = e.stopped || e.decided.Verdict == agent.Stop
	return *e.decided, nil
}

// listen sets up the update and the query about decisions.
func (e *effects) listen() error {
	err := workflow.SetQueryHandler(e.ctx, QueryWaiting, func() (*agent.ApprovalRequest, error) { return e.waiting, nil })
	if err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(e.ctx, UpdateDecide, func(_ workflow.Context, d Decision) error {
		e.decided = &d.Decision
		return nil
	}, workflow.UpdateHandlerOptions{Validator: func(d Decision) error {
		switch {
		case e.waiting == nil || e.decided != nil:
			return errors.New("no call waits for a decision")
		case e.waiting.Call != d.Call:
			return fmt.Errorf("the call that waits for a decision is %s, not %s", e.waiting.Call, d.Call)
		case !slices.Equal(e.waiting.Refused, d.Refused):
			return errors.New("another question about the call waits for a decision meanwhile: read it and decide again")
		}
		return nil
	}})
}

func (e *effects) Now() time.Time { return workflow.Now(e.ctx) }

func (e *effects) Sleep(_ context.Context, d time.Duration) error {
	return e.checked(workflow.Sleep(e.ctx, d))
}

// NewID returns names that follow from the workflow's first run, so that one that is
// reset has the same: that of a run that begins whatever its session has.
func (e *effects) NewID() string {
	if e.begins {
		e.begins = false
		return e.id("run")
	}
	e.ids++
	if e.settings == nil {
		return e.hash(fmt.Sprint(e.ids))
	}
	return e.id(fmt.Sprint(e.ids))
}

// id is a name of the workflow.
func (e *effects) id(of string) string {
	return e.hash(workflow.GetInfo(e.ctx).WorkflowExecution.ID + " " + of)
}

func (e *effects) hash(of string) string {
	return short(fmt.Sprintf("%s %s %s", workflow.GetInfo(e.ctx).Namespace, e.execution(), of))
}

// execution is the workflow's first run, before it was reset.
func (e *effects) execution() string {
	info := workflow.GetInfo(e.ctx)
	return cmp.Or(info.OriginalRunID, info.WorkflowExecution.RunID)
}

// short is a name that follows from a text.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:13])
}
