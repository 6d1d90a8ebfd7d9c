package agent

import (
	"mylm/providers"
	"time"
)

// State is what a run needs between two turns. It is small and can be written
// down: the conversation stays in the session, and is pointed to by sequence
// number.
type State struct {
	Run     string    `json:"run"`
	Started time.Time `json:"started"`
	First   int       `json:"first"` // the run's first session entry
	Turn    int       `json:"turn"`

	LastCall  string `json:"last_call,omitempty"` // a digest of name and canonical arguments
	Repeats   int    `json:"repeats,omitempty"`   // how often in a row
	Errors    int    `json:"errors,omitempty"`    // failed calls in a row
	Denials   int    `json:"denials,omitempty"`   // denied calls in a row
	Malformed int    `json:"malformed,omitempty"` // unreadable replies in a row
	Insisted  bool   `json:"insisted,omitempty"`  // the last reply held a call in a form that is not read, and the model was told
	Denied    bool   `json:"denied,omitempty"`    // the last sensitive call was denied and none has succeeded since
	Tainted   bool   `json:"tainted,omitempty"`   // what strangers wrote has been read

	Seen  []string `json:"seen,omitempty"`  // digests of the last calls and their results
	Stale int      `json:"stale,omitempty"` // calls in a row that brought nothing unseen

	Window    int     `json:"window,omitempty"`     // tokens of prompt and reply together; 0: not looked at yet
	Guessed   bool    `json:"guessed,omitempty"`    // the window is not known
	Scale     float64 `json:"scale,omitempty"`      // tokens that the backend counts for one that is estimated; 0: it has not counted yet
	Results   int     `json:"results,omitempty"`    // how much of a tool's result is shown, in estimated tokens
	Prompt    int     `json:"prompt,omitempty"`     // tokens of the last prompt, as the backend counted them
	PromptCut int     `json:"prompt_cut,omitempty"` // the entry of the last compaction before it
	Counted   int     `json:"counted,omitempty"`    // messages in it

	Checks   int  `json:"checks,omitempty"`    // answers that did not pass their check
	LastWord bool `json:"last_word,omitempty"` // the run was ended by a limit, and the model may sum up
	Closing  int  `json:"closing,omitempty"`   // the entry of that summary

	Continued []int `json:"continued,omitempty"` // replies that were cut by the length limit and belong together

	Usage        providers.Usage `json:"usage"`
	UsagePartial bool            `json:"usage_partial,omitempty"`

	Events  int    `json:"events"`            // how many were emitted
	Message string `json:"message,omitempty"` // the last text of the model, for a run without an answer

	Stop StopReason `json:"stop,omitempty"` // set when the run is over
}

// learned is what the next run of the session need not find out again.
func (s *State) learned() *State {
	return &State{
		Run: s.Run, Started: s.Started, First: s.First, Turn: s.Turn, Events: s.Events, Window: s.Window, Guessed: s.Guessed,
		Scale: s.Scale, Results: s.Results, Prompt: s.Prompt, PromptCut: s.PromptCut, Counted: s.Counted,
	}
}

// Setup is how a run was set up, as far as its record needs it to be understood
// or replayed.
type Setup struct {
	Labels               map[string]string `json:"labels,omitempty"`
	Model                string            `json:"model,omitempty"` // its own name, if it has one
	Tools                []string          `json:"tools"`
	MaxTurns             int               `json:"max_turns"`
	MaxRepeatedCalls     int               `json:"max_repeated_calls"`
	MaxConsecutiveErrors int               `json:"max_consecutive_errors"`
	MaxMalformed         int               `json:"max_malformed"`
	MaxToolResultTokens  int               `json:"max_tool_result_tokens,omitempty"`
	SelfEval             SelfEval          `json:"self_eval,omitempty"`
	DryRun               bool              `json:"dry_run,omitempty"`
}

func (a *Agent) setup() *Setup {
	model := ""
	if m, ok := a.opts.Model.(interface{ Name() string }); ok {
		model = m.Name()
	}
	return &Setup{
		Labels: a.opts.Labels, Model: model, MaxToolResultTokens: int(a.opts.MaxToolResultTokens), Tools: append([]string{}, a.opts.Tools.Names()...), MaxTurns: a.opts.MaxTurns, MaxRepeatedCalls: a.opts.MaxRepeatedCalls,
		MaxConsecutiveErrors: a.opts.MaxConsecutiveErrors, MaxMalformed: a.opts.MaxMalformed,
		SelfEval: a.opts.SelfEval, DryRun: a.opts.DryRun,
	}
}

// counts reports whether what a backend counted in a run of this setup holds in
// one of the other: for the same model, shown as much.
func (s *Setup) counts(other *Setup) bool {
	return s != nil && s.Model != "" && s.Model == other.Model && s.Labels["model"] == other.Labels["model"] &&
		s.MaxToolResultTokens == other.MaxToolResultTokens
}

// entry is what the record holds of a reply, with all that a repeat is made of.
func (rep *reply) entry(p Purpose) ReplyEntry {
	return ReplyEntry{
		Purpose: p, Text: rep.text, Raw: rep.raw, Aside: rep.aside, Thought: rep.thought, Stop: rep.stop, Usage: &rep.usage,
	}
}

// spend adds what a reply cost.
func (s *State) spend(rep *reply) {
	s.Usage, s.UsagePartial = s.Usage.Add(rep.usage), s.UsagePartial || rep.partial
}

// message is the text of an error, "" for none.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
