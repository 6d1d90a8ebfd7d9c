package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"mylm/tools"
)

// longestURL is what every client and server is asked to support (RFC 9110,
// section 4.1).
const longestURL = 8000

// target is a checked address of the web. Its host is lower-case ASCII.
type target struct {
	url  *url.URL
	host string // a name without a dot at its end, or an IP address
	ip   netip.Addr
	port string
}

// Host returns the host that a call with these arguments talks to, as it is
// asked about and remembered: lower-case ASCII, with the port if it is not the
// usual one of the scheme, an IPv6 address in brackets. It is an error, for the
// model to read, if the address is not one that can be fetched.
func Host(args json.RawMessage) (string, error) {
	in, err := tools.Decode[input](args)
	if err != nil {
		return "", err
	}
	t, err := parseTarget(in.URL)
	if err != nil {
		return "", err
	}
	return t.name(), nil
}

// parseTarget checks an address as the model wrote it.
func parseTarget(raw string) (*target, error) {
	raw = strings.TrimSpace(raw)
	switch {
	case raw == "":
		return nil, errors.New("the url is empty; give the address of a page, like https://example.com/page")
	case len(raw) > longestURL:
		return nil, fmt.Errorf("the url is %d bytes long; at most %d are sent", len(raw), longestURL)
	}
	u, err := url.Parse(raw)
	if err != nil {
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err
		}
		return nil, fmt.Errorf("the url cannot be read: %w", err)
	}
	return newTarget(u)
}

func newTarget(u *url.URL) (*target, error) {
	u.Scheme = strings.ToLower(u.Scheme)
	switch {
	case u.Scheme == "":
		return nil, errors.New("the url has no scheme; it begins with https:// or http://")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the url begins with %s:, and only http and https are fetched", u.Scheme)
	case u.User != nil:
		return nil, errors.New("the url contains a user name or password, which is never sent; remove it")
	case u.Hostname() == "":
		return nil, errors.New("the url has no host; it looks like https://example.com/page")
	}
	t := &target{port: u.Port()}
	if err := t.setHost(u.Hostname()); err != nil {
		return nil, err
	}
	usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if t.port == "" {
		t.port = usual
	}
	n, err := strconv.ParseUint(t.port, 10, 16)
	if err != nil || n == 0 {
		return nil, fmt.Errorf("the url has the port %s; there are 1 to 65535", t.port)
	}
	t.port = strconv.FormatUint(n, 10)
	clean := *u
	if clean.Host = bracketed(t.host); t.port != usual {
		clean.Host = net.JoinHostPort(t.host, t.port)
	}
	t.url = &clean
	return t, nil
}

// setHost takes a name or an IP address. Names are mapped as browsers do (UTS
// 46), so that what looks like a dot or a digit becomes one before it is
// checked.
func (t *target) setHost(host string) error {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" {
			return errors.New("the url names a network interface; leave out what follows the %")
		}
		t.host, t.ip = ip.String(), ip
		return nil
	}
	name, err := idna.Lookup.ToASCII(host)
	if err != nil && strings.ContainsFunc(host, func(r rune) bool { return r >= 0x80 }) {
		return fmt.Errorf("the host %q is no name: %w", host, err)
	}
	if err != nil {
		name = strings.ToLower(host) // names with _ exist, and are asked for as they are
	}
	name = strings.TrimSuffix(name, ".")
	if ip, err := netip.ParseAddr(name); err == nil {
		t.host, t.ip = ip.String(), ip
		return nil
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case name == "" || strings.Contains(name, "..") || strings.ContainsAny(name, " \t\r\n%:[]/\\@") || len(name) > 253:
		return fmt.Errorf("the host %q is no name", host)
	case isNumber(last):
		return fmt.Errorf("the host %s is a number; an IP address is written as four decimal numbers, like 192.0.2.1", name)
	}
	t.host = name
	return nil
}

// isNumber reports whether the last part of a name makes all of it an IPv4
// address to a browser, and to some resolvers (WHATWG URL, "ends in a number
// checker").
func isNumber(label string) bool {
	if label == "" {
		return false
	}
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	_, err := strconv.ParseUint(strings.TrimPrefix(label, "0x"), 16, 64)
	return strings.HasPrefix(label, "0x") && (err == nil || label == "0x")
}

// name is the host as it is asked about: with a port that is not the usual one.
func (t *target) name() string { return t.url.Host }

// bracketed is a host as written in a URL.
func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// sameHost reports whether a redirect stays where somebody allowed the call to
// go: the same host, and the same or the usual port.
func (t *target) sameHost(o *target) bool {
	usual := func(t *target) bool { return t.url.Host == bracketed(t.host) }
	return t.host == o.host && (t.port == o.port || usual(t) && usual(o))
}

// notPublic reports whether a host is none of the public internet, as far as its name says.
func (t *target) notPublic() bool {
	return t.host == "localhost" || t.ip.IsValid() && notPublic(t.ip) != ""
}

// preview shows the address as it will be fetched. A host that is not ASCII is
// shown as it is looked up, because letters of other alphabets can pass for
// Latin ones, and one that will be refused is named as such.
func (f *fetcher) preview(args json.RawMessage) string {
	in, err := tools.Decode[input](args)
	if err != nil {
		return string(args)
	}
	t, err := parseTarget(in.URL)
	if err != nil {
		return in.URL
	}
	if !f.allows(t) && t.notPublic() {
		return t.url.String() + "\n(this is no address of the public internet: it is refused, whatever is answered, unless the host was allowed before)"
	}
	if shown, err := idna.Display.ToUnicode(t.host); err == nil && shown != t.host {
		return fmt.Sprintf("%s\n(%s is written %s)", t.url, t.host, shown)
	}
	return t.url.String()
}
