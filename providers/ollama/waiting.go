package ollama

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"mylm/providers"
)

// How often the server is asked what it is doing while a reply does not begin:
// late enough that a model in memory has mostly answered, often enough to follow
// a model that loads for a minute.
const (
	firstLook = 500 * time.Millisecond
	nextLook  = 2 * time.Second
	lookTime  = time.Second // for the server to say it
)

// waiting reports what the server is doing until a reply begins: it sends nothing
// at all while it loads a model and reads a prompt.
type waiting struct {
	report func(string)                 // called by the goroutine that makes the request
	look   func(context.Context) string // asks the server; "": unknown
}

// waiting is for one request of the model; nil without a Status to call.
func (m *Model) waiting(r providers.Request) *waiting {
	if r.Status == nil {
		return nil
	}
	size := 0
	for _, msg := range r.Messages {
		size += len(msg.Text)
	}
	n := strconv.Itoa(size / bytesPerToken)
	for i := len(n) - 3; i > 0; i -= 3 {
		n = n[:i] + "," + n[i:]
	}
	reading := "reading about " + n + " tokens"
	return &waiting{report: r.Status, look: func(ctx context.Context) string {
		running, err := m.client.running(ctx)
		if err != nil {
			return ""
		}
		switch _, listed := running.window(m.name); {
		case !listed:
			return "loading " + m.name
		case m.warm.Load():
			return reading
		}
		return "loading " + m.name + ", or " + reading // a model is listed before it is ready
	}}
}

// bytesPerToken is what English and code mostly have.
const bytesPerToken = 4

// roundTrip makes a request and reports the server's status while it sends nothing.
func (w *waiting) roundTrip(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	if w == nil {
		return next.RoundTrip(req)
	}
	type answer struct {
		resp *http.Response
		err  error
	}
	answered, states := make(chan answer, 1), make(chan string)
	go func() {
		resp, err := next.RoundTrip(req)
		answered <- answer{resp, err}
	}()
	ctx, cancel := context.WithCancel(req.Context())
	go func() {
		defer close(states)
		for wait := firstLook; ; wait = nextLook {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
			look, done := context.WithTimeout(ctx, lookTime)
			text := w.look(look)
			done()
			select {
			case states <- text:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() {
		cancel()
		for range states { // until the last look has ended
		}
	}()
	last := ""
	for {
		select {
		case a := <-answered:
			return a.resp, a.err
		case text := <-states:
			if text != "" && text != last {
				last = text
				w.report(text)
			}
		}
	}
}
