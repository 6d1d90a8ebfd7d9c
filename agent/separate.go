package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"mylm/prompts"
	"mylm/protocol"
	"mylm/providers"
	"mylm/providers/calling"
	"strings"
)

// askSeparately makes a request that is not part of the conversation and is not shown.
// It is recorded, so that a repeat need not ask again.
func (r *run) askSeparately(ctx context.Context, q ModelRequest) (*reply, error) {
	reply, err := r.generate(ctx, q, false)
	if reply != nil {
		r.addUsage(&reply.Reply)
	}
	if err != nil {
		return nil, err
	}
	if reply.Call != nil || reply.Fault != nil {
		reply.Text = reply.Raw
		if q.Purpose == PurposeSummary {
			return nil, &providers.Error{Kind: providers.BadRequest, Message: "the model did not write a summary"}
		}
	}
	return reply, r.record(ctx, AuxiliaryEntry(reply.entry(q.Purpose)))
}

// messages is what the model is sent for a request. It follows from the record
// alone.
func (w *realEffects) messages(q ModelRequest) ([]providers.Message, error) {
	entries := w.session.snapshot()[:q.Through]
	switch q.Purpose {
	case PurposeJudge:
		return w.agent.judgeMessages(entries, q)
	case PurposeSummary:
		return w.agent.summaryMessages(entries, q)
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
	data, err := a.tools(notation{a.opts.Form, a.opts.Compact})
	if err != nil {
		return nil, err
	}
	data.Tools, data.Example = nil, nil
	system, err := a.system(entries[lastOf[RunEntry](entries)].Time, data)
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
const summarizedMessage = 400

// summaryMessages is what the model is shown to sum up the conversation up to an
// entry: the summary of earlier parts, then every message in part,
// the last ones first where there is not room for all.
func (a *Agent) summaryMessages(entries []Entry, q ModelRequest) ([]providers.Message, error) {
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
				parts = append(parts, "user: "+shorten(request.Text, summarizedMessage))
			}
		}
	}
	var recent []string
	room := q.Results * summarizedResults
	for i := min(q.Until, len(entries)) - 1; i >= from; i-- {
		m, ok := entries[i].message(summarizedMessage)
		if !ok {
			continue
		}
		text := string(m.Role) + ": " + shorten(m.Text, summarizedMessage)
		if room -= calling.Estimate(text); room < 0 && q.Results > 0 {
			recent = append(recent, "[...]")
			break
		}
		recent = append(recent, text)
	}
	for i := len(recent) - 1; i >= 0; i-- {
		parts = append(parts, recent[i])
	}
	return []providers.Message{
		{Role: providers.System, Text: system},
		{Role: providers.User, Text: protocol.Neutralise(strings.Join(parts, "\n\n"))},
	}, nil
}

// summarizedResults is how many results' worth of conversation is summed up at
// once. A result takes at most a third of the room.
const summarizedResults = 2

// SelfEval sets whether the model checks its answers before they count.
type SelfEval string

// The modes. A check is one more call of the model, without tools.
const (
	EvalOff   SelfEval = ""      // "off" means the same
	EvalBasic SelfEval = "basic" // an answer that does not pass ends the run with StopNotVerified
	EvalFull  SelfEval = "full"  // the model gets the issues, and tries again up to twice
)

const (
	passMark    = 0.8 // the least confidence of an answer that passes
	evalRetries = 2
)

// Evaluation is the verdict of such a check.
type Evaluation struct {
	Completed  bool     `json:"completed"`
	Confidence float64  `json:"confidence"` // from 0 to 1
	Issues     []string `json:"issues,omitempty"`
	Suggestion string   `json:"suggestion,omitempty"`
}

// Passed reports whether the answer counts: completed, with a confidence of at
// least 0.8.
func (e Evaluation) Passed() bool { return e.Completed && e.Confidence >= passMark }

// ParseEvaluation reads a check's reply: the first JSON object in it that has a
// verdict. What cannot be read is not completed.
func ParseEvaluation(text string) (e Evaluation) {
	var raw map[string]any
	_, _, err := protocol.ReadValue(text, func(value json.RawMessage) bool {
		raw = nil
		return json.Unmarshal(value, &raw) == nil && raw["completed"] != nil
	})
	if err != nil {
		return Evaluation{Issues: []string{"the check's reply could not be read"}}
	}
	e.Completed, _ = raw["completed"].(bool)
	if c, ok := raw["confidence"].(float64); ok {
		e.Confidence = min(1, max(0, c))
	}
	e.Suggestion, _ = raw["suggestion"].(string)
	issues, isList := raw["issues"].([]any)
	if !isList {
		issues = []any{raw["issues"]}
	}
	for _, i := range issues {
		if text, ok := i.(string); ok && text != "" {
			e.Issues = append(e.Issues, text)
		}
	}
	return e
}

// verify has the model check a finished answer itself, if SelfEval is set. One that does not
// pass ends the run, or is sent back with what is wrong.
func (r *run) verify(ctx context.Context) {
	s, mode := &r.state, r.agent.opts.SelfEval
	if s.Stop == StopComplete && r.agent.answer != nil && !r.fitsSchema(ctx) {
		return
	}
	if s.Stop != StopComplete || mode != EvalBasic && mode != EvalFull {
		return
	}
	answer := append(append([]int{}, s.Continued...), r.session.last())
	r.emit(Notice{Code: NoticeChecking, Text: "checking the answer"})
	reply, err := r.askSeparately(ctx, ModelRequest{Purpose: PurposeJudge, Answer: answer})
	var e Evaluation
	switch {
	case ctx.Err() != nil:
		s.Stop, r.err = cancelled(ctx)
		return
	case err != nil:
		e.Issues = []string{"the check itself failed: " + err.Error()}
	default:
		e = ParseEvaluation(reply.Text)
	}
	if r.evaluation = &e; e.Passed() {
		return
	}
	if s.Checks++; err == nil && mode == EvalFull && s.Checks <= evalRetries && r.turnsLeft() {
		r.requestCorrection(ctx, e.Issues, e.Suggestion, e.reason())
		return
	}
	s.Stop, r.err = StopNotVerified, &LimitError{Reason: StopNotVerified, Limit: "SelfEval", Message: "the answer did not pass its check" + e.reason()}
}

