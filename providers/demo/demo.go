package demo

import (
	"context"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"mylm/providers"
)

// window is what Info reports. The rules have no limit of their own; budgets that
// are derived from a window need a number, and this one is common.
const window = 32768

// Model answers by rules. It implements providers.Model and
// providers.Informer, and may be used by several goroutines at once.
type Model struct{}

// New makes the demo model.
func New() *Model { return &Model{} }

// Info reports a model that is loaded, chats, and does not think.
func (*Model) Info(context.Context) (providers.Info, error) {
	return providers.Info{Window: window, Loaded: true, Chats: true}, nil
}

// Generate answers the last thing the user said, a few words a chunk. It ends
// with providers.StopEnd, or with providers.StopLength at r.MaxTokens. Usage is
// a rough count; temperature and seed change nothing. It fails with a
// *providers.Error of kind BadRequest if nothing was said or if thinking is
// asked for, and with the context's error.
func (*Model) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		t := readTurn(r.Messages)
		if err := check(ctx, r, t); err != nil {
			yield(providers.Chunk{}, err)
			return
		}
		last := providers.Chunk{Stop: providers.StopEnd, Usage: providers.Usage{Prompt: promptTokens(r.Messages)}}
		for piece := range pieces(t.reply()) {
			if err := ctx.Err(); err != nil {
				yield(providers.Chunk{}, err)
				return
			}
			n := tokens(piece)
			if r.MaxTokens > 0 && last.Usage.Output+n > r.MaxTokens {
				last.Stop = providers.StopLength
				break
			}
			last.Usage.Output += n
			if !yield(providers.Chunk{Text: piece}, nil) {
				return
			}
		}
		yield(last, nil)
	}
}

func check(ctx context.Context, r providers.Request, t *turn) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case r.Think == providers.ThinkOn:
		return &providers.Error{
			Kind:    providers.BadRequest,
			Message: "the demo responder cannot think",
			Param:   providers.ParamThink,
			Hint:    "Leave thinking to the model, or use a reasoning model.",
		}
	case t.goal == "":
		return &providers.Error{
			Kind:    providers.BadRequest,
			Message: "the demo responder was asked nothing: no message of the user has text",
			Hint:    "Say what you want, for instance: what files are here?",
		}
	}
	return nil
}

// longestGoal bounds, in bytes, what the rules are tried on. They are about one
// line; what is longer comes with a text that they would misread.
const longestGoal = 2000

// reply is the whole reply to a conversation.
func (t *turn) reply() string {
	if reply, ok := t.aboutPlan(); ok {
		return reply
	}
	if r, m := match(t.goal); r != nil {
		return r.answer(t, m)
	}
	return unknown()
}

// pieces splits a text after every third word.
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, words, inWord := 0, 0, false
		for i, r := range text {
			space := unicode.IsSpace(r)
			if inWord && space {
				words++
			}
			if words == 3 && !space {
				if !yield(text[start:i]) {
					return
				}
				start, words = i, 0
			}
			inWord = !space
		}
		if rest := text[start:]; rest != "" {
			yield(rest)
		}
	}
}

// tokens estimates: a token of English text is about four characters.
func tokens(text string) int { return (utf8.RuneCountInString(text) + 3) / 4 }

func promptTokens(messages []providers.Message) int {
	n := 0
	for _, m := range messages {
		n += tokens(strings.TrimSpace(m.Text))
	}
	return n
}
