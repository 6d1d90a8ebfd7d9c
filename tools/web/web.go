package web

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"mylm/tools"
)

// Name is the name of the tool.
const Name = "web_fetch"

// Defaults of Options. 16 KiB are about 4,000 tokens, half of a window of
// 8,192; 20 s leave an engine that allows a tool 30 s the time to report what
// arrived.
const (
	DefaultMaxBytes  = 2 << 20
	DefaultMaxOutput = 16 << 10
	DefaultTimeout   = 20 * time.Second
)

// Options set what may be fetched, and how much of it. The zero value is useful.
type Options struct {
	// AllowHosts are fetched whatever their addresses are: HOST with any port,
	// or HOST:PORT. For documentation on this machine or in the local network.
	AllowHosts []string

	MaxBytes  int           // bytes read of a page, after decompression; 0: DefaultMaxBytes
	MaxOutput int           // bytes shown, not counting the line that says what was cut; 0: DefaultMaxOutput
	Timeout   time.Duration // of one call, redirects included; 0: DefaultTimeout

	// RootCAs are whom to trust about https. Nil: the system's.
	RootCAs *x509.CertPool

	// Resolve finds the addresses of a name. Nil: the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)

	// Dial connects to an address, an IP and a port, which was checked. Nil: a
	// plain connection, which checks it once more.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

type input struct {
	URL string `json:"url" jsonschema:"with https://; a #fragment shows it from there"`
}

// New makes the tool web_fetch. It is an error if a limit is negative or one of
// AllowHosts is not a host. The tool may be called from several goroutines at
// once; nothing is made before the first call.
//
// A status from 400 on is an error, returned together with the server's
// response. A redirect to another host is a result that names the address.
func New(o Options) (*tools.Tool, error) {
	if o.MaxBytes < 0 || o.MaxOutput < 0 || o.Timeout < 0 {
		return nil, fmt.Errorf("%s: MaxBytes %d, MaxOutput %d, Timeout %v: each must be 0 (for the default) or more", Name, o.MaxBytes, o.MaxOutput, o.Timeout)
	}
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	o.MaxOutput = cmp.Or(o.MaxOutput, DefaultMaxOutput)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	f := &fetcher{Options: o}
	for _, entry := range o.AllowHosts {
		a, err := parseAllowed(entry)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Name, err)
		}
		f.allow = append(f.allow, a)
	}
	t, err := tools.New(Name, "Fetch a web page as Markdown or text.", tools.Network, f.run)
	if err != nil {
		return nil, err
	}
	t.Preview = f.preview
	return t, nil
}

// fetcher is a checked Options.
type fetcher struct {
	Options
	allow []allowed
}

// errSlow is the cause of a context that Timeout ended.
var errSlow = errors.New("the server was too slow")

func (f *fetcher) run(ctx context.Context, in input) (tools.Result, error) {
	t, err := parseTarget(in.URL)
	if err != nil {
		return tools.Result{}, err
	}
	timed, cancel := tools.WithTimeout(ctx, f.Timeout, errSlow)
	defer cancel()
	r, err := f.fetch(timed, t)
	if err != nil {
		return tools.Result{}, f.explain(timed, t, err)
	}
	if r.elsewhere != "" {
		text := fmt.Sprintf("%s has moved to another host, and was not followed there: %s\nCall %s with that address if it is what you want.", t.url, r.elsewhere, Name)
		return tools.Result{Text: text, Origin: tools.Web}, nil
	}
	text, cut, gap, err := f.read(ctx, r)
	if err != nil {
		return tools.Result{}, f.explain(ctx, t, err)
	}
	if r.final.url.String() != t.url.String() {
		text = fmt.Sprintf("(redirected to %s)\n%s", r.final.url, text)
	}
	result := tools.Result{Text: text, Origin: tools.Web, Truncated: cut, Gap: gap}
	if r.status >= 400 {
		return result, fmt.Errorf("the server answered %s", r.statusText())
	}
	return result, nil
}

// explain describes what went wrong, for a model that can only choose another address.
func (f *fetcher) explain(ctx context.Context, t *target, err error) error {
	var refused *refusal
	var dns *net.DNSError
	switch {
	case errors.As(err, &refused):
		return refused
	case context.Cause(ctx) == errSlow:
		return fmt.Errorf("%s did not answer within %v; try again later, or another page", t.name(), f.Timeout)
	case ctx.Err() != nil:
		return fmt.Errorf("fetching %s was canceled: %w", t.name(), context.Cause(ctx))
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("there is no host %s; check its spelling", t.host)
	}
	return fmt.Errorf("%s could not be fetched: %w", t.name(), err)
}
