package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mylm/tools"
)

// server is one server of a hub: what is known of it, and the connection once
// something needed one.
type server struct {
	Server
	hub *Hub

	mu       sync.Mutex
	loaded   bool // pins were read
	agreed   []Definition
	able     abilities
	link     *link // nil: not connected
	joining  *join // nil: nobody is connecting
	pause    *backoff.ExponentialBackOff
	next     time.Time // no connection is tried before
	problems []Problem
	told     string // the changed tools that the user was told about
}

// link is a connection. It is closed when gone is.
type link struct {
	session *mcp.ClientSession
	cut     func()        // ends the connection at once
	gone    chan struct{} // closed when the connection has ended
	flooded atomic.Bool   // the server asked for too much at once
	asks    *asks
	oauth   *oauth // nil: no login

	mu     sync.Mutex
	live   []Definition // of the last list; nil: none was asked for
	drops  []Problem    // tools that the SDK leaves out of the list that is being asked for
	unused bool         // no call was made by the last list
	stale  bool         // the server says that its tools have changed
	lists  sync.Mutex   // held while listing
}

// join is a connection in the making.
type join struct {
	done chan struct{}
	link *link
	err  error
}

// known are the pinned definitions that the settings offer.
func (s *server) known() (all []Definition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	for _, d := range s.agreed {
		if s.offers(d.Name) {
			all = append(all, d)
		}
	}
	if all == nil && s.agreed != nil {
		all = []Definition{}
	}
	return all
}

// load reads the pins once. The lock is held.
func (s *server) load() {
	if s.loaded {
		return
	}
	s.loaded = true
	var err error
	if s.agreed, s.able, err = s.hub.options.Pins.load(&s.Server); err != nil {
		s.hub.notify("%v; what %s offers now counts as new", err, s.Name)
	}
}

// connect returns the connection, and makes one if there is none. Several callers
// wait for the same attempt, which goes on when one of them gives up.
func (s *server) connect(ctx context.Context) (*link, error) {
	s.mu.Lock()
	if s.link != nil {
		defer s.mu.Unlock()
		return s.link, nil
	}
	j := s.joining
	if j == nil {
		if s.hub.life.Err() != nil {
			s.mu.Unlock()
			return nil, errClosed
		}
		j = &join{done: make(chan struct{})}
		s.joining = j
		wait := time.Until(s.next)
		s.hub.busy.Go(func() { s.attempt(j, wait) })
	}
	s.mu.Unlock()
	select {
	case <-j.done:
		return j.link, j.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errClosed = errors.New("the connections to MCP servers are closed")

// attempt makes a connection, after a pause if the last ones have failed.
func (s *server) attempt(j *join, wait time.Duration) {
	ctx, cancel := context.WithCancel(s.hub.life)
	defer cancel()
	var l *link
	err := sleep(ctx, wait)
	if err == nil {
		l, err = s.dial(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hub.life.Err() != nil {
		if l != nil {
			s.hub.busy.Go(l.close) // nobody else is going to
		}
		l, err = nil, errClosed
	}
	if err != nil {
		s.failed()
	}
	s.link, s.joining, j.link, j.err = l, nil, l, err
	close(j.done)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The pause before a connection is tried again, which doubles with each failure.
// One that served a call starts anew.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 10 * time.Second
)

// failed has the next attempt wait. The lock is held.
func (s *server) failed() {
	if s.pause == nil {
		s.pause = backoff.NewExponentialBackOff()
		s.pause.InitialInterval, s.pause.MaxInterval, s.pause.Multiplier = firstPause, lastPause, 2
	}
	s.next = time.Now().Add(s.pause.NextBackOff())
}

// served forgets failures.
func (s *server) served() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pause, s.next = nil, time.Time{}
}

// dial makes a connection.
func (s *server) dial(ctx context.Context) (*link, error) {
	timedOut := fmt.Errorf("it was not ready within %v", s.startTime())
	ctx, cancel := tools.WithTimeout(ctx, s.startTime(), timedOut)
	defer cancel()
	l := &link{gone: make(chan struct{})}
	l.asks = &asks{server: s}
	session, err := s.open(ctx, l)
	if err != nil {
		if context.Cause(ctx) == timedOut {
			err = timedOut
		}
		return nil, fmt.Errorf("MCP server %s: %w", s.Name, inWords(err))
	}
	l.session = session
	s.hub.busy.Go(func() {
		_ = session.Wait()
		close(l.gone)
		s.drop(l)
		l.close()
	})
	return l, nil
}

// drop forgets a connection that has ended.
func (s *server) drop(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == l {
		s.link = nil
		s.failed()
	}
}

// open connects by the transport of the server.
func (s *server) open(ctx context.Context, l *link) (*mcp.ClientSession, error) {
	client := s.client(l)
	if len(s.Command) == 0 {
		return s.openHTTP(ctx, client, l)
	}
	for patience := s.startTime() / discoverShare; ; patience = s.startTime() {
		t := &stdio{server: &s.Server, link: l, patience: patience}
		l.cut = t.close
		session, err := client.Connect(ctx, t, nil)
		if err == nil {
			return session, nil
		}
		t.close() // the SDK does so only for some errors
		if !t.late() || ctx.Err() != nil {
			return nil, t.why(err)
		}
	}
}

// close ends the connection. A session waits for what is under way, which a server
// can prolong.
func (l *link) close() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = l.session.Close()
	}()
	t := time.NewTimer(endPatience)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		l.cut()
		<-done
	}
}

