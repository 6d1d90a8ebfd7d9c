package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"

	"github.com/urfave/cli/v2"
)

func resumeCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		ArgsUsage: "[ID|last] [QUESTION...] [-]",
		Description: `Without a question the last one is continued: nothing that was finished is asked
or run again. A call that was under way when mylm was killed is run again if it only
reads; otherwise the model is told that its outcome is unknown.
last, which is also what no id means, is the last session of this project. An id may
be cut short.

The model and the tools are those of the session unless flags say otherwise, and so is
what was set for a plan; the limits count anew.
What --yes allowed then is asked about again.`,
		UsageText: `mylm resume
mylm resume last "and the second largest?"
mylm ask --continue "and the second largest?"`,
		Flags: slices.Concat(askFlags(), questionFlags(), progressFlags()),
		Action: func(c *cli.Context) error {
			id := "last"
			words := c.Args().Slice()
			if len(words) > 0 {
				id, words = words[0], words[1:]
			}
			return resumeSession(c, s, id, words)
		},
	}
}

// resumeSession resumes a session.
func resumeSession(c *cli.Context, s *term.Screen, id string, words []string) error {
	from, err := openSession(c, s, id, len(words) > 0 || len(c.StringSlice("file"))+len(c.StringSlice("image")) > 0)
	if err != nil {
		return err
	}
	return runRequest{words: words, plan: from.plan, from: from}.do(c, s)
}

// refusePlanFlags refuses flags of plans for a session that is not resumed as one.
func refusePlanFlags(c *cli.Context) error {
	for _, f := range progressFlags() {
		if name := f.Names()[0]; c.IsSet(name) {
			return failure.Usage("--%s is for plans, and this session resumes no plan", name).
				WithHint("Omit it. mylm resume ID without a question continues a plan that has tasks left.")
		}
	}
	return nil
}

// resumedSession is a resumed session.
type resumedSession struct {
	session  *agent.Session
	recorder *setup.Recorder
	asks     bool         // with another question
	was      *agent.Setup // the setup of the last run; nil: not recorded
	answered string       // the model of the last reply, "" if there is none
	missing  bool         // the last run ended with a model that could not be asked
	plan     *planRequest // nil: not a plan, or another question is asked
}

// openSession opens a session to resume, with another question or without.
func openSession(c *cli.Context, screen *term.Screen, name string, asks bool) (*resumedSession, error) {
	ctx := c.Context
	store, err := setup.Sessions()
	if err != nil {
		return nil, err
	}
	k := &sessionsRun{cli: c, screen: screen, store: store}
	id, err := k.find(ctx, name)
	if errors.Is(err, journal.ErrNotFound) {
		if last, _, failed := k.last(ctx); failed == nil && last != nil {
			return nil, failure.Usage("%v", err).WithHint(hintList + hintQuestion)
		}
	}
	if err != nil {
		return nil, explainSession(err)
	}
	s, err := term.Wait(ctx, func() (*agent.Session, error) { return store.Open(ctx, id) })
	if errors.Is(err, journal.ErrDamaged) {
		return nil, damaged(err).WithHint(damageHint(ctx, store, id))
	}
	if err != nil {
		return nil, explainSession(err)
	}
	if len(s.Entries()) == 0 {
		return nil, damaged(fmt.Errorf("session %s: %w", id, journal.ErrNothing)).WithHint(deleteHint(store, id))
	}
	from := &resumedSession{session: s, recorder: setup.Resumed(store, screen), asks: asks}
	saved, err := plan.Load(s)
	ofPlan := err == nil && !asks && plan.Unfinished(s)
	from.read(ofPlan)
	if err := s.Resumable(); err != nil && !asks && !ofPlan {
		hint := "Ask another: mylm resume " + name + " \"...\"\nTo talk: mylm chat --session " + name
		if id != name {
			hint += "\nA session without a reply is not the last while there is another: mylm sessions list --all shows it."
		}
		return nil, failure.Usage("session %s: %v", id, err).WithHint(hint)
	}
	if !ofPlan {
		return from, refusePlanFlags(c)
	}
	from.plan = &planRequest{saved: &saved}
	if from.was != nil {
		from.plan.confirm = from.was.Labels["confirm"]
	}
	return from, nil
}

