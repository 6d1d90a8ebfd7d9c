package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"mylm/protocol"
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
	return providers.Info{Window: window, Loaded: true, Chats: true, Sees: providers.Unable}, nil
}

// Generate answers the last message of the user, a word per chunk. It ends
// with providers.StopEnd, or with providers.StopLength at r.MaxTokens. Usage is
// a rough count; temperature and seed change nothing. It fails with a
// *providers.Error of kind BadRequest if there is no message or if thinking is
// requested, and with the context's error.
func (*Model) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		t := readTurn(r.Messages)
		if err := check(ctx, r, t); err != nil {
			yield(providers.Chunk{}, err)
			return
		}
		last := providers.Chunk{Stop: providers.StopEnd, Usage: providers.Usage{Prompt: promptTokens(r.Messages)}}
		for piece := range strings.SplitAfterSeq(t.reply(), " ") {
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
	case r.HasImages():
		return providers.CannotSee("demo", "the demo responder cannot see pictures")
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
	t.help = unknown()
	if r, m := match(t.goal); r != nil {
		return r.answer(t, m)
	}
	return t.help
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

// turn is the state of a conversation: the goal, and what was done for it so far.
type turn struct {
	system string // the system prompt
	last   string // what the user said last, all of it
	goal   string
	help   string // the answer to a goal that no rule fits
	tools  []string
	seen   []observation // since the goal
	next   int           // how many of them the answer has used
}

// observation is the result of one call.
type observation struct {
	ok   bool
	body string
}

var (
	toolBlock       = expression{text: `(?s)<tool_definitions>(.*?)</tool_definitions>`}
	toolName        = expression{text: `<tool>\s*<name>([^<]+)</name>`}
	observationHead = expression{text: `^\[[^\]]*\] (Success|Error):\s*`}

	resumed  = expression{text: `^You were interrupted\.`}                                     // how a run is told that it is resumed
	cutShort = expression{text: `^(?:cancelled\b|mylm was ended while this call was running)`} // the errors of calls that an interrupt ended
)

// cut reports whether an interrupt ended the call.
func (o observation) cut() bool { return !o.ok && cutShort.get().MatchString(o.body) }

func readTurn(messages []providers.Message) *turn {
	t := &turn{}
	for _, m := range messages {
		switch o, ok := readObservation(m); {
		case m.Role == providers.System:
			t.readPrompt(m.Text)
			t.system = m.Text
		case ok && !o.cut():
			t.seen = append(t.seen, o)
		case ok, resumed.get().MatchString(m.Text): // what was not done is done now
		case m.Role == providers.User && strings.TrimSpace(m.Text) != "":
			t.goal, t.last, t.seen = question(m.Text), m.Text, nil
		}
	}
	t.goal = tidy(t.goal)
	return t
}

// attachmentHead is the line above an attachment; the line below it is
// "--- end of NAME ---".
var attachmentHead = expression{text: `(?m)^--- (.+) ---\r?$`}

// question is the text before the attachments of a message. If there is none,
// it is the whole message.
func question(text string) string {
	at := attachmentHead.get().FindStringSubmatchIndex(text)
	if at == nil {
		return text
	}
	before, name, rest := text[:at[0]], text[at[2]:at[3]], text[at[1]:]
	if strings.TrimSpace(before) == "" || !strings.Contains(rest, "\n--- end of "+name+" ---") {
		return text
	}
	return before
}

// readPrompt takes the tools from the first block of definitions: text behind
// it may quote anything.
func (t *turn) readPrompt(text string) {
	if block := toolBlock.get().FindStringSubmatch(text); block != nil {
		for _, m := range toolName.get().FindAllStringSubmatch(block[1], -1) {
			t.tools = append(t.tools, strings.TrimSpace(m[1]))
		}
	}
}

func readObservation(m providers.Message) (observation, bool) {
	text, ok := strings.CutPrefix(strings.TrimSpace(m.Text), "<observation>")
	if !ok || m.Role != providers.User {
		return observation{}, false
	}
	if i := strings.LastIndex(text, "</observation>"); i >= 0 {
		text = text[:i]
	}
	text = strings.Trim(text, "\n")
	head := observationHead.get().FindStringSubmatch(text)
	if head == nil {
		return observation{body: text}, true
	}
	return observation{ok: head[1] == "Success", body: text[len(head[0]):]}, true
}

// use returns the result of the next call of this answer. If the call has not
// been made yet, use returns the reply that makes it, or one that explains why it
// cannot be made; if it failed, one that reports the error.
func (t *turn) use(intro, what, tool string, args map[string]any) (body, reply string) {
	if t.next < len(t.seen) {
		o := t.seen[t.next]
		t.next++
		if !o.ok {
			return "", fmt.Sprintf("I could not %s: %s", what, strings.TrimSpace(o.body))
		}
		return o.body, ""
	}
	if !t.has(tool) {
		offered := "No tools are offered at all."
		if len(t.tools) > 0 {
			offered = fmt.Sprintf("What is offered: %s.", strings.Join(t.tools, ", "))
		}
		return "", fmt.Sprintf("For that I would need the tool %s, which is not offered here. %s", tool, offered)
	}
	return "", intro + "\n\n" + protocol.EncodeCall(tool, encode(args))
}

func (t *turn) has(tool string) bool { return slices.Contains(t.tools, tool) }

// encode writes arguments as JSON in which a command stays readable.
func encode(args map[string]any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(args) // strings and integers: it cannot fail
	return bytes.TrimSpace(b.Bytes())
}
