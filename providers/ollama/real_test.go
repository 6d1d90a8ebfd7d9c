package ollama_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mylm/providers"
	"mylm/providers/internal/ollamatest"
	"mylm/providers/internal/scriptmodel"
	"mylm/providers/ollama"
)

// The tests of this file talk to a real server; package ollamatest explains how to
// give them one.

// deadline is the test's context, with an end: a server that hangs fails the
// test that it hangs in.
func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func user(text string) providers.Request {
	return providers.Request{Messages: []providers.Message{{Role: providers.User, Text: text}}}
}

// templates are the two ways in which servers hold chat templates. They take
// different paths through the server.
var templates = map[string]bool{"modelfile": false, "native": true}

// realAgent starts a server with both forms of the agent model.
func realAgent(t *testing.T, env ...string) (*ollamatest.Server, *ollama.Client) {
	t.Helper()
	s := ollamatest.Start(t, env...)
	for name, native := range templates {
		s.Create(t, name, ollamatest.Agent(native))
	}
	return s, client(t, s.URL)
}

func TestRealReplies(t *testing.T) {
	s, c := realAgent(t)
	tests := []struct{ ask, want string }{
		{"hello", ollamatest.Greeting},
		{ollamatest.AskCall, ollamatest.Call + ollamatest.Invented},
		{ollamatest.AskTags, ollamatest.TagCall},
		{"<observation>hello-from-tool</observation>", ollamatest.Answer},
		{ollamatest.AskNothing, ""},
		{ollamatest.AskPadded, ollamatest.Padded},
	}
	for name := range templates {
		t.Run(name, func(t *testing.T) {
			m := c.Model(name, ollama.ModelOptions{})
			var loaded []int
			for i, tt := range tests {
				text, _, last, err := hear(t, m, user(tt.ask))
				if err != nil || text != tt.want || last.Stop != providers.StopEnd {
					t.Errorf("%s: %q, %+v, %v, want %q", tt.ask, text, last, err, tt.want)
				}
				if last.Usage.Prompt == 0 || last.Usage.Output == 0 {
					t.Errorf("%s: usage %+v", tt.ask, last.Usage)
				}
				switch now := s.Runners(); {
				case i == 0:
					loaded = now
				case began(loaded, now):
					t.Errorf("%s: the model was loaded again: processes %d, then %d", tt.ask, loaded, now)
				}
			}
		})
	}
}

// began reports whether there is a process now that was not there before.
func began(before, now []int) bool {
	return slices.ContainsFunc(now, func(pid int) bool { return !slices.Contains(before, pid) })
}

