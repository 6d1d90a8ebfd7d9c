package langchain_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"mylm/providers"
	"mylm/providers/langchain"
)

// fault is one way in which a provider fails, on any wire.
type fault struct {
	name   string
	answer func(fakeAPI) http.HandlerFunc
	want   providers.Error // Kind, Status, Permanent, RetryAfter, PromptTokens, Window are compared
	says   string          // in the message
	hints  string          // in the hint
}

// faults are tested with each fakeAPI.
var faults = []fault{
	{"key refused", refusal(401, "authentication_error", "invalid key"),
		providers.Error{Kind: providers.Auth, Status: 401}, "invalid key", "Check the key in"},
	{"key not allowed", refusal(403, "permission_error", "not for you"),
		providers.Error{Kind: providers.Auth, Status: 403}, "not for you", "not allowed"},
	{"proxy", page(407),
		providers.Error{Kind: providers.Auth, Status: 407}, "407", "HTTP_PROXY"},
	{"a check for browsers", after("Cf-Mitigated", "challenge", page(403)),
		providers.Error{Kind: providers.Unreachable, Status: 403, Permanent: true}, "check for browsers", "exempt its API"},
	{"model missing", refusal(404, "not_found_error", "model: m"),
		providers.Error{Kind: providers.ModelMissing, Status: 404}, "model: m", "param:model"},
	{"model does not exist", refusal(400, "model_not_found", "The model `m` does not exist or you do not have access to it."),
		providers.Error{Kind: providers.ModelMissing, Status: 400}, "does not exist", "param:model"},
	{"wrong path", refusal(404, "not_found_error", "File Not Found"),
		providers.Error{Kind: providers.Unreachable, Status: 404, Permanent: true}, "File Not Found", "The address is http"},
	{"404 page", page(404),
		providers.Error{Kind: providers.Unreachable, Status: 404, Permanent: true}, "not a model's API", "The address is http"},
	{"friendly page", page(200),
		providers.Error{Kind: providers.Unreachable, Status: 200, Permanent: true}, "not a model's API", "The address is http"},
	{"too many", after("Retry-After", "7", refusal(429, "rate_limit_error", "slow down")),
		providers.Error{Kind: providers.RateLimited, Status: 429, RetryAfter: 7 * time.Second}, "slow down", "asks to wait 7s"},
	{"too many, in milliseconds", after("Retry-After-Ms", "1500", refusal(429, "rate_limit_error", "slow down")),
		providers.Error{Kind: providers.RateLimited, Status: 429, RetryAfter: 1500 * time.Millisecond}, "slow down", "again"},
	{"too many, in words", refusal(429, "rate_limit_exceeded", "Rate limit reached. Please try again in 1m7.5s."),
		providers.Error{Kind: providers.RateLimited, Status: 429, RetryAfter: 67500 * time.Millisecond}, "Rate limit", "again"},
	{"quota", refusal(429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."),
		providers.Error{Kind: providers.RateLimited, Status: 429, Permanent: true}, "quota", "billing"},
	{"credit", refusal(400, "invalid_request_error", "Your credit balance is too low to access the API."),
		providers.Error{Kind: providers.RateLimited, Status: 400, Permanent: true}, "credit", "billing"},
	{"budget of LiteLLM", refusal(400, "budget_exceeded", "Budget has been exceeded! Current cost: 10.1, Max budget: 10.0"),
		providers.Error{Kind: providers.RateLimited, Status: 400, Permanent: true}, "Budget", "billing"},
	{"524 of Cloudflare", page(524),
		providers.Error{Kind: providers.ServerFault, Status: 524}, "524", "gain"},
	{"payment", refusal(402, "", "Insufficient Balance"),
		providers.Error{Kind: providers.RateLimited, Status: 402, Permanent: true}, "Balance", "billing"},
	{"overflow", refusal(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
		providers.Error{Kind: providers.Overflow, Status: 400, PromptTokens: 210000, Window: 200000}, "210000 tokens", "less text"},
	{"filtered", refusal(400, "content_filter", "triggered our content management policy"),
		providers.Error{Kind: providers.Filtered, Status: 400, Permanent: true}, "policy", "other words"},
	{"bad request", refusal(400, "invalid_request_error", "temperature: range 0..1"),
		providers.Error{Kind: providers.BadRequest, Status: 400}, "range", "param:temperature"},
	{"not implemented", refusal(501, "", "not here"),
		providers.Error{Kind: providers.BadRequest, Status: 501}, "not here", ""},
	{"500", refusal(500, "api_error", "something happened"),
		providers.Error{Kind: providers.ServerFault, Status: 500}, "something happened", "gain"},
	{"empty 500", bare(500, ""),
		providers.Error{Kind: providers.ServerFault, Status: 500}, "500", "gain"},
	{"502 page", page(502),
		providers.Error{Kind: providers.ServerFault, Status: 502}, "502", "gain"},
	{"503 with a wait", after("Retry-After", "3", bare(503, "upstream down")),
		providers.Error{Kind: providers.ServerFault, Status: 503, RetryAfter: 3 * time.Second}, "upstream down", "asks to wait 3s"},
	{"529", refusal(529, "overloaded_error", "Overloaded"),
		providers.Error{Kind: providers.ServerFault, Status: 529}, "Overloaded", "Wait"},
	{"redirect elsewhere", redirect(302, "https://example.com/login?token=x"),
		providers.Error{Kind: providers.Unreachable, Status: 302, Permanent: true}, `"https://example.com/login"`, "address"},
	{"redirect of the key", redirect(307, "http://elsewhere.example/v1"),
		providers.Error{Kind: providers.Unreachable, Status: 307, Permanent: true}, "elsewhere.example", "address"},
	{"wants TLS", bare(400, "Client sent an HTTP request to an HTTPS server.\n"),
		providers.Error{Kind: providers.Unreachable, Status: 400, Permanent: true}, "wants HTTPS", "https://"},
	{"closed without a reply", func(fakeAPI) http.HandlerFunc { return func(http.ResponseWriter, *http.Request) { abort() } },
		providers.Error{Kind: providers.Interrupted}, "without a reply", "again"},
	{"reset in mid-stream", midway(func(http.ResponseWriter, fakeAPI) { abort() }),
		providers.Error{Kind: providers.Interrupted}, "broke off", "again"},
	{"clean end without the terminal event", midway(func(http.ResponseWriter, fakeAPI) {}),
		providers.Error{Kind: providers.Interrupted}, "without a sign", "again"},
	{"empty body", bare(200, ""),
		providers.Error{Kind: providers.Unreachable, Status: 200, Permanent: true}, "not a model's API", "The address is http"},
	{"a word", bare(200, "OK"),
		providers.Error{Kind: providers.Unreachable, Status: 200, Permanent: true}, "not a model's API", "The address is http"},
	{"bytes", bare(200, "\x00\xff\x1f\n\xfe"),
		providers.Error{Kind: providers.Unreachable, Status: 200, Permanent: true}, "not a model's API", "The address is http"},
	{"another API's reply", bare(200, `{"status":"ok"}`),
		providers.Error{Kind: providers.Unreachable, Status: 200, Permanent: true}, "not a model's API", "The address is http"},
	{"an empty list", bare(200, `[]`),
		providers.Error{Kind: providers.Unreachable, Status: 200, Permanent: true}, "not a model's API", "The address is http"},
	{"an error with success", bare(200, `{"message":"Invalid API key","code":401}`),
		providers.Error{Kind: providers.Auth}, "Invalid API key", "Check the key in"},
	{"overload in mid-stream", midway(func(w http.ResponseWriter, s fakeAPI) { s.stream(w, s.error(529, "overloaded_error", "Overloaded")) }),
		providers.Error{Kind: providers.ServerFault}, "Overloaded", "Wait"},
	{"a server behind is gone, in mid-stream", midway(func(w http.ResponseWriter, s fakeAPI) {
		s.stream(w, s.error(502, "provider_unavailable", "Worker lost"))
	}),
		providers.Error{Kind: providers.ServerFault}, "Worker lost", "gain"},
	{"overflow in mid-stream", midway(func(w http.ResponseWriter, s fakeAPI) {
		s.stream(w, s.error(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"))
	}), providers.Error{Kind: providers.Overflow, PromptTokens: 9, Window: 8}, "8 tokens", "less text"},
	{"error, then the end", midway(func(w http.ResponseWriter, s fakeAPI) {
		s.stream(w, s.error(500, "api_error", "lost"))
		s.stream(w, s.end(s.stop(providers.StopEnd), providers.Usage{})...)
	}), providers.Error{Kind: providers.ServerFault}, "lost", "gain"},
	{"half an event", midway(func(w http.ResponseWriter, s fakeAPI) { s.stream(w, s.text("lost")[:40]) }),
		providers.Error{Kind: providers.Interrupted}, "", "again"},
	{"no JSON", midway(func(w http.ResponseWriter, s fakeAPI) { s.stream(w, "data: {\"oh\n\n") }),
		providers.Error{Kind: providers.Interrupted}, "not valid JSON", "again"},
	{"JSON that is no object", midway(func(w http.ResponseWriter, s fakeAPI) { s.stream(w, s.event(`"x"`)) }),
		providers.Error{Kind: providers.Interrupted}, "a line that is not a JSON object", "again"},
	{"a list", midway(func(w http.ResponseWriter, s fakeAPI) { s.stream(w, s.event("[]")) }),
		providers.Error{Kind: providers.Interrupted}, "a line that is not a JSON object", "again"},
	{"a line without end", midway(func(w http.ResponseWriter, s fakeAPI) {
		s.stream(w, "data: ")
		for range 10 {
			s.stream(w, strings.Repeat("x", 1<<20))
		}
	}), providers.Error{Kind: providers.ServerFault, Permanent: true}, "8 MiB", "not a model's reply"},
	{"refused without a word", func(s fakeAPI) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			s.stream(w, s.begin...)
			s.stream(w, s.end("refusal", providers.Usage{})...)
		}
	}, providers.Error{Kind: providers.Filtered, Permanent: true}, "refus", "other words"},
}

func refusal(status int, code, message string) func(fakeAPI) http.HandlerFunc {
	return func(s fakeAPI) http.HandlerFunc { return s.refuses(status, code, message) }
}

func page(status int) func(fakeAPI) http.HandlerFunc {
	return func(fakeAPI) http.HandlerFunc {
		return answers(status, "text/html", "<!doctype html>\n<title>Hello</title>")
	}
}

func bare(status int, body string) func(fakeAPI) http.HandlerFunc {
	return func(fakeAPI) http.HandlerFunc { return answers(status, "text/plain", body) }
}

func after(header, value string, then func(fakeAPI) http.HandlerFunc) func(fakeAPI) http.HandlerFunc {
	return func(s fakeAPI) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(header, value)
			then(s)(w, r)
		}
	}
}

