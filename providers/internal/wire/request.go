package wire

import (
	"fmt"
	"math"

	"mylm/providers"
)

// Check returns an error for a request that no server could answer.
func Check(r providers.Request) error {
	switch t := r.Temperature; {
	case t != nil && (math.IsNaN(*t) || math.IsInf(*t, 0)):
		return BadRequest("a temperature of %v is impossible; give a number such as 0.7, or none", *t)
	case r.MaxTokens < 0:
		return BadRequest("a reply of at most %d tokens is impossible", r.MaxTokens)
	case r.Think != providers.ThinkAuto && r.Think != providers.ThinkOn && r.Think != providers.ThinkOff:
		return BadRequest("thinking %q: want on, off or nothing", r.Think)
	}
	return nil
}

// BadRequest is the error of a request that is not sent.
func BadRequest(format string, args ...any) error {
	return &providers.Error{Kind: providers.BadRequest, Message: fmt.Sprintf(format, args...)}
}
