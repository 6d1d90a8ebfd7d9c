package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"mylm/agent"
	"mylm/providers"
	"mylm/tools"
)

// Replayed says how a session went through today's engine.
type Replayed struct {
	Runs        int          `json:"runs"`
	Replies     int          `json:"replies"`
	Calls       int          `json:"calls"`
	Differences []Difference `json:"differences"`
}

// Difference is a place at which today's engine does something else than the
// record says.
type Difference struct {
	Task string `json:"task,omitempty"` // of the plan that the run belongs to
	Run  string `json:"run"`
	Turn int    `json:"turn"`
	What string `json:"what"` // what is different: "text of the reply", "arguments of the call", …
	Was  string `json:"was"`  // in the record
	Is   string `json:"is"`   // in the replay
}

// Replay runs a session again with the replies of the record and the results of
// the record: no model is asked, no tool is run, and nothing is recorded. Of the
// options the tools, for their schemas, and the prompts count. What a run did
// behind its first difference is not compared. Runs that the agent did not carry
// out, which have a name, are left out.
func Replay(ctx context.Context, entries []agent.Entry, o agent.Options) (Replayed, error) {
	done := Replayed{Differences: []Difference{}}
	for i, e := range entries {
		if e.Kind != agent.EntryRun || e.Name != "" {
			continue
		}
		p := &player{run: e.Run, runs: map[string]int{}}
		for _, e := range entries[i:] {
			if e.Run == p.run && compared(e) {
				p.entries = append(p.entries, e)
			}
		}
		is, err := p.play(ctx, entries[:i], e.Setup, o)
		if err != nil {
			return done, err
		}
		done.Runs++
		for _, e := range p.entries {
			switch e.Kind {
			case agent.EntryReply:
				done.Replies++
			case agent.EntryResult:
				done.Calls++
			}
		}
		if d, differs := p.compare(is); differs {
			done.Differences = append(done.Differences, d)
		}
	}
	return done, nil
}

// compared are the kinds of entry that follow from the replies and the results.
func compared(e agent.Entry) bool {
	switch e.Kind {
	case agent.EntryAside: // a summary follows from the window, too
		return e.Purpose == agent.PurposeJudge
	case agent.EntryPrompt, agent.EntryReply, agent.EntryCall, agent.EntryResult, agent.EntryUser, agent.EntryEnd:
		return true
	}
	return false
}

// player is the world of one run as the record has it.
type player struct {
	run     string
	entries []agent.Entry  // of the run
	named   bool           // the run has its id
	ids     int            // how many calls have theirs
	runs    map[string]int // of each call: with more permissions it runs again
	over    context.CancelFunc
	ended   bool // the engine wanted more than there is
}

// play runs the engine and returns what it would have recorded.
func (p *player) play(ctx context.Context, before []agent.Entry, setup *agent.Setup, o agent.Options) ([]agent.Entry, error) {
	s, err := agent.LoadSession("replay", before)
	if err != nil {
		return nil, err
	}
	o.Model, o.Recorder, o.Approve, o.Environment = silent{}, nil, nil, nil
	if setup != nil {
		if o.Tools, err = known(o.Tools, setup.Tools); err != nil {
			return nil, err
		}
		o.MaxTurns, o.MaxRepeatedCalls = setup.MaxTurns, setup.MaxRepeatedCalls
		o.MaxConsecutiveErrors, o.MaxMalformed = setup.MaxConsecutiveErrors, setup.MaxMalformed
		o.SelfEval = setup.SelfEval
	}
	o.DryRun = false // the record says of each call whether it was made
	// Nobody is sent a prompt. That there is somebody to change it keeps the
	// engine from comparing what the backend counted with prompts of today. What
	// the other hooks did stands in the record.
	o.Hooks = agent.Hooks{TransformContext: func(_ context.Context, m []providers.Message) ([]providers.Message, error) { return m, nil }}
	for _, e := range p.entries {
		o.MaxTurns = max(o.MaxTurns, e.Turn) // more were allowed when it was resumed
	}
	if end := p.last(); end != nil && end.StopReason == agent.StopMaxTurns {
		o.MaxTurns = end.Turn // fewer may have been allowed, too
	}
	o.Effects = func(*agent.Session, agent.Effects) agent.Effects { return p }
	a, err := agent.New(o)
	if err != nil {
		return nil, err
	}
	played, cancel := context.WithCancel(ctx)
	defer cancel()
	p.over = cancel
	var events iter.Seq2[agent.Event, error]
	if len(p.entries) > 0 && p.entries[0].Kind == agent.EntryPrompt {
		events = a.Run(played, s, p.entries[0].Text)
	} else {
		events = a.Resume(played, s)
	}
	for range events { // what it came to is in the session
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var is []agent.Entry
	for _, e := range s.Entries()[len(before):] {
		if compared(e) {
			is = append(is, e)
		}
	}
	return is, nil
}

// known are the tools that the run had, as far as they are there.
func known(all *tools.Registry, names []string) (*tools.Registry, error) {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return all.Lookup(n) == nil })
	if len(names) == 0 {
		return nil, nil
	}
	return all.Only(names...)
}

// silent is a model that is never asked.
type silent struct{}

func (silent) Generate(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		yield(providers.Chunk{}, errors.New("a replay asks no model"))
	}
}

// end stops the engine where the record does.
func (p *player) end() {
	p.ended = true
	p.over()
}

// last is how the run ended, nil if its process died.
func (p *player) last() *agent.Entry {
	if n := len(p.entries); n > 0 && p.entries[n-1].Kind == agent.EntryEnd {
		return &p.entries[n-1]
	}
	return nil
}

