package temporal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"mylm/agent"
	"mylm/prompts"
	"mylm/providers"
	"mylm/tools"
)

// Names that clients use.
const (
	WorkflowName = "mylm.run"     // takes an Input, returns an Output
	UpdateDecide = "mylm.decide"  // takes a Decision; refused if its call does not wait
	QueryWaiting = "mylm.waiting" // returns the *agent.ApprovalRequest that waits, or null
	SignalCancel = "mylm.cancel"  // before a cancellation: who cancels and why, in a line that becomes the error of the end
)

// Store keeps sessions where every worker finds them. Append of an entry whose number
// the session has is an error, so that of two workers one wins.
type Store interface {
	agent.Recorder
	// Open returns what a session holds. There is none: journal.ErrNotFound.
	Open(ctx context.Context, session string) (*agent.Session, error)
}

// Input of a workflow.
type Input struct {
	Session string       `json:"session"` // "": the workflow's id
	Prompt  string       `json:"prompt"`
	Allow   tools.Effect `json:"allow,omitempty"` // what untainted calls may do besides reading, without a decision

	// Continue: the session may have entries. The run is its next one, or without a
	// prompt the resumption of its last one. Otherwise one that has any is an error.
	Continue bool `json:"continue,omitempty"`
	// Run is the one that an execution whose history was long hands over to the next, and
	// Settings are what its loop depends on.
	Run      string          `json:"run,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"`

	Report bool `json:"report,omitempty"` // the output has one: the run is part of a plan
}

// Output of a workflow. The answer is in the session.
type Output struct {
	Session    string            `json:"session"`
	Run        string            `json:"run"`
	Entries    int               `json:"entries"` // of the session
	Status     agent.Status      `json:"status"`
	StopReason agent.StopReason  `json:"stop_reason"`
	Turns      int               `json:"turns"`
	Error      string            `json:"error,omitempty"`  // why the run did not complete
	Unkept     string            `json:"unkept,omitempty"` // why what Runs.Ended does failed
	Fault      *providers.Error  `json:"fault,omitempty"`  // the same as Error, if the model failed
	Limit      *agent.LimitError `json:"limit,omitempty"`  // the same, if a limit ended the run
	Report     *Report           `json:"report,omitempty"` // if the input asks for it
}

// Decision is what was decided about the call that waits. It counts only for the question
// that was answered: whether a call runs at all, or again with what it was refused.
type Decision struct {
	Call    string          `json:"call"`              // its id
	Refused []tools.Refusal `json:"refused,omitempty"` // as in the question
	agent.Decision
}

// Runs are the runs of a worker. It is safe for concurrent use; its fields are set before.
// All workers of a queue set the same ones.
type Runs struct {
	// Tools makes those tools that depend on the session, such as the memory's. Each
	// takes the place of the one in the agent's options that has its name.
	Tools func(*agent.Session) ([]*tools.Tool, error)
	// Ended is called when a run has ended, with the session as it is recorded, and the
	// result without its messages and calls: here what the run leaves goes to the memory.
	// It is called again if it fails or its worker is lost, five times at most, or ten where
	// the database was away meanwhile.
	Ended func(context.Context, *agent.Session, agent.Result) error
	// ToolQueue is the task queue of the workers that RegisterTools is called with. Runs have
	// tools called there whose own workers have none; "": their own workers have them.
	ToolQueue string
	// Copies has each run work in a copy of the workspace, which a worker of ToolQueue makes:
	// that calls the tools of the run, from CopyQueue, which is its own, also after it was
	// started again. nil: runs work in the workspace that the workers of the queue have.
	Copies    Copies
	CopyQueue string

	hasTools bool // RegisterTools was called
	opts     agent.Options
	settings json.RawMessage // those of runs that begin here
	store    Store
	agent    *agent.Agent // carries out effects
	unknown  string       // the error of a call whose end is unknown
	tries    int
	recent   recent
}

// New prepares runs with these options. Effects in them, such as those of telemetry,
// wrap what the activities do.
func New(o agent.Options, store Store) (*Runs, error) {
	h := o.Hooks
	if o.Approve != nil || o.Recorder != nil || o.MaxTime != 0 || o.DryRun || h.BeforeToolCall != nil || h.AfterToolCall != nil || h.Observe != nil {
		return nil, errors.New("temporal: Approve, Recorder, MaxTime, DryRun and hooks other than TransformContext are not supported")
	}
	a, err := agent.New(o)
	if err != nil {
		return nil, err
	}
	texts := o.Prompts
	if texts == nil {
		texts = prompts.Default()
	}
	unknown, err := texts.Text(prompts.Unknown)
	if err != nil {
		return nil, err
	}
	begin, err := newSettings(o)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(begin)
	return &Runs{opts: o, settings: text, store: store, agent: a, unknown: unknown, tries: cmp.Or(o.Tries, 3)}, err
}

// Registry is a worker, as far as it is needed here.
type Registry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Register has a worker work on runs. With a ToolQueue it calls tools itself only if
// RegisterTools was called before, with a worker of that queue.
func (r *Runs) Register(w Registry) {
	w.RegisterWorkflowWithOptions(r.Workflow, workflow.RegisterOptions{Name: WorkflowName})
	w.RegisterWorkflowWithOptions(r.Plan, workflow.RegisterOptions{Name: PlanName})
	w.RegisterActivityWithOptions(r.model, activity.RegisterOptions{Name: modelActivity.name})
	w.RegisterActivityWithOptions(r.tool, activity.RegisterOptions{Name: readActivity.name})
	w.RegisterActivityWithOptions(r.prepare, activity.RegisterOptions{Name: prepareActivity.name})
	w.RegisterActivityWithOptions(r.open, activity.RegisterOptions{Name: openActivity.name})
	w.RegisterActivityWithOptions(r.info, activity.RegisterOptions{Name: infoActivity.name})
	w.RegisterActivityWithOptions(r.ended, activity.RegisterOptions{Name: endedActivity.name})
	w.RegisterActivityWithOptions(r.record, activity.RegisterOptions{Name: recordActivity.name})
}

