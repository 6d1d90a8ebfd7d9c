package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/tools"
)

// Turn is the answering of one prompt. Its methods may be called from several
// goroutines at once; once the prompt is answered they do nothing.
type Turn struct {
	session *session
	ctx     context.Context
	cancel  context.CancelCauseFunc
	ended   chan struct{} // the conversation is done with it

	mu    sync.Mutex
	mute  bool
	calls map[string]*call // those without a final status

	text      string // of the message, as it was sent
	space     string // white space that is sent if something follows it
	said      bool   // there is text before the message
	continued bool   // the next reply continues this one
	tasks     []plan.Task
}

// call is a call that was shown.
type call struct {
	diff   *Diff
	output string    // of the running tool, the end of it
	sent   time.Time // when some of it was
}

func newTurn(s *session) *Turn {
	t := &Turn{session: s, ended: make(chan struct{}), calls: map[string]*call{}}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	return t
}

// over reports whether the conversation is done with the turn.
func (t *Turn) over() bool {
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

// finish ends the turn for the editor: no call is left without a final status, and
// nothing comes after it.
func (t *Turn) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range t.calls {
		t.send(sdk.UpdateToolCall(sdk.ToolCallId(id), sdk.WithUpdateStatus(sdk.ToolCallStatusFailed)))
	}
	t.calls, t.mute = map[string]*call{}, true
}

func (t *Turn) send(u sdk.SessionUpdate) {
	if !t.mute {
		t.session.update(u)
	}
}

// Message adds text to the answer.
func (t *Turn) Message(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.message(text)
}

// Thought shows text that is no part of the answer.
func (t *Turn) Thought(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.thought(text)
}

func (t *Turn) thought(text string) {
	if text != "" {
		t.send(sdk.UpdateAgentThoughtText(text))
	}
}

// note shows a line beside the answer.
func (t *Turn) note(text string) { t.thought(strings.TrimSpace(text) + "\n") }

// message sends text of the answer, without the white space around it.
func (t *Turn) message(text string) {
	if t.text == "" {
		text = strings.TrimLeft(text, blank)
	}
	solid := strings.TrimRight(text, blank)
	if solid == "" {
		t.space += text
		return
	}
	chunk := t.space + solid
	if t.text == "" {
		chunk = solid
	}
	t.text += chunk
	t.space = text[len(solid):]
	if t.said {
		chunk, t.said = "\n\n"+chunk, false
	}
	t.send(sdk.UpdateAgentMessageText(chunk))
}

// blank is white space.
const blank = " \t\r\n"

// begin begins another message.
func (t *Turn) begin() {
	t.said = t.said || t.text != ""
	t.text, t.space = "", ""
}

// Event shows an event of the run.
func (t *Turn) Event(ev agent.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ev.Task != "" {
		switch p := ev.Payload.(type) {
		case agent.TextDelta: // of a part: the answer comes at the end
			t.thought(p.Text)
			return
		case agent.FinalResponse, agent.TurnStart, agent.AnswerStart, agent.Retract:
			return
		}
	}
	switch p := ev.Payload.(type) {
	case agent.TurnStart:
		if !t.continued {
			t.begin()
		}
		t.continued = false
	case agent.TextDelta:
		t.message(p.Text)
	case agent.AnswerStart:
		t.begin()
	case agent.Thought:
		t.thought(p.Text)
	case agent.Retract:
		if t.text != "" {
			t.send(sdk.UpdateAgentMessageText("\n\n(the text above is withdrawn)"))
			t.begin()
		}
	case agent.ToolCall:
		t.toolCall(p)
	case agent.ToolProgress:
		t.progress(p)
	case agent.ToolOutput:
		t.output(p)
	case agent.FinalResponse:
		t.final(p.Result)
	case agent.Retry:
		t.note(fmt.Sprintf("retry %d: %s", p.Attempt, p.Reason))
	case agent.Error:
		if p.Source == "format" {
			t.note("unusable reply: " + p.Message)
		}
	case agent.Compaction:
		t.note(fmt.Sprintf("context: shortened from about %d tokens to %d", p.Before, p.After))
	case agent.Notice:
		t.continued = p.Code == agent.NoticeContinued
		if p.Code == agent.NoticeLastWord || p.Code == agent.NoticeNotVerified {
			t.begin()
		}
		if p.Code != agent.NoticeContinued {
			t.note(p.Text)
		}
	default:
		t.plan(ev.Payload)
	}
}

// final shows what there is of the answer, if it was not sent as it came.
func (t *Turn) final(r agent.Result) {
	text, sent := strings.TrimSpace(r.Response), strings.TrimSpace(t.text)
	switch {
	case !r.StopReason.Answers() || text == "" || text == sent:
	case sent != "" && strings.HasPrefix(text, sent):
		t.message(text[len(sent):])
	default:
		t.begin()
		t.message(text)
	}
}

// show tells the editor about a call.
func (t *Turn) show(id, name string, args json.RawMessage, status sdk.ToolCallStatus) {
	v := t.session.conversation.Describe(name, args, false)
	t.calls[id] = &call{diff: v.Diff}
	t.send(started(id, v, args, status))
}

