package acp

import (
	"cmp"
	"encoding/base64"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"mylm/agent"
	"mylm/protocol"
	"mylm/providers"
)

// replay sends what was said in a session so far.
func (s *session) replay() {
	open := map[string]*Diff{} // calls without a result
	failed := func() {
		for id := range open {
			s.update(sdk.UpdateToolCall(sdk.ToolCallId(id), sdk.WithUpdateStatus(sdk.ToolCallStatusFailed)))
		}
		clear(open)
	}
	show := func(id, name string, args []byte) {
		v := s.conversation.Describe(name, args, true)
		s.update(started(id, v, args, sdk.ToolCallStatusPending))
		open[id] = v.Diff
	}
	for _, e := range s.conversation.Entries() {
		switch p := e.Payload.(type) {
		case agent.HistoryEntry:
			if p.Role == providers.Assistant {
				s.said(p.Text)
			} else if p.Role == providers.User {
				s.update(sdk.UpdateUserMessageText(p.Text))
			}
		case agent.PromptEntry:
			failed()
			s.update(sdk.UpdateUserMessageText(p.Text))
			for _, i := range p.Images {
				if i.Data != nil { // it is still kept
					s.update(sdk.UpdateUserMessage(sdk.ImageBlock(base64.StdEncoding.EncodeToString(i.Data), i.Type)))
				}
			}
		case agent.ReplyEntry:
			if thought := strings.TrimSpace(p.Thought); thought != "" {
				s.update(sdk.UpdateAgentThoughtText(thought))
			}
			s.said(cmp.Or(p.Answer, narration(p)))
		case agent.CallEntry:
			if _, shown := open[p.ID]; !shown { // it may run again, with more permissions
				show(p.ID, p.Name, p.Args)
			}
		case agent.ResultEntry:
			if _, shown := open[p.ID]; !shown {
				show(p.ID, p.Name, p.Args)
			}
			s.update(returned{success: p.Success, text: p.Text, problem: p.Error, exit: p.ExitCode}.update(p.ID, open[p.ID]))
			delete(open, p.ID)
		}
	}
	failed()
}

// narration is what the model said before it made a call.
func narration(p agent.ReplyEntry) string {
	if p.Purpose != agent.PurposeTurn || p.Error != "" {
		return ""
	}
	d := protocol.NewDecoder(protocol.Options{})
	var b strings.Builder
	for _, part := range append(d.Push(p.Raw), d.Close(protocol.End)...) {
		if part.Kind == protocol.Text {
			b.WriteString(part.Text)
		}
	}
	return b.String()
}

// said sends a text of the agent.
func (s *session) said(text string) {
	if text = strings.TrimSpace(text); text != "" {
		s.update(sdk.UpdateAgentMessageText(text))
	}
}
