package scripted_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mylm/providers"
	"mylm/providers/providerstest"
	"mylm/providers/scripted"
)

func TestConformance(t *testing.T) {
	kinds := []providers.Kind{providers.Unreachable, providers.RateLimited, providers.Overflow, providers.ServerFault, providers.Interrupted}
	providerstest.Run(t, providerstest.Backend{
		Open: func(_ *testing.T, r providerstest.Reply) providerstest.Rig {
			reply := scripted.Reply{
				Thought: strings.Join(r.Thought, ""), Text: strings.Join(r.Text, ""),
				Stop: r.Stop, Usage: r.Usage, Chunk: 3, Cut: r.Cut, Hang: r.Hang,
			}
			if r.Fail != "" {
				reply.Err = &providers.Error{Kind: r.Fail, Message: "scripted"}
			}
			m := scripted.New(reply)
			m.Loop = true
			return providerstest.Rig{Model: m, Requests: m.Requests}
		},
		Thoughts: true,
		Usage:    true,
		Fails:    kinds,
		Breaks:   kinds,
	})
}

// collect joins what one call brings.
func collect(ctx context.Context, m providers.Model) (text, thought string, pieces int, last providers.Chunk, err error) {
	for c, e := range m.Generate(ctx, providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "hi"}}}) {
		if e != nil {
			return text, thought, pieces, last, e
		}
		if c.Text+c.Thought != "" {
			pieces++
		}
		text, thought, last = text+c.Text, thought+c.Thought, c
	}
	return text, thought, pieces, last, nil
}

func TestRepliesInOrderAndThenNone(t *testing.T) {
	m := scripted.Say("one", "two", "three")
	for _, want := range []string{"one", "two", "three"} {
		if text, _, _, last, err := collect(t.Context(), m); text != want || last.Stop != providers.StopEnd || err != nil {
			t.Errorf("got %q, %q, %v; want %q", text, last.Stop, err, want)
		}
	}
	_, _, _, _, err := collect(t.Context(), m)
	var e *providers.Error
	if !errors.As(err, &e) || e.Kind != providers.BadRequest || !e.Permanent || e.Temporary() || e.Error() != "the script has no reply left (3 were used)" {
		t.Errorf("err = %#v", err)
	}
	if n := len(m.Requests()); n != 4 {
		t.Errorf("%d requests recorded, want 4", n)
	}
}

func TestRequestsAreCopies(t *testing.T) {
	m := scripted.Say("x")
	messages := []providers.Message{{Role: providers.User, Text: "before"}}
	for range m.Generate(t.Context(), providers.Request{Messages: messages}) {
	}
	messages[0].Text = "after"
	if got := m.Requests()[0].Messages[0].Text; got != "before" {
		t.Errorf("recorded %q", got)
	}
}

func TestChunks(t *testing.T) {
	for _, size := range []int{0, 1, 2, 100} {
		m := scripted.New(scripted.Reply{Thought: "hm", Text: "日本 ok", Chunk: size})
		text, thought, pieces, _, err := collect(t.Context(), m)
		if text != "日本 ok" || thought != "hm" || err != nil {
			t.Errorf("chunk %d: %q, %q, %v", size, text, thought, err)
		}
		if want := map[int]int{0: 2, 1: 7, 2: 5, 100: 2}[size]; pieces != want {
			t.Errorf("chunk %d: %d pieces, want %d", size, pieces, want)
		}
	}
}

func TestHangEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		text, _, _, _, err := collect(ctx, scripted.New(scripted.Reply{Text: "half", Hang: true}))
		if text != "half" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%q, %v", text, err)
		}
	})
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if _, _, _, _, err := collect(t.Context(), scripted.New(scripted.Reply{Delay: time.Hour})); err != nil || time.Since(start) != time.Hour {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, _, _, _, err := collect(ctx, scripted.New(scripted.Reply{Delay: time.Hour})); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v", err)
		}
	})
}

func TestConcurrentRunsShareTheScript(t *testing.T) {
	var texts []string
	for i := range 50 {
		texts = append(texts, fmt.Sprintf("%02d", i))
	}
	m := scripted.Say(texts...)
	got := make([]string, len(texts))
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i], _, _, _, _ = collect(context.Background(), m) })
	}
	wg.Wait()
	slices.Sort(got)
	if !slices.Equal(got, texts) || len(m.Requests()) != len(texts) {
		t.Errorf("got %q and %d requests", got, len(m.Requests()))
	}
}

