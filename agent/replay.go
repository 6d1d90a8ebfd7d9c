package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"mylm/providers"
	"mylm/tools"
)

// Replayed is the result of replaying a session with today's engine.
type Replayed struct {
	Runs        int          `json:"runs"`
	Replies     int          `json:"replies"`
	Calls       int          `json:"calls"`
	Differences []Difference `json:"differences"`
}

// Difference is a place where today's engine differs from the record.
type Difference struct {
	Task string `json:"task,omitempty"` // of the plan that the run belongs to
	Run  string `json:"run"`
	Turn int    `json:"turn"`
	What string `json:"what"` // what is different: "text of the reply", "arguments of the call", …
	Was  string `json:"was"`  // in the record
	Is   string `json:"is"`   // in the replay
	// Why is how today's engine read the last reply before: as a call in a form and
	// with repairs, as text, or not at all and why.
	Why string `json:"why,omitempty"`
}

// Replay runs a session again with the replies of the record and the results of
// the record: no model is asked, no tool is run, and nothing is recorded. Of
// the options the tools, the prompts and System count: a changed system prompt
// or description of a tool is a difference. What a run did after its first
// other difference is not compared. Runs that the agent did not execute, which
// have a name, are omitted.
func Replay(ctx context.Context, entries []Entry, o Options) (Replayed, error) {
	done := Replayed{Differences: []Difference{}}
	s, err := LoadSession("replay", entries)
	if err != nil {
		return done, err
	}
	all, seen := s.snapshot(), view{}
	for i := range all {
		begins, ok := all[i].Payload.(RunEntry)
		if !ok || begins.Name != "" {
			continue
		}
		end := i + 1
		for end < len(all) && all[end].Run == all[i].Run && all[end].Kind() != EntryRun {
			end++
		}
		a, err := New(replayOptions(o, begins.Setup, all[i:end]))
		if err != nil {
			return done, err
		}
		s.entries = all[:i] // the replay adds the same ones again, in place
		p := &replay{}
		r := &run{agent: a, session: s, toReplay: slices.Clone(all[i:end]), replay: p, view: seen, yield: func(Event, error) bool { return true }}
		var prompt PromptEntry
		asked := false
		if i+1 < end {
			prompt, asked = all[i+1].Payload.(PromptEntry)
		}
		r.resumed = !asked
		played, cancel := context.WithCancel(ctx)
		p.cancel = cancel
		a.drive(played, r, func(ctx context.Context) { r.loop(ctx, prompt) })
		cancel()
		if ctx.Err() != nil {
			return done, ctx.Err()
		}
		seen = r.view
		seen.closing = nil
		done.count(all[i:end])
		for _, d := range []*Difference{p.promptDifference, p.difference} {
			if d != nil {
				done.Differences = append(done.Differences, *d)
			}
		}
	}
	return done, nil
}

func (done *Replayed) count(entries []Entry) {
	done.Runs++
	for _, e := range entries {
		switch e.Payload.(type) {
		case ReplyEntry:
			done.Replies++
		case ResultEntry:
			done.Calls++
		}
	}
}

// replayOptions are the options under which a run is replayed: those it had, as far
// as they decide what happens, without anything real.
func replayOptions(o Options, setup *Setup, entries []Entry) Options {
	o.Model, o.Recorder, o.Approve, o.Environment, o.Hooks, o.Effects = noModel{}, nil, nil, nil, Hooks{}, nil
	o.MaxTime, o.DryRun = 0, false // the record says of each call whether it was made
	if setup != nil {
		o.Tools = knownTools(o.Tools, setup.Tools)
		o.MaxTurns, o.MaxRepeatedCalls = setup.MaxTurns, setup.MaxRepeatedCalls
		o.MaxConsecutiveErrors, o.MaxMalformed, o.SelfEval = setup.MaxConsecutiveErrors, setup.MaxMalformed, setup.SelfEval
		o.AnswerSchema, o.Form = setup.AnswerSchema, setup.Form
	}
	for _, e := range entries {
		o.MaxTurns = max(o.MaxTurns, e.Turn) // more were allowed when it was resumed
		if end, ok := e.Payload.(EndEntry); ok && end.StopReason == StopMaxTurns {
			o.MaxTurns = e.Turn // fewer may have been allowed, too
		}
	}
	return o
}

// knownTools are the tools that a run had, as far as they exist.
func knownTools(all *tools.Registry, names []string) *tools.Registry {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return all.Lookup(n) == nil })
	if len(names) == 0 {
		return nil
	}
	some, _ := all.Only(names...) // all of them exist
	return some
}

// noModel is the model of a replay, which is never asked.
type noModel struct{}

func (noModel) Generate(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(func(providers.Chunk, error) bool) {}
}

// replay compares a run with its record. It is also the effects of the run
// beyond what is recorded: any of them ends it.
type replay struct {
	cancel           context.CancelFunc
	promptDifference *Difference // of the system prompt
	difference       *Difference // the first other
	done             bool        // nothing more is compared
	reading          string      // how the last reply was read
}

// noteReading notes how a reply was read.
func (p *replay) noteReading(rep *reply) {
	switch {
	case rep.Call != nil:
		p.reading = fmt.Sprintf("the reply is a call of %s in the form %s", rep.Call.Name, rep.Call.Dialect)
		for i, r := range rep.Call.Repairs {
			p.reading += []string{", repaired: ", ", "}[min(i, 1)] + r.Code
		}
	case rep.Fault != nil:
		p.reading = "the reply cannot be read: " + rep.Fault.Error()
	default:
		p.reading = "the reply is text"
	}
}

var errReplayed = errors.New("the record ends here")

