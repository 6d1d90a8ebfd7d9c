package ollama

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/ollama/ollama/api"

	"mylm/providers/internal/httpfault"
)

// longestBody bounds what is read of a response that is not a stream. The
// longest are lists of models and licence texts, and these take far less.
const longestBody = 8 << 20

var errTooLong = errors.New("more than 8 MiB in answer to a short question")

// streamType is what api.Client accepts where it reads line by line.
const streamType = "application/x-ndjson"

// beforeJSON is what may stand before a JSON value without a meaning: white
// space and a byte order mark.
const beforeJSON = " \t\r\n\ufeff"

// exchange watches one request, for api.Client keeps back what tells failures
// apart: headers, whole error bodies, and whether a stream ended or broke. It
// runs in the goroutine of the call.
type exchange struct {
	next http.RoundTripper
	wait *waiting // nil: nobody wants to know what the server is doing

	sent    bool
	noReply error // why no response came
	status  int
	header  http.Header
	body    []byte // all of an error's body, else what came first
	readErr error  // what broke the body off
}

func (x *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	x.sent, x.status = true, 0
	resp, err := x.wait.roundTrip(x.next, req)
	if err != nil {
		x.noReply = err
		return nil, err
	}
	x.status, x.header = resp.StatusCode, resp.Header
	if resp.StatusCode >= http.StatusMultipleChoices {
		x.body, x.readErr = io.ReadAll(io.LimitReader(resp.Body, longestBody))
		resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(x.body))
		return resp, nil
	}
	resp.Body = &watched{ReadCloser: resp.Body, x: x, stream: req.Header.Get("Accept") == streamType}
	return resp, nil
}

// watched notes how a body begins and why it breaks off, and leaves out what
// api.Client would take for a line: empty ones and a byte order mark.
type watched struct {
	io.ReadCloser
	x      *exchange
	stream bool
	size   int  // bytes so far
	inLine bool // the line has begun
}

func (w *watched) Read(p []byte) (int, error) {
	for {
		n, err := w.read(p)
		kept := 0
		for _, b := range p[:n] {
			if !w.inLine && strings.IndexByte(beforeJSON, b) >= 0 {
				continue
			}
			w.inLine = b != '\n'
			p[kept] = b
			kept++
		}
		if kept > 0 || n == 0 || err != nil {
			return kept, err
		}
	}
}

func (w *watched) read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if w.size += n; w.size > longestBody && !w.stream {
		n, err = 0, errTooLong
	}
	const beginning = 512
	if have := len(w.x.body); have < beginning {
		w.x.body = append(w.x.body, p[:min(n, beginning-have)]...)
	}
	if err != nil && err != io.EOF {
		w.x.readErr = err
	}
	return n, err
}

func reachable(u *url.URL) bool {
	return u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// onlyHTTP stops before a redirect to what no HTTP client can reach, so that
// the redirect is told and not that the next request failed.
func onlyHTTP(next func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if !reachable(req.URL) {
			return http.ErrUseLastResponse
		}
		return next(req, via)
	}
}

// call runs one request of Ollama's client and tells what went wrong with it.
// model is the one that the request is about, if any.
func (c *Client) call(ctx context.Context, model string, f func(*api.Client) error) error {
	return c.callWaiting(ctx, model, nil, f)
}

// callWaiting is call for a request that takes the server a while.
func (c *Client) callWaiting(ctx context.Context, model string, w *waiting, f func(*api.Client) error) error {
	h := *c.http
	x := &exchange{next: h.Transport, wait: w}
	if x.next == nil {
		x.next = http.DefaultTransport
	}
	h.Transport = x
	if h.CheckRedirect == nil {
		h.CheckRedirect = httpfault.StaysHere
	}
	h.CheckRedirect = onlyHTTP(h.CheckRedirect)
	err := f(api.NewClient(c.base, &h))
	switch {
	case err == nil && x.status < http.StatusMultipleChoices: // an error without a body is none to api.Client
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errGone):
		return err
	}
	fault := c.fault(x, err)
	if fault.missing && model != "" {
		if strings.Contains(fault.Message, "not found") { // the server says m:latest of m
			fault.Message = fmt.Sprintf("Ollama: model %q not found", httpfault.OneLine(model))
		}
		fault.Hint = c.pullHint(ctx, model)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return fault.Error
}

// foreign reports whether what came back is no reply of an Ollama server.
func (x *exchange) foreign() bool {
	b := bytes.TrimLeft(x.body, beforeJSON)
	return len(b) > 0 && b[0] != '{' || strings.Contains(x.header.Get("Content-Type"), "text/html")
}
