package agent

import (
	"context"
	"strings"

	"mylm/prompts"
	"mylm/protocol"
	"mylm/providers"
)

// aside asks the model for something that is no part of the conversation and
// that nobody is shown. It is recorded, so that a repeat need not ask again.
func (r *run) aside(ctx context.Context, q ModelRequest) (*reply, error) {
	reply, err := r.converse(ctx, q, false)
	if err != nil {
		return nil, err
	}
	r.state.spend(reply)
	if reply.call != nil || reply.fault != nil {
		reply.text = reply.raw
		if q.Purpose == PurposeSummary {
			return nil, &providers.Error{Kind: providers.BadRequest, Message: "the model wrote something else than a summary"}
		}
	}
	return reply, r.record(ctx, AsideEntry(reply.entry(q.Purpose)))
}

// messages is what the model is sent for a request. It follows from the record
// alone.
func (w *world) messages(q ModelRequest) ([]providers.Message, error) {
	entries := w.session.all()[:q.Through]
	switch q.Purpose {
	case PurposeJudge:
		return w.agent.judged(entries, q)
	case PurposeSummary:
		return w.agent.summarised(entries, q)
	}
	v := w.view
	if q.Purpose == PurposeLastWord && v.closing == nil {
		c, err := w.agent.closing(entries)
		if err != nil {
			return nil, err
		}
		v = &view{closing: c}
	}
	v.sync(entries, q.Results)
	return v.shown(), nil
}

// closing is what the last word of the session's last run is asked for with.
func (a *Agent) closing(entries []Entry) (*closing, error) {
	system, err := a.systemPrompt(entries[lastOf[RunEntry](entries)].Time, "")
	if err != nil {
		return nil, err
	}
	text, err := a.opts.Prompts.Text(prompts.LastWord)
	return &closing{
		system:   providers.Message{Role: providers.System, Text: system},
		question: providers.Message{Role: providers.User, Text: text},
	}, err
}

// What of each message goes into what is to be summed up, in estimated tokens.
const toldMessage = 400

// summarised is what the model is shown to sum up the conversation up to an
// entry: what stands for earlier parts already, then every message in part,
// the last ones first where there is not room for all.
func (a *Agent) summarised(entries []Entry, q ModelRequest) ([]providers.Message, error) {
	system, err := a.opts.Prompts.Text(prompts.Summary)
	if err != nil {
		return nil, err
	}
	from, parts := 0, []string{}
	for _, e := range entries {
		if c, ok := e.Payload.(CompactionEntry); ok {
			from, parts = c.Through, []string{c.Text}
			if 0 < c.Request && c.Request <= c.Through {
				request, _ := entries[c.Request-1].Payload.(PromptEntry)
				parts = append(parts, "user: "+shorten(request.Text, toldMessage))
			}
		}
	}
	var told []string
	room := q.Results * summaryResults
	for i := min(q.Until, len(entries)) - 1; i >= from; i-- {
		m, ok := entries[i].message(toldMessage)
		if !ok {
			continue
		}
		text := string(m.Role) + ": " + shorten(m.Text, toldMessage)
		if room -= estimate(text); room < 0 && q.Results > 0 {
			told = append(told, "[...]")
			break
		}
		told = append(told, text)
	}
	for i := len(told) - 1; i >= 0; i-- {
		parts = append(parts, told[i])
	}
	return []providers.Message{
		{Role: providers.System, Text: system},
		{Role: providers.User, Text: protocol.Neutralise(strings.Join(parts, "\n\n"))},
	}, nil
}

// summaryResults is how many results' worth of conversation is summed up at
// once. A result takes at most a third of the room.
const summaryResults = 2
