package ollama_test

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"mylm/providers"
	"mylm/providers/ollama"
)

const overflowNumbers = `{"error":"{\"error\":{\"code\":400,\"message\":\"request (1124 tokens) exceeds the available context size (512 tokens), try increasing it\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":1124,\"n_ctx\":512}}"}`

// TestErrors holds each answer against the error it becomes.
func TestErrors(t *testing.T) {
	tests := []struct {
		name  string
		chat  http.HandlerFunc
		want  providers.Error // Kind, Status, Permanent, RetryAfter, PromptTokens, Window are compared
		says  string          // in the message
		hints string          // in the hint
	}{
		{"model missing", refuses(404, `{"error":"model 'm' not found"}`),
			providers.Error{Kind: providers.ModelMissing, Status: 404}, "not found", "ollama pull m"},
		{"no model name", refuses(400, `{"error":"invalid model name"}`),
			providers.Error{Kind: providers.ModelMissing, Status: 400}, "invalid model name", "ollama pull"},
		{"embedding model", refuses(400, `{"error":"\"embed\" does not support chat"}`),
			providers.Error{Kind: providers.CannotChat, Status: 400}, "does not support chat", "param:model"},
		{"cannot think", refuses(400, `{"error":"\"m\" does not support thinking"}`),
			providers.Error{Kind: providers.BadRequest, Status: 400}, "thinking", "param:think"},
		{"overflow in words", refuses(400, `{"error":"the input length exceeds the context length"}`),
			providers.Error{Kind: providers.Overflow, Status: 400, Window: 8192}, "8192", "param:window"},
		{"overflow in numbers", refuses(400, overflowNumbers),
			providers.Error{Kind: providers.Overflow, Status: 400, PromptTokens: 1124, Window: 512}, "1124 tokens", "param:window"},
		{"overflow in mid-stream", lines(piece("a"), overflowNumbers),
			providers.Error{Kind: providers.Overflow, Status: 400, PromptTokens: 1124, Window: 512}, "512 tokens", "param:window"},
		{"wrong option", refuses(500, `{"error":"option \"num_ctx\" must be of type integer"}`),
			providers.Error{Kind: providers.ServerFault, Status: 500, Permanent: true}, "must be of type integer", ""},
		{"wrong format", refuses(500, `{"error":"invalid format: \"xml\"; expected \"json\" or a valid JSON Schema object"}`),
			providers.Error{Kind: providers.ServerFault, Status: 500, Permanent: true}, "invalid format", ""},
		{"too little memory", refuses(500, `{"error":"model requires more system memory (9 GiB) than is available (2 GiB)"}`),
			providers.Error{Kind: providers.OutOfMemory, Status: 500, Permanent: true}, "9 GiB", "smaller model"},
		{"too little memory on a card", refuses(500, `{"error":"cudaMalloc failed: out of memory"}`),
			providers.Error{Kind: providers.OutOfMemory, Status: 500, Permanent: true}, "cudaMalloc", "param:window"},
		{"overflow behind a 500", refuses(500, `{"error":"the request exceeds the available context size, try increasing it"}`),
			providers.Error{Kind: providers.Overflow, Status: 500, Window: 8192}, "8192", "param:window"},
		{"overflow in words in mid-stream", lines(piece("a"), `{"error":"input length exceeds the context length"}`),
			providers.Error{Kind: providers.Overflow, Window: 8192}, "8192", "param:window"},
		{"transient 500", refuses(500, `{"error":"something happened"}`),
			providers.Error{Kind: providers.ServerFault, Status: 500}, "something happened", "log"},
		{"empty 500", refuses(500, ``),
			providers.Error{Kind: providers.ServerFault, Status: 500}, "500", "log"},
		{"error object", refuses(400, `{"error":{"message":"bad thing"}}`),
			providers.Error{Kind: providers.BadRequest, Status: 400}, "bad thing", ""},
		{"not implemented", refuses(501, `{"error":"this server does not do this"}`),
			providers.Error{Kind: providers.BadRequest, Status: 501}, "does not do this", ""},
		{"credentials wanted", refuses(401, `{"error":"unauthorized"}`),
			providers.Error{Kind: providers.Auth, Status: 401}, "unauthorized", "user:password@"},
		{"sign-in wanted", refuses(401, `{"error":"unauthorized","signin_url":"https://ollama.com/connect?x"}`),
			providers.Error{Kind: providers.Auth, Status: 401}, "unauthorized", "ollama signin"},
		{"forbidden by a proxy", refuses(403, `<html>go away</html>`),
			providers.Error{Kind: providers.Auth, Status: 403}, "403", "user:password@"},
		{"too many", after("7", refuses(429, `{"error":"slow down"}`)),
			providers.Error{Kind: providers.RateLimited, Status: 429, RetryAfter: 7 * time.Second}, "slow down", "again"},
		{"queue full", after("2", refuses(503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`)),
			providers.Error{Kind: providers.RateLimited, Status: 503, RetryAfter: 2 * time.Second}, "busy", "again"},
		{"a parser that refuses calls", refuses(500, `{"error":"tool 'list_dir' not found"}`),
			providers.Error{Kind: providers.ServerFault, Status: 500, Permanent: true}, "list_dir", "PARSER passthrough"},
		{"unavailable", after("junk", refuses(503, `upstream down`)),
			providers.Error{Kind: providers.ServerFault, Status: 503}, "503", "log"},
		{"bad gateway", refuses(502, `<html>bad gateway</html>`),
			providers.Error{Kind: providers.ServerFault, Status: 502}, "502", "ollama serve"},
		{"too large for a proxy", refuses(413, `<html>too large</html>`),
			providers.Error{Kind: providers.BadRequest, Status: 413}, "413", "proxy"},
		{"other server, 404 page", refuses(404, "<html>\n<body>404</body></html>"),
			providers.Error{Kind: providers.Unreachable, Status: 404, Permanent: true}, "not Ollama", "11434"},
		{"other server, JSON 404", refuses(404, `{"error":"no such route"}`),
			providers.Error{Kind: providers.Unreachable, Status: 404, Permanent: true}, "not Ollama", "11434"},
		{"other server, friendly page", refuses(200, "<!doctype html>\n<title>Hello</title>"),
			providers.Error{Kind: providers.Unreachable, Status: 200, Permanent: true}, "not Ollama", "11434"},
		{"wants HTTPS", refuses(400, "Client sent an HTTP request to an HTTPS server.\n"),
			providers.Error{Kind: providers.Unreachable, Status: 400, Permanent: true}, "wants HTTPS", "https://"},
		{"a redirect that holds a reply", refuses(302, `{"message":{"content":"Hello"},"done":true}`),
			providers.Error{Kind: providers.Unreachable, Status: 302, Permanent: true}, "redirects", "param:address"},
		{"redirected", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://box.test/api/chat", http.StatusMovedPermanently)
		},
			providers.Error{Kind: providers.Unreachable, Status: 301, Permanent: true}, "box.test", "make https://box.test the address"},
		{"runner killed", lines(piece("a"), `{"error":"an error was encountered while running the model: unexpected EOF"}`),
			providers.Error{Kind: providers.ServerFault}, "unexpected EOF", "smaller"},
		{"no end", lines(piece("a")),
			providers.Error{Kind: providers.Interrupted}, "without a sign", "again"},
		{"nothing", lines(),
			providers.Error{Kind: providers.Interrupted}, "without a sign", "again"},
		{"reset in mid-stream", abort(lines(piece("a"))),
			providers.Error{Kind: providers.Interrupted}, "broke off", "again"},
		{"reset before a reply", abort(func(http.ResponseWriter, *http.Request) {}),
			providers.Error{Kind: providers.Interrupted}, "closed the connection", "again"},
		{"half a line", lines(piece("a"), `{"message":{"content":"b`),
			providers.Error{Kind: providers.Interrupted}, "not valid JSON", "again"},
		{"line of another shape", lines(piece("a"), `{"message":"b"}`),
			providers.Error{Kind: providers.Interrupted}, "a JSON object in an unknown form", "again"},
		{"line that is a list", lines(piece("a"), `[]`),
			providers.Error{Kind: providers.Interrupted}, "a line that is not a JSON object", "again"},
		{"endless line", lines(piece("a"), strings.Repeat("x", 9<<20)),
			providers.Error{Kind: providers.ServerFault, Permanent: true}, "8 MiB", "param:address"},
		{"control characters", refuses(500, "{\"error\":\"\\u001b[31mred\\nline\"}"),
			providers.Error{Kind: providers.ServerFault, Status: 500}, "Ollama: red line", "log"},
		{"control characters in a refusal", refuses(401, "{\"error\":\"\\u001b[31mno\\n\\u009bentry\\u202e\"}"),
			providers.Error{Kind: providers.Auth, Status: 401}, "Ollama: no entry", "user:password@"},
		{"links and cursors", refuses(500, "{\"error\":\"\\u001b]8;;https://x.test\\u001b\\\\a\\u001b(B \\u001b[1;31mred\\u001b[?25l thing\\u001bc\\u001b]0;open\\nend\"}"),
			providers.Error{Kind: providers.ServerFault, Status: 500}, "Ollama: a red thing end", "log"},
		{"a long wait", after("99999999", refuses(429, `{"error":"slow down"}`)),
			providers.Error{Kind: providers.RateLimited, Status: 429, RetryAfter: 366 * 24 * time.Hour}, "slow down", "to wait more than a year, then"},
		{"long text", refuses(500, `{"error":"`+strings.Repeat("ä", 10_000)+`"}`),
			providers.Error{Kind: providers.ServerFault, Status: 500}, "Ollama: " + strings.Repeat("ä", 500) + "…", "log"},
		{"long text in mid-stream", lines(piece("a"), `{"error":"`+strings.Repeat("ä", 10_000)+`"}`),
			providers.Error{Kind: providers.ServerFault}, "Ollama: " + strings.Repeat("ä", 500) + "…", "log"},
		{"error behind a byte order mark", refuses(400, "\ufeff{\"error\":\"bad thing\"}"),
			providers.Error{Kind: providers.BadRequest, Status: 400}, "bad thing", ""},
		{"full name", refuses(404, `{"error":"model 'm:latest' not found"}`),
			providers.Error{Kind: providers.ModelMissing, Status: 404}, `model "m" not found`, "ollama pull m"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, tt.chat)
			_, _, _, err := hear(t, f.model(t, ollama.ModelOptions{}), providers.Request{})
			check(t, err, tt.want, tt.says, tt.hints)
		})
	}
}

func check(t *testing.T, err error, want providers.Error, says, hints string) {
	t.Helper()
	var e *providers.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want a *providers.Error", err, err)
	}
	got := providers.Error{Kind: e.Kind, Status: e.Status, Permanent: e.Permanent, RetryAfter: e.RetryAfter,
		PromptTokens: e.PromptTokens, Window: e.Window}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("error %+v, want %+v", got, want)
	}
	if !strings.Contains(e.Message, says) || strings.ContainsFunc(e.Message, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("message %q, want one line with %q", e.Message, says)
	}
	if utf8.RuneCountInString(e.Message) > 600 {
		t.Errorf("the message has %d bytes: %.100s", len(e.Message), e.Message)
	}
	if param, ok := strings.CutPrefix(hints, "param:"); ok {
		if e.Param != param || e.Backend != "ollama" {
			t.Errorf("parameter %q of %q with the hint %q, want %q", e.Param, e.Backend, e.Hint, param)
		}
	} else if !strings.Contains(e.Hint, hints) {
		t.Errorf("hint %q, want %q in it", e.Hint, hints)
	}
	if first, _ := utf8.DecodeRuneInString(e.Hint); unicode.IsLower(first) {
		t.Errorf("hint %q, want a sentence", e.Hint)
	}
}