func redirect(status int, to string) func(fakeAPI) http.HandlerFunc {
	return func(fakeAPI) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(status)
		}
	}
}

// midway sends half an answer before then.
func midway(then func(http.ResponseWriter, fakeAPI)) func(fakeAPI) http.HandlerFunc {
	return func(s fakeAPI) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			s.stream(w, s.begin...)
			s.stream(w, s.text("the answer "), s.text("is"))
			then(w, s)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, s := range fakeAPIs {
		for _, tt := range faults {
			if slices.Contains(s.cannot, tt.name) || s.shown && tt.name == "a line without end" {
				continue
			}
			if p, _ := langchain.Lookup(s.provider); !p.NeedsKey && tt.hints == "gain" {
				tt.hints = "server" // it is the user's own
			}
			t.Run(s.provider+"/"+tt.name, func(t *testing.T) {
				if other, ok := s.hints[tt.hints]; ok {
					tt.hints = other
				}
				f := newFake(t, s, tt.answer(s))
				_, _, last, err := generate(t, f.model(t), providers.Request{})
				if last.Stop != "" {
					t.Errorf("a failed reply passed for a whole one: %+v", last)
				}
				checkError(t, err, tt.want, tt.says, tt.hints)
			})
		}
	}
}

func checkError(t *testing.T, err error, want providers.Error, says, hints string) {
	t.Helper()
	var e *providers.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want a *providers.Error", err, err)
	}
	got := providers.Error{Kind: e.Kind, Status: e.Status, Permanent: e.Permanent, RetryAfter: e.RetryAfter, PromptTokens: e.PromptTokens, Window: e.Window}
	if want.Status == 0 { // some providers write one into the events of a stream
		got.Status = 0
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v\nit says %q", got, want, e.Message)
	}
	if !strings.Contains(e.Message, says) || e.Message == "" {
		t.Errorf("message %q, want %q in it", e.Message, says)
	}
	if !advises(e, hints) {
		t.Errorf("hint %q with the parameter %q, want %q", e.Hint, e.Param, hints)
	}
	if strings.Contains(e.Message+e.Hint, testKey) || strings.Contains(e.Message+e.Hint, "token=") {
		t.Errorf("a secret is shown: %q, %q", e.Message, e.Hint)
	}
}

