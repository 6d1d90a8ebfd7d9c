//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkChatKeystroke measures how long a key takes to the screen while a reply
// comes with 200 tokens a second.
func BenchmarkChatKeystroke(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/api/chat" {
			(&requests{}).ServeHTTP(w, q)
			return
		}
		for i := 0; q.Context().Err() == nil; i++ {
			word := fmt.Sprintf("word%d ", i)
			if i%40 == 39 {
				word = "end.\\n\\n"
			}
			fmt.Fprintf(w, "{\"message\":{\"role\":\"assistant\",\"content\":\"%s\"},\"done\":false}\n", word)
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	}))
	b.Cleanup(server.Close) // after that of the conversation
	cmd := command(b, nil, "chat", "-m", "test")
	cmd.Env = append(cmd.Env, "OLLAMA_HOST="+server.URL)
	s := chatOn(b, cmd, 100, 30)
	s.types("go\r")
	s.shows("word50")
	var took []time.Duration
	typed := ""
	for b.Loop() {
		if len(typed) == 60 {
			s.types("\x15")
			typed = ""
			s.shows("\n>\n")
		}
		typed += string(rune('a' + len(took)%26))
		start := time.Now()
		s.types(typed[len(typed)-1:])
		for !strings.Contains(s.screen(), "\n> "+typed) {
			time.Sleep(200 * time.Microsecond)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
}
