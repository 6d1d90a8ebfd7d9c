package calling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"

	"mylm/prompts"
	"mylm/protocol"
	"mylm/providers"
	"mylm/tools"
)

// Model is a model with tools on top of one without. Its fields are not changed while
// it is used; it may be used by several goroutines at once.
type Model struct {
	Model   providers.Model
	Prompts *prompts.Set // nil: the built-in ones
	Form    Form         // in which calls are shown; "": ToolCode

	Temperature *float64           // for requests that have none
	Seed        *int               // likewise
	MaxTokens   int                // likewise
	Think       providers.Thinking // likewise

	FirstTokenTimeout time.Duration // how long a reply may take to begin; 0: any time
	TokenTimeout      time.Duration // how long it may then pause; 0: any time

	window knownWindow
	shown  knownShown
}

// Bounds of one request: how many replies that cannot be used are corrected, unseen, and
// how often the backend is asked, also for what its server refuses.
const (
	maxCorrections = 2
	maxAsked       = 5
)

// usageWait is how long a backend may take to report what a reply cost whose call
// is complete. The token that ends it takes most models less.
const usageWait = 300 * time.Millisecond

func (m *Model) prompts() *prompts.Set {
	if m.Prompts != nil {
		return m.Prompts
	}
	return prompts.Default()
}

// Generate asks the model, and yields its reply as it arrives. The last event, and no
// other, has an End. A call is yielded when it is complete, and its arguments fit. A
// reply that cannot be used is corrected within the request, at most twice; what was
// already yielded of it stays.
//
// An error is yielded once, as the last element: a *RequestError, an *OutputError, a
// *providers.Error of the backend, or the context's. Breaking out of the loop or
// cancelling ctx ends the request at once.
func (m *Model) Generate(ctx context.Context, q Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		g := &generation{model: m, request: q, yield: yield}
		if err := g.run(ctx); err != nil && !g.left {
			yield(Event{}, err)
		}
	}
}

// Tokens estimates the prompt of a request.
func (m *Model) Tokens(q Request) (int, error) {
	g := &generation{model: m, request: q}
	if err := g.prepare(); err != nil {
		return 0, err
	}
	return promptTokens(g.messages), nil
}

func promptTokens(messages []providers.Message) (n int) {
	for _, m := range messages {
		n += Estimate(m.Text) + MessageTokens
	}
	return n
}

// generation is one request on its way.
type generation struct {
	model    *Model
	request  Request
	tools    *toolset // all that the caller has
	offered  *toolset // those that may be called
	messages []providers.Message
	yield    func(Event, error) bool
	left     bool // the caller has

	corrections int
	asked       int             // how often the backend was
	hold        bool            // text is not passed on before the verdict
	held        strings.Builder // of this reply
	shown       strings.Builder // of all replies
	fences      int             // how many lines of it begin or end a fence, up to counted
	counted     int
	searched    int    // how much of it has been searched for line breaks
	cut         string // the beginning of a character of a thought
	source      source // of this reply
	closing     bool   // its verdict is near
	lost        int    // bytes at the end of the text in which a call was found that cannot be read, or a result
	called      bool   // it holds a call, or one that cannot be read
	inCall      int    // bytes since the decoder last passed text on
	stopped     string // the stop sequence that was met
	usage       providers.Usage
	estimated   bool
}

func (g *generation) prepare() (err error) {
	if len(g.request.Messages) == 0 {
		return bad("messages", "there are none")
	}
	c, identity, rest := conversationOf(g.model.Form, g.request)
	s, err := g.model.show(g.request, identity)
	if err != nil {
		return err
	}
	g.tools, g.offered = s.all, s.offered
	g.messages, err = c.render(s.system, rest, len(g.request.Messages)-len(rest))
	return err
}

func (g *generation) run(ctx context.Context) error {
	if err := g.prepare(); err != nil {
		return err
	}
	if err := g.checkWindow(ctx); err != nil {
		return err
	}
	for {
		first := g.corrections == 0
		g.hold = g.request.Choice.Mode == Required || g.request.Format != nil || !first && g.shown.Len() > 0
		g.held.Reset()
		reply, err := g.read(ctx)
		if err != nil || g.left {
			return err
		}
		if g.account(reply, first); g.stopped != "" {
			return g.end(providers.StopEnd)
		}
		done, problem, correction, err := g.judge(reply)
		if err != nil || done || g.left {
			return err
		}
		if g.corrections++; g.corrections > maxCorrections || g.asked >= maxAsked {
			if reply.Fault != nil {
				g.held.Reset()
			}
			if g.request.Choice.Mode == None && g.request.Format == nil && g.insists(reply) {
				return g.end(providers.StopEnd)
			}
			return &OutputError{Replies: g.corrections, Err: problem, Usage: g.usage}
		}
		g.correct(reply, correction)
	}
}

