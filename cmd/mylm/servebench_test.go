//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// tokensPerSecond is the rate of the server that BenchmarkServed compares with.
const tokensPerSecond = 5000

// newPaced is an Ollama that answers with as many tokens as the question ends in, at
// tokensPerSecond.
func newPaced(b *testing.B) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/chat":
		case "/api/version":
			_, _ = io.WriteString(w, `{"version":"0.32.15"}`)
			return
		case "/api/show":
			_, _ = io.WriteString(w, `{"capabilities":["completion"],"model_info":{"general.architecture":"x","x.context_length":65536}}`)
			return
		default:
			_, _ = io.WriteString(w, `{"models":[{"name":"m:latest","model":"m:latest"}]}`)
			return
		}
		var q struct {
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			b.Error(err)
			return
		}
		question := strings.Fields(q.Messages[len(q.Messages)-1].Content)
		n, _ := strconv.Atoi(question[len(question)-1])
		w.Header().Set("Content-Type", "application/x-ndjson")
		began := time.Now()
		for i := range n {
			if wait := time.Until(began.Add(time.Duration(i) * time.Second / tokensPerSecond)); wait > 0 {
				time.Sleep(wait)
			}
			_, _ = io.WriteString(w, piece("content", fmt.Sprintf("token%d ", i))) // one that repeats itself would be stopped
			w.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(w, lastPiece)
	}))
	b.Cleanup(s.Close)
	return s
}

// BenchmarkServed asks a server in Ollama's wire format alone and through mylm serve, in
// turns: how much longer a request of one token takes, and a stream of 5,000.
func BenchmarkServed(b *testing.B) {
	backend := newPaced(b)
	base, stop := serving(b, nil, "--host", backend.URL)
	defer stop()
	tool := func(i int) map[string]any {
		return map[string]any{"type": "function", "function": map[string]any{
			"name": fmt.Sprintf("tool_%d", i), "description": strings.Repeat("What it does. ", 40),
			"parameters": map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string", "description": "where"}}},
		}}
	}
	var many []any
	for i := range 50 {
		many = append(many, tool(i))
	}
	for _, c := range []struct {
		name   string
		prompt string
		tools  []any
		tokens int
	}{
		{"one token", "Hello.", many[:1], 1},
		{"one token, 50 tools, 46 KB", strings.Repeat("A long question. ", 1000), many, 1},
		{"5,000 tokens", "Hello.", many[:1], 5000},
	} {
		b.Run(c.name, func(b *testing.B) {
			body, _ := json.Marshal(map[string]any{
				"model": "m", "tools": c.tools, "messages": []any{map[string]any{"role": "user", "content": c.prompt + fmt.Sprintf(" Tokens: %d", c.tokens)}},
			})
			ask := func(base string) time.Duration {
				began := time.Now()
				resp, err := http.Post(base+"/api/chat", "application/json", strings.NewReader(string(body)))
				if err != nil {
					b.Fatal(err)
				}
				defer resp.Body.Close()
				tokens := 0
				for in := bufio.NewScanner(resp.Body); in.Scan(); {
					tokens += strings.Count(in.Text(), "token")
				}
				if took := time.Since(began); tokens == c.tokens {
					return took
				}
				b.Fatalf("%s: %d tokens", base, tokens)
				return 0
			}
			ask(backend.URL)
			ask(base)
			var alone, served []time.Duration
			for b.Loop() {
				alone, served = append(alone, ask(backend.URL)), append(served, ask(base))
			}
			slices.Sort(alone)
			slices.Sort(served)
			a, s := alone[len(alone)/2], served[len(served)/2]
			b.ReportMetric((s-a).Seconds()*1000, "ms-more")
			b.ReportMetric(100*(s.Seconds()/a.Seconds()-1), "%-more")
		})
	}
}
