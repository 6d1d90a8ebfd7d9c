package ollama

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// DefaultPort is where a server listens when its address names neither a port
// nor a scheme.
const DefaultPort = "11434"

// ParseHost reads the address of a server in every form that OLLAMA_HOST may
// have: empty, host, host:port, :port, an IPv6 address with or without
// brackets, each with or without http:// or https://, user:password@ and a
// path. Space and quotes around it are dropped.
//
// The port is 11434, or with a scheme the scheme's own: 80 or 443. The
// addresses that a server listens on everywhere with, 0.0.0.0 and [::], become
// the loopback address. The result always has a scheme, a host and a port.
func ParseHost(s string) (*url.URL, error) {
	s = strings.Trim(s, "\"' \t\r\n")
	u, err := parseHost(s)
	if err != nil {
		// The part before an @ may be a password.
		shown := s[strings.LastIndexByte(s, '@')+1:]
		return nil, fmt.Errorf("the Ollama address %q: %w; write it like 127.0.0.1:11434 or https://host/path", shown,
			err)
	}
	return u, nil
}

func parseHost(s string) (*url.URL, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	scheme = strings.ToLower(scheme)
	port := DefaultPort
	switch {
	case s == "ollama.com":
		scheme, rest, port = "https", s, "443"
	case !ok && strings.Contains(s, ":/"): // htp:/x is no host with an empty port
		return nil, errors.New("bad scheme")
	case !ok:
		scheme, rest = "http", s
	case scheme == "http":
		port = "80"
	case scheme == "https":
		port = "443"
	default:
		return nil, fmt.Errorf("unknown scheme %q", scheme)
	}
	if strings.Contains(rest, "://") {
		return nil, errors.New("more than one scheme")
	}
	authority, path, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@') + 1
	if ip, err := netip.ParseAddr(authority[at:]); err == nil && ip.Is6() { // without its brackets
		authority = authority[:at] + "[" + strings.Replace(ip.String(), "%", "%25", 1) + "]"
	}
	u, err := url.Parse(scheme + "://" + authority + "/" + path)
	var fault *url.Error // repeats the address, and its cause perhaps a part of the password
	switch {
	case errors.As(err, &fault) && at == 0:
		return nil, fault.Err
	case err != nil:
		return nil, errors.New("bad user, password, host or port (write % as %25)")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("a query or fragment has no meaning here")
	}
	port = cmp.Or(u.Port(), port)
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return nil, fmt.Errorf("bad port %q", port)
	}
	host := u.Hostname()
	switch ip, err := netip.ParseAddr(host); {
	case host == "", err == nil && ip.IsUnspecified() && ip.Is4():
		host = "127.0.0.1"
	case err == nil && ip.IsUnspecified():
		host = "::1"
	}
	u.Host = net.JoinHostPort(host, port)
	u.Path, u.RawPath = strings.TrimRight("/"+strings.Trim(u.Path, "/"), "/"), ""
	if _, err := url.Parse(u.String()); err != nil || strings.ContainsAny(host, "<>\"\\^`{|}") {
		return nil, fmt.Errorf("bad host name %q", host)
	}
	return u, nil
}
