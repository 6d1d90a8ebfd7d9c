package agent

import (
	"context"
	"fmt"

	"mylm/providers"
)

// weigh learns from the backend's own count of the prompt that it was sent. If
// the count shows that the prompt was cut, the reply is worth nothing.
//
// Some backends count only what they had not read before. Such a count is at
// most about that of the messages behind the last reply, and says nothing.
func (r *run) weigh(ctx context.Context, u providers.Usage) error {
	s, v := &r.state, &r.view
	size, results := v.size, s.Results
	switch {
	case u.Prompt == 0, float64(u.Prompt) > mostScale*float64(size), r.agent.opts.Hooks.TransformContext != nil:
		return nil
	case len(r.past) > 0: // this was looked at when it came
		if !r.switched {
			r.counted(u.Prompt)
		}
		return nil
	case u.Prompt < r.leastCount():
		if u.Prompt <= r.tokens(v.unread())*5/4+unreadSlack {
			return nil
		}
		return r.cut("it read %d tokens of a prompt of which it had read %d before, and which only grew since", u.Prompt, s.Prompt)
	}
	few := float64(u.Prompt) < fewTokens*float64(r.measure())
	if few { // a window too small to be asked for may have cut it
		r.learnWindow(ctx, true)
	}
	if s.Window > 0 && !s.Guessed && s.Window != int(r.agent.opts.MaxContextTokens) {
		if u.Prompt >= s.Window-1 {
			return r.cut("it read %d tokens, which is all its window holds", u.Prompt)
		}
		if n := v.words(0); few && n > s.Window {
			return r.cut("it read %d tokens of a prompt of %d words, and its window holds %d", u.Prompt, n, s.Window)
		}
	}
	if s.Results == results { // else the next prompt is another one
		r.counted(u.Prompt)
	}
	return nil
}

// unreadSlack is for what a chat template adds, and for what is read again.
const unreadSlack = 64

// counted notes what the backend counted.
func (r *run) counted(tokens int) {
	s, v := &r.state, &r.view
	if v.closing == nil { // else no prompt goes on from it
		s.Prompt, s.PromptCut, s.Counted = tokens, v.cut, len(v.messages)
	}
	if float64(tokens) >= leastScale*float64(v.size) {
		r.calibrate(tokens)
	}
}

// leastCount is what the backend has to count if it reads the whole prompt, as
// far as an earlier count of its beginning tells; 0: there is none. Two words
// that were added are one token at the very least.
func (r *run) leastCount() int {
	s, v := &r.state, &r.view
	if v.closing != nil || s.Prompt == 0 || s.PromptCut != v.cut || s.Counted > len(v.messages) {
		return 0
	}
	return s.Prompt + v.words(s.Counted)/2
}

// cut is the error of a backend that read less than it was sent.
func (r *run) cut(format string, args ...any) error {
	return &providers.Error{
		Kind: providers.Overflow, PromptTokens: r.measure(), Window: r.state.Window,
		Message: "the backend cut the conversation without a word: " + fmt.Sprintf(format, args...),
	}
}

// lacksCount reports whether the backend's count of the prompt is worth waiting
// for: there is none, or the prompt is a quarter larger since.
func (r *run) lacksCount() bool {
	s := &r.state
	return !r.untold && r.agent.opts.Hooks.TransformContext == nil && (r.leastCount() == 0 || r.measure() > s.Prompt*5/4)
}