// client makes the SDK's client with what the server may ask for.
func (s *server) client(l *link) *mcp.Client {
	o := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.stale = true
		},
		// These have the SDK ask for the notifications, and forget what it has cached.
		PromptListChangedHandler:    func(context.Context, *mcp.PromptListChangedRequest) {},
		ResourceListChangedHandler:  func(context.Context, *mcp.ResourceListChangedRequest) {},
		ProgressNotificationHandler: l.asks.progress,
		Logger:                      slog.New(&dropped{slog.DiscardHandler, l}),
	}
	l.asks.allow(o)
	client := mcp.NewClient(&mcp.Implementation{Name: cmp.Or(s.hub.options.Name, "mylm"), Version: cmp.Or(s.hub.options.Version, "0")}, o)
	l.asks.roots(client)
	client.AddReceivingMiddleware(requireParams)
	return client
}

// requireParams refuses what a server asks for, or tells, without saying what: the SDK does not survive it.
func requireParams(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		missing := false
		switch p := r.GetParams().(type) {
		case *mcp.ElicitParams:
			missing = p == nil
		//lint:ignore SA1019 servers of today ask in this way
		case *mcp.CreateMessageWithToolsParams:
			missing = p == nil
		case *mcp.ElicitationCompleteParams:
			missing = p == nil
		}
		if missing {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: method + " needs params"}
		}
		return next(ctx, method, r)
	}
}

// close ends the connection.
func (s *server) close() {
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	if l != nil {
		l.close()
	}
}

// readable is an error without the SDK's words around it.
func readable(err error) error {
	var ended *Ended
	var login *LoginError
	var wire *jsonrpc.Error
	var request *url.Error
	switch {
	case errors.As(err, &ended):
		return ended
	case errors.As(err, &login):
		return login
	case errors.As(err, &wire) && strings.HasSuffix(err.Error(), wire.Message): // else it is only the head of what went wrong
		return &worded{cmp.Or(plainLine(wire.Message), fmt.Sprintf("it failed without saying why (code %d)", wire.Code)), err}
	case errors.As(err, &request):
		why := request.Err
		if refused := (*os.SyscallError)(nil); errors.As(why, &refused) {
			why = refused.Err
		}
		host := "its address" // a query may hold a key
		if u, err := url.Parse(request.URL); err == nil {
			host = u.Host
		}
		return fmt.Errorf("%s cannot be reached: %w", plainLine(host), why)
	}
	return err
}

// steps are what the SDK says of its own way to an error, and what tells people nothing.
var steps = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:(?:calling|sending) "[^"]*"|rejected by transport|connection closed|client is closing|multi round-trip: fulfilling input request "[^"]*"): `)
})

// inWords is an error for people.
func inWords(err error) error {
	if plain := readable(err); plain != err {
		return plain
	}
	text := steps().ReplaceAllString(err.Error(), "")
	switch {
	case text == io.EOF.Error():
		text = "its answer is empty, or ends too early"
	case strings.Contains(text, "illegal base64"):
		text = "a picture, a recording or a file in its answer is not base64"
	case strings.Contains(text, "SSE event exceeded"):
		text = errTooLong.Error()
	case strings.HasPrefix(text, "multi-round-trip:"):
		text = "it asks again and again instead of answering"
	case strings.Contains(text, "failed to decode"):
		text = "what it sends is no message of JSON-RPC 2.0"
	case strings.Contains(text, "cannot unmarshal"), strings.HasSuffix(text, "nil content"):
		text = "its answer does not have the form that MCP has for it" + misfit(text)
	}
	return &worded{plainLine(text), err}
}

// worded is an error in other words.
type worded struct {
	text string
	err  error
}

func (w *worded) Error() string { return w.text }

// Unwrap is the error itself.
func (w *worded) Unwrap() error { return w.err }

// misfit names the field that an error of a JSON decoder is about, as " (FIELD)".
func misfit(text string) string {
	if m := field().FindStringSubmatch(text); m != nil {
		return " (" + m[1] + ")"
	}
	return ""
}

var field = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.([A-Za-z0-9_]+) of type [^"]*$`) })
