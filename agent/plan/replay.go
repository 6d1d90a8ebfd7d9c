package plan

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"mylm/agent"
	"mylm/prompts"
)

// Part is a session within that of a plan: that of a task, or one in which the
// model was asked about a task or about the plan.
type Part struct {
	Task    string // "": the plan
	Role    string // the template that the model was asked with; "": the task was worked on
	Entries []agent.Entry

	read []parsedReply
}

// parsedReply is how the last reply among the first entries was interpreted.
type parsedReply struct {
	agent.CustomEntry
	entries int
}

// Parts takes the sessions out of that of a plan, in the order in which they
// began. There are none in other sessions.
func Parts(entries []agent.Entry) ([]Part, error) {
	var parts []Part
	index := map[string]int{}
	for _, e := range entries {
		p, _ := e.Payload.(agent.CustomEntry)
		switch p.Type {
		case EntryTask, EntryConsult:
			var of agent.Entry
			if err := json.Unmarshal(p.Args, &of); err != nil {
				return nil, fmt.Errorf("entry %d cannot be read: %w", e.Seq, err)
			}
			i, known := index[of.Session]
			if !known {
				i = len(parts)
				index[of.Session] = i
				parts = append(parts, Part{Task: p.Name, Role: string(p.Purpose)})
			}
			parts[i].Entries = append(parts[i].Entries, of)
		case EntryRead:
			if i, known := index[p.Call]; known {
				parts[i].read = append(parts[i].read, parsedReply{p, len(parts[i].Entries)})
			}
		}
	}
	return parts, nil
}

// Replay replays the runs of a session, as agent.Replay does, and those of the
// sessions within it if it is that of a plan. What the plan took from a reply is
// read again, too.
func Replay(ctx context.Context, entries []agent.Entry, o agent.Options) (agent.Replayed, error) {
	all, err := agent.Replay(ctx, entries, o)
	if err != nil {
		return all, err
	}
	parts, err := Parts(entries)
	if err != nil {
		return all, err
	}
	for _, p := range parts {
		done, err := agent.Replay(ctx, p.Entries, p.options(o))
		if err != nil {
			return all, err
		}
		all.Runs, all.Replies, all.Calls = all.Runs+done.Runs, all.Replies+done.Replies, all.Calls+done.Calls
		for _, d := range append(done.Differences, p.reparseReplies()...) {
			d.Task = p.Task
			all.Differences = append(all.Differences, d)
		}
	}
	return all, nil
}

// options are those under which a part is replayed: what was asked about a plan had
// instructions of its own.
func (p Part) options(o agent.Options) agent.Options {
	if p.Role == "" {
		return o
	}
	if o.Prompts == nil {
		o.Prompts = prompts.Default()
	}
	begins, _ := p.Entries[0].Payload.(agent.RunEntry)
	text, err := o.Prompts.Text(p.Role)
	if err == nil && (begins.Setup == nil || len(begins.Setup.Tools) == 0) {
		o.System = text
	} else {
		o.Identity = text
	}
	return o
}

// reparseReplies reads the replies about the plan again.
func (p Part) reparseReplies() (differences []agent.Difference) {
	for _, u := range p.read {
		at, reply := lastReply(p.Entries[:u.entries])
		value, err := reparse(p.Role, reply.Raw)
		was, is := cmp.Or(u.Error, string(u.Args)), message(err)
		if err == nil {
			b, _ := json.Marshal(value) // strings
			is = string(b)
		}
		if (u.Error == "") != (err == nil) || err == nil && compact(was) != compact(is) {
			differences = append(differences, agent.Difference{Run: at.Run, Turn: at.Turn, What: "what the plan takes from the reply", Was: was, Is: is})
		}
	}
	return differences
}

// reparse reads a reply as the role has it.
func reparse(role, reply string) (any, error) {
	switch role {
	case prompts.Plan:
		return ParsePlan(reply)
	case prompts.Reason:
		return ParseChoice(reply)
	case prompts.Observe:
		return ParseObservation(reply)
	case prompts.Reflect:
		return ParseReflection(reply)
	}
	return nil, errors.New("unknown role " + role)
}

// compact is JSON without the spaces that do not count.
func compact(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return text
	}
	return b.String()
}

// lastReply is the last thing that the model wrote, with its entry.
func lastReply(entries []agent.Entry) (at agent.Entry, last agent.ReplyEntry) {
	for _, e := range entries {
		if reply, ok := e.Payload.(agent.ReplyEntry); ok {
			at, last = e, reply
		}
	}
	return at, last
}
