package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"mylm/agent/acp"
	"mylm/agent/journal"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"

	"github.com/urfave/cli/v2"
)

func acpCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Description: `An editor starts this command, and speaks the Agent Client Protocol with it on stdin
and stdout: Zed, the IDEs of JetBrains, Neovim, Emacs. docs/acp.md has what each of
them needs to be told. What is set here holds for all its sessions, which mylm resume
and mylm sessions find like any other.`,
		UsageText: `mylm acp
mylm acp -m qwen3:8b`,
		Flags: config.Flags(slices.DeleteFunc(askSettings(), func(s config.Setting) bool {
			return s == config.Workspace || s == config.Color || s == config.Raw // the editor's
		})...),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return failure.Usage("mylm acp takes no argument").WithHint("An editor starts it, and sends what is asked.")
			}
			if term.IsTerminal(s.In) {
				s.Say("mylm: waiting for an editor on stdin; an editor starts this command by itself, see docs/acp.md. Ctrl-D ends it.")
			}
			return serveEditor(c, s)
		},
	}
}

// serveEditor serves an editor on stdin and stdout.
func serveEditor(c *cli.Context, s *term.Screen) error {
	if _, err := config.Load(c.Context, config.Source{Flags: c.Command.Flags}); err != nil {
		return err // now, and not with each session
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // of an editor that was killed: what runs for it is ended first
	err := acp.Serve(c.Context, s.In, s.Out, acp.Options{
		Name: "mylm", Version: version(), Host: &editorHost{flags: c, screen: s}, Log: func(text string) { s.Say("mylm: " + text) },
	})
	if c.Context.Err() != nil && s.Unread() {
		return nil
	}
	return err
}

// editorHost opens the sessions of an editor.
type editorHost struct {
	flags  *cli.Context
	screen *term.Screen
}

// Open implements acp.Host.
func (h *editorHost) Open(ctx context.Context, o acp.Opening) (acp.Conversation, error) {
	info, err := os.Stat(o.Dir)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a directory")
	}
	if err != nil {
		return nil, acp.Errorf(acp.CodeInvalidParams, "cwd %s cannot be used: %v", o.Dir, err)
	}
	quiet, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	t := &editorTalk{dir: o.Dir, editor: o.Editor, quiet: quiet, log: h.screen}
	screen := term.NewScreen(term.Streams{In: quiet, Out: quiet, Err: quiet})
	screen.Attach(&editorScreen{t}) // for good
	t.talk = &talk{flags: h.flags, chosen: config.Workspace.In(config.Layer{}, o.Dir), screen: screen, front: t, dialog: t, mode: t.currentMode, buffers: o.Editor, before: &setup.Setup{}}
	t.further(o.Servers)
	if err := t.open(ctx, o.ID); err != nil {
		t.Close()
		return nil, asked(err)
	}
	return t, nil
}

// looking bounds how long an editor waits for its first answer while the backend is
// asked about the model.
const looking = 2 * time.Second

// Sees implements acp.Host. What cannot be found out is a no.
func (h *editorHost) Sees(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, looking)
	defer cancel()
	sees, err := term.Wait(ctx, func() (bool, error) {
		c, err := config.Load(ctx, config.Source{Flags: h.flags.Command.Flags})
		if err != nil {
			return false, err
		}
		m, err := setup.OpenModel(ctx, c, h.screen, nil)
		if err != nil {
			return false, err
		}
		about, ok := m.Model.(providers.Informer)
		if !ok {
			return false, nil
		}
		info, err := about.Info(ctx)
		return info.Sees == providers.Able, err
	})
	return err == nil && sees
}

// asked is the error of a request that was not met, as the editor shows it.
func asked(err error) error {
	var e *acp.Error
	if errors.As(err, &e) {
		return e
	}
	f := failure.Of(err)
	code := acp.CodeInternal
	switch {
	case errors.Is(err, context.Canceled):
		code = acp.CodeCancelled
	case f.Name == "usage":
		code = acp.CodeInvalidParams
	}
	text := f.Error()
	if f.Hint != "" {
		text += "\n" + f.Hint
	}
	return acp.Errorf(code, "%s", text)
}

// List implements acp.Host.
func (h *editorHost) List(ctx context.Context, p acp.Page) ([]acp.Info, error) {
	store, err := setup.Sessions()
	if err != nil {
		return nil, asked(err)
	}
	f := journal.Filter{Before: p.Before, Limit: p.Limit}
	if p.Dir != "" {
		real, err := filepath.EvalSymlinks(p.Dir)
		if err != nil {
			return nil, nil // it is gone, and nothing was recorded for it that could be resumed
		}
		f.Labels = map[string]string{"dir": real}
	}
	var all []acp.Info
	for {
		found, err := term.Wait(ctx, func() ([]journal.Info, error) { return store.List(ctx, f) })
		if err != nil {
			return nil, asked(err)
		}
		for _, i := range found {
			if dir := i.Labels["dir"]; i.State != journal.Unreadable && filepath.IsAbs(dir) {
				all = append(all, acp.Info{ID: i.ID, Dir: dir, Title: term.OneLine(titleOf(i), 200), Changed: i.Changed})
			}
		}
		if len(found) < f.Limit || len(all) >= p.Limit {
			return all[:min(len(all), p.Limit)], nil
		}
		f.Before = found[len(found)-1].Changed
	}
}

// Delete implements acp.Host.
func (h *editorHost) Delete(ctx context.Context, id string) error {
	store, err := setup.Sessions()
	if err != nil {
		return asked(err)
	}
	_, err = term.Wait(ctx, func() (struct{}, error) { return struct{}{}, store.Remove(id) })
	if err == nil || errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	return asked(explainSession(err))
}