func TestRealConversation(t *testing.T) {
	_, c := realAgent(t)
	for name := range templates {
		t.Run(name, func(t *testing.T) {
			m := c.Model(name, ollama.ModelOptions{})
			talk := []providers.Message{
				{Role: providers.System, Text: "You have tools."},
				{Role: providers.User, Text: ollamatest.AskCall},
				{Role: providers.Assistant, Text: ollamatest.Call},
				{Role: providers.User, Text: "<observation>[execute_command] Success:\nhello-from-tool</observation>"},
			}
			for _, n := range []int{2, 4} {
				if _, _, _, err := hear(t, m, providers.Request{Messages: talk[:n]}); err != nil {
					t.Fatal(err)
				}
			}
			text, _, _, err := hear(t, m, providers.Request{Messages: talk})
			if err != nil || text != ollamatest.Answer {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}

func TestRealWindow(t *testing.T) {
	s := ollamatest.Start(t) // its own default is 8192
	s.Create(t, "big", &scriptmodel.Model{Default: "ok", ContextLength: 131072})
	s.Create(t, "small", &scriptmodel.Model{Default: "ok", ContextLength: 2048})
	c := client(t, s.URL)
	tests := []struct {
		name    string
		options ollama.ModelOptions
		want    int
	}{
		{"big", ollama.ModelOptions{NumCtx: 16384}, 16384},
		{"big", ollama.ModelOptions{}, 16384}, // as it is loaded
		{"small", ollama.ModelOptions{}, 2048},
		{"small", ollama.ModelOptions{NumCtx: 4096}, 2048},
	}
	for _, tt := range tests {
		m := c.Model(tt.name, tt.options)
		if _, _, _, err := hear(t, m, providers.Request{}); err != nil {
			t.Fatal(err)
		}
		info, err := m.Info(deadline(t))
		if err != nil || info.Window != tt.want || !info.Loaded || !info.Chats {
			t.Errorf("%s %+v: Info = %+v, %v, want window %d", tt.name, tt.options, info, err, tt.want)
		}
		models, err := c.Models(deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range models {
			if strings.HasPrefix(l.Name, tt.name) && l.Window != tt.want {
				t.Errorf("%s %+v: the server has a window of %d, want %d", tt.name, tt.options, l.Window, tt.want)
			}
		}
	}
}

func TestRealThinking(t *testing.T) {
	s := ollamatest.Start(t)
	for name, native := range templates {
		s.Create(t, name, ollamatest.Thinker(native))
	}
	s.Create(t, "plain", &scriptmodel.Model{Default: "ok"})
	c := client(t, s.URL)
	for name := range templates {
		t.Run(name, func(t *testing.T) {
			m := c.Model(name, ollama.ModelOptions{})
			for _, think := range []providers.Thinking{providers.ThinkAuto, providers.ThinkOn} {
				r := user("what is two and two?")
				r.Think = think
				text, thought, _, err := hear(t, m, r)
				if err != nil || text != "The answer is four." || !strings.Contains(thought, "Two and two.") {
					t.Errorf("think %q: text %q, thought %q, %v", think, text, thought, err)
				}
			}
			text, thought, last, err := hear(t, m, user(ollamatest.AskNothing))
			if err != nil || text != "" || !strings.Contains(thought, "no idea") || last.Stop != providers.StopEnd {
				t.Errorf("only thought: text %q, thought %q, %+v, %v", text, thought, last, err)
			}
			if info, err := m.Info(deadline(t)); err != nil || !info.Thinks {
				t.Errorf("Info = %+v, %v, want one that thinks", info, err)
			}
		})
	}
	r := user("x")
	r.Think = providers.ThinkOn
	_, _, _, err := hear(t, c.Model("plain", ollama.ModelOptions{}), r)
	check(t, err, providers.Error{Kind: providers.BadRequest, Status: 400}, "thinking", "param:think")
}

func TestRealOverflow(t *testing.T) {
	_, c := realAgent(t)
	long := strings.Repeat("a word or two ", 1000)
	for name := range templates {
		t.Run(name, func(t *testing.T) {
			m := c.Model(name, ollama.ModelOptions{NumCtx: 512})
			_, _, _, err := hear(t, m, providers.Request{Messages: []providers.Message{
				{Role: providers.System, Text: "Be brief."},
				{Role: providers.User, Text: long},
				{Role: providers.Assistant, Text: "yes"},
				{Role: providers.User, Text: "hello"},
			}})
			var e *providers.Error
			if !errors.As(err, &e) || e.Kind != providers.Overflow || e.Window != 512 || e.PromptTokens <= 512 {
				t.Errorf("error %+v, want an overflow of 512 tokens", err)
			}
		})
	}
}

func TestRealLength(t *testing.T) {
	_, c := realAgent(t)
	for name := range templates {
		t.Run(name, func(t *testing.T) {
			r := user(ollamatest.AskCount)
			r.MaxTokens = 20
			text, _, last, err := hear(t, c.Model(name, ollama.ModelOptions{}), r)
			if err != nil || last.Stop != providers.StopLength || last.Usage.Output != 20 || !strings.HasPrefix(text, "one two") {
				t.Errorf("at its limit: %q, %+v, %v", text, last, err)
			}
			// The window fills up: the reply ends, and nothing is forgotten.
			_, _, last, err = hear(t, c.Model(name, ollama.ModelOptions{NumCtx: 256}), user(ollamatest.AskCount))
			if err != nil || last.Stop != providers.StopLength || last.Usage.Prompt+last.Usage.Output > 257 {
				t.Errorf("in a full window: %+v, %v", last, err)
			}
		})
	}
}

func TestRealErrors(t *testing.T) {
	s, c := realAgent(t)
	s.Create(t, "embed", ollamatest.Embedder())
	tests := []struct {
		model      string
		r          providers.Request
		want       providers.Error
		says, hint string
	}{
		{"natife", user("x"), providers.Error{Kind: providers.ModelMissing, Status: 404}, "natife", "Did you mean native?"},
		{"no such/model name", user("x"), providers.Error{Kind: providers.ModelMissing, Status: 400}, "model", "ollama pull"},
		{"embed", user("x"), providers.Error{Kind: providers.CannotChat, Status: 400}, "embed", "param:model"},
		{"modelfile", user(ollamatest.AskStutter), providers.Error{Kind: providers.Interrupted}, "without a sign", "again"},
	}
	for _, tt := range tests {
		_, _, _, err := hear(t, c.Model(tt.model, ollama.ModelOptions{NumCtx: 8192}), tt.r)
		t.Logf("%s: %v", tt.model, err)
		check(t, err, tt.want, tt.says, tt.hint)
	}
}

func TestRealRunnerDies(t *testing.T) {
	s, c := realAgent(t)
	for name := range templates {
		t.Run(name, func(t *testing.T) {
			m := c.Model(name, ollama.ModelOptions{})
			var end error
			chunks := 0
			for _, err := range m.Generate(deadline(t), user(ollamatest.AskCount)) {
				if end = err; err != nil {
					break
				}
				if chunks++; chunks == 20 && s.KillRunners() == 0 {
					t.Fatal("there is no runner to kill")
				}
			}
			var e *providers.Error
			if !errors.As(end, &e) || e.Kind != providers.ServerFault || !e.Temporary() {
				t.Errorf("error %v, want a temporary fault of the server", end)
			}
			if text, _, _, err := hear(t, m, user("hello")); err != nil || text != ollamatest.Greeting {
				t.Errorf("the next call: %q, %v", text, err)
			}
		})
	}
}

func TestRealServerDies(t *testing.T) {
	s, c := realAgent(t)
	m := c.Model("native", ollama.ModelOptions{})
	var end error
	chunks := 0
	for _, err := range m.Generate(deadline(t), user(ollamatest.AskCount)) {
		if end = err; err != nil {
			break
		}
		if chunks++; chunks == 20 {
			s.Kill()
		}
	}
	if providers.KindOf(end) != providers.Interrupted {
		t.Errorf("error %v, want an interrupted reply", end)
	}
	_, _, _, err := hear(t, m, user("hello"))
	check(t, err, providers.Error{Kind: providers.Unreachable}, "no Ollama server answers", "ollama serve")
}

// A cancelled reply leaves the only slot to the next one. The server loses a
// slot now and then (see slots), so one of three tries has to do.
func TestRealCancelFreesTheSlot(t *testing.T) {
	for name := range templates {
		for _, how := range []string{"break", "cancel"} {
			t.Run(name+" "+how, func(t *testing.T) {
				var err error
				for range 3 {
					if err = cancelled(t, name, how); err == nil {
						return
					}
					t.Log(err)
				}
				t.Error(err)
			})
		}
	}
}

// cancelled ends a reply early on a server with one slot and asks for another.
func cancelled(t *testing.T, name, how string) error {
	_, c := realAgent(t, "OLLAMA_NUM_PARALLEL=1")
	m := c.Model(name, ollama.ModelOptions{})
	ctx, cancel := context.WithCancel(deadline(t))
	defer cancel()
	chunks := 0
	var end error
	for _, err := range m.Generate(ctx, user(ollamatest.AskCount)) {
		if end = err; err != nil {
			break
		}
		if chunks++; chunks == 20 {
			if how == "break" {
				break
			}
			cancel()
		}
	}
	if how == "cancel" && !errors.Is(end, context.Canceled) {
		t.Errorf("cancelled, the reply ended with %v", end)
	}
	// The endless reply would keep the slot far longer.
	soon, done := context.WithTimeout(t.Context(), 15*time.Second)
	defer done()
	text := ""
	for chunk, err := range m.Generate(soon, user("hello")) {
		if err != nil {
			return fmt.Errorf("after a %s the slot is busy: %w", how, err)
		}
		text += chunk.Text
	}
	if text != ollamatest.Greeting {
		t.Errorf("after a %s: %q", how, text)
	}
	return nil
}
