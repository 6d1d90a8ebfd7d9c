package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mylm/protocol"
	"mylm/providers"
	"mylm/providers/calling"
	"mylm/providers/serve"
)

// steady is a model that gives so many tokens at a rate, then its end.
type steady struct {
	tokens int
	pause  time.Duration // after every ten
}

func (s steady) Generate(ctx context.Context, _ providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		for i := range s.tokens {
			if !yield(providers.Chunk{Text: "token "}, nil) {
				return
			}
			if s.pause > 0 && i%10 == 9 {
				select {
				case <-ctx.Done():
					yield(providers.Chunk{}, ctx.Err())
					return
				case <-time.After(s.pause):
				}
			}
		}
		yield(providers.Chunk{Stop: providers.StopEnd, Usage: providers.Usage{Prompt: 9, Output: s.tokens}}, nil)
	}
}

// A whole reply takes memory in proportion to its length.
func TestWholeReplyIsLinear(t *testing.T) {
	allocated := func(words int) uint64 {
		var text strings.Builder
		for i := range words {
			fmt.Fprint(&text, "word", i, " ")
		}
		s := start(t, says(text.String()), serve.Options{})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, surface := range surfaces {
			if resp, body := post(t, s, surface.path, surface.request(false, "hello", nil)); resp.StatusCode != 200 {
				t.Fatal(body)
			}
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := allocated(1000), allocated(16_000); many > 32*few {
		t.Errorf("%d bytes, and %d for 16 times as many words", few, many)
	}
}

// Two hundred streams at once: each client gets its own reply whole, half of them vanish in
// the middle, and nothing of theirs is left, nor does the memory grow.
func TestManyStreams(t *testing.T) {
	s := start(t, steady{tokens: 60, pause: time.Millisecond}, serve.Options{})
	before := runtime.NumGoroutine()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}
	var after [2]uint64
	for round := range after {
		streams(t, s.URL, client)
		client.CloseIdleConnections()
		waitFor(t, func() bool { return runtime.NumGoroutine() <= before+10 })
		after[round] = inUse()
	}
	if after[1] > after[0]+after[0]/2+1<<20 {
		t.Errorf("bytes in use after each round: %v", after)
	}
}

// inUse is the memory in use, in bytes.
func inUse() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// streams is two hundred streams at once.
func streams(t *testing.T, url string, client *http.Client) {
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			api := surfaces[i%len(surfaces)]
			b, _ := json.Marshal(api.request(true, "x", nil))
			resp, err := client.Post(url+api.path, "application/json", strings.NewReader(string(b)))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if i%8 >= 4 { // it leaves
				_, _ = bufio.NewReader(resp.Body).ReadString('\n')
				return
			}
			body, err := io.ReadAll(resp.Body)
			if n := strings.Count(api.streamed(t, string(body)).text, "token"); n != 60 || err != nil {
				t.Errorf("%s: %d tokens, %v", api.name, n, err)
			}
		})
	}
	all.Wait()
}

// TestSoak is fifty thousand requests, of which some are cancelled, some fail and some are
// corrected. The memory does not grow.
func TestSoak(t *testing.T) {
	if os.Getenv("MYLM_SLOW") == "" {
		t.Skip("set MYLM_SLOW=1 to run it")
	}
	call := protocol.EncodeCall("get_weather", json.RawMessage(`{"city":"Bern"}`))
	replies := []string{"Hello", "I look.\n" + call, "<think>hm</think>Yes", "<tool_code>\n<name>get_weather</name>\n<parameters>{city so}</parameters>\n</tool_code>"}
	m := &fakes{replies: replies}
	h := serve.New(serve.Options{Open: func(context.Context, string) (*calling.Model, error) { return &calling.Model{Model: m}, nil }})
	var first uint64
	for i := range 50_000 {
		s := surfaces[i%len(surfaces)]
		b, _ := json.Marshal(s.request(i%2 == 0, fmt.Sprint(i), nil))
		r := httptest.NewRequest("POST", s.path, strings.NewReader(string(b)))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		if i%7 == 0 {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			r = r.WithContext(ctx)
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
		if i == 10_000 {
			first = inUse()
		}
	}
	if last := inUse(); last > first+first/2 {
		t.Errorf("%d bytes in use after 10,000 requests, %d after 50,000", first, last)
	}
	if n := runtime.NumGoroutine(); n > 20 {
		t.Errorf("%d goroutines", n)
	}
}

// fakes is a model whose replies follow one another for ever.
type fakes struct {
	replies []string
	mu      sync.Mutex
	n       int
}

func (f *fakes) Generate(ctx context.Context, q providers.Request) iter.Seq2[providers.Chunk, error] {
	f.mu.Lock()
	f.n++
	text := f.replies[f.n%len(f.replies)]
	f.mu.Unlock()
	return cutter{text, []byte{6}}.Generate(ctx, q)
}

// BenchmarkOverhead compares a stream of a thousand tokens through the handler with one of
// the model alone.
func BenchmarkOverhead(b *testing.B) {
	m := steady{tokens: 1000}
	model := &calling.Model{Model: m}
	s := httptest.NewServer(serve.New(serve.Options{Open: func(context.Context, string) (*calling.Model, error) { return model, nil }}))
	defer s.Close()
	for _, api := range surfaces {
		body, _ := json.Marshal(api.request(true, "x", nil))
		b.Run(api.name, func(b *testing.B) {
			for b.Loop() {
				resp, err := s.Client().Post(s.URL+api.path, "application/json", strings.NewReader(string(body)))
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	b.Run("request", func(b *testing.B) { // of fifty tools and 50 KB, and a short answer
		var tools []any
		for i := range 50 {
			tools = append(tools, object{"type": "function", "function": object{"name": fmt.Sprintf("tool_%d", i), "description": strings.Repeat("What it does. ", 40), "parameters": parameters}})
		}
		model := &calling.Model{Model: steady{tokens: 1}}
		h := serve.New(serve.Options{Open: func(context.Context, string) (*calling.Model, error) { return model, nil }})
		body, _ := json.Marshal(surfaces[0].request(true, strings.Repeat("A long question. ", 1000), object{"tools": tools}))
		for b.Loop() {
			ask(h, surfaces[0].path, string(body))
		}
	})
}
