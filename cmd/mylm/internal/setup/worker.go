package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"mylm/agent"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/providers"
	"mylm/tools"
	"mylm/tools/policy"
)

// Worker is what runs are done with whose loop, session and person are elsewhere: a model
// and tools.
type Worker struct {
	Model   *Model
	Options agent.Options // with the model, and without an approval and a recorder
}

// NewWorker opens the model that the settings name, and makes sure that it is there. It
// works in the workspace, has no memory, asks no MCP server, and keeps no earlier versions
// of files. Deny rules are enforced where the calls are made; what needs a decision is
// decided elsewhere.
func NewWorker(ctx context.Context, c *config.Config, n Notify) (*Worker, error) {
	if err := c.ApplyProject(ctx); err != nil {
		return nil, err
	}
	model, err := OpenModel(ctx, c, n, nil)
	if err != nil {
		return nil, err
	}
	if _, err := model.info(ctx, n); err != nil {
		f := failure.Of(err)
		model.Advise(f)
		return nil, f
	}
	set, err := Prompts()
	if err != nil {
		return nil, err
	}
	if err := set.Check(); err != nil {
		return nil, failure.Config(err)
	}
	s := &Setup{Request: Request{Config: c, Notify: n}}
	registry, err := s.workerTools()
	if err != nil {
		return nil, err
	}
	tree, err := treeSection(ctx, set, c)
	if err != nil {
		return nil, err
	}
	project, err := s.projectSection(set)
	if err != nil {
		return nil, err
	}
	o := AgentOptions(c.Settings)
	o.Tools, o.Prompts, o.Sections, o.Environment = registry, set, slices.Concat(project, tree), environment(c.Workspace)
	o.Labels = map[string]string{"project": c.Project, "dir": c.Workspace, "model": model.Name}
	Suit(ctx, c.Settings, model.Model, &o)
	return &Worker{model, o}, ctx.Err()
}

// workerTools are the tools of a worker, held to the deny rules.
func (s *Setup) workerTools() (*tools.Registry, error) {
	c, box := s.Config, SandboxPolicy(s.Config)
	names, named := config.Tools.Lookup(c.Settings)
	if !named {
		names = nil
	}
	registry, err := toolbox{c: c, box: box, memory: &Memory{config: c}, notify: s.Notify, session: agent.NewSession()}.registry(names)
	if err != nil && named {
		return nil, toolsError(c, names, err)
	}
	if err != nil {
		return nil, err
	}
	if err := checkDeny(c, nil); err != nil {
		return nil, err
	}
	guard, err := NewGuard(c, box, "", nil)
	if err != nil {
		return nil, err
	}
	for _, t := range registry.Tools() {
		run := t.Run
		t.Run = func(ctx context.Context, args json.RawMessage) (tools.Result, error) {
			effect := tools.Runs
			if t.Effect != nil {
				effect = t.Effect(args)
			}
			if d := guard.Decision(guard.Call(t.Name, args, effect)); d.Rule != "" && d.Verdict == policy.Deny {
				return tools.Result{}, fmt.Errorf("not allowed: %s. Do not try it another way; tell the user", d.Why)
			}
			return run(ctx, args)
		}
	}
	return registry, nil
}

// Check asks the backend whether the model is there, which takes no longer than it has to.
func (w *Worker) Check(ctx context.Context) error {
	informer, ok := w.Model.Model.(providers.Informer)
	if !ok {
		return nil
	}
	_, err := informer.Info(ctx)
	return err
}
