package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/worker"

	"mylm/agent/durable/temporal"
	"mylm/agent/journal"
	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory"
)

func (c *cluster) workerCommand() *cli.Command {
	return &cli.Command{
		Name: "worker", Usage: "work on runs, with a model and with tools in a workspace",
		Description: `It takes runs from the task queue until it is stopped: by Ctrl-C or SIGTERM, after which
calls that are under way have 25 s to end. Others go on elsewhere.

All workers of a queue have the same version, model, tools and settings. What a run writes is
in the workspace of the worker that does it: several workers of a queue share one, as a
network file system has it.`,
		UsageText: `mylm-cluster worker -m qwen3:8b --host http://gpu1:11434 --workspace ~/shop
mylm-cluster worker -m qwen3:8b --tools none --health :8080`,
		Flags: join(append(temporalFlags(), config.Flags(workerSettings()...)...), cmdline.Group(ofCluster,
			&cli.StringFlag{Name: "health", Usage: "answer GET /healthz (it works) and /readyz (so do database, Temporal and model) on `ADDR`, such as :8080"},
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

func (c *cluster) work(ctx *cli.Context) error {
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
	made, err := setup.NewWorker(ctx.Context, loaded, c.screen, store)
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
	runs.Tools, runs.Ended = made.Tools, made.Ended
	health := &health{link: l, made: made}
	if err := health.listen(ctx); err != nil {
		return err
	}
	defer health.close()
	settings := digest(loaded, made.Model.Name)
	if err := c.checkSettings(ctx.Context, l, settings); err != nil {
		return err
	}
	fatal := make(chan error, 1)
	w := worker.New(l.Client, l.queue, worker.Options{WorkerStopTimeout: stopWithin, Identity: identity() + " " + settings, OnFatalError: func(err error) {
		select {
		case fatal <- err:
		default: // the first says why
		}
	}})
	runs.Register(w)
	if err := w.Start(); err != nil {
		return err
	}
	go temporal.Sweep(ctx.Context, l.Client, l.space, l.queue, payloads, func(err error) { c.screen.Say("mylm-cluster: " + term.OneLine(err.Error(), 500)) })
	health.works.Store(true)
	c.screen.Say(fmt.Sprintf("mylm-cluster: working on runs of the queue %s with %s in %s (Ctrl-C stops it)",
		term.Printable(l.queue), setup.ServerText(made.Model.Name), term.Printable(loaded.Workspace)))
	select {
	case err = <-fatal:
	case <-ctx.Done():
		c.screen.Say("mylm-cluster: stopping, when the calls that are under way have ended")
	}
	health.works.Store(false)
	w.Stop()
	return err
}

// pollers are the workers that were there for the queue of a type a short time ago.
func (l *link) pollers(ctx context.Context, of enums.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	return l.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: l.space, TaskQueue: &taskqueue.TaskQueue{Name: l.queue, Kind: enums.TASK_QUEUE_KIND_NORMAL}, TaskQueueType: of, ReportStats: true,
	})
}

// present is how long ago a worker may have asked for work: each asks once a minute.
const present = 70 * time.Second

// crew are the workers of a queue.
type crew struct {
	same, other int            // of this version of the loop, and of another
	version     string         // one of the others
	settings    map[string]int // of those of this version, by the digest
}

// crew asks Temporal for the workers of the queue.
func (l *link) crew(ctx context.Context) (c crew, err error) {
	d, err := l.pollers(ctx, enums.TASK_QUEUE_TYPE_WORKFLOW)
	c.settings = map[string]int{}
	for _, p := range d.GetPollers() {
		words := strings.Fields(p.GetIdentity()) // see identity
		version, ours := strings.CutPrefix(p.GetIdentity(), identityPrefix)
		version, _, _ = strings.Cut(version, " ")
		switch {
		case time.Since(p.GetLastAccessTime().AsTime()) > present:
		case ours && version == strconv.Itoa(loopVersion):
			c.same++
			c.settings[words[len(words)-1]]++
		default:
			c.other++
			if c.version = "unknown"; ours {
				c.version = version
			}
		}
	}
	return c, err
}

// digest is of the settings by which a run is done: two workers that have another do it
// differently. Where a model is reached is no such setting, and which it is is.
func digest(c *config.Config, model string) string {
	held := config.Held(c.Settings, workerSettings()...)
	delete(held, "host")
	held["model"], held["workspace"], held["deny"] = model, c.Workspace, fmt.Sprint(config.Deny.Of(c.Settings))
	text, _ := json.Marshal(held) // texts
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}

// checkSettings says that other workers of the queue have other settings.
func (c *cluster) checkSettings(ctx context.Context, l *link, own string) error {
	all, err := l.crew(ctx)
	if n := all.same - all.settings[own]; n > 0 {
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

// health answers the probes of a worker.
type health struct {
	*link
	made   *setup.Worker
	works  atomic.Bool
	server *http.Server
}

// listen begins to answer, if an address is named.
func (h *health) listen(ctx *cli.Context) error {
	addr := ctx.String("health")
	if addr == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx.Context, "tcp", addr)
	if err != nil {
		return (&failure.Error{Code: failure.ExitError, Name: "listen", Err: fmt.Errorf("cannot listen on %s: %w", term.Echoed(addr), err)}).
			WithHint("--health names another address.")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { h.answer(w, h.working()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { h.answer(w, h.ready(r.Context())) })
	h.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = h.server.Serve(listener) }() // it ends with close
	return nil
}

func (h *health) close() {
	if h.server != nil {
		_ = h.server.Close()
	}
}

func (h *health) answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, term.OneLine(err.Error(), 500), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

var errStopped = errors.New("the worker does not work")

func (h *health) working() error {
	if !h.works.Load() {
		return errStopped
	}
	return nil
}

// ready asks everything that a worker needs.
func (h *health) ready(ctx context.Context) error {
	if err := h.working(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := h.sessions.List(ctx, journal.Filter{Limit: 1}); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if _, err := h.CheckHealth(ctx, nil); err != nil {
		return fmt.Errorf("temporal: %w", err)
	}
	if err := h.made.Check(ctx); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	return nil
}
