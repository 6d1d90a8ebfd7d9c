package agent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"mylm/protocol"
	"mylm/providers"
	"mylm/providers/calling"
	"mylm/tools"
)

// repeated counts identical calls in a row, and reports whether there are too
// many. Calls are identical if their arguments are, once they fit the schema.
func (r *run) repeated(a *attempt) bool {
	s := &r.state
	digest := sha256.Sum256([]byte(a.call.Name + " " + canonical(a.args())))
	key := hex.EncodeToString(digest[:16])
	if key != s.LastCall {
		s.LastCall, s.Repeats = key, 0
	}
	s.Repeats++
	return s.Repeats >= r.agent.opts.MaxRepeatedCalls
}

// canonical writes arguments with sorted keys and without white space, so that
// two spellings of the same call are equal. Numbers stay as they were written.
func canonical(args json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(args)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return string(args)
	}
	return string(b)
}

// untrusted reports whether a result may hold text from outside the workspace, which strangers
// may have written.
func untrusted(origin string) bool {
	return origin != "" && origin != tools.Workspace && origin != tools.Memory
}

// updateBreakers keeps the breakers up to date and trips them: for consecutive errors,
// denied calls, and calls that go in circles.
func (r *run) updateBreakers(a *attempt) {
	s, limit := &r.state, r.agent.opts.MaxConsecutiveErrors
	s.Tainted = s.Tainted || untrusted(a.outcome.Origin)
	sensitive := a.inv != nil && a.inv.Effect.Sensitive() || a.refused != nil
	asked := sensitive || a.inv != nil && !a.inv.Effect.OnlyReads()
	if a.skipped {
		r.limit(&LimitError{Reason: StopRepeatedCall, Limit: "MaxRepeatedCalls", Value: s.Repeats,
			Message: fmt.Sprintf("the model made the same call %s in a row (%s)", times(s.Repeats), describe(a))})
		return
	}
	if a.denied { // a run that ends now is denied; a later call that does as much clears it
		s.DeniedRead = !asked && (!s.Denied || s.DeniedRead)
		s.Denied = true
		if s.Denials++; s.Denials >= limit {
			r.stop(StopDenied, nil)
		}
		return
	}
	s.Denials = 0
	if a.outcome.Unknown { // no sign of a tool that fails, and a good reason for the same call
		s.LastCall, s.Repeats = "", 0
		return
	}
	if a.outcome.Success() {
		s.Errors = 0
		s.Denied = s.Denied && !asked && !s.DeniedRead
	} else if s.Errors++; s.Errors >= limit {
		r.limit(&LimitError{Reason: StopConsecutiveErrors, Limit: "MaxConsecutiveErrors", Value: s.Errors,
			Message: fmt.Sprintf("%d tool calls in a row failed (the last: %s)", s.Errors, calling.FirstWords(a.outcome.Error, calling.MaxDetail))})
		return
	}
	if what := r.circle(a, sensitive); what != "" {
		r.limit(&LimitError{Reason: StopStuck, Message: what + " (" + describe(a) + ")"})
	}
}

func times(n int) string {
	if n == 2 {
		return "twice"
	}
	return tools.Count(n, "time")
}

// The breaker of circles. A small model reads things twice, and alternates
// between changing and testing; neither is a circle. One is where three calls
// in a row bring nothing that was not there before, as in A-B-A-B-A, or where
// one thing comes back again and again although nothing was changed.
const (
	seenWindow  = 12 // calls that are remembered
	staleLimit  = 3  // calls in a row that bring nothing unseen
	sameResults = 4  // times that a call has the same result
	sameErrors  = 3  // times of the same error, whatever the call
)

// changed marks, among the seen calls, one that may have changed the world.
const changed = "*"

// circle records a call with its result, and returns which circle it closes, if any: the run is
// stuck then.
func (r *run) circle(a *attempt, sensitive bool) string {
	s, key := &r.state, signature(a)
	limit, what := sameResults, "the same call had the same result %d times, with no change in between"
	if !a.outcome.Success() {
		limit, what = sameErrors, "the same error occurred %d times, with no change in between"
	}
	times, since := 1, 1
	for _, k := range s.Seen {
		switch k {
		case key:
			times, since = times+1, since+1
		case changed:
			since = 1
		}
	}
	if times == 1 {
		s.Stale = 0
	} else {
		s.Stale++
	}
	s.Seen = append(s.Seen, key)
	if times == 1 && sensitive && a.outcome.Success() {
		s.Seen = append(s.Seen, changed)
	}
	if n := len(s.Seen) - seenWindow; n > 0 {
		s.Seen = slices.Clone(s.Seen[n:])
	}
	switch {
	case s.Stale >= staleLimit:
		return fmt.Sprintf("%d calls in a row returned nothing new", s.Stale)
	case since >= limit:
		return fmt.Sprintf(what, since)
	}
	return ""
}

