package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"mylm/agent"
)

// RunName is the name of a run that carries out a plan. Its Args are the options
// that are kept, and the tasks that were given.
const RunName = "plan"

// The kinds of entry that a plan adds to those of the agent.
const (
	EntryPlan    agent.EntryKind = "plan"    // the current plan: a Planned, in Args
	EntryStep    agent.EntryKind = "step"    // a task was taken up, or ended: a Progress, in Args
	EntryTask    agent.EntryKind = "task"    // an entry of the session of the task Name, in Args
	EntryConsult agent.EntryKind = "consult" // an entry of the session in which the model was asked about the plan, or about the task Name, in Args; Purpose is the template that it was asked with
	EntryEvent   agent.EntryKind = "event"   // an event of a plan with a Runner that no other entry tells, in Args: a Recovery of the task Name, or a notice; Purpose is its type
	EntryRead    agent.EntryKind = "read"    // how the last reply in the session Call was interpreted, in Args; or why it could not be read, in Error
)

// ErrNoPlan is yielded by Resume for a session that holds no plan, or ends before
// its goal was recorded.
var ErrNoPlan = errors.New("the session holds no plan")

// Progress is what is recorded of a task and of the plan with it.
type Progress struct {
	Task      Task     `json:"task"`
	Iteration int      `json:"iteration"`
	Turns     int      `json:"turns"`
	Learned   []string `json:"learned,omitempty"`
}

// record writes an entry of the plan's session. That it cannot ends the plan.
func (r *run) record(ctx context.Context, p agent.EntryPayload) error {
	if err := r.write(ctx, 0, p); err != nil {
		return &planEnd{agent.StopInternal, fmt.Errorf("the session could not be recorded: %w", err)}
	}
	return nil
}

func (r *run) write(ctx context.Context, turn int, p agent.EntryPayload) error {
	rec := r.opts.Agent.Recorder
	if rec == nil {
		return nil
	}
	r.recording.Lock()
	defer r.recording.Unlock()
	r.seq++
	return rec.Append(ctx, agent.Entry{Session: r.session.ID, Seq: r.seq, Time: r.now(), Run: r.id, Turn: turn, Payload: p})
}

// planSetup is what the run of a plan records of how it was set up.
type planSetup struct {
	Options Options `json:"options"`
	Tasks   []Task  `json:"tasks,omitempty"`
}

func (r *run) begin(ctx context.Context, goal string, given []Task, l *loaded) error {
	o := r.opts.Agent
	args, err := json.Marshal(planSetup{r.opts, given})
	if err != nil {
		return &planEnd{agent.StopInternal, err}
	}
	err = r.record(ctx, agent.RunEntry{Name: RunName, Args: args, Setup: &agent.Setup{
		Labels: o.Labels, Tools: append([]string{}, o.Tools.Names()...), MaxTurns: o.MaxTurns, SelfEval: o.SelfEval, DryRun: o.DryRun,
	}})
	if l != nil {
		r.unfinished, r.before, r.state.Iteration, r.state.Learnings = l.unfinished, l.iteration, l.iteration, l.learned
		return err
	}
	if err != nil {
		return err
	}
	return r.record(ctx, agent.PromptEntry{Text: goal})
}

func (r *run) recordTask(ctx context.Context, t Task, learned []string) error {
	return r.recordJSON(ctx, EntryStep, Progress{t, r.state.Iteration, r.budget.usedTurns(), learned})
}

func (r *run) recordJSON(ctx context.Context, kind agent.EntryKind, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return &planEnd{agent.StopInternal, err}
	}
	return r.record(ctx, agent.CustomEntry{Type: kind, Args: b})
}

// recordEvent records an event that no other entry tells. It is not worth ending a plan for.
func (r *run) recordEvent(ev agent.Event) {
	if b, err := json.Marshal(ev.Payload); err == nil {
		_ = r.write(context.Background(), 0, agent.CustomEntry{Type: EntryEvent, Name: ev.Task, Purpose: agent.Purpose(ev.Payload.Type()), Args: b})
	}
}

// recordRead records the interpretation of the last reply of a question's session.
func (r *run) recordRead(ctx context.Context, q question, s *agent.Session, value any, unread error) error {
	e := agent.CustomEntry{Type: EntryRead, Name: q.task, Purpose: agent.Purpose(q.role), Call: s.ID, Error: message(unread)}
	if unread == nil {
		b, err := json.Marshal(value)
		if err != nil {
			return &planEnd{agent.StopInternal, err}
		}
		e.Args = b
	}
	return r.record(ctx, e)
}

// partRecorder puts a session of its own into that of the plan.
type partRecorder struct {
	run        *run
	task, role string
}

// Append implements agent.Recorder.
func (p *partRecorder) Append(ctx context.Context, e agent.Entry) error {
	of, err := PartEntry(p.task, p.role, e)
	if err != nil {
		return err
	}
	return p.run.write(ctx, e.Turn, of)
}

// PartEntry is an entry of a session as that of its plan has it, see Part.
func PartEntry(task, role string, e agent.Entry) (of agent.CustomEntry, err error) {
	of = agent.CustomEntry{Type: EntryTask, Name: task, Purpose: agent.Purpose(role), Call: e.CallID()}
	if role != "" {
		of.Type = EntryConsult
	}
	if c, ok := e.Payload.(agent.CallEntry); ok {
		of.Effect = c.Effect
	}
	of.Args, err = e.MarshalJSON() // json.Marshal escapes <, > and & in it
	return of, err
}

