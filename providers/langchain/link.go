package langchain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"mylm/providers"
	"mylm/providers/internal/httpfault"
)

// longestBody bounds an error's body and a reply in one piece, longestLine one
// event of a stream. No reply of a model comes near.
const (
	longestFault = 64 << 10
	longestBody  = 8 << 20
	longestLine  = 8 << 20
)

// link is what a model's requests go through.
type link struct {
	next    http.RoundTripper
	headers http.Header
	noKey   bool // langchaingo wants a key where there is none
}

// client is what langchaingo gets to make its requests with. It has no time
// limit: how long is too long is the caller's to say.
func (l *link) client() *http.Client {
	return &http.Client{Transport: l, CheckRedirect: httpfault.StaysHere}
}

func transport() http.RoundTripper {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		IdleConnTimeout:     90 * time.Second, // as net/http's default transport
		DisableCompression:  true,             // a compressing proxy would hold tokens back
	}
}

func (l *link) closeIdle() {
	if c, ok := l.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (l *link) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("a request outside of any call")
	}
	return x.roundTrip(req)
}

type exchangeKey struct{}

// exchange watches the requests of one call, for langchaingo keeps back what
// tells failures apart: headers, whole error bodies, whether a stream ended or
// broke. The last request counts.
type exchange struct {
	link  *link // nil: a model of New
	ctx   context.Context
	asked asked
	wire  wire
	pass  func(providers.Chunk) error // to the caller
	most  int64                       // bytes of a body that langchaingo reads itself; 0: any number

	mu      sync.Mutex
	request *url.URL
	noReply error // why no response came
	status  int
	header  http.Header
	body    []byte // all of an error's body, else what came first of a foreign one
	foreign bool   // what came is no reply of a model at all
	readErr error  // what broke the body off
	reply   reply
}

func (m *Model) exchange(ctx context.Context, a asked) *exchange {
	return &exchange{link: m.link, ctx: ctx, asked: a, wire: m.back.wire}
}

// bind makes the call findable from its requests.
func (x *exchange) bind(ctx context.Context) context.Context {
	if x.link == nil {
		return ctx
	}
	x.ctx = context.WithValue(ctx, exchangeKey{}, x)
	return x.ctx
}

func (x *exchange) roundTrip(req *http.Request) (*http.Response, error) {
	req, err := x.outgoing(req)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	x.request, x.noReply, x.status, x.header, x.body, x.foreign, x.readErr, x.reply = req.URL, nil, 0, nil, nil, false, nil, reply{}
	x.mu.Unlock()
	resp, err := x.link.next.RoundTrip(req)
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil {
		x.noReply = err
		return nil, err
	}
	x.status, x.header = resp.StatusCode, resp.Header
	body, err := decoded(resp)
	if err != nil {
		resp.Body.Close()
		x.noReply = err
		return nil, err
	}
	resp.Body = body
	switch {
	case resp.StatusCode >= http.StatusMultipleChoices:
		x.body, x.readErr = io.ReadAll(io.LimitReader(resp.Body, longestFault))
		resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(x.body))
	case x.wire.reader == nil:
		resp.Body = &watched{ReadCloser: x.abortable(resp.Body), x: x}
	default:
		resp.Body = newReplyBody(x, x.abortable(resp.Body), resp.Header.Get("Content-Type"))
		resp.ContentLength = -1
		resp.Header = resp.Header.Clone()
		resp.Header.Del("Content-Length")
	}
	return resp, nil
}

// abortable closes the body when the call ends, for a transport that does not
// heed the context.
func (x *exchange) abortable(body io.ReadCloser) io.ReadCloser {
	stop := context.AfterFunc(x.ctx, func() { body.Close() })
	return &abortable{body, stop}
}

type abortable struct {
	io.ReadCloser
	stop func() bool
}

func (a *abortable) Close() error {
	a.stop()
	return a.ReadCloser.Close()
}

// outgoing is the request as it goes out.
func (x *exchange) outgoing(req *http.Request) (*http.Request, error) {
	req = req.Clone(req.Context())
	if x.link.noKey {
		req.Header.Del("Authorization")
	}
	if x.wire.head != nil {
		x.wire.head(req, x.asked)
	}
	for name, values := range x.link.headers {
		req.Header[name] = values
	}
	if x.wire.edit == nil || req.Body == nil || req.Method != http.MethodPost {
		return req, nil
	}
	body, err := io.ReadAll(req.Body)
	req.Body.Close()
	if err != nil {
		return nil, err
	}
	f := fields{}
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, fmt.Errorf("langchaingo wrote a request that is no JSON object: %w", err)
	}
	x.wire.edit(f, x.asked)
	if body, err = json.Marshal(f); err != nil {
		return nil, err
	}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return req, nil
}

// watched notes why a body that langchaingo reads itself breaks off.
type watched struct {
	io.ReadCloser
	x    *exchange
	size int64
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if w.size += int64(n); w.x.most > 0 && w.size > w.x.most {
		n, err = 0, errLongBody
	}
	w.x.mu.Lock()
	defer w.x.mu.Unlock()
	if have := len(w.x.body); have < headLength {
		w.x.body = append(w.x.body, p[:min(n, headLength-have)]...)
		w.x.foreign = strings.HasPrefix(strings.TrimLeft(string(w.x.body), beforeJSON), "<")
	}
	if err != nil && err != io.EOF {
		w.x.readErr = err
	}
	return n, err
}
