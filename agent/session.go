package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"mylm/providers"
	"mylm/providers/calling"
)

// Recorder keeps the entries of sessions as they are made; Entry.Session
// distinguishes them. Append returns when the entry is safe; a call's entry is
// appended before the call runs. An error ends the run. It may be called by
// several runs at once.
type Recorder interface {
	Append(context.Context, Entry) error
}

// Session is the record of a conversation: it only grows. It may be read at
// any time and is used by one run at a time. The zero value is an empty one.
type Session struct {
	// ID names the session. NewSession, or else the first run, sets it; it may
	// be replaced before that run.
	ID string

	busy     atomic.Bool
	mu       sync.Mutex
	recorded int // entries that a recorder has, or that need none
	entries  []Entry
	result   *Result // of the last run here
}

// ErrSessionBusy is returned by a run on a session that another run is using.
var ErrSessionBusy = errors.New("the session is in use by another run")

// NewSession starts a session with the messages of an earlier conversation, in
// their order. They come between the system prompt and the first prompt.
func NewSession(history ...providers.Message) *Session {
	s := &Session{ID: newID()}
	now := time.Now()
	for _, m := range history {
		s.add(Entry{Time: now, Payload: HistoryEntry{m.Role, m.Text, recordedImages(m.Images)}})
	}
	return s
}

// Entries returns the record so far.
func (s *Session) Entries() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.entries)
}

// Joined returns the entries for people to read: where the length limit cut a reply, only the
// last of those that continue it remains, with the whole answer.
func (s *Session) Joined() []Entry {
	entries := s.snapshot()
	joined, cut := slices.Clone(entries), map[int]bool{}
	for i, e := range entries {
		if p, ok := e.Payload.(ReplyEntry); ok && p.State != nil && len(p.State.Continued) > 0 {
			for _, seq := range p.State.Continued {
				cut[seq] = true
			}
			p.Answer = answerIn(entries, append(slices.Clone(p.State.Continued), e.Seq)...)
			joined[i].Payload = p
		}
	}
	return slices.DeleteFunc(joined, func(e Entry) bool { return cut[e.Seq] })
}

// snapshot is Entries without a copy, for those who only look.
func (s *Session) snapshot() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.entries)
}

// Messages returns the whole conversation, without the system prompt, also what
// a run no longer shows to the model.
func (s *Session) Messages() []providers.Message {
	var messages []providers.Message
	for _, e := range s.snapshot() {
		if m, ok := e.message(0); ok {
			messages = append(messages, m)
		}
	}
	return messages
}

// unrecorded returns the entries that were there before there was a recorder.
func (s *Session) unrecorded() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.entries[s.recorded:])
}

// markRecorded notes that the entries up to one are recorded.
func (s *Session) markRecorded(seq int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorded = seq
}

func (s *Session) add(e Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Session, e.Seq = s.ID, len(s.entries)+1
	s.entries = append(s.entries, e)
}

func (s *Session) last() int { return len(s.snapshot()) }

// LoadSession makes a session of the entries that a Recorder kept. They are not
// recorded again. It is an error if one of them is missing, or refers to one that
// does not come before it.
func LoadSession(id string, entries []Entry) (*Session, error) {
	s := &Session{ID: id}
	for i, e := range entries {
		if e.Seq != i+1 {
			return nil, fmt.Errorf("entry %d of the session %s is missing: entry %d is in its place", i+1, id, e.Seq)
		}
		if !e.valid() {
			return nil, fmt.Errorf("entry %d of the session %s is damaged: it refers to an entry that does not exist", i+1, id)
		}
		s.add(e)
	}
	s.recorded = len(s.entries)
	return s, nil
}

// valid reports whether what the entry points to can be there.
func (e *Entry) valid() bool {
	before := func(seq int) bool { return 0 <= seq && seq < e.Seq }
	if p, ok := e.Payload.(CompactionEntry); ok {
		return before(p.Through) && before(p.Request)
	}
	s := e.state()
	return s == nil || 0 < s.First && before(s.First) && before(s.PromptCut) && before(s.Closing) && s.Counted >= 0 &&
		!slices.ContainsFunc(s.Continued, func(seq int) bool { return seq == 0 || !before(seq) })
}

// Unfinished reports whether Resume would continue the session.
func (s *Session) Unfinished() bool { return s.Resumable() == nil }

// Resumable returns why Resume would not continue the session: ErrComplete if
// its last question was answered, ErrNoQuestion if that is not recorded.
func (s *Session) Resumable() error {
	state := ErrNoQuestion
	for _, e := range s.snapshot() {
		switch p := e.Payload.(type) {
		case RunEntry:
			if state == ErrComplete && p.Name == "" { // a question should follow
				state = ErrNoQuestion
			}
		case PromptEntry:
			state = nil
		case EndEntry:
			if state == nil && p.StopReason == StopComplete {
				state = ErrComplete
			}
		}
	}
	return state
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

func (s *Session) setResult(r Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result = &r
}

// rewind takes the entries from index n on out of the session, for the run that
// goes through them again and puts them back.
func (s *Session) rewind(n int) []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	tail := slices.Clone(s.entries[n:])
	s.entries = s.entries[:n:n]
	return tail
}

