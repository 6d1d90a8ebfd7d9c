package setup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"mylm/agent"
	"mylm/agent/remember"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory"
	"mylm/providers"
	"mylm/tools"
	"mylm/tools/policy"
)

// Worker is what runs are done with whose loop, session and person are elsewhere: a model,
// tools and a memory.
type Worker struct {
	Model   *Model
	Options agent.Options // with the model, and without an approval and a recorder

	// Tools are those of the memory for runs in a session; nil: runs do not search it.
	Tools func(*agent.Session) ([]*tools.Tool, error)
	// Ended keeps what a run leaves; nil: nothing is kept.
	Ended func(context.Context, *agent.Session, agent.Result) error

	request Request
}

// ToolsIn are the tools as they work in a copy of the workspace.
func (w *Worker) ToolsIn(dir string) (*tools.Registry, error) {
	r, c := w.request, *w.request.Config
	c.Workspace, c.Project, r.Config = dir, dir, &c
	in := &Worker{Tools: w.Tools}
	return in.restrict(&Setup{Request: r})
}

// unrepeated says each thing once: tools are made for each copy.
type unrepeated struct {
	Notify
	said sync.Map
}

func (u *unrepeated) Say(text string) {
	if _, again := u.said.LoadOrStore(text, true); !again {
		u.Notify.Say(text)
	}
}

// NewWorker opens the model that the settings name, and makes sure that it is there. It
// works in the workspace, asks no MCP server, and keeps no earlier versions of files. Deny
// rules are enforced where the calls are made; what needs a decision is decided elsewhere.
// One that only calls tools opens no model.
func NewWorker(ctx context.Context, c *config.Config, n Notify, store *memory.Store, onlyTools bool) (*Worker, error) {
	if err := c.ApplyProject(ctx); err != nil {
		return nil, err
	}
	model := &Model{Model: noModel{}}
	if !onlyTools {
		var err error
		if model, err = OpenModel(ctx, c, n, nil); err != nil {
			return nil, err
		}
		if _, err := model.info(ctx, n); err != nil {
			f := failure.Of(err)
			model.Advise(f)
			return nil, f
		}
	}
	s := &Setup{Request: Request{Config: c, Notify: &unrepeated{Notify: n}}}
	w := &Worker{Model: model, request: s.Request}
	kept := NewMemory(c, n)
	remembering := remember.New(store, c.Project)
	remembering.NoSave = kept.NoSave
	if kept.NoSave == "" {
		w.Ended = func(ctx context.Context, s *agent.Session, r agent.Result) error {
			m := *remembering
			m.Project = cmp.Or(projectOf(s), m.Project)
			_, err := m.Keep(ctx, remember.Run{Session: s, Result: r})
			return err
		}
	}
	if kept.read {
		w.Tools = remembering.Tools
		if err := embed(ctx, c, n, store); err != nil {
			return nil, err
		}
	}
	registry, err := w.restrict(s)
	if err != nil {
		return nil, err
	}
	if err := s.compose(ctx, registry, remembering); err != nil {
		return nil, err
	}
	w.Options = s.Options
	w.Options.Labels = map[string]string{"project": c.Project, "dir": c.Workspace}
	if w.Options.Model = model.Model; !onlyTools {
		w.Options.Labels["model"] = model.Name
		Suit(ctx, c.Settings, model.Model, &w.Options)
	}
	return w, ctx.Err()
}

// projectOf is what the last run of a session was about, on the worker that had its tools.
func projectOf(s *agent.Session) (project string) {
	for _, e := range s.Entries() {
		if begins, ok := e.Payload.(agent.RunEntry); ok && begins.Setup != nil {
			project = begins.Setup.Labels["project"]
		}
	}
	return project
}

// noModel is the model of a worker that calls none. Pictures from tools are for a model that
// may see them.
type noModel struct{}

// Generate implements providers.Model.
func (noModel) Generate(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		yield(providers.Chunk{}, errors.New("this worker calls tools only"))
	}
}

// Info implements providers.Informer.
func (noModel) Info(context.Context) (providers.Info, error) {
	return providers.Info{Sees: providers.Able}, nil
}

// embed has the memory find by vectors, too, if there is an embedder.
func embed(ctx context.Context, c *config.Config, n Notify, store *memory.Store) error {
	e, fallback, err := Embedder(ctx, c, store)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err = cmp.Or(err, fallback); err != nil {
		n.Say("mylm: memory: searched by words alone: " + term.OneLine(err.Error(), 500))
		return nil
	}
	store.Use(e, func(err error) { n.Say("mylm: memory: " + term.OneLine(err.Error(), 500)) })
	return nil
}

// restrict makes the tools of a worker, also those of the memory, and holds them to the
// deny rules.
func (w *Worker) restrict(s *Setup) (*tools.Registry, error) {
	c, box := s.Config, SandboxPolicy(s.Config)
	registry, err := toolbox{c: c, box: box, memory: &Memory{config: c}, notify: s.Notify, session: agent.NewSession()}.registry(nil)
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
	all := registry.Tools()
	for _, t := range all {
		guard.hold(t)
	}
	if recall := w.Tools; recall != nil {
		w.Tools = func(session *agent.Session) ([]*tools.Tool, error) {
			all, err := recall(session)
			for _, t := range all {
				guard.hold(t)
			}
			return all, err
		}
		more, err := w.Tools(agent.NewSession())
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	if registry, err = tools.NewRegistry(all...); err != nil {
		return nil, err
	}
	names, named := config.Tools.Lookup(c.Settings)
	switch {
	case !named:
		return registry, nil
	case slices.Equal(names, []string{"none"}):
		return tools.NewRegistry()
	}
	if registry, err = registry.Only(names...); err != nil {
		return nil, toolsError(c, names, err)
	}
	return registry, nil
}

// hold has a tool refuse the calls that a rule forbids.
func (g *Guard) hold(t *tools.Tool) {
	run := t.Run
	t.Run = func(ctx context.Context, args json.RawMessage) (tools.Result, error) {
		effect := tools.Runs
		if t.Effect != nil {
			effect = t.Effect(args)
		}
		if d := g.Decision(g.Call(t.Name, args, effect)); d.Rule != "" && d.Verdict == policy.Deny {
			return tools.Result{}, fmt.Errorf("not allowed: %s. Do not try it another way; tell the user", d.Why)
		}
		return run(ctx, args)
	}
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
