package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"mylm/agent"
)

// The kinds of entry that a plan adds to those of the agent.
const (
	EntryPlan agent.EntryKind = "plan" // the plan as it stands: a Planned, in Args
	EntryStep agent.EntryKind = "step" // a task was taken up, or ended; in Args
	EntryTask agent.EntryKind = "task" // an entry of the session of the task Name, in Args
)

// ErrNoPlan is yielded by Resume for a session that holds no plan.
var ErrNoPlan = errors.New("the session holds no plan")

// progress is what is recorded of a task and of the plan with it.
type progress struct {
	Task      Task     `json:"task"`
	Iteration int      `json:"iteration"`
	Turns     int      `json:"turns"`
	Learned   []string `json:"learned,omitempty"`
}

// record writes an entry of the plan's session.
func (r *run) record(ctx context.Context, e agent.Entry) error {
	rec := r.opts.Agent.Recorder
	if rec == nil {
		return nil
	}
	r.recording.Lock()
	defer r.recording.Unlock()
	r.seq++
	e.Session, e.Seq, e.Run, e.Time = r.session.ID, r.seq, r.id, time.Now()
	if err := rec.Append(ctx, e); err != nil {
		return &ended{agent.StopInternal, fmt.Errorf("the session could not be recorded: %w", err)}
	}
	return nil
}

func (r *run) begin(ctx context.Context, goal string, l *loaded) error {
	o := r.opts.Agent
	err := r.record(ctx, agent.Entry{Kind: agent.EntryRun, Setup: &agent.Setup{
		Labels: o.Labels, Tools: append([]string{}, o.Tools.Names()...), MaxTurns: o.MaxTurns, SelfEval: o.SelfEval, DryRun: o.DryRun,
	}})
	if l != nil {
		r.begun, r.before, r.state.Iteration, r.state.Learnings = l.begun, l.iteration, l.iteration, l.learned
		return err
	}
	if err != nil {
		return err
	}
	return r.record(ctx, agent.Entry{Kind: agent.EntryPrompt, Text: goal})
}

func (r *run) recordPlan(ctx context.Context, p Planned) error {
	return r.recordJSON(ctx, EntryPlan, p)
}

func (r *run) recordTask(ctx context.Context, t Task, learned []string) error {
	return r.recordJSON(ctx, EntryStep, progress{t, r.state.Iteration, r.budget.spent(), learned})
}

func (r *run) recordJSON(ctx context.Context, kind agent.EntryKind, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return &ended{agent.StopInternal, err}
	}
	return r.record(ctx, agent.Entry{Kind: kind, Args: b})
}

// taskRecorder puts the session of a task into that of the plan.
type taskRecorder struct {
	run  *run
	task string
}

// Append implements agent.Recorder.
func (t *taskRecorder) Append(ctx context.Context, e agent.Entry) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return t.run.record(ctx, agent.Entry{Kind: EntryTask, Name: t.task, Turn: e.Turn, Call: e.Call, Effect: e.Effect, Args: b})
}

// loaded is a plan as its session has it.
type loaded struct {
	goal      string
	tasks     []Task
	iteration int
	learned   []string
	begun     map[string]*agent.Session // of tasks that were under way
}

// Load returns the goal and the tasks of the last plan that a session holds, as
// they stood at its end; ErrNoPlan if there is none.
func Load(s *agent.Session) (goal string, tasks []Task, err error) {
	l, err := read(s)
	if err != nil {
		return "", nil, err
	}
	return l.goal, l.tasks, nil
}

// load reads a plan that is to go on: what was under way, or blocked by what
// went wrong, is pending.
func load(s *agent.Session) (*loaded, error) {
	l, err := read(s)
	if err != nil {
		return nil, err
	}
	left := false
	for i := range l.tasks {
		if t := &l.tasks[i]; t.Status != Completed {
			t.Status, t.Error, left = Pending, "", true
		}
	}
	if !left {
		return nil, agent.ErrComplete
	}
	return l, nil
}

// read takes a plan from the entries of its session.
func read(s *agent.Session) (*loaded, error) {
	var l *loaded
	sessions := map[string][]agent.Entry{} // of the tasks that are under way, the last of each
	for _, e := range s.Entries() {
		var err error
		switch {
		case e.Kind == EntryPlan:
			var p Planned
			err = json.Unmarshal(e.Args, &p)
			if l == nil || p.Why != Adjusted && p.Why != Resumed {
				l = &loaded{}
			}
			l.goal, l.tasks = p.Goal, p.Tasks
		case e.Kind == EntryStep && l != nil:
			var p progress
			err = json.Unmarshal(e.Args, &p)
			l.iteration, l.learned = p.Iteration, appendLast(l.learned, p.Learned...)
			l.put(p.Task)
			if p.Task.Status == Completed || p.Task.Status == Failed || p.Task.Status == Blocked {
				delete(sessions, p.Task.ID)
			}
		case e.Kind == EntryTask && l != nil:
			var of agent.Entry
			err = json.Unmarshal(e.Args, &of)
			if was := sessions[e.Name]; of.Seq == 1 || len(was) == 0 || was[0].Session != of.Session {
				sessions[e.Name] = nil
			}
			sessions[e.Name] = append(sessions[e.Name], of)
		}
		if err != nil {
			return nil, fmt.Errorf("entry %d of the session %s cannot be read: %w", e.Seq, s.ID, err)
		}
	}
	if l == nil {
		return nil, ErrNoPlan
	}
	l.begun = map[string]*agent.Session{}
	for task, entries := range sessions {
		session, err := agent.LoadSession(entries[0].Session, entries)
		if err != nil {
			continue // its beginning is missing: the task begins anew
		}
		l.begun[task] = session
	}
	return l, nil
}

func (l *loaded) put(t Task) {
	for i := range l.tasks {
		if l.tasks[i].ID == t.ID {
			l.tasks[i] = t
		}
	}
}
