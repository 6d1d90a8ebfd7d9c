package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"mylm/protocol"
	"mylm/providers"
	"mylm/providers/calling"
	"mylm/tools"
)

// reply is what the model wrote in a turn, as it was read.
type reply struct {
	calling.Reply
	broken string // why it ended before its end, if its time was over
}

// think asks the model for the next reply of the conversation, in a turn or as
// its last word. Errors of the model are modelErrors; the received part of a
// reply that broke off comes with them.
func (r *run) think(ctx context.Context, p Purpose) (*reply, error) {
	reply, err := r.generate(ctx, ModelRequest{Purpose: p}, true)
	if err != nil {
		return reply, err
	}
	if err := r.checkCount(ctx, reply.Usage); err != nil {
		if reply.Text != "" {
			r.emit(Retract{})
		}
		r.addUsage(&reply.Reply)
		return nil, &modelError{err}
	}
	return reply, nil
}

// generate makes a request of the model, again if the fault may pass, or if the
// prompt was too long and could be made smaller, as that of the conversation can,
// whose replies are shown.
func (r *run) generate(ctx context.Context, q ModelRequest, shown bool) (*reply, error) {
	// Full jitter: a pause is anything up to twice the interval, so that the clients
	// of a server that comes back do not all come at once.
	intervals := backoff.ExponentialBackOff{
		InitialInterval: r.agent.opts.RetryWait, Multiplier: 2, RandomizationFactor: 1, MaxInterval: 8 * time.Second,
	}
	intervals.Reset()
	waited, reached := time.Duration(0), r.state.Turn > 1
	q.Run, q.Turn, q.Results = r.state.Run, r.state.Turn, r.state.Results
	if r.elsewhere {
		q.State = new(r.state)
	}
	q.Value = q.Purpose == PurposeTurn && r.agent.answer != nil && (len(r.agent.defs) == 0 || r.state.Checks > 0)
	for tries, refits := 1, 0; ; {
		q.Attempt, q.Through = tries+refits, r.session.last()
		q.Results = r.state.Results
		l := &listener{run: r, quiet: !shown}
		l.reader = r.reader(q.Purpose, l.part)
		reply, err := l.listen(ctx, q)
		var engine *engineError
		switch {
		case err == nil:
			return reply, nil
		case errors.As(err, &engine):
			return nil, engine.err
		case ctx.Err() != nil:
			return l.partialReply(ctx, err), &modelError{err}
		}
		takeBack := func() {
			l.closing = true // nothing more of it is shown
			rep := l.reader.Close()
			l.drop(&rep)
			if l.shown {
				r.emit(Retract{})
			}
		}
		var provider *providers.Error
		if errors.As(err, &provider) && provider.Kind == providers.Overflow && shown && refits < maxShrinks {
			smaller, failed := r.shrinkPrompt(ctx, provider)
			if failed != nil {
				return nil, failed
			}
			if smaller {
				takeBack()
				refits++
				continue
			}
			if len(r.state.Continued) > 0 {
				return nil, &modelError{r.windowFilled(err)}
			}
		}
		// A backend that was there a moment ago is waited for as one that is busy.
		busy := provider != nil && (provider.Busy || reached && provider.Kind == providers.Unreachable)
		reached = reached || provider != nil && provider.Kind != providers.Unreachable
		again := tries < r.agent.opts.Tries || busy && r.agent.opts.Tries > 1 && waited < r.agent.opts.Patience
		if !again || provider == nil || !provider.Temporary() {
			return l.partialReply(ctx, err), &modelError{err}
		}
		pause := intervals.NextBackOff()
		if provider.RetryAfter > 0 {
			if pause = provider.RetryAfter; pause > maxRetryAfter {
				return l.partialReply(ctx, err), &modelError{waitTooLong(provider)}
			}
		}
		tries++
		waited += pause
		takeBack()
		r.emit(Retry{Attempt: tries, Wait: pause, Reason: err.Error()})
		if err := r.effects.Sleep(ctx, pause); err != nil {
			return nil, &modelError{err}
		}
	}
}

// maxShrinks is how often a turn's prompt is made smaller because the backend
// finds it too long. Its first error usually contains the sizes.
const maxShrinks = 4

