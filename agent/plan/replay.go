package plan

import (
	"bytes"
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

	read []agent.Entry // what was made of its replies
}

// Parts takes the sessions out of that of a plan, in the order in which they
// began. There are none in other sessions.
func Parts(entries []agent.Entry) ([]Part, error) {
	var parts []Part
	index := map[string]int{}
	for _, e := range entries {
		switch e.Kind {
		case EntryTask, EntryConsult:
			var of agent.Entry
			if err := json.Unmarshal(e.Args, &of); err != nil {
				return nil, fmt.Errorf("entry %d cannot be read: %w", e.Seq, err)
			}
			i, known := index[of.Session]
			if !known {
				i = len(parts)
				index[of.Session] = i
				parts = append(parts, Part{Task: e.Name, Role: string(e.Purpose)})
			}
			parts[i].Entries = append(parts[i].Entries, of)
		case EntryRead:
			if i, known := index[e.Call]; known {
				e.Seq = len(parts[i].Entries) // which reply was read
				parts[i].read = append(parts[i].read, e)
			}
		}
	}
	return parts, nil
}

// Reread is a reply of which today's reader makes something else than the
// record says.
type Reread struct {
	Run     string // of the session of the part
	Turn    int
	Was, Is string // JSON, or why there is none
}

// Reread reads the replies about the plan again.
func (p Part) Reread() (unlike []Reread) {
	for _, e := range p.read {
		reply := lastReply(p.Entries[:e.Seq])
		value, err := reparse(p.Role, reply.Raw)
		was, is := string(e.Args), message(err)
		if e.Error != "" {
			was = e.Error
		}
		if err == nil {
			b, _ := json.Marshal(value) // strings
			is = string(b)
		}
		if (e.Error == "") != (err == nil) || err == nil && compact(was) != compact(is) {
			unlike = append(unlike, Reread{reply.Run, reply.Turn, was, is})
		}
	}
	return unlike
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
	return nil, errors.New("nobody reads replies to " + role)
}

// compact is JSON without the spaces that do not count.
func compact(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return text
	}
	return b.String()
}

// lastReply is the last thing that the model wrote.
func lastReply(entries []agent.Entry) (last agent.Entry) {
	for _, e := range entries {
		if e.Kind == agent.EntryReply {
			last = e
		}
	}
	return last
}
