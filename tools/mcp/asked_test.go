//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
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
