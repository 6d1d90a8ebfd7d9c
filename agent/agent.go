package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"mylm/prompts"
	"mylm/providers"
	"mylm/providers/calling"
	"mylm/tools"
)

// Options of an Agent. Model is required; the zero value of everything else is
// its default.
type Options struct {
	Model   providers.Model
	Tools   *tools.Registry // nil: no tools
	Prompts *prompts.Set    // nil: the built-in ones
	Approve Approve         // nil: AllowReads
	// Recorder keeps the session's entries. Nil: they live with the Session.
	Recorder Recorder
	// Labels are recorded with each run, for later readers of the record.
	Labels map[string]string

	// Form is how calls are shown to the model. A session keeps the form that it began
	// with. "": calling.ToolCode.
	Form calling.Form
	// Compact shows the tools by their signatures, without an example, as is done
	// anyway if MaxContextTokens is small. It is for a window of less than 8,192 tokens.
	Compact bool

	System      string               // the whole system prompt; "": built from the following fields
	Identity    string               // how the system prompt begins; "": prompts.DefaultIdentity
	Sections    []prompts.Section    // further parts of the system prompt
	Environment *prompts.Environment // nil: none. An empty Date is filled in.

	MaxTurns             int // replies of the model in one run; 10
	MaxRepeatedCalls     int // this many identical calls in a row end the run, the last not run; 2, and no less
	MaxConsecutiveErrors int // this many failed, or denied, calls in a row end the run; 3
	MaxMalformed         int // this many unreadable replies in a row end the run; 3

	// MaxRepetition is for how many tokens a reply may do nothing but repeat itself; 1,500.
	// In the arguments of a call, which are often data, it may do so for ten times as many.
	MaxRepetition Limit

	// What the model is shown of a long conversation. All of them work on what is
	// sent, never on the session.
	MaxToolResultTokens Limit // of one tool result; more is cut in its middle; 2,000, or a third of a small window
	SummarizeAfterTurns Limit // exchanges after which older ones become a summary; 0: when the window is full
	KeepRecentTurns     int   // exchanges that a summary keeps as they are; 4, fewer where they are long
	MaxContextTokens    Limit // of prompt and reply together; what the backend reports, or else 32,768

	ToolTimeout       time.Duration // of a call whose tool does not set its own; 30 s
	FirstTokenTimeout time.Duration // until a reply begins, loading included; 10 min
	TokenTimeout      time.Duration // between two pieces of a reply; 60 s
	StepTimeout       time.Duration // of a whole reply; 0: no limit
	MaxTime           time.Duration // of a run; 0: no limit

	Tries     int           // calls of the model for one reply, when the fault may pass; 3; 1 is no retry at all
	RetryWait time.Duration // mean pause before the second try; doubles each time; 500 ms
	Patience  time.Duration // waited in all for a backend that is busy, loading or restarting; 60 s

	Temperature *float64
	Seed        *int
	MaxTokens   int // of one reply; 0: the backend's own limit
	Think       providers.Thinking

	// Hooks are called around tool calls and before the model is asked.
	Hooks Hooks
	// DryRun: calls that write, run something or use the network are not run;
	// the model learns what they would have done.
	DryRun bool
	// Tainted: the prompts rest on text of unknown origin. Approve sees it.
	Tainted bool
	// NoLastWord: a limit ends a run at once, and the model is not asked what it has.
	NoLastWord bool
	// AnswerSchema is what every answer must be: one JSON value that fits it. The
	// model is told, may correct an answer twice, and is constrained where its
	// backend can do that. A run that ends with StopComplete has that value, and
	// nothing else, as its Response. It is JSON Schema; the model is asked for
	// properties in the order of the text. Nil: any text.
	AnswerSchema json.RawMessage
	// SelfEval has every answer checked by the model itself. "": it is not.
	SelfEval SelfEval

	// Effects wraps what a run in the session does in the real world, for
	// replay and for durable execution. Nil: nothing is wrapped.
	Effects func(s *Session, real Effects) Effects
}

// Limit is a bound that can be lifted. Its zero value is the default.
type Limit int

// Off lifts a limit.
const Off Limit = -1

