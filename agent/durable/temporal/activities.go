package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/providers"
	"mylm/tools"
)

// entries are what an activity appends to a session before it does anything else.
type entries struct {
	Session string        `json:"session"`
	Entries []agent.Entry `json:"entries,omitempty"`
	Through int           `json:"through,omitempty"` // the last entry of the session
	// Pictures are those of the entries, whose JSON leaves them out, by their digests.
	Pictures map[string][]byte `json:"pictures,omitempty"`
}

// newEntries are entries with their pictures.
func newEntries(session string, all []agent.Entry, through int) entries {
	in := entries{Session: session, Entries: all, Through: through}
	for _, e := range all {
		for _, i := range e.Images() {
			if in.Pictures == nil {
				in.Pictures = map[string][]byte{}
			}
			in.Pictures[i.SHA256] = i.Data
		}
	}
	return in
}

type modelInput struct {
	entries
	Request agent.ModelRequest `json:"request"`
}

type toolInput struct {
	entries
	Request agent.ToolRequest `json:"request"`
	Copy    string            `json:"copy,omitempty"` // of the workspace; "": there is none

	stopped context.Context // of a local one: Done when the workflow is cancelled
}

// reply is what came of a model call: pieces, and the error that ended them.
type reply struct {
	Chunks []providers.Chunk `json:"chunks,omitempty"`
	Fault  *providers.Error  `json:"fault,omitempty"`
	Limit  *agent.LimitError `json:"limit,omitempty"`
}

func (r *reply) err() error {
	switch {
	case r.Limit != nil:
		return r.Limit
	case r.Fault != nil:
		return r.Fault
	}
	return nil
}

// add appends a piece to those before it, and to the last if both are alike.
func (r *reply) add(c providers.Chunk) {
	if n := len(r.Chunks); n > 0 && c.Call == nil && c.Stop == "" && c.Usage == (providers.Usage{}) {
		switch last := &r.Chunks[n-1]; {
		case last.Call != nil:
		case c.Text == "" && c.CallPart == "" && last.Text == "" && last.CallPart == "":
			last.Thought += c.Thought
			return
		case c.Thought == "" && c.CallPart == "" && last.Thought == "" && last.CallPart == "":
			last.Text += c.Text
			return
		}
	}
	if c.CallPart = ""; c != (providers.Chunk{}) { // no more than a sign that the model writes
		r.Chunks = append(r.Chunks, c)
	}
}

// Types of the errors that say how far an activity came.
const (
	notRun      = "not_run"      // the call cannot be made, and was not
	notRecorded = "not_recorded" // nothing was done: the database could not take the entries
	unread      = "unread"       // the same: what the activity is given could not be read
	noTools     = "no_tools"     // the same: a worker of ToolQueue is to do it
	noCopy      = "no_copy"      // the same: the copy of the workspace is not there
)

// begin appends what a call begins with. If the database is away, the workflow waits for it.
func (r *Runs) begin(ctx context.Context, in entries) (s *agent.Session, begun bool, err error) {
	limited, cancel := context.WithTimeout(ctx, appendWithin)
	defer cancel()
	if s, begun, err = r.append(limited, in); err != nil && !final(err) {
		err = sdk.NewNonRetryableApplicationError(err.Error(), notRecorded, err)
	}
	return s, begun, err
}

// final reports whether an error says that trying again does not help.
func final(err error) bool {
	var failed *sdk.ApplicationError
	return errors.As(err, &failed) && failed.NonRetryable()
}

// judged is an error of the store, final if it stays: also that of a database which is not
// the one that this program works with, or denies it what it needs.
func judged(err error) error {
	var p interface{ Permanent() bool }
	switch {
	case err == nil || final(err):
		return err
	case errors.Is(err, journal.ErrDamaged), errors.Is(err, journal.ErrNewer), errors.Is(err, journal.ErrNotBegun):
		return refused(err)
	case errors.As(err, &p) && p.Permanent():
		return refused(fmt.Errorf("%w. Trying again does not help: put it right, and then continue the session with a new run", err))
	}
	return err
}

