//go:build linux

package ollama_test

import (
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"mylm/providers/internal/ollamatest"
)

// The prompt does not fit: the message has the numbers, with servers before
// 0.30 the window.
func (e *endToEnd) overflow(t *testing.T, model string) {
	p, _ := e.watched(t)
	o := p.ask(t, model, "--num-ctx", "256", "hello")
	o.want(t, 7, "", "--num-ctx")
	if !regexp.MustCompile(`mylm: the conversation \(\d{3,} tokens\) does not fit the model's context window \(256 tokens\)\n`).MatchString(o.stderr) {
		t.Errorf("stderr lacks the numbers:\n%s", o.stderr)
	}
	if got := p.ask(t, model, "--json", "--num-ctx", "256", "hello").report(t); got.Error.Code != "context_full" || got.Status != "partial" {
		t.Errorf("report %+v", got)
	}
	f := newFake(t, refuses(http.StatusBadRequest, `{"error":"the input length exceeds the context length"}`))
	o = e.user(t, f.URL).ask(t, "m", "--num-ctx", "256", "hello")
	o.want(t, 7, "", "does not fit the model's context window (256 tokens)", "--num-ctx")
	if n := f.count("/api/chat"); n != 1 {
		t.Errorf("%d requests, want 1: it cannot succeed", n)
	}
}

// The server gives up after a chunk came 31 times, without a last line.
func (e *endToEnd) stutter(t *testing.T) {
	p, r := e.watched(t)
	o := p.ask(t, "modelfile", ollamatest.AskStutter)
	r.wantRequests(t, 3)
	h := r.reply(t, 2)
	if h.done || !strings.HasPrefix(h.text, "haha") {
		t.Errorf("the last reply: %+v, want one without its end", h)
	}
	o.want(t, 1, h.text+"\n", // what came of the last try is not lost
		"retry 2 ", "retry 3 ", "mylm: the reply ended without a sign that it is whole\n", "Ask again")
}

// A reply that breaks off is asked for again, from its beginning.
func (e *endToEnd) runnerDiesOnce(t *testing.T, model string) {
	p, r := e.watched(t)
	// 1000 tokens take a second: the process dies in their midst.
	middle := r.middle(0)
	run := p.start(t, "ask", "-m", model, "--max-tokens", "1000", ollamatest.AskCount)
	run.until(t, middle)
	if e.server.KillRunners() == 0 {
		t.Fatal("there is no runner to kill")
	}
	o := run.wait(t)
	all := r.wantRequests(t, 3) // broken off, cut at its limit, its end
	whole := r.reply(t, 1)
	o.want(t, 0, whole.text+ollamatest.Greeting+"\n", "retry 2 ", "unexpected EOF")
	if h := r.reply(t, 0); h.done || len(h.text) >= len(whole.text) || !strings.HasPrefix(whole.text, h.text) {
		t.Errorf("the first reply: done %v, %d bytes", h.done, len(h.text))
	}
	if len(all[1].messages) != 2 {
		t.Errorf("the second try began with %q", all[1].messages)
	}
}

// A reply that is cut each time is not an answer.
func (e *endToEnd) runnerDies(t *testing.T, model string) {
	p, r := e.watched(t)
	var middle []<-chan struct{}
	for n := range 3 {
		middle = append(middle, r.middle(n))
	}
	run := p.start(t, "ask", "-m", model, ollamatest.AskCount)
	for _, m := range middle {
		run.until(t, m)
		if e.server.KillRunners() == 0 {
			t.Fatal("there is no runner to kill")
		}
	}
	o := run.wait(t)
	r.wantRequests(t, 3)
	kept := strings.TrimSuffix(o.stdout, "\n")
	if h := r.reply(t, 2); kept == "" || !strings.HasPrefix(h.text, kept) {
		t.Errorf("stdout %q, want what came of the last reply, %q", o.stdout, h.text)
	}
	o.want(t, 1, o.stdout, "retry 2 ", "retry 3 ", "unexpected EOF", "The model's process ended")
	p.ask(t, model, "hello").want(t, 0, ollamatest.Greeting+"\n")
}

// The server goes away in mid-reply: it is waited for, until somebody has enough.
func (e *endToEnd) serverDies(t *testing.T, model string) {
	s := ollamatest.Start(t)
	s.Create(t, model, ollamatest.Agent(templates[model]))
	r := record(t, s.URL)
	middle := r.middle(0)
	run := e.user(t, r.URL).start(t, "ask", "-m", model, ollamatest.AskCount)
	run.until(t, middle)
	r.Listener.Close()
	r.CloseClientConnections() // or the next try would find the recorder
	s.Kill()
	run.until(t, run.stderr.prints("retry 3 "))
	if err := run.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	o := run.wait(t)
	o.want(t, 130, o.stdout, "retry 2 ", "mid-reply", "mylm: interrupted")
	r.wantRequests(t, 1)
}