// RegisterTools has a worker of ToolQueue call tools for the runs of other workers. The
// workspace of the runs is that of these workers: the others need no access to it.
func (r *Runs) RegisterTools(w Registry) {
	r.hasTools = true
	w.RegisterActivityWithOptions(r.tool, activity.RegisterOptions{Name: readActivity.name})
	w.RegisterActivityWithOptions(r.lookHere, activity.RegisterOptions{Name: lookActivity.name})
	w.RegisterActivityWithOptions(r.place, activity.RegisterOptions{Name: placeActivity.name})
}

// toolsApart reports whether tools are called by other workers only.
func (r *Runs) toolsApart() bool { return r.ToolQueue != "" && !r.hasTools }

// rule is how long an activity may take, and how often it is tried.
type rule struct {
	name     string
	run      time.Duration // one attempt
	beat     time.Duration // heartbeats; 0: none
	attempts int32         // 0: until it succeeds
	pause    time.Duration // the longest between two
	settle   bool          // a cancelled one is waited for
}

// shortCall is the longest that a tool may take whose calls are local activities, unless it
// starts programs or uses the network. A cancellation reaches these when the SDK renews the
// workflow task, every 8 s, as it reaches the others with a heartbeat.
const shortCall = 30 * time.Second

// lookWithin is how long a tool may take to say what a call would do.
const lookWithin = 10 * time.Second

// appendWithin is how long the database may take for the entries that a call begins with.
const appendWithin = 30 * time.Second

// beatWithin is the time within which a worker shows that it lives, and learns of a
// cancellation: the SDK sends at most one heartbeat in four fifths of it.
const beatWithin = 10 * time.Second

// beat sends heartbeats until the function that it returns is called. With one comes the
// news that the activity is cancelled.
func beat(ctx context.Context) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	tick := time.NewTicker(beatWithin / 4)
	go func() {
		defer close(ended)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	return func() { close(done); <-ended }
}

// The rules. No activity has a limit of the time until a worker takes it: a run waits for
// its workers.
var (
	// The agent has limits for silence, and heartbeats show that the worker lives: one
	// attempt ends late only if a model writes for a day. Twelve attempts wait for about
	// a minute, which is the agent's own patience with a backend that is busy.
	modelActivity = rule{"mylm.model", 24 * time.Hour, beatWithin, 12, soon, false}
	// Repeating what only reads changes nothing. Five attempts outlive the loss of some
	// workers, and end if the tool itself kills them. The tool's own time comes on top.
	readActivity = rule{"mylm.tool", time.Minute, beatWithin, 5, soon, true}
	// What writes or runs is never repeated. It is waited for when the run is
	// cancelled, so that what it did is recorded.
	effectActivity = rule{"mylm.tool", time.Minute, beatWithin, 1, soon, true}
	// The run goes on without an answer.
	infoActivity = rule{"mylm.info", time.Minute, beatWithin, 1, soon, false}
	// A run waits for the database with what it continues, for days if need be.
	openActivity = rule{"mylm.open", time.Minute, 0, 0, late, false}
	// A run begins where its tools are, and waits for a worker that has them, which may copy
	// the workspace.
	placeActivity = rule{"mylm.place", 10 * time.Minute, beatWithin, 0, late, false}
	// It may look at files. Without it the call is not made.
	lookActivity = rule{"mylm.look", lookWithin, 0, 3, soon, false}
	// The same with a record of the call, for calls that are local activities: each of its
	// attempts begins with the entries before it.
	prepareActivity = rule{"mylm.prepare", appendWithin + lookWithin, 0, 3, soon, true}
	// It compares the copy that the run worked in with what it was. What fails is the record,
	// which is waited for.
	leaveActivity = rule{"mylm.leave", 10 * time.Minute, beatWithin, 0, late, false}
	// Without its record a run has no end. The others, that which tells of the end, too, do
	// not wait for the database: where they cannot record what they begin with, the run waits
	// with this one, and has them done then.
	recordActivity = rule{"mylm.record", time.Minute, 0, 0, late, false}
	// It may embed what the run leaves. An answer does not wait for it for ever.
	endedActivity = rule{"mylm.ended", 5 * time.Minute, beatWithin, 5, soon, false}
)

// The longest pauses between two attempts: for a backend, and for a database that is away.
const (
	soon = 8 * time.Second
	late = 30 * time.Second
)

// in applies the rule, with time that comes on top.
func (r rule) in(ctx workflow.Context, more time.Duration) workflow.Context {
	return r.on(ctx, "", more)
}

// on applies the rule in a task queue, "" is that of the run.
func (r rule) on(ctx workflow.Context, queue string, more time.Duration) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: queue, StartToCloseTimeout: r.run + more, HeartbeatTimeout: r.beat, WaitForCancellation: r.settle,
		RetryPolicy: r.retries(),
	})
}

// within applies the rule to a local activity: the worker that has the workflow does it, as
// part of a workflow task. That costs Temporal a marker in the history, and no task.
func (r rule) within(ctx workflow.Context, more time.Duration) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: time.Hour, // longer than all attempts take
		StartToCloseTimeout:    r.run + more, RetryPolicy: r.retries(),
	})
}

func (r rule) retries() *sdk.RetryPolicy {
	return &sdk.RetryPolicy{InitialInterval: 500 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: r.pause, MaximumAttempts: r.attempts}
}