// asked shows the call that a question is about.
func (t *Turn) asked(q Question) sdk.ToolCallUpdate {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls[q.Call] == nil {
		t.show(q.Call, q.Name, q.Args, sdk.ToolCallStatusPending)
	}
	v := t.session.conversation.Describe(q.Name, q.Args, false)
	content := content(t.calls[q.Call].diff)
	if q.Why != "" {
		content = append(content, sdk.ToolContent(sdk.TextBlock(q.Why)))
	}
	return sdk.ToolCallUpdate{
		ToolCallId: sdk.ToolCallId(q.Call), Title: &v.Title, Kind: sdk.Ptr(sdk.ToolKind(v.Kind)), Status: sdk.Ptr(sdk.ToolCallStatusPending),
		Content: content, Locations: locations(v.Paths), RawInput: rawInput(q.Args),
	}
}

func (t *Turn) toolCall(p agent.ToolCall) {
	if t.calls[p.ID] == nil {
		t.show(p.ID, p.Name, p.Args, sdk.ToolCallStatusInProgress)
		return
	}
	t.send(sdk.UpdateToolCall(sdk.ToolCallId(p.ID), sdk.WithUpdateStatus(sdk.ToolCallStatusInProgress)))
}

// Bounds of what is shown of a tool's output: more than anybody reads, and small
// enough to be sent again and again while the tool runs.
const (
	maxOutput   = 64 << 10
	maxProgress = 8 << 10
	oftenest    = 200 * time.Millisecond
)

// progress shows the end of what a running tool has printed.
func (t *Turn) progress(p agent.ToolProgress) {
	c := t.calls[p.ID]
	if c == nil {
		return
	}
	c.output += p.Text
	if over := len(c.output) - maxProgress; over > 0 {
		c.output = strings.ToValidUTF8(c.output[over:], "")
	}
	if now := time.Now(); now.Sub(c.sent) >= oftenest {
		c.sent = now
		t.send(sdk.UpdateToolCall(sdk.ToolCallId(p.ID), sdk.WithUpdateContent(append(content(c.diff), textContent(c.output)))))
	}
}

// output shows what a call returned. One that was refused was perhaps not shown
// before.
func (t *Turn) output(p agent.ToolOutput) {
	if t.calls[p.ID] == nil {
		t.show(p.ID, p.Name, p.Args, sdk.ToolCallStatusPending)
	}
	r := returned{success: p.Success, text: p.Output, problem: p.Error, exit: p.ExitCode}
	t.send(r.update(p.ID, t.calls[p.ID].diff))
	delete(t.calls, p.ID)
}

// returned is what a call returned.
type returned struct {
	success bool
	text    string
	problem string
	exit    *int
}

func (e returned) update(id string, diff *Diff) sdk.SessionUpdate {
	status := sdk.ToolCallStatusCompleted
	if !e.success {
		status = sdk.ToolCallStatusFailed
	}
	shown := content(diff)
	if e.problem != "" {
		shown = append(shown, textContent(e.problem))
	}
	if e.text != "" && (diff == nil || !e.success) {
		shown = append(shown, textContent(e.text))
	}
	raw := map[string]any{}
	if e.text != "" {
		raw["output"] = bounded(e.text)
	}
	if e.problem != "" {
		raw["error"] = e.problem
	}
	if e.exit != nil {
		raw["exitCode"] = *e.exit
	}
	return sdk.UpdateToolCall(sdk.ToolCallId(id), sdk.WithUpdateStatus(status), sdk.WithUpdateContent(shown), sdk.WithUpdateRawOutput(raw))
}

// started is the update that shows a call.
func started(id string, v View, args json.RawMessage, status sdk.ToolCallStatus) sdk.SessionUpdate {
	return sdk.StartToolCall(sdk.ToolCallId(id), v.Title, sdk.WithStartKind(sdk.ToolKind(v.Kind)), sdk.WithStartStatus(status),
		sdk.WithStartContent(content(v.Diff)), sdk.WithStartLocations(locations(v.Paths)), sdk.WithStartRawInput(rawInput(args)))
}

// rawInput are arguments as the editor gets them; what is no JSON is text.
func rawInput(args json.RawMessage) any {
	if !json.Valid(args) {
		return string(args)
	}
	return args
}

func content(d *Diff) []sdk.ToolCallContent {
	if d == nil {
		return nil
	}
	return []sdk.ToolCallContent{{Diff: &sdk.ToolCallContentDiff{Path: d.Path, OldText: d.Old, NewText: d.New, Type: "diff"}}}
}

func locations(all []Location) []sdk.ToolCallLocation {
	var out []sdk.ToolCallLocation
	for _, l := range all {
		at := sdk.ToolCallLocation{Path: l.Path}
		if l.Line > 0 {
			at.Line = &l.Line
		}
		out = append(out, at)
	}
	return out
}

func bounded(text string) string {
	if len(text) <= maxOutput {
		return text
	}
	return fmt.Sprintf("%s\n[%d bytes more are not shown]", tools.Begin(text, maxOutput), len(text)-maxOutput)
}

// textContent is text of a tool. Editors show Markdown, and this is none.
func textContent(text string) sdk.ToolCallContent {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return sdk.ToolContent(sdk.TextBlock(fence + "\n" + strings.TrimRight(bounded(text), "\n") + "\n" + fence))
}
