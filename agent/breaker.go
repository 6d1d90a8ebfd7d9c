package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"mylm/protocol"
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

// foreign reports whether the words of a result may be a stranger's.
func foreign(origin string) bool {
	return origin != "" && origin != tools.Workspace && origin != tools.Memory
}

// count keeps the breakers up to date and trips them.
func (r *run) count(a *attempt) {
	s, limit := &r.state, r.agent.opts.MaxConsecutiveErrors
	s.Tainted = s.Tainted || foreign(a.outcome.Origin)
	sensitive := a.inv != nil && a.inv.Effect.Sensitive() || a.refused != nil
	asked := sensitive || a.inv != nil && !a.inv.Effect.OnlyReads()
	if a.skipped {
		r.limit(&LimitError{Reason: StopRepeatedCall, Limit: "MaxRepeatedCalls", Value: s.Repeats,
			Message: fmt.Sprintf("the model made the same call %s in a row (%s)", times(s.Repeats), describe(a))})
		return
	}
	if a.denied {
		s.Denied = s.Denied || asked
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
		s.Denied = s.Denied && !asked
	} else if s.Errors++; s.Errors >= limit {
		r.limit(&LimitError{Reason: StopConsecutiveErrors, Limit: "MaxConsecutiveErrors", Value: s.Errors,
			Message: fmt.Sprintf("%d tool calls in a row failed (the last: %s)", s.Errors, firstWords(a.outcome.Error, maxDetail))})
		return
	}
	if what := r.stuck(a, sensitive); what != "" {
		r.limit(&LimitError{Reason: StopStuck, Message: what + " (" + describe(a) + ")"})
	}
}

func times(n int) string {
	if n == 2 {
		return "twice"
	}
	return counted(n, "time")
}

// The breaker of circles. A small model looks at things twice, and works in
// rounds of changing and trying; neither is a circle. One is where three calls
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

// stuck notes a call with its result, and says which circle it closes, if any.
func (r *run) stuck(a *attempt, sensitive bool) string {
	s, key := &r.state, signature(a)
	limit, what := sameResults, "the same call had the same result %d times, and nothing was changed in between"
	if !a.outcome.Success() {
		limit, what = sameErrors, "the same error came %d times, and nothing was changed in between"
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
		return fmt.Sprintf("%d calls in a row brought nothing that was not seen before", s.Stale)
	case since >= limit:
		return fmt.Sprintf(what, since)
	}
	return ""
}

// signature is the same for the same call with the same result. A failure is
// known by its error instead, so that slightly different commands with one error
// are the same; unless the error says nothing of its own, as an exit status does.
func signature(a *attempt) string {
	o, text := a.outcome, ""
	switch {
	case o.Success():
		text = a.call.Name + " " + canonical(a.args()) + "\n" + o.Text
	case o.Text == "" && o.ExitCode != nil:
		text = "!" + a.call.Name + " " + canonical(a.args()) + "\n" + o.Error
	default:
		text = "!" + a.call.Name + "\n" + plain(o.Body())
	}
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:8])
}

// plain leaves out of an error what differs between two spellings of the same
// thing: quotes, case, space and "./".
func plain(s string) string {
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
	return firstWords(protocol.Neutralise(a.call.Name+" "+string(a.args())), maxDetail)
}
