package wire

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"mylm/providers"
)

// proxyVariable is the variable that net/http has the proxy of a request from.
func (x *Exchange) proxyVariable() string {
	if x.request != nil && x.request.Scheme == "http" {
		return "HTTP_PROXY"
	}
	return "HTTPS_PROXY"
}

func (x *Exchange) hintProxyKey() string {
	return fmt.Sprintf("The proxy wants credentials: %s=http://user:password@host", x.proxyVariable())
}

// proxy is the proxy of a request, and the variable that net/http has it from.
func (x *Exchange) proxy() (*url.URL, string) {
	t, ok := x.next.(*http.Transport)
	if !ok || t.Proxy == nil || x.request == nil {
		return nil, ""
	}
	u, err := t.Proxy(&http.Request{URL: x.request})
	if err != nil {
		return nil, ""
	}
	return u, x.proxyVariable()
}

// proxyFault reports a proxy that cannot be reached or refuses. It is nil for
// other faults.
func (x *Exchange) proxyFault(err error) *providers.Error {
	proxy, variable := x.proxy()
	if proxy == nil {
		return nil
	}
	e := &providers.Error{Kind: providers.Unreachable, Permanent: true, Err: err,
		Hint: fmt.Sprintf("Check %s, or put %s into NO_PROXY if it is reached without one.", variable,
			x.request.Hostname())}
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns), errors.As(err, &op) && op.Op != "read" && op.Op != "write":
		e.Message = fmt.Sprintf("the proxy %s does not answer: %s", proxy.Host, Reason(err))
	case refusesTunnel(err):
		e.Message = fmt.Sprintf("the proxy %s refuses connections to %s: %s", proxy.Host, x.request.Host, Reason(err))
		if err.Error() == http.StatusText(http.StatusProxyAuthRequired) {
			e.Kind, e.Hint = providers.Auth, x.hintProxyKey()
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
