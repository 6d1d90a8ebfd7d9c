package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"mylm/tools"
	"mylm/tools/web"
)

// call runs the tool as an engine does.
func call(t *testing.T, o web.Options, url string) tools.Outcome {
	t.Helper()
	return callCtx(t.Context(), t, o, url)
}

func callCtx(ctx context.Context, t *testing.T, o web.Options, url string) tools.Outcome {
	t.Helper()
	fetch, err := web.New(o)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(fetch)
	if err != nil {
		t.Fatal(err)
	}
	args, _ := json.Marshal(map[string]string{"url": url})
	inv, err := registry.Prepare(web.Name, args)
	if err != nil {
		t.Fatal(err)
	}
	if inv.Effect != tools.Network {
		t.Errorf("the effect is %v", inv.Effect)
	}
	return inv.Run(ctx, 0)
}

// internet is a world in which names have the given addresses, in turns if
// there are several, and every connection leads to one server.
type internet struct {
	t         *testing.T
	names     map[string][]string
	asked     map[string]int
	server    *httptest.Server
	connected atomic.Int64
}

func newInternet(t *testing.T, names map[string][]string, h http.HandlerFunc) *internet {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &internet{t: t, names: names, asked: map[string]int{}, server: s}
}

func (i *internet) options() web.Options { return web.Options{Resolve: i.resolve, Dial: i.dial} }

func (i *internet) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	list := i.names[host]
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	answer := list[min(i.asked[host], len(list)-1)]
	i.asked[host]++
	var out []netip.Addr
	for a := range strings.SplitSeq(answer, " ") {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

func (i *internet) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	i.connected.Add(1)
	return new(net.Dialer).DialContext(ctx, network, i.server.Listener.Addr().String())
}

// forbidden are addresses that are never connected to, each as a URL has it.
var forbidden = map[string]string{
	"loopback":          "127.0.0.1",
	"loopback, other":   "127.8.9.10",
	"loopback, IPv6":    "[::1]",
	"mapped loopback":   "[::ffff:127.0.0.1]",
	"mapped, in hex":    "[::ffff:7f00:1]",
	"compatible":        "[::127.0.0.1]",
	"this network":      "0.0.0.0",
	"this network, 2":   "0.1.2.3",
	"unspecified":       "[::]",
	"metadata":          "169.254.169.254",
	"metadata, mapped":  "[::ffff:169.254.169.254]",
	"metadata of AWS":   "[fd00:ec2::254]",
	"metadata, Alibaba": "100.100.100.200",
	"metadata, Oracle":  "192.0.0.192",
	"Azure":             "168.63.129.16",
	"private 10":        "10.0.0.1",
	"private 172":       "172.31.255.255",
	"private 192":       "192.168.1.1",
	"CGNAT":             "100.64.0.1",
	"link-local":        "[fe80::1]",
	"ULA":               "[fc00::1]",
	"site-local":        "[fec0::1]",
	"NAT64, private":    "[64:ff9b::10.0.0.1]",
	"NAT64, loopback":   "[64:ff9b::7f00:1]",
	"NAT64, local":      "[64:ff9b:1::1]",
	"6to4, private":     "[2002:0a00:0001::1]",
	"6to4, public":      "[2002:0808:0808::1]",
	"Teredo":            "[2001::1]",
	"multicast":         "224.0.0.1",
	"multicast, IPv6":   "[ff02::1]",
	"broadcast":         "255.255.255.255",
	"reserved":          "240.0.0.1",
	"documentation":     "192.0.2.1",
	"documentation 2":   "198.51.100.7",
	"documentation 3":   "203.0.113.9",
	"documentation, 6":  "[2001:db8::1]",
	"documentation, 62": "[3fff::1]",
	"benchmarks":        "198.18.0.1",
	"discard":           "[100::1]",
	"segment routing":   "[5f00::1]",
	"6to4 relay":        "192.88.99.1",
	"trailing dot":      "127.0.0.1.",
	"full width":        "１２７.0.0.1",
	"ideographic stop":  "127。0。0。1",
	"decimal":           "2130706433",
	"octal":             "0177.0.0.1",
	"hex":               "0x7f.0.0.1",
	"hex in one":        "0x7f000001",
	"short":             "127.1",
	"leading zeros":     "127.000.000.001",
	"zone":              "[fe80::1%25lo]",
	"name":              "inside.test",
	"name with a dot":   "inside.test.",
	"capitals":          "INSIDE.TEST",
	"one of two":        "both.test",
}

var names = map[string][]string{
	"inside.test":  {"10.1.2.3"},
	"both.test":    {"93.184.215.14 127.0.0.1"},
	"outside.test": {"93.184.215.14"},
}

