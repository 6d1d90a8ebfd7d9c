package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"mylm/agent"
)

// Saved is a plan as a session has it.
type Saved struct {
	Goal    string
	Tasks   []Task  // as they stood at the end; none if the plan was not made yet, or not agreed to
	Options Options // what is kept of them
}

// Load returns the last plan that a session holds; ErrNoPlan if there is none.
func Load(s *agent.Session) (Saved, error) {
	l, err := read(s)
	if err != nil {
		return Saved{}, err
	}
	return Saved{l.goal, l.tasks, l.options}, nil
}

// Unfinished reports whether Planner.Resume would go on with a session, and
// agent.Agent.Resume would not: something is left of its plan, and no question
// behind it is without an answer.
func Unfinished(s *agent.Session) bool {
	l, err := read(s)
	return err == nil && l.left() && (l.last || !s.Unfinished())
}

// loaded is a plan as it goes on.
type loaded struct {
	goal      string
	asked     bool // the goal is recorded
	options   Options
	given     []Task // what it was to be made of
	tasks     []Task
	iteration int
	learned   []string
	begun     map[string]*agent.Session // of tasks that were under way
	last      bool                      // no other run comes behind it

	parts map[string][]agent.Entry // of the tasks that are under way, the last session of each
}

// left reports whether something is left to do.
func (l *loaded) left() bool {
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
				l.last = ofPlan
			}
		}
		if l == nil {
			continue
		}
		if err := l.take(e); err != nil {
			return nil, fmt.Errorf("entry %d of the session %s cannot be read: %w", e.Seq, s.ID, err)
		}
	}
	if l == nil || !l.asked {
		return nil, ErrNoPlan
	}
	l.begun = map[string]*agent.Session{}
	for task, entries := range l.parts {
		session, err := agent.LoadSession(entries[0].Session, entries)
		if err != nil {
			continue // its beginning is missing: the task starts again
		}
		l.begun[task] = session
	}
	return l, nil
}

// take takes an entry in.
func (l *loaded) take(e agent.Entry) error {
	switch p := e.Payload.(type) {
	case agent.RunEntry:
		if p.Name != RunName {
			return nil
		}
		var b begun
		if err := json.Unmarshal(p.Args, &b); err != nil {
			return err
		}
		l.options = b.Options
		if len(b.Tasks) > 0 {
			l.given = b.Tasks
		}
	case agent.PromptEntry:
		if l.last {
			*l = loaded{goal: p.Text, asked: true, options: l.options, given: l.given, last: true, parts: map[string][]agent.Entry{}}
		}
	case agent.CustomEntry:
		return l.takeOwn(p)
	}
	return nil
}

func (l *loaded) takeOwn(e agent.CustomEntry) error {
	switch e.Type {
	case EntryPlan:
		var p Planned
		if err := json.Unmarshal(e.Args, &p); err != nil {
			return err
		}
		l.tasks = p.Tasks
	case EntryStep:
		var p progress
		if err := json.Unmarshal(e.Args, &p); err != nil {
			return err
		}
		l.step(p)
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

// step takes in that a task was taken up, or ended.
func (l *loaded) step(p progress) {
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

// pending are the tasks of a plan that goes on: what was under way, or blocked
// by what went wrong, is to come.
func (l *loaded) pending() []Task {
	tasks := slices.Clone(l.tasks)
	for i := range tasks {
		if t := &tasks[i]; t.Status != Completed {
			t.Status, t.Error = Pending, ""
			delete(t.Metadata, deniedKey)
			delete(t.Metadata, droppedKey)
		}
	}
	return tasks
}
