package langchain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mylm/providers"
	"mylm/providers/internal/httpfault"
)

// verdict judges a call that has returned and that the caller did not cancel:
// by an error in the reply, by the status, by what broke, by the missing end,
// in this order. langchaingo's own word counts last, since it takes a cut or
// failed stream for a reply.
func (m *Model) verdict(ctx context.Context, t *talk, x *exchange, o outcome) (providers.Chunk, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := m.failure(x, o.err); err != nil {
		if err.Kind == providers.ModelMissing {
			err.Hint = m.hintNames(ctx, err.Hint)
		}
		if ctx.Err() != nil {
			return providers.Chunk{}, ctx.Err()
		}
		return providers.Chunk{}, err
	}
	content, _ := said(o.resp)
	last := providers.Chunk{Stop: stopReason(stopOf(o.resp)), Usage: usageOf(o.resp)}
	if x.reply.stop != "" || x.reply.ended {
		last.Stop = stopReason(x.reply.stop)
	}
	if x.reply.usage != (providers.Usage{}) {
		last.Usage = x.reply.usage
	}
	switch {
	case x.wire.reader == nil && last.Stop == "" && !x.reply.ended && m.cut(t, content):
		return last, m.interrupted(noEnd, nil)
	case len(content) > t.passed && !strings.HasPrefix(content, t.heard.String()):
		return last, m.interrupted("what the model returned is another text than it streamed", nil)
	case refused(last.Stop) && t.passed == 0 && content == "":
		return last, &providers.Error{Kind: providers.Filtered, Permanent: true,
			Message: fmt.Sprintf("%s refused to answer (%s)", m.back.Title, httpfault.OneLine(string(last.Stop))), Hint: hintFiltered}
	}
	last.Stop = cmp.Or(last.Stop, providers.StopEnd)
	return last, nil
}

// cut reports whether a reply without a stop reason may lack its end.
func (m *Model) cut(t *talk, content string) bool {
	streamed := t.passed+t.thoughts > 0
	switch m.back.endOf {
	case EndReason:
		return streamed || content == ""
	case EndWholeText:
		return content == ""
	}
	return !streamed && content == ""
}

// failure is nil if the reply came and is whole.
func (m *Model) failure(x *exchange, err error) *providers.Error {
	var p *panicked
	var typed *providers.Error
	switch {
	case x.reply.fault != nil:
		return m.told(*x.reply.fault, x.reply.fault.status, x.header)
	case errors.As(x.noReply, &typed), errors.As(err, &typed): // whoever made it knows more
		return typed
	case x.status >= http.StatusBadRequest:
		return m.refusal(x)
	case x.status >= http.StatusMultipleChoices:
		return m.redirected(x)
	case x.noReply != nil:
		return m.unanswered(x, err)
	case x.readErr != nil:
		return m.broken(x.readErr)
	case x.foreign:
		if c, ok := complain(x.body); ok {
			return m.told(c, c.status, x.header)
		}
		return m.elsewhere(x, "")
	case errors.As(err, &p):
		return &providers.Error{Kind: providers.ServerFault, Permanent: true, Err: err,
			Message: fmt.Sprintf("langchaingo cannot handle the reply of %s (%v)", m.back.Title, httpfault.OneLine(p.Error()))}
	case x.reply.ended:
		return nil // langchaingo calls a reply without text an error
	case err != nil && (x.status == 0 || x.wire.reader == nil):
		return m.worded(err)
	case x.wire.reader != nil:
		return m.interrupted(noEnd, err)
	}
	return nil
}

const noEnd = "the reply ended without a sign that it is whole"

// worded judges by langchaingo's words, where nothing else is known.
func (m *Model) worded(err error) *providers.Error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || strings.Contains(err.Error(), "unexpected end of JSON") {
		return m.interrupted("the reply broke off: "+httpfault.Reason(err), err)
	}
	c, ok := complain([]byte(err.Error()))
	if !ok {
		c = complaint{text: err.Error(), names: " "}
		c.learn()
	}
	e := m.told(c, statusIn(err.Error()), nil)
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

func (m *Model) interrupted(message string, err error) *providers.Error {
	return &providers.Error{Kind: providers.Interrupted, Message: message, Err: err, Hint: "Ask again."}
}

// broken tells what broke a reply off.
func (m *Model) broken(err error) *providers.Error {
	switch {
	case errors.Is(err, errLongLine), errors.Is(err, errLongBody):
		return &providers.Error{Kind: providers.ServerFault, Permanent: true, Err: err,
			Message: fmt.Sprintf("%s sent %v", m.back.Title, err), Hint: "This is no reply of a model. " + m.hintBase()}
	case errors.Is(err, errGarbled), errors.Is(err, errNoField), errors.Is(err, errOddContent):
		return m.interrupted(fmt.Sprintf("%s sent %v in mid-reply", m.back.Title, err), err)
	}
	return m.interrupted("the connection broke off in mid-reply: "+httpfault.Reason(err), err)
}

