package langchain_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"mylm/providers/langchain"
)

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

// TestDeafTransport uses one that ignores the context.
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
	<-b.closed
}
