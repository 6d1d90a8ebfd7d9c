package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mylm/agent/journal"
	"mylm/cmd/mylm/internal/chat"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/policy"
)

// commands are those of the conversation that are about runs and sessions.
func (t *talk) commands() []chat.Command {
	always := func(string) bool { return true }
	bare := func(args string) bool { return args == "" }
	return []chat.Command{
		{Name: "model", Args: "[NAME]", Usage: "list the models, or have another one answer", Run: t.model, Complete: t.models, Now: bare},
		{Name: "tools", Usage: "list the tools", Run: t.mylm("tools"), Now: always},
		{Name: "undo", Usage: "restore the files that the last reply changed", Run: t.undo},
		{Name: "diff", Usage: "show what /undo would take back, as a diff", Run: t.diff, Now: always},
		{Name: "compact", Usage: "have the model sum up all but the last exchange", Run: t.compact},
		{Name: "clear", Usage: "begin a new session", Run: t.clear},
		{Name: "sessions", Usage: "list the sessions of this project", Run: t.mylm("sessions", "list"), Now: always},
		{Name: "resume", Args: "[ID]", Usage: "continue another session; without an id the last one", Run: t.resume, Complete: t.sessions},
		{Name: "memory", Args: "QUERY", Usage: "search what mylm remembers", Run: t.memory, Now: always},
		{Name: "save", Args: "FILE", Usage: "write the conversation into a new file", Run: t.save},
		{Name: "copy", Usage: "put the last answer into the clipboard of the terminal", Run: t.copy, Now: always},
		{Name: "system", Args: "[TEXT]", Usage: "show or set who the model is told to be", Run: t.system, Now: bare},
		{Name: "yolo", Args: "on|off", Usage: "run everything without a question, or ask again", Run: t.yolo, Complete: words("on", "off")},
		{Name: "stats", Usage: "show what the conversation has cost", Run: t.stats, Now: always},
	}
}

func words(w ...string) func(context.Context) []chat.Candidate {
	return func(context.Context) []chat.Candidate { return plainCandidates(w) }
}

// plainCandidates are words that need no note.
func plainCandidates(words []string) (all []chat.Candidate) {
	for _, w := range slices.Compact(slices.Sorted(slices.Values(words))) {
		all = append(all, chat.Candidate{Word: w})
	}
	return all
}

// mylm runs a command of the command line as a part of the conversation.
func (t *talk) mylm(args ...string) func(context.Context, string) error {
	return func(ctx context.Context, more string) error {
		if more != "" {
			return failure.Usage("/%s takes no argument", args[0])
		}
		return t.run(ctx, args...)
	}
}

func (t *talk) run(ctx context.Context, args ...string) error {
	return t.front.Capture(func(s *term.Screen) error { return runCommand(ctx, s, args...) })
}

// model has another model answer.
func (t *talk) model(ctx context.Context, name string) error {
	if name == "" {
		t.screen.Say("The model is " + config.ModelName.Of(t.settings()) + ".")
		return t.run(ctx, "models")
	}
	was := config.ModelName.Of(t.config.Settings)
	t.chosen = config.ModelName.In(t.chosen, name)
	err := t.load(ctx)
	var m *setup.Model
	if err == nil {
		m, err = setup.OpenModel(ctx, t.config, t.screen, nil)
	}
	if err == nil {
		_, _, err = m.Window(ctx, t.screen) // a model that is missing is reported now
	}
	if err != nil {
		t.chosen = config.ModelName.In(t.chosen, was)
		_ = t.load(ctx)
		if m != nil {
			f := failure.Of(err)
			m.Advise(f)
			err = f
		}
		return t.advised(err)
	}
	if err := t.use(ctx, m); err != nil {
		return err
	}
	t.screen.Dim("from now on " + term.Printable(m.Name) + " answers")
	return nil
}

// models are the names that /model takes, as far as they are known at once.
func (t *talk) models(ctx context.Context) []chat.Candidate {
	var names []string
	for name := range t.config.Models {
		names = append(names, name)
	}
	if client, err := setup.OllamaClient(t.config.Settings); err == nil {
		if all, err := client.Models(ctx); err == nil {
			for _, m := range all {
				if m.Chats {
					names = append(names, m.Name)
				}
			}
		}
	}
	return plainCandidates(append(names, "demo"))
}

// settings are those that the next run will have.
func (t *talk) settings() config.Settings {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.config.Settings
}

// compact has the model sum up what was said.
func (t *talk) compact(ctx context.Context, args string) error {
	switch {
	case args != "":
		return failure.Usage("/compact takes no argument")
	case t.from == nil:
		return failure.Usage("nothing was said yet")
	}
	_, err := t.do(ctx, runRequest{from: t.from, talk: t, compact: true})
	return err
}

// clear begins a new session, in which nothing is allowed yet.
func (t *talk) clear(ctx context.Context, args string) error {
	if args != "" {
		return failure.Usage("/clear takes no argument")
	}
	if err := t.leave(ctx); err != nil {
		return err
	}
	t.front.Clear()
	return nil
}

