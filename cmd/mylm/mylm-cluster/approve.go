package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/agent/journal"
	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
)

func (c *cluster) approveCommand() *cli.Command {
	return &cli.Command{
		Name: "approve", Usage: "decide about the call of a run that waits", ArgsUsage: "ID",
		Description: `It shows the call, and asks on the terminal. --yes and --deny decide without a question.
Of a plan it is the call of the first task that waits. The session of a task is an ID as well.`,
		UsageText: `mylm-cluster approve 4mvbhgq3zuyta
mylm-cluster approve --deny --reason "not before Monday" 4mvbhgq3zuyta`,
		Flags: join(temporalFlags(), cmdline.Group(ofRun,
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "allow the call without asking"},
			&cli.BoolFlag{Name: "deny", Usage: "deny the call without asking"},
			&cli.StringFlag{Name: "reason", Usage: "tell the model `WHY` it is denied"},
			jsonFlag())...),
		Action: func(ctx *cli.Context) error {
			switch {
			case ctx.Bool("yes") && ctx.Bool("deny"):
				return failure.Usage("--yes and --deny contradict each other")
			case ctx.String("reason") != "" && !ctx.Bool("deny"):
				return failure.Usage("--reason goes with --deny")
			}
			return c.withRun(ctx, c.approve)
		},
	}
}

// approved is what approve --json prints.
type approved struct {
	Session string                 `json:"session"`
	Task    string                 `json:"task,omitempty"` // of the plan that was named
	Allowed bool                   `json:"allowed"`
	Call    *agent.ApprovalRequest `json:"call"`
}

func (c *cluster) approve(ctx *cli.Context, l *link, id string) error {
	status, err := l.described(ctx.Context, id)
	switch {
	case err != nil:
		return err
	case status == "":
		return noRun(id)
	case status != "running":
		return &failure.Error{Code: failure.ExitError, Name: "not_waiting", Err: fmt.Errorf("no call waits: the run of %s is over (%s)", id, status)}
	}
	of, task, q, err := l.asks(ctx.Context, id)
	if err != nil {
		return err
	}
	if q == nil {
		return (&failure.Error{Code: failure.ExitError, Name: "not_waiting", Err: fmt.Errorf("no call of %s waits for a decision", id)}).
			WithHint("mylm-cluster tail " + id + " shows what the run does.")
	}
	yes := ctx.Bool("yes")
	if yes || ctx.Bool("deny") {
		c.screen.Say(callText(task, q))
	} else {
		yes, err = consents(ctx.Context, &term.Prompter{Screen: c.screen}, task, q)
		var nobody term.Nobody
		if errors.As(err, &nobody) {
			c.screen.Say(callText(task, q))
			return failure.Usage("%w", err).WithHint("--yes allows the call, --deny denies it.")
		}
		if err != nil {
			return err
		}
	}
	if err := l.decide(ctx.Context, of, q, yes, ctx.String("reason")); err != nil {
		return err
	}
	if ctx.Bool("json") {
		return term.PrintJSON(c.screen, approved{of, task, yes, q})
	}
	if yes {
		c.screen.Say("allowed")
	} else {
		c.screen.Say("denied")
	}
	return nil
}

// asks is the call that waits of a run or, if that is a plan, of one of its tasks: q is nil
// if none does.
func (l *link) asks(ctx context.Context, id string) (of, task string, q *agent.ApprovalRequest, err error) {
	if q, err = l.waiting(ctx, id); q != nil || err != nil {
		return id, "", q, err
	}
	tasks, err := tasksOf(ctx, l.sessions, id)
	if errors.Is(err, journal.ErrNotFound) { // it has not begun
		err = nil
	}
	tasks = slices.DeleteFunc(tasks, func(t plan.Task) bool { return t.Status != plan.InProgress })
	var runs []string
	for _, t := range tasks {
		runs = append(runs, t.Session())
	}
	for i, said := range l.askAll(ctx, runs) {
		var missing *serviceerror.NotFound
		switch {
		case said.q != nil:
			return runs[i], tasks[i].ID, said.q, nil
		case !errors.As(said.err, &missing): // nor has this
			err = cmp.Or(err, said.err)
		}
	}
	return id, "", nil, err
}

// said is what a run says when it is asked whether a call waits.
type said struct {
	q   *agent.ApprovalRequest
	err error
}

// askAll asks runs at once, and yields what they say in their order, each as it comes.
func (l *link) askAll(ctx context.Context, runs []string) iter.Seq2[int, said] {
	return func(yield func(int, said) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		all := make([]chan said, len(runs))
		for i, id := range runs {
			all[i] = make(chan said, 1)
			go func() {
				q, err := l.waiting(ctx, id)
				all[i] <- said{q, err}
			}()
		}
		for i := range all {
			if !yield(i, <-all[i]) {
				return
			}
		}
	}
}

// waits is called when a call waits: it asks the person who has started the run, or says how
// to decide.
func (w *watch) waits(ctx context.Context, p *player, q *agent.ApprovalRequest) error {
	if !w.own || w.person.Absent() != "" {
		w.person.Screen.Say("mylm-cluster: " + callText(p.task, q) +
			"\n  mylm-cluster approve " + p.result.Session + " decides: --yes allows it, --deny denies it")
		return nil
	}
	yes, err := consents(ctx, &w.person, p.task, q)
	if err == nil {
		err = w.decide(ctx, p.result.Session, q, yes, "")
	}
	var rejected *failure.Error
	if errors.As(err, &rejected) && rejected.Name == "not_waiting" { // somebody else has decided
		return nil
	}
	return err
}