func TestDiscardAndLoop(t *testing.T) {
	m := scripted.Say("a", "b")
	m.Loop, m.Discard = true, true
	var all string
	for range 5 {
		text, _, _, _, err := collect(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		all += text
	}
	if all != "ababa" || len(m.Requests()) != 0 {
		t.Errorf("%q, %d requests", all, len(m.Requests()))
	}
	empty := scripted.New()
	empty.Loop = true
	if _, _, _, _, err := collect(t.Context(), empty); providers.KindOf(err) != providers.BadRequest {
		t.Errorf("an empty script: %v", err)
	}
}

const script = `# a comment
=== reply
I will look.

<tool_code></tool_code>
=== thought
hm
=== reply stop=length prompt=120 output=8 chunk=4
\=== cut
=== reply error=rate_limited message="slow \"down\"" hint="wait"
=== reply cut
half
=== reply
`

func TestLoad(t *testing.T) {
	for name, text := range map[string]string{"lf": script, "crlf": strings.ReplaceAll(script, "\n", "\r\n")} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "script.txt")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			m, err := scripted.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			end := text[strings.Index(text, "# a comment")+len("# a comment") : strings.Index(text, "===")]
			said, _, _, _, err := collect(t.Context(), m)
			if want := "I will look." + end + end + "<tool_code></tool_code>"; said != want || err != nil {
				t.Errorf("first: %q, %v; want %q", said, err, want)
			}
			said, thought, pieces, last, err := collect(t.Context(), m)
			if said != "=== cut" || thought != "hm" || pieces != 3 || err != nil || last.Stop != providers.StopLength ||
				last.Usage != (providers.Usage{Prompt: 120, Output: 8}) {
				t.Errorf("second: %q, %q, %d, %+v, %v", said, thought, pieces, last, err)
			}
			_, _, _, _, err = collect(t.Context(), m)
			var e *providers.Error
			want := providers.Error{Kind: providers.RateLimited, Message: `slow "down"`, Hint: "wait"}
			if !errors.As(err, &e) || !reflect.DeepEqual(*e, want) {
				t.Errorf("third: %#v", err)
			}
			if said, _, _, _, err = collect(t.Context(), m); said != "half" || providers.KindOf(err) != providers.Interrupted {
				t.Errorf("fourth: %q, %v", said, err)
			}
			if said, _, _, last, err = collect(t.Context(), m); said != "" || last.Stop != providers.StopEnd || err != nil {
				t.Errorf("fifth: %q, %+v, %v", said, last, err)
			}
		})
	}
	if _, err := scripted.Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("err = %v", err)
	}
	dir := t.TempDir()
	if _, err := scripted.Load(dir); err == nil || err.Error() != "the script "+dir+" is a directory; name a file in it" {
		t.Errorf("err = %v", err)
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "just text", "no reply"},
		{"unknown section", "=== reply\nx\n=== answer\n", `line 3: "answer"`},
		{"unknown word", "=== reply colour=red\n", "line 1: colour: unknown word"},
		{"unknown kind", "=== reply error=boom\n", `unknown kind "boom"`},
		{"bad number", "=== reply prompt=many\n", "line 1: prompt"},
		{"bad duration", "=== reply delay=5\n", "line 1: delay"},
		{"open quote", "=== reply error=auth message=\"x\n", "line 1: message"},
		{"message without error", "=== reply message=x\n", "add error=KIND"},
		{"thought at the end", "=== reply\n=== thought\nx\n", "thought without a reply"},
		{"two thoughts", "=== thought\n=== thought\n=== reply\n", "line 2: two thoughts"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := scripted.Parse(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %q in it", err, tt.want)
			}
		})
	}
}

func ExampleParse() {
	model, err := scripted.Parse("=== reply\nHello.\n=== reply error=server_fault message=\"out of memory\"\n")
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		for chunk, err := range model.Generate(context.Background(), providers.Request{}) {
			fmt.Println(chunk.Text, chunk.Stop, err)
		}
	}
	// Output:
	// Hello.  <nil>
	//  stop <nil>
	//   out of memory
}

func BenchmarkGenerate(b *testing.B) {
	m := scripted.Say("Done.")
	m.Loop, m.Discard = true, true
	b.ReportAllocs()
	for b.Loop() {
		for range m.Generate(b.Context(), providers.Request{}) {
		}
	}
}