// reader returns a reader for the next reply. One that continues a reply which
// the length limit cut continues inside whatever that reply had opened.
func (r *run) reader(p Purpose, part func(protocol.Part)) *calling.Reader {
	if p != PurposeTurn {
		return calling.NewReader(protocol.Options{}, part)
	}
	reports := r.state.LastCall != "" && r.state.Malformed > 0
	reader := calling.NewReader(protocol.Options{Tools: r.agent.opts.Tools, Insisted: r.state.Insisted, Reports: reports}, part)
	if len(r.state.Continued) > 0 {
		entries := r.session.snapshot()
		for _, seq := range r.state.Continued {
			reply, _ := entries[seq-1].Payload.(ReplyEntry)
			reader.Resume(reply.Raw, reply.Text, reply.Answer)
		}
	}
	return reader
}

// maxRetryAfter is the longest a backend may make a run wait: beyond it a person
// would rather know.
const maxRetryAfter = time.Minute

// waitTooLong is the error of a backend that asks to wait for longer than that.
func waitTooLong(e *providers.Error) error {
	late := *e
	late.Err = e
	late.Message += fmt.Sprintf("; it asks for a wait of %s; the longest allowed is %v", e.Wait(), maxRetryAfter)
	late.Hint = ""
	return &late
}

// listener collects one reply.
type listener struct {
	run    *run
	reader *calling.Reader
	quiet  bool // the reply is not shown
	shown  bool
	size   int // bytes that came
	limit  int // tokens that the reply may have; 0: not asked yet

	guessed bool // the limit is no window that the backend reports

	repetition calling.Repetition
	repeating  bool
	withheld   int // bytes since the decoder last gave out text: inside a call

	closing bool
	late    []protocol.Part // that came with the end of the reply
}

