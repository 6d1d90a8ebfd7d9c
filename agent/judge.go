package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"mylm/prompts"
	"mylm/protocol"
	"mylm/providers"
)

// SelfEval says whether answers are checked by the model before they count.
type SelfEval string

// The modes. A check is one more call of the model, without tools.
const (
	EvalOff   SelfEval = ""      // "off" means the same
	EvalBasic SelfEval = "basic" // an answer that does not pass ends the run with StopNotVerified
	EvalFull  SelfEval = "full"  // the model is told what is wrong, and tries again up to twice
)

const (
	passMark    = 0.8 // the least confidence of an answer that passes
	evalRetries = 2
)

// Evaluation is what a check says of an answer.
type Evaluation struct {
	Completed  bool     `json:"completed"`
	Confidence float64  `json:"confidence"` // from 0 to 1
	Issues     []string `json:"issues,omitempty"`
	Suggestion string   `json:"suggestion,omitempty"`
}

// Passed reports whether the answer counts: completed, with a confidence of at
// least 0.8.
func (e Evaluation) Passed() bool { return e.Completed && e.Confidence >= passMark }

// ParseEvaluation reads a check's reply: JSON by itself, in a fence, or the
// first object that stands in the text. What cannot be read is not completed.
func ParseEvaluation(text string) Evaluation {
	text = strings.TrimSpace(text)
	candidates := []string{text}
	if _, after, fenced := strings.Cut(text, "```"); fenced {
		inside, _, _ := strings.Cut(after, "```")
		candidates = append(candidates, strings.TrimSpace(inside[strings.IndexByte(inside, '\n')+1:]))
	}
	for _, c := range candidates {
		if e, ok := readEvaluation(c, false); ok {
			return e
		}
	}
	for rest, tries := text, 0; tries < maxObjects; tries++ {
		i := strings.IndexByte(rest, '{')
		if i < 0 {
			break
		}
		if e, ok := readEvaluation(rest[i:], true); ok {
			return e
		}
		rest = rest[i+1:]
	}
	return Evaluation{Issues: []string{"the check's reply could not be read"}}
}

// maxObjects is how many braces are tried, so that a reply made of them is read
// in linear time.
const maxObjects = 20

// readEvaluation reads an object, which more text may follow. Models write
// numbers and lists in their own ways; what is not of a form stays zero.
func readEvaluation(s string, more bool) (e Evaluation, ok bool) {
	var raw map[string]any
	d := json.NewDecoder(strings.NewReader(s))
	if !strings.HasPrefix(s, "{") || d.Decode(&raw) != nil || !more && d.More() {
		return e, false
	}
	e.Completed, _ = raw["completed"].(bool)
	if c, number := raw["confidence"].(float64); number && !math.IsNaN(c) {
		e.Confidence = min(1, max(0, c))
	}
	e.Suggestion, _ = raw["suggestion"].(string)
	switch issues := raw["issues"].(type) {
	case string:
		if issues != "" {
			e.Issues = []string{issues}
		}
	case []any:
		for _, i := range issues {
			if text, isText := i.(string); isText && text != "" {
				e.Issues = append(e.Issues, text)
			}
		}
	}
	return e, true
}

// verify has a finished answer checked, if that is wanted. One that does not
// pass ends the run, or is sent back with what is wrong.
func (r *run) verify(ctx context.Context) {
	s, mode := &r.state, r.agent.opts.SelfEval
	if s.Stop != StopComplete || mode != EvalBasic && mode != EvalFull {
		return
	}
	answer := append(append([]int{}, s.Continued...), r.session.last())
	r.emit(Notice{Code: NoticeChecking, Text: "checking the answer"})
	reply, err := r.aside(ctx, ModelRequest{Purpose: PurposeJudge, Answer: answer})
	var e Evaluation
	switch {
	case ctx.Err() != nil:
		s.Stop, r.err = cancelled(ctx)
		return
	case err != nil:
		e.Issues = []string{"the check itself failed: " + err.Error()}
	default:
		e = ParseEvaluation(reply.text)
	}
	if r.evaluation = &e; e.Passed() {
		return
	}
	if s.Checks++; err == nil && mode == EvalFull && s.Checks <= evalRetries && r.turnsLeft() {
		r.sendBack(ctx, e)
		return
	}
	s.Stop, r.err = StopNotVerified, &LimitError{Reason: StopNotVerified, Limit: "SelfEval", Message: "the answer did not pass its check" + e.reason()}
}

// sendBack has an answer written again.
func (r *run) sendBack(ctx context.Context, e Evaluation) {
	data := prompts.RetryData{Suggestion: protocol.Neutralise(firstWords(e.Suggestion, maxAdvice))}
	for _, issue := range e.Issues[:min(len(e.Issues), 5)] {
		data.Issues = append(data.Issues, protocol.Neutralise(firstWords(issue, maxAdvice)))
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
	r.emit(Notice{Code: NoticeNotVerified, Text: "the answer did not pass its check" + e.reason() + "; trying again"})
	r.emit(Retract{})
}

// maxAdvice is how many words of a check's advice the model is told.
const maxAdvice = 60

func (e Evaluation) reason() string {
	text := fmt.Sprintf(" (confidence %.2f)", e.Confidence)
	if len(e.Issues) > 0 {
		text += ": " + firstWords(e.Issues[0], maxDetail)
	}
	return text
}

// What of a run a check is shown, in estimated tokens.
const (
	judgedText    = 1500 // of the request, and of the answer
	judgedActions = 20   // the last calls
	judgedResult  = 100
)

// judged is what the model is shown to check an answer. In a small window, where
// a result takes a third of the room, the request and the answer take a quarter
// each, and the actions a third: the last ones first.
func (a *Agent) judged(entries []Entry, q ModelRequest) ([]providers.Message, error) {
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
				outcome = "failed: " + firstWords(p.Error, maxDetail)
			}
			actions = append(actions, fmt.Sprintf("- %s %s: %s\n%s", p.Name, shorten(string(p.Args), judgedResult), outcome, shorten(p.Text, judgedResult)))
		}
	}
	for _, seq := range q.Answer {
		answer += answerOf(entries, seq)
	}
	limit := judgedText
	if q.Results > 0 {
		limit = min(limit, q.Results*3/4)
	}
	first, size := len(actions), 0
	for first > max(0, len(actions)-judgedActions) {
		if size += estimate(actions[first-1]); q.Results > 0 && size > q.Results {
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
