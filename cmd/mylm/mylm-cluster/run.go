package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/markdown"
	"mylm/cmd/mylm/internal/sink"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools"
)

func (c *cluster) askCommand() *cli.Command {
	return &cli.Command{
		Name: "ask", Usage: "have a worker answer a question, with tools where they help", ArgsUsage: "[QUESTION...] [-]",
		Description: `The run goes on whatever happens to this program, to workers and to servers; mylm-cluster tail
follows it from anywhere. Ctrl-C cancels it.

What only reads runs at once. Before anything else runs you are asked on the terminal;
without one the call waits for mylm-cluster approve, for days if need be.`,
		UsageText: `mylm-cluster ask "which of these files is the largest?"
git diff | mylm-cluster ask "write a commit message" -
mylm-cluster ask --detach "count the words of all books"   # prints the id of the session`,
		Flags: runFlags(), Action: c.ask,
	}
}

// runFlags are those of everything that starts a run.
func runFlags() []cli.Flag {
	return join(temporalFlags(), append(cmdline.Group(ofRun,
		&cli.StringFlag{Name: "session", Usage: "begin or continue the session `ID`", DefaultText: "a new one"},
		&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "allow every call without asking, until the run has read text from outside the workspace"},
		&cli.BoolFlag{Name: "detach", Aliases: []string{"d"}, Usage: "print the id of the session, and do not wait for the run"},
	), outputFlags()...)...)
}

func outputFlags() []cli.Flag {
	return cmdline.Group("Output", sink.FormFlags(&cli.BoolFlag{Name: "verbose", Usage: "also show thought and tool output"})...)
}

// takesForm reports whether a command prints a run.
func takesForm(c *cli.Command) bool {
	for _, f := range c.Flags {
		if f.Names()[0] == "output" {
			return true
		}
	}
	return false
}

// output is where a run goes.
type output struct {
	sinks    sink.All
	terminal *sink.Terminal
}

// output reads the flags.
func (c *cluster) output(ctx *cli.Context) (*output, error) {
	form, err := sink.Form(ctx)
	if err != nil {
		return nil, err
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a reader that goes away is an error of the next write
	o := &output{}
	c.screen.Still = c.screen.Still || ctx.Bool("quiet")
	o.terminal = sink.NewTerminal(c.screen, sink.Options{Quiet: ctx.Bool("quiet"), Verbose: ctx.Bool("verbose"), Answer: form == sink.Text, Plan: ctx.Bool("plan-only")})
	if c.screen.Draws() {
		o.terminal.Format(markdown.Options{Color: c.screen.AnswerColor, Background: markdown.BackgroundOf(os.Getenv("COLORFGBG"))})
	}
	if first := sink.New(form, c.screen); first != nil {
		o.sinks = append(o.sinks, first)
	}
	o.sinks = append(o.sinks, o.terminal)
	return o, nil
}

// prompt is what is asked: the words, stdin for a -, or else what a pipe has; "" if that is
// nothing.
func (c *cluster) prompt(ctx *cli.Context, words []string) (string, error) {
	piped := len(words) == 0 && !term.IsTerminal(c.screen.In)
	if n := len(words); n > 0 && words[n-1] == "-" {
		piped, words = true, words[:n-1]
	}
	text := strings.TrimSpace(strings.Join(words, " "))
	if piped {
		read, err := c.stdin(ctx)
		if err != nil {
			return "", err
		}
		if more := strings.TrimSpace(read); text == "" {
			text = more
		} else if more != "" {
			text += "\n\n--- stdin ---\n" + more + "\n--- end of stdin ---"
		}
	}
	return text, nil
}

// stdin is all of it.
func (c *cluster) stdin(ctx *cli.Context) (string, error) {
	return term.Wait(ctx.Context, func() (string, error) { return readText(c.screen.In) })
}

// maxInput bounds what is read from stdin and files, as in mylm: more never fits a model.
const maxInput = 64 << 20

func readText(r io.Reader) (string, error) {
	read, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(read) > maxInput {
		err = failure.Usage("the text is longer than %s", term.Bytes(maxInput))
	}
	return string(read), err
}

// maxSession is the longest id of a session, in bytes.
const maxSession = 100

// session is the id that is named, or a new one.
func session(ctx *cli.Context) (string, error) {
	id := ctx.String("session")
	if id == "" {
		return agent.NewSession().ID, nil
	}
	if len(id) > maxSession || strings.ContainsFunc(id, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-", r))
	}) {
		return "", failure.Usage("--session %s: an id has letters, digits and . _ - and at most %d of them", term.Echoed(id), maxSession)
	}
	return id, nil
}

