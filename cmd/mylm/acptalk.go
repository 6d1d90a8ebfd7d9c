package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"mylm/agent"
	"mylm/agent/acp"
	"mylm/agent/journal"
	"mylm/cmd/mylm/internal/chat"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/sink"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/ask"
	"mylm/tools/policy"
)

// editorTalk is a conversation in an editor.
type editorTalk struct {
	*talk
	dir     string // as the editor named it
	editor  *acp.Editor
	quiet   *os.File     // the streams of what runs here
	log     *term.Screen // what the user of the editor is not shown
	first   string       // the model that answers unless one is chosen; "": not known
	refused []string     // MCP servers that are not used, and why; the user was not told yet

	mu      sync.Mutex
	turn    *acp.Turn // that is being answered; nil: none
	command bool      // it is a command of the user
	closing bool      // what is said now is said elsewhere, too
	chosen  policy.Mode
	least   policy.Mode // what the project asks for
}

// open reads the settings, and the recorded session if it is one.
func (t *editorTalk) open(ctx context.Context, id string) error {
	if id == "" {
		t.session = agent.NewSession()
	} else {
		store, err := setup.Sessions()
		if err != nil {
			return err
		}
		if found, err := store.Find(id); errors.Is(err, journal.ErrNotFound) || err == nil && found != id { // a part of one is no id
			return acp.Errorf(acp.CodeNotFound, "there is no session %q", id)
		}
		from, err := openSession(t.flags, t.screen, id, true)
		if err != nil {
			return err
		}
		t.from, t.session = from, from.session
		if entries := from.session.Entries(); entries[len(entries)-1].Kind() == agent.EntryEnd {
			t.release() // until a prompt comes, others can continue it
		}
	}
	if err := t.load(ctx); err != nil {
		return err
	}
	if t.from != nil {
		if err := t.from.checkDirectory(t.config.Workspace); err != nil {
			return err
		}
	}
	mode, err := policy.ParseMode(config.Confirm.Of(t.config.Settings))
	if err != nil {
		return failure.Config(err)
	}
	t.chosen, t.least = mode, policy.Yolo
	if asked, ok := config.Asked(t.config, config.Confirm); ok {
		t.least = policy.Mode(asked)
	}
	return nil
}

// ID implements acp.Conversation.
func (t *editorTalk) ID() string { return t.session.ID }

// Entries implements acp.Conversation.
func (t *editorTalk) Entries() []agent.Entry { return t.session.Joined() }

// release lets other processes have the recorded session.
func (t *editorTalk) release() {
	if t.from != nil {
		t.from.recorder.Finish()
	}
}

// Close implements acp.Conversation.
func (t *editorTalk) Close() {
	t.release()
	t.talk.servers.Close()
	_ = t.quiet.Close()
}

// editorModes are the settings of what is asked about, for the editor.
var editorModes = []acp.Mode{
	{ID: string(policy.ConfirmAll), Name: "Ask about everything", Description: "every call needs your permission"},
	{ID: string(policy.ConfirmSensitive), Name: "Ask before changes", Description: "what may do more than read here needs your permission"},
	{ID: string(policy.Yolo), Name: "Never ask", Description: "everything runs at once; deny rules and the sandbox still hold"},
}

// Modes implements acp.Conversation.
func (t *editorTalk) Modes() ([]acp.Mode, string) { return editorModes, string(t.currentMode()) }

// currentMode is what was chosen, or what the project asks for beyond it.
func (t *editorTalk) currentMode() policy.Mode {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.chosen.Stricter(t.least)
}

// SetMode implements acp.Conversation.
func (t *editorTalk) SetMode(_ context.Context, id string) error {
	if !slices.Contains(policy.Modes, policy.Mode(id)) {
		return acp.Errorf(acp.CodeInvalidParams, "there is no mode %q", id)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.chosen = policy.Mode(id)
	return nil
}

// Model implements acp.Conversation.
func (t *editorTalk) Model() string {
	return cmp.Or(config.ModelName.Of(t.settings()), t.first)
}

// Models implements acp.Conversation.
func (t *editorTalk) Models(ctx context.Context) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, looking)
	defer cancel()
	if t.Model() == "" {
		if m, err := setup.OpenModel(ctx, t.config, t.log, nil); err == nil {
			t.first = m.Name
		}
	}
	for _, c := range t.models(ctx) {
		names = append(names, c.Word)
	}
	return names
}

// SetModel implements acp.Conversation.
func (t *editorTalk) SetModel(ctx context.Context, name string) error {
	if err := t.model(ctx, name); err != nil {
		return asked(err)
	}
	return nil
}

// editorCommands are the commands of a conversation that make sense in an editor.
var editorCommands = []string{"model", "tools", "undo", "system", "stats"}

// slash are the commands that the user can type.
func (t *editorTalk) slash() []chat.Command {
	return append(slices.DeleteFunc(t.commands(), func(c chat.Command) bool { return !slices.Contains(editorCommands, c.Name) }),
		chat.Command{Name: "plan", Args: "GOAL", Usage: "break a goal down into tasks, and do them", Run: t.plan})
}

// Commands implements acp.Conversation.
func (t *editorTalk) Commands() (all []acp.Command) {
	for _, c := range t.slash() {
		all = append(all, acp.Command{Name: c.Name, Description: c.Usage, Hint: c.Args})
	}
	return all
}

