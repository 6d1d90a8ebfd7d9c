package wire

import (
	"fmt"
	"math"
	"strings"

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
	for _, m := range r.Messages {
		for _, img := range m.Images {
			if m.Role != providers.User || len(img.Data) == 0 || !strings.HasPrefix(img.Type, "image/") {
				return BadRequest("a picture of %d bytes and the type %q in a message of role %q: only users have pictures, and each its type", len(img.Data), img.Type, m.Role)
			}
		}
	}
	return nil
}

// BadRequest is the error of a request that is not sent.
func BadRequest(format string, args ...any) error {
	return &providers.Error{Kind: providers.BadRequest, Message: fmt.Sprintf(format, args...)}
}
