package ollama_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mylm/providers"
	"mylm/providers/ollama"
)

// llama8B is what an 8-billion model shows: 128 KiB of cache a token.
const llama8B = `"llama.block_count":32,"llama.attention.head_count":32,"llama.attention.head_count_kv":8,"llama.embedding_length":4096`

func shown(trained, more string) string {
	return `{"capabilities":["completion"],"model_info":{"general.architecture":"llama","llama.context_length":` + trained + `,` + more + `}}`
}

func TestWindow(t *testing.T) {
	small := `"llama.block_count":24,"llama.attention.head_count":14,"llama.attention.head_count_kv":2,"llama.embedding_length":896`
	tests := []struct {
		name    string
		loaded  string // the window in force; "": not loaded
		show    string
		options ollama.ModelOptions
		want    float64 // 0: none is sent
		info    int     // Info.Window
	}{
		{"loaded under a name in capitals", "16384", shown("131072", llama8B), ollama.ModelOptions{}, 16384, 16384},
		{"loaded with enough", "16384", shown("131072", llama8B), ollama.ModelOptions{}, 16384, 16384},
		{"loaded with too little", "4096", shown("131072", llama8B), ollama.ModelOptions{}, 8192, 8192},
		{"loaded, but trained for less", "2048", shown("2048", llama8B), ollama.ModelOptions{}, 2048, 2048},
		{"not loaded", "", shown("131072", llama8B), ollama.ModelOptions{}, 8192, 8192},
		{"small cache", "", shown("131072", small), ollama.ModelOptions{}, 65536, 65536},
		{"small cache, trained for less", "", shown("40960", small), ollama.ModelOptions{}, 40960, 40960},
		{"cache unknown", "", shown("131072", `"llama.block_count":null`), ollama.ModelOptions{}, 8192, 8192},
		{"limit unknown", "", `{"capabilities":["completion"],"model_info":{}}`, ollama.ModelOptions{}, 8192, 8192},
		{"Modelfile", "", `{"parameters":"stop \"x\"\nnum_ctx                        24576","model_info":{}}`, ollama.ModelOptions{}, 24576, 24576},
		{"Modelfile too small", "", `{"parameters":"num_ctx 2048","model_info":{}}`, ollama.ModelOptions{}, 8192, 8192},
		{"option", "4096", shown("131072", llama8B), ollama.ModelOptions{NumCtx: 12000}, 12000, 12000},
		{"option beyond the limit", "4096", shown("8192", llama8B), ollama.ModelOptions{NumCtx: 99999}, 99999, 8192},
		{"on another server", "", `{"remote_host":"https://ollama.com","model_info":{"general.architecture":"x","x.context_length":262144}}`, ollama.ModelOptions{}, 0, 262144},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, lines(lastLine))
			f.show = says(tt.show)
			f.ps = says(`{"models":[{"name":"other:latest","context_length":32768}]}`)
			if tt.loaded != "" {
				name := "m:latest"
				if strings.Contains(tt.name, "capitals") {
					name = "M:latest"
				}
				f.ps = says(`{"models":[{"name":"` + name + `","context_length":` + tt.loaded + `}]}`)
			}
			m := f.model(t, tt.options)
			for range 2 {
				if _, _, _, err := hear(t, m, providers.Request{}); err != nil {
					t.Fatal(err)
				}
				f.ps = says(`{"models":[]}`) // a later state changes nothing
			}
			for i, sent := range f.sent() {
				got, _ := sent["options"].(map[string]any)["num_ctx"].(float64)
				if got != tt.want {
					t.Errorf("call %d sent num_ctx %v, want %v", i, got, tt.want)
				}
			}
			if info, err := m.Info(t.Context()); err != nil || info.Window != tt.info {
				t.Errorf("Info = %+v, %v, want window %d", info, err, tt.info)
			}
		})
	}
}

