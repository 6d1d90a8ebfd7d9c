package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mylm/providers"
)

// Failure is nil if the response came and is whole. err is what the client
// library returned; it counts last, since libraries take a cut or failed stream
// for a reply. Before it come an error in the reply, the status, what broke the
// connection, and the missing end.
func (x *Exchange) Failure(err error) *providers.Error {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.failure(err)
	if e != nil {
		e.Backend, e.Usage = cmp.Or(e.Backend, x.Server.Name), cmp.Or(e.Usage, x.reply.Usage)
		e.Addresses = x.addresses()
	}
	return e
}

// failure finds what ended a reply that broke off, has no end or is an error.
func (x *Exchange) failure(err error) *providers.Error {
	var typed *providers.Error
	switch {
	case x.reply.Fault != nil:
		return x.classify(*x.reply.Fault, x.reply.Fault.Status)
	case errors.As(x.noReply, &typed), errors.As(err, &typed): // whoever made it has the details
		return typed
	case x.status >= http.StatusBadRequest:
		return x.refused()
	case x.status >= http.StatusMultipleChoices:
		return x.redirected()
	// a client with a limit of its own gave up
	case x.noReply == nil && x.status == 0 && x.request != nil && err != nil:
		return x.unanswered(err, err)
	case x.noReply != nil:
		return x.unanswered(x.noReply, err)
	case x.readErr != nil && !(x.foreign && errors.Is(x.readErr, errLongBody)):
		return x.broken(x.readErr)
	case x.foreign:
		if c, ok := ReadError(x.body); ok {
			return x.classify(c, c.Status)
		}
		return x.elsewhere("")
	case x.reply.Ended:
		return nil // langchaingo calls a reply without text an error
	case err != nil && (x.status == 0 || x.Format.Reader == nil):
		return x.worded(err)
	case x.Format.Reader != nil:
		return Interrupted(x.Server, NoEnd, err)
	}
	return nil
}

// NoEnd is the message for a reply without its terminal event.
const NoEnd = "the reply ended without a sign that it is whole"

// Interrupted is the error of a reply that broke off.
func Interrupted(s *Server, message string, err error) *providers.Error {
	return &providers.Error{Kind: providers.Interrupted, Message: message, Err: err, Hint: s.retry(), Backend: s.Name}
}

func (x *Exchange) interrupted(message string, err error) *providers.Error {
	return Interrupted(x.Server, message, err)
}

// worded judges by the words of the client library, where nothing else is known.
func (x *Exchange) worded(err error) *providers.Error {
	var syntax *json.SyntaxError
	var shape *json.UnmarshalTypeError
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.As(err, &syntax) ||
		errors.As(err, &shape) ||
		strings.Contains(err.Error(), "unexpected end of JSON") {
		return x.interrupted("the reply broke off: "+Reason(err), err)
	}
	c, ok := ReadError([]byte(err.Error()))
	if !ok {
		c = ServerError{Text: err.Error(), Names: " "}
		c.findRetry()
	}
	e := x.classify(c, statusIn(err.Error()))
	e.Err = err
	return e
}

// statusIn finds the status in the words of langchaingo's backends.
func statusIn(s string) int {
	for _, mark := range []string{"status code: ", "status code ", "status: ", "HTTP "} {
		if _, after, ok := strings.Cut(s, mark); ok && len(after) >= 3 {
			if n, err := strconv.Atoi(after[:3]); err == nil && n >= 400 && n < 600 {
				return n
			}
		}
	}
	return 0
}

// broken reports what broke a reply off.
func (x *Exchange) broken(err error) *providers.Error {
	switch {
	case errors.Is(err, errLongLine), errors.Is(err, errLongBody):
		return &providers.Error{Kind: providers.ServerFault, Permanent: true, Err: err, Param: providers.ParamAddress,
			Message: fmt.Sprintf("%s sent %v", x.Server.Title, err),
			Hint:    "This is not a model's reply. " + x.Server.Address}
	case errors.Is(err, errHalfLine):
		return x.interrupted("the reply broke off in mid-line", err)
	case errors.Is(err, ErrGarbled), errors.Is(err, errNoObject), errors.Is(err, errOddShape),
		errors.Is(err, errNoField), errors.Is(err, ErrOddContent), errors.Is(err, ErrOddCall):
		return x.interrupted(fmt.Sprintf("%s sent %v in mid-reply", x.Server.Title, err), err)
	}
	return x.interrupted("the connection broke off in mid-reply: "+Reason(err), err)
}

// host is where a request went, without what may be a secret.
func (x *Exchange) host() string {
	if x.request == nil {
		return x.Server.Title
	}
	return x.request.Scheme + "://" + x.request.Host
}

// addresses are those that a message may name: of the server, of what was asked, and of a proxy.
func (x *Exchange) addresses() (all []string) {
	if all = append(all, x.Server.Base); x.request != nil {
		all = append(all, x.host())
	}
	if proxy, _ := x.proxy(); proxy != nil {
		all = append(all, proxy.Scheme+"://"+proxy.Host)
	}
	return all
}