func (p *replay) end() error {
	p.done = true
	p.cancel()
	return errReplayed
}

func (p *replay) Model(context.Context, ModelRequest) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) { yield(providers.Chunk{}, p.end()) }
}
func (p *replay) Tool(context.Context, ToolRequest) tools.Outcome {
	return tools.Outcome{Error: p.end().Error()}
}
func (p *replay) Ask(context.Context, ApprovalRequest) (Decision, error) { return Decision{}, p.end() }
func (p *replay) Info(context.Context) (providers.Info, error)           { return providers.Info{}, errReplayed }
func (p *replay) Sleep(ctx context.Context, _ time.Duration) error       { return ctx.Err() }
func (p *replay) Now() time.Time                                         { return time.Now() }
func (p *replay) NewID() string                                          { return newID() }

// fault is why the model did not reply to a request: what ended the run, as the
// next entry has it.
func (p *replay) fault(q ModelRequest, next *Entry) error {
	fault := &providers.Error{Permanent: true, Message: "as it was"}
	end, _ := next.Payload.(EndEntry)
	switch {
	case q.Purpose != PurposeTurn: // it came to nothing
	case end.StopReason == StopModelError:
		fault.Kind = providers.ServerFault
	case end.StopReason == StopTimeout:
		fault.Kind = providers.Stalled
	case end.StopReason == StopContextFull:
		fault.Kind = providers.Overflow
	default:
		return p.stopAt(next, "the model is asked")
	}
	return fault
}

// external reports whether the reason came from outside, so that the record cannot
// reproduce it.
func (r StopReason) external() bool {
	return r == StopInterrupted || r == StopInternal || r == StopTimeout
}

// stopAt ends the replay where the engine needs something that is not recorded.
func (p *replay) stopAt(next *Entry, is string) error {
	if end, ok := next.Payload.(EndEntry); !ok || !end.StopReason.external() {
		p.note(next, "what happens", describeEntry(next), is)
	}
	return p.end()
}

func (p *replay) note(at *Entry, what, was, is string) {
	if p.difference == nil && !p.done {
		p.difference = &Difference{Run: at.Run, Turn: at.Turn, What: what, Was: was, Is: is, Why: p.reading}
	}
}

// differs compares an entry of the record with what today's engine would write.
func (p *replay) differs(was, is *Entry) bool {
	if end, ok := was.Payload.(EndEntry); ok && end.StopReason.external() {
		return p.end() != nil
	}
	if was.Kind() != is.Kind() {
		p.note(was, "what happens", describeEntry(was), describeEntry(is))
		return true
	}
	if is, ok := is.Payload.(RunEntry); ok {
		p.comparePrompts(was, is)
		return false
	}
	then, now := comparedParts(was.Payload), comparedParts(is.Payload)
	for i := range then {
		if then[i].text != now[i].text {
			p.note(was, then[i].what, then[i].text, now[i].text)
			return true
		}
	}
	return false
}

// comparePrompts compares the prompt of a run with today's, as far as it does
// not depend on the environment.
func (p *replay) comparePrompts(at *Entry, is RunEntry) {
	was := at.Payload.(RunEntry)
	if was.Setup == nil || was.Setup.Prompt == "" || was.Setup.Prompt == is.Setup.Prompt {
		return
	}
	then, now := strings.Split(was.System, "\n"), strings.Split(is.System, "\n")
	heading := func(line string) bool { return strings.HasPrefix(line, "# ") } // before it is the identity
	then, now = then[max(0, slices.IndexFunc(then, heading)):], now[max(0, slices.IndexFunc(now, heading)):]
	then, now = append(then, ""), append(now, "")
	i := 0
	for i < min(len(then), len(now))-1 && then[i] == now[i] {
		i++
	}
	p.promptDifference = &Difference{Run: at.Run, What: "system prompt or tools", Was: then[i], Is: now[i]}
}

// describeEntry is an entry in words.
func describeEntry(e *Entry) string {
	switch p := e.Payload.(type) {
	case CallEntry:
		return "call of " + p.Name
	case AuxiliaryEntry:
		return "a check of the answer"
	case ResultEntry:
		return "result of " + p.Name
	case EndEntry:
		return "end: " + string(p.StopReason)
	case UserEntry:
		return "message to the model: " + p.Text
	}
	return string(e.Kind())
}

type part struct{ what, text string }

// comparedParts is what of an entry follows from the reply. Errors at the end of a
// run hold times and addresses, and do not.
func comparedParts(p EntryPayload) []part {
	switch p := p.(type) {
	case PromptEntry:
		return []part{{"text of the prompt", p.Text}, {"pictures of the prompt", fmt.Sprint(p.hashes())}}
	case ReplyEntry:
		return []part{{"text of the reply", p.Text}, {"answer", p.Answer}, {"whole answer", p.Whole}, {"thought", p.Thought}}
	case AuxiliaryEntry:
		return []part{{"text of the check", p.Text}, {"thought", p.Thought}}
	case CallEntry:
		return []part{{"name of the tool", p.Name}, {"arguments of the call", canonical(p.Args)}}
	case ResultEntry:
		return []part{
			{"name of the tool", p.Name}, {"arguments of the call", canonical(p.Args)}, {"text of the result", p.Text},
			{"error for the model", p.Error}, {"note to the model", p.Note}, {"success", fmt.Sprint(p.Success)},
			{"whether the call was skipped", fmt.Sprint(p.Skipped)},
		}
	case UserEntry:
		return []part{{"text of the user", p.Text}}
	case EndEntry:
		return []part{{"end", string(p.StopReason)}}
	}
	return nil
}
