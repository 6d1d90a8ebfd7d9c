package temporal

import (
	"errors"

	"mylm/agent"
	"mylm/providers"
)

// plain is the error of a run as JSON keeps it: what the model or a limit did, without
// the cause. Both are nil for any other.
func plain(err error) (fault *providers.Error, limit *agent.LimitError) {
	if errors.As(err, &limit) {
		return nil, &agent.LimitError{Reason: limit.Reason, Limit: limit.Limit, Message: limit.Message}
	}
	if errors.As(err, &fault) {
		copied := *fault
		copied.Err = nil
		fault = &copied
	}
	return fault, nil
}
