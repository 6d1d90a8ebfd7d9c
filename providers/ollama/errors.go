package ollama

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"mylm/providers"
	"mylm/providers/internal/httpfault"
)

// fault is an error on its way to the caller.
type fault struct {
	*providers.Error
	missing bool // the model is missing: names like it make a better hint
}

// fault tells what went wrong with a request that the caller did not cancel.
func (c *Client) fault(x *exchange, err error) fault {
	switch {
	case !x.sent:
		return fault{Error: &providers.Error{Kind: providers.Auth, Err: err,
			Message: fmt.Sprintf("the request to %s cannot be signed: %s", c.Host(), httpfault.OneLine(err.Error())),
			Hint:    "Sign in with `ollama signin`, or unset OLLAMA_AUTH."}}
	case x.status == 0:
		return fault{Error: c.unanswered(x.noReply, err)}
	case errors.Is(x.readErr, errTooLong) && !x.foreign():
		return fault{Error: &providers.Error{Kind: providers.ServerFault, Permanent: true, Err: errTooLong,
			Message: fmt.Sprintf("%s sent %v", c.Host(), errTooLong), Hint: "This is no answer of Ollama's. " + hintLog}}
	case x.readErr != nil && !errors.Is(x.readErr, errTooLong):
		return fault{Error: interrupted("the connection broke off in mid-reply: "+httpfault.Reason(x.readErr), x.readErr)}
	case x.status >= http.StatusBadRequest:
		return c.refused(x)
	case x.status >= http.StatusMultipleChoices:
		return fault{Error: c.redirected(x)}
	case errors.Is(err, bufio.ErrTooLong):
		return fault{Error: &providers.Error{Kind: providers.ServerFault, Permanent: true, Err: err,
			Message: "Ollama sent a line of more than 8 MB", Hint: "This is no reply of a model: look" + log}}
	case x.foreign():
		return fault{Error: c.notOllama(x)}
	case garbled(err):
		return fault{Error: interrupted("the reply broke off in mid-line", err)}
	}
	return c.told(err.Error(), http.StatusOK)
}

// garbled reports whether err is about a line that is no JSON. Ollama's client
// returns such a line as the error, as it does with the server's own errors.
func garbled(err error) bool {
	var syntax *json.SyntaxError
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &wrongType) {
		return true
	}
	s := strings.TrimSpace(err.Error())
	return strings.HasPrefix(s, "{") && !json.Valid([]byte(s))
}

func interrupted(message string, err error) *providers.Error {
	return &providers.Error{Kind: providers.Interrupted, Message: message, Err: err,
		Hint: "Ask again. If it happens each time, look" + log}
}

// unanswered tells why no response came.
func (c *Client) unanswered(err, outer error) *providers.Error {
	if err == nil { // a client with limits of its own gave up
		err = outer
	}
	e := &providers.Error{Kind: providers.Unreachable, Err: err, Hint: c.hintServe()}
	var dns *net.DNSError
	var op *net.OpError
	var timeout net.Error
	switch {
	case errors.As(err, &dns):
		e.Message = fmt.Sprintf("the name %q of the Ollama server does not resolve", dns.Name)
		e.Permanent = dns.IsNotFound
		e.Hint = "Check OLLAMA_HOST for a typing error.\n" + hintDemo
	case httpfault.IsTLS(err):
		e.Message, e.Permanent = fmt.Sprintf("no secure connection to %s: %s", c.Host(), httpfault.Reason(err)), true
		e.Hint = c.hintScheme()
	case errors.As(err, &op) && op.Op != "read" && op.Op != "write":
		e.Message = fmt.Sprintf("no Ollama server answers at %s: %s", c.Host(), httpfault.Reason(err))
	case errors.As(outer, &timeout) && timeout.Timeout():
		e.Kind, e.Message = providers.Stalled, fmt.Sprintf("nothing came from %s within the HTTP client's time limit", c.Host())
		e.Hint = hintLog
	case strings.Contains(err.Error(), "malformed HTTP"):
		e.Message, e.Permanent = fmt.Sprintf("what answers at %s does not speak HTTP", c.Host()), true
		e.Hint = c.hintScheme()
	default:
		return interrupted(fmt.Sprintf("the server at %s closed the connection without a reply: %s", c.Host(), httpfault.Reason(err)), err)
	}
	return e
}