func TestForbiddenAddresses(t *testing.T) {
	for name, host := range forbidden {
		t.Run(name, func(t *testing.T) {
			world := newInternet(t, names, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("secret")) })
			o := call(t, world.options(), "http://"+host+"/latest/meta-data/")
			if o.Success() || strings.Contains(o.Body(), "secret") || world.connected.Load() != 0 {
				t.Errorf("it was fetched: %q, %d connections", o.Body(), world.connected.Load())
			}
		})
		t.Run(name+", redirect", func(t *testing.T) {
			world := newInternet(t, names, func(w http.ResponseWriter, r *http.Request) {
				if r.Host != "outside.test" {
					w.Write([]byte("secret"))
					return
				}
				w.Header().Set("Location", "http://"+host+"/")
				w.WriteHeader(http.StatusFound)
			})
			o := call(t, world.options(), "http://outside.test/")
			if strings.Contains(o.Body(), "secret") || world.connected.Load() != 1 {
				t.Errorf("it was followed: %q, %d connections", o.Body(), world.connected.Load())
			}
		})
	}
}

// A server on this machine may have a public address, behind which services listen
// that trust who is here.
func TestOwnAddresses(t *testing.T) {
	var own []net.Addr
	for _, a := range []string{"93.184.215.14/24", "2606:4700::1111/64"} {
		ip, network, _ := net.ParseCIDR(a)
		own = append(own, &net.IPNet{IP: ip, Mask: network.Mask})
	}
	defer web.Interfaces(own...)()
	world := newInternet(t, map[string][]string{"here.test": {"93.184.215.14"}, "here6.test": {"2606:4700::1111"}, "there.test": {"93.184.215.15"}},
		func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("secret")) })
	for _, host := range []string{"here.test", "here6.test", "93.184.215.14", "[::ffff:93.184.215.14]", "[64:ff9b::5db8:d70e]", "[2606:4700::1111]"} {
		o := call(t, world.options(), "http://"+host+"/")
		if !strings.Contains(o.Error, "is an address for this machine") || world.connected.Load() != 0 {
			t.Errorf("%s: %q", host, o.Body())
		}
	}
	if o := call(t, world.options(), "http://there.test/"); o.Body() != "secret" {
		t.Errorf("a neighbour: %q", o.Body())
	}
	allowed := world.options()
	allowed.AllowHosts = []string{"here.test"}
	if o := call(t, allowed, "http://here.test/"); o.Body() != "secret" {
		t.Errorf("an allowed host: %q", o.Body())
	}
}

// With nothing of the test's own between, the system's connection is refused.
func TestDialerRefuses(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("secret")) }))
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		o := call(t, web.Options{}, "http://"+host+":"+port+"/")
		if o.Success() || !strings.Contains(o.Error, "public internet") {
			t.Errorf("%s: %q", host, o.Body())
		}
	}
}

func TestPublicAddresses(t *testing.T) {
	for _, host := range []string{"93.184.215.14", "[2606:4700::1111]", "[::ffff:93.184.215.14]", "[64:ff9b::5db8:d70e]", "outside.test", "outside.test.", "Outside.Test:8080", "xn--mnchen-3ya.test", "münchen.test", "under_score.test"} {
		world := newInternet(t, map[string][]string{"outside.test": {"93.184.215.14"}, "xn--mnchen-3ya.test": {"2606:4700::1111"}, "under_score.test": {"1.1.1.1"}},
			func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) })
		o := call(t, world.options(), "http://"+host+"/")
		if o.Body() != "hello" || o.Origin != tools.Web {
			t.Errorf("%s: %q of %q", host, o.Body(), o.Origin)
		}
	}
}

// A name that resolves to something else the second time is checked the second
// time, and connected to as it was checked.
func TestRebinding(t *testing.T) {
	world := newInternet(t, map[string][]string{"turns.test": {"93.184.215.14", "127.0.0.1"}}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/again", http.StatusFound)
			return
		}
		w.Write([]byte("secret"))
	})
	o := call(t, world.options(), "http://turns.test/")
	if o.Success() || !strings.Contains(o.Error, "127.0.0.1 is an address for this machine") || world.asked["turns.test"] != 2 {
		t.Errorf("%q after %d questions", o.Body(), world.asked["turns.test"])
	}
}

