package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mylm/protocol"
	"mylm/providers"
)

// turn is the state of a conversation: the goal, and what was done for it so far.
type turn struct {
	system string // the system prompt
	last   string // what the user said last, all of it
	goal   string
	tools  []string
	seen   []observation // since the goal
	next   int           // how many of them the answer has used
}

// observation is what one call gave back.
type observation struct {
	tool string
	ok   bool
	body string
}

func toolBlock() *regexp.Regexp       { return lazy(`(?s)<tool_definitions>(.*?)</tool_definitions>`) }
func toolName() *regexp.Regexp        { return lazy(`<tool>\s*<name>([^<]+)</name>`) }
func observationHead() *regexp.Regexp { return lazy(`^\[([^\]]*)\] (Success|Error):\s*`) }

func readTurn(messages []providers.Message) *turn {
	t := &turn{}
	for _, m := range messages {
		switch o, ok := readObservation(m); {
		case m.Role == providers.System:
			t.readPrompt(m.Text)
			t.system = m.Text
		case ok:
			t.seen = append(t.seen, o)
		case m.Role == providers.User && strings.TrimSpace(m.Text) != "":
			t.goal, t.last, t.seen = question(m.Text), m.Text, nil
		}
	}
	t.goal = tidy(t.goal)
	return t
}

// attachmentHead is the line above an attachment; the line below it is
// "--- end of NAME ---".
func attachmentHead() *regexp.Regexp { return lazy(`(?m)^--- (.+) ---\r?$`) }

// question is the text before the attachments of a message. If there is none,
// it is the whole message.
func question(text string) string {
	at := attachmentHead().FindStringSubmatchIndex(text)
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
	if block := toolBlock().FindStringSubmatch(text); block != nil {
		for _, m := range toolName().FindAllStringSubmatch(block[1], -1) {
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
	head := observationHead().FindStringSubmatch(text)
	if head == nil {
		return observation{body: text}, true
	}
	return observation{tool: head[1], ok: head[2] == "Success", body: text[len(head[0]):]}, true
}

// use returns the result of the next call of this answer. If the call has not
// been made yet, use returns the reply that makes it, or one that says why it
// cannot be made.
func (t *turn) use(intro, tool string, args map[string]any) (o observation, reply string) {
	if t.next < len(t.seen) {
		t.next++
		return t.seen[t.next-1], ""
	}
	if !t.has(tool) {
		return observation{}, fmt.Sprintf("For that I would need the tool %s, which is not offered here. %s", tool,
			t.toolSentence())
	}
	return observation{}, intro + "\n\n" + protocol.EncodeCall(tool, encode(args))
}

func (t *turn) has(tool string) bool { return slices.Contains(t.tools, tool) }

func (t *turn) toolSentence() string {
	if len(t.tools) == 0 {
		return "No tools are offered at all."
	}
	return fmt.Sprintf("What is offered: %s.", strings.Join(t.tools, ", "))
}

// encode writes arguments as JSON in which a command stays readable.
func encode(args map[string]any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(args) // strings and integers: it cannot fail
	return bytes.TrimSpace(b.Bytes())
}

// failed reports that a call did not work, in its own words.
func failed(what string, o observation) string {
	return fmt.Sprintf("I could not %s: %s", what, o.body)
}