// append brings a session up to these entries, some of which an earlier attempt may have
// appended, and returns it. Begun reports whether the last of them was there.
func (r *Runs) append(ctx context.Context, in entries) (s *agent.Session, begun bool, err error) {
	if all, known := r.recent.get(in.Session); known {
		s, begun, err = r.extend(ctx, in, all)
		if err == nil || !errors.Is(err, journal.ErrInUse) {
			return s, begun, judged(err)
		}
		r.recent.drop(in.Session) // another worker has written to it since
	}
	var all []agent.Entry
	switch s, err = r.store.Open(ctx, in.Session); {
	case errors.Is(err, journal.ErrNotFound):
	case err != nil:
		return nil, false, judged(err)
	default:
		all = s.Entries()
	}
	if s, begun, err = r.extend(ctx, in, all); errors.Is(err, journal.ErrNotFound) || errors.Is(err, errFewer) {
		err = refused(err) // it was deleted, or is an older copy
	}
	return s, begun, judged(err)
}

// extend is append for a session that has these entries, or did when it was read.
func (r *Runs) extend(ctx context.Context, in entries, all []agent.Entry) (s *agent.Session, begun bool, err error) {
	if len(in.Entries) > 0 && in.Entries[0].Seq > len(all)+1 { // appending would succeed, and tell nothing of those between
		return nil, false, fewer(in, len(all))
	}
	for _, e := range in.Entries {
		if begun = e.Seq <= len(all); begun {
			if all[e.Seq-1].Run != e.Run {
				return nil, false, refused(fmt.Errorf("the session %s has another run: %w", in.Session, journal.ErrInUse))
			}
			if !same(all[e.Seq-1], e) {
				return nil, false, refused(fmt.Errorf("the session %s went on in another way from entry %d, as before its workflow was reset: continue it with a new run", in.Session, e.Seq))
			}
			continue
		}
		for i, images := 0, e.Images(); i < len(images); i++ {
			if images[i].Data == nil { // those of a local activity have it, and the workflow may read it
				images[i].Data = in.Pictures[images[i].SHA256]
			}
		}
		if err := r.store.Append(ctx, e); err != nil {
			return nil, false, err
		}
		all = append(all, e)
	}
	if len(all) < in.Through {
		return nil, false, fewer(in, len(all))
	}
	if s, err = agent.LoadSession(in.Session, all); err == nil {
		r.recent.put(in.Session, all)
	}
	return s, begun, err
}

// errFewer is the error of a session that lacks entries: where it was read before, others
// may have added them.
var errFewer = fmt.Errorf("%w, or entries were lost", journal.ErrInUse)

func fewer(in entries, n int) error {
	return fmt.Errorf("the session %s has %d entries, too few for the entry %d: %w", in.Session, n, in.Through, errFewer)
}

// same reports whether two entries record the same. When they were made, and when their run
// began, is another in a workflow that was reset.
func same(a, b agent.Entry) bool {
	texts := [2]string{}
	for i, e := range []agent.Entry{a, b} {
		e.Time = time.Time{}
		switch p := e.Payload.(type) {
		case agent.ReplyEntry:
			p.State = nil
			e.Payload = p
		case agent.AuxiliaryEntry:
			p.State = nil
			e.Payload = p
		case agent.EndEntry:
			p.State = nil
			e.Payload = p
		}
		text, err := json.Marshal(e)
		if err != nil {
			return false
		}
		texts[i] = string(text)
	}
	return texts[0] == texts[1]
}

// open returns the outline of a session, none if there is no such session.
func (r *Runs) open(ctx context.Context, session string) ([]agent.Entry, error) {
	switch s, err := r.store.Open(ctx, session); {
	case err == nil:
		return s.Outline(), nil
	case errors.Is(err, journal.ErrNotFound):
		return nil, nil
	default:
		return nil, judged(err)
	}
}

func (r *Runs) record(ctx context.Context, in entries) error {
	_, _, err := r.append(ctx, in)
	return err
}

// model makes one call. A fault that may pass is Temporal's to retry, and any other the
// loop's to judge.
func (r *Runs) model(ctx context.Context, in modelInput) (got reply, err error) {
	defer beat(ctx)()
	s, _, err := r.begin(ctx, in.entries)
	if err != nil {
		return got, err
	}
	for c, e := range r.agent.Effects(s).Model(ctx, in.Request) {
		if e != nil {
			err = e
			break
		}
		got.add(c)
	}
	switch attempt := int(activity.GetInfo(ctx).Attempt); {
	case ctx.Err() != nil:
		return reply{}, ctx.Err()
	case err == nil:
		return got, nil
	case errors.As(err, &got.Limit):
		got.Limit = &agent.LimitError{Reason: got.Limit.Reason, Limit: got.Limit.Limit, Message: got.Limit.Message}
		return got, nil
	case !errors.As(err, &got.Fault):
		return reply{}, err
	case !got.Fault.Temporary(), got.Fault.RetryAfter > time.Minute, attempt >= int(modelActivity.attempts), attempt >= r.tries && !got.Fault.Busy:
		fault := *got.Fault
		fault.Err = nil
		got.Fault = &fault
		return got, nil
	}
	return reply{}, sdk.NewApplicationErrorWithOptions(err.Error(), string(got.Fault.Kind), sdk.ApplicationErrorOptions{NextRetryDelay: got.Fault.RetryAfter})
}