func after(value string, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", value)
		h(w, r)
	}
}

// TestCompressedReply is for a proxy that compresses though nobody asked.
func TestCompressedReply(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		io.WriteString(z, piece("hi")+"\n"+lastLine+"\n")
	})
	if text, _, last, err := hear(t, f.model(t, ollama.ModelOptions{}), providers.Request{}); text != "hi" || last.Stop != providers.StopEnd || err != nil {
		t.Errorf("%q, %+v, %v", text, last, err)
	}
}

func TestRetryAfter(t *testing.T) {
	const year = 366 * 24 * time.Hour
	date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for _, tt := range []struct {
		value       string
		least, most time.Duration
	}{
		{date(time.Hour), 58 * time.Minute, time.Hour},
		{date(-time.Hour), 0, 0},
		{date(100 * year), year, year},
		{" 30 ", 30 * time.Second, 30 * time.Second},
		{"99999", 99999 * time.Second, 99999 * time.Second},
		{"9999999999", year, year},
		{"99999999999999999999999", year, year},
		{"-5", 0, 0},
		{"soon", 0, 0},
		{"", 0, 0},
	} {
		t.Run(tt.value, func(t *testing.T) {
			f := newFake(t, after(tt.value, refuses(429, `{"error":"x"}`)))
			_, _, _, err := hear(t, f.model(t, ollama.ModelOptions{}), providers.Request{})
			var e *providers.Error
			if !errors.As(err, &e) || e.RetryAfter < tt.least || e.RetryAfter > tt.most {
				t.Errorf("error %+v, want a wait from %v to %v", err, tt.least, tt.most)
			}
		})
	}
}

