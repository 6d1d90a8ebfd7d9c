package prompts

// PlanData is what the templates of plans see. Each uses what it needs.
type PlanData struct {
	Goal    string
	Tools   []PlanTool // that tasks can use
	Steps   []string   // the plan follows, if it can
	Tasks   []PlanStep // all of them
	Ready   []PlanStep // those that can be taken up
	Done    []PlanStep // those completed whose results the task may need
	Task    *PlanStep  // the one that it is about
	Learned []string   // on the way
	Failure string     // how the last try ended, for another one; or why a reply could not be read
	Advice  string     // how to go about it this time: again, simplify, other_tool or ask
	Told    string     // what the user said to it
	Without []string   // tools that are not there this time
}

// PlanTool is a tool in a line.
type PlanTool struct{ Name, Description string }

// PlanStep is a task of a plan, in a line.
type PlanStep struct {
	ID, Description, Status, Result string
	Needs                           []string
}

// exampleStep and examplePlan have all that the templates look at.
var (
	exampleStep = PlanStep{ID: "x", Description: "x", Status: "completed", Result: "x", Needs: []string{"x"}}
	examplePlan = PlanData{
		Goal: "x", Tools: []PlanTool{{Name: "x", Description: "x"}}, Steps: []string{"x"}, Tasks: []PlanStep{exampleStep},
		Ready: []PlanStep{exampleStep}, Done: []PlanStep{exampleStep}, Learned: []string{"x"},
		Task: &exampleStep, Failure: "x", Advice: "again", Told: "x", Without: []string{"x"},
	}
)

// ForPlan renders one of the templates that see PlanData.
func (s *Set) ForPlan(name string, d PlanData) (string, error) { return s.render(name, d) }
