package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"
)

const (
	// maxRedirects is enough for http to https, a missing slash, a language and
	// a version in a row.
	maxRedirects = 5

	// maxHeader bounds the header of an answer. Servers commonly accept 8 KiB
	// of a client, and send less.
	maxHeader = 64 << 10

	// addressTimeout bounds the attempt at one address of several, so that a broken
	// IPv6 does not use up the time.
	addressTimeout = 5 * time.Second

	// acceptHeader asks for what needs no conversion first.
	acceptHeader = "text/markdown,text/plain;q=0.9,text/html;q=0.8,application/xhtml+xml;q=0.8,application/json;q=0.8,*/*;q=0.5"

	userAgent = "Mozilla/5.0 (compatible; mylm; web_fetch)"
)

// refusal is why something is not fetched. Its text is for the model.
type refusal struct {
	text string
	is   error // may be nil
}

func (r *refusal) Error() string { return r.text }

func (r *refusal) Unwrap() error { return r.is }

func refuse(format string, args ...any) error { return &refusal{text: fmt.Sprintf(format, args...)} }

// ErrNotPublic is the error of a call to a host that is none of the public internet, and
// that AllowHosts does not allow.
var ErrNotPublic = errors.New("only pages of the public internet are fetched")

// page is an answer as it came.
type page struct {
	final     *target // after redirects
	elsewhere string  // where a redirect to another host leads; the rest is empty then
	status    int
	mediaType string // as the server declares it
	length    int64  // as the server declares it; -1 if it does not
	body      []byte // at most MaxBytes
	more      string // why there is more than body, "" if there is not
}

func (p *page) statusText() string {
	if text := http.StatusText(p.status); text != "" {
		return strconv.Itoa(p.status) + " " + text
	}
	return strconv.Itoa(p.status)
}

// fetch gets the page at t, following redirects on its host.
func (f *fetcher) fetch(ctx context.Context, t *target) (*page, error) {
	p := &page{final: t}
	transport := &http.Transport{ // Proxy is nil: the environment's would be asked to go where this does not
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return f.connect(ctx, network, p.final)
		},
		TLSClientConfig:        &tls.Config{RootCAs: f.RootCAs},
		MaxResponseHeaderBytes: maxHeader,
		DisableKeepAlives:      true, // nothing stays open behind a call
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		r.Header.Del("Referer")
		return p.redirect(r.URL, len(via))
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", acceptHeader)
	response, err := client.Do(request)
	if err != nil {
		var tried *url.Error
		if errors.As(err, &tried) {
			err = tried.Err // without the address, which the model knows
		}
		return nil, err
	}
	defer response.Body.Close()
	if p.elsewhere != "" {
		return p, nil
	}
	p.status, p.mediaType, p.length = response.StatusCode, response.Header.Get("Content-Type"), response.ContentLength
	return p, f.readBody(ctx, p, response.Body)
}

// redirect decides about the next request, to u.
func (p *page) redirect(u *url.URL, hops int) error {
	next, err := newTarget(u)
	switch {
	case err != nil:
		return refuse("%s redirects to %s, which is not fetched: %v", p.final.name(), u.Redacted(), err)
	case next.ip.IsValid() && next.host != p.final.host && notPublic(next.ip) != "":
		return refuse("%s redirects to %s, which is an address for %s; that is not followed", p.final.name(), next.host, notPublic(next.ip))
	case p.final.url.Scheme == "https" && next.url.Scheme == "http":
		return refuse("%s redirects from https to %s, which is not encrypted; fetch that address if that is intended", p.final.name(), next.url)
	case !p.final.sameHost(next):
		p.elsewhere = next.url.String()
		return http.ErrUseLastResponse
	case hops > maxRedirects:
		return refuse("%s redirects more than %d times; try another page", p.final.name(), maxRedirects)
	}
	u.Host = next.url.Host
	if next.url.Fragment == "" {
		next.url.Fragment, next.url.RawFragment = p.final.url.Fragment, p.final.url.RawFragment
	}
	p.final = next
	return nil
}