func TestNearNames(t *testing.T) {
	tests := []struct{ want, installed, hint string }{
		{"lama3.2", "llama3.2:latest,qwen3:8b", "Did you mean llama3.2?"},
		{"llama3", "qwen3:8b,llama3.1:8b", "Did you mean llama3.1:8b?"},
		{"qwen3:70b", "llama3.1:8b,qwen3:8b", "Did you mean qwen3:8b?"},
		{"qwen", "llama3.1:8b,qwen2.5-coder:7b", "Did you mean qwen2.5-coder:7b?"},
		{"zephyr", "llama3.1:8b,qwen3:8b", "Installed: llama3.1:8b, qwen3:8b"},
		{"zephyr", "", "No model is installed yet"},
	}
	for _, tt := range tests {
		f := newFake(t, refuses(404, `{"error":"model not found"}`))
		var list []string
		for name := range strings.SplitSeq(tt.installed, ",") {
			if name != "" {
				list = append(list, `{"name":"`+name+`"}`)
			}
		}
		f.tags = says(`{"models":[` + strings.Join(list, ",") + `]}`)
		m := client(t, f.URL).Model(tt.want, ollama.ModelOptions{NumCtx: 8192})
		_, _, _, err := hear(t, m, providers.Request{})
		check(t, err, providers.Error{Kind: providers.ModelMissing, Status: 404}, "not found", tt.hint)
		check(t, err, providers.Error{Kind: providers.ModelMissing, Status: 404}, "not found", "ollama pull "+tt.want)
	}
}