// read takes from the record what the last run was set up with.
func (f *resumedSession) read(ofPlan bool) {
	for _, e := range f.session.Entries() {
		switch p := e.Payload.(type) {
		case agent.RunEntry:
			if p.Setup != nil && (!ofPlan || p.Name == plan.RunName) {
				f.was, f.missing = p.Setup, false
			}
		case agent.ReplyEntry:
			if f.was != nil {
				f.answered = f.was.Labels["model"]
			}
		case agent.EndEntry:
			f.missing = p.StopReason == agent.StopModelError
		}
	}
}

// schema is what the answer of the run must fit that is continued, nil if anything
// will do.
func (f *resumedSession) schema() json.RawMessage {
	if f.asks || f.was == nil {
		return nil
	}
	return f.was.AnswerSchema
}

// settings are the settings that the session recorded.
func (f *resumedSession) settings() *config.Resumed {
	if f.was == nil {
		return nil
	}
	r := &config.Resumed{ID: f.session.ID}
	for name, row := range map[string]*config.Row[string]{"profile": config.ProfileName, "model": config.ModelName} {
		label := f.was.Labels[name]
		if name == "model" && f.missing {
			label = cmp.Or(f.answered, label)
		}
		if label != "" {
			r.Overrides = row.In(r.Overrides, label)
		}
	}
	if f.was.DryRun {
		r.Overrides = config.DryRun.In(r.Overrides, true)
	}
	if f.was.MaxTurns > 0 {
		r.Fallbacks = config.MaxTurns.In(r.Fallbacks, f.was.MaxTurns)
	}
	r.Fallbacks = config.Tools.In(r.Fallbacks, f.was.Tools)
	return r
}

// checkDirectory refuses a session of another directory.
func (f *resumedSession) checkDirectory(workspace string) error {
	if f.was == nil || f.was.Labels["dir"] == "" || f.was.Labels["dir"] == workspace {
		return nil
	}
	dir := f.was.Labels["dir"]
	info, err := os.Stat(dir)
	if here, failed := os.Stat(workspace); err == nil && failed == nil && os.SameFile(info, here) { // through a link
		return nil
	}
	other := failure.Usage("the session is about another directory, %s", term.Printable(dir))
	if err != nil || !info.IsDir() {
		return other.WithHint("That one is gone, and with it what its paths mean: ask in a session of its own, mylm ask \"...\"")
	}
	command := "mylm resume " + f.session.ID
	if f.asks {
		command += " \"...\""
	}
	return other.WithHint("Its paths mean files there: cd " + term.ShellQuote(dir) + " && " + command)
}

// damageHint explains what can be done with a session that cannot be resumed.
func damageHint(ctx context.Context, store *journal.Store, id string) string {
	if _, entries, _ := store.Load(ctx, id); len(entries) == 0 {
		return deleteHint(store, id)
	}
	return "The entries before the damage can be read: mylm sessions show " + id
}

func deleteHint(store *journal.Store, id string) string {
	if files, _ := os.ReadDir(store.Path(id)); len(files) > 0 {
		return "mylm deletes no directory that is not empty. To see what is in it: ls " + term.ShellQuote(store.Path(id))
	}
	return "Nothing of it can be used. To delete it: mylm sessions rm " + id
}

// find returns the id of the session that a user names.
func (k *sessionsRun) find(ctx context.Context, name string) (string, error) {
	if name != "last" {
		return k.store.Find(name)
	}
	last, unreadable, err := k.last(ctx)
	if err != nil {
		return "", err
	}
	for _, u := range unreadable {
		k.screen.Say(fmt.Sprintf("mylm: session %s was changed since, and cannot be read: %s", u.ID, term.OneLine(u.Problem, 300)))
	}
	if last == nil {
		return "", failure.Usage("there is no session of this project").WithHint("mylm sessions list --global lists those of all projects.")
	}
	return last.ID, nil
}

