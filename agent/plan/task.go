package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"mylm/tools"
)

// Status is the state of a task.
type Status string

// The statuses. A task begins as pending; completed, failed and blocked are
// ends, and a blocked one may be taken up again.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Failed     Status = "failed"  // it was tried, and nothing was done to recover
	Blocked    Status = "blocked" // it was given up or dropped, or waits for one that did not complete
)

// What a task remembers in its metadata.
const (
	taintedKey   = "tainted"   // it has read what strangers wrote
	deniedKey    = "denied"    // a person, or a rule, said no to what it wanted to do
	droppedKey   = "dropped"   // the model dropped it
	unblockedKey = "unblocked" // it was unblocked, which it is once
)

// has reports whether a task remembers something.
func (t *Task) has(key string) bool { return t.Metadata[key] != "" }

// Task is one step of a plan.
type Task struct {
	ID           string            `json:"id"`
	Description  string            `json:"description"`
	Status       Status            `json:"status"`
	Dependencies []string          `json:"dependencies"`   // ids of tasks that must be completed before
	Tools        []string          `json:"tools,omitzero"` // the only ones it may use; nil: all there are, empty: none
	Result       string            `json:"result,omitempty"`
	Error        string            `json:"error,omitempty"` // why it is failed or blocked
	Metadata     map[string]string `json:"metadata,omitempty"`
	Given        bool              `json:"given,omitempty"` // a person wrote it: the model can neither change nor drop it
}

// clone shares nothing with t.
func (t Task) clone() Task {
	t.Dependencies = append([]string{}, t.Dependencies...)
	t.Tools = slices.Clone(t.Tools)
	t.Metadata = maps.Clone(t.Metadata)
	return t
}

// note sets a value of the metadata.
func (t *Task) note(key, value string) {
	if t.Metadata == nil {
		t.Metadata = map[string]string{}
	}
	t.Metadata[key] = value
}

// CheckTools returns an error if a task that a person wrote, and that is to come,
// names a tool that is not in the registry.
func CheckTools(tasks []Task, all *tools.Registry) error {
	for _, t := range tasks {
		if !t.Given || t.Status != Pending {
			continue
		}
		if _, err := all.Only(t.Tools...); err != nil {
			return fmt.Errorf("task %s: %w", cmp.Or(t.ID, oneLine(t.Description)), err)
		}
	}
	return nil
}

// Flaw is something in a list of tasks that was repaired.
type Flaw struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// The codes of flaws. They are codes of an agent.Notice as well.
const (
	UnknownDependency = "unknown_dependency" // it was dropped
	Cycle             = "dependency_cycle"   // one dependency in it was dropped
	DuplicateID       = "duplicate_task"     // the later task has another id
	EmptyTask         = "empty_task"         // it says nothing, and was dropped
	TooManyTasks      = "too_many_tasks"     // the rest was dropped
	NotAdjusted       = "not_adjusted"       // a change of the plan that cannot be made
)