// Prompt implements acp.Conversation.
func (t *editorTalk) Prompt(ctx context.Context, p acp.Prompt, turn *acp.Turn) (stop agent.StopReason, err error) {
	t.mu.Lock()
	t.turn, t.command, t.closing = turn, false, false
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.turn = nil
	}()
	for _, why := range t.refused {
		t.screen.Say("mylm: " + why)
	}
	t.refused = nil
	if command, args, ok := t.typed(p.Text); ok {
		t.mu.Lock()
		t.command = true
		t.mu.Unlock()
		if err := command.Run(ctx, args); err != nil {
			return "", asked(err)
		}
		return agent.StopComplete, nil
	}
	in, err := t.input(ctx, p)
	if err != nil {
		return "", asked(err)
	}
	return t.answer(ctx, in, nil)
}

// typed is the command at the beginning of a text, if there is one.
func (t *editorTalk) typed(text string) (c chat.Command, args string, ok bool) {
	name, args, _ := strings.Cut(text, " ")
	name, ok = strings.CutPrefix(strings.TrimSpace(name), "/")
	all := t.slash()
	i := slices.IndexFunc(all, func(c chat.Command) bool { return c.Name == name })
	if !ok || i < 0 {
		return c, "", false
	}
	return all[i], strings.TrimSpace(args), true
}

// plan carries out a goal as mylm agent run does.
func (t *editorTalk) plan(ctx context.Context, goal string) error {
	if goal == "" {
		return failure.Usage("/plan needs a goal").WithHint("/plan find out which test is slow, and why")
	}
	t.mu.Lock()
	t.command = false
	t.mu.Unlock()
	_, err := t.answer(ctx, input{question: goal}, &planRequest{})
	return err
}

// answer answers a message with a run.
func (t *editorTalk) answer(ctx context.Context, in input, plan *planRequest) (agent.StopReason, error) {
	t.message = in
	out := &output{screen: t.screen, form: sink.Text, sinks: sink.All{&editorSink{t}}, terminal: sink.NewTerminal(t.screen, sink.Options{Quiet: true})}
	r := &run{runRequest: runRequest{from: t.from, talk: t.talk, plan: plan}, flags: t.flags, out: out}
	err := r.do(ctx)
	t.keep(r)
	if r.Setup != nil {
		t.session = r.Session
	}
	if r.result == nil {
		return "", asked(cmp.Or(err, errors.New("the run did not take place")))
	}
	stop := r.result.StopReason
	switch {
	case stop == agent.StopModelError, stop == agent.StopInternal:
		return stop, asked(err)
	case err != nil && ctx.Err() == nil:
		t.turn.Message("\n\n(" + failure.Of(err).Error() + ")") // and what to do is in flags, which an editor has none of
	}
	return stop, nil
}

// taking is the turn that takes what is said now; nil: none does.
func (t *editorTalk) taking() (turn *acp.Turn, command bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return nil, false
	}
	return t.turn, t.command
}

// Question implements setup.Dialog. It is never called, since nobody can be asked.
func (t *editorTalk) Question(context.Context, ask.Question) (string, error) {
	return "", ask.ErrNoAnswer
}

// Capture implements front.
func (t *editorTalk) Capture(do func(*term.Screen) error) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	read := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(r)
		read <- string(b)
	}()
	s := term.NewScreen(term.Streams{In: t.quiet, Out: w, Err: w})
	var said strings.Builder
	s.Attach(&capturedScreen{editorScreen{t}, &said})
	err = do(s)
	w.Close()
	text := strings.TrimSpace(<-read + said.String())
	if turn, _ := t.taking(); turn != nil && text != "" {
		turn.Message("```text\n" + text + "\n```\n")
	}
	return err
}

// Copy implements front. Its command is not offered.
func (*editorTalk) Copy(string) {}

// Clear implements front. Its command is not offered.
func (*editorTalk) Clear() {}

// editorScreen is what a screen writes to in an editor.
type editorScreen struct{ *editorTalk }

// Answer implements term.Host.
func (s *editorScreen) Answer(text string) {
	if turn, _ := s.taking(); turn != nil {
		turn.Message(text)
	}
}

// Rows implements term.Host.
func (*editorScreen) Rows(_, _ []string, _ bool) {}

// EndAnswer implements term.Host.
func (*editorScreen) EndAnswer() {}

// Lines implements term.Host. What a command says is its answer; what is said
// beside an answer is shown as a thought, unless it is of less weight.
func (s *editorScreen) Lines(text string, faint bool) {
	switch turn, command := s.editorTalk.taking(); {
	case turn != nil && command:
		turn.Message(text + "\n")
	case turn != nil && !faint:
		turn.Thought(text + "\n")
	default:
		s.log.Say(text)
	}
}

// Draw implements term.Host.
func (*editorScreen) Draw([]string) {}

// nobody is why nothing is asked on a terminal: the editor may have one, and shows
// something else there.
const nobody = term.Nobody("In an editor nothing but permission is asked for")

// Absent implements term.Host.
func (*editorScreen) Absent() term.Nobody { return nobody }

// Ask implements term.Host.
func (*editorScreen) Ask(context.Context, string, bool) (string, error) { return "", nobody }

// Release implements term.Host.
func (*editorScreen) Release() {}

// capturedScreen keeps what a command says.
type capturedScreen struct {
	editorScreen
	said *strings.Builder
}

// Answer implements term.Host.
func (s *capturedScreen) Answer(text string) { s.said.WriteString(text) }

// Lines implements term.Host.
func (s *capturedScreen) Lines(text string, _ bool) { s.said.WriteString(text + "\n") }

// editorSink passes the events of a run to the editor.
type editorSink struct{ *editorTalk }

// Open implements sink.Sink.
func (*editorSink) Open(sink.Run) error { return nil }

// Event implements sink.Sink.
func (s *editorSink) Event(ev agent.Event) error {
	s.turn.Event(ev)
	return nil
}

// Close implements sink.Sink. The failure is reported after it, and goes to the
// editor as the end of the prompt.
func (s *editorSink) Close(sink.Outcome) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	return nil
}