// Model implements agent.Effects: the reply of the turn, or the fault that
// ended the run.
func (p *player) Model(ctx context.Context, r agent.ModelRequest) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		for _, e := range p.entries {
			said := e.Kind == agent.EntryReply || e.Kind == agent.EntryAside
			if !said || e.Turn != r.Turn || e.Purpose != r.Purpose {
				continue
			}
			e.Chunks()(yield)
			return
		}
		fault := &providers.Error{Permanent: true, Message: "as it was"}
		if r.Purpose != agent.PurposeTurn { // it came to nothing
			yield(providers.Chunk{}, fault)
			return
		}
		if end := p.last(); end != nil && end.Turn == r.Turn {
			switch end.StopReason {
			case agent.StopModelError:
				fault.Kind = providers.ServerFault
			case agent.StopTimeout:
				fault.Kind = providers.Stalled
			case agent.StopContextFull:
				fault.Kind = providers.Overflow
			}
		}
		if fault.Kind == "" {
			p.end()
			yield(providers.Chunk{}, ctx.Err())
			return
		}
		yield(providers.Chunk{}, fault)
	}
}

// Tool implements agent.Effects: the result of the record, or what the call was
// refused before it ran again.
func (p *player) Tool(_ context.Context, r agent.ToolRequest) tools.Outcome {
	p.runs[r.Call]++
	if e := p.after(r.Call); e != nil {
		return e.Outcome()
	}
	p.end()
	return tools.Outcome{Error: "the record ends here"}
}

// after is the entry behind those of the runs that a call had so far, nil if
// there is none.
func (p *player) after(call string) *agent.Entry {
	n := p.runs[call]
	for i, e := range p.entries {
		if e.Call != call {
			continue
		}
		if n == 0 {
			return &p.entries[i]
		}
		n--
	}
	return nil
}

// Ask implements agent.Effects: what was decided.
func (p *player) Ask(ctx context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
	e := p.after(r.Call)
	if e == nil {
		p.end()
		return agent.Decision{}, ctx.Err()
	}
	d := e.Decision(r.Args)
	next := slices.IndexFunc(p.entries, func(x agent.Entry) bool { return x.Seq > e.Seq })
	if e.Denied && next >= 0 && p.entries[next].StopReason == agent.StopDenied {
		d.Verdict = agent.Stop
	}
	return d, nil
}

// Now implements agent.Effects.
func (p *player) Now() time.Time { return time.Now() }

// Sleep implements agent.Effects. Nothing is waited for.
func (p *player) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// NewID implements agent.Effects: the run's id, then those of its calls.
func (p *player) NewID() string {
	if !p.named {
		p.named = true
		return p.run
	}
	p.ids++
	n := 0
	for _, e := range p.entries {
		if e.Kind == agent.EntryResult || e.Kind == agent.EntryCall && e.Refused == nil && !p.answered(e.Call) {
			if n++; n == p.ids {
				return e.Call
			}
		}
	}
	return fmt.Sprintf("more-%d", p.ids)
}

func (p *player) answered(call string) bool {
	for _, e := range p.entries {
		if e.Kind == agent.EntryResult && e.Call == call {
			return true
		}
	}
	return false
}

// compare finds the first difference.
func (p *player) compare(is []agent.Entry) (Difference, bool) {
	for i, was := range p.entries {
		switch was.StopReason {
		case agent.StopInterrupted, agent.StopInternal, agent.StopTimeout:
			return Difference{}, false // when that happened does not follow from the record
		}
		d := Difference{Run: p.run, Turn: was.Turn, What: "what happens", Was: what(was), Is: "nothing more"}
		if i >= len(is) {
			return d, true
		}
		if was.Kind != is[i].Kind {
			d.Is = what(is[i])
			return d, true
		}
		if d.What, d.Was, d.Is = differs(was, is[i]); d.What != "" {
			return d, true
		}
	}
	if p.last() == nil || len(is) == len(p.entries) {
		return Difference{}, false // the process died: the rest is unknown
	}
	more := is[len(p.entries)]
	return Difference{Run: p.run, Turn: more.Turn, What: "what happens", Was: "nothing more", Is: what(more)}, true
}

// what an entry is, in words.
func what(e agent.Entry) string {
	switch e.Kind {
	case agent.EntryCall:
		return "call of " + e.Name
	case agent.EntryAside:
		return "a check of the answer"
	case agent.EntryResult:
		return "result of " + e.Name
	case agent.EntryEnd:
		return "end: " + string(e.StopReason)
	case agent.EntryUser:
		return "the engine tells the model: " + e.Text
	}
	return string(e.Kind)
}

// differs compares two entries of one kind in what follows from the reply.
func differs(was, is agent.Entry) (name, w, i string) {
	pairs := []struct{ name, was, is string }{
		{"text of the " + string(was.Kind), was.Text, is.Text},
		{"answer", was.Answer, is.Answer},
		{"thought", was.Thought, is.Thought},
		{"name of the tool", was.Name, is.Name},
		{"arguments of the call", compact(was.Args), compact(is.Args)},
		{"error that the model is told", was.Error, is.Error},
		{"note to the model", was.Note, is.Note},
		{"success", fmt.Sprint(was.Success), fmt.Sprint(is.Success)},
		{"whether the call was skipped", fmt.Sprint(was.Skipped), fmt.Sprint(is.Skipped)},
		{"end", string(was.StopReason), string(is.StopReason)},
	}
	for _, p := range pairs {
		if was.Kind == agent.EntryEnd && p.name != "end" {
			continue // errors hold times and addresses
		}
		if p.was != p.is {
			return p.name, p.was, p.is
		}
	}
	return "", "", ""
}

func compact(args json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, args) != nil {
		return string(args)
	}
	return b.String()
}