// canReach reports whether the address is one for HTTP.
func canReach(address string) bool {
	u, err := url.Parse(address)
	return err == nil && reachable(u)
}

func (c *Client) redirected(x *exchange) *providers.Error {
	e := c.notOllama(x)
	to := httpfault.OneLine(x.header.Get("Location"))
	e.Message = fmt.Sprintf("%s sends the request on to %q", c.Host(), to)
	if i := strings.Index(to, "/api/"); i > 0 && canReach(x.header.Get("Location")) {
		e.Hint = fmt.Sprintf("If that is right, set OLLAMA_HOST=%s", to[:i])
	}
	return e
}

// refused tells about a response that is an error.
func (c *Client) refused(x *exchange) fault {
	text, signin, ours := serverText(x.body)
	e := &providers.Error{Status: x.status, RetryAfter: httpfault.RetryAfter(x.header), Message: "Ollama: " + httpfault.OneLine(innerMessage(text))}
	if !ours {
		e.Message = fmt.Sprintf("%s answers %d %s", c.Host(), x.status, http.StatusText(x.status))
	}
	switch x.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		e.Kind, e.Hint = providers.Auth, hintAuth
		if signin != "" {
			e.Hint = "Run `ollama signin`, or open " + httpfault.OneLine(signin)
		}
	case http.StatusTooManyRequests:
		e.Kind, e.Hint = providers.RateLimited, "Wait a moment and ask again."
	case http.StatusServiceUnavailable:
		e.Kind, e.Hint = providers.ServerFault, hintLog
		if strings.Contains(text, "busy") {
			e.Kind, e.Hint = providers.RateLimited, "The server's queue is full: wait a moment and ask again."
		}
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		e.Kind, e.Hint = providers.ServerFault, "A proxy before Ollama gets no answer from it: is `ollama serve` running there?"
	case http.StatusRequestEntityTooLarge:
		e.Kind, e.Hint = providers.BadRequest, "The request is larger than the server, or a proxy before it, accepts."
	default:
		switch {
		case !ours && x.status >= 500:
			e.Kind, e.Hint = providers.ServerFault, hintLog
			return fault{Error: e}
		case !ours:
			return fault{Error: c.notOllama(x)}
		}
		f := c.told(text, x.status)
		f.RetryAfter = e.RetryAfter
		return f
	}
	return fault{Error: e}
}

// serverText finds the message in an error's body. ours says that the body has
// the form that Ollama gives it.
func serverText(body []byte) (text, signin string, ours bool) {
	var b struct {
		Error     json.RawMessage `json:"error"`
		SigninURL string          `json:"signin_url"`
	}
	if json.Unmarshal(bytes.TrimLeft(body, beforeJSON), &b) != nil || len(b.Error) == 0 {
		return httpfault.OneLine(string(body)), "", false
	}
	var nested struct {
		Message string `json:"message"`
	}
	switch {
	case json.Unmarshal(b.Error, &text) == nil:
	case json.Unmarshal(b.Error, &nested) == nil && nested.Message != "":
		text = string(b.Error)
		return `{"error":` + text + `}`, b.SigninURL, true
	default:
		text = string(b.Error)
	}
	return text, b.SigninURL, true
}

func (c *Client) notOllama(x *exchange) *providers.Error {
	e := &providers.Error{Kind: providers.Unreachable, Status: x.status, Permanent: true, Hint: c.hintAddress(),
		Message: fmt.Sprintf("what answers at %s is not Ollama (HTTP status %d)", c.Host(), x.status)}
	if strings.Contains(string(x.body), "HTTPS") { // what TLS servers say to plain HTTP
		e.Message, e.Hint = fmt.Sprintf("the server at %s wants HTTPS", c.Host()), c.hintScheme()
	}
	return e
}
