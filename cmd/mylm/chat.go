package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/cmd/mylm/internal/chat"
	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/markdown"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/files"
	"mylm/tools/policy"

	"github.com/urfave/cli/v2"
)

func chatCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		ArgsUsage: "[MESSAGE...]",
		Description: `A conversation in which the model has its tools, and what was said stays in the
terminal's scrollback. It is a session: mylm chat --continue goes on with it, and
so does mylm resume last "...". /help lists the commands and keys.`,
		UsageText: "mylm\nmylm chat -m qwen3:8b\nmylm chat --continue",
		Flags: slices.Concat(config.Flags(askSettings()...),
			cmdline.Group(config.OfMemory,
				&cli.BoolFlag{Name: "continue", Aliases: []string{"c"}, Usage: "continue the last session of this project"},
				&cli.StringFlag{Name: "session", Usage: "continue the session `ID`"}),
			cmdline.Group(config.OfOutput,
				&cli.BoolFlag{Name: "verbose", Usage: "also show thought, tool output and statistics"},
				&cli.BoolFlag{Name: "stats", Usage: "report the cost of each reply"}),
		),
		Action: func(c *cli.Context) error {
			if err := canChat(s); err != nil {
				return err
			}
			t := &talk{flags: c, screen: s}
			return t.hold(c.Context, strings.Join(c.Args().Slice(), " "))
		},
	}
}

// canChat is why no conversation can be held here, nil if one can.
func canChat(s *term.Screen) error {
	why := ""
	switch {
	case !term.IsTerminal(s.In) || !s.OutTTY || !term.IsTerminal(s.Err):
		why = "a conversation needs a terminal, and stdin, stdout or stderr is none"
	case os.Getenv("TERM") == "dumb":
		why = "a conversation needs a terminal that can move its cursor, and TERM is dumb"
	default:
		return nil
	}
	return failure.Usage("%s", why).WithHint("mylm ask \"...\" answers a question anywhere, and mylm ask --continue \"...\" the next one.")
}

// talk is a conversation: runs in one session, each set up anew from the settings
// and from what the one before it has left.
type talk struct {
	flags  *cli.Context
	chosen config.Layer // by its commands
	screen *term.Screen
	config *config.Config // for what is shown, and commands; each run loads its own
	front  front
	dialog setup.Dialog
	mode   func() policy.Mode // see setup.Person
	asks   string             // the mode before /yolo on, which ends with the session

	from    *resumedSession // nil: nothing was asked yet
	session *agent.Session  // of the first run; nil: it makes one
	buffers files.Editor    // see setup.Request
	before  *setup.Setup    // of the last run, closed
	servers setup.Servers   // MCP servers, which last as long as the conversation
	message input           // what the run that is being set up asks

	mu     sync.Mutex
	status chat.Status
	answer string // the last one
	calls  int
	prompt int  // tokens read
	least  bool // some replies were stopped before the server had counted them
}

// front is where a conversation takes place.
type front interface {
	Capture(run func(*term.Screen) error) error // runs a command whose output becomes part of it
	Copy(text string)
	Clear()
}

