package serve

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// Server serves a handler until it is told to stop. It limits what the handler cannot: the
// size of headers, and the time that they and idle connections take.
type Server struct {
	Handler    http.Handler
	HeaderTime time.Duration // how long the headers of a request may take; 0: 10 s
	Grace      time.Duration // how long replies may take to end after it is told to stop; 0: 5 s
}

// stopLast is how long clients may then take to be told.
const stopLast = 3 * time.Second

// ErrStopping is the cause with which requests are cancelled when a server stops: their clients
// are told, also in the middle of a stream.
var ErrStopping = errors.New("the server is shutting down")

// Serve serves until ctx is done. That is how a server ends, and no failure.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	base, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	server := &http.Server{
		Handler: s.Handler, BaseContext: func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: cmp.Or(s.HeaderTime, 10*time.Second), IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	wait := cmp.Or(s.Grace, 5*time.Second)
	told := time.AfterFunc(wait, func() { end(ErrStopping) })
	defer told.Stop()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait+stopLast)
	defer cancel()
	if server.Shutdown(grace) != nil {
		_ = server.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
