package agent

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"mylm/providers"
	"mylm/tools"
)

// Setup is how a run was set up, as far as its record needs it to be understood
// or gone through again.
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

// LoadSession makes a session of the entries that a Recorder kept. They are not
// recorded again. It is an error if one of them is missing, or points to one that
// does not stand before it.
func LoadSession(id string, entries []Entry) (*Session, error) {
	s := &Session{ID: id}
	for i, e := range entries {
		if e.Seq != i+1 {
			return nil, fmt.Errorf("entry %d of the session %s is missing: %d stands in its place", i+1, id, e.Seq)
		}
		if !e.sound() {
			return nil, fmt.Errorf("entry %d of the session %s is damaged: it points to what is not there", i+1, id)
		}
		s.add(e)
	}
	s.recorded = len(s.entries)
	return s, nil
}

// sound reports whether what the entry points to can be there.
func (e *Entry) sound() bool {
	before := func(seq int) bool { return 0 <= seq && seq < e.Seq }
	s := e.State
	if s == nil {
		return before(e.Through) && before(e.Request)
	}
	return 0 < s.First && before(s.First) && before(s.PromptCut) && before(s.Closing) && s.Counted >= 0 &&
		!slices.ContainsFunc(s.Continued, func(seq int) bool { return seq == 0 || !before(seq) })
}

// Unfinished reports whether Resume would go on with the session: its last run
// has not answered its prompt.
func (s *Session) Unfinished() bool {
	entries := s.all()
	first := lastOf(entries, EntryRun)
	if first < 0 || !slices.ContainsFunc(entries, func(e Entry) bool { return e.Kind == EntryPrompt }) {
		return false
	}
	last := entries[len(entries)-1]
	return last.Kind != EntryEnd || last.StopReason != StopComplete
}

// Result returns what the last run in this session came to, since the session
// was made or loaded; ok is false while there is none. It is there also for a
// consumer that left before the last event, or panicked.
func (s *Session) Result() (result Result, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.result == nil {
		return Result{}, false
	}
	return *s.result, true
}

func (s *Session) ended(r Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result = &r
}

// rewind takes the entries from index n on out of the session, for the run that
// goes through them again and puts them back.
func (s *Session) rewind(n int) []Entry {
	s.mu.Lock()
	tail := slices.Clone(s.entries[n:])
	rest := s.entries[:n:n]
	s.entries = nil
	s.mu.Unlock()
	for _, e := range rest {
		s.add(e)
	}
	return tail
}

// lastOf is the index of the last entry of a kind, -1 if there is none. A run
// begins with an EntryRun.
func lastOf(entries []Entry, kind EntryKind) int {
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Kind == kind {
			return i
		}
	}
	return -1
}

// tainted reports whether strangers' words are among the results.
func tainted(entries []Entry) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool { return e.Kind == EntryResult && foreign(e.Origin) })
}

// entry is what the record holds of a reply, with all that a repeat is made of.
func (rep *reply) entry(kind EntryKind, p Purpose) Entry {
	return Entry{
		Kind: kind, Purpose: p, Text: rep.text, Raw: rep.raw, Aside: rep.aside, Thought: rep.thought, Stop: rep.stop, Usage: &rep.usage,
	}
}

// spend adds what a reply cost.
func (s *State) spend(rep *reply) {
	s.Usage, s.UsagePartial = s.Usage.Add(rep.usage), s.UsagePartial || rep.partial
}

// Chunks are a reply as the backend may have sent it: what the engine makes of
// them is what it made of the reply. One that broke off when its time was over
// ends with a Stalled error.
func (e *Entry) Chunks() iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		if e.Aside != "" && !yield(providers.Chunk{Thought: e.Aside}, nil) || e.Raw != "" && !yield(providers.Chunk{Text: e.Raw}, nil) {
			return
		}
		if e.Error != "" {
			yield(providers.Chunk{}, &providers.Error{Kind: providers.Stalled, Message: e.Error})
			return
		}
		last := providers.Chunk{Stop: e.Stop}
		if last.Stop == "" { // the engine had enough, and left
			last.Stop = providers.StopEnd
		}
		if e.Usage != nil {
			last.Usage = *e.Usage
		}
		yield(last, nil)
	}
}

// Outcome is what a result says about its call.
func (e *Entry) Outcome() tools.Outcome {
	return tools.Outcome{
		Result: tools.Result{Text: e.Text, Origin: e.Origin, ExitCode: e.ExitCode, Truncated: e.Truncated, Refused: e.Refused}, Error: e.Error, Duration: e.Duration, Unknown: e.Unknown,
	}
}

// Decision is what a call or a result says about the approval of a call with
// these arguments.
func (e *Entry) Decision(args json.RawMessage) Decision {
	if e.Denied {
		reason, person := strings.CutPrefix(e.Error, notAllowed)
		if !person {
			return Decision{Verdict: Forbid, Reason: e.Error}
		}
		return Decision{Reason: strings.TrimPrefix(reason, ": ")}
	}
	d := Decision{Verdict: Allow, Hold: e.Kind == EntryCall && e.Effect != nil && e.Effect.OnlyReads()}
	if e.DryRun {
		d.Verdict = Rehearse
	}
	if canonical(args) != canonical(e.Args) {
		d.Args = e.Args
	}
	return d
}

// notAllowed begins the error of a call that was denied.
const notAllowed = "not allowed"

// message is the text of an error, "" for none.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