// read makes one request of the model and returns its reply.
func (g *generation) read(ctx context.Context) (Reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m, q := g.model, g.request
	request := providers.Request{
		Messages: g.messages, Temperature: cmp.Or(q.Temperature, m.Temperature), Seed: cmp.Or(q.Seed, m.Seed),
		MaxTokens: cmp.Or(q.MaxTokens, m.MaxTokens), Think: cmp.Or(q.Think, m.Think),
		Notice: func(string) { g.asked++ }, // its server refused something, and is asked without
	}
	g.asked++
	if g.request.Format != nil && len(g.offered.names) == 0 {
		request.Format = g.request.Format.Constraint()
	}
	var r source = &plain{part: g.part}
	if len(g.tools.names) > 0 {
		r = NewReader(g.options(), g.part)
	}
	g.source, g.closing, g.called, g.inCall = r, false, false, 0
	end := func() Reply { return g.close(r) }
	limits := limiter{maxTokens: request.MaxTokens, window: func() int { return g.model.windowOf(ctx) }, lenient: len(g.tools.names) == 0}
	w := watch{cancel: cancel, next: g.model.TokenTimeout}
	w.set(g.model.FirstTokenTimeout, "the model sent nothing for %v")
	defer w.stop()
	for chunk, err := range g.model.Model.Generate(ctx, request) {
		w.stop()
		switch {
		case r.Done():
			if (chunk.Call != nil || chunk.CallPart != "") && err == nil {
				continue // one call a reply
			}
			r.Count(chunk)
			return end(), nil
		case err != nil:
			return Reply{}, g.blind(w.cause(ctx, err))
		}
		if chunk.Stop == "" { // else it ended by itself
			switch limits.met {
			case tooLong:
				r.Take(providers.Chunk{Stop: providers.StopLength})
				return end(), nil
			case repeats:
				g.account(end(), g.corrections == 0)
				return Reply{}, &OutputError{Replies: g.corrections + 1, Err: errRepeats, Usage: g.usage}
			}
		}
		g.inCall += len(chunk.Text)
		r.Take(chunk)
		if g.flushCertain(); g.left {
			return Reply{}, nil
		}
		g.inCall += len(chunk.CallPart)
		if g.stopped != "" {
			return end(), nil
		}
		limits.take(chunk.Thought+chunk.Text+chunk.CallPart, g.inCall)
		if r.Done() {
			if r.Ended() {
				break
			}
			w.timer = tools.NewAlarm(usageWait, func() { cancel(errCallComplete) })
			continue
		}
		w.set(w.next, "the model fell silent for %v in the middle of its reply")
	}
	if err := context.Cause(ctx); err != nil && err != errCallComplete {
		return Reply{}, w.cause(ctx, err)
	}
	if !r.Ended() && !r.Done() {
		return Reply{}, &providers.Error{Kind: providers.Interrupted, Message: "the reply broke off before its end"}
	}
	return end(), nil
}

// options are how a reply is read.
func (g *generation) options() protocol.Options {
	ran := slices.ContainsFunc(g.request.Messages, func(m Message) bool { return m.Role == Result })
	told := g.corrections > 0
	return protocol.Options{Tools: g.tools, Told: told, Reports: told && ran, Last: true}
}

// blind names the picture that a model cannot see.
func (g *generation) blind(err error) error {
	var e *providers.Error
	if errors.As(err, &e) && e.Param == providers.ParamImages {
		for i, m := range g.request.Messages {
			if len(m.Images) > 0 {
				return &RequestError{Param: cmp.Or(m.Images[0].Name, fmt.Sprintf("messages[%d]", i)), Message: e.Message, Err: e}
			}
		}
	}
	return err
}

var errCallComplete = errors.New("the call is complete")