func TestRefusedURLs(t *testing.T) {
	for url, want := range map[string]string{
		"":                                    "empty",
		"example.com":                         "https://",
		"//example.com/":                      "no scheme",
		"ftp://example.com/":                  "only http and https",
		"file:///etc/passwd":                  "only http and https",
		"gopher://example.com":                "only http and https",
		"javascript:alert(1)":                 "only http and https",
		"http://":                             "no host",
		"http:///path":                        "no host",
		"https://user:pw@outside.test/":       "password",
		"https://outside.test@inside.test/":   "password",
		"http://outside.test:99999/":          "port",
		"http://outside.test:0/":              "port",
		"http://outside.test:22/":             "only 80 and 443",
		"http://outside.test:25/":             "only 80 and 443",
		"http://exa mple.test/":               "cannot be read",
		"http://127.0.0.%31/":                 "cannot be read",
		"http://[::1/":                        "cannot be read",
		"http://a..b/":                        "no name",
		"http://nowhere.test/":                "there is no host nowhere.test",
		"http://" + strings.Repeat("a", 9000): "at most 8000",
	} {
		world := newInternet(t, names, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("secret")) })
		o := call(t, world.options(), url)
		if o.Success() || !strings.Contains(o.Error, want) || world.connected.Load() != 0 || len(o.Error) > 300 {
			t.Errorf("%.60s: %q, want %q", url, o.Error, want)
		}
	}
}

func TestAllowHosts(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("local")) }))
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	for _, tt := range []struct {
		allow, host string
		ok          bool
	}{
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1:" + port, "127.0.0.1", true},
		{"127.0.0.1.", "127.0.0.1", true},
		{"LocalHost", "localhost", true},
		{"localhost:" + port, "localhost.", true},
		{"127.0.0.1:1", "127.0.0.1", false},
		{"localhost", "127.0.0.1", false},
		{"127.0.0.1", "localhost", false},
		{"127.0.0.2", "127.0.0.1", false},
		{"::1", "127.0.0.1", false},
		{"[::1]:" + port, "127.0.0.1", false},
	} {
		o := call(t, web.Options{AllowHosts: []string{tt.allow}}, "http://"+tt.host+":"+port)
		if o.Success() != tt.ok {
			t.Errorf("%s allowed, %s: %q", tt.allow, tt.host, o.Body())
		}
	}
	for _, bad := range []string{"", " ", "http://localhost", "localhost/docs", "*.internal", "user@host", "localhost:", "localhost:0", "2130706433", "[::1", "a b"} {
		if _, err := web.New(web.Options{AllowHosts: []string{bad}}); err == nil || !strings.Contains(err.Error(), "localhost:6060") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestHostAndPreview(t *testing.T) {
	fetch, err := web.New(web.Options{AllowHosts: []string{"127.0.0.1:8080"}})
	if err != nil {
		t.Fatal(err)
	}
	const refused = "\n(this is no address of the public internet: it is refused, whatever is answered, unless the host was allowed before)"
	for url, want := range map[string][2]string{
		"http://127.0.0.1:8080/":       {"127.0.0.1:8080", "http://127.0.0.1:8080/"},
		"http://127.0.0.1:8081/":       {"127.0.0.1:8081", "http://127.0.0.1:8081/" + refused},
		"http://localhost/":            {"localhost", "http://localhost/" + refused},
		"https://Example.com/a?b#c":    {"example.com", "https://example.com/a?b#c"},
		"https://example.com:443":      {"example.com", "https://example.com"},
		"http://example.com:8080/":     {"example.com:8080", "http://example.com:8080/"},
		"http://[2001:0db8::1]:80/":    {"[2001:db8::1]", "http://[2001:db8::1]/" + refused},
		"https://еxample.com/":         {"xn--xample-2of.com", "https://xn--xample-2of.com/\n(xn--xample-2of.com is written еxample.com)"},
		"https://xn--mnchen-3ya.test/": {"xn--mnchen-3ya.test", "https://xn--mnchen-3ya.test/\n(xn--mnchen-3ya.test is written münchen.test)"},
		"ftp://example.com/":           {"", "ftp://example.com/"},
	} {
		args, _ := json.Marshal(map[string]string{"url": url})
		host, err := web.Host(args)
		if host != want[0] || (err != nil) != (want[0] == "") {
			t.Errorf("Host(%s) = %q, %v, want %q", url, host, err, want[0])
		}
		if got := fetch.Preview(args); got != want[1] {
			t.Errorf("Preview(%s) = %q, want %q", url, got, want[1])
		}
	}
	if _, err := web.Host(json.RawMessage(`{"url": 1}`)); err == nil {
		t.Error("no error for arguments that do not fit")
	}
	if _, err := web.New(web.Options{MaxBytes: -1}); err == nil {
		t.Error("no error for a negative limit")
	}
}

// A host that does not answer at one of its addresses is asked at the next.
func TestSecondAddress(t *testing.T) {
	world := newInternet(t, map[string][]string{"two.test": {"2606:4700::1 93.184.215.14"}}, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) })
	o := world.options()
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "[2606") {
			return nil, errors.New("no route")
		}
		return world.dial(ctx, network, address)
	}
	if got := call(t, o, "http://two.test/"); got.Body() != "hello" {
		t.Errorf("%q", got.Body())
	}
}