// Saved is a plan as a session has it.
type Saved struct {
	Goal    string
	Tasks   []Task  // as they stood at the end; none if the plan was not made yet, or not agreed to
	Options Options // what is kept of them

	// Left are the tasks for a plan that does what is left of this one, in a session of its own:
	// those that are completed stay so, the others begin again. There are none if all are.
	Left []Task
}

// Load returns the last plan that a session holds; ErrNoPlan if there is none.
func Load(s *agent.Session) (Saved, error) {
	l, err := read(s)
	if err != nil {
		return Saved{}, err
	}
	saved := Saved{Goal: l.goal, Tasks: l.tasks, Options: l.options}
	if l.hasOpenTasks() {
		saved.Left = l.pending()
	}
	return saved, nil
}

// Unfinished reports whether Planner.Resume would continue a session, and
// agent.Agent.Resume would not: its plan is not done, and no later question is
// without an answer.
func Unfinished(s *agent.Session) bool {
	l, err := read(s)
	return err == nil && l.hasOpenTasks() && (l.isLast || !s.Unfinished())
}

// loaded is a plan that is continued.
type loaded struct {
	goal       string
	hasGoal    bool // the goal is recorded
	options    Options
	given      []Task // tasks that the caller gave
	tasks      []Task
	iteration  int
	learned    []string
	unfinished map[string]*agent.Session // of tasks in progress
	isLast     bool                      // no other run follows it

	parts map[string][]agent.Entry // of the tasks in progress, the last session of each
}

// hasOpenTasks reports whether something is left to do.
func (l *loaded) hasOpenTasks() bool {
	return len(l.tasks) == 0 || slices.ContainsFunc(l.tasks, func(t Task) bool { return t.Status != Completed })
}

// read takes a plan from the entries of its session.
func read(s *agent.Session) (*loaded, error) {
	var l *loaded
	for _, e := range s.Entries() {
		if begins, ok := e.Payload.(agent.RunEntry); ok {
			ofPlan := begins.Name == RunName
			if ofPlan && l == nil {
				l = &loaded{}
			}
			if l != nil {
				l.isLast = ofPlan
			}
		}
		if l == nil {
			continue
		}
		if err := l.apply(e); err != nil {
			return nil, fmt.Errorf("entry %d of the session %s cannot be read: %w", e.Seq, s.ID, err)
		}
	}
	if l == nil || !l.hasGoal {
		return nil, ErrNoPlan
	}
	l.unfinished = map[string]*agent.Session{}
	for task, entries := range l.parts {
		session, err := agent.LoadSession(entries[0].Session, entries)
		if err != nil {
			continue // its beginning is missing: the task starts again
		}
		l.unfinished[task] = session
	}
	return l, nil
}

// apply applies an entry.
func (l *loaded) apply(e agent.Entry) error {
	switch p := e.Payload.(type) {
	case agent.RunEntry:
		if p.Name != RunName {
			return nil
		}
		var b planSetup
		if err := json.Unmarshal(p.Args, &b); err != nil {
			return err
		}
		l.options = b.Options
		if len(b.Tasks) > 0 {
			l.given = b.Tasks
		}
	case agent.PromptEntry:
		if l.isLast {
			*l = loaded{goal: p.Text, hasGoal: true, options: l.options, given: l.given, isLast: true, parts: map[string][]agent.Entry{}}
		}
	case agent.CustomEntry:
		return l.applyCustom(p)
	}
	return nil
}

func (l *loaded) applyCustom(e agent.CustomEntry) error {
	switch e.Type {
	case EntryPlan:
		var p Planned
		if err := json.Unmarshal(e.Args, &p); err != nil {
			return err
		}
		l.tasks = p.Tasks
	case EntryStep:
		var p Progress
		if err := json.Unmarshal(e.Args, &p); err != nil {
			return err
		}
		l.applyStep(p)
	case EntryTask:
		var of agent.Entry
		if err := json.Unmarshal(e.Args, &of); err != nil {
			return err
		}
		if was := l.parts[e.Name]; len(was) > 0 && was[0].Session != of.Session {
			l.parts[e.Name] = nil
		}
		l.parts[e.Name] = append(l.parts[e.Name], of)
	}
	return nil
}

// applyStep applies the start or the end of a task.
func (l *loaded) applyStep(p Progress) {
	l.iteration, l.learned = p.Iteration, appendLast(l.learned, p.Learned...)
	for i := range l.tasks {
		if l.tasks[i].ID == p.Task.ID {
			l.tasks[i] = p.Task
		}
	}
	switch p.Task.Status {
	case Completed, Failed, Blocked:
		delete(l.parts, p.Task.ID)
	}
}

// pending are the tasks of a plan that is continued: what was in progress, or blocked
// by a failure, becomes pending.
func (l *loaded) pending() []Task {
	tasks := slices.Clone(l.tasks)
	for i := range tasks {
		if t := &tasks[i]; t.Status != Completed {
			*t = t.clone()
			t.Status, t.Error = Pending, ""
			for _, key := range []string{deniedKey, droppedKey, sessionKey} {
				delete(t.Metadata, key)
			}
		}
	}
	return tasks
}
