package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"go.temporal.io/sdk/worker"

	"mylm/agent/durable/temporal"
	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory"
	"mylm/tools"
)

func (c *cluster) workerCommand() *cli.Command {
	return &cli.Command{
		Name: "worker", Usage: "work on runs, with a model and with tools in a workspace",
		Description: `It takes runs from the task queue until it is stopped: by Ctrl-C or SIGTERM, after which
calls that are under way have 25 s to end. Others go on elsewhere.

All workers of a queue have the same version, model, tools and settings. What a run writes is
in the workspace of the worker that does it: several workers of a queue share one, as a
network file system has it; with --copies each run works in a copy of its own instead, and
mylm-cluster changes prints what it has changed. Models and tools may be on different
machines: --takes models and --takes tools. Then the workspace, its notes and the sandbox are
those of the latter. Sessions are recorded in any case: --no-save is about the memory.`,
		UsageText: `mylm-cluster worker -m qwen3:8b --host http://gpu1:11434 --workspace ~/shop
mylm-cluster worker -m qwen3:8b --tools none --health :8080
mylm-cluster worker -m qwen3:8b --takes models             # where the models are
mylm-cluster worker --takes tools --workspace /srv/shop    # where the files are
mylm-cluster worker --workspace /srv/shop --copies /var/lib/mylm/copies`,
		Flags: join(append(temporalFlags(), config.Flags(workerSettings()...)...), cmdline.Group(ofCluster,
			&cli.StringFlag{Name: "takes", EnvVars: []string{"MYLM_TAKES"}, Usage: "take `WHAT`: models (runs and their model calls), tools (tool calls) or all", Value: takesAll},
			&cli.StringFlag{Name: "copies", EnvVars: []string{"MYLM_COPIES"}, Usage: "have each run work in a copy of the workspace, below `DIRECTORY` on this machine, which only this worker uses"},
			cmdline.Int(&cli.IntFlag{Name: "copy-limit", EnvVars: []string{"MYLM_COPY_LIMIT"}, Usage: "maximum size of the workspace in `MB` for --copies", Value: 1024}, 1, 1<<20),
			&cli.StringFlag{Name: "health", Usage: "answer GET /healthz (it works) and /readyz (so do database, Temporal and model) on `ADDRESS`, such as :8080"},
		)...),
		Action: c.work,
	}
}

// workerSettings are what can be set for a worker.
func workerSettings() []config.Setting {
	return []config.Setting{
		config.Workspace, config.Tree, config.Notes,
		config.ModelName, config.ProfileName, config.Host, config.System, config.Temperature, config.Seed, config.MaxTokens, config.NumCtx, config.KeepAlive, config.Think, config.Form,
		config.Tools, config.SandboxMode, config.AllowNet, config.AllowHosts, config.Memory, config.Save, config.Embedder,
		config.MaxTurns, config.Timeout, config.FirstTokenTimeout, config.StepTimeout, config.MaxContextTokens, config.MaxToolResultTokens,
		config.SummarizeAfterTurns, config.KeepRecentTurns, config.SelfEval, config.MaxRepeatedCalls, config.MaxConsecutiveErrors, config.MaxMalformed, config.MaxRepetition,
	}
}

// stopWithin is how long a worker that is stopped waits for calls that are under way.
// Kubernetes kills after 30 s.
const stopWithin = 25 * time.Second

// What a worker takes.
const (
	takesAll    = "all"
	takesModels = "models"
	takesTools  = "tools"
)

func (c *cluster) work(ctx *cli.Context) error {
	switch takes := ctx.String("takes"); takes {
	case takesAll, takesModels, takesTools:
	default:
		return failure.Usage("--takes %s: it must be models, tools or all", term.Echoed(takes))
	}
	if ctx.String("copies") != "" && ctx.String("takes") == takesModels {
		return failure.Usage("--takes models contradicts --copies: those that take tools have the workspace")
	}
	loaded, err := settings(ctx)
	if err != nil {
		return err
	}
	return c.withLink(ctx, func(l *link) error { return c.workFor(ctx, l, loaded) })
}

