package acp

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"mylm/agent"
)

// session is an open session.
type session struct {
	server       *server
	id, dir      string
	conversation Conversation

	working chan struct{} // held while the conversation answers, or its model changes
	mu      sync.Mutex
	turn    *Turn // the last one; nil: none
	titled  bool
	models  []string // that can be chosen
	told    string   // the model that the editor was told about
}

// stopPatience is how long a turn that was cancelled is waited for before its
// prompt is answered: the promise is two seconds.
const stopPatience = 1500 * time.Millisecond

// update sends an update of the session.
func (s *session) update(u sdk.SessionUpdate) {
	s.server.conn.notify(sdk.ClientMethodSessionUpdate, sdk.SessionNotification{SessionId: sdk.SessionId(s.id), Update: u})
}

// modes are the modes as a response has them.
func (s *session) modes() *sdk.SessionModeState {
	all, current := s.conversation.Modes()
	state := &sdk.SessionModeState{CurrentModeId: sdk.SessionModeId(current), AvailableModes: []sdk.SessionMode{}}
	for _, m := range all {
		state.AvailableModes = append(state.AvailableModes, sdk.SessionMode{Id: sdk.SessionModeId(m.ID), Name: m.Name, Description: sdk.Ptr(m.Description)})
	}
	return state
}

// announce tells the editor what the user can type.
func (s *session) announce() {
	u := &sdk.SessionAvailableCommandsUpdate{AvailableCommands: []sdk.AvailableCommand{}}
	for _, c := range s.conversation.Commands() {
		command := sdk.AvailableCommand{Name: c.Name, Description: c.Description}
		if c.Hint != "" {
			command.Input = &sdk.AvailableCommandInput{Unstructured: &sdk.UnstructuredCommandInput{Hint: c.Hint}}
		}
		u.AvailableCommands = append(u.AvailableCommands, command)
	}
	s.update(sdk.SessionUpdate{AvailableCommandsUpdate: u})
}

// answering reports whether a prompt is being answered.
func (s *session) answering() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn != nil && !s.turn.over()
}

// cancel cancels the turn, if there is one.
func (s *session) cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		s.turn.cancel(context.Canceled)
	}
}

// wait waits until the last turn has ended, and a change of the model that has begun.
func (s *session) wait(ctx context.Context) {
	s.mu.Lock()
	last := s.turn
	s.mu.Unlock()
	if last != nil {
		select {
		case <-last.ended:
		case <-ctx.Done():
		}
	}
	select {
	case s.working <- struct{}{}:
		<-s.working
	case <-ctx.Done():
	}
}

// prompt takes a prompt. The turn begins here, so that a cancel that comes next
// finds it.
func (s *server) prompt(p *sdk.PromptRequest) (work, error) {
	live, err := s.find(p.SessionId)
	if err != nil {
		return nil, err
	}
	message, err := readPrompt(p.Prompt, live.dir)
	if err != nil {
		return nil, err
	}
	live.mu.Lock()
	defer live.mu.Unlock()
	before := live.turn
	if before != nil && !before.over() && before.ctx.Err() == nil {
		return nil, Errorf(CodeInvalid, "a prompt is being answered in this session; cancel it first")
	}
	t := newTurn(live)
	live.turn = t
	return func(ctx context.Context) (answer, error) {
		if before == nil {
			live.announce() // again: editors lose what comes right behind the response that opens a session
		}
		cancel := func() { t.cancel(context.Cause(ctx)) }
		if ctx.Err() != nil {
			cancel()
		}
		defer context.AfterFunc(ctx, cancel)()
		stop, err := live.answer(t, before, message)
		return answer{result: sdk.PromptResponse{StopReason: stop}}, err
	}, nil
}

// answer answers a prompt, after the turn before has ended.
func (s *session) answer(t, before *Turn, p Prompt) (sdk.StopReason, error) {
	var stop agent.StopReason
	var err error
	go func() {
		defer close(t.ended)
		defer func() {
			if crash := recover(); crash != nil {
				s.server.Log(fmt.Sprintf("internal error: %v\n%s", crash, debug.Stack()))
				err = fmt.Errorf("internal error: %v", crash)
			}
		}()
		if before != nil {
			<-before.ended
		}
		s.working <- struct{}{}
		defer func() { <-s.working }()
		if err = t.ctx.Err(); err == nil {
			defer s.tellModel() // before setModel goes on: it tells the editor itself
			stop, err = s.conversation.Prompt(t.ctx, p, t)
		}
	}()
	ended := false
	select {
	case <-t.ended:
		ended = true
	case <-t.ctx.Done():
		patience := time.NewTimer(stopPatience)
		defer patience.Stop()
		select {
		case <-t.ended:
			ended = true
		case <-patience.C:
		}
	}
	cancelled := t.ctx.Err() != nil
	t.finish()
	t.cancel(nil)
	if ended {
		s.title(p)
	}
	switch {
	case cancelled: // whatever came of it: a cancel is no error
		return sdk.StopReasonCancelled, nil
	case err != nil:
		return "", err
	}
	return stopReason(stop), nil
}

// stopReason is how a run ended, as the protocol has it. A refusal would have the
// editor take the prompt back, so that nothing is one.
func stopReason(r agent.StopReason) sdk.StopReason {
	switch r {
	case agent.StopMaxTurns:
		return sdk.StopReasonMaxTurnRequests
	case agent.StopContextFull:
		return sdk.StopReasonMaxTokens
	case agent.StopInterrupted:
		return sdk.StopReasonCancelled
	}
	return sdk.StopReasonEndTurn
}

// maxTitle bounds a title, in characters.
const maxTitle = 80

// title names the session after its first prompt.
func (s *session) title(p Prompt) {
	text, _, _ := strings.Cut(strings.TrimSpace(p.Text), "\n")
	if short := []rune(text); len(short) > maxTitle {
		text = string(short[:maxTitle-1]) + "…"
	}
	s.mu.Lock()
	named := s.titled || text == "" || len(s.conversation.Entries()) == 0
	s.titled = s.titled || !named
	s.mu.Unlock()
	if !named {
		s.update(sdk.SessionUpdate{SessionInfoUpdate: &sdk.SessionSessionInfoUpdate{Title: &text, UpdatedAt: sdk.Ptr(time.Now().UTC().Format(time.RFC3339))}})
	}
}
