package calling

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"mylm/prompts"
	"mylm/protocol"
	"mylm/providers"
)

// defaultIdentity is who the model is if the conversation does not say it.
const defaultIdentity = "You are a helpful assistant."

// conversation is the messages of a request as the model is shown them. A request
// that only appends messages to another one has the same ones, and more behind them:
// a backend that keeps what it has read goes on from there. For that messages of one role
// that follow each other stay apart; backends that refuse them get them joined.
type conversation struct {
	messages []providers.Message
	form     Form
	literal  bool // no tools: the text is not data of a protocol
}

// conversationOf is a conversation without a message yet, who the model is in it, and
// the messages of the request that follow.
func conversationOf(form Form, q Request) (c *conversation, identity string, rest []Message) {
	c = &conversation{form: form, literal: len(q.Tools) == 0 && !hasCalls(q.Messages)}
	var system []string
	rest = q.Messages
	for len(rest) > 0 && rest[0].Role == providers.System {
		system = append(system, rest[0].Text)
		rest = rest[1:]
	}
	return c, c.data(strings.Join(system, "\n\n")), rest
}

// render is what the model is shown: the system prompt, and the messages behind the first
// ones of the request.
func (c *conversation) render(system string, rest []Message, first int) ([]providers.Message, error) {
	if system != "" {
		c.push(providers.System, system)
	}
	err := c.add(rest, first)
	return c.messages, err
}

func hasCalls(messages []Message) bool {
	for _, m := range messages {
		if len(m.Calls) > 0 {
			return true
		}
	}
	return false
}

// system is the system prompt: who the model is, in the conversation's own words,
// then the tools and the form of a call.
func (m *Model) system(identity string, q Request, offered *toolset) (string, error) {
	p := m.prompts()
	var sections []prompts.Section
	if q.Format != nil {
		schema := q.Format.Text()
		if len(q.Tools) > 0 { // else no text is data of a protocol
			schema = protocol.EscapeTokens(schema)
		}
		text, err := p.Answer(prompts.AnswerData{Schema: string(schema)})
		if err != nil {
			return "", err
		}
		sections = append(sections, prompts.Section{Title: "ANSWER", Text: text})
	}
	if len(offered.names) == 0 {
		for _, s := range sections {
			identity = strings.TrimLeft(identity+"\n\n# "+s.Title+"\n"+s.Text, "\n")
		}
		return identity, nil
	}
	if q.Choice.Mode == Required {
		text, err := p.Choose(offered.choice())
		if err != nil {
			return "", err
		}
		sections = append(sections, prompts.Section{Title: "THIS REPLY", Text: text})
	}
	if strings.TrimSpace(identity) == "" {
		identity = defaultIdentity
	}
	data := prompts.SystemData{Identity: identity, Sections: sections}
	if err := m.Form.Prompt(&data, p, offered.definitions(), nil, false); err != nil {
		return "", err
	}
	return p.System(data)
}

// choice is what a reply that has to be a call is told to be.
func (s *toolset) choice() prompts.ChoiceData {
	if len(s.names) == 1 {
		return prompts.ChoiceData{Tool: s.names[0]}
	}
	return prompts.ChoiceData{}
}

func (c *conversation) data(text string) string {
	if c.literal {
		return text
	}
	return protocol.Neutralise(text)
}

// said is what the model itself said, as a client sends it back.
func (c *conversation) said(text string) string {
	if c.literal {
		return text
	}
	return protocol.NeutraliseTokens(text)
}

func (c *conversation) push(role providers.Role, text string, images ...providers.Image) {
	c.messages = append(c.messages, providers.Message{Role: role, Text: text, Images: images})
}

// add adds the messages that follow the system prompt. Several calls of one reply
// become replies with one call each, with their results between them.
func (c *conversation) add(messages []Message, before int) error {
	names, results := map[string]string{}, map[int]bool{} // calls by id, and results that have been shown
	for i, m := range messages {
		where := cmp.Or(m.Where, fmt.Sprintf("messages[%d]", i+before))
		switch m.Role {
		case providers.System, providers.User:
			if m.Text != "" || len(m.Images) > 0 || c.literal {
				c.push(providers.User, c.data(m.Text), m.Images...)
			}
		case providers.Assistant:
			if len(m.Calls) == 0 {
				if m.Text != "" || c.literal {
					c.push(providers.Assistant, c.said(m.Text))
				}
				continue
			}
			answers := map[string][]int{} // the results that follow, by call
			for j := i + 1; j < len(messages) && messages[j].Role == Result; j++ {
				answers[messages[j].CallID] = append(answers[messages[j].CallID], j)
			}
			for n, call := range m.Calls {
				text := c.call(call)
				if said := strings.TrimRight(c.said(m.Text), " \t\r\n"); n == 0 && said != "" {
					text = said + "\n" + text
				}
				c.push(providers.Assistant, text)
				names[call.ID] = call.Name
				if at := answers[call.ID]; len(at) > 0 {
					results[at[0]], answers[call.ID] = true, at[1:]
					c.observe(call.Name, messages[at[0]])
				}
			}
		case Result:
			name, known := names[m.CallID]
			switch {
			case results[i]:
			case !known && m.Tool != "":
				c.observe(m.Tool, m)
			case !known:
				return bad(where, "it is the result of call %q, and no call before it has that id", m.CallID)
			default:
				c.observe(name, m)
			}
		default:
			return bad(where, "unknown role %q", m.Role)
		}
	}
	return nil
}

func (c *conversation) observe(name string, result Message) {
	c.push(providers.User, protocol.EncodeObservation(name, !result.Failed, result.Text), result.Images...)
}

// call writes a call of the history. Arguments that another model wrote need not
// be what a call wants.
func (c *conversation) call(call Call) string {
	args := bytes.TrimSpace(call.Args)
	var compact bytes.Buffer
	var text string
	if len(args) > 0 && args[0] == '"' && json.Unmarshal(args, &text) == nil { // an object in a string
		args = []byte(text)
	}
	switch {
	case len(args) == 0, string(args) == "null":
		args = []byte("{}")
	case args[0] == '{' && json.Compact(&compact, args) == nil:
		args = compact.Bytes()
	default:
		args, _ = json.Marshal(map[string]string{"arguments": string(args)})
	}
	return c.form.Call(protocol.Neutralise(call.Name), protocol.EscapeTokens(args))
}