// hold holds the conversation.
func (t *talk) hold(ctx context.Context, first string) error {
	if err := t.open(ctx); err != nil {
		return err
	}
	history := ""
	if dir, err := config.DataDir(); err == nil && config.Save.Or(t.config.Settings, true) {
		history = filepath.Join(dir, "chat_history")
	}
	intro, answer := t.intro()
	if err := setup.Unenforced(setup.SandboxPolicy(t.config)); err != nil {
		intro += fmt.Sprintf("\nmylm: %v\n  mylm chat --workspace DIR works in another directory; mylm chat --sandbox off runs commands without a sandbox.", err)
	}
	here := chat.New(chat.Options{
		Screen: t.screen, Send: t.send, Status: t.current, Commands: t.commands(), Paths: t.paths, Shell: t.shell, Edit: t.edit, Further: t.serverPrompt,
		History: history, First: first, Intro: intro, Answer: answer,
	})
	t.front, t.dialog = here, here
	defer t.servers.Close()
	err := here.Run(ctx)
	if t.from != nil && t.from.recorder.Keeps() {
		t.screen.Dim("To go on: mylm chat --session " + t.from.session.ID + resumeFlags(t.config.Settings))
	}
	if err == nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// open reads the settings, and opens the session that is continued and the model.
func (t *talk) open(ctx context.Context) error {
	name := t.flags.String("session")
	if t.flags.Bool("continue") {
		if name != "" {
			return failure.Usage("--continue and --session exclude each other")
		}
		name = "last"
	}
	if name != "" {
		from, err := openSession(t.flags, t.screen, name, true)
		if err != nil {
			return err
		}
		t.from = from
	}
	if err := t.load(ctx); err != nil {
		return err
	}
	if t.from != nil {
		if err := t.from.checkDirectory(t.config.Workspace); err != nil {
			return err
		}
	}
	t.screen.SetColor(config.Color.Or(t.config.Settings, "auto"))
	m, err := setup.OpenModel(ctx, t.config, t.screen, &term.Prompter{Screen: t.screen})
	if err != nil {
		return err
	}
	if m.Notice != "" {
		t.screen.Dim(t.screen.Folded(m.Notice, 2))
		m.Notice = "" // said once
	}
	return t.use(ctx, m)
}

// load reads the settings as the next run will.
func (t *talk) load(ctx context.Context) error {
	var resumed *config.Resumed
	if t.from != nil {
		resumed = t.from.settings()
	}
	loaded, err := config.Load(ctx, config.Source{Flags: t.flags.Command.Flags, Chosen: t.chosen, Resumed: resumed})
	if err != nil {
		return err
	}
	if err = loaded.ApplyProject(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.config = loaded
	s := &t.status
	s.Project, s.Sandbox = filepath.Base(t.config.Project), "sandbox "+string(t.config.Sandbox())
	s.Yolo = config.Confirm.Of(t.config.Settings) == "yolo"
	return nil
}

// use has the model answer from now on.
func (t *talk) use(ctx context.Context, m *setup.Model) error {
	t.chosen = config.ModelName.In(t.chosen, m.Name)
	if t.before == nil {
		t.before = &setup.Setup{}
	}
	t.before.Model = m
	t.mu.Lock()
	t.status.Model, t.status.Window = m.Name, 0
	t.mu.Unlock()
	return t.load(ctx)
}

func (t *talk) intro() (text, answer string) {
	text = "mylm · " + t.status.Model + " · " + term.OneLine(term.Printable(t.config.Project), 200)
	if notes := setup.Notes(t.config); len(notes) > 0 {
		text += " · " + term.OneLine(term.Printable(strings.Join(notes, ", ")), 200)
	}
	text += "\n/help lists the commands and keys."
	if t.from == nil {
		return text, ""
	}
	recap, answer := t.recap()
	return text + "\n" + recap, answer
}

// recap is where a session stands, and the rows of its last answer.
func (t *talk) recap() (text, answer string) {
	asked, answered := "", ""
	n := 0
	for _, e := range t.from.session.Joined() {
		switch p := e.Payload.(type) {
		case agent.PromptEntry:
			asked, answered = p.Text, ""
			n++
		case agent.ReplyEntry:
			answered = cmp.Or(p.Answer, p.Text)
		}
	}
	text = fmt.Sprintf("Session %s, %s so far.", t.from.session.ID, term.Plural(n, "message"))
	if asked != "" {
		text += "\n> " + term.OneLine(term.Printable(asked), 200)
	}
	if answered = term.Shorten(strings.TrimSpace(term.Printable(answered)), 1000); answered == "" {
		return text, ""
	}
	if config.Raw.Of(t.config.Settings) {
		return text + "\n" + answered, ""
	}
	columns, _ := t.screen.Size()
	return text, markdown.Render(answered, markdown.Options{
		Width: columns - 1, Color: t.screen.AnswerColor, Background: markdown.BackgroundOf(os.Getenv("COLORFGBG")),
	})
}

// send answers a message: it is a run like that of mylm ask --continue.
func (t *talk) send(ctx context.Context, text string) error {
	var err error
	if t.message, err = t.read(ctx, text); err != nil {
		return &chat.Unsent{Err: err}
	}
	asked, err := t.do(ctx, runRequest{from: t.from, talk: t})
	if err != nil && !asked {
		return &chat.Unsent{Err: err}
	}
	return err
}

// do carries a run out, and keeps what the next one needs.
func (t *talk) do(ctx context.Context, request runRequest) (asked bool, err error) {
	out, err := newOutput(t.flags, t.screen, request.from != nil && request.from.schema() != nil)
	if err != nil {
		return false, err
	}
	r := &run{runRequest: request, flags: t.flags, out: out}
	err = r.do(ctx)
	t.keep(r)
	asked = r.result != nil && (r.result.StopReason != agent.StopModelError || r.result.Response != "" || len(r.result.Calls) > 0)
	return asked, err
}

// keep remembers what the next run needs of one.
func (t *talk) keep(r *run) {
	if r.Setup == nil {
		return
	}
	r.Setup.Before = nil
	t.before = r.Setup
	if len(r.Session.Entries()) > 0 {
		t.from = &resumedSession{session: r.Session, recorder: r.Recorder, asks: true}
		t.from.read(false)
	}
	if r.result == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.status
	s.Messages++
	s.Tokens += r.result.Usage.Output
	t.prompt += r.result.Usage.Prompt
	t.least = t.least || r.result.UsagePartial
	t.calls += len(r.result.Calls)
	t.answer = cmp.Or(r.result.Response, t.answer)
	if spent := r.result.Usage.OutputTime; spent > 0 {
		s.Rate = float64(r.result.Usage.Output) / spent.Seconds()
	}
	t.used()
}

// used notes how much of the window the session used last.
func (t *talk) used() {
	if t.from == nil {
		return
	}
	for _, e := range t.from.session.Entries() {
		if end, ok := e.Payload.(agent.EndEntry); ok && end.State != nil {
			t.status.Context = end.State.Prompt
			if t.status.Window = end.State.Window; end.State.Guessed {
				t.status.Window = 0
			}
		}
	}
}

// advised is an error whose hint fits where it is read: a conversation has no flags.
func (t *talk) advised(err error) error {
	if err == nil {
		return nil
	}
	if _, here := t.front.(*chat.Chat); !here || errors.Is(err, failure.ErrReported) {
		return err
	}
	f := *failure.Of(err)
	if errors.Is(err, journal.ErrInUse) && f.Hint == "" && t.from != nil {
		f.Hint = "Open it again: /resume " + t.from.session.ID
	}
	f.Hint = regexp.MustCompile(`mylm ask -m (\S+) "[^"]*"`).ReplaceAllString(f.Hint, "/model $1")
	f.Hint = strings.NewReplacer(
		"allow everything in this run with --yes.", "allow everything with /yolo on.",
		hintQuestion, "", hintList, "/sessions lists those of this project.",
		"mylm sessions show", "!mylm sessions show", "mylm undo --list", "!mylm undo --list",
	).Replace(f.Hint)
	if strings.Contains(strings.NewReplacer("(", " ", "\n", " ", "!mylm undo --list", "").Replace(" "+f.Hint), " --") {
		f.Hint += "\nFlags belong to the command line: leave with /quit, and go on with mylm chat --continue and the flag."
	}
	return &f
}

// compacted notes how much of the window is used now.
func (t *talk) compacted(c agent.Compaction) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.status.Context = c.After
}

func (t *talk) current() chat.Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status
}
