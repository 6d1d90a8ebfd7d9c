package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"mylm/agent"
)

// RunName is the name of a run that carries out a plan. Its Args are the options
// that are kept, and the tasks that were given.
const RunName = "plan"

// The kinds of entry that a plan adds to those of the agent.
const (
	EntryPlan    agent.EntryKind = "plan"    // the current plan: a Planned, in Args
	EntryStep    agent.EntryKind = "step"    // a task was taken up, or ended; in Args
	EntryTask    agent.EntryKind = "task"    // an entry of the session of the task Name, in Args
	EntryConsult agent.EntryKind = "consult" // an entry of the session in which the model was asked about the plan, or about the task Name, in Args; Purpose is the template that it was asked with
	EntryRead    agent.EntryKind = "read"    // what was made of the last reply in the session Call, in Args; or why it could not be read, in Error
)

// ErrNoPlan is yielded by Resume for a session that holds no plan, or ends before
// its goal was recorded.
var ErrNoPlan = errors.New("the session holds no plan")

// progress is what is recorded of a task and of the plan with it.
type progress struct {
	Task      Task     `json:"task"`
	Iteration int      `json:"iteration"`
	Turns     int      `json:"turns"`
	Learned   []string `json:"learned,omitempty"`
}

// record writes an entry of the plan's session. That it cannot ends the plan.
func (r *run) record(ctx context.Context, p agent.EntryPayload) error {
	if err := r.write(ctx, 0, p); err != nil {
		return &ended{agent.StopInternal, fmt.Errorf("the session could not be recorded: %w", err)}
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
	return rec.Append(ctx, agent.Entry{Session: r.session.ID, Seq: r.seq, Time: time.Now(), Run: r.id, Turn: turn, Payload: p})
}

// begun is what the run of a plan records of how it was set up.
type begun struct {
	Options Options `json:"options"`
	Tasks   []Task  `json:"tasks,omitempty"`
}

func (r *run) begin(ctx context.Context, goal string, given []Task, l *loaded) error {
	o := r.opts.Agent
	args, err := json.Marshal(begun{r.opts, given})
	if err != nil {
		return &ended{agent.StopInternal, err}
	}
	err = r.record(ctx, agent.RunEntry{Name: RunName, Args: args, Setup: &agent.Setup{
		Labels: o.Labels, Tools: append([]string{}, o.Tools.Names()...), MaxTurns: o.MaxTurns, SelfEval: o.SelfEval, DryRun: o.DryRun,
	}})
	if l != nil {
		r.begun, r.before, r.state.Iteration, r.state.Learnings = l.begun, l.iteration, l.iteration, l.learned
		return err
	}
	if err != nil {
		return err
	}
	return r.record(ctx, agent.PromptEntry{Text: goal})
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
	return r.record(ctx, agent.CustomEntry{Type: kind, Args: b})
}

// recordRead records what was made of the last reply of a question's session.
func (r *run) recordRead(ctx context.Context, q question, s *agent.Session, value any, unread error) error {
	e := agent.CustomEntry{Type: EntryRead, Name: q.task, Purpose: agent.Purpose(q.role), Call: s.ID, Error: message(unread)}
	if unread == nil {
		b, err := json.Marshal(value)
		if err != nil {
			return &ended{agent.StopInternal, err}
		}
		e.Args = b
	}
	return r.record(ctx, e)
}

// partRecorder puts a session of its own into that of the plan.
type partRecorder struct {
	run        *run
	kind       agent.EntryKind
	task, role string
}

// Append implements agent.Recorder.
func (p *partRecorder) Append(ctx context.Context, e agent.Entry) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	of := agent.CustomEntry{Type: p.kind, Name: p.task, Purpose: agent.Purpose(p.role), Call: e.CallID(), Args: b}
	if c, ok := e.Payload.(agent.CallEntry); ok {
		of.Effect = c.Effect
	}
	return p.run.write(ctx, e.Turn, of)
}
