package temporal

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"go.temporal.io/sdk/workflow"

	"mylm/agent"
	"mylm/prompts"
	"mylm/providers"
	"mylm/providers/calling"
	"mylm/tools"
)

// settings are what the loop of a run depends on. A run keeps those that it began with:
// what a worker has, such as the notes of a project in the system prompt, may be another
// when the history runs again.
type settings struct {
	ToolsApart bool  `json:"elsewhere,omitempty"` // tools and workspace are those of another worker, or a copy
	Copy       *home `json:"copy,omitempty"`      // the workspace of the run is a copy
	Local      bool  `json:"local,omitempty"`     // what is short is done within workflow tasks: not in earlier versions
	Closing    bool  `json:"closing,omitempty"`   // the end is recorded by the activity that tells Runs.Ended of it: the same

	Model      string            `json:"model,omitempty"` // its name
	Labels     map[string]string `json:"labels,omitempty"`
	Transforms bool              `json:"transforms,omitempty"` // there is a TransformContext
	Templates  map[string]string `json:"templates,omitempty"`  // of prompts, that were replaced
	Tools      []definition      `json:"tools,omitempty"`

	Form        calling.Form         `json:"form,omitempty"`
	Compact     bool                 `json:"compact,omitempty"`
	System      string               `json:"system,omitempty"`
	Identity    string               `json:"identity,omitempty"`
	Sections    []prompts.Section    `json:"sections,omitempty"`
	Environment *prompts.Environment `json:"environment,omitempty"`

	MaxTurns             int           `json:"max_turns,omitempty"`
	MaxRepeatedCalls     int           `json:"max_repeated_calls,omitempty"`
	MaxConsecutiveErrors int           `json:"max_consecutive_errors,omitempty"`
	MaxMalformed         int           `json:"max_malformed,omitempty"`
	MaxRepetition        agent.Limit   `json:"max_repetition,omitempty"`
	MaxToolResultTokens  agent.Limit   `json:"max_tool_result_tokens,omitempty"`
	SummarizeAfterTurns  agent.Limit   `json:"summarize_after_turns,omitempty"`
	KeepRecentTurns      int           `json:"keep_recent_turns,omitempty"`
	MaxContextTokens     agent.Limit   `json:"max_context_tokens,omitempty"`
	MaxTokens            int           `json:"max_tokens,omitempty"`
	ToolTimeout          time.Duration `json:"tool_timeout,omitempty"`

	Tainted      bool            `json:"tainted,omitempty"`
	NoLastWord   bool            `json:"no_last_word,omitempty"`
	AnswerSchema json.RawMessage `json:"answer_schema,omitempty"`
	SelfEval     agent.SelfEval  `json:"self_eval,omitempty"`
}

// definition is a tool as the loop sees it.
type definition struct {
	Name        string              `json:"name"`
	Description string              `json:"description,omitempty"`
	Schema      *jsonschema.Schema  `json:"schema"`
	Orders      map[string][]string `json:"orders,omitempty"` // of the properties, which JSON leaves out
	External    bool                `json:"external,omitempty"`
	Timeout     time.Duration       `json:"timeout,omitempty"`
	Sample      *tools.Sample       `json:"sample,omitempty"`
}

