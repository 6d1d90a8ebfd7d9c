package langchain_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"mylm/providers"
	"mylm/providers/langchain"
)

// TestOpenEnd proves that a reply whose reason to end has come is whole, though
// the connection stays open or breaks.
func TestOpenEnd(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(*fake, *http.Request){
		"open":  func(f *fake, r *http.Request) { f.hang(r) },
		"reset": func(*fake, *http.Request) { abort() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var f *fake
			f = newFake(t, openAIAPI, func(w http.ResponseWriter, r *http.Request) {
				f.fakeAPI.stream(w, say("yes"), stopped)
				then(f, r)
			})
			text, _, last, err := generate(t, f.model(t), providers.Request{})
			if text != "yes" || last != ended || err != nil {
				t.Errorf("%q, %+v, %v", text, last, err)
			}
		})
	}
}

// TestEncodings is for what compresses though nobody asked.
func TestEncodings(t *testing.T) {
	zipped := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(status)
			z := gzip.NewWriter(w)
			defer z.Close()
			_, _ = z.Write([]byte(body))
		}
	}
	s := openAIAPI
	f := newFake(t, s, zipped(200, s.kind, say("yes")+stopped))
	if text, _, last, err := generate(t, f.model(t), providers.Request{}); text != "yes" || last != ended || err != nil {
		t.Errorf("%q, %+v, %v", text, last, err)
	}
	f.answer = zipped(401, "application/json", s.refuse(401, "x", "who are you"))
	_, _, _, err := generate(t, f.model(t), providers.Request{})
	checkError(t, err, providers.Error{Kind: providers.Auth, Status: 401}, "who are you", "")
	reply := say("yes") + stopped
	pack := func(coding string, text string) string {
		var b bytes.Buffer
		w := map[string]io.WriteCloser{"gzip": gzip.NewWriter(&b), "zlib": zlib.NewWriter(&b)}[coding]
		if w == nil {
			w, _ = flate.NewWriter(&b, 9)
		}
		io.WriteString(w, text)
		w.Close()
		return b.String()
	}
	for name, tt := range map[string]struct{ header, body string }{
		"deflate":              {"deflate", pack("zlib", reply)},
		"deflate, bare":        {"deflate", pack("", reply)},
		"twice":                {"deflate, gzip", pack("gzip", pack("zlib", reply))},
		"identity beside it":   {"Identity , GZIP", pack("gzip", reply)},
		"a header that is old": {"gzip", reply},
		"the same":             {"deflate", reply},
	} {
		f.answer = func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", tt.header)
			answers(200, s.kind, tt.body)(w, r)
		}
		if text, _, last, err := generate(t, f.model(t), providers.Request{}); text != "yes" || last != ended || err != nil {
			t.Errorf("%s: %q, %+v, %v", name, text, last, err)
		}
	}
	f.answer = after("Content-Encoding", "gzip", func(s fakeAPI) http.HandlerFunc { return answers(200, s.kind, "") })(s)
	_, _, _, err = generate(t, f.model(t), providers.Request{})
	checkError(t, err, providers.Error{Kind: providers.Interrupted}, "without a sign that it is whole", "")
	f.answer = after("Content-Encoding", "br", bare(200, "x"))(s)
	_, _, _, err = generate(t, f.model(t), providers.Request{})
	checkError(t, err, providers.Error{Kind: providers.Unreachable, Status: 200, Permanent: true}, `"br"`, "proxy")
	f.answer = answers(500, "application/octet-stream", "\x00\xffsecret")
	_, _, _, err = generate(t, f.model(t), providers.Request{})
	checkError(t, err, providers.Error{Kind: providers.ServerFault, Status: 500}, "500 Internal", "")
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("bytes are shown: %v", err)
	}
}

// TestCircle is for a server that sends requests on to itself.
func TestCircle(t *testing.T) {
	f := newFake(t, openAIAPI, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.String(), http.StatusTemporaryRedirect)
	})
	_, _, _, err := generate(t, f.model(t), providers.Request{})
	checkError(t, err, providers.Error{Kind: providers.Unreachable, Status: 307, Permanent: true}, "to itself", "check it in")
}

// TestKeyInHeader proves that the hint names what went out.
func TestKeyInHeader(t *testing.T) {
	f := newFake(t, openAIAPI, openAIAPI.refuses(401, "x", "no"))
	m := open(t, "openai", langchain.Config{Model: "m", BaseURL: f.URL, Key: testKey, Headers: map[string]string{"authorization": "Bearer other"}})
	_, _, _, err := generate(t, m, providers.Request{})
	checkError(t, err, providers.Error{Kind: providers.Auth, Status: 401}, "", "header Authorization")
}

// TestProxy asks in a process of its own, since net/http reads the variables
// once.
func TestProxy(t *testing.T) {
	if os.Getenv("MYLM_TEST_PROXIED") != "" {
		proxied(t)
		return
	}
	refuses := httptest.NewServer(answers(403, "text/plain", "no"))
	defer refuses.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	child := exec.Command(os.Args[0], "-test.run=^TestProxy$", "-test.v")
	child.Env = append(os.Environ(), "MYLM_TEST_PROXIED=1", "NO_PROXY=", "no_proxy=", "http_proxy=", "https_proxy=",
		"HTTP_PROXY=http://user:hunter2@"+strings.TrimPrefix(gone.URL, "http://"), "HTTPS_PROXY="+refuses.URL)
	if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

func proxied(t *testing.T) {
	for _, tt := range []struct{ base, says, hints string }{
		{"http://model.example/v1", "the proxy 127.0.0.1:", "Check HTTP_PROXY"},
		{"https://model.example/v1", "refuses connections to model.example", "Check HTTPS_PROXY"},
	} {
		_, _, _, err := generate(t, open(t, "openai", langchain.Config{Model: "m", BaseURL: tt.base, Key: testKey}), providers.Request{})
		checkError(t, err, providers.Error{Kind: providers.Unreachable, Permanent: true}, tt.says, tt.hints)
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the proxy's password is shown: %v", err)
		}
	}
}
