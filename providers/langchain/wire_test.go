package langchain_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"mylm/providers"
	"mylm/providers/langchain"
	"mylm/providers/providerstest"
)

// fakeAPI describes the server of one provider. A backend is tested by
// describing its server (see openAIAPI) and adding it to fakeAPIs: the
// conformance suite, the faults and the recorded requests then run over it.
type fakeAPI struct {
	provider string
	config   langchain.Config // beyond address, model and key; KeyFrom and the like
	path     string           // where a question arrives
	kind     string           // Content-Type of a stream

	// events are written and flushed one by one.
	begin   []string
	text    func(s string) string
	thought func(s string) string // nil: the wire does not tell thought from text
	end     func(stop string, u providers.Usage) []string
	error   func(status int, code, message string) string // an error in mid-stream

	// whole is a reply in one piece. Nil: the server always streams.
	whole func(thought, text, stop string, u providers.Usage) string

	// refuse is the body of an error.
	refuse func(status int, code, message string) string

	stops map[providers.StopReason]string // what differs from the reason's own name

	key    string // the header that holds the key
	noSeed bool   // takes none

	shown  bool                                    // another fakeAPI covers this wire: large or slow tests are skipped
	cannot []string                                // kinds of failure, and names of faults, that the server has no words for
	tune   func(t *testing.T, c *langchain.Config) // completes what the model is opened with; may be nil
	hints  map[string]string                       // what hints say in the place of what they usually say

	// read translates a request back; what no test expects becomes a message
	// of the role "unexpected".
	read func(body map[string]any) providers.Request
}

// event is JSON as an event of a stream.
func (s fakeAPI) event(json string) string {
	if s.kind == ollamaAPI.kind {
		return json + "\n"
	}
	return "data: " + json + "\n\n"
}

// fakeAPIs are the wires that every test below goes over.
var fakeAPIs = slices.Concat([]fakeAPI{openAIAPI, anthropicAPI, cohereAPI, googleAPI, ollamaAPI, watsonxAPI}, hostAPIs)

const testKey = "sk-test-0123456789"

// fake is a loopback server that speaks.
type fake struct {
	*httptest.Server
	fakeAPI fakeAPI
	answer  http.HandlerFunc
	list    http.HandlerFunc

	mu     sync.Mutex
	bodies []map[string]any
	heads  []http.Header
	urls   []string
	left   int
	gone   chan struct{} // one for each caller that was seen to leave
}

func newFake(t *testing.T, s fakeAPI, answer http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{fakeAPI: s, answer: answer, gone: make(chan struct{}, 100), list: http.NotFound}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if r.Method == http.MethodGet {
		f.list(w, r)
		return
	}
	var m map[string]any
	_ = json.Unmarshal(b, &m) // what is no object shows as an empty request
	f.mu.Lock()
	f.bodies, f.heads, f.urls = append(f.bodies, m), append(f.heads, r.Header.Clone()), append(f.urls, r.URL.String())
	f.mu.Unlock()
	if r.URL.Path != f.fakeAPI.path {
		http.NotFound(w, r)
		return
	}
	f.answer(w, r)
}

// model opens the provider's model "m" at the server.
func (f *fake) model(t *testing.T) *langchain.Model {
	t.Helper()
	return f.fakeAPI.model(t, f.URL+"/v1")
}

// model opens the provider's model "m" at an address.
func (s fakeAPI) model(t *testing.T, base string) *langchain.Model {
	t.Helper()
	c := s.config
	c.Model, c.BaseURL, c.Key = "m", base, testKey
	if s.tune != nil {
		s.tune(t, &c)
	}
	return open(t, s.provider, c)
}

func open(t *testing.T, provider string, c langchain.Config) *langchain.Model {
	t.Helper()
	m, err := langchain.Open(provider, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func (f *fake) sent() []map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.bodies)
}

// hang waits until the caller has gone.
func (f *fake) hang(r *http.Request) {
	<-r.Context().Done()
	f.mu.Lock()
	f.left++
	f.mu.Unlock()
	f.gone <- struct{}{}
}

func (f *fake) leavers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left
}

// stream writes events, each flushed by itself.
func (s fakeAPI) stream(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", s.kind)
	for _, e := range events {
		io.WriteString(w, e)
		w.(http.Flusher).Flush()
	}
}

// says streams a complete reply.
func (s fakeAPI) says(texts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		s.stream(w, s.begin...)
		for _, t := range texts {
			s.stream(w, s.text(t))
		}
		s.stream(w, s.end(s.stop(providers.StopEnd), providers.Usage{})...)
	}
}

func (s fakeAPI) stop(r providers.StopReason) string {
	if word, ok := s.stops[r]; ok {
		return word
	}
	return string(r)
}