// workFor works on the runs of a queue until it is stopped.
func (c *cluster) workFor(ctx *cli.Context, l *link, loaded *config.Config) error {
	if err := l.sameVersion(ctx.Context); err != nil {
		return err
	}
	payloads, err := l.db.Payloads(ctx.String("tenant"))
	if err != nil {
		return err
	}
	store, err := l.db.Memory(ctx.Context, ctx.String("tenant"), memory.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	takes := ctx.String("takes")
	made, err := setup.NewWorker(ctx.Context, loaded, c.screen, store, takes == takesTools)
	if err != nil {
		return err
	}
	if made.Options.MaxTime != 0 || made.Options.DryRun {
		c.screen.Say("mylm-cluster: max_time and dry runs are of one process: they do not count here")
		made.Options.MaxTime, made.Options.DryRun = 0, false
	}
	runs, err := temporal.New(made.Options, l.sessions)
	if err != nil {
		return err
	}
	runs.Tools, runs.Ended, runs.ToolQueue = made.Tools, made.Ended, toolQueue(l.queue)
	copied, err := openCopies(ctx, loaded, made, c.screen.Say)
	if err != nil {
		return err
	}
	if copied != nil {
		defer copied.Close()
		runs.Copies, runs.CopyQueue = copied, copyQueue(l.queue, copied.ID())
		go c.sweep(ctx.Context, l, copied)
	}
	health := &health{link: l, made: made}
	if err := health.listen(ctx); err != nil {
		return err
	}
	defer health.close()
	settings := digest(loaded, made.Model.Name, takes, copied != nil)
	if err := c.checkSettings(ctx.Context, l, settings); err != nil {
		return err
	}
	fatal := make(chan error, 1)
	// With two pollers of each kind, the SDK's default, tasks wait for one where runs are many.
	// Those that the SDK scales left plans standing still (TestRunScripts/plans).
	ten := worker.NewPollerBehaviorSimpleMaximum(worker.PollerBehaviorSimpleMaximumOptions{MaximumNumberOfPollers: 10})
	o := worker.Options{WorkflowTaskPollerBehavior: ten, ActivityTaskPollerBehavior: ten, WorkerStopTimeout: stopWithin, Identity: identity() + " " + settings, OnFatalError: func(err error) {
		select {
		case fatal <- err:
		default: // the first says why
		}
	}}
	stop, err := startWorkers(l, runs, takes, o)
	if err != nil {
		return err
	}
	defer stop()
	go temporal.Sweep(ctx.Context, l.Client, l.space, l.queue, payloads, func(err error) { c.screen.Say("mylm-cluster: " + term.OneLine(err.Error(), 500)) })
	health.works.Store(true)
	c.screen.Say(fmt.Sprintf("mylm-cluster: %s (Ctrl-C stops it)", worksOn(takes, l.queue, made.Model.Name, loaded.Workspace)))
	select {
	case err = <-fatal:
	case <-ctx.Done():
		c.screen.Say("mylm-cluster: stopping, when the calls that are under way have ended")
		if n := copied.Count(); n > 0 {
			c.screen.Say(fmt.Sprintf("mylm-cluster: the copies of %s are here: start this worker again within 5 minutes, or a run ends when it calls a tool", tools.Count(n, "run")))
		}
	}
	health.works.Store(false)
	return err
}

// startWorkers starts what takes work from the queues, and returns what stops it.
func startWorkers(l *link, runs *temporal.Runs, takes string, o worker.Options) (stop func(), err error) {
	var all []worker.Worker
	if takes != takesModels {
		of := o
		of.DisableWorkflowWorker = true
		all = append(all, worker.New(l.Client, toolQueue(l.queue), of))
		runs.RegisterTools(all[0])
		if runs.Copies != nil {
			own := worker.New(l.Client, runs.CopyQueue, of)
			all = append(all, own)
			runs.RegisterCopies(own)
		}
	}
	if takes != takesTools {
		w := worker.New(l.Client, l.queue, o)
		runs.Register(w)
		all = append(all, w)
	}
	stop = func() {
		var stopping sync.WaitGroup
		for _, w := range all {
			stopping.Go(w.Stop)
		}
		stopping.Wait()
	}
	for i, w := range all {
		if err := w.Start(); err != nil {
			all = all[:i]
			stop()
			return nil, err
		}
	}
	return stop, nil
}

// worksOn says what a worker does.
func worksOn(takes, queue, model, workspace string) string {
	queue, workspace = term.Printable(queue), term.Printable(workspace)
	switch takes {
	case takesModels:
		return fmt.Sprintf("working on runs of the queue %s with %s, and with the tools of other workers", queue, setup.ServerText(model))
	case takesTools:
		return fmt.Sprintf("calling tools for runs of the queue %s in %s", queue, workspace)
	}
	return fmt.Sprintf("working on runs of the queue %s with %s in %s", queue, setup.ServerText(model), workspace)
}

// digest is of the settings by which a run is done, behind what the worker takes: two of the
// same kind that have another do it differently. Where a model is reached is no such setting,
// and which it is is.
func digest(c *config.Config, model, takes string, copies bool) string {
	held := config.Held(c.Settings, workerSettings()...)
	delete(held, "host")
	held["model"], held["workspace"], held["deny"] = model, c.Workspace, fmt.Sprint(config.Deny.Of(c.Settings))
	if copies {
		held["copies"] = "true"
	}
	if takes == takesModels {
		delete(held, "workspace") // nothing is done in it
	}
	text, _ := json.Marshal(held) // texts
	sum := sha256.Sum256(text)
	return takes + " " + hex.EncodeToString(sum[:4])
}

// checkSettings says that other workers of the queue have other settings.
func (c *cluster) checkSettings(ctx context.Context, l *link, own string) error {
	all, err := l.crew(ctx)
	takes, _, _ := strings.Cut(own, " ")
	n := -all.settings[own]
	for of, count := range all.settings {
		if strings.HasPrefix(of, takes+" ") {
			n += count
		}
	}
	if n > 0 {
		c.screen.Say(fmt.Sprintf("mylm-cluster: %s of the queue %s: other settings than here. Which model answers, and what a tool may do, depends on who takes a call (one that was stopped counts for another minute)",
			term.Plural(n, "worker"), term.Printable(l.queue)))
	}
	return err
}

// sameVersion is an error if workers of another version are there: they could not go on
// with each other's runs.
func (l *link) sameVersion(ctx context.Context) error {
	all, err := l.crew(ctx)
	if err != nil || all.other == 0 {
		return err
	}
	return &failure.Error{Code: failure.ExitUsage, Name: "version",
		Err: fmt.Errorf("the queue %s has %s of another version: they have version %s of the loop, this one has %d", term.Printable(l.queue), term.Plural(all.other, "worker"), term.Printable(all.version), loopVersion),
		Hint: "Give this version a queue of its own (--queue or MYLM_TASK_QUEUE), also where runs are started, and stop the others when their runs have ended.\n" +
			"One that was stopped counts for another minute."}
}