// newSettings are those of a worker's options.
func newSettings(o agent.Options) (*settings, error) {
	s := &settings{
		Local: true, Closing: true,
		Labels: o.Labels, Transforms: o.Hooks.TransformContext != nil,
		Form: o.Form, Compact: o.Compact, System: o.System, Identity: o.Identity, Sections: o.Sections, Environment: o.Environment,
		MaxTurns: o.MaxTurns, MaxRepeatedCalls: o.MaxRepeatedCalls, MaxConsecutiveErrors: o.MaxConsecutiveErrors, MaxMalformed: o.MaxMalformed,
		MaxRepetition: o.MaxRepetition, MaxToolResultTokens: o.MaxToolResultTokens, SummarizeAfterTurns: o.SummarizeAfterTurns, KeepRecentTurns: o.KeepRecentTurns,
		MaxContextTokens: o.MaxContextTokens, MaxTokens: o.MaxTokens, ToolTimeout: o.ToolTimeout,
		Tainted: o.Tainted, NoLastWord: o.NoLastWord, AnswerSchema: o.AnswerSchema, SelfEval: o.SelfEval,
	}
	if m, ok := o.Model.(interface{ Name() string }); ok {
		s.Model = m.Name()
	}
	for _, t := range o.Tools.Tools() {
		d := definition{Name: t.Name, Description: t.Description, Schema: t.Schema, Orders: map[string][]string{}, External: t.External, Timeout: t.Timeout, Sample: t.Sample}
		walk("", t.Schema, func(path string, s *jsonschema.Schema) {
			if s.PropertyOrder != nil {
				d.Orders[path] = s.PropertyOrder
			}
		})
		s.Tools = append(s.Tools, d)
	}
	if o.Prompts == nil {
		return s, nil
	}
	var err error
	s.Templates, err = o.Prompts.Replaced()
	return s, err
}

// walk visits a schema and those of its properties and items.
func walk(path string, s *jsonschema.Schema, visit func(path string, s *jsonschema.Schema)) {
	if s == nil {
		return
	}
	visit(path, s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		walk(path+"/"+name, s.Properties[name], visit)
	}
	walk(path+"//items", s.Items, visit)
	walk(path+"//additional", s.AdditionalProperties, visit)
}

// options are those of the loop of a run.
func (s *settings) options(e *effects) (o agent.Options, err error) {
	o = agent.Options{
		Model: model(s.Model), Labels: s.Labels,
		Form: s.Form, Compact: s.Compact, System: s.System, Identity: s.Identity, Sections: s.Sections, Environment: s.Environment,
		MaxTurns: s.MaxTurns, MaxRepeatedCalls: s.MaxRepeatedCalls, MaxConsecutiveErrors: s.MaxConsecutiveErrors, MaxMalformed: s.MaxMalformed,
		MaxRepetition: s.MaxRepetition, MaxToolResultTokens: s.MaxToolResultTokens, SummarizeAfterTurns: s.SummarizeAfterTurns, KeepRecentTurns: s.KeepRecentTurns,
		MaxContextTokens: s.MaxContextTokens, MaxTokens: s.MaxTokens, ToolTimeout: s.ToolTimeout,
		Tainted: s.Tainted, NoLastWord: s.NoLastWord, AnswerSchema: s.AnswerSchema, SelfEval: s.SelfEval,
	}
	if s.Transforms {
		o.Hooks.TransformContext = func(_ context.Context, all []providers.Message) ([]providers.Message, error) { return all, nil }
	}
	if len(s.Templates) > 0 {
		o.Prompts = prompts.Default().Replace(s.Templates)
	}
	var all []*tools.Tool
	for _, d := range s.Tools {
		walk("", d.Schema, func(path string, s *jsonschema.Schema) { s.PropertyOrder = d.Orders[path] })
		all = append(all, e.tool(d))
	}
	o.Tools, err = tools.NewRegistry(all...)
	return o, err
}

// model is one of which the loop needs the name: the activities call it.
type model string

// Name is that of the model, "" if it has none.
func (m model) Name() string { return string(m) }

// Generate implements providers.Model.
func (m model) Generate(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	panic("the activities call it")
}

// look is what a tool says about a call.
type look struct {
	NoTools bool `json:"elsewhere,omitempty"` // the worker has no tools: ask one that has

	Effect  tools.Effect `json:"effect"`
	Preview string       `json:"preview,omitempty"`
	Broken  string       `json:"broken,omitempty"` // why it says nothing
}

// tool is one for the loop. What a call may do is looked up by a local activity, since it
// may follow from files: that of a call which writes is another after it has written.
func (e *effects) tool(d definition) *tools.Tool {
	var last look // of the call that is prepared
	return &tools.Tool{
		Name: d.Name, Description: d.Description, Schema: d.Schema, External: d.External, Timeout: d.Timeout, Sample: d.Sample,
		Effect: func(args json.RawMessage) tools.Effect {
			last = e.look(d.Name, args)
			if last.Broken != "" {
				panic(last.Broken) // which Prepare tells the model
			}
			return last.Effect
		},
		Preview: func(json.RawMessage) string { return last.Preview },
		Run:     func(context.Context, json.RawMessage) (tools.Result, error) { panic("the activities run it") },
	}
}