// refuses answers with an error of the provider.
func (s fakeAPI) refuses(status int, code, message string) http.HandlerFunc {
	return answers(status, "application/json", s.refuse(status, code, message))
}

func answers(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// abort cuts the connection.
func abort() { panic(http.ErrAbortHandler) }

// rig is the server that providerstest scripts.
func (s fakeAPI) rig(t *testing.T, r providerstest.Reply, streams bool) providerstest.Rig {
	var f *fake
	f = newFake(t, s, func(w http.ResponseWriter, req *http.Request) {
		switch {
		case r.Fail != "" && len(r.Thought)+len(r.Text) == 0:
			s.fails(w, r.Fail)
		case !streams:
			s.oneGo(w, f, req, r)
		default:
			s.script(w, f, req, r)
		}
	})
	return providerstest.Rig{Model: f.model(t), Left: f.leavers, Requests: func() (out []providers.Request) {
		for _, body := range f.sent() {
			out = append(out, s.read(body))
		}
		return out
	}}
}

func (s fakeAPI) script(w http.ResponseWriter, f *fake, req *http.Request, r providerstest.Reply) {
	s.stream(w, s.begin...)
	for _, t := range r.Thought {
		s.stream(w, s.thought(t))
	}
	for _, t := range r.Text {
		s.stream(w, s.text(t))
	}
	switch {
	case r.Hang:
		f.hang(req)
	case r.Fail == providers.Interrupted:
		abort()
	case r.Fail != "":
		k := kinds[r.Fail]
		s.stream(w, s.error(k.status, k.code, k.message))
	case !r.Cut:
		stop := r.Stop
		if stop == "" {
			stop = providers.StopEnd
		}
		s.stream(w, s.end(s.stop(stop), r.Usage)...)
	}
}

// oneGo answers in one piece.
func (s fakeAPI) oneGo(w http.ResponseWriter, f *fake, req *http.Request, r providerstest.Reply) {
	stop := r.Stop
	if stop == "" {
		stop = providers.StopEnd
	}
	body := s.whole(strings.Join(r.Thought, ""), strings.Join(r.Text, ""), s.stop(stop), r.Usage)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Hang:
		io.WriteString(w, body[:len(body)/2])
		w.(http.Flusher).Flush()
		f.hang(req)
	case r.Cut, r.Fail != "":
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		io.WriteString(w, body[:len(body)/2])
		w.(http.Flusher).Flush()
		abort()
	default:
		io.WriteString(w, body)
	}
}

// kinds is how a server fails in each way, as status, code and words.
var kinds = map[providers.Kind]struct {
	status        int
	code, message string
}{
	providers.ModelMissing: {404, "model_not_found", "The model `m` does not exist"},
	providers.CannotChat:   {400, "invalid_request_error", "This is not a chat model"},
	providers.Auth:         {401, "authentication_error", "invalid x-api-key"},
	providers.RateLimited:  {429, "rate_limit_error", "slow down"},
	providers.Overflow:     {400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"},
	providers.Filtered:     {400, "content_filter", "The response was filtered"},
	providers.BadRequest:   {400, "invalid_request_error", "messages: at least one message is required"},
	providers.ServerFault:  {500, "api_error", "something happened"},
}

// fails fails before the reply.
func (s fakeAPI) fails(w http.ResponseWriter, kind providers.Kind) {
	switch kind {
	case providers.Interrupted:
		abort()
	case providers.Unreachable:
		answers(404, "text/html", "<html>nothing here</html>")(w, nil)
	default:
		k := kinds[kind]
		s.refuses(k.status, k.code, k.message)(w, nil)
	}
}

// hear collects a reply.
func generate(t *testing.T, m providers.Model, r providers.Request) (text, thought string, last providers.Chunk, err error) {
	t.Helper()
	if r.Messages == nil {
		r.Messages = []providers.Message{{Role: providers.User, Text: "hello"}}
	}
	for c, e := range m.Generate(t.Context(), r) {
		if e != nil {
			return text, thought, last, e
		}
		text, thought, last = text+c.Text, thought+c.Thought, c
	}
	return text, thought, last, nil
}

// data is a server-sent event.
func data(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return "data: " + string(b) + "\n\n"
}

// sampling reads what has the same name on most wires, and reports every field
// that is neither read here nor expected.
func sampling(body map[string]any, expected ...string) (r providers.Request) {
	for _, name := range slices.Sorted(maps.Keys(body)) {
		switch name {
		case "temperature":
			x := body[name].(float64)
			r.Temperature = &x
		case "seed":
			x := int(body[name].(float64))
			r.Seed = &x
		case "max_tokens":
			r.MaxTokens = int(body[name].(float64))
		default:
			if !slices.Contains(expected, name) {
				r.Messages = append(r.Messages, providers.Message{Role: "unexpected", Text: name})
			}
		}
	}
	return r
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