// A reply of thought alone is corrected, and in the end refused.
func (e *endToEnd) thought(t *testing.T, model string) {
	model = "thinker-" + model
	p, r := e.watched(t)
	o := p.ask(t, model, ollamatest.AskBrood)
	o.want(t, 6, "", "3 replies in a row could not be read", "--think off")
	all := r.wantRequests(t, 3)
	for i, s := range all {
		if len(s.messages) != 2+i { // an empty reply is not shown again
			t.Fatalf("request %d has %d messages", i, len(s.messages))
		}
		if last := s.messages[len(s.messages)-1].Content; i > 0 && !strings.Contains(last, "only thought") {
			t.Errorf("correction %d: %q", i, last)
		}
		for _, m := range s.messages {
			if strings.Contains(m.Content, "On and on") {
				t.Errorf("thought in the history: %q", m)
			}
		}
	}
	if got := p.ask(t, model, "--json", ollamatest.AskBrood).report(t); got.Error.Code != "malformed" || got.Output != "" || got.StopReason != "malformed" {
		t.Errorf("report %+v", got)
	}
	p.ask(t, model, "--think", "off", ollamatest.AskBrood).want(t, 0, ollamatest.OffHand+"\n")
	// Once is no harm.
	p.ask(t, model, ollamatest.AskNothing).want(t, 0, "The answer is four.\n", "retrying")
}

// Thought is no part of the answer, and who wants it can read it.
func (e *endToEnd) verboseThought(t *testing.T, model string) {
	p, _ := e.watched(t)
	p.ask(t, "thinker-"+model, "--verbose", "hello").want(t, 0, "The answer is four.\n", "~ Let me see.\n~ Two and two.\n")
	if o := p.ask(t, "thinker-"+model, "hello"); strings.Contains(o.stderr, "Two") {
		t.Errorf("thought is shown without --verbose:\n%s", o.stderr)
	}
}

// An interrupt ends the run at once and frees the only slot of the server.
func (e *endToEnd) interrupt(t *testing.T, model string) {
	p, r := e.watched(t)
	// One more than there are slots: if they were not freed, the last would wait.
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGINT, syscall.SIGTERM, syscall.SIGINT}
	for _, sig := range signals {
		run := p.start(t, "ask", "-m", model, "-o", "ndjson", ollamatest.AskCount)
		run.until(t, run.stdout.prints("three"))
		if err := run.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		o := run.wait(t)
		o.want(t, 130, o.stdout, "mylm: interrupted")
		// What was shown is kept as the response.
		if !strings.Contains(o.stdout, `"response":"one two three`) || !strings.Contains(o.stdout, `"stop_reason":"interrupted"`) {
			t.Errorf("stdout %q", o.stdout)
		}
		// The endless reply would keep the slot far longer than a run may take.
		p.ask(t, model, "hello").want(t, 0, ollamatest.Greeting+"\n")
	}
	r.wantRequests(t, 2*len(signals))
}

// Refusals that a retry cannot fix are not retried.
func (e *endToEnd) refusals(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		says   string
	}{
		{500, `{"error":"option \"num_ctx\" must be of type integer"}`, `Ollama: option "num_ctx" must be of type integer`},
		{400, `{"error":"some fault of the request"}`, "Ollama: some fault of the request"},
	} {
		f := newFake(t, refuses(tt.status, tt.body))
		p := e.user(t, f.URL)
		p.ask(t, "m", "hello").want(t, 1, "", "mylm: "+tt.says)
		if n := f.count("/api/chat"); n != 1 {
			t.Errorf("%s: %d requests, want 1", tt.body, n)
		}
		if got := p.ask(t, "m", "--json", "hello").report(t); got.Status != "failed" || got.Error.Code != "model_error" || got.Error.Message != tt.says {
			t.Errorf("%s: report %+v", tt.body, got)
		}
	}
}

// What a model said before a call is no answer when the next turn fails.
func (e *endToEnd) failsAfterCall(t *testing.T) {
	var chats atomic.Int32
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if chats.Add(1) == 1 {
			lines(piece(ollamatest.Call), lastLine)(w, r)
			return
		}
		refuses(http.StatusBadRequest, `{"error":"no more"}`)(w, r)
	})
	e.user(t, f.URL).ask(t, "m", "--yes", "hello").want(t, 1, "", "$ echo hello-from-tool", "mylm: Ollama: no more")
	if n := chats.Load(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func (e *endToEnd) embedder(t *testing.T) {
	p, r := e.watched(t)
	p.ask(t, "embed", "hello").want(t, 1, "", `mylm: Ollama: "embed" does not support chat`, "mylm models")
	r.wantRequests(t, 1)
}
