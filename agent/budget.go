package agent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"mylm/providers"
	"mylm/providers/calling"
	"mylm/tools"
)

const (
	// defaultWindow is assumed for an unknown window: hosted models of today have
	// more, and few servers at home are given less.
	defaultWindow = 32768

	// smallPrompt fits the smallest window in use beside a reply. A backend is
	// not asked about its window for less, since that takes it a while.
	smallPrompt = 3000

	windowPatience = 3 * time.Second // for a backend to report its window, which is not essential

	replyRoom     = 2048 // for a reply whose length is not limited; a quarter of a small window
	defaultResult = 2000 // tokens of a tool's result that the model is shown

	compactionTarget  = 0.25 // how full a compaction leaves the room, so that the next one is many turns away
	calibrationMargin = 1.03

	// A count beyond these bounds is not one of this prompt's tokens.
	leastScale, mostScale = 0.5, 8

	suspiciousCount = 0.6 // of the estimate: a lower count is checked
)

// learnWindow finds out, once it matters or the prompt is not small, how many
// tokens the model can take.
func (r *run) learnWindow(ctx context.Context, matters bool) {
	s, limit := &r.state, int(r.agent.opts.MaxContextTokens)
	if s.Window > 0 || r.agent.opts.MaxContextTokens == Off || limit == 0 && r.promptTokens() < smallPrompt && !matters {
		return
	}
	s.Window = r.askWindow(ctx)
	s.Guessed = s.Window == 0 && limit == 0
	if s.Window == 0 || limit > 0 && limit < s.Window {
		s.Window = cmp.Or(limit, defaultWindow)
	}
	r.limitResults()
}

// askWindow is the window that the backend reports, 0 if it does not: what is
// wrong with it shows when the model is asked.
func (r *run) askWindow(ctx context.Context) int {
	if !r.elsewhere {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, windowPatience)
		defer cancel()
	}
	info, err := r.effects.Info(ctx)
	if err != nil {
		return 0
	}
	return info.Window
}

// room is how many tokens a prompt may take: the window without those reserved for the reply.
func (r *run) room() int {
	window := r.state.Window
	if n := r.agent.opts.MaxTokens; n > 0 {
		return window - min(n, window/2)
	}
	return window - min(replyRoom, window/4)
}

// scale is how many tokens the backend counts for one that we estimate.
func (r *run) scale() float64 {
	if r.state.Scale == 0 {
		return 1
	}
	return r.state.Scale
}

// promptTokens is the current size of the prompt, in tokens.
func (r *run) promptTokens() int { return r.tokens(r.view.size) }

func (r *run) tokens(estimated int) int { return int(float64(estimated) * r.scale()) }

// resultTokens is how much of a tool's result is shown before the window is
// known; 0: all of it.
func (o *Options) resultTokens() int { return max(0, int(o.MaxToolResultTokens)) }

// limitResults sets how much of a tool's result is shown: at most a third of
// the room, so that the question and the last step fit beside it. It reports
// whether that changes.
func (r *run) limitResults() bool {
	s, before := &r.state, r.state.Results
	s.Results = r.agent.opts.resultTokens()
	if s.Window > 0 && s.Results > 0 {
		s.Results = min(s.Results, max(32, int(float64(r.room()/3)/r.scale())))
	}
	if s.Results == before {
		return false
	}
	s.Prompt = 0 // what is sent next is no continuation
	r.syncView()
	return true
}

// syncView adds new entries of the record to the view.
func (r *run) syncView() { r.view.sync(r.session.snapshot(), r.state.Results) }

func (r *run) calibrate(tokens int) {
	if r.view.size > 0 {
		r.state.Scale = min(mostScale, max(leastScale, calibrationMargin*float64(tokens)/float64(r.view.size)))
	}
}

// shrinkPrompt makes the prompt smaller after the backend reported that it is too long,
// and reports whether that is worth another try.
func (r *run) shrinkPrompt(ctx context.Context, e *providers.Error) (bool, error) {
	s := &r.state
	if r.agent.opts.MaxContextTokens == Off || len(r.toReplay) > 0 { // what was done about it is in the record
		return false, nil
	}
	if s.Window == 0 {
		r.learnWindow(ctx, true)
	}
	before := r.promptTokens()
	switch {
	case e.PromptTokens > 0 && float64(e.PromptTokens) <= mostScale*float64(r.view.size):
		r.calibrate(e.PromptTokens)
		if e.Window > 0 {
			s.Window = e.Window
		} else if s.Guessed || s.Window == 0 {
			s.Window = e.PromptTokens * 3 / 4
		}
	case 0 < e.Window && e.Window < before:
		s.Window = e.Window
	default: // the window is smaller than assumed, or the estimate too low, by an unknown amount
		s.Window, s.Guessed = before*3/4, true
	}
	return r.makeRoom(ctx)
}