func TestFewRequests(t *testing.T) {
	tests := []struct {
		name     string
		ps       string
		options  ollama.ModelOptions
		ps1, sh1 int
	}{
		{"loaded", `{"models":[{"name":"m:latest","context_length":8192}]}`, ollama.ModelOptions{}, 1, 0},
		{"not loaded", `{"models":[]}`, ollama.ModelOptions{}, 1, 1},
		{"told", `{"models":[]}`, ollama.ModelOptions{NumCtx: 8192}, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, lines(lastLine))
			f.ps = says(tt.ps)
			m := f.model(t, tt.options)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() { hear(t, m, providers.Request{}) })
			}
			wg.Wait()
			if ps, sh := f.count("/api/ps"), f.count("/api/show"); ps != tt.ps1 || sh != tt.sh1 {
				t.Errorf("four calls looked at ps %d and show %d times, want %d and %d", ps, sh, tt.ps1, tt.sh1)
			}
		})
	}
}

func TestImpossibleTemperature(t *testing.T) {
	f := newFake(t, lines(lastLine))
	for _, temperature := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, _, _, err := hear(t, f.model(t, ollama.ModelOptions{}), providers.Request{Temperature: &temperature})
		check(t, err, providers.Error{Kind: providers.BadRequest}, "temperature", "")
	}
}

// Servers that imitate Ollama begin with a byte order mark, or keep a
// connection alive with empty lines.
func TestStreamWithEmptyLines(t *testing.T) {
	f := newFake(t, lines("\ufeff"+piece("a"), "", "  \t", "\r", " "+piece(" b"), strings.Repeat("\n", 1000), lastLine, ""))
	text, _, last, err := hear(t, f.model(t, ollama.ModelOptions{}), providers.Request{})
	if text != "a b" || last.Stop != providers.StopEnd || err != nil {
		t.Errorf("%q, %+v, %v", text, last, err)
	}
}

func TestFailedLookUpIsNotKept(t *testing.T) {
	f := newFake(t, lines(lastLine))
	good := f.ps
	f.ps = refuses(500, `{"error":"not yet"}`)
	m := f.model(t, ollama.ModelOptions{})
	if _, _, _, err := hear(t, m, providers.Request{}); providers.KindOf(err) != providers.ServerFault {
		t.Fatalf("error %v, want the look-up's", err)
	}
	f.ps = good
	if _, _, _, err := hear(t, m, providers.Request{}); err != nil {
		t.Errorf("after the server recovered: %v", err)
	}
}

func TestCancelDuringLookUp(t *testing.T) {
	f := newFake(t, lines(lastLine))
	arrived := make(chan struct{}, 1)
	f.ps = func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	}
	m := f.model(t, ollama.ModelOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := make(chan error, 2)
	for range 2 { // one looks, the other waits for it
		go func() {
			_, err := m.Info(ctx)
			errs <- err
		}()
	}
	<-arrived
	cancel()
	for range 2 {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want the context's", err)
		}
	}
}

func TestCancelWhileAnotherLooksUp(t *testing.T) {
	f := newFake(t, lines(lastLine))
	arrived, release := make(chan struct{}), make(chan struct{})
	good := f.show
	f.show = func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-release
		good(w, r)
	}
	m := f.model(t, ollama.ModelOptions{})
	first := make(chan error, 1)
	go func() {
		_, err := m.Info(t.Context())
		first <- err
	}()
	<-arrived
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := m.Info(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Errorf("the one who looked: %v", err)
	}
}

func TestCancelBeatsWhatWasReadAhead(t *testing.T) {
	all := piece("one") + "\n" + piece("two") + "\n" + lastLine + "\n"
	f := newFake(t, says(all))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var heard []string
	var end error
	for c, err := range f.model(t, ollama.ModelOptions{}).Generate(ctx, user("hello")) {
		heard, end = append(heard, c.Text), err
		cancel()
	}
	if len(heard) != 2 || heard[0] != "one" || !errors.Is(end, context.Canceled) {
		t.Errorf("heard %q and %v, want one chunk and the context's error", heard, end)
	}
}