// listen makes one call of the model and returns its reply. The call is ended
// as soon as the decoder is certain.
func (l *listener) listen(ctx context.Context, request ModelRequest) (*reply, error) {
	r := l.run
	if d := r.agent.opts.StepTimeout; d > 0 && !r.elsewhere {
		var cancel context.CancelFunc
		ctx, cancel = tools.WithTimeout(ctx, d, overTime("StepTimeout", d, "the reply took longer than %v"))
		defer cancel()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := newAlarm(r.elsewhere, cancel, r.agent.opts.FirstTokenTimeout, r.agent.opts.TokenTimeout)
	defer func() { alarm.Stop() }() // the one that is set then
	emit := func(p Payload) {
		left := alarm.Stop() // what the consumer takes is not the model's time
		r.emit(p)
		alarm.Reset(left)
	}
	ctx = reports{
		status: func(text string) { emit(Waiting{Text: text}) },
		notice: func(text string) { emit(Notice{Code: NoticeAdapted, Text: text}) },
	}.in(ctx)

	waits := !l.quiet && request.Purpose == PurposeTurn && r.needsCount()
	for chunk, err := range r.effects.Model(ctx, request) {
		if l.reader.Done() {
			if (chunk.Call != nil || chunk.CallPart != "") && err == nil {
				continue // one call a turn
			}
			alarm.Stop()
			l.count(chunk)
			break
		}
		if err != nil {
			if failed := new(providers.Error); errors.As(err, &failed) {
				l.reader.Count(providers.Chunk{Usage: failed.Usage})
			}
			return nil, alarm.cause(ctx, err)
		}
		alarm.Stop() // what the consumer takes is not the model's time
		if err := l.endless(ctx, chunk); err != nil {
			return nil, err
		}
		l.take(chunk)
		if r.consumerLeft || l.reader.Done() && (!waits || l.reader.Ended()) {
			break
		}
		if l.reader.Done() {
			alarm.arm(usageWait, ErrCallComplete)
			continue
		}
		alarm.begin()
	}
	if err := context.Cause(ctx); err != nil && err != ErrCallComplete {
		return nil, alarm.cause(ctx, err)
	}
	if !l.reader.Ended() && !l.reader.Done() {
		return nil, &providers.Error{Kind: providers.Interrupted, Message: "the reply broke off before its end"}
	}
	return l.close(), nil
}

// take handles one chunk.
func (l *listener) take(c providers.Chunk) {
	written := c.Thought + c.Text + c.CallPart
	l.size += len(written)
	l.withheld += len(c.Text)
	l.reader.Take(c)
	l.withheld += len(c.CallPart)
	l.repeating = l.repeating || l.repeatsTooLong(written)
}

// count takes the usage from what follows a complete call: the end, if the
// model is done there, or more text, which is not needed.
func (l *listener) count(c providers.Chunk) {
	if !l.reader.Count(c) && c.Text == "" && c.Thought == "" && len(l.run.toReplay) == 0 {
		l.run.countsLate = true
	}
}

// part shows what is certain of the reply.
func (l *listener) part(p protocol.Part) {
	if l.closing {
		l.late = append(l.late, p)
		return
	}
	switch p.Kind {
	case protocol.Text:
		l.withheld = 0
		l.shown = l.shown || !l.quiet
		l.emit(TextDelta{Text: p.Text})
	case protocol.Thought:
		l.withheld = 0
		l.emit(Thought{Text: p.Text})
	case protocol.Answer:
		l.emit(AnswerStart{})
	case protocol.Retract:
		if l.shown {
			l.emit(Retract{})
		}
		l.shown = false
	}
}

func (l *listener) emit(p Payload) {
	if !l.quiet {
		l.run.emit(p)
	}
}

// close puts the reply together.
// What only the end of the reply makes text is not shown if the next reply continues it:
// there it may be something else.
func (l *listener) close() *reply {
	l.closing = true
	rep := &reply{Reply: l.reader.Close()}
	l.closing = false
	if rep.Stop == providers.StopLength && rep.Call == nil && rep.Fault == nil && l.run.turnsLeft() {
		l.late = nil
	}
	for _, p := range l.late {
		l.part(p)
	}
	return rep
}

// drop counts what a reply cost of which nothing is kept.
func (l *listener) drop(rep *calling.Reply) {
	if l.reader.Pieces() > 0 || rep.Usage.Prompt > 0 {
		l.run.addUsage(rep)
	}
}

// alarm cancels a call in which nothing arrives for too long.
type alarm struct {
	set    *tools.Alarm // nil: never
	off    bool         // it is never set
	cancel context.CancelCauseFunc
	next   time.Duration
	begun  bool // something has arrived
}

// newAlarm bounds the silence before a reply begins, and then between its pieces,
// unless it is off.
func newAlarm(off bool, cancel context.CancelCauseFunc, first, next time.Duration) *alarm {
	a := &alarm{off: off, cancel: cancel, next: next}
	a.arm(first, overTime("FirstTokenTimeout", first, "the model sent nothing for %v"))
	return a
}

func (a *alarm) arm(d time.Duration, cause error) {
	if !a.off {
		a.set = tools.NewAlarm(d, func() { a.cancel(cause) })
	}
}

// Stop and Reset are those of the alarm that is set, if one is.
func (a *alarm) Stop() time.Duration {
	if a.set == nil {
		return 0
	}
	return a.set.Stop()
}

func (a *alarm) Reset(d time.Duration) {
	if a.set != nil {
		a.set.Reset(d)
	}
}

// begin waits for the next piece of a reply that has begun.
func (a *alarm) begin() {
	if a.begun {
		a.Reset(a.next)
		return
	}
	a.begun = true
	a.arm(a.next, overTime("TokenTimeout", a.next, "the model fell silent for %v in the middle of its reply"))
}

// usageWait is how long a backend may take to report what a reply cost whose call
// is complete. The token that ends it takes most models less.
const usageWait = 300 * time.Millisecond

// ErrCallComplete is why the context of a model call is cancelled whose reply is
// complete, when the backend ends it no sooner: the cause of that context, and no failure.
var ErrCallComplete = errors.New("the call is complete")

// cause is why a call ended: a stall rather than the cancellation it led to.
func (a *alarm) cause(ctx context.Context, err error) error {
	var stall *LimitError
	if errors.As(context.Cause(ctx), &stall) {
		return stall
	}
	return err
}