// all is what --yes allows.
const all = tools.Reads | tools.Writes | tools.Runs | tools.Network | tools.Leaves | tools.Remembers

func (c *cluster) ask(ctx *cli.Context) error {
	text, err := c.prompt(ctx, ctx.Args().Slice())
	if err != nil {
		return err
	}
	if text == "" {
		return failure.Usage("there is no question").WithHint(`Ask one: mylm-cluster ask "what is in this directory?"`)
	}
	return c.start(ctx, text, func(_ *link, id string, seen int) (string, any, error) {
		return temporal.WorkflowName, temporal.Input{Session: id, Prompt: text, Allow: allowed(ctx), Continue: seen > 0}, nil
	})
}

// allowed is what calls may do without a decision.
func allowed(ctx *cli.Context) tools.Effect {
	if ctx.Bool("yes") {
		return all
	}
	return 0
}

// startWithin is how long Temporal may take to begin a run.
const startWithin = 30 * time.Second

// start starts the workflow that is made for a session with so many entries, and follows it.
func (c *cluster) start(ctx *cli.Context, text string, made func(l *link, id string, seen int) (name string, in any, err error)) error {
	id, err := session(ctx)
	if err != nil {
		return err
	}
	if _, err := sink.Form(ctx); err != nil {
		return err
	}
	return c.withLink(ctx, func(l *link) error {
		if err := c.checkWorkers(ctx, l); err != nil {
			return err
		}
		before, err := l.sessions.After(ctx.Context, id, 0)
		if err != nil {
			return err
		}
		name, in, err := made(l, id, len(before))
		if err != nil {
			return err
		}
		begun := context.WithoutCancel(ctx.Context) // one that has begun is cancelled, and not left
		limited, cancel := context.WithTimeout(begun, startWithin)
		defer cancel()
		run, err := l.ExecuteWorkflow(limited, client.StartWorkflowOptions{
			ID: l.workflow(id), TaskQueue: l.queue, WorkflowExecutionErrorWhenAlreadyStarted: true, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
			StaticSummary: term.OneLine(term.Printable(text), 80),
		}, name, in)
		var started *serviceerror.WorkflowExecutionAlreadyStarted
		if errors.As(err, &started) {
			return failure.Usage("a run of the session %s is under way", id).WithHint("mylm-cluster tail " + id + " follows it, mylm-cluster cancel " + id + " ends it.")
		}
		if err != nil {
			return err
		}
		w := &watch{link: l, record: record{Sessions: l.sessions, id: id, seen: len(before)}, run: run, own: true}
		if !ctx.Bool("detach") {
			return c.show(ctx, w)
		}
		if failed := ctx.Context.Err(); failed != nil {
			_, err := w.interrupted(ctx.Context, failed)
			return cmp.Or(err, failed)
		}
		return c.detached(ctx, id)
	})
}

// detached prints the id of a run that is not waited for.
func (c *cluster) detached(ctx *cli.Context, id string) error {
	form, _ := sink.Form(ctx)
	if form == sink.Text {
		c.screen.Answer(id + "\n")
		return nil
	}
	line := struct {
		Session string `json:"session"`
	}{id}
	if form == sink.Events {
		return term.PrintJSONLine(c.screen, line)
	}
	return term.PrintJSON(c.screen, line)
}