// leave ends the session, and with it what was allowed in it.
func (t *talk) leave(ctx context.Context) error {
	if t.from != nil {
		t.from.recorder.Finish()
	}
	t.from = nil
	t.before = &setup.Setup{Model: t.before.Model}
	t.mu.Lock()
	s := &t.status
	s.Context, s.Window, s.Messages, s.Tokens, s.Rate = 0, 0, 0, 0, 0
	t.calls, t.prompt, t.least, t.answer = 0, 0, false, ""
	t.mu.Unlock()
	if t.asks == "" {
		return nil
	}
	return t.confirm(ctx, t.asks)
}

// resume continues another session.
func (t *talk) resume(ctx context.Context, id string) error {
	if id == "" {
		id = "last"
		for _, c := range t.sessions(ctx) {
			if t.from == nil || c.Word != t.from.session.ID {
				id = c.Word
				break
			}
		}
	}
	if t.from != nil {
		t.from.recorder.Finish() // the session may be this one
	}
	from, err := openSession(t.flags, t.screen, id, true)
	if err != nil {
		return t.advised(err)
	}
	if err := from.checkDirectory(t.config.Workspace); err != nil {
		from.recorder.Finish()
		return err
	}
	if err := t.leave(ctx); err != nil {
		from.recorder.Finish()
		return err
	}
	t.from = from
	t.mu.Lock()
	t.used()
	t.mu.Unlock()
	text, answer := t.recap()
	t.screen.Dim(text)
	t.screen.Rows(answer, "", false)
	return nil
}

// sessions are the ids that /resume takes, the last one first.
func (t *talk) sessions(ctx context.Context) (ids []chat.Candidate) {
	store, err := setup.Sessions()
	if err != nil {
		return nil
	}
	all, err := store.List(ctx, journal.Filter{Labels: map[string]string{"project": t.config.Project}, Limit: 20})
	if err != nil {
		return nil
	}
	for _, i := range all {
		if i.Problem == "" {
			ids = append(ids, chat.Candidate{Word: i.ID, Note: i.Changed.Local().Format("2006-01-02 15:04") + "  " + titleOf(i)})
		}
	}
	return ids
}

func (t *talk) memory(ctx context.Context, query string) error {
	if query == "" {
		return failure.Usage("/memory needs what to search for").WithHint("/memory deploy script")
	}
	return t.run(ctx, "memory", "search", "--", query)
}

func (t *talk) copy(_ context.Context, args string) error {
	if args != "" {
		return failure.Usage("/copy takes no argument")
	}
	t.mu.Lock()
	answer := t.answer
	t.mu.Unlock()
	if answer == "" {
		return failure.Usage("there is no answer to copy yet")
	}
	t.front.Copy(answer)
	t.screen.Dim(fmt.Sprintf("copied %s, if the terminal allows it (OSC 52)", term.Plural(len(answer), "byte")))
	return nil
}

func (t *talk) system(ctx context.Context, text string) error {
	if text == "" {
		now := config.System.Of(t.settings())
		if now == "" {
			now = "(the built-in text; mylm prompts show system prints it)"
		}
		t.screen.Say(now)
		return nil
	}
	t.chosen = config.System.In(t.chosen, text)
	t.screen.Dim("set from the next message on")
	return t.load(ctx)
}

// yolo turns questions off, or on again.
func (t *talk) yolo(ctx context.Context, how string) error {
	mode := map[string]policy.Mode{"on": policy.Yolo, "off": policy.ConfirmSensitive}[how]
	if mode == "" {
		return failure.Usage("/yolo takes on or off")
	}
	if was := config.Confirm.Or(t.config.Settings, string(policy.ConfirmSensitive)); how == "on" && was != string(mode) {
		t.asks = was
	} else if how == "off" && t.asks != "" {
		mode = policy.Mode(t.asks)
	}
	if err := t.confirm(ctx, string(mode)); err != nil {
		return err
	}
	now := config.Confirm.Of(t.config.Settings)
	text := "Questions are asked again."
	if how == "on" {
		text = "Everything runs without a question; deny rules and the sandbox still hold."
	}
	if now != string(mode) {
		text = "The project's file asks for more: the mode is " + now + "."
	}
	t.screen.Say(text)
	return nil
}

// confirm sets which calls are asked about.
func (t *talk) confirm(ctx context.Context, mode string) error {
	t.chosen = config.Confirm.In(config.Yes.In(t.chosen, false), mode)
	return t.load(ctx)
}

func (t *talk) stats(_ context.Context, args string) error {
	if args != "" {
		return failure.Usage("/stats takes no argument")
	}
	t.screen.Say(t.cost())
	return nil
}

// cost is what the conversation has cost.
func (t *talk) cost() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.status
	least := ""
	if t.least {
		least = "at least "
	}
	parts := []string{term.Plural(s.Messages, "message"), term.Plural(t.calls, "call"), least + term.Plural(t.prompt, "token") + " in", fmt.Sprintf("%s%d out", least, s.Tokens)}
	if s.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%.0f tokens/s", s.Rate))
	}
	return strings.Join(parts, ", ")
}
