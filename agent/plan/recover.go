package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"mylm/agent"
	"mylm/prompts"
)

// steps are what is done about a task that failed, one after the other. The
// last one takes itself.
var steps = []Step{StepAgain, StepSimplify, StepOtherTool, StepAsk, StepSkip}

// recover decides what to do about a task that has just failed, puts it into
// the job, and reports it. A step that cannot be taken here is passed over:
// there may be no other tool, and no person to ask.
func (r *run) recover(ctx context.Context, t *Task, j *job, failed []string) (step Step, without []string, err error) {
	at := 0
	for i, s := range steps {
		if string(s) == j.data.Advice {
			at = i + 1
		}
	}
	j.data.Failure, j.data.Told, j.data.Without = t.Error, "", nil
	for _, step = range steps[at:] {
		switch step {
		case StepOtherTool:
			if without = r.otherTools(*t, failed); len(without) == 0 {
				continue
			}
			j.data.Without = without
		case StepAsk:
			if r.opts.AskUser == nil {
				continue
			}
		}
		r.emit(t.ID, Recovery{ID: t.ID, Step: step, Reason: t.Error})
		if step == StepAsk {
			if j.data.Told, err = r.askUser(ctx, *t); err != nil {
				return step, nil, err
			}
			if j.data.Told == "" {
				continue
			}
		}
		break
	}
	j.data.Advice = string(step)
	return step, without, nil
}

// otherTools are the failed tools, if there are others for the task.
func (r *run) otherTools(t Task, failed []string) []string {
	registry, err := r.toolsOf(t, failed)
	if err != nil || len(failed) == 0 || len(registry.Names()) == 0 {
		return nil
	}
	return failed
}

func (r *run) askUser(ctx context.Context, t Task) (string, error) {
	r.asking.Lock()
	defer r.asking.Unlock()
	if r.stopped.Load() { // at the question about another task
		return "", &planEnd{agent.StopDenied, nil}
	}
	answer, err := r.opts.AskUser(ctx, fmt.Sprintf("A task of the plan failed several times.\n\n%s\n\nThe last time: %s\n\nWhat should be done about it? Without an answer it is skipped.", t.Description, t.Error))
	switch {
	case ctx.Err() != nil:
		return "", &planEnd{reasonOf(ctx), context.Cause(ctx)}
	case errors.Is(err, ErrStop):
		r.stopped.Store(true)
		return "", &planEnd{agent.StopDenied, nil}
	}
	return answer, err
}

// What is shown of results: of those that a task waits for, and of others.
const (
	maxResult = 4000
	maxNeeded = 2000
	maxOther  = 200
	maxOthers = 12
)

// taskData is what a task gets to see of the plan.
func (r *run) taskData(t Task) prompts.PlanData {
	all := r.graph.Tasks()
	at := planStep(t)
	data := prompts.PlanData{Goal: r.state.Goal, Tasks: planSteps(all), Task: &at, Learned: r.state.Learnings[max(0, len(r.state.Learnings)-maxOthers):]}
	needed := map[string]bool{}
	for _, d := range t.Dependencies {
		needed[d] = true
	}
	others := 0
	for i := len(all) - 1; i >= 0; i-- {
		o := all[i]
		if o.Status != Completed {
			continue
		}
		limit := maxNeeded
		if !needed[o.ID] {
			if others++; others > maxOthers {
				continue
			}
			limit = maxOther
		}
		s := planStep(o)
		s.Result = truncate(o.Result, limit)
		data.Done = append([]prompts.PlanStep{s}, data.Done...)
	}
	return data
}

func planStep(t Task) prompts.PlanStep {
	return prompts.PlanStep{ID: t.ID, Description: t.Description, Status: string(t.Status), Needs: t.Dependencies}
}

// planSteps are tasks, the last ones that ended with the beginning of their
// results.
func planSteps(tasks []Task) []prompts.PlanStep {
	all := make([]prompts.PlanStep, len(tasks))
	results := 0
	for i, t := range slices.Backward(tasks) {
		all[i] = planStep(t)
		all[i].Description = truncate(t.Description, maxOther)
		came := cmp.Or(t.Error, t.Result)
		if came == "" {
			continue
		}
		if results++; results <= maxOthers {
			all[i].Result = truncate(came, maxOther)
		}
	}
	return all
}
