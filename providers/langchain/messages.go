package langchain

import (
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

var roles = map[providers.Role]llms.ChatMessageType{
	providers.System:    llms.ChatMessageTypeSystem,
	providers.User:      llms.ChatMessageTypeHuman,
	providers.Assistant: llms.ChatMessageTypeAI,
}

// messages translates a conversation for langchaingo: one part of text per message,
// since several backends read the first part only, after its pictures.
func (b *backend) messages(conversation []providers.Message) ([]llms.MessageContent, error) {
	for _, m := range conversation {
		if roles[m.Role] == "" {
			return nil, wire.BadRequest("there is no role %q: want system, user or assistant", m.Role)
		}
	}
	switch {
	case b.oneMessage:
		conversation = []providers.Message{{Role: providers.User, Text: flatten(conversation)}}
	case b.oneSystem:
		conversation = oneSystem(conversation)
	}
	var out []llms.MessageContent
	for _, m := range conversation {
		parts := b.imageParts(m)
		if strings.TrimSpace(m.Text) != "" || len(m.Images) == 0 && !b.noEmpty || len(m.Images) > len(parts) {
			parts = append(parts, llms.TextPart(m.Text))
		}
		if len(parts) > 0 {
			out = append(out, llms.MessageContent{Role: roles[m.Role], Parts: parts})
		}
	}
	if len(out) == 0 {
		return nil, wire.BadRequest("the conversation has no text")
	}
	return out, nil
}

// oneSystem merges all system messages into one at the beginning.
func oneSystem(conversation []providers.Message) []providers.Message {
	var systemTexts []string
	var rest []providers.Message
	for _, m := range conversation {
		switch {
		case m.Role != providers.System:
			rest = append(rest, m)
		case m.Text != "":
			systemTexts = append(systemTexts, m.Text)
		}
	}
	if len(systemTexts) == 0 {
		return rest
	}
	return slices.Insert(rest, 0, providers.Message{Role: providers.System, Text: strings.Join(systemTexts, "\n\n")})
}

// flatten writes a conversation as one text that ends where the model is to
// speak. A single message stays as it is.
func flatten(conversation []providers.Message) string {
	if len(conversation) == 1 {
		return conversation[0].Text
	}
	names := map[providers.Role]string{providers.User: "User: ", providers.Assistant: "Assistant: "}
	var b strings.Builder
	for _, m := range conversation {
		b.WriteString(names[m.Role] + m.Text + "\n\n")
	}
	b.WriteString("Assistant:")
	return b.String()
}
