package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"mylm/agent"
	"mylm/agent/durable/postgres"
	"mylm/agent/plan"
)

// record reads a session as its run makes it, and with that of a plan those of the runs for
// it. They are in its entries as they are where a plan is made in one process.
type record struct {
	*postgres.Sessions
	id   string
	run  string           // the last one
	seen int              // entries of the session
	open map[string]*part // of tasks in progress
	read map[string]*part // of questions about the plan
}

// part is the session of a run for a plan, see plan.Part.
type part struct {
	id, task, role string
	seen           int
}

// next returns the entries that have come since; with an error, those before it.
func (r *record) next(ctx context.Context) ([]agent.Entry, error) {
	entries, err := r.After(ctx, r.id, r.seen)
	if err != nil {
		return nil, err
	}
	return r.join(ctx, entries)
}

// join puts the entries of parts where they belong among those of the session that are next:
// those of a task before its end.
func (r *record) join(ctx context.Context, entries []agent.Entry) (all []agent.Entry, err error) {
	for _, e := range entries {
		if r.run != e.Run {
			r.run, r.open, r.read = e.Run, map[string]*part{}, map[string]*part{}
		}
		before, err := r.before(ctx, e)
		if all = append(all, before...); err != nil {
			return all, err
		}
		all, r.seen = append(all, e), e.Seq
	}
	for _, task := range slices.Sorted(maps.Keys(r.open)) {
		more, err := r.rest(ctx, r.open[task])
		if all = append(all, more...); err != nil {
			return all, err
		}
	}
	return all, nil
}

// before are the entries of parts that come before one of the session.
func (r *record) before(ctx context.Context, e agent.Entry) (all []agent.Entry, err error) {
	c, _ := e.Payload.(agent.CustomEntry)
	switch c.Type {
	case plan.EntryStep:
		var s plan.Progress
		if err := json.Unmarshal(c.Args, &s); err != nil {
			return nil, fmt.Errorf("entry %d of the session %s cannot be read: %w", e.Seq, r.id, err)
		}
		id, begins := s.Task.Session(), s.Task.Status == plan.InProgress
		if was := r.open[s.Task.ID]; was != nil && !(begins && was.id == id) {
			if all, err = r.rest(ctx, was); err != nil {
				return all, err
			}
			delete(r.open, s.Task.ID)
		}
		if begins && id != "" && r.open[s.Task.ID] == nil {
			r.open[s.Task.ID] = &part{id: id, task: s.Task.ID}
		}
	case plan.EntryEvent:
		if was := r.open[c.Name]; was != nil { // it is about what that came to
			return r.rest(ctx, was)
		}
	case plan.EntryRead:
		if was := r.open[c.Name]; was != nil { // so is this
			if all, err = r.rest(ctx, was); err != nil {
				return all, err
			}
		}
		if r.read[c.Call] == nil {
			r.read[c.Call] = &part{id: c.Call, task: c.Name, role: string(c.Purpose)}
		}
		said, err := r.rest(ctx, r.read[c.Call])
		return append(all, said...), err
	}
	return all, nil
}

// rest are the entries of a part that have come since.
func (r *record) rest(ctx context.Context, p *part) (all []agent.Entry, err error) {
	entries, err := r.After(ctx, p.id, p.seen)
	for _, e := range entries {
		of, err := plan.PartEntry(p.task, p.role, e)
		if err != nil {
			return all, err
		}
		all = append(all, agent.Entry{Session: r.id, Time: e.Time, Run: r.run, Turn: e.Turn, Payload: of})
		p.seen = e.Seq
	}
	return all, err
}

// tasksOf are those of the last plan in a session, none if there is no plan.
func tasksOf(ctx context.Context, sessions *postgres.Sessions, id string) ([]plan.Task, error) {
	s, err := sessions.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	saved, err := plan.Load(s)
	if errors.Is(err, plan.ErrNoPlan) {
		return nil, nil
	}
	return saved.Tasks, err
}
