package wire

import (
	"errors"
	"strings"
	"sync/atomic"

	"mylm/providers"
)

// Refused is what a server turned out not to take, though most do.
type Refused uint32

// Each of them is learned from a refusal, and the request is made again without.
const (
	// RefusesSystem: system messages. Their text goes to the head of the first
	// message of a user.
	RefusesSystem Refused = 1 << iota
	// RefusesRows: neighboring messages of one role. They become one.
	RefusesRows
	// RefusesUsage: the field stream_options.
	RefusesUsage
	// RefusesLimit: the name max_tokens. OpenAI's later one is taken.
	RefusesLimit
)

// Values of Error.Param for what nobody but this package can change.
const (
	paramRows  = "roles"
	paramUsage = "stream_options"
	paramLimit = "max_completion_tokens"
)

// Adapter makes the requests of one model fit a server that refuses what others
// take. The zero value changes nothing. It may be used by several goroutines
// at once.
type Adapter struct{ refused atomic.Uint32 }

// Ask makes a request, and again for each thing that the server refuses for the
// first time, which Request.Notice is told. From then on requests are without it,
// so that a conversation keeps its beginning.
func (a *Adapter) Ask(r providers.Request, yield func(providers.Chunk, error) bool,
	ask func(providers.Request, Refused, func(providers.Chunk, error) bool) error) error {
	begun := false
	counting := func(c providers.Chunk, err error) bool {
		begun = true
		return yield(c, err)
	}
	for {
		without := Refused(a.refused.Load())
		adapted := r
		adapted.Messages = without.messages(r.Messages)
		err := ask(adapted, without, counting)
		reason, notice := refusal(err, adapted.Messages)
		if begun || reason == 0 || without&reason != 0 {
			return err
		}
		if before := a.refused.Or(uint32(reason)); Refused(before)&reason == 0 && r.Notice != nil {
			r.Notice(notice)
		}
	}
}

// refusal is what of a request with these messages an error is about; 0: nothing
// that could be left out.
func refusal(err error, messages []providers.Message) (Refused, string) {
	var e *providers.Error
	if !errors.As(err, &e) || e.Kind != providers.BadRequest {
		return 0, ""
	}
	hasSystem, rows := false, false
	for i, m := range messages {
		hasSystem = hasSystem || m.Role == providers.System
		rows = rows || i > 0 && m.Role == messages[i-1].Role
	}
	switch {
	case e.Param == paramRows && rows:
		return RefusesRows, "the server wants the roles of messages to alternate: neighboring messages are joined"
	// Some templates count a system message among those that have to alternate.
	case hasSystem && (e.Param == providers.ParamSystem || e.Param == paramRows):
		return RefusesSystem, "the server takes no system message for this model: the instructions are sent with the first question"
	case e.Param == paramUsage:
		return RefusesUsage, "the server does not take stream_options: it may not report how many tokens a reply costs"
	case e.Param == paramLimit:
		return RefusesLimit, "the server calls the limit of a reply max_completion_tokens"
	}
	return 0, ""
}

// messages is a conversation without what is refused.
func (w Refused) messages(all []providers.Message) []providers.Message {
	if w&RefusesSystem != 0 {
		all = withoutSystem(all)
	}
	if w&RefusesRows != 0 {
		all = joined(all)
	}
	return all
}

func withoutSystem(all []providers.Message) []providers.Message {
	var system []string
	var rest []providers.Message
	first := -1
	for _, m := range all {
		if m.Role == providers.System {
			system = append(system, m.Text)
			continue
		}
		if first < 0 && m.Role == providers.User {
			first = len(rest)
		}
		rest = append(rest, m)
	}
	switch text := strings.Join(system, "\n\n"); {
	case len(system) == 0:
	case first < 0:
		rest = append([]providers.Message{{Role: providers.User, Text: text}}, rest...)
	default:
		rest[first].Text = text + "\n\n" + rest[first].Text
	}
	return rest
}

func joined(all []providers.Message) (rows []providers.Message) {
	for len(all) > 0 {
		m, texts := all[0], []string(nil)
		m.Images = nil
		for ; len(all) > 0 && all[0].Role == m.Role; all = all[1:] {
			texts = append(texts, all[0].Text)
			m.Images = append(m.Images, all[0].Images...)
		}
		m.Text = strings.Join(texts, "\n\n")
		rows = append(rows, m)
	}
	return rows
}
