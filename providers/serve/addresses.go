package serve

import (
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"mylm/providers"
)

// theAddress stands for where the backend is: that is for who runs the server.
const theAddress = "[its address]"

// withoutAddresses is what an error of a backend says, without the addresses of the backend, and
// those that its causes name. What else looks like one may be the client's own, or a page to read.
func withoutAddresses(text string, err *providers.Error) string {
	for _, host := range hostsOf(err) {
		text = withoutHost(text, host)
	}
	return text
}

// withoutHost is a text without a host, and what belongs to it: a scheme, a user, a port and a path.
// A host that may be a word is one only behind a scheme, a user or a question for its address, or
// before a port.
func withoutHost(text, host string) string {
	ip, notIP := netip.ParseAddr(host)
	word := notIP != nil && !strings.Contains(host, ".")
	name := regexp.QuoteMeta(host)
	if notIP == nil && ip.Is6() {
		name = `(?:\[` + name + `\]|` + name + `)`
	}
	find := regexp.MustCompile(`(?i)(lookup |the name ")?([a-z][a-z0-9+.-]*://)?([^\s/"'<>]+@)?(?:` + name + `)(:\d{1,5}\b)?([/?][^\s"'<>)\]]*)?`)
	var b strings.Builder
	last, at := 0, 0
	for at < len(text) {
		m := find.FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		for i := range m {
			if m[i] >= 0 {
				m[i] += at
			}
		}
		begin, end := m[0], m[1]
		asked := m[2] >= 0
		if asked {
			begin = m[3]
		}
		path := m[10] >= 0
		if path {
			end = m[10] + len(strings.TrimRight(text[m[10]:end], ".,:;!?"))
		}
		beside := asked || m[4] >= 0 || m[6] >= 0 || m[8] >= 0
		if word && !beside || !asked && inWord(text[:begin]) || !path && goesOn(text[end:]) {
			_, n := utf8.DecodeRuneInString(text[m[0]:])
			at = m[0] + n
			continue
		}
		b.WriteString(text[last:begin] + theAddress)
		last, at = end, max(end, at+1)
	}
	return b.String() + text[last:]
}

// inWord reports whether what follows a text belongs to the word that it ends with.
func inWord(text string) bool {
	return text != "" && (isNamePart(text[len(text)-1]) || text[len(text)-1] == '.')
}

// goesOn reports whether a text goes on with the word, or the name of the host, before it.
func goesOn(text string) bool {
	if text != "" && (text[0] == '.' || text[0] == '-') {
		text = text[1:]
	}
	return text != "" && isNamePart(text[0])
}

func isNamePart(c byte) bool {
	return c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// hostsOf are the hosts of a backend, and those that the causes of its error name, the longest
// first.
func hostsOf(err *providers.Error) (hosts []string) {
	add := func(address string) {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			address = u.Host
		}
		if name, _, err := net.SplitHostPort(address); err == nil {
			address = name
		}
		hosts = append(hosts, strings.ToLower(strings.Trim(address, "[]")))
	}
	each(err, func(err error) {
		switch e := err.(type) {
		case *providers.Error:
			for _, address := range e.Addresses {
				add(address)
			}
		case *net.DNSError:
			add(e.Name)
			add(e.Server)
		case *net.OpError:
			for _, a := range []net.Addr{e.Addr, e.Source} {
				if a != nil {
					add(a.String())
				}
			}
		case *url.Error:
			add(e.URL)
		case x509.HostnameError:
			add(e.Host)
			if e.Certificate != nil {
				hosts = append(hosts, e.Certificate.DNSNames...)
				for _, ip := range e.Certificate.IPAddresses {
					hosts = append(hosts, ip.String())
				}
			}
		}
	})
	slices.SortFunc(hosts, func(a, b string) int { return len(b) - len(a) })
	return slices.DeleteFunc(slices.Compact(hosts), func(h string) bool { return h == "" })
}

// each visits an error and its causes.
func each(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			each(e, visit)
		}
	}
	each(errors.Unwrap(err), visit)
}