// checkWorkers says what is wrong with the workers of the queue. A run waits for one, but
// not for one of another version.
func (c *cluster) checkWorkers(ctx *cli.Context, l *link) error {
	limited, cancel := context.WithTimeout(ctx.Context, dialWithin)
	defer cancel()
	all, err := l.crew(limited)
	switch {
	case err != nil:
		return err
	case all.runs == 0 && all.other > 0:
		return &failure.Error{Code: failure.ExitUsage, Name: "version",
			Err:  fmt.Errorf("the workers of the queue %s have another version: %s of the loop, this one has %d", l.queue, term.Printable(all.version), loopVersion),
			Hint: "Use the mylm-cluster of the workers, or name the queue of workers like this one: --queue or MYLM_TASK_QUEUE."}
	case ctx.Bool("quiet"):
	case all.runs == 0:
		c.screen.Dim(fmt.Sprintf("mylm-cluster: no worker takes runs from the queue %s yet: the run waits for one (mylm-cluster worker)", l.queue))
	case all.tools == 0:
		c.screen.Dim(fmt.Sprintf("mylm-cluster: no worker calls tools for the queue %s yet: the run waits for one (mylm-cluster worker --takes tools)", l.queue))
	}
	return nil
}

func (c *cluster) tailCommand() *cli.Command {
	return &cli.Command{
		Name: "tail", Usage: "follow the last run of a session to its end", ArgsUsage: "ID",
		Description: "It prints what the run did so far, and then what it does, with the exit code of mylm-cluster ask.\nCtrl-C leaves the run alone.",
		UsageText:   `mylm-cluster tail $(mylm-cluster ask --detach "count the words of all books")`,
		Flags:       append(temporalFlags(), outputFlags()...),
		Action:      func(ctx *cli.Context) error { return c.withRun(ctx, c.tail) },
	}
}

func (c *cluster) tail(ctx *cli.Context, l *link, id string) error {
	w := &watch{link: l, record: record{Sessions: l.sessions, id: id}}
	entries, err := l.sessions.After(ctx.Context, id, 0)
	if err != nil {
		return err
	}
	known, err := l.described(ctx.Context, id)
	if err != nil {
		return err
	}
	switch {
	case known != "":
		w.run = l.GetWorkflow(ctx.Context, l.workflow(id), "")
	case len(entries) == 0:
		return noRun(id)
	}
	for _, e := range entries { // the last run
		if e.Kind() == agent.EntryRun {
			w.record.seen = e.Seq - 1
		}
	}
	return c.show(ctx, w)
}

// noRun is the error of an id that is none of a run.
func noRun(id string) error {
	return (&failure.Error{Code: failure.ExitUsage, Name: "not_found", Err: fmt.Errorf("there is no run of a session %s", term.Echoed(id))}).
		WithHint("mylm-cluster list lists the sessions of a tenant. Runs of another tenant or queue are found with --tenant and --queue.")
}

// described is the status of the last workflow of a session, "" if there is none in
// the queue of the tenant.
func (l *link) described(ctx context.Context, id string) (status string, err error) {
	if strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", nil // no run is named so, and gRPC has no header with it
	}
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	d, err := l.DescribeWorkflow(limited, l.workflow(id), "")
	var missing *serviceerror.NotFound
	var invalid *serviceerror.InvalidArgument
	switch {
	case errors.As(err, &missing), errors.As(err, &invalid):
		return "", nil
	case err != nil:
		return "", err
	case d.TaskQueueName != l.queue:
		return "", nil
	}
	return statusName(d.Status), nil
}

// statusName is a status of Temporal's in a word, as in running.
func statusName(s enums.WorkflowExecutionStatus) string { return strings.ToLower(s.String()) }
