package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"mylm/tools/web"
)

// local serves h, and allows it.
func local(t *testing.T, h http.HandlerFunc) (url string, o web.Options) {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL, web.Options{AllowHosts: []string{s.Listener.Addr().String()}}
}

func TestRequest(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "http://127.0.0.1:1")
	world := newInternet(t, names, func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "c", Value: "1"})
		if r.URL.Path != "/page" {
			http.Redirect(w, r, "/page?q=1", http.StatusMovedPermanently)
			return
		}
		for _, name := range []string{"Cookie", "Referer", "Authorization"} {
			if v := r.Header.Get(name); v != "" {
				t.Errorf("%s was sent: %s", name, v)
			}
		}
		if strings.Contains(r.RequestURI, "://") {
			t.Errorf("a proxy was asked for %s", r.RequestURI)
		}
		if r.Method != http.MethodGet || !strings.Contains(r.UserAgent(), "mylm") {
			t.Errorf("%s by %s", r.Method, r.UserAgent())
		}
		w.Write([]byte("the page"))
	})
	o := call(t, world.options(), "http://outside.test/old#part")
	if o.Body() != "(redirected to http://outside.test/page?q=1#part)\nthe page" {
		t.Errorf("%q", o.Body())
	}
}

func TestRedirects(t *testing.T) {
	for name, tt := range map[string]struct{ location, want string }{
		"another host":    {"https://other.test/x", "has moved to another host, and was not followed there: https://other.test/x\nCall web_fetch"},
		"another port":    {"http://outside.test:8080/x", "another host"},
		"to https":        {"https://outside.test/x", "could not be fetched"}, // the server speaks no TLS, so it was tried
		"for ever":        {"/", "redirects more than 5 times"},
		"another scheme":  {"file:///etc/passwd", "only http and https"},
		"a password":      {"http://u:p@outside.test/", "password"},
		"a private host":  {"http://10.0.0.1/", "an address for a private network"},
		"without a place": {"", "302 Found"},
	} {
		t.Run(name, func(t *testing.T) {
			world := newInternet(t, names, func(w http.ResponseWriter, _ *http.Request) {
				if tt.location != "" {
					w.Header().Set("Location", tt.location)
				}
				w.WriteHeader(http.StatusFound)
			})
			o := call(t, world.options(), "http://outside.test/")
			if !strings.Contains(o.Body(), tt.want) && name != "without a place" || strings.Contains(o.Body(), "u:p@") {
				t.Errorf("%q, want %q", o.Body(), tt.want)
			}
			if n := world.connected.Load(); n > 6 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

func TestNoDowngrade(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/plain" {
			w.Header().Set("Location", "http://"+r.Host+"/x")
			w.WriteHeader(http.StatusFound)
			return
		}
		w.Write([]byte("over TLS"))
	}))
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	o := web.Options{AllowHosts: []string{"127.0.0.1"}, RootCAs: roots}
	if got := call(t, o, s.URL); got.Body() != "over TLS" {
		t.Errorf("%q", got.Body())
	}
	if got := call(t, o, s.URL+"/plain"); got.Success() || !strings.Contains(got.Error, "from https to http://127.0.0.1") {
		t.Errorf("%q", got.Body())
	}
	o.RootCAs = nil
	if got := call(t, o, s.URL); got.Success() || !strings.Contains(got.Error, "certificate") {
		t.Errorf("an unknown certificate: %q", got.Body())
	}
}

func TestStatus(t *testing.T) {
	url, o := local(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such page", http.StatusNotFound) })
	if got := call(t, o, url); got.Body() != "the server answered 404 Not Found\nno such page" {
		t.Errorf("%q", got.Body())
	}
}

// zipped is a body that decompresses to n bytes.
func zipped(n int) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	block := bytes.Repeat([]byte("bomb "), 1<<16)
	for ; n > 0; n -= len(block) {
		z.Write(block)
	}
	z.Close()
	return b.Bytes()
}

// flush writes text and sends it, and reports whether somebody is there.
func flush(w http.ResponseWriter, text string) bool {
	_, err := w.Write([]byte(text))
	return err == nil && http.NewResponseController(w).Flush() == nil
}

func TestBounds(t *testing.T) {
	bomb := zipped(16 << 20)
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"endless body": {func(w http.ResponseWriter, _ *http.Request) {
			for flush(w, strings.Repeat("endless ", 1000)) {
			}
		}, "only its first 2097152 bytes were read]"},
		"gzip bomb": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/plain")
			w.Write(bomb)
		}, "only its first 2097152 bytes were read]"},
		"gzip of nothing": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/plain")
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			z.Write([]byte("begun"))
			for range 1000 {
				z.Flush() // an empty block
			}
			for flush(w, b.String()) {
				b.Reset()
				for range 1000 {
					z.Flush()
				}
			}
		}, "more came than any page needs"},
		"broken off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			flush(w, "a beginning")
			panic(http.ErrAbortHandler)
		}, "a beginning\n[the page continues: the rest could not be read: "},
		"header bomb": {func(w http.ResponseWriter, _ *http.Request) {
			for i := range 1000 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
			}
		}, "could not be fetched"},
		"gzip that is none": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write([]byte("not compressed"))
		}, "could not be fetched"},
		"one long line": {func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(strings.Repeat("ä", 1<<20))) }, " bytes ...]ä"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, o := local(t, tt.serve)
			got := call(t, o, url)
			if !strings.Contains(got.Body(), tt.want) {
				t.Errorf("%.300q, want %q", got.Body(), tt.want)
			}
			if len(got.Text) > web.DefaultMaxOutput+200 {
				t.Errorf("%d bytes are shown", len(got.Text))
			}
			if got.Success() && !got.Truncated {
				t.Error("it does not count as truncated")
			}
		})
	}
}

// pipes is a listener in memory, so that a bubble's clock goes on while a
// connection waits.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.IPAddr{} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	p <- there
	return here, nil
}

func TestSlowPages(t *testing.T) {
	for begin, want := range map[string]string{
		"a beginning": "a beginning\n[the page continues: no more came within 20s]",
		"":            "did not answer within 20s",
	} {
		synctest.Test(t, func(t *testing.T) {
			connections := make(pipes)
			server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if begin != "" {
					flush(w, begin)
				}
				<-r.Context().Done()
			})}
			go server.Serve(connections)
			got := call(t, web.Options{AllowHosts: []string{"192.0.2.1"}, Dial: connections.dial}, "http://192.0.2.1/")
			if !strings.Contains(got.Body(), want) || got.Success() != got.Truncated {
				t.Errorf("%.300q, truncated %v, want %q", got.Body(), got.Truncated, want)
			}
			close(connections)
			server.Close()
		})
	}
}

// A header that never ends, which net/http would not write.
func TestEndlessHeader(t *testing.T) {
	url, o := local(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, err = conn.Write([]byte("HTTP/1.1 200 OK\r\n"))
		for err == nil {
			_, err = conn.Write([]byte(strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 100)))
		}
	})
	if got := call(t, o, url); got.Success() || !strings.Contains(got.Error, "could not be fetched") {
		t.Errorf("%q", got.Body())
	}
}

// A cancelled call returns, and its connection is closed.
func TestCancel(t *testing.T) {
	begun, gone := make(chan struct{}), make(chan struct{})
	url, o := local(t, func(w http.ResponseWriter, r *http.Request) {
		flush(w, "a beginning")
		close(begun)
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if got := callCtx(ctx, t, o, url); got.Success() || !strings.Contains(got.Error, "cancelled: ") {
		t.Errorf("%q", got.Body())
	}
	<-gone
}
