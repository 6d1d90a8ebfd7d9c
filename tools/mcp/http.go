package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"
)

// openHTTP connects to a URL: by the streamable transport, and where the server does
// not have that, by the one of 2024-11-05.
func (s *server) openHTTP(ctx context.Context, client *mcp.Client, l *link) (*mcp.ClientSession, error) {
	life, cut := context.WithCancel(context.WithoutCancel(ctx))
	l.cut = cut
	c := &carrier{server: &s.Server, link: l, life: life, oauth: newOAuth(ctx, s)}
	l.oauth = c.oauth
	hc := &http.Client{Transport: c, CheckRedirect: c.redirect}
	stop := context.AfterFunc(ctx, cut)
	defer stop()
	older := func() (*mcp.ClientSession, error) {
		c.older.Store(true)
		return client.Connect(ctx, &mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: hc, MaxEventSize: maxMessage}, nil)
	}
	if s.SSE {
		session, err := older()
		if err != nil {
			cut()
			return nil, c.explain(err)
		}
		return session, nil
	}
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: hc, MaxEventSize: maxMessage}, nil)
	if err == nil {
		context.AfterFunc(life, func() { _ = session.Close() })
		return session, nil
	}
	err = c.explain(err)
	// The specification has clients try the older transport after these.
	if status := c.status.Load(); ctx.Err() == nil && (status == http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusMethodNotAllowed) {
		if session, olderErr := older(); olderErr == nil {
			return session, nil
		}
	}
	cut()
	return nil, err
}

// carrier sends the requests to a server, and to no other host. Its redirects lead to
// no other, and what comes back is bounded.
type carrier struct {
	server *Server
	link   *link
	oauth  *oauth                // nil: no login
	life   context.Context       // its end ends every request
	open   atomic.Int32          // requests without a response
	status atomic.Int32          // of the last refusal
	reason atomic.Pointer[error] // of a broken connection, of which the library may say only that it ended
	older  atomic.Bool           // the stream of the older transport outlives what opens it
}

// RoundTrip implements http.RoundTripper.
func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	if !sameOrigin(r.URL, c.server.URL) { // an event stream names where messages go
		err := fmt.Errorf("it wants messages sent to another host: %s", plainLine(r.URL.Host))
		c.reason.Store(&err)
		return nil, err
	}
	if c.oauth == nil {
		return c.send(r, nil)
	}
	token, err := c.oauth.token(r.Context(), "")
	if err != nil {
		return nil, err
	}
	resp, err := c.send(r, token)
	if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		return resp, err
	}
	again, err := c.oauth.refused(r.Context(), r, resp, token)
	switch {
	case err != nil:
		return nil, err
	case !again:
		return resp, nil
	}
	if token, err = c.oauth.token(r.Context(), ""); err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	if r.GetBody != nil {
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return c.send(r, token)
}

// send sends one request.
func (c *carrier) send(r *http.Request, token *oauth2.Token) (*http.Response, error) {
	ctx := r.Context()
	if c.older.Load() && r.Method == http.MethodGet {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.life, cancel)
	end := func() { stop(); cancel() }
	r = r.Clone(ctx)
	setToken(r, token)
	for name, value := range c.server.Headers {
		r.Header.Set(name, value)
	}
	send := c.server.HTTP
	if send == nil {
		send = http.DefaultTransport
	}
	if c.open.Add(1) > maxOpen { // mylm's own are few, and each question of the server is answered by one
		c.link.flooded.Store(true)
		c.link.cut()
	}
	resp, err := send.RoundTrip(r)
	c.open.Add(-1)
	if err != nil {
		end()
		return nil, err
	}
	if resp.StatusCode >= 400 && r.Method == http.MethodPost {
		c.status.Store(int32(resp.StatusCode))
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	events := kind == "text/event-stream"
	if resp.StatusCode == http.StatusOK && kind != "application/json" && !events {
		err := fmt.Errorf("it answers with %q, which no MCP server does", plainLine(kind))
		c.reason.Store(&err)
	}
	most := int64(maxMessage)
	if events {
		most = -1 // each event has a bound of its own
	}
	resp.Body = &body{ReadCloser: resp.Body, left: most, end: end}
	resp.Body = &sifted{ReadCloser: resp.Body, in: bufio.NewReader(resp.Body), link: c.link, events: events}
	return resp, nil
}

// redirect keeps to the host.
func (c *carrier) redirect(r *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= 5:
		return errors.New("more than 5 redirects")
	case !sameOrigin(r.URL, via[0].URL.String()):
		return fmt.Errorf("it redirects to another host: %s", plainLine(r.URL.Host))
	}
	return nil
}

func sameOrigin(u *url.URL, other string) bool {
	o, err := url.Parse(other)
	return err == nil && u.Scheme == o.Scheme && strings.EqualFold(u.Host, o.Host)
}

// explain names what a status means.
func (c *carrier) explain(err error) error {
	if reason := c.reason.Load(); reason != nil && strings.HasSuffix(err.Error(), io.EOF.Error()) {
		return *reason
	}
	var login *LoginError
	status := int(c.status.Load())
	switch {
	case errors.As(err, &login):
		return login
	case status == http.StatusUnauthorized && c.oauth == nil:
		return &LoginError{Reason: fmt.Sprintf("it wants a login, or another key (%v)", inWords(err))}
	case status == http.StatusUnauthorized:
		return &LoginError{Reason: "it does not accept the login"}
	case status == http.StatusForbidden:
		return fmt.Errorf("it refuses access (%v)", inWords(err))
	case status >= 400 && http.StatusText(status) != "" && strings.HasSuffix(err.Error(), http.StatusText(status)):
		return fmt.Errorf("it answers with HTTP status %d, %s", status, http.StatusText(status))
	}
	return err
}

// body is a response's body that ends its request, and is bounded.
type body struct {
	io.ReadCloser
	left int64 // negative: no bound
	end  func()
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left >= 0 {
		if b.left -= int64(n); b.left < 0 {
			return 0, errTooLong
		}
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