// tool makes one call. If the call was begun before and does more than read, its end is
// unknown.
func (r *Runs) tool(ctx context.Context, in toolInput) (tools.Outcome, error) {
	if r.toolsApart() {
		return tools.Outcome{}, sdk.NewNonRetryableApplicationError("the worker calls no tools", noTools, nil)
	}
	defer beat(ctx)()
	if in.stopped != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(in.stopped, cancel)()
	}
	s, begun, err := r.begin(ctx, in.entries)
	switch {
	case err != nil:
		return tools.Outcome{}, err
	case begun && !in.Request.Effect.OnlyReads():
		return tools.Outcome{Error: r.unknown, Unknown: true}, nil
	}
	a, err := r.withTool(s, in.Request.Name, in.Copy)
	if final(err) {
		return tools.Outcome{}, err
	}
	if err != nil {
		return tools.Outcome{}, sdk.NewApplicationErrorWithCause(err.Error(), notRun, err)
	}
	return a.Effects(s).Tool(ctx, in.Request), nil
}

// toolsIn are the tools that work in a copy, "" is none.
func (r *Runs) toolsIn(copy string) (*tools.Registry, error) {
	if copy == "" {
		return r.opts.Tools, nil
	}
	err := ErrNoCopy
	if r.Copies != nil {
		var all *tools.Registry
		if all, err = r.Copies.Tools(copy); err == nil {
			return all, nil
		}
	}
	if errors.Is(err, ErrNoCopy) {
		err = sdk.NewNonRetryableApplicationError(err.Error(), noCopy, err)
	}
	return nil, err
}

// withTool is an agent that has a tool, as it is for a session, and in a copy.
func (r *Runs) withTool(s *agent.Session, name, copy string) (*agent.Agent, error) {
	o := r.opts
	var err error
	if o.Tools, err = r.toolsIn(copy); err != nil {
		return nil, err
	}
	tool := o.Tools.Lookup(name)
	if tool == nil { // the run has it since a time when workers had
		return nil, fmt.Errorf("the worker has no tool %s", name)
	}
	own := copy != ""
	if r.Tools != nil {
		all, err := r.Tools(s)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(all, func(t *tools.Tool) bool { return t.Name == name }); i >= 0 {
			tool, own = all[i], true
		}
	}
	if !own {
		return r.agent, nil
	}
	if o.Tools, err = tools.NewRegistry(tool); err != nil {
		return nil, err
	}
	return agent.New(o)
}

// ending is the result of a run, but for what its session holds, and its last entries.
type ending struct {
	entries
	Result  agent.Result `json:"result"`
	Tainted bool         `json:"tainted,omitempty"` // which the result's JSON leaves out
	Error   string       `json:"error,omitempty"`   // as well
}

func (r *Runs) ended(ctx context.Context, in ending) error {
	defer beat(ctx)()
	var s *agent.Session
	var err error
	if in.Through == 0 { // an earlier version has recorded them
		s, err = r.store.Open(ctx, in.Result.Session)
	} else {
		s, _, err = r.begin(ctx, in.entries)
	}
	if err != nil {
		return err
	}
	if in.Result.Tainted = in.Tainted; in.Error != "" {
		in.Result.Err = errors.New(in.Error)
	}
	return r.Ended(ctx, s, in.Result)
}

// infoWithin is how long a backend has to report its window, which is not essential.
const infoWithin = 3 * time.Second

func (r *Runs) info(ctx context.Context, in entries) (providers.Info, error) {
	defer beat(ctx)()
	s, _, err := r.begin(ctx, in)
	if err != nil {
		return providers.Info{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, infoWithin)
	defer cancel()
	return r.agent.Effects(s).Info(ctx)
}