// checkCount learns from the backend's own count of the prompt that it was sent. If
// the count shows that the server truncated the conversation silently, the reply is worth nothing.
//
// Some backends count only what they had not read before. Such a count is at
// most about that of the messages after the last reply, and proves nothing.
func (r *run) checkCount(ctx context.Context, u providers.Usage) error {
	s, v := &r.state, &r.view
	size, results := v.size, s.Results
	switch {
	case u.Prompt == 0, float64(u.Prompt) > mostScale*float64(size), r.agent.opts.Hooks.TransformContext != nil:
		return nil
	case len(r.toReplay) > 0: // it was checked when it arrived
		if !r.switched {
			r.noteCount(u.Prompt)
		}
		return nil
	case u.Prompt < r.minimumCount():
		if u.Prompt <= r.tokens(v.sinceLastReply())*5/4+unreadSlack {
			return nil
		}
		return r.silentCut("it read %d tokens of a prompt of which it had read %d before, and which only grew since", u.Prompt, s.Prompt)
	}
	few := float64(u.Prompt) < suspiciousCount*float64(r.promptTokens())
	if few { // a window too small to be asked for may have cut it
		r.learnWindow(ctx, true)
	}
	if s.Window > 0 && !s.Guessed && s.Window != int(r.agent.opts.MaxContextTokens) {
		if u.Prompt >= s.Window-1 {
			return r.silentCut("it read %d tokens, which is all its window holds", u.Prompt)
		}
		if n := v.countWords(0); few && n > s.Window {
			return r.silentCut("it read %d tokens of a prompt of %d words, and its window holds %d", u.Prompt, n, s.Window)
		}
	}
	if s.Results == results { // else the next prompt is another one
		r.noteCount(u.Prompt)
	}
	return nil
}

// unreadSlack is for what a chat template adds, and for what is read again.
const unreadSlack = 64

// noteCount notes what the backend counted.
func (r *run) noteCount(tokens int) {
	s, v := &r.state, &r.view
	if v.closing == nil { // else no prompt continues it
		s.Prompt, s.PromptCut, s.Counted = tokens, v.cut, len(v.messages)
	}
	if float64(tokens) >= leastScale*float64(v.size) {
		r.calibrate(tokens)
	}
}

// minimumCount is what the backend has to count if it reads the whole prompt, as
// far as an earlier count of its beginning shows; 0: there is none. Two words
// that were added are one token at the very least.
func (r *run) minimumCount() int {
	s, v := &r.state, &r.view
	if v.closing != nil || s.Prompt == 0 || s.PromptCut != v.cut || s.Counted > len(v.messages) {
		return 0
	}
	return s.Prompt + v.countWords(s.Counted)/2
}

// silentCut is the error of a backend that read less than it was sent.
func (r *run) silentCut(format string, args ...any) error {
	return &providers.Error{
		Kind: providers.Overflow, PromptTokens: r.promptTokens(), Window: r.state.Window,
		Message: "the backend silently truncated the conversation: " + fmt.Sprintf(format, args...),
	}
}

// needsCount reports whether the backend's count of the prompt is worth waiting
// for: there is none, or the prompt has grown by a quarter since.
func (r *run) needsCount() bool {
	s := &r.state
	return !r.countsLate && r.agent.opts.Hooks.TransformContext == nil && (r.minimumCount() == 0 || r.promptTokens() > s.Prompt*5/4)
}

// markerTokens is what the marker of a cut takes at most.
const markerTokens = 24

// shorten keeps the first two thirds and the last third of what limit tokens
// hold. A limit of 0 keeps everything.
func shorten(s string, limit int) string { return shortenResult(s, limit, false) }

// shortenResult is shorten for a text that may have been cut: see tools.Abridge.
func shortenResult(s string, limit int, cut bool) string {
	if limit <= 0 || len(s) <= limit || calling.HeadOf(s, limit) == len(s) {
		return s
	}
	limit = max(3, limit-markerTokens)
	head := calling.HeadOf(s, limit*2/3)
	short := tools.Abridge(s, head, len(s)-max(head, calling.TailOf(s, limit/3)), cut)
	if calling.Estimate(short) >= calling.Estimate(s) {
		return s
	}
	return short
}