// unanswered reports why no response came.
func (x *Exchange) unanswered(err, outer error) *providers.Error {
	if e := x.proxyFault(err); e != nil {
		return e
	}
	e := &providers.Error{Kind: providers.Unreachable, Err: err, Param: providers.ParamAddress,
		Hint: x.Server.unreachable()}
	var dns *net.DNSError
	var op *net.OpError
	var timeout net.Error
	switch {
	case errors.As(err, &dns):
		e.Message = fmt.Sprintf("the name %q does not resolve", dns.Name)
		e.Permanent, e.Hint = dns.IsNotFound && x.Server.Given, "Check the network."
		if x.Server.Given {
			e.Hint = "Check the network, and the address for a typing error."
		}
	case IsTLS(err):
		e.Message, e.Permanent = fmt.Sprintf("no secure connection to %s: %s", x.host(), Reason(err)), true
		e.Hint = x.otherScheme()
	case errors.As(err, &op) && op.Op != "read" && op.Op != "write":
		e.Message = fmt.Sprintf("no %s server answers at %s: %s", x.Server.Title, x.host(), Reason(err))
	case errors.As(outer, &timeout) && timeout.Timeout():
		e.Kind, e.Param, e.Hint = providers.Stalled, "", x.Server.fault()
		e.Message = fmt.Sprintf("nothing came from %s within the HTTP client's time limit", x.host())
	case strings.Contains(err.Error(), "malformed HTTP"):
		e.Message, e.Permanent = fmt.Sprintf("what answers at %s does not speak HTTP", x.host()), true
		e.Hint = x.otherScheme() + " " + x.Server.Address
	default:
		return x.interrupted(fmt.Sprintf("%s closed the connection without a reply: %s", x.host(), Reason(err)), err)
	}
	return e
}

// otherScheme is the hint for a server that does not speak what the address
// promises.
func (x *Exchange) otherScheme() string {
	scheme := "https"
	if x.request.Scheme == scheme {
		scheme = "http"
	}
	_, rest, _ := strings.Cut(x.Server.Base, "://")
	return fmt.Sprintf("Try the address %s://%s. With a certificate of your own, add its authority to the system's.",
		scheme, rest)
}

// Elsewhere is the error for a response that makes sense for no model's API.
func (x *Exchange) Elsewhere(message string) *providers.Error {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.elsewhere(fmt.Sprintf(message, x.host()))
	e.Addresses = x.addresses()
	return e
}

func (x *Exchange) elsewhere(message string) *providers.Error {
	e := &providers.Error{Kind: providers.Unreachable, Status: x.status, Permanent: true, Param: providers.ParamAddress,
		Hint: x.Server.Address, Message: message, Backend: x.Server.Name}
	if message == "" {
		e.Message = fmt.Sprintf("what answers at %s is not %s (HTTP status %d)", x.host(), x.Server.IsNot, x.status)
	}
	if strings.Contains(string(x.body), "HTTPS") { // what TLS servers say to plain HTTP
		e.Message, e.Hint = fmt.Sprintf("the server at %s wants HTTPS", x.host()), x.otherScheme()
	}
	return e
}

// redirected reports where the server wants the request to go, as by a 307: what would change its
// method or carry the key to another host is not followed.
func (x *Exchange) redirected() *providers.Error {
	to, err := url.Parse(x.header.Get("Location"))
	if err != nil {
		return x.elsewhere("")
	}
	to = x.request.ResolveReference(to)
	to.User, to.RawQuery, to.Fragment = nil, "", ""
	e := x.elsewhere(fmt.Sprintf("%s redirects the request to %q", x.host(), OneLine(to.String())))
	asked := *x.request
	asked.User, asked.RawQuery = nil, ""
	path, known := strings.CutPrefix(asked.String(), x.Server.Base)
	base, same := strings.CutSuffix(to.String(), path)
	switch {
	case to.String() == asked.String():
		e.Message = fmt.Sprintf("%s redirects the request to itself", x.host())
	case known && same && path != "" && to.Host != "" && (to.Scheme == "http" || to.Scheme == "https"):
		e.Hint = fmt.Sprintf("If that is right, make %s the address.", OneLine(base))
	}
	return e
}

// refused reports a response that is an error.
func (x *Exchange) refused() *providers.Error {
	c, ok := ReadError(x.body)
	if !ok {
		switch {
		case x.header.Get("Cf-Mitigated") == "challenge": // developers.cloudflare.com documents the header
			e := x.elsewhere(fmt.Sprintf("%s answers with Cloudflare's check for browsers, which no program passes", x.host()))
			e.Hint = "Whoever runs the server can exempt its API from the check. " + e.Hint
			return e
		case x.status == http.StatusNotFound, x.status == http.StatusMethodNotAllowed, // 404, 405
			x.status < 500 && strings.Contains(string(x.body), "HTTPS"):
			return x.elsewhere("")
		}
		c = ServerError{Text: strings.TrimSpace(fmt.Sprintf("%s answers %d %s", x.host(), x.status, http.StatusText(x.status))), Names: " "}
		if s := strings.TrimSpace(string(x.body)); s != "" && !strings.HasPrefix(s, "<") && len(s) < 300 && isText(s) {
			c.Text += ": " + s
		}
	}
	e := x.classify(c, x.status)
	if x.status == http.StatusNotFound && e.Kind == providers.BadRequest { // the path, not the model
		message := e.Message
		e = x.elsewhere("")
		e.Message += ": " + strings.TrimPrefix(message, x.Server.Title+": ")
	}
	return e
}

// isText reports whether s can be shown.
func isText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s,
		func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) })
}