// signature is the same for the same call with the same result. A failure is
// known by its error instead, so that slightly different commands with one
// error are the same; unless the error has no information of its own, such as
// an exit status.
func signature(a *attempt) string {
	o, text := a.outcome, ""
	switch {
	case o.Success():
		text = a.call.Name + " " + canonical(a.args()) + "\n" + o.Text
	case o.Text == "" && o.ExitCode != nil:
		text = "!" + a.call.Name + " " + canonical(a.args()) + "\n" + o.Error
	default:
		text = "!" + a.call.Name + "\n" + normalized(o.Body())
	}
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:8])
}

// normalized removes from an error what differs between two spellings of the same
// thing: quotes, case, space and "./".
func normalized(s string) string {
	const enough = 4000 // bytes; the end of a long output says as much
	if len(s) > enough {
		s = s[len(s)-enough:]
	}
	return strings.ReplaceAll(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune("'\"`", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s), "./", "")
}

// describe is a call in a few words.
func describe(a *attempt) string {
	return calling.FirstWords(protocol.Neutralise(a.call.Name+" "+string(a.args())), calling.MaxDetail)
}

// endless returns why a reply that continues with a chunk is stopped; nil: it
// may go on. Unless its length is limited, it may have as many tokens as the
// window holds.
func (l *listener) endless(ctx context.Context, c providers.Chunk) error {
	r := l.run
	tooLong := func(format string, n int) error {
		return &LimitError{Reason: StopContextFull, Limit: "MaxTokens", Value: r.agent.opts.MaxTokens, Message: "the reply does not end: stopped after " + fmt.Sprintf(format, n)}
	}
	switch {
	case c.Stop != "":
	case l.repeating:
		return &LimitError{Reason: StopStuck, Limit: "MaxRepetition", Value: int(r.agent.opts.MaxRepetition),
			Message: fmt.Sprintf("the reply repeats itself and does not end: stopped after %d tokens of repetition", l.repetition.Tokens)}
	case l.size > calling.MaxReply:
		return tooLong("%d MiB", calling.MaxReply>>20)
	case len(r.toReplay) > 0:
	case r.agent.opts.MaxTokens > 0: // servers may ignore it; some send less than a token at once
		if n := r.agent.opts.MaxTokens; calling.ExceedsLimit(l.reader.Pieces(), l.size, n) {
			return tooLong("%d tokens, which is all that it may have", n)
		}
	case r.agent.opts.MaxContextTokens == Off:
	case calling.ExceedsWindow(l.reader.Pieces(), l.size, cmp.Or(l.limit, r.state.Window, defaultWindow)):
		if l.limit == 0 {
			if l.limit = r.state.Window; l.limit == 0 || r.state.Guessed {
				known := r.askWindow(ctx)
				l.limit, l.guessed = cmp.Or(known, max(l.limit, defaultWindow)), known == 0
			}
			return l.endless(ctx, c)
		}
		if l.guessed {
			return tooLong("%d tokens; how many the context window holds is unknown", l.limit)
		}
		return tooLong("%d tokens, which is all that the context window holds", l.limit)
	}
	return nil
}

// repeatsTooLong takes a chunk in and reports whether the reply has repeated itself for
// too long.
func (l *listener) repeatsTooLong(chunk string) bool {
	limit := l.run.agent.opts.MaxRepetition
	if limit == Off || len(l.run.toReplay) > 0 { // what was recorded has been judged
		return false
	}
	p := &l.repetition
	p.Add(chunk)
	tokens := p.Tokens
	if p.Bytes <= l.withheld {
		tokens /= argumentsRepetition
	}
	return tokens >= int(limit)
}

// windowFilled is the error of a reply that the length limit cut, and that nothing can be
// added to.
func (r *run) windowFilled(err error) error {
	return &LimitError{Reason: StopContextFull, Limit: "MaxTokens", Value: r.agent.opts.MaxTokens, Err: err,
		Message: "the reply filled the context window and is not complete"}
}

// How much repetition stops a reply, in tokens; in a call it is a multiple.
const (
	defaultRepetition   = calling.MaxRepetition
	argumentsRepetition = 10
)