func TestNobodyAnswers(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	closed.Close()
	_, _, _, err = hear(t, client(t, address).Model("m", ollama.ModelOptions{}), providers.Request{})
	for _, hint := range []string{"ollama serve", "param:address"} {
		check(t, err, providers.Error{Kind: providers.Unreachable}, address, hint)
	}
}

func TestNameDoesNotResolve(t *testing.T) {
	// The resolver is replaced: a real one would leave the machine.
	c, err := ollama.New(ollama.Options{Host: "nosuch.invalid", HTTP: &http.Client{Transport: fails{
		&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "nosuch.invalid", IsNotFound: true}}}}})
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, err = hear(t, c.Model("m", ollama.ModelOptions{}), providers.Request{})
	check(t, err, providers.Error{Kind: providers.Unreachable, Permanent: true}, `"nosuch.invalid"`, "param:address")
}

type fails struct{ err error }

func (f fails) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

func TestSchemes(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = quiet()
	secure.StartTLS()
	defer secure.Close()
	tests := []struct {
		name, host string
		want       providers.Error
		says, hint string
	}{
		{"https to http", strings.Replace(plain.URL, "http:", "https:", 1), providers.Error{Kind: providers.Unreachable, Permanent: true}, "secure", "http://"},
		{"http to https", strings.Replace(secure.URL, "https:", "http:", 1), providers.Error{Kind: providers.Unreachable, Status: 400, Permanent: true}, "HTTPS", "https://"},
		{"unknown certificate", secure.URL, providers.Error{Kind: providers.Unreachable, Permanent: true}, "secure", "certificate"},
		{"not HTTP", talker(t, "220 mail ready\r\n"), providers.Error{Kind: providers.Unreachable, Permanent: true}, "HTTP", "param:address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, _, err := hear(t, client(t, tt.host).Model("m", ollama.ModelOptions{}), providers.Request{})
			check(t, err, tt.want, tt.says, tt.hint)
		})
	}
}