// consents asks the person about a call.
func consents(ctx context.Context, p *term.Prompter, task string, q *agent.ApprovalRequest) (bool, error) {
	tail := ""
	if q.Tainted {
		tail = "The run has read text from outside the workspace.\n"
	}
	said, err := p.Consent(ctx, term.Proposal{
		Head: fmt.Sprintf("\n%sThe model wants to use %s (%s):\n\n", ofTask(task), term.OneLine(q.Name, 60), q.Effect),
		Text: preview(q), Tail: tail, What: "allow it",
	})
	return err == nil && said != term.AnswerNo, err
}

// ofTask begins a line about a call that a task of a plan makes.
func ofTask(task string) string {
	if task == "" {
		return ""
	}
	return term.OneLine(term.Visible(task), 30) + ": "
}

// preview is what a call would do.
func preview(q *agent.ApprovalRequest) string {
	if q.Preview != "" {
		return q.Preview
	}
	return string(q.Args)
}

// callText is a call for stderr.
func callText(task string, q *agent.ApprovalRequest) string {
	lines := term.NewPreview(preview(q), 200, 40).Shown // for a log: no width
	return fmt.Sprintf("%s%s (%s) waits for a decision:\n%s",
		ofTask(task), term.OneLine(q.Name, 60), q.Effect, strings.Join(lines, "\n"))
}

// answerWithin is how long a worker may take to answer for a run.
const answerWithin = 15 * time.Second

// waiting is the call of a run that waits for a decision, nil if none does. A worker
// answers that.
func (l *link) waiting(ctx context.Context, id string) (q *agent.ApprovalRequest, err error) {
	limited, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	value, err := l.QueryWorkflow(limited, l.workflow(id), "", temporal.QueryWaiting)
	if err != nil {
		return nil, l.unanswered(ctx, limited, err)
	}
	return q, value.Get(&q)
}

// decide sends a decision on a call.
func (l *link) decide(ctx context.Context, id string, q *agent.ApprovalRequest, yes bool, reason string) error {
	d := temporal.Decision{Call: q.Call, Refused: q.Refused, Decision: agent.Decision{Reason: reason}}
	if yes {
		d.Verdict = agent.Allow
	}
	limited, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	handle, err := l.UpdateWorkflow(limited, client.UpdateWorkflowOptions{
		WorkflowID: l.workflow(id), UpdateName: temporal.UpdateDecide, Args: []any{d}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(limited, nil)
	}
	if err == nil {
		return nil
	}
	var missing *serviceerror.NotFound
	if text := err.Error(); errors.As(err, &missing) || strings.Contains(text, "waits for a decision") {
		return &failure.Error{Code: failure.ExitError, Name: "not_waiting", Err: fmt.Errorf("the call does not wait any more: %w", err)}
	}
	return l.unanswered(ctx, limited, err)
}

// unanswered is the error of a question that no worker has answered, if that is why.
func (l *link) unanswered(ctx, limited context.Context, err error) error {
	var precondition *serviceerror.FailedPrecondition
	var notReady *serviceerror.WorkflowNotReady
	var late *serviceerror.DeadlineExceeded
	if ctx.Err() == nil && (limited.Err() != nil || errors.As(err, &precondition) || errors.As(err, &notReady) || errors.As(err, &late)) {
		return (&failure.Error{Code: failure.ExitUnreachable, Name: "no_worker", Err: fmt.Errorf("no worker of the queue %s answers for the run: %w", l.queue, err)}).
			WithHint("Start one: mylm-cluster worker. mylm-cluster stats counts those there are.")
	}
	return err
}

func (c *cluster) cancelCommand() *cli.Command {
	return &cli.Command{
		Name: "cancel", Usage: "cancel the run of a session", ArgsUsage: "ID",
		Flags: join(temporalFlags(), cmdline.Group(ofRun,
			&cli.StringFlag{Name: "reason", Usage: "record `WHY` at the end of the run, beside who cancelled it"})...),
		Description: "A model call ends within 10 s, a tool is stopped and waited for, and the end is recorded.",
		Action:      func(ctx *cli.Context) error { return c.withRun(ctx, c.cancel) },
	}
}

func (c *cluster) cancel(ctx *cli.Context, l *link, id string) error {
	status, err := l.described(ctx.Context, id)
	switch {
	case err != nil:
		return err
	case status == "":
		return noRun(id)
	case status != "running":
		c.screen.Say(fmt.Sprintf("the run of %s is over (%s)", id, status))
		return nil
	}
	if err := l.cancel(ctx.Context, id, ctx.String("reason")); err != nil {
		return err
	}
	c.screen.Say("cancelling; mylm-cluster tail " + id + " shows the end")
	return nil
}

// cancel cancels the run of a session, and has its end say who did and why.
func (l *link) cancel(ctx context.Context, id, reason string) error {
	by := cmp.Or(os.Getenv("USER"), os.Getenv("USERNAME"), "somebody")
	if host, err := os.Hostname(); err == nil {
		by += "@" + host
	}
	text := "cancelled by " + by
	if reason = strings.TrimSpace(reason); reason != "" {
		text += ": " + reason
	}
	if err := l.SignalWorkflow(ctx, l.workflow(id), "", temporal.SignalCancel, term.OneLine(term.Printable(text), 500)); err != nil {
		return err
	}
	return l.CancelWorkflow(ctx, l.workflow(id), "")
}

// whose is who interrupted a run, and why, as its end says; "" if that is not known.
func whose(stop agent.StopReason, said string) string {
	if stop != agent.StopInterrupted || said == context.Canceled.Error() {
		return ""
	}
	return said
}
