package langchain

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"mylm/providers"
	"mylm/providers/internal/httpfault"
)

// proxy is what stands between here and where a request went, and the variable
// that net/http has it from. Nil: nothing does.
func (m *Model) proxy(x *exchange) (*url.URL, string) {
	if m.link == nil || x.request == nil {
		return nil, ""
	}
	t, ok := m.link.next.(*http.Transport)
	if !ok || t.Proxy == nil {
		return nil, ""
	}
	u, err := t.Proxy(&http.Request{URL: x.request})
	if err != nil {
		return nil, ""
	}
	if x.request.Scheme == "https" {
		return u, "HTTPS_PROXY"
	}
	return u, "HTTP_PROXY"
}

// proxyFault tells about a proxy that cannot be reached or refuses. It is nil
// for other faults.
func (m *Model) proxyFault(x *exchange) *providers.Error {
	proxy, variable := m.proxy(x)
	if proxy == nil {
		return nil
	}
	e := &providers.Error{Kind: providers.Unreachable, Permanent: true, Err: x.noReply,
		Hint: fmt.Sprintf("Check %s, or put %s into NO_PROXY if it is reached without one.", variable, x.request.Hostname())}
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(x.noReply, &dns), errors.As(x.noReply, &op) && op.Op != "read" && op.Op != "write":
		e.Message = fmt.Sprintf("the proxy %s does not answer: %s", proxy.Host, httpfault.Reason(x.noReply))
	case refusesTunnel(x.noReply):
		e.Message = fmt.Sprintf("the proxy %s lets nobody through to %s: %s", proxy.Host, x.request.Host, httpfault.Reason(x.noReply))
		if x.noReply.Error() == http.StatusText(http.StatusProxyAuthRequired) {
			e.Kind, e.Hint = providers.Auth, hintProxyKey
		}
	default:
		return nil
	}
	return e
}

// refusesTunnel reports whether err is a proxy's answer to CONNECT, of which
// net/http keeps the words of the status only.
func refusesTunnel(err error) bool {
	for status := 300; status < 600; status++ {
		if s := http.StatusText(status); s != "" && err.Error() == s {
			return true
		}
	}
	return false
}