// look asks a tool about a call: this worker's, or else one of a worker that has tools.
func (e *effects) look(name string, args json.RawMessage) (l look) {
	if h := e.home; h != nil {
		err := workflow.ExecuteActivity(h.at(e.ctx, lookActivity, 0), lookActivity.name, name, args, h.Copy).Get(e.ctx, &l)
		if e.checkCopy(err); err != nil {
			return look{Broken: e.checked(err).Error()}
		}
		return l
	}
	err := e.lookLocally(name, args, &l)
	if e.away = err == nil && l.NoTools; e.away {
		l = look{}
		err = e.checked(workflow.ExecuteActivity(lookActivity.on(e.ctx, e.runs.ToolQueue, 0), lookActivity.name, name, args, "").Get(e.ctx, &l))
	}
	if err != nil {
		return look{Broken: err.Error()}
	}
	return l
}

// lookLocally asks this worker.
func (e *effects) lookLocally(name string, args json.RawMessage, l *look) error {
	if e.local {
		return e.do(e.within(prepareActivity, 0), l, func() any { return lookInput{e.entries(), name, args} })
	}
	ctx, cancel := workflow.NewDisconnectedContext(e.ctx)
	defer cancel()
	return workflow.ExecuteLocalActivity(lookActivity.within(ctx, 0), e.runs.look, name, args).Get(ctx, l)
}

type lookInput struct {
	entries
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// prepare is look before a call that may be part of the same workflow task. A task that is
// lost is done again, and by then the call may have been made: the tool would say something
// else of it, so what the record says counts. It appends the reply with the call, and so
// learns from the store, not only from what this worker has read, whether it is the first.
func (r *Runs) prepare(ctx context.Context, in lookInput) (look, error) {
	if len(in.Entries) == 0 {
		r.recent.drop(in.Session)
	}
	s, _, err := r.begin(ctx, in.entries)
	if err != nil {
		return look{}, err
	}
	if all := s.Entries(); len(all) > in.Through {
		if begun, ok := all[in.Through].Payload.(agent.CallEntry); ok && begun.Name == in.Name && begun.Effect != nil {
			return look{Effect: *begun.Effect}, nil
		}
	}
	return r.look(ctx, in.Name, in.Args)
}

// look is lookHere where there may be no tools. Its name is in histories.
func (r *Runs) look(ctx context.Context, name string, args json.RawMessage) (look, error) {
	if r.toolsApart() {
		return look{NoTools: true}, nil
	}
	return r.lookHere(ctx, name, args, "")
}

// lookHere asks a tool about a call, that of a copy if there is one.
func (r *Runs) lookHere(_ context.Context, name string, args json.RawMessage, copy string) (look, error) {
	all, err := r.toolsIn(copy)
	if err != nil {
		return look{}, err
	}
	inv, err := all.Prepare(name, args)
	if err != nil {
		return look{Broken: err.Error()}, nil
	}
	return look{Effect: inv.Effect, Preview: inv.Preview}, nil
}

// beginning are the settings of runs that begin here.
func (r *Runs) beginning() json.RawMessage {
	if !r.toolsApart() && r.Copies == nil {
		return r.settings
	}
	var s settings
	if json.Unmarshal(r.settings, &s) != nil {
		return r.settings // which says why when the run begins
	}
	s.ToolsApart = true
	text, _ := json.Marshal(s) // as in New
	return text
}

// join takes what says where a run works from a worker that has tools there.
func (s *settings) join(there settings) {
	s.ToolsApart = false
	s.Tools, s.Sections, s.Environment, s.Copy = there.Tools, there.Sections, there.Environment, there.Copy
	s.Labels = labelled(s.Labels, there.Labels)
}

// labelled are labels with more of them.
func labelled(labels, more map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, labels)
	maps.Copy(all, more)
	return all
}
