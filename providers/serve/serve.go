package serve

import (
	"cmp"
	"context"
	"net/http"
	"path"
	"time"

	"mylm/providers"
	"mylm/providers/calling"
)

// Options of a Handler. Open is needed; the zero value of everything else works.
type Options struct {
	// Open returns the model of a name that a client sent. It is called for every
	// request, from any goroutine, and should remember what it opened. A name that it
	// does not know is a *providers.Error of the kind ModelMissing.
	Open func(ctx context.Context, name string) (*calling.Model, error)

	// Models lists the names that Open knows. Nil: the lists are empty.
	Models func(ctx context.Context) ([]providers.ModelInfo, error)

	Key     string   // that every request has to bring; "": none
	Hosts   []string // names of the server, besides those of the loopback interface; "*": any
	Origins []string // of pages that may ask, besides none: "https://app.example"

	MaxBody       int64         // bytes of a request; 0: 32 MiB
	MaxConcurrent int           // requests of models at once; 0: 256
	MaxQueued     int           // requests that wait for one of these to end; 0: 256
	Heartbeat     time.Duration // longest silence of a stream; 0: 4 s
	WriteTimeout  time.Duration // how long a client may take to read a piece of a reply; 0: 1 minute

	// Redact takes secrets out of what a backend says. Nil: it is passed on, without
	// what it says of keys.
	Redact func(string) string

	// Log is called after each request, from any goroutine; nil: nobody is told.
	Log func(Record)

	// LogContents puts the bodies of requests into the records.
	LogContents bool
}

// Record is one request for a log. It has no contents unless Options.LogContents is set.
type Record struct {
	Time        time.Time
	Method      string
	Path        string
	Model       string
	Status      int    // of HTTP; a stream may have failed after a 200
	Error       string // "": it succeeded
	Code        string // of the error
	Cause       error  // a backend's error that is no fault of the request, for the operator alone; nil: there is none
	Duration    time.Duration
	Usage       providers.Usage
	Estimated   bool // the backend did not report all of Usage
	Corrections int
	Body        string // the request's, with Options.LogContents
}

// Handler serves the APIs. It may be used by any number of connections at once.
type Handler struct {
	opts    Options
	next    http.Handler
	gate    chan struct{} // has one element for each request that may run
	queue   chan struct{} // and for each that may wait, too
	metrics metrics
	items   itemStore
	start   time.Time
}

// New returns a handler.
func New(o Options) *Handler {
	o.MaxBody = cmp.Or(o.MaxBody, 32<<20)
	o.MaxConcurrent = cmp.Or(o.MaxConcurrent, 256)
	o.MaxQueued = cmp.Or(o.MaxQueued, 256)
	o.Heartbeat = cmp.Or(o.Heartbeat, 4*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, time.Minute)
	h := &Handler{opts: o, gate: make(chan struct{}, o.MaxConcurrent), queue: make(chan struct{}, o.MaxConcurrent+o.MaxQueued), start: time.Now()}
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(*exchange){
		"POST /v1/chat/completions":       h.chat,
		"POST /v1/responses":              h.responses,
		"POST /v1/responses/input_tokens": h.countInput,
		"POST /v1/messages":               h.messages,
		"POST /v1/messages/count_tokens":  h.countTokens,
		"GET /v1/models":                  h.models,
		"GET /v1/models/{id...}":          h.model,
		"POST /api/chat":                  h.ollamaChat,
		"POST /api/generate":              h.ollamaGenerate,
		"GET /api/tags":                   h.ollamaTags,
		"GET /api/ps":                     h.ollamaRunning,
		"POST /api/show":                  h.ollamaShow,
		"GET /api/version":                func(x *exchange) { x.json(http.StatusOK, map[string]string{"version": ollamaVersion}) },
		"GET /{$}":                        func(x *exchange) { x.text("mylm is running\n") },
		"GET /healthz":                    func(x *exchange) { x.text("ok\n") },
		"GET /metrics":                    h.showMetrics,
		"/":                               func(x *exchange) { x.noRoute(mux) },
	} {
		mux.HandleFunc(pattern, func(_ http.ResponseWriter, r *http.Request) {
			x := r.Context().Value(exchangeKey{}).(*exchange)
			x.r = r
			handle(x)
		})
	}
	h.next = mux
	return h
}

type exchangeKey struct{}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{h: h, w: w, control: http.NewResponseController(w), start: time.Now()}
	x.r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	if p := path.Clean(r.URL.Path); p != r.URL.Path && p[0] == '/' { // the mux would redirect, which clients do not follow
		u := *r.URL
		u.Path, u.RawPath = p, ""
		x.r.URL = &u
	}
	h.metrics.running.Add(1)
	defer func() {
		h.metrics.running.Add(-1)
		x.finish(recover())
	}()
	if err := h.admit(x); err != nil {
		x.fail(err)
		return
	}
	if x.status == 0 { // else it was a preflight
		h.next.ServeHTTP(w, x.r)
	}
}

// acquire waits for a place among the requests that may ask a model.
func (h *Handler) acquire(ctx context.Context) (release func(), err error) {
	select {
	case h.queue <- struct{}{}:
	default:
		return nil, &apiError{status: http.StatusTooManyRequests, code: "overloaded", message: "too many requests wait already", retryAfter: time.Second}
	}
	select {
	case h.gate <- struct{}{}:
		return func() { <-h.gate; <-h.queue }, nil
	case <-ctx.Done():
		<-h.queue
		return nil, ctx.Err()
	}
}
