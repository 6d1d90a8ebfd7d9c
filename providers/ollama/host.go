package ollama

import (
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
	case !ok && s == "ollama.com":
		scheme, rest, port = "https", s, "443"
	case !ok && strings.Contains(s, ":/"): // htp:/x is no host with an empty port
		return nil, fmt.Errorf("bad scheme")
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
		return nil, fmt.Errorf("more than one scheme")
	}

	u := &url.URL{Scheme: scheme}
	authority, path, _ := strings.Cut(rest, "/")
	if err := setPath(u, path); err != nil {
		return nil, err
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		if err := setUser(u, authority[:at]); err != nil {
			return nil, err
		}
		authority = authority[at+1:]
	}
	host, port, err := splitPort(authority, port)
	if err != nil {
		return nil, err
	}
	u.Host = net.JoinHostPort(host, port)
	return u, nil
}

func setPath(u *url.URL, path string) error {
	if path = strings.Trim(path, "/"); path == "" {
		return nil
	}
	if strings.ContainsAny(path, "?#") {
		return fmt.Errorf("a query or fragment has no meaning here")
	}
	plain, err := url.PathUnescape(path)
	if err != nil || strings.ContainsFunc(plain, isControl) {
		return fmt.Errorf("bad path")
	}
	u.Path = "/" + plain
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func isASCII(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f }) }

func setUser(u *url.URL, info string) error {
	name, password, hasPassword := strings.Cut(info, ":")
	name, err := url.PathUnescape(name)
	if err != nil {
		return fmt.Errorf("bad user name")
	}
	if !hasPassword {
		u.User = url.User(name)
		return nil
	}
	if password, err = url.PathUnescape(password); err != nil {
		return fmt.Errorf("bad password (write %% as %%25)")
	}
	u.User = url.UserPassword(name, password)
	return nil
}

// splitPort cuts host[:port] and fills in what is missing.
func splitPort(s, defaultPort string) (host, port string, err error) {
	host = s
	if _, err := netip.ParseAddr(s); err != nil { // a bare IPv6 address is all colons
		inBrackets := strings.HasSuffix(s, "]")
		if i := strings.LastIndexByte(s, ':'); i >= 0 && !inBrackets {
			host, port = s[:i], s[i+1:]
		}
	}
	if bare, ok := strings.CutPrefix(host, "["); ok {
		bare, ok = strings.CutSuffix(bare, "]")
		bare = strings.Replace(bare, "%25", "%", 1) // a zone, as URLs write it
		if ip, err := netip.ParseAddr(bare); !ok || err != nil || !ip.Is6() {
			return "", "", fmt.Errorf("bad IPv6 address %q", host)
		}
		host = bare
	}
	if port == "" {
		port = defaultPort
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", "", fmt.Errorf("bad port %q", port)
	}
	host, err = connectable(host)
	return host, port, err
}

// connectable returns the host to connect to.
func connectable(host string) (string, error) {
	if host == "" {
		return "127.0.0.1", nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && !strange(ip.Zone()) && isASCII(ip.Zone()) {
		switch {
		case !ip.IsUnspecified():
			return host, nil
		case ip.Is4():
			return "127.0.0.1", nil
		}
		return "::1", nil
	}
	if strange(host) {
		return "", fmt.Errorf("bad host name %q", host)
	}
	return host, nil
}

// strange reports whether s holds what no host name or zone does.
func strange(s string) bool {
	return strings.ContainsAny(s, " :[]<>\"\\^`{|}%?#@") || strings.ContainsFunc(s, isControl)
}
