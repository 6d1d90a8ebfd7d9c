package failure

import (
	"cmp"
	"errors"
	"fmt"

	"mylm/agent"
)

// endCodes are the exit codes of ends that are no error of a library; Of gives the others.
var endCodes = map[agent.StopReason]int{
	agent.StopDenied: ExitDenied, agent.StopMalformed: ExitMalformed, agent.StopInterrupted: ExitInterrupted,
	agent.StopTimeout: ExitTimeout, agent.StopContextFull: ExitContextFull, agent.StopInternal: ExitError,
}

// Ended is the message and exit code of a run that has ended: nil if it is complete.
func Ended(r agent.Result) *Error {
	if r.StopReason == agent.StopComplete {
		return nil
	}
	f := &Error{Code: cmp.Or(endCodes[r.StopReason], ExitPartial), Name: string(r.StopReason), Err: r.Err, Hint: Advice(r.Err)}
	switch r.StopReason {
	case agent.StopDenied:
		f.Err = cmp.Or(r.Err, errDenied)
	case agent.StopMalformed, agent.StopRepeatedCall, agent.StopConsecutiveErrors:
		f.Err = fmt.Errorf("stopped: %w", r.Err)
	case agent.StopInterrupted:
		f.Err, f.Hint = ErrInterrupted, ""
	case agent.StopFinishOther:
		f.Err, f.Hint = fmt.Errorf("the reply is not complete: %v", r.Err), ""
	case agent.StopInternal:
		f.Name = "internal"
	default: // a limit, or a failure of the model
		var limit *agent.LimitError
		if !errors.As(r.Err, &limit) {
			return Of(r.Err)
		}
		f.Err = limit
	}
	return f
}

var errDenied = errors.New("a call was denied, and the model found no other way")