// Tainted reports whether a result in the session has text from outside the workspace,
// or a run of it began with such text. The sessions within it, of a plan, count.
func (s *Session) Tainted() bool { return slices.ContainsFunc(s.snapshot(), Entry.tainted) }

func (e Entry) tainted() bool {
	switch p := e.Payload.(type) {
	case ResultEntry:
		return untrusted(p.Origin)
	case ReplyEntry:
		return p.State != nil && p.State.Tainted
	case CustomEntry:
		var within Entry
		return json.Unmarshal(p.Args, &within) == nil && within.tainted()
	}
	return false
}

// foreign is the first result that has such text, nil if there is none.
func (s *Session) foreign() *ResultEntry {
	for _, e := range s.snapshot() {
		if p, ok := e.Payload.(ResultEntry); ok && untrusted(p.Origin) {
			found := p // p itself stays on the stack
			return &found
		}
	}
	return nil
}

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
	Insisted  bool   `json:"insisted,omitempty"`  // the last reply held a call in an unsupported form, and the model was told so
	Denied    bool   `json:"denied,omitempty"`    // a call was denied, and none that does as much has succeeded since

	DeniedRead bool `json:"denied_read,omitempty"` // it only reads: any call does as much
	Tainted    bool `json:"tainted,omitempty"`     // text from outside the workspace has been read

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

// backendState is what the next run of the session need not find out again.
func (s *State) backendState() *State {
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
	Definitions          []Definition      `json:"definitions,omitempty"` // of the tools that others define
	MaxTurns             int               `json:"max_turns"`
	MaxRepeatedCalls     int               `json:"max_repeated_calls"`
	MaxConsecutiveErrors int               `json:"max_consecutive_errors"`
	MaxMalformed         int               `json:"max_malformed"`
	MaxToolResultTokens  int               `json:"max_tool_result_tokens,omitempty"`
	SelfEval             SelfEval          `json:"self_eval,omitempty"`
	AnswerSchema         json.RawMessage   `json:"answer_schema,omitempty"`
	DryRun               bool              `json:"dry_run,omitempty"`
	Form                 calling.Form      `json:"form,omitempty"`   // of calls; "": calling.ToolCode
	Prompt               string            `json:"prompt,omitempty"` // a digest of the system prompt, without what is particular to a run; "": it is not compared
}

// Definition is a tool as it was defined when a run began.
type Definition struct {
	Name        string             `json:"name"`
	Description string             `json:"description,omitempty"`
	Schema      *jsonschema.Schema `json:"schema,omitempty"`
}

// external are the definitions that a replay can find nowhere else than in the record.
func (a *Agent) external() (all []Definition) {
	for _, t := range a.opts.Tools.Tools() {
		if t.External {
			all = append(all, Definition{t.Name, t.Description, t.Schema})
		}
	}
	return all
}

func (a *Agent) setup(form calling.Form) *Setup {
	recorded := form
	if form == calling.ToolCode {
		recorded = "" // as in records of earlier versions
	}
	model := ""
	if m, ok := a.opts.Model.(interface{ Name() string }); ok {
		model = m.Name()
	}
	return &Setup{
		Labels: a.opts.Labels, Model: model, MaxToolResultTokens: int(a.opts.MaxToolResultTokens), Tools: append([]string{}, a.opts.Tools.Names()...), Definitions: a.external(), MaxTurns: a.opts.MaxTurns, MaxRepeatedCalls: a.opts.MaxRepeatedCalls,
		MaxConsecutiveErrors: a.opts.MaxConsecutiveErrors, MaxMalformed: a.opts.MaxMalformed,
		SelfEval: a.opts.SelfEval, AnswerSchema: a.opts.AnswerSchema, DryRun: a.opts.DryRun, Prompt: a.promptDigest(form), Form: recorded,
	}
}

// sameBackend reports whether what a backend counted in a run of this setup holds in
// one of the other: for the same model, shown as much.
func (s *Setup) sameBackend(other *Setup) bool {
	return s != nil && s.Model != "" && s.Model == other.Model && s.Labels["model"] == other.Labels["model"] &&
		s.MaxToolResultTokens == other.MaxToolResultTokens
}

// entry is what the record holds of a reply, with all that a replay needs.
func (rep *reply) entry(p Purpose) ReplyEntry {
	return ReplyEntry{
		Purpose: p, Text: rep.Text, Raw: rep.Raw, SeparateThought: rep.SeparateThought, Thought: rep.Thought, Stop: rep.Stop, Usage: &rep.Usage, Native: rep.Native,
	}
}

// addUsage adds what a reply cost. The state before it, which is recorded with it, has
// the cost of all before.
func (r *run) addUsage(rep *calling.Reply) {
	s := &r.state
	r.turn.Usage, r.turn.UsagePartial = s.Usage, s.UsagePartial
	s.Usage, s.UsagePartial = s.Usage.Add(rep.Usage), s.UsagePartial || rep.Partial
}

// message is the text of an error, "" for none.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