// readBody reads as much as is wanted. What came before the server became too
// slow or went away is kept.
func (f *fetcher) readBody(ctx context.Context, p *page, body io.Reader) error {
	var err error
	p.body, err = io.ReadAll(io.LimitReader(body, int64(f.MaxBytes)+1))
	switch slow := context.Cause(ctx) == errSlow; {
	case len(p.body) > f.MaxBytes:
		p.body = p.body[:f.MaxBytes]
		p.more = fmt.Sprintf("only its first %d bytes were read", f.MaxBytes)
	case err == nil:
	case len(p.body) == 0 || ctx.Err() != nil && !slow:
		return err
	case slow:
		p.more = fmt.Sprintf("no more came within %v", f.Timeout)
	default:
		p.more = "the rest could not be read: " + err.Error()
	}
	return nil
}

// connect resolves the host of t and connects to one of its addresses, all of
// which have to be public.
func (f *fetcher) connect(ctx context.Context, network string, t *target) (net.Conn, error) {
	addresses, err := f.resolve(ctx, t)
	if err != nil {
		return nil, err
	}
	free := f.allows(t)
	if err := t.checkPort(); err != nil && !free {
		return nil, err
	}
	for _, a := range addresses {
		if what := notPublic(a); what != "" && !free {
			return nil, &refusal{fmt.Sprintf("%s is not fetched: %s is an address for %s, and %v", t.name(), a, what, ErrNotPublic), ErrNotPublic}
		}
	}
	dial := f.Dial
	if dial == nil {
		dial = dialer(free).DialContext
	}
	var last error
	for _, a := range addresses {
		one, cancel := context.WithTimeout(ctx, addressTimeout)
		conn, err := dial(one, network, net.JoinHostPort(a.String(), t.port))
		cancel()
		if err == nil {
			// Compressed, a page is hardly ever longer than read; a stream that decompresses to nothing is endless.
			return &metered{Conn: conn, left: 2*int64(f.MaxBytes) + 1<<20}, nil
		}
		if last == nil {
			last = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, last
}

func (f *fetcher) resolve(ctx context.Context, t *target) ([]netip.Addr, error) {
	if t.ip.IsValid() {
		return []netip.Addr{t.ip}, nil
	}
	resolve := f.Resolve
	if resolve == nil {
		resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	addresses, err := resolve(ctx, t.host)
	if err == nil && len(addresses) == 0 {
		err = &net.DNSError{Err: "no address", Name: t.host, IsNotFound: true}
	}
	return addresses, err
}

// checkPort keeps requests from services that speak something else: the ports
// that systems reserve are for the web only where it is.
func (t *target) checkPort() error {
	if t.port == "80" || t.port == "443" || len(t.port) > 4 || len(t.port) == 4 && t.port >= "1024" {
		return nil
	}
	return refuse("%s is not fetched: of the ports below 1024 only 80 and 443 are for the web", t.name())
}

// dialer makes plain connections. Where not all addresses are free it looks at
// the one that the system is about to connect to, however it was chosen.
func dialer(free bool) *net.Dialer {
	d := &net.Dialer{}
	if free {
		return d
	}
	d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if what := notPublic(to.Addr()); what != "" {
			return refuse("%s is an address for %s, and only pages of the public internet are fetched", to.Addr(), what)
		}
		return nil
	}
	return d
}

// metered is a connection that ends after a number of bytes.
type metered struct {
	net.Conn
	left int64
}

// Read implements net.Conn.
func (m *metered) Read(b []byte) (int, error) {
	if m.left <= 0 {
		return 0, errors.New("more came than any page needs")
	}
	n, err := m.Conn.Read(b[:min(int64(len(b)), m.left)])
	m.left -= int64(n)
	return n, err
}