func TestWhatIsSent(t *testing.T) {
	zero, keep := 0.0, 90*time.Second
	forever := time.Duration(-1)
	user := []any{map[string]any{"role": "user", "content": "hello"}}
	tests := []struct {
		name    string
		r       providers.Request
		options ollama.ModelOptions
		want    map[string]any // beside what is always sent
		opts    map[string]any // beside num_ctx
	}{
		{name: "nothing set"},
		{name: "thinking", r: providers.Request{Think: providers.ThinkOn}, want: map[string]any{"think": true}},
		{name: "no thinking", r: providers.Request{Think: providers.ThinkOff}, want: map[string]any{"think": false}},
		{name: "sampling", r: providers.Request{Temperature: &zero, MaxTokens: 5}, opts: map[string]any{"temperature": 0.0, "num_predict": 5.0}},
		{name: "schema", r: providers.Request{Format: []byte(`{"type":"object"}`)}, want: map[string]any{"format": map[string]any{"type": "object"}}},
		{name: "keep alive", options: ollama.ModelOptions{KeepAlive: &keep}, want: map[string]any{"keep_alive": "1m30s"}},
		{name: "keep for ever", options: ollama.ModelOptions{KeepAlive: &forever}, want: map[string]any{"keep_alive": -1.0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, lines(lastLine))
			if _, _, _, err := hear(t, f.model(t, tt.options), tt.r); err != nil {
				t.Fatal(err)
			}
			options := map[string]any{"num_ctx": 8192.0}
			for k, v := range tt.opts {
				options[k] = v
			}
			want := map[string]any{"model": "m", "messages": user, "truncate": false, "shift": false, "options": options}
			for k, v := range tt.want {
				want[k] = v
			}
			if got := f.sent()[0]; !reflect.DeepEqual(got, want) {
				t.Errorf("sent %v\nwant %v", got, want)
			}
		})
	}
}

func TestBadRequestsAreNotSent(t *testing.T) {
	f := newFake(t, lines(lastLine))
	for name, call := range map[string]func() error{
		"thinking": func() error {
			_, _, _, err := hear(t, f.model(t, ollama.ModelOptions{}), providers.Request{Think: "sometimes"})
			return err
		},
		"length": func() error {
			_, _, _, err := hear(t, f.model(t, ollama.ModelOptions{}), providers.Request{MaxTokens: -1})
			return err
		},
		"window": func() error {
			_, _, _, err := hear(t, f.model(t, ollama.ModelOptions{NumCtx: -1}), providers.Request{})
			return err
		},
	} {
		if err := call(); providers.KindOf(err) != providers.BadRequest {
			t.Errorf("%s: error %v, want a bad request", name, err)
		}
	}
	if len(f.sent()) != 0 {
		t.Error("an impossible request was sent")
	}
}

func TestLastLine(t *testing.T) {
	tests := []struct {
		name, last string
		want       providers.Chunk
	}{
		{"text on it", `{"message":{"content":"!"},"done":true,"done_reason":"stop"}`, providers.Chunk{Text: "!", Stop: "stop"}},
		{"thought on it", `{"message":{"thinking":"!"},"done":true,"done_reason":"length"}`, providers.Chunk{Thought: "!", Stop: "length"}},
		{"no reason", `{"done":true}`, providers.Chunk{Stop: "stop"}},
		{"other reason", `{"done":true,"done_reason":"load"}`, providers.Chunk{Stop: "load"}},
		{"counts", `{"done":true,"done_reason":"stop","load_duration":3,"prompt_eval_count":7,"prompt_eval_duration":4,"eval_count":2,"eval_duration":5}`,
			providers.Chunk{Stop: "stop", Usage: providers.Usage{Prompt: 7, Output: 2, Load: 3, PromptTime: 4, OutputTime: 5}}},
		{"counts as other programs write them", `{"done":true,"done_reason":"stop","load_duration":3.0,"prompt_eval_count":7,"prompt_eval_duration":4e0,"total_duration":"1s","eval_count":2.5,"eval_duration":5}`,
			providers.Chunk{Stop: "stop", Usage: providers.Usage{Prompt: 7, Output: 2, Load: 3, PromptTime: 4, OutputTime: 5}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, lines(piece("hi"), tt.last, piece("too late"), `{"error":"too late"}`))
			text, thought, last, err := hear(t, f.model(t, ollama.ModelOptions{}), providers.Request{})
			last.Text, last.Thought = strings.TrimPrefix(text, "hi"), thought
			if err != nil || last != tt.want {
				t.Errorf("end %+v, %v, want %+v", last, err, tt.want)
			}
		})
	}
}