// host is where a request went, without what may be a secret.
func (m *Model) host(x *exchange) string {
	if x.request == nil {
		return m.back.Title
	}
	return x.request.Scheme + "://" + x.request.Host
}

// unanswered tells why no response came.
func (m *Model) unanswered(x *exchange, outer error) *providers.Error {
	err := x.noReply
	if e := m.proxyFault(x); e != nil {
		return e
	}
	e := &providers.Error{Kind: providers.Unreachable, Err: err, Hint: m.hintServe()}
	var dns *net.DNSError
	var op *net.OpError
	var timeout net.Error
	switch {
	case errors.As(err, &dns):
		e.Message = fmt.Sprintf("the name %q does not resolve", dns.Name)
		e.Permanent = dns.IsNotFound && m.config.BaseURL != ""
		e.Hint = "Check the network" + m.orBase() + "."
	case httpfault.IsTLS(err):
		e.Message, e.Permanent = fmt.Sprintf("no secure connection to %s: %s", m.host(x), httpfault.Reason(err)), true
		e.Hint = m.hintScheme(x)
	case errors.As(err, &op) && op.Op != "read" && op.Op != "write":
		e.Message = fmt.Sprintf("nobody answers at %s: %s", m.host(x), httpfault.Reason(err))
	case errors.As(outer, &timeout) && timeout.Timeout():
		e.Kind, e.Message = providers.Stalled, fmt.Sprintf("nothing came from %s within the HTTP client's time limit", m.host(x))
	case strings.Contains(err.Error(), "malformed HTTP"):
		e.Message, e.Permanent = fmt.Sprintf("what answers at %s does not speak HTTP", m.host(x)), true
		e.Hint = m.hintScheme(x)
	default:
		return m.interrupted(fmt.Sprintf("%s closed the connection without a reply: %s", m.host(x), httpfault.Reason(err)), err)
	}
	return e
}

// elsewhere is for what is no API of a model.
func (m *Model) elsewhere(x *exchange, message string) *providers.Error {
	e := &providers.Error{Kind: providers.Unreachable, Status: x.status, Permanent: true, Hint: m.hintBase(), Message: message}
	if message == "" {
		e.Message = fmt.Sprintf("what answers at %s is no API of a model (HTTP status %d)", m.host(x), x.status)
	}
	if strings.Contains(string(x.body), "HTTPS") { // what TLS servers say to plain HTTP
		e.Message, e.Hint = fmt.Sprintf("the server at %s wants HTTPS", m.host(x)), m.hintScheme(x)
	}
	return e
}

// redirected tells where the server wants the request to go: what would change
// its method or carry the key to another host is not followed.
func (m *Model) redirected(x *exchange) *providers.Error {
	to, err := url.Parse(x.header.Get("Location"))
	if err != nil || x.request == nil {
		return m.elsewhere(x, "")
	}
	to = x.request.ResolveReference(to)
	to.User, to.RawQuery, to.Fragment = nil, "", ""
	e := m.elsewhere(x, fmt.Sprintf("%s sends the request on to %q", m.host(x), httpfault.OneLine(to.String())))
	own := strings.TrimPrefix(x.request.String(), m.base())
	switch base, ok := strings.CutSuffix(to.String(), own); {
	case to.String() == x.request.String():
		e.Message = fmt.Sprintf("%s sends the request on in a circle", m.host(x))
	case ok && own != "":
		e.Hint = fmt.Sprintf("If that is right, make %s the address.", httpfault.OneLine(base))
	}
	return e
}

// refusal tells about a response that is an error.
func (m *Model) refusal(x *exchange) *providers.Error {
	c, ok := complain(x.body)
	if !ok {
		switch {
		case x.status == http.StatusNotFound, x.status == http.StatusMethodNotAllowed, x.status < 500 && strings.Contains(string(x.body), "HTTPS"):
			return m.elsewhere(x, "")
		}
		c = complaint{text: fmt.Sprintf("%s answers %d %s", m.host(x), x.status, http.StatusText(x.status)), names: " "}
		if s := strings.TrimSpace(string(x.body)); s != "" && !strings.HasPrefix(s, "<") && len(s) < 300 && isText(s) {
			c.text += ": " + s
		}
	}
	e := m.told(c, x.status, x.header)
	if x.status == http.StatusNotFound && e.Kind == providers.BadRequest { // the path, not the model
		message := e.Message
		e = m.elsewhere(x, "")
		e.Message += ": " + strings.TrimPrefix(message, m.back.Title+": ")
	}
	return e
}

// isText reports whether s can be shown.
func isText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) })
}

// retryAfter is how long the provider asks to wait.
func retryAfter(c complaint, h http.Header) time.Duration {
	if ms, err := strconv.ParseUint(h.Get("Retry-After-Ms"), 10, 31); err == nil {
		return time.Duration(ms) * time.Millisecond
	}
	return cmp.Or(httpfault.RetryAfter(h), max(0, c.retry))
}
