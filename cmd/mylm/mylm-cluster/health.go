package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"

	"mylm/agent/journal"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
)

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