// TestServerCalls holds that a call which the server's own parser took out of
// the text is not lost.
func TestServerCalls(t *testing.T) {
	f := newFake(t, lines(piece("I will look."),
		`{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"index":0,"name":"list_dir","arguments":{"path":"docs"}}},{"function":{"name":"read_file","arguments":{}}}]},"done":false}`, lastLine))
	var got []providers.ServerCall
	for c, err := range f.model(t, ollama.ModelOptions{}).Generate(t.Context(), user("hello")) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Call != nil {
			got = append(got, *c.Call)
		}
	}
	if want := []providers.ServerCall{{Name: "list_dir", Args: `{"path":"docs"}`}, {Name: "read_file", Args: `{}`}}; !slices.Equal(got, want) {
		t.Errorf("calls %+v, want %+v", got, want)
	}
}

// TestManyAtOnce holds what a reply in flight takes, and that connections serve
// more than one.
func TestManyAtOnce(t *testing.T) {
	const many, rounds = 50, 3
	var arrived sync.WaitGroup
	release := make(chan struct{})
	f := newFake(t, nil)
	f.chat = func(w http.ResponseWriter, r *http.Request) {
		lines(piece("a"))(w, r)
		arrived.Done()
		<-release
		lines(lastLine)(w, r)
	}
	var callers sync.Map
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		callers.Store(r.RemoteAddr, true)
		f.ServeHTTP(w, r)
	})
	m := f.model(t, ollama.ModelOptions{NumCtx: 8192})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		arrived.Add(many)
		var done sync.WaitGroup
		for range many {
			done.Go(func() {
				if _, _, _, err := hear(t, m, providers.Request{}); err != nil {
					t.Error(err)
				}
			})
		}
		arrived.Wait()
		for range many {
			release <- struct{}{}
		}
		done.Wait()
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / (many * rounds); each > 1<<20 {
		t.Errorf("a reply takes %d KiB", each>>10)
	}
	connections := 0
	callers.Range(func(_, _ any) bool { connections++; return true })
	if connections > 2*many { // a connection is closed if its reply does not end soon
		t.Errorf("%d connections for %d calls at once", connections, many)
	}
}

func TestServerKeepsReplyOpen(t *testing.T) {
	f := newFake(t, nil)
	f.chat = func(w http.ResponseWriter, r *http.Request) {
		lines(piece("hi"), lastLine)(w, r)
		f.hang(r)
	}
	text, _, last, err := hear(t, f.model(t, ollama.ModelOptions{}), providers.Request{})
	if err != nil || text != "hi" || last.Stop != providers.StopEnd {
		t.Errorf("reply %q %+v %v", text, last, err)
	}
}

func TestConnectionIsKept(t *testing.T) {
	f := newFake(t, lines(piece("hi"), lastLine))
	var callers sync.Map
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		callers.Store(r.RemoteAddr, true)
		f.ServeHTTP(w, r)
	})
	m := f.model(t, ollama.ModelOptions{})
	for range 3 {
		if _, _, _, err := hear(t, m, providers.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	connections := 0
	callers.Range(func(_, _ any) bool { connections++; return true })
	if connections != 1 {
		t.Errorf("three calls made %d connections, want 1", connections)
	}
}

func TestStatus(t *testing.T) {
	tests := []struct{ ps, want string }{
		{`{"models":[]}`, "loading m"},
		{`{"models":[{"name":"m:latest","context_length":4096}]}`, "loading m"}, // it is loaded again
		{`{"models":[{"name":"m:latest","context_length":8192}]}`, ""},
	}
	for _, tt := range tests {
		f := newFake(t, lines(lastLine))
		f.ps = says(tt.ps)
		var said []string
		r := providers.Request{Status: func(s string) { said = append(said, s) }}
		if _, _, _, err := hear(t, f.model(t, ollama.ModelOptions{}), r); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(said, "|"); got != tt.want {
			t.Errorf("with %s: status %q, want %q", tt.ps, got, tt.want)
		}
	}
}

func TestParseKeepAlive(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"10m": 10 * time.Minute, "1h30m": 90 * time.Minute, "300": 300 * time.Second, "0": 0, "-1": -time.Second, "-5m": -5 * time.Minute,
	} {
		if got, err := ollama.ParseKeepAlive(in); err != nil || got != want {
			t.Errorf("ParseKeepAlive(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "soon", "99999999999999999", "9999999999h", "10 m"} {
		if got, err := ollama.ParseKeepAlive(in); err == nil {
			t.Errorf("ParseKeepAlive(%q) = %v, want an error", in, got)
		}
	}
}
