package prompts

// About returns what a template is for, in a few words; "" if there is none of
// that name.
func About(name string) string {
	switch name {
	case SystemPrompt:
		return "the system prompt: who the model is, the tools, and how to call them"
	case Correction:
		return "why a call could not be read, and its right form"
	case Refusal:
		return "why a call was refused: an unknown tool, or unsuitable arguments"
	case Continue:
		return "goes on with a reply that was cut"
	case OnlyFirst:
		return "only the first of several calls was run"
	case Memory:
		return "part of the system prompt: what earlier runs left"
	case Compacted:
		return "stands for older steps that are left out"
	case Summary:
		return "asks for a summary of older steps"
	case LastWord:
		return "asks for an answer when no turns are left"
	case Judge:
		return "asks whether an answer is right"
	case Retry:
		return "asks again after an answer that did not pass"
	case Resume:
		return "goes on with a session that was interrupted"
	case Unknown:
		return "the outcome of a call is unknown, as it was interrupted"
	case Tree:
		return "part of the system prompt: the files of the workspace"
	case Project:
		return "part of the system prompt: the project's AGENTS.md"
	case Answer:
		return "part of the system prompt: the JSON schema of the answer"
	case Choice:
		return "part of the system prompt: the next reply must be a call, or must be none"
	case Plan:
		return "asks for a plan"
	case Reason:
		return "asks which task is next"
	case Observe:
		return "asks what a task's result means for the plan"
	case Reflect:
		return "asks whether the plan still leads to its goal"
	case PlanGoal:
		return "the goal as the planner sees it"
	case PlanState:
		return "the state of a plan as its phases see it"
	case PlanTask:
		return "one task as the run that does it sees it"
	case Unreadable:
		return "a reply about the plan could not be read"
	}
	return ""
}
