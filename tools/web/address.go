package web

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// special are the addresses within the unicast ranges that are not machines of
// the public internet. Sources: IANA's registries of special-purpose addresses
// (iana-ipv4-special-registry, iana-ipv6-special-registry) and of multicast,
// without regard to the few single addresses in them that are reachable.
var special = []struct {
	name     string
	prefixes []string
}{
	{"this network", []string{"0.0.0.0/8"}},
	{"a private network", []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"}},
	{"a provider's own network", []string{"100.64.0.0/10"}},
	{"this machine", []string{"127.0.0.0/8", "::1/128"}},
	{"the local link, where cloud machines find their credentials", []string{"169.254.0.0/16", "fe80::/10"}},
	{"documentation", []string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"}},
	{"protocols and tests", []string{"192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "2001::/23"}},
	{"a tunnel from IPv6 to IPv4", []string{"2002::/16"}},
	{"a private network", []string{"fc00::/7", "fec0::/10"}},
	{"many machines at once", []string{"224.0.0.0/4", "ff00::/8"}},
	{"future use", []string{"240.0.0.0/4"}},
	// Azure answers here to its own machines only; its documentation "What is
	// IP address 168.63.129.16?" says so.
	{"a cloud's own service", []string{"168.63.129.16/32"}},
}

var (
	// global is what IANA gives out of IPv6 (ipv6-unicast-address-assignments).
	global = netip.MustParsePrefix("2000::/3")

	// nat64 is the prefix of an IPv4 address (RFC 6052): on an IPv6-only
	// network, all of the IPv4 internet looks like this.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

// interfaces are the addresses of this machine. Tests give it public ones.
var interfaces = net.InterfaceAddrs

// notPublic returns what an address is for, "" if it is a public one of another machine.
func notPublic(a netip.Addr) string {
	if what := purpose(a); what != "" {
		return what
	}
	own, err := interfaces()
	if err != nil {
		return "this machine, as far as is known: " + err.Error()
	}
	if slices.ContainsFunc(own, func(o net.Addr) bool {
		prefix, err := netip.ParsePrefix(o.String())
		return err == nil && prefix.Addr().Unmap() == embedded(a)
	}) {
		return "this machine"
	}
	return ""
}

// embedded is the IPv4 address embedded in an IPv6 one, else the address.
func embedded(a netip.Addr) netip.Addr {
	if a = a.Unmap(); nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	return a
}

// purpose is what IANA has reserved an address for.
func purpose(a netip.Addr) string {
	if a.Zone() != "" {
		return "the local link"
	}
	a = embedded(a)
	for _, s := range special {
		for _, p := range s.prefixes {
			if netip.MustParsePrefix(p).Contains(a) {
				return s.name
			}
		}
	}
	if a.Is6() && !global.Contains(a) {
		return "no machine of the public internet"
	}
	return ""
}

// allowed is one of AllowHosts.
type allowed struct {
	host string
	port string // "" is any
}

// parseAllowed reads HOST or HOST:PORT.
func parseAllowed(entry string) (allowed, error) {
	bad := func(err error) (allowed, error) {
		return allowed{}, fmt.Errorf("the allowed host %q: %w; write localhost, localhost:6060, 192.168.1.5 or [::1]:8080", entry, err)
	}
	text := strings.TrimSpace(entry)
	switch {
	case text == "":
		return bad(errors.New("it is empty"))
	case strings.Contains(text, "://") || strings.ContainsAny(text, "/?#@"):
		return bad(errors.New("it is an address, not a host"))
	case strings.Contains(text, "*"):
		return bad(errors.New("every host is named by itself"))
	case strings.Count(text, ":") > 1 && !strings.HasPrefix(text, "["):
		text = "[" + text + "]"
	}
	t, err := parseTarget("http://" + text + "/")
	switch {
	case err != nil:
		return bad(err)
	case strings.HasSuffix(text, "]") || !strings.Contains(text, ":"):
		return allowed{host: t.host}, nil
	case strings.HasSuffix(text, ":"):
		return bad(errors.New("the port is missing"))
	}
	return allowed{t.host, t.port}, nil
}

func (f *fetcher) allows(t *target) bool {
	for _, a := range f.allow {
		if a.host == t.host && (a.port == "" || a.port == t.port) {
			return true
		}
	}
	return false
}

// Refuses reports whether no call to a host, as Host returns it, is made: it is localhost
// or an address that is not public, and AllowHosts does not allow it. A name is looked
// up by a call only.
func (o Options) Refuses(host string) bool {
	f := fetcher{}
	for _, entry := range o.AllowHosts {
		if a, err := parseAllowed(entry); err == nil {
			f.allow = append(f.allow, a)
		}
	}
	t, err := parseTarget("http://" + host + "/")
	return err != nil || t.notPublic() && !f.allows(t)
}
