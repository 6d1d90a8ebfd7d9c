package ollama

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/ollama/ollama/api"
)

// errorBody bounds what is read of an error's body.
const errorBody = 64 << 10

// exchange watches one request, for api.Client keeps back what tells failures
// apart: headers, whole error bodies, and whether a stream ended or broke. It
// runs in the goroutine of the call.
type exchange struct {
	next http.RoundTripper

	sent    bool
	noReply error // why no response came
	status  int
	header  http.Header
	body    []byte // all of an error's body, else what came first
	readErr error  // what broke the body off
}

func (x *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	x.sent, x.status = true, 0
	resp, err := x.next.RoundTrip(req)
	if err != nil {
		x.noReply = err
		return nil, err
	}
	x.status, x.header = resp.StatusCode, resp.Header
	if resp.StatusCode >= http.StatusMultipleChoices {
		x.body, x.readErr = io.ReadAll(io.LimitReader(resp.Body, errorBody))
		resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(x.body))
		return resp, nil
	}
	resp.Body = &watched{ReadCloser: resp.Body, x: x}
	return resp, nil
}

// watched notes how a body begins and why it breaks off.
type watched struct {
	io.ReadCloser
	x *exchange
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	const beginning = 512
	if have := len(w.x.body); have < beginning {
		w.x.body = append(w.x.body, p[:min(n, beginning-have)]...)
	}
	if err != nil && err != io.EOF {
		w.x.readErr = err
	}
	return n, err
}

// sameMethod keeps a POST from being repeated as a GET elsewhere.
func sameMethod(req *http.Request, via []*http.Request) error {
	if len(via) >= 10 || req.Method != via[0].Method {
		return http.ErrUseLastResponse
	}
	return nil
}

// call runs one request of Ollama's client and tells what went wrong with it.
// model is the one that the request is about, if any.
func (c *Client) call(ctx context.Context, model string, f func(*api.Client) error) error {
	h := *c.http
	x := &exchange{next: h.Transport}
	if x.next == nil {
		x.next = http.DefaultTransport
	}
	h.Transport = x
	if h.CheckRedirect == nil {
		h.CheckRedirect = sameMethod
	}
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
		fault.Hint = c.pullHint(ctx, model)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return fault.Error
}

// foreign reports whether what came back is no reply of an Ollama server.
func (x *exchange) foreign() bool {
	b := bytes.TrimLeft(x.body, " \t\r\n\ufeff")
	return len(b) > 0 && b[0] != '{' || strings.Contains(x.header.Get("Content-Type"), "text/html")
}
