package serve

import (
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// theAddress stands for where the backend is: that is for who runs the server.
const theAddress = "[its address]"

// address finds URLs, hosts with ports, and addresses of IP. The name of a model with a tag,
// a time and a version are none.
var address = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>)\]]+[^\s"'<>)\].,:;!?]|\[[0-9a-f:.%]*:[0-9a-f:.%]*\](?::\d{1,5})?|` +
		`\b(?:\d{1,3}(?:\.\d{1,3}){3}|localhost|[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,})(?::\d{1,5}\b)|\b\d{1,3}(?:\.\d{1,3}){3}\b`)
})

// sources end the names of files in which servers report a line, as of a failed assertion.
var sources = []string{".cpp", ".cu", ".cc", ".hpp", ".go", ".py", ".rs"}

// withoutAddresses is what an error of a backend says, without the addresses in it.
func withoutAddresses(text string, err error) string {
	text = address().ReplaceAllStringFunc(text, func(found string) string {
		if name, _, port := strings.Cut(found, ":"); port && slices.Contains(sources, path.Ext(name)) {
			return found
		}
		return theAddress
	})
	for _, name := range hostsIn(err) {
		text = regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).ReplaceAllString(text, theAddress)
	}
	return text
}

// hostsIn are the hosts that the causes of an error name, the longest first.
func hostsIn(err error) (hosts []string) {
	add := func(host string) {
		name, _, cut := net.SplitHostPort(host)
		if hosts = append(hosts, host); cut == nil {
			hosts = append(hosts, name)
		}
	}
	var dns *net.DNSError
	var op *net.OpError
	var web *url.Error
	var name x509.HostnameError
	if errors.As(err, &dns) {
		add(dns.Name)
		add(dns.Server)
	}
	if errors.As(err, &op) && op.Addr != nil {
		add(op.Addr.String())
	}
	if errors.As(err, &name) {
		add(name.Host)
		if name.Certificate != nil {
			hosts = append(hosts, name.Certificate.DNSNames...)
		}
	}
	if errors.As(err, &web) {
		if u, err := url.Parse(web.URL); err == nil {
			add(u.Host)
		}
	}
	slices.SortFunc(hosts, func(a, b string) int { return len(b) - len(a) })
	return slices.DeleteFunc(hosts, func(h string) bool { return h == "" })
}
