package plan

import "mylm/agent"

// Planned reports the tasks: when the plan is there, and whenever it changes.
type Planned struct {
	Goal  string `json:"goal"`
	Tasks []Task `json:"tasks"`
	Why   string `json:"why"` // one of the reasons below
}

// Why a plan is reported.
const (
	Made     = "made"     // by the model
	Given    = "given"    // by the caller
	Fallback = "fallback" // one task holds the goal, since the model made no plan
	Direct   = "direct"   // one task holds the goal, as was asked for
	Adjusted = "adjusted" // the model changed it
	Resumed  = "resumed"  // it is continued from a session
)

// Reasoned reports which of the ready tasks the model chose to do first.
type Reasoned struct{ Choice }

// TaskStart reports that a task starts. It begins an iteration.
type TaskStart struct {
	ID            string `json:"id"`
	Description   string `json:"description"`
	Iteration     int    `json:"iteration"`
	MaxIterations int    `json:"max_iterations"`
}

// Recovery reports that a task failed and which step follows.
type Recovery struct {
	ID     string `json:"id"`
	Step   Step   `json:"step"`
	Reason string `json:"reason"`
}

// Step is what is done about a task that failed.
type Step string

// The steps, in the order in which they are taken.
const (
	StepAgain     Step = "again"      // the same again, with the error in view
	StepSimplify  Step = "simplify"   // a simpler form of it
	StepOtherTool Step = "other_tool" // without the tools that failed
	StepAsk       Step = "ask"        // with what a person says to it
	StepSkip      Step = "skip"       // it is given up
)

// Observed reports the model's assessment of a task's result.
type Observed struct {
	ID string `json:"id"`
	Observation
}

// TaskEnd reports how a task ended. Pending is one that was interrupted.
type TaskEnd struct {
	ID     string `json:"id"`
	Status Status `json:"status"`
	Result string `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Reflected reports the model's assessment of the plan as a whole.
type Reflected struct {
	Progress   string     `json:"progress"`
	Learned    []string   `json:"learned,omitempty"`
	Adjustment Adjustment `json:"adjustments,omitzero"`
}

// End reports the state of a plan that is over. The last event, an
// agent.FinalResponse without a task, follows it.
type End struct {
	State State `json:"state"`
}

// The names of the events.
func (Planned) Type() string   { return "plan" }
func (Reasoned) Type() string  { return "plan_reason" }
func (TaskStart) Type() string { return "task_start" }
func (Recovery) Type() string  { return "task_recovery" }
func (Observed) Type() string  { return "task_observed" }
func (TaskEnd) Type() string   { return "task_end" }
func (Reflected) Type() string { return "plan_reflect" }
func (End) Type() string       { return "plan_end" }

// Codes of notices beside those of flaws.
const (
	NoticeUnreadable = "unreadable" // a reply that should have been JSON was not
	NoticeChoice     = "bad_choice" // the model chose a task that is not ready
	NoticeBlocked    = "all_blocked"
	NoticeNoTool     = "unknown_tool" // a task names a tool that is not there
)

var _ = []agent.Payload{Planned{}, Reasoned{}, TaskStart{}, Recovery{}, Observed{}, TaskEnd{}, Reflected{}, End{}}
