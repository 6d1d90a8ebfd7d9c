package langchain_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mylm/providers"
	"mylm/providers/langchain"
)

// BenchmarkLongReply is the cost of a reply by its length. It has to grow with
// the length, not with its square.
func BenchmarkLongReply(b *testing.B) {
	for _, s := range []fakeAPI{openAIAPI, anthropicAPI} {
		for _, tokens := range []int{16 << 10, 64 << 10, 128 << 10} {
			b.Run(fmt.Sprintf("%s/%dk", s.provider, tokens>>10), func(b *testing.B) {
				event := s.text("word")
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					s.stream(w, s.begin...)
					for range tokens {
						io.WriteString(w, event)
					}
					s.stream(w, s.end("stop", providers.Usage{})...)
				}))
				defer server.Close()
				m, err := langchain.Open(s.provider, langchain.Config{Model: "m", BaseURL: server.URL, Key: testKey})
				if err != nil {
					b.Fatal(err)
				}
				defer m.Close()
				for b.Loop() {
					n := 0
					for c, err := range m.Generate(b.Context(), hello) {
						if err != nil {
							b.Fatal(err)
						}
						n += len(c.Text)
					}
					if n != 4*tokens {
						b.Fatalf("%d bytes came", n)
					}
				}
			})
		}
	}
}

// BenchmarkLongCall is the cost of a call by its length, from a server that says its name
// with each piece, and nothing else of which call it is.
func BenchmarkLongCall(b *testing.B) {
	for _, pieces := range []int{4 << 10, 16 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%dk", pieces>>10), func(b *testing.B) {
			piece := func(args string) string {
				return `data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"write","arguments":"` + args + `"}}]}}]}` + "\n\n"
			}
			body := piece(`{\"text\":\"`) + strings.Repeat(piece("word"), pieces) + piece(`\"}`) + `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"
			server := httptest.NewServer(answers(http.StatusOK, "text/event-stream", body))
			defer server.Close()
			m, err := langchain.Open("openai", langchain.Config{Model: "m", BaseURL: server.URL, Key: testKey})
			if err != nil {
				b.Fatal(err)
			}
			defer m.Close()
			for b.Loop() {
				for _, err := range m.Generate(b.Context(), hello) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkManyChoices is the memory that a reply of empty choices takes.
func BenchmarkManyChoices(b *testing.B) {
	body := `{"choices":[{}` + strings.Repeat(",{}", 2<<20) + "]}"
	server := httptest.NewServer(answers(http.StatusOK, "application/json", body))
	defer server.Close()
	m, err := langchain.Open("openai", langchain.Config{Model: "m", BaseURL: server.URL, Key: testKey})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range m.Generate(b.Context(), hello) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
