package langchain_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tmc/langchaingo/httputil"
	"github.com/tmc/langchaingo/llms"

	"mylm/providers"
	"mylm/providers/langchain"
)

// odd asks the way that langchaingo's odder backends do.
type odd struct {
	name         string
	ownClient    bool // uses langchaingo's own
	dropsContext bool
	losesLines   bool
}

func (o odd) open(t *testing.T, base string) *langchain.Model {
	t.Helper()
	c := langchain.Config{Model: "m", BaseURL: base, Key: testKey}
	m, err := langchain.OpenOdd(c, o.ownClient, o.dropsContext, func(base string, client *http.Client) llms.Model {
		if o.ownClient {
			client = httputil.DefaultClient
		}
		return o.model(base, client)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func (o odd) model(base string, client *http.Client) llms.Model {
	return model(func(ctx context.Context, messages []llms.MessageContent, options llms.CallOptions) (*llms.ContentResponse, error) {
		if o.dropsContext {
			ctx = context.Background()
		}
		body, _ := json.Marshal(messages[0].Parts[0].(llms.TextContent).Text)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/ask?key="+testKey, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		if o.losesLines {
			lines.Scan()
		}
		for lines.Scan() {
			if err := options.StreamingFunc(ctx, lines.Bytes()); err != nil {
				return nil, err
			}
		}
		return response(llms.ContentChoice{}), nil
	})
}

var odds = []odd{{name: "own client", ownClient: true}, {name: "no context", dropsContext: true}}

func TestOddBackends(t *testing.T) {
	for _, o := range odds {
		t.Run(o.name, func(t *testing.T) {
			heard := make(chan string, 10)
			second := make(chan struct{})
			var under atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if under.Add(1) == 2 {
					close(second)
				}
				defer under.Add(-1)
				b, _ := io.ReadAll(r.Body)
				heard <- r.URL.RawQuery + r.Header.Get("Authorization") + string(b)
				select { // time enough for another call to come, if it may
				case <-second:
				case <-time.After(20 * time.Millisecond):
				}
				io.WriteString(w, "{\"say\":\"y\"}\n{\"say\":\"es\"}\n{\"done\":true}\n")
			}))
			defer server.Close()
			m := o.open(t, server.URL)
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() {
					text, _, last, err := hear(t, m, hello)
					if text != "yes" || last.Stop != providers.StopEnd || err != nil {
						t.Errorf("%q, %+v, %v", text, last, err)
					}
				})
			}
			all.Wait()
			if got, want := <-heard, "Bearer "+testKey+`"hello"`; got != want {
				t.Errorf("the server hears %q, want %q", got, want)
			}
			select {
			case <-second:
				if o.dropsContext {
					t.Error("two calls at once cannot be told apart")
				}
			default:
				if !o.dropsContext {
					t.Error("calls wait for each other")
				}
			}
		})
	}
}

func TestOddBackendsLeave(t *testing.T) {
	for _, o := range odds {
		t.Run(o.name, func(t *testing.T) {
			gone := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				io.WriteString(w, "{\"say\":\"y\"}\n")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
				close(gone)
			}))
			defer server.Close()
			for range o.open(t, server.URL).Generate(t.Context(), hello) {
				break
			}
			select {
			case <-gone:
			case <-time.After(200 * time.Millisecond):
				t.Error("the server does not see that the caller has gone")
			}
		})
	}
}

// TestOddBackendsStay proves that no client carries a key elsewhere.
func TestOddBackendsStay(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request goes elsewhere") }))
	defer elsewhere.Close()
	here := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer here.Close()
	for _, o := range odds {
		_, _, _, err := hear(t, o.open(t, here.URL), hello)
		checkError(t, err, providers.Error{Kind: providers.Unreachable, Status: 307, Permanent: true}, elsewhere.URL, "address")
	}
}

func TestLostText(t *testing.T) {
	server := httptest.NewServer(answers(200, "application/x-ndjson", "{\"say\":\"y\"}\n{\"say\":\"es\"}\n{\"done\":true}\n"))
	defer server.Close()
	_, _, last, err := hear(t, odd{losesLines: true}.open(t, server.URL), hello)
	if last.Stop != "" {
		t.Errorf("half a reply passed for a whole one")
	}
	checkError(t, err, providers.Error{Kind: providers.Interrupted}, "2 of 3 bytes", "again")
}

// body is one that only Close ends.
type body struct {
	sync.Once
	closed chan struct{}
}

func (b *body) Read([]byte) (int, error) {
	<-b.closed
	return 0, io.ErrClosedPipe
}

func (b *body) Close() error {
	b.Do(func() { close(b.closed) })
	return nil
}

// TestDeafTransport is for one that does not heed the context.
func TestDeafTransport(t *testing.T) {
	b := &body{closed: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	next := roundTrip(func(*http.Request) (*http.Response, error) {
		time.AfterFunc(0, cancel)
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: b}, nil
	})
	m := open(t, "openai", langchain.Config{Model: "m", Key: testKey, Transport: next})
	for range m.Generate(ctx, hello) {
	}
	select {
	case <-b.closed:
	case <-time.After(200 * time.Millisecond):
		t.Error("the body is not closed")
	}
}