// requestCorrection has an answer written again.
func (r *run) requestCorrection(ctx context.Context, issues []string, suggestion, reason string) {
	data := prompts.RetryData{Suggestion: protocol.Neutralise(calling.FirstWords(suggestion, maxAdvice))}
	for _, issue := range issues[:min(len(issues), 5)] {
		data.Issues = append(data.Issues, protocol.Neutralise(calling.FirstWords(issue, maxAdvice)))
	}
	r.state.Stop = ""
	text, err := r.agent.opts.Prompts.Retry(data)
	if err == nil {
		err = r.record(ctx, UserEntry{text})
	}
	if err != nil {
		r.fail(ctx, err)
		return
	}
	r.state.Continued = nil
	r.emit(Notice{Code: NoticeNotVerified, Text: "the answer did not pass its check" + reason + "; trying again"})
	r.emit(Retract{})
}

// maxAdvice is how many words of a check's advice the model gets.
const maxAdvice = 60

func (e Evaluation) reason() string {
	text := fmt.Sprintf(" (confidence %.2f)", e.Confidence)
	if len(e.Issues) > 0 {
		text += ": " + calling.FirstWords(e.Issues[0], calling.MaxDetail)
	}
	return text
}

// What of a run a check is shown, in estimated tokens.
const (
	judgeText    = 1500 // of the request, and of the answer
	judgeActions = 20   // the last calls
	judgeResult  = 100
)

// judgeMessages is what the model is shown to check an answer. In a small window, where
// a result takes a third of the room, the request and the answer take a quarter
// each, and the actions a third: the last ones first.
func (a *Agent) judgeMessages(entries []Entry, q ModelRequest) ([]providers.Message, error) {
	system, err := a.opts.Prompts.Text(prompts.Judge)
	if err != nil {
		return nil, err
	}
	var request, answer string
	var actions []string
	for _, e := range entries {
		if e.Run != q.Run {
			continue
		}
		switch p := e.Payload.(type) {
		case PromptEntry:
			request = p.Text
		case ResultEntry:
			outcome := "succeeded"
			if !p.Success {
				outcome = "failed: " + calling.FirstWords(p.Error, calling.MaxDetail)
			}
			actions = append(actions, fmt.Sprintf("- %s %s: %s\n%s", p.Name, shorten(string(p.Args), judgeResult), outcome, shorten(p.Text, judgeResult)))
		}
	}
	answer = answerIn(entries, q.Answer...)
	limit := judgeText
	if q.Results > 0 {
		limit = min(limit, q.Results*3/4)
	}
	first, size := len(actions), 0
	for first > max(0, len(actions)-judgeActions) {
		if size += calling.Estimate(actions[first-1]); q.Results > 0 && size > q.Results {
			break
		}
		first--
	}
	if first > 0 {
		actions = append([]string{fmt.Sprintf("- (%d earlier ones are left out)", first)}, actions[first:]...)
	}
	if len(actions) == 0 {
		actions = []string{"- none"}
	}
	text := "# REQUEST\n" + shorten(request, limit) + "\n\n# ACTIONS\n" + strings.Join(actions, "\n") + "\n\n# ANSWER\n" + shorten(answer, limit)
	return []providers.Message{{Role: providers.System, Text: system}, {Role: providers.User, Text: protocol.Neutralise(text)}}, nil
}

// lastWord gives the model one more reply, without tools, after a limit ended
// the run: what was found out so far is better than nothing. It does not count
// as a turn, and if it fails the last text of the model is used.
func (r *run) lastWord(ctx context.Context) {
	s := &r.state
	if !s.LastWord || len(s.Continued) > 0 || r.consumerLeft || ctx.Err() != nil {
		return
	}
	last, err := r.agent.closing(r.session.snapshot())
	if err == nil {
		r.view = view{closing: last}
		err = r.fit(ctx)
	}
	var said *reply
	if err == nil {
		r.emit(Notice{Code: NoticeLastWord, Text: "stopped (" + string(s.Stop) + "): asking the model what it has so far"})
		said, err = r.think(ctx, PurposeLastWord)
	}
	if reason, cause := cancelled(ctx); ctx.Err() != nil && reason == StopInterrupted {
		s.Stop, r.err = reason, cause
	}
	if said != nil {
		r.addUsage(&said.Reply)
	}
	if err != nil {
		return
	}
	if said.Call != nil || said.Fault != nil || strings.TrimSpace(said.Answer) == "" {
		if said.Text != "" {
			r.emit(Retract{})
		}
		return
	}
	e := said.entry(PurposeLastWord)
	e.Answer = said.Answer
	if err = r.record(ctx, UserEntry{last.question.Text}); err == nil {
		err = r.record(ctx, e)
	}
	if err != nil {
		r.emit(Error{Source: "engine", Message: err.Error()})
		return
	}
	s.Closing = r.session.last()
}