// Agent answers prompts with a model and its tools. It may be used by several
// goroutines at once: nothing of a run is kept in it.
type Agent struct {
	opts      Options
	defs      []calling.Definition // the tools
	described sync.Map             // notation -> prompts.SystemData: the tools as the system template sees them
	answer    *calling.Format      // nil: any text
}

// New makes an agent. It is an error if there is no model, if a limit or a time
// is negative, or if a tool's schema cannot be written as JSON.
func New(o Options) (*Agent, error) {
	if o.Model == nil {
		return nil, errors.New("agent: no model")
	}
	if err := cmp.Or(atLeast([]option[int]{
		{"MaxTurns", o.MaxTurns, 0, " turns"},
		{"MaxRepeatedCalls", o.MaxRepeatedCalls, 0, " calls"},
		{"MaxConsecutiveErrors", o.MaxConsecutiveErrors, 0, " calls"},
		{"MaxMalformed", o.MaxMalformed, 0, " replies"},
		{"KeepRecentTurns", o.KeepRecentTurns, 0, " turns"},
		{"Tries", o.Tries, 0, " calls"},
		{"MaxTokens", o.MaxTokens, 0, " tokens"},
	}), atLeast([]option[Limit]{
		{"MaxRepetition", o.MaxRepetition, Off, " tokens"},
		{"MaxToolResultTokens", o.MaxToolResultTokens, Off, " tokens"},
		{"SummarizeAfterTurns", o.SummarizeAfterTurns, Off, " turns"},
		{"MaxContextTokens", o.MaxContextTokens, Off, " tokens"},
	}), atLeast([]option[time.Duration]{
		{"ToolTimeout", o.ToolTimeout, 0, ""},
		{"FirstTokenTimeout", o.FirstTokenTimeout, 0, ""},
		{"TokenTimeout", o.TokenTimeout, 0, ""},
		{"StepTimeout", o.StepTimeout, 0, ""},
		{"MaxTime", o.MaxTime, 0, ""},
		{"RetryWait", o.RetryWait, 0, ""},
		{"Patience", o.Patience, 0, ""},
	})); err != nil {
		return nil, err
	}
	if o.MaxRepeatedCalls == 1 {
		return nil, errors.New("agent: MaxRepeatedCalls is 1, which would refuse every call; the least is 2")
	}
	if !slices.Contains([]SelfEval{EvalOff, EvalBasic, EvalFull, "off"}, o.SelfEval) {
		return nil, fmt.Errorf("agent: SelfEval is %q; it must be off, basic or full", o.SelfEval)
	}
	o.MaxTurns = cmp.Or(o.MaxTurns, 10)
	o.MaxRepeatedCalls = cmp.Or(o.MaxRepeatedCalls, 2)
	o.MaxConsecutiveErrors = cmp.Or(o.MaxConsecutiveErrors, 3)
	o.MaxMalformed = cmp.Or(o.MaxMalformed, 3)
	o.MaxRepetition = cmp.Or(o.MaxRepetition, defaultRepetition)
	o.MaxToolResultTokens = cmp.Or(o.MaxToolResultTokens, defaultResult)
	o.ToolTimeout = cmp.Or(o.ToolTimeout, 30*time.Second)
	o.FirstTokenTimeout = cmp.Or(o.FirstTokenTimeout, 10*time.Minute)
	o.TokenTimeout = cmp.Or(o.TokenTimeout, time.Minute)
	o.Tries = cmp.Or(o.Tries, 3)
	o.RetryWait = cmp.Or(o.RetryWait, 500*time.Millisecond)
	o.Patience = cmp.Or(o.Patience, time.Minute)
	if o.Prompts == nil {
		o.Prompts = prompts.Default()
	}
	if o.Approve == nil {
		o.Approve = AllowReads
	}
	var err error
	if o.Form, err = calling.ParseForm(string(o.Form)); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	o.Compact = o.Compact || 0 < o.MaxContextTokens && o.MaxContextTokens < smallWindow
	a := &Agent{opts: o}
	if o.AnswerSchema != nil {
		if a.answer, err = calling.NewFormat(o.AnswerSchema); err != nil {
			return nil, fmt.Errorf("agent: AnswerSchema: %w", err)
		}
	}
	for _, t := range o.Tools.Tools() {
		a.defs = append(a.defs, calling.Definition{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	if _, err := a.tools(notation{o.Form, o.Compact}); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	return a, nil
}

// option is an option with its least value.
type option[N ~int | ~int64] struct {
	name         string
	value, least N
	unit         string
}

// atLeast checks options, in their order.
func atLeast[N ~int | ~int64](options []option[N]) error {
	for _, o := range options {
		if o.value < o.least {
			return fmt.Errorf("agent: %s is %v%s; it must be at least %v", o.name, o.value, o.unit, o.least)
		}
	}
	return nil
}

// Ask answers a prompt, and pictures that go with it, in a session of its own.
// The error is what Run's is; the Result is complete in either case.
func (a *Agent) Ask(ctx context.Context, prompt string, images ...providers.Image) (Result, error) {
	return Collect(a.Run(ctx, NewSession(), prompt, images...))
}

// Collect ranges over a run and returns its result.
func Collect(events iter.Seq2[Event, error]) (result Result, err error) {
	for ev, e := range events {
		if e != nil {
			err = e
		}
		if f, ok := ev.Payload.(FinalResponse); ok {
			result = f.Result
		}
	}
	return result, err
}

// Run answers a prompt, and pictures that go with it, as part of a session. A model
// that cannot see is not asked about pictures: the run ends with a *providers.Error
// whose Param is ParamImages. The last event is a FinalResponse,
// which holds the result of every run that began, whatever its end. After it an
// error is yielded if the run failed or its context was done. A run that ends
// at a limit, at a full context or because the model fell silent has a
// StopReason and no error; Result.Err has the details.
//
// Breaking out of the loop cancels the model call or the tool that is running.
// What was done until then is in the session.
func (a *Agent) Run(ctx context.Context, s *Session, prompt string, images ...providers.Image) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if s == nil {
			s = NewSession()
		}
		p := PromptEntry{Text: prompt}
		if len(images) > 0 {
			p.Images = recordedImages(images)
		}
		r := &run{agent: a, session: s, yield: yield}
		a.drive(ctx, r, func(ctx context.Context) { r.loop(ctx, p) })
	}
}

// drive does the work of r with its session for itself, and closes the record however
// the consumer leaves.
func (a *Agent) drive(ctx context.Context, r *run, work func(context.Context)) {
	s := r.session
	if !s.busy.CompareAndSwap(false, true) {
		r.yield(Event{}, ErrSessionBusy)
		return
	}
	defer s.busy.Store(false)
	ctx, r.cancel = a.limitTime(ctx)
	defer r.cancel()
	r.effects = &realEffects{agent: a, session: s, view: &r.view}
	switch {
	case r.replay != nil:
		r.effects = r.replay
	case a.opts.Effects != nil:
		r.effects = a.opts.Effects(s, r.effects)
		_, r.elsewhere = r.effects.(Elsewhere)
	}
	r.effects = &recorded{Effects: r.effects, run: r}
	defer r.abandoned(ctx)
	work(ctx)
}

func (a *Agent) request(messages []providers.Message) providers.Request {
	return providers.Request{
		Messages:    messages,
		Temperature: a.opts.Temperature,
		Seed:        a.opts.Seed,
		MaxTokens:   a.opts.MaxTokens,
		Think:       a.opts.Think,
	}
}

// Channel turns a run's events into a channel, for a consumer that selects. The
// channel is closed when the run is over; the function waits for that and
// returns what Collect would. Cancelling ctx, which must be the run's own
// context or an ancestor of it, ends both: unread events are then dropped, but
// the result is not.
func Channel(ctx context.Context, events iter.Seq2[Event, error]) (<-chan Event, func() (Result, error)) {
	ch, done := make(chan Event), make(chan struct{})
	var result Result
	var failed error
	go func() {
		defer close(done)
		defer close(ch)
		result, failed = Collect(func(yield func(Event, error) bool) {
			for ev, err := range events {
				if err == nil {
					select {
					case ch <- ev:
					case <-ctx.Done():
					}
				}
				yield(ev, err) // Collect takes all
			}
		})
	}()
	return ch, func() (Result, error) {
		<-done
		return result, failed
	}
}