// talker is a server that greets in another protocol.
func talker(t *testing.T, greeting string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			bufio.NewReader(c).ReadString('\n')
			io.WriteString(c, greeting)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String()
}

func TestAPIPathInAddress(t *testing.T) {
	f := newFake(t, nil)
	_, err := client(t, f.URL+"/v1").Models(t.Context())
	check(t, err, providers.Error{Kind: providers.Unreachable, Status: 404, Permanent: true}, "not Ollama", "Leave /v1 out of the address: "+f.URL)
}

// What is no stream is read up to a limit.
func TestEndlessAnswers(t *testing.T) {
	endless := func(begin string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, begin)
			block := strings.Repeat("x", 1<<20)
			for {
				if _, err := io.WriteString(w, block); err != nil {
					return
				}
			}
		}
	}
	tooLong := providers.Error{Kind: providers.ServerFault, Permanent: true}
	tests := []struct {
		name string
		set  func(*fake)
		want providers.Error
		says string
	}{
		{"list", func(f *fake) { f.tags = endless(`{"models":[{"name":"`) }, tooLong, "8 MiB"},
		{"loaded models", func(f *fake) { f.ps = endless(`{"models":[{"name":"`) }, tooLong, "8 MiB"},
		{"page", func(f *fake) { f.tags = endless(`<html>`) }, providers.Error{Kind: providers.Unreachable, Status: 200, Permanent: true}, "not Ollama"},
		{"error", func(f *fake) {
			f.tags = func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500); endless(`{"error":"`)(w, r) }
		}, providers.Error{Kind: providers.ServerFault, Status: 500}, "500"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, nil)
			tt.set(f)
			_, err := client(t, f.URL).Models(t.Context())
			check(t, err, tt.want, tt.says, "")
		})
	}
	f := newFake(t, nil)
	f.show = endless(`{"license":"`)
	_, err := f.model(t, ollama.ModelOptions{}).Info(t.Context())
	check(t, err, tooLong, "8 MiB", "param:address")
}

func TestRedirectsNowhere(t *testing.T) {
	for _, to := range []string{"ftp://box.test/api/tags", "file:///etc/passwd", "mailto:x@box.test", "http:///api/tags"} {
		t.Run(to, func(t *testing.T) {
			f := newFake(t, nil)
			f.tags = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", to)
				w.WriteHeader(http.StatusTemporaryRedirect)
			}
			_, err := client(t, f.URL).Models(t.Context())
			check(t, err, providers.Error{Kind: providers.Unreachable, Status: 307, Permanent: true}, `"`+to+`"`, "param:address")
			if strings.Contains(err.(*providers.Error).Hint, "make ") {
				t.Errorf("hint %q recommends the address", err.(*providers.Error).Hint)
			}
		})
	}
}

// TestRedirectsToAnotherHost takes no prompt and no password to a stranger.
func TestRedirectsToAnotherHost(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			stranger := newFake(t, lines(piece("a"), `{"done":true}`))
			f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, stranger.URL+r.URL.Path, status)
			})
			_, _, _, err := hear(t, f.model(t, ollama.ModelOptions{}), providers.Request{})
			check(t, err, providers.Error{Kind: providers.Unreachable, Status: status, Permanent: true}, stranger.URL, "make "+stranger.URL+" the address")
			if n := stranger.count("/api/chat"); n > 0 {
				t.Errorf("the stranger was sent %d requests", n)
			}
		})
	}
}

func TestRedirectWithinTheHost(t *testing.T) {
	f := newFake(t, nil)
	f.chat = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "" {
			http.Redirect(w, r, r.URL.Path+"?again", http.StatusTemporaryRedirect)
			return
		}
		lines(piece("a"), `{"done":true}`)(w, r)
	}
	if text, _, _, err := hear(t, f.model(t, ollama.ModelOptions{}), providers.Request{}); err != nil || text != "a" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestClientTimeout(t *testing.T) {
	f := newFake(t, nil)
	f.chat = func(_ http.ResponseWriter, r *http.Request) { f.hang(r) }
	c, err := ollama.New(ollama.Options{Host: f.URL, HTTP: &http.Client{Timeout: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, err = hear(t, c.Model("m", ollama.ModelOptions{}), providers.Request{})
	check(t, err, providers.Error{Kind: providers.Stalled}, "time limit", "log")
}