// last returns the last session of this project that has a reply, the newest if none has
// one, and the sessions that may be later but cannot be read.
func (k *sessionsRun) last(ctx context.Context) (*journal.Info, []journal.Info, error) {
	_, project, err := config.Where(k.cli.Command.Flags)
	if err != nil {
		return nil, nil, err
	}
	filter := journal.Filter{Labels: map[string]string{"project": project}}
	first, unreadable, err := k.store.Last(ctx, filter)
	for last, at := first, first; err == nil && last != nil; at = last {
		if !k.neverReplied(ctx, *at) {
			return at, unreadable, nil
		}
		filter.Before = at.Changed
		last, _, err = k.store.Last(ctx, filter)
	}
	return first, unreadable, err
}

// neverReplied reports whether a session failed before a model replied, as with a misspelt name:
// it is not the last one while there is another.
func (k *sessionsRun) neverReplied(ctx context.Context, i journal.Info) bool {
	if i.State != string(agent.StopModelError) {
		return false
	}
	_, entries, _ := k.store.Load(ctx, i.ID)
	return !slices.ContainsFunc(entries, func(e agent.Entry) bool {
		c, _ := e.Payload.(agent.CustomEntry)
		return e.Kind() == agent.EntryReply || c.Type == plan.EntryPlan // the replies of a plan are in it
	})
}

const (
	hintList     = "mylm sessions list shows what there is; --global that of all projects."
	hintQuestion = "\nA question goes after the ID: mylm resume last \"...\""
)

// damaged is the failure of a session that cannot be read, or only in part.
func damaged(err error) *failure.Error {
	return &failure.Error{Code: failure.ExitError, Name: "damaged", Err: err}
}

// explainSession gives an error of the sessions its exit code and hint.
func explainSession(err error) error {
	var f *failure.Error
	switch {
	case err == nil, errors.As(err, &f):
		return err
	case errors.Is(err, journal.ErrNotFound):
		return failure.Usage("%v", err).WithHint(hintList)
	case errors.Is(err, journal.ErrInUse):
		return failure.Usage("%v", err).WithHint("Wait for it to end, or ask in a session of its own: mylm ask \"...\"")
	case errors.Is(err, journal.ErrNewer):
		return failure.Usage("%v", err).WithHint("Use the version of mylm that wrote it, or a later one.")
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.ENOTDIR):
		return (&failure.Error{Code: failure.ExitError, Name: "internal", Err: err}).WithHint("Give yourself access to it again, or have XDG_DATA_HOME name another directory.")
	}
	return err
}

// adviseResume adds to the hint of a run without an answer how to resume it.
// Asking again would do again what was done. model is the one that was meant, if the run's
// is none.
func (r *run) adviseResume(f *failure.Error, model string) {
	if !r.Recorder.Keeps() || strings.Contains(f.Hint, "mylm resume") {
		return
	}
	how := "To go on: "
	command := "mylm resume " + r.Session.ID + resumeFlags(r.Config.Settings)
	if model != "" {
		command += " -m " + term.ShellQuote(model)
	}
	switch {
	case errors.Is(f.Err, agent.ErrDiverged):
		how, command = "To ask it: ", command+" \"...\""
	case r.result.StopReason == agent.StopInternal:
		how = "Once that is fixed, go on: "
	case hadEffects(r.Session):
		f.Hint = strings.NewReplacer("Ask again", "Go on", "ask again", "go on").Replace(f.Hint)
		how = "To go on, with nothing done twice: "
	}
	f.Hint = strings.TrimSpace(f.Hint + "\n" + how + command)
}

// resumeFlags are the flags without which the session would be resumed elsewhere.
// The address is not taken from the session: a file that came from somebody else
// could then redirect what is asked.
func resumeFlags(s config.Settings) (flags string) {
	if dir, ok := config.Workspace.Lookup(s); ok {
		flags += " --workspace " + term.ShellQuote(dir)
	}
	host, from := config.Host.Of(s), config.Host.From(s).Kind
	switch {
	case from != config.Flag && from != config.Variable:
	case strings.Contains(host, "@"): // a password may precede it
		flags += " --host ADDRESS"
	default:
		flags += " --host " + term.ShellQuote(host)
	}
	return flags
}

// hadEffects reports whether a call that does more than read was begun for the
// last question.
func hadEffects(s *agent.Session) bool {
	for _, e := range slices.Backward(s.Entries()) {
		switch p := e.Payload.(type) {
		case agent.PromptEntry:
			return false
		case agent.CallEntry:
			if !p.OnlyReads() {
				return true
			}
		}
	}
	return false
}