// advises reports whether an error has a hint, or with "param:" a parameter.
func advises(e *providers.Error, hint string) bool {
	if param, ok := strings.CutPrefix(hint, "param:"); ok {
		return e.Param == param
	}
	return strings.Contains(e.Hint, hint)
}

// TestUnreachable is for what never answers.
func TestUnreachable(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	secure.Config.ErrorLog = quiet()
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	tests := []struct {
		name, base  string
		permanent   bool
		says, hints string
	}{
		{"refused", closed.URL, false, "server answers at", "Is the server running?"},
		{"no such name", "http://no-such-host.invalid", true, "no-such-host.invalid", "typing error"},
		{"unknown certificate", secure.URL, true, "no secure connection", "certificate"},
		{"no TLS", strings.Replace(plain.URL, "http:", "https:", 1), true, "no secure connection", "http://"},
	}
	for _, s := range fakeAPIs {
		for _, tt := range tests {
			t.Run(s.provider+"/"+tt.name, func(t *testing.T) {
				_, _, _, err := generate(t, s.model(t, tt.base), providers.Request{})
				checkError(t, err, providers.Error{Kind: providers.Unreachable, Permanent: tt.permanent}, tt.says, tt.hints)
			})
		}
	}
}

// TestReplies are replies that are odd but whole.
func TestReplies(t *testing.T) {
	long := "x" + strings.Repeat("größe\x00\" ", 1<<20/10)
	for _, s := range fakeAPIs {
		if s.shown {
			continue
		}
		tests := []struct {
			name          string
			events        []string
			text, thought string
		}{
			{"a line of a megabyte", []string{s.text(long)}, long, ""},
			{"empty", nil, "", ""},
		}
		if s.thought != nil {
			tests = append(tests, struct {
				name          string
				events        []string
				text, thought string
			}{"only thought", []string{s.thought("hm"), s.thought(long)}, "", "hm" + long})
		}
		for _, tt := range tests {
			t.Run(s.provider+"/"+tt.name, func(t *testing.T) {
				f := newFake(t, s, func(w http.ResponseWriter, _ *http.Request) {
					s.stream(w, s.begin...)
					s.stream(w, tt.events...)
					s.stream(w, s.end(s.stop(providers.StopEnd), providers.Usage{})...)
				})
				text, thought, last, err := generate(t, f.model(t), providers.Request{})
				if err != nil || last.Stop != providers.StopEnd {
					t.Fatalf("ended with %q, %v", last.Stop, err)
				}
				if text != tt.text || thought != tt.thought {
					t.Errorf("%d bytes of text, %d of thought; want %d and %d", len(text), len(thought), len(tt.text), len(tt.thought))
				}
			})
		}
	}
}