// part passes on what is certain of the reply, unless its verdict may take it back.
// White space at the beginning of the text of a reply, and before a call, is left out.
func (g *generation) part(p protocol.Part) {
	switch p.Kind {
	case protocol.Thought:
		if g.request.Choice.Mode != None || !g.source.Done() { // else the whole text is looked at, once
			g.flushCertain()
		}
		g.inCall = 0
		text := g.cut + p.Text
		whole := tools.Begin(text, len(text))
		g.cut = text[len(whole):]
		g.emit(Event{Thought: whole})
	case protocol.Text:
		if g.inCall = 0; g.stopped != "" {
			return
		}
		g.held.WriteString(p.Text)
	case protocol.Call, protocol.Malformed:
		g.called = p.Call != nil || p.Err.Raw != "" && p.Err.Reason != protocol.CallAfterAnswer
	case protocol.Answer, protocol.Retract:
		if g.hold {
			g.held.Reset()
		}
	}
}

// flushCertain passes on what of the text is certain now. What ends the reply may come in
// the same piece as the text that it makes doubtful, so this follows a whole piece.
func (g *generation) flushCertain() {
	if !g.hold && !g.closing && g.held.Len() > 0 {
		if g.request.Choice.Mode == None && g.called { // a call came, which will not be one
			g.lost = g.invents(g.shown.String() + g.held.String())
			g.withhold()
		}
		g.flush(false)
	}
}

// flush passes on what is held: all of it, or without what may turn out to be a call, or to
// belong to one, and up to the last white space, so that text does not end in white space
// when a call follows.
func (g *generation) flush(all bool) {
	text, literal := g.held.String(), len(g.tools.names) == 0
	if g.shown.Len() == 0 && !literal {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
	}
	now := text
	if !all {
		now = text[:max(0, len(text)-g.source.Doubtful())]
	}
	if !g.hold {
		now = g.upToStop(text, len(now), all)
	}
	if !all {
		now = tools.Begin(now, len(now)) // no half of a character
	}
	if !all && !literal && g.stopped == "" {
		now = beforeCall(now, g.shown.Len() > 0, g.fencesShown(), !g.closing)
	}
	if now == "" && g.stopped == "" {
		return
	}
	g.held.Reset()
	if g.stopped == "" {
		g.held.WriteString(text[len(now):])
	}
	g.shown.WriteString(now)
	g.emit(Event{Text: now})
}

// fencesShown is how many lines of what was shown begin or end a fence.
func (g *generation) fencesShown() int {
	shown := g.shown.String()
	if n := strings.LastIndexByte(shown[g.searched:], '\n') + 1; n > 0 {
		end := g.searched + n
		g.fences += fences(shown[g.counted:end])
		g.counted = end
	}
	g.searched = len(shown)
	return g.fences + fences(shown[g.counted:min(len(shown), g.counted+maxDebris)])
}

// upToStop is a text up to end, or up to a stop sequence that begins before that, or to
// what may become one.
func (g *generation) upToStop(text string, end int, all bool) string {
	now := text[:end]
	for _, stop := range g.request.Stop {
		if at := strings.Index(text[:min(len(text), len(now)+len(stop))], stop); at >= 0 && at <= end && (g.stopped == "" || at < end) {
			g.stopped, end = stop, at
		}
	}
	if g.stopped != "" || all {
		return text[:end]
	}
	for _, stop := range g.request.Stop {
		for n := min(len(stop)-1, len(now)); n > 0; n-- {
			if strings.HasSuffix(now, stop[:n]) {
				end = min(end, len(now)-n)
				break
			}
		}
	}
	return now[:end]
}

func (g *generation) emit(e Event) {
	if (e.Text != "" || e.Thought != "" || e.Call != nil || e.End != nil) && !g.left {
		g.left = !g.yield(e, nil)
	}
}

func (g *generation) account(r Reply, first bool) {
	u := r.Usage
	if u.Prompt == 0 {
		g.estimated = true
		u.Prompt = promptTokens(g.messages)
	}
	if u.Output == 0 {
		g.estimated = true
		u.Output = Estimate(r.Raw) + Estimate(r.SeparateThought)
	}
	if !first {
		u.Prompt, u.Evaluated = 0, 0 // the corrections are not the caller's
	}
	g.usage = g.usage.Add(u)
	g.estimated = g.estimated || r.Partial
}

// end passes on the text that is left, and ends the reply.
func (g *generation) end(stop providers.StopReason) error {
	if stop != StopCall {
		g.flush(true)
	}
	g.emit(Event{End: &End{Stop: stop, Sequence: g.stopped, Usage: g.usage, Estimated: g.estimated, Corrections: g.corrections}})
	return nil
}
