package agent

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"

	"mylm/prompts"
	"mylm/protocol"
)

// CompactRun is the name of a run that answers nothing: it only makes room.
const CompactRun = "compact"

// ErrTooShort is returned by Compact for a session without anything before its
// last exchange.
var ErrTooShort = errors.New("there is nothing before the last exchange that a summary could replace")

// Compact has the model sum up the session now, up to its last exchange, instead
// of when the window is full. The question of that exchange and the record stay.
// The events are a Compaction, or a Notice of why the prompt would be no smaller.
// The run is recorded, and resumes, replays and answers nothing. An error is
// yielded if it could not take place.
func (a *Agent) Compact(ctx context.Context, s *Session) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := &run{agent: a, session: s, yield: yield}
		a.drive(ctx, r, func(ctx context.Context) {
			if err := r.compactNow(ctx); err != nil && !r.consumerLeft {
				r.yield(Event{}, err)
			}
		})
	}
}

// compactNow is such a run. It ends as the run before it did, which can be resumed
// if that could.
func (r *run) compactNow(ctx context.Context) error {
	entries, s := r.session.snapshot(), &r.state
	last, ended := lastOf[RunEntry](entries), lastOf[EndEntry](entries)
	if last < 0 || ended < last {
		return ErrTooShort
	}
	s.Run, s.Started, s.First = r.effects.NewID(), r.effects.Now(), r.session.last()+1
	was, setup := entries[last].Payload.(RunEntry), r.agent.setup(r.agent.form(r.session))
	r.limitResults()
	r.carryOver(ctx, setup, was.System)
	r.syncView()
	r.request = lastOf[PromptEntry](entries) + 1
	through := r.beforeExchange(max(1, r.agent.opts.KeepRecentTurns))
	if through == 0 {
		return ErrTooShort
	}
	if err := r.record(ctx, RunEntry{Name: CompactRun, System: was.System, Setup: setup}); err != nil {
		return err
	}
	summary, err := r.sumUp(ctx, through)
	if err == nil {
		err = r.replaceBy(ctx, summary, through)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	end := EndEntry{StopReason: entries[ended].Payload.(EndEntry).StopReason, State: s.backendState()}
	recorded := r.record(context.WithoutCancel(ctx), end)
	return cmp.Or(err, recorded)
}

// maxSummary bounds a summary, of which about 200 words are asked for.
const maxSummary = 600

// sumUp has the model sum up everything before an entry.
func (r *run) sumUp(ctx context.Context, through int) (summary string, err error) {
	reply, err := r.askSeparately(ctx, ModelRequest{Purpose: PurposeSummary, Until: through})
	if err != nil {
		return "", err
	}
	return shorten(protocol.Neutralise(strings.TrimSpace(reply.Text)), maxSummary), nil
}

// replaceBy shows a summary in place of everything before an entry, if it is shorter.
func (r *run) replaceBy(ctx context.Context, summary string, through int) error {
	done, err := r.compact(ctx, through, summary, through)
	if err == nil && !done {
		r.failedSummary = r.view.size
		r.emit(Notice{Code: NoticeNoSummary, Text: "older steps are kept: their summary is not shorter"})
	}
	return err
}

// lastSummary is the summary that the model is shown now, and the last entry
// that is in it.
func (r *run) lastSummary() (summary string, through int) {
	entries := r.session.snapshot()
	for i := r.view.cut; i > 0; i-- {
		c, ok := entries[i-1].Payload.(CompactionEntry)
		switch {
		case !ok:
		case c.Summary == "" || summary != "" && c.Summary != summary:
			return summary, through
		default:
			summary, through = c.Summary, c.Through
		}
	}
	return summary, through
}

// compact records that everything up to an entry is not shown from now on, with a
// summary of everything up to another one, and reports whether it did:
// not if the prompt would be no smaller. The record itself stays whole.
func (r *run) compact(ctx context.Context, through int, summary string, summarised int) (bool, error) {
	s, before := &r.state, r.promptTokens()
	lost := r.messages(summarised, through)
	hidden := r.messages(r.view.from, through)
	text, err := r.agent.opts.Prompts.Compacted(prompts.CompactedData{Summary: summary, Dropped: lost})
	if err != nil {
		return false, err
	}
	c := CompactionEntry{Text: text, Summary: summary, Through: through, Request: r.request}
	if !r.view.shrinks(r.session.snapshot(), c) {
		return false, nil
	}
	if err := r.record(ctx, c); err != nil {
		return false, err
	}
	r.syncView()
	r.emit(Compaction{
		Dropped: hidden, Summarized: lost == 0, Before: before, After: r.promptTokens(), Window: s.Window, Guessed: s.Guessed,
	})
	return true, nil
}

// messages counts those in the record after one entry and up to
// another, without the request, which stays.
func (r *run) messages(behind, upTo int) (n int) {
	entries := r.session.snapshot()
	for i := behind; i < upTo; i++ {
		if entries[i].isMessage() && entries[i].Seq != r.request {
			n++
		}
	}
	return n
}