// TestLeaving proves that the server sees when the caller has gone, and that no
// goroutine is left.
func TestLeaving(t *testing.T) {
	leave := map[string]func(m *langchain.Model, arrived <-chan struct{}){
		"cancel before the first event": func(m *langchain.Model, arrived <-chan struct{}) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				<-arrived
				cancel()
			}()
			for _, err := range m.Generate(ctx, hello) {
				if !errors.Is(err, context.Canceled) {
					panic(err)
				}
			}
		},
		"cancel in the stream": func(m *langchain.Model, arrived <-chan struct{}) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			for c, err := range m.Generate(ctx, hello) {
				<-arrived
				cancel()
				if err != nil && !errors.Is(err, context.Canceled) || c.Stop != "" {
					panic(err)
				}
			}
		},
		"break": func(m *langchain.Model, arrived <-chan struct{}) {
			for range m.Generate(context.Background(), hello) {
				break
			}
			<-arrived
		},
	}
	for _, s := range fakeAPIs {
		for name, leaves := range leave {
			t.Run(s.provider+"/"+name, func(t *testing.T) {
				arrived := make(chan struct{})
				var f *fake
				f = newFake(t, s, func(w http.ResponseWriter, r *http.Request) {
					if !strings.Contains(name, "before") {
						s.stream(w, s.begin...)
						s.stream(w, s.text("one "))
					}
					close(arrived)
					f.hang(r)
				})
				m := f.model(t)
				before := runtime.NumGoroutine()
				leaves(m, arrived)
				<-f.gone // or the test's own time is over
				m.Close()
				f.CloseClientConnections()
				eventually(t, func() bool { return runtime.NumGoroutine() <= before })
			})
		}
	}
}

var hello = providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "hello"}}}

// eventually waits for what winds up behind a finished call.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			b := make([]byte, 1<<16)
			t.Fatalf("not within a minute:\n%s", b[:runtime.Stack(b, true)])
		}
		time.Sleep(time.Millisecond)
	}
}

// TestConnectionIsKept proves that a whole reply leaves its connection to the
// next call.
func TestConnectionIsKept(t *testing.T) {
	for _, s := range fakeAPIs {
		t.Run(s.provider, func(t *testing.T) {
			from := map[string]bool{}
			f := newFake(t, s, nil)
			f.answer = func(w http.ResponseWriter, r *http.Request) {
				from[r.RemoteAddr] = true
				s.says("yes")(w, r)
				io.WriteString(w, "\n")
			}
			m := f.model(t)
			for range 3 {
				if _, _, _, err := generate(t, m, providers.Request{}); err != nil {
					t.Fatal(err)
				}
			}
			if len(from) != 1 {
				t.Errorf("%d connections for three calls in a row", len(from))
			}
		})
	}
}
