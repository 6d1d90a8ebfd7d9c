package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"mylm/providers"
)

// longestFault bounds an error's body, LongestBody one in one piece, and
// longestLine one event of a stream. No reply of a model is that long.
const (
	longestFault = 64 << 10
	LongestBody  = 8 << 20
	longestLine  = 8 << 20
)

// Transport makes requests like net/http's default transport, but never
// compressed: a compressing proxy would hold tokens back. All connections go
// to one server, so that as many are kept as were needed at once.
func Transport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConnsPerHost: 1024,
		DisableCompression:  true,
	}
}

// Link is the transport that a client library gets.
type Link struct{ Next http.RoundTripper }

// Client makes requests through l. It has no time limit: only the caller knows
// how long is too long.
func (l *Link) Client() *http.Client {
	return &http.Client{Transport: l, CheckRedirect: StaysHere}
}

// RoundTrip implements http.RoundTripper.
func (l *Link) RoundTrip(req *http.Request) (*http.Response, error) {
	x := Of(req.Context())
	if x == nil {
		return nil, errors.New("a request outside of any call")
	}
	return x.roundTrip(l.Next, req)
}

// CloseIdleConnections closes those of the transport below.
func (l *Link) CloseIdleConnections() {
	if c, ok := l.Next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

type exchangeKey struct{}

// Of returns the Exchange that ctx was bound to, or nil.
func Of(ctx context.Context) *Exchange {
	x, _ := ctx.Value(exchangeKey{}).(*Exchange)
	return x
}

// Exchange watches the requests of one call. The last request counts.
type Exchange struct {
	Server *Server
	Format Format                      // zero: the client library reads the reply itself
	Pass   func(providers.Chunk) error // to the caller
	Limit  int64                       // bytes of a body that the client library reads; 0: any number

	// Edit changes a clone of each request. May be nil.
	Edit func(*http.Request) (*http.Request, error)

	// Send makes a request instead of next.RoundTrip. May be nil.
	Send func(next http.RoundTripper, req *http.Request) (*http.Response, error)

	ctx context.Context

	mu      sync.Mutex
	next    http.RoundTripper
	request *url.URL
	noReply error // why no response came
	status  int
	header  http.Header
	body    []byte // all of an error's body, else the beginning of a foreign one
	foreign bool   // the response is not a model's reply at all
	readErr error  // what broke the body off
	reply   Reply
}

// ErrRead ends a request whose reply was read within RoundTrip: the client
// library gets nothing of it.
var ErrRead = errors.New("the reply was read")

// Bind makes x the Exchange of all requests with the returned context.
func (x *Exchange) Bind(ctx context.Context) context.Context {
	x.ctx = context.WithValue(ctx, exchangeKey{}, x)
	return x.ctx
}

// Sent reports whether a request went out.
func (x *Exchange) Sent() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.request != nil
}

// Unsent notes why a request could not be made, since client libraries hide it.
func (x *Exchange) Unsent(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.noReply = err
}

// Note lets f see and change what was read so far.
func (x *Exchange) Note(f func(*Reply)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f(&x.reply)
}

// Answered describes the response: its type, and whether it broke off or was
// not a model's reply.
func (x *Exchange) Answered() (contentType string, broken bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.header.Get("Content-Type"), x.foreign || x.readErr != nil
}

// Foreign notes that the response is not a model's reply.
func (x *Exchange) Foreign() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.foreign = true
}

func (x *Exchange) roundTrip(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	if x.Edit != nil {
		var err error
		if req, err = x.Edit(req.Clone(req.Context())); err != nil {
			return nil, err
		}
	}
	x.mu.Lock()
	x.next, x.request, x.noReply, x.status, x.header = next, req.URL, nil, 0, nil
	x.body, x.foreign, x.readErr, x.reply = nil, false, nil, Reply{}
	x.mu.Unlock()
	var resp *http.Response
	var err error
	if x.Send != nil {
		resp, err = x.Send(next, req)
	} else {
		resp, err = next.RoundTrip(req)
	}
	if err == nil {
		err = x.answered(resp)
	}
	switch {
	case err != nil:
		x.Unsent(err)
		return nil, err
	case x.Format.Reader != nil && resp.StatusCode < http.StatusMultipleChoices:
		x.read(x.abortable(resp.Body), resp.Header.Get("Content-Type"))
		return nil, ErrRead
	case x.Format.Reader != nil && x.hasReply():
		x.readErr = x.passOn()
		return nil, ErrRead
	}
	return resp, nil
}

// hasReply takes the reply in an error, where there is one.
func (x *Exchange) hasReply() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.status != http.StatusBadRequest || !x.reply.takeFrom(x.body) {
		return false
	}
	x.status = http.StatusOK
	return true
}

// passOn passes on what was read.
func (x *Exchange) passOn() error {
	pieces := x.reply.pieces
	x.reply.pieces = nil
	for _, c := range pieces {
		if err := x.Pass(c); err != nil {
			return err
		}
	}
	return nil
}

// answered checks a response and watches its body from here on.
func (x *Exchange) answered(resp *http.Response) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status, x.header = resp.StatusCode, resp.Header
	body, err := decoded(resp)
	if err != nil {
		resp.Body.Close()
		return err
	}
	switch {
	case resp.StatusCode >= http.StatusMultipleChoices:
		x.body, x.readErr = io.ReadAll(io.LimitReader(body, longestFault))
		body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(x.body))
	case x.Format.Reader == nil:
		resp.Body = &watched{ReadCloser: x.abortable(body), x: x}
	default:
		resp.Body = body
	}
	return nil
}

// abortable closes the body when the call ends, for a transport that ignores
// the context.
func (x *Exchange) abortable(body io.ReadCloser) io.ReadCloser {
	return &abortable{body, context.AfterFunc(x.ctx, func() { body.Close() })}
}

type abortable struct {
	io.ReadCloser
	stop func() bool
}

func (a *abortable) Close() error {
	a.stop()
	return a.ReadCloser.Close()
}

// watched notes the beginning of a body that the client library reads itself,
// and why it breaks off.
type watched struct {
	io.ReadCloser
	x    *Exchange
	size int64
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if w.size += int64(n); w.x.Limit > 0 && w.size > w.x.Limit {
		n, err = 0, errLongBody
	}
	w.x.mu.Lock()
	defer w.x.mu.Unlock()
	if have := len(w.x.body); have < headLength {
		w.x.body = append(w.x.body, p[:min(n, headLength-have)]...)
		start := strings.TrimLeft(string(w.x.body), beforeJSON)
		w.x.foreign = start != "" && (start[0] == '<' || w.x.Server.Objects && start[0] != '{')
	}
	if err != nil && err != io.EOF {
		w.x.readErr = err
	}
	return n, err
}
