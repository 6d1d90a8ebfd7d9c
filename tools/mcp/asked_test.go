//go:build unix

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mylm/tools/mcp"
)

// A person may take their time over a question of a server: the call that it is about
// goes on waiting.
func TestCallWaitsForAnswer(t *testing.T) {
	t.Parallel()
	for method, params := range map[string]string{
		"elicitation/create":     `{"message":"Which host?","requestedSchema":{"type":"object","properties":{"host":{"type":"string"}}}}`,
		"sampling/createMessage": `{"maxTokens":10,"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{mode: "good", revision: "2026-07-28", answers: map[string]string{"tools/call": `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"` + method + `","params":` + params + `}}}}`}}
			s := mcp.Server{Name: "one", URL: "http://127.0.0.1:1/mcp", HTTP: handled{f.handler(t, false)}}
			asked := func() {
				time.Sleep(time.Hour) // on the clock of the test
				f.answers = nil
			}
			s.Elicit = func(context.Context, string, string, json.RawMessage) (map[string]any, bool, error) {
				asked()
				return map[string]any{"host": "heron"}, true, nil
			}
			s.Sample = func(context.Context, string, mcp.Prompt) (string, error) {
				asked()
				return "hello", nil
			}
			h := hub(t, mcp.Options{Servers: []mcp.Server{s}})
			defer h.Close() // in here
			wantText(t, call(t, registry(t, h), "one__echo", `{"text":"x"}`), "you said x")
		})
	}
}

// before runs ahead of each request that is handled.
type before struct {
	handled
	do func(r *http.Request, body string)
}

func (b before) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if b.do(r, string(body)); r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	return b.handled.RoundTrip(r)
}

// A server that may ask a person still has to list its tools in time.
func TestListBeforeCallIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{mode: "good", revision: "2026-07-28"}
		hang := func(r *http.Request, body string) {
			if strings.Contains(body, `"tools/list"`) {
				<-r.Context().Done()
			}
		}
		s := mcp.Server{Name: "one", URL: "http://127.0.0.1:1/mcp", HTTP: before{handled{f.handler(t, false)}, hang}}
		s.Elicit = func(context.Context, string, string, json.RawMessage) (map[string]any, bool, error) {
			return nil, false, nil
		}
		h := hub(t, mcp.Options{Servers: []mcp.Server{s}})
		defer h.Close() // in here
		began := time.Now()
		wantText(t, call(t, registry(t, h), "one__echo", `{"text":"x"}`), "it did not list its tools in time")
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("it takes %v", took)
		}
	})
}

// While a person thinks about a question of one call, the time of another one that
// began meanwhile does not run out either.
func TestCallBesideQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{mode: "good", revision: "2026-07-28", answers: map[string]string{"tools/call": `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"Which host?","requestedSchema":{"type":"object","properties":{"host":{"type":"string"}}}}}}}}`}}
		asked, thought := make(chan struct{}), make(chan struct{})
		s := mcp.Server{Name: "one", URL: "http://127.0.0.1:1/mcp"}
		s.HTTP = before{handled{f.handler(t, false)}, func(_ *http.Request, body string) {
			if strings.Contains(body, `"second"`) { // it does one thing at a time
				<-thought
			}
		}}
		s.Elicit = func(context.Context, string, string, json.RawMessage) (map[string]any, bool, error) {
			close(asked)
			time.Sleep(time.Hour) // on the clock of the test
			f.answers = nil
			close(thought)
			return map[string]any{"host": "heron"}, true, nil
		}
		h := hub(t, mcp.Options{Servers: []mcp.Server{s}})
		defer h.Close() // in here
		r := registry(t, h)
		first := make(chan struct{})
		go func() {
			defer close(first)
			wantText(t, call(t, r, "one__echo", `{"text":"first"}`), "you said first")
		}()
		<-asked
		wantText(t, call(t, r, "one__echo", `{"text":"second"}`), "you said second")
		<-first
	})
}
